/* SPDX-License-Identifier: MIT */
/* The first lines of every report: how much of the recording the model reproduces. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/report_replay.h"
#include "report/words.h"

/* Sums over the devices: the proof of the whole file. */
static ul_proof sum(const ul_replay_view *view, int *any_trace) {
  ul_proof out = {.holds = 1};
  size_t i;

  *any_trace = 0;
  for (i = 0; i < view->count; i++) {
    const ul_proof *p = &view->devices[i]->proof;
    out.placements += p->placements;
    out.exact += p->exact;
    out.assisted += p->assisted;
    out.segments_recorded += p->segments_recorded;
    out.segments_exact += p->segments_exact;
    out.final_blocks_recorded += p->final_blocks_recorded;
    out.final_blocks_exact += p->final_blocks_exact;
    out.ambiguous_blocks += p->ambiguous_blocks;
    out.inferred_empty_cache += p->inferred_empty_cache;
    out.inferred_pool += p->inferred_pool;
    out.inferred_stream_use += p->inferred_stream_use;
    out.holds &= p->holds || !view->devices[i]->has_trace;
    *any_trace |= view->devices[i]->has_trace;
  }
  return out;
}

static void add_inferred(ul_line *line, const ul_proof *p) {
  const struct {
    uint64_t count;
    const char *one, *many;
  } inferred[] = {
      {p->inferred_empty_cache, "empty_cache call", "empty_cache calls"},
      {p->inferred_pool, "private pool", "private pools"},
      {p->inferred_stream_use, "use on another stream", "uses on other streams"},
      {p->ambiguous_blocks, "block size left open", "block sizes left open"},
  };
  char count[UL_WORD];
  int first = 1;
  size_t i;

  for (i = 0; i < sizeof(inferred) / sizeof(inferred[0]); i++) {
    if (!inferred[i].count)
      continue;
    ul_line_add(line, "%s%s", first ? " Not recorded, concluded: " : ", ",
                ul_word_count(count, inferred[i].count, inferred[i].one, inferred[i].many));
    first = 0;
  }
  if (!first)
    ul_line_add(line, ".");
}

static void difference_text(ul_text *text, const ul_replay_view *view,
                            const ul_device_result *device) {
  const ul_difference *d = &device->proof.first_difference;
  ul_line line;

  ul_line_clear(&line);
  if (d->kind == UL_DIFFERENCE_NONE) {
    ul_line_add(&line, "no single entry can be named");
  } else {
    if (view->count > 1)
      ul_line_add(&line, "device %u, ", device->device);
    if (d->event != UINT64_MAX && !strstr(d->text, "entry"))
      ul_line_add(&line, "entry %" PRIu64 ": ", d->event);
    ul_line_add(&line, "%s", d->text);
  }
  if (d->kind == UL_DIFFERENCE_REQUEST || d->kind == UL_DIFFERENCE_INCONSISTENT)
    ul_text_put(text, "  Contradiction:    ");
  else
    ul_text_put(text, "  First difference: ");
  ul_text_wrap(text, 20, 4, line.text);
  if (d->kind != UL_DIFFERENCE_NONE && d->cause[0]) {
    ul_text_put(text, "  Likely cause: ");
    ul_text_wrap(text, 16, 4, d->cause);
  }
}

static void verdict_text(ul_text *text, const ul_replay_view *view, const ul_proof *p) {
  char count[UL_WORD];
  ul_line line;
  size_t i;

  ul_line_clear(&line);
  ul_text_set_style(text, p->holds ? UL_TEXT_GOOD : UL_TEXT_BAD);
  ul_text_put(text, p->holds ? "Proved" : "NOT PROVED");
  ul_text_set_style(text, UL_TEXT_PLAIN);
  if (!p->holds) {
    ul_text_wrap(text, 10, 2, ": model and recording differ, so the figures below are unproven.");
    for (i = 0; i < view->count; i++) {
      if (!view->devices[i]->proof.holds && view->devices[i]->has_trace)
        difference_text(text, view, view->devices[i]);
    }
    return;
  }
  ul_line_add(&line, ": every address, segment and final block comes out as recorded.");
  if (p->assisted)
    ul_line_add(&line, " %s on a hint from the recorded address.",
                ul_word_count(count, p->assisted, "placement rests", "placements rest"));
  add_inferred(&line, p);
  for (i = 0; i < view->count; i++) {
    if (!view->devices[i]->has_trace)
      ul_line_add(&line, " Device %u has no trace: only its state is known.",
                  view->devices[i]->device);
  }
  ul_text_wrap(text, 6, 2, line.text);
}

void ul_proof_text(ul_text *text, const ul_replay_view *view) {
  int any_trace;
  ul_proof p = sum(view, &any_trace);
  ul_line line;

  ul_line_clear(&line);
  ul_line_add(&line, "%" PRIu64 " of %" PRIu64 " placements exact", p.exact, p.placements);
  if (!any_trace) {
    ul_line_add(&line, ": the file has no usable trace, only the state at one moment. "
                       "What it holds is shown; how it came about cannot be.");
    ul_text_wrap(text, 0, 2, line.text);
    return;
  }
  ul_line_add(&line, ", %" PRIu64 " assisted; %" PRIu64 " of %" PRIu64 " segment entries; ",
              p.assisted, p.segments_exact, p.segments_recorded);
  ul_line_add(&line, "%" PRIu64 " of %" PRIu64 " final blocks", p.final_blocks_exact,
              p.final_blocks_recorded);
  if (view->count > 1)
    ul_line_add(&line, "; %zu devices", view->count);
  ul_text_wrap(text, 0, 2, line.text);
  verdict_text(text, view, &p);
}
