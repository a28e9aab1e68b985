/* SPDX-License-Identifier: MIT */
/* Reserved memory that serves no request, by cause and in words. */
#include <stdio.h>
#include <string.h>

#include "report/report_replay.h"
#include "report/words.h"

const ul_lost_class ul_lost_classes[UL_LOST_CLASSES] = {
    {"rounding", "requests rounded up to block sizes", "many small or odd sizes",
     offsetof(ul_lost, rounding_bytes)},
    {"tail", "ends of blocks that were not split off", "blocks somewhat larger than their requests",
     offsetof(ul_lost, tail_bytes)},
    {"pending", "freed, still awaited by another stream", "memory waiting for other streams",
     offsetof(ul_lost, pending_bytes)},
    {"releasable", "cached whole: empty_cache would return it", "plain cache, not fragmentation",
     offsetof(ul_lost, releasable_bytes)},
    {"held", "cached, kept back by its private pool", "cache of private pools",
     offsetof(ul_lost, held_bytes)},
    {"pinned", "cached, stuck beside live blocks", "fragmentation",
     offsetof(ul_lost, pinned_bytes)},
};

uint64_t ul_lost_of_class(const ul_lost *lost, const ul_lost_class *class_) {
  uint64_t bytes;

  memcpy(&bytes, (const char *)lost + class_->offset, sizeof(bytes));
  return bytes;
}

void ul_lost_text(ul_text *text, const ul_replay_view *view, const ul_device_result *device,
                  const ul_lost *lost, const char *when) {
  uint64_t total = lost->reserved_bytes - lost->live_bytes, largest = 0;
  const char *mostly = "";
  char size[UL_WORD], share[UL_WORD];
  ul_line line;
  size_t i;

  (void)device;
  for (i = 0; i < UL_LOST_CLASSES; i++) {
    uint64_t bytes = ul_lost_of_class(lost, &ul_lost_classes[i]);
    if (bytes > largest) {
      largest = bytes;
      mostly = ul_lost_classes[i].mostly;
    }
  }
  ul_line_clear(&line);
  ul_line_add(&line, " %s: %s", when, ul_word_bytes(size, total, text->options.exact_bytes));
  ul_line_add(&line, ", %s of reserved", ul_word_share(share, total, lost->reserved_bytes));
  if (!view->info->has_requested_sizes)
    ul_line_add(&line, " (the file has no requested sizes: rounding and tails are not in it)");
  else if (total)
    ul_line_add(&line, "; %s%s", largest * 2 > total ? "mostly " : "most of it ", mostly);
  ul_text_heading(text, "Lost", line.text);
  for (i = 0; i < UL_LOST_CLASSES; i++) {
    const ul_lost_class *c = &ul_lost_classes[i];
    uint64_t bytes = ul_lost_of_class(lost, c);
    if (bytes)
      ul_text_printf(text, "%14s %8s  %-10s %s\n",
                     ul_word_bytes(size, bytes, text->options.exact_bytes),
                     ul_word_share(share, bytes, total), c->name, c->what);
  }
}

void ul_asker_text(ul_text *text, const ul_asker *asker) {
  const struct {
    uint64_t bytes;
    const char *what;
  } parts[] = {
      {asker->pool_bound_bytes, "in other pools"},
      {asker->stream_bound_bytes, "on other streams"},
      {asker->rule_bound_bytes, "big enough but refused by a rule"},
      {asker->extended_bytes, "extended by the growth"},
      {asker->soft_bytes, "too small each, enough together"},
      {asker->hard_bytes, "too small even together"},
  };
  char size[UL_WORD];
  int any = 0;
  ul_line line;
  size_t i;

  ul_line_clear(&line);
  ul_line_add(&line, "  The request that grew it asked for %s",
              ul_word_bytes(size, asker->requested_bytes, text->options.exact_bytes));
  for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
    if (!parts[i].bytes)
      continue;
    ul_line_add(&line, "%s%s %s", any ? ", " : "; cached bytes then: ",
                ul_word_bytes(size, parts[i].bytes, text->options.exact_bytes), parts[i].what);
    any = 1;
  }
  ul_line_add(&line, any ? "." : "; nothing was cached.");
  ul_text_wrap(text, 0, 4, line.text);
}
