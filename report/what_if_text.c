/* SPDX-License-Identifier: MIT */
/* The result of other rules, settings or memory, beside the proof. */
#include <inttypes.h>
#include <stdio.h>

#include "report/report_replay.h"
#include "report/words.h"

static void question(ul_text *text, const ul_what_if *w) {
  char size[UL_WORD];
  ul_line line;

  ul_line_clear(&line);
  ul_line_add(&line, " torch %s, settings %s", w->torch ? w->torch : "as recorded",
              w->settings && w->settings[0] ? w->settings : "default");
  if (w->memory_bytes) {
    ul_line_add(&line, ", %s", ul_word_bytes(size, w->memory_bytes, 0));
    ul_line_add(&line, " (%" PRIu64 " bytes) of memory", w->memory_bytes);
  } else {
    ul_line_add(&line, ", memory without limit");
  }
  if (w->external_bytes)
    ul_line_add(&line, ", %s of it held by others", ul_word_bytes(size, w->external_bytes, 0));
  ul_text_heading(text, "What if:", line.text);
}

static void answer(ul_text *text, const ul_device_result *device) {
  const ul_what_if *w = &device->what_if;
  int exact = text->options.exact_bytes;
  char size[UL_WORD], change[UL_WORD], count[UL_WORD], release[UL_WORD];
  ul_line line;

  ul_line_clear(&line);
  ul_line_add(&line, "  peak reserved %s (%s)", ul_word_bytes(size, w->peak.reserved_bytes, exact),
              ul_word_change(change, device->peak.reserved_bytes, w->peak.reserved_bytes, exact));
  ul_line_add(
      &line, ", lost %s",
      ul_word_bytes(size, w->lost_at_peak.reserved_bytes - w->lost_at_peak.live_bytes, exact));
  ul_line_add(&line, "; %s", ul_word_count(count, w->driver_calls, "driver call", "driver calls"));
  ul_line_add(&line, ", %s.", ul_word_count(release, w->retries, "retry", "retries"));
  ul_line_add(&line, " Nothing recorded to prove it with.");
  if (w->approximate)
    ul_line_add(&line, " An estimate: the rules of this backend are not public.");
  ul_text_wrap(text, 0, 4, line.text);
}

static int start_fits(const ul_what_if *w) {
  return !w->memory_bytes || w->start_reserved_bytes <= w->memory_bytes - w->external_bytes;
}

static void verdict(ul_text *text, const ul_what_if *w) {
  char size[UL_WORD], count[UL_WORD];
  ul_line line;

  if (!w->memory_bytes && !w->oom_count)
    return; /* without a limit nothing was asked to fit */
  ul_line_clear(&line);
  ul_text_put(text, "  ");
  ul_text_set_style(text, w->fits ? UL_TEXT_GOOD : UL_TEXT_BAD);
  ul_text_put(text, w->fits ? "Fits" : "DOES NOT FIT");
  ul_text_set_style(text, UL_TEXT_PLAIN);
  if (!start_fits(w))
    ul_line_add(&line, ": %s are held before the first event already",
                ul_word_bytes(size, w->start_reserved_bytes, text->options.exact_bytes));
  else if (w->oom_count) {
    ul_line_add(&line, "%s %s refused, first %s at event %" PRIu64, w->fits ? "," : ":",
                ul_word_count(count, w->oom_count, "request", "requests"),
                ul_word_bytes(size, w->first_oom.rounded_bytes, text->options.exact_bytes),
                w->first_oom.event);
    if (w->fits)
      ul_line_add(&line, ", as in the recording");
  }
  if (w->rejected_events)
    ul_line_add(&line, "; %s no meaning there",
                ul_word_count(count, w->rejected_events, "event had", "events had"));
  ul_line_add(&line, ".");
  ul_text_wrap(text, w->fits ? 6 : 14, 4, line.text);
}

void ul_what_if_text(ul_text *text, const ul_device_result *device) {
  question(text, &device->what_if);
  answer(text, device);
  verdict(text, &device->what_if);
}
