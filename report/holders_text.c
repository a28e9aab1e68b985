/* SPDX-License-Identifier: MIT */
/* Who holds the memory. Stacks that lead to one line of the user's code count together, unless
 * whole stacks are asked for. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/report_replay.h"
#include "report/stack_text.h"
#include "report/words.h"

enum { BEFORE_PLACE = 41 }; /* columns of size, share and count */

typedef struct place {
  ul_frame frame;
  int has_frame;
  uint32_t stack; /* of the largest */
  uint64_t bytes, block_count, stack_count;
} place;

static int by_frame(const void *a, const void *b) {
  const place *x = a, *y = b;
  int order;

  if (x->has_frame != y->has_frame)
    return x->has_frame - y->has_frame;
  if (!x->has_frame)
    return 0;
  order = strcmp(x->frame.filename, y->frame.filename);
  if (!order)
    order = (x->frame.line > y->frame.line) - (x->frame.line < y->frame.line);
  return order ? order : strcmp(x->frame.name, y->frame.name);
}

static int by_bytes(const void *a, const void *b) {
  const place *x = a, *y = b;

  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Sums neighbours of one frame; returns how many places are left. */
static size_t merge(place *places, size_t count) {
  size_t kept = 0, i;

  for (i = 0; i < count; i++) {
    if (kept && by_frame(&places[kept - 1], &places[i]) == 0) {
      place *into = &places[kept - 1];
      if (places[i].stack < into->stack)
        into->stack = places[i].stack;
      into->bytes += places[i].bytes;
      into->block_count += places[i].block_count;
      into->stack_count++;
    } else {
      places[kept++] = places[i];
    }
  }
  return kept;
}

static void frames_text(ul_text *text, const ul_source *source, uint32_t stack) {
  const uint32_t *ids;
  size_t count = source ? ul_source_stack(source, stack, &ids) : 0, i;
  char line[512];

  for (i = 0; i < count; i++) {
    ul_frame frame;
    if (ul_source_frame(source, ids[i], &frame))
      ul_text_printf(text, "%26s%s\n", "",
                     ul_frame_describe(&frame, line, sizeof(line), text->options.columns - 26));
  }
}

static void place_text(ul_text *text, const ul_source *source, const place *p, uint64_t whole) {
  char size[UL_WORD], share[UL_WORD], count[UL_WORD], name[512] = "no stack recorded";
  char stacks[UL_WORD] = "";
  size_t width = text->options.columns - BEFORE_PLACE;

  if (p->stack_count > 1 && p->has_frame) {
    snprintf(stacks, sizeof(stacks), " (%" PRIu64 " stacks)", p->stack_count);
    width -= strlen(stacks);
  }
  if (text->options.stack_style == UL_STACK_NONE && p->stack)
    snprintf(name, sizeof(name), "stack %" PRIu32, p->stack);
  else if (p->has_frame)
    ul_frame_describe(&p->frame, name, sizeof(name), width);
  ul_text_printf(text, "%14s %8s %14s  ", ul_word_bytes(size, p->bytes, text->options.exact_bytes),
                 ul_word_share(share, p->bytes, whole),
                 ul_word_count(count, p->block_count, "block", "blocks"));
  ul_text_put(text, name);
  ul_text_put(text, stacks);
  ul_text_put(text, "\n");
  if (text->options.stack_style == UL_STACK_FULL)
    frames_text(text, source, p->stack);
}

static void places_text(ul_text *text, const ul_replay_view *view, const ul_device_result *device,
                        const place *places, size_t count, unsigned top) {
  const int at_peak = device->holders_event == device->peak.event;
  uint64_t whole = at_peak ? device->peak.allocated_bytes : device->peak.max_allocated_bytes;
  uint64_t shown_bytes = 0;
  char size[UL_WORD], share[UL_WORD];
  ul_line line;
  size_t i;

  ul_line_clear(&line);
  if (at_peak)
    ul_line_add(&line, " %s", device->has_trace ? "at the peak" : "then");
  else
    ul_line_add(&line, " after event %" PRIu64, device->holders_event);
  ul_line_add(&line, ", of %s allocated, by the code that asked",
              ul_word_bytes(size, whole, text->options.exact_bytes));
  ul_text_heading(text, "Held", line.text);
  for (i = 0; i < count && i < top; i++) {
    place_text(text, view->source, &places[i], whole);
    shown_bytes += places[i].bytes;
  }
  if (shown_bytes < whole)
    ul_text_printf(text, "%14s %8s  from other places (--top)\n",
                   ul_word_bytes(size, whole - shown_bytes, text->options.exact_bytes),
                   ul_word_share(share, whole - shown_bytes, whole));
}

ul_status ul_holders_text(ul_text *text, const ul_replay_view *view, const ul_device_result *device,
                          unsigned top, ul_error *err) {
  size_t count = device->holder_count, i;
  place *places;

  if (!count)
    return UL_OK;
  places = calloc(count, sizeof(*places));
  if (!places)
    return ul_fail_nomem(err, "the report");
  for (i = 0; i < count; i++) {
    const ul_holder *h = &device->holders[i];
    place *p = &places[i];
    p->has_frame = ul_stack_find_user_frame(view->source, h->stack, &p->frame);
    p->stack = h->stack;
    p->bytes = h->bytes;
    p->block_count = h->block_count;
    p->stack_count = 1;
  }
  if (text->options.stack_style == UL_STACK_USER) {
    qsort(places, count, sizeof(*places), by_frame);
    count = merge(places, count);
    qsort(places, count, sizeof(*places), by_bytes);
  }
  places_text(text, view, device, places, count, top);
  free(places);
  return UL_OK;
}
