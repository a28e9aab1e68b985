/* SPDX-License-Identifier: MIT */
/* Garbage collection in a recording: which memory fraction explains it (allocator-spec 3.5). The
 * threshold is a setting that snapshots hold; the fraction it is a part of is not. */
#include <stdlib.h>
#include <string.h>

#include "replay/history.h"

static double threshold_of(const char *settings) {
  static const char key[] = "garbage_collection_threshold:";
  const char *at = settings ? strstr(settings, key) : NULL;

  return at ? strtod(at + sizeof(key) - 1, NULL) : 0.0;
}

/* What reserved was when requests had to grow: with and without giving segments back first. */
struct growths {
  uint64_t least_collecting, most_plain;
};

static void look_at_growths(const ul_history *h, struct growths *g) {
  const ul_recording *r = h->recording;
  uint64_t reserved = 0, before = 0, i;
  int collected = 0, grew = 0;
  size_t s;

  for (s = 0; s < h->segments.count; s++)
    reserved += h->segments.items[s].bytes;
  g->least_collecting = UINT64_MAX;
  g->most_plain = 0;
  for (i = 0; i < r->count; i++) {
    const uint8_t action = r->actions[i];
    const uint64_t bytes = r->events[i].bytes;
    if (action == UL_ACTION_SEGMENT_FREE || action == UL_ACTION_SEGMENT_UNMAP) {
      if (!collected && !grew)
        before = reserved;
      collected = 1;
      reserved -= bytes < reserved ? bytes : reserved;
    } else if (action == UL_ACTION_SEGMENT_ALLOC || action == UL_ACTION_SEGMENT_MAP) {
      if (!collected && !grew)
        before = reserved;
      grew = 1;
      reserved += bytes;
    } else if (r->events[i].kind == UL_EVENT_ALLOC) {
      if (grew && collected && before < g->least_collecting)
        g->least_collecting = before;
      collected = grew = 0;
    } else if (action != UL_ACTION_FREE_COMPLETED) {
      collected = grew = 0;
    }
  }
  /* A request that grew above the level at which others collected had nothing to collect. */
  for (i = 0, reserved = 0, s = 0; s < h->segments.count; s++)
    reserved += h->segments.items[s].bytes;
  for (; i < r->count; i++) {
    const uint8_t action = r->actions[i];
    if (action == UL_ACTION_SEGMENT_FREE || action == UL_ACTION_SEGMENT_UNMAP) {
      reserved -= r->events[i].bytes < reserved ? r->events[i].bytes : reserved;
    } else if (action == UL_ACTION_SEGMENT_ALLOC || action == UL_ACTION_SEGMENT_MAP) {
      if (reserved < g->least_collecting && reserved > g->most_plain)
        g->most_plain = reserved;
      reserved += r->events[i].bytes;
    }
  }
}

void ul_history_infer_limit(ul_history *h) {
  const ul_source_info *info = h->source ? ul_source_get_info(h->source) : NULL;
  const double threshold = threshold_of(info ? info->settings : NULL);
  struct growths g;

  if (threshold <= 0.0 || threshold >= 1.0)
    return;
  look_at_growths(h, &g);
  if (g.least_collecting == UINT64_MAX)
    return;
  /* collected: reserved > threshold * limit, not collected: reserved <= it */
  h->limit.min = (uint64_t)((double)g.most_plain / threshold);
  h->limit.max = (uint64_t)((double)g.least_collecting / threshold);
}
