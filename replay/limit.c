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

/* Below: what reserved was when requests had to grow, with and without giving segments back first.
 */

static uint64_t reserved_at_start(const ul_history *h) {
  uint64_t sum = 0;
  size_t i;

  for (i = 0; i < h->segments.count; i++)
    sum += h->segments.items[i].bytes;
  return sum;
}

static int releases(uint8_t action) {
  return action == UL_ACTION_SEGMENT_FREE || action == UL_ACTION_SEGMENT_UNMAP;
}

static int grows(uint8_t action) {
  return action == UL_ACTION_SEGMENT_ALLOC || action == UL_ACTION_SEGMENT_MAP;
}

/* Reserved after an entry. Recordings may contradict themselves, so it never falls below nothing.
 */
static uint64_t reserved_after(const ul_recording *r, uint64_t i, uint64_t reserved) {
  const uint64_t bytes = r->events[i].bytes;

  if (releases(r->actions[i]))
    return reserved - (bytes < reserved ? bytes : reserved);
  return grows(r->actions[i]) ? reserved + bytes : reserved;
}

static uint64_t least_collecting(const ul_history *h) {
  const ul_recording *r = h->recording;
  uint64_t reserved = reserved_at_start(h), before = 0, least = UINT64_MAX, i;
  int collected = 0, grew = 0;

  for (i = 0; i < r->count; i++) {
    const uint8_t action = r->actions[i];
    if (releases(action) || grows(action)) {
      if (!collected && !grew)
        before = reserved;
      collected |= releases(action);
      grew |= grows(action);
      reserved = reserved_after(r, i, reserved);
    } else if (action != UL_ACTION_FREE_COMPLETED) {
      if (r->events[i].kind == UL_EVENT_ALLOC && grew && collected && before < least)
        least = before;
      collected = grew = 0;
    }
  }
  return least;
}

/* A request that grew above the level at which others collected had nothing to collect. */
static uint64_t most_plain(const ul_history *h, uint64_t below) {
  const ul_recording *r = h->recording;
  uint64_t reserved = reserved_at_start(h), most = 0, i;

  for (i = 0; i < r->count; i++) {
    if (grows(r->actions[i]) && reserved < below && reserved > most)
      most = reserved;
    reserved = reserved_after(r, i, reserved);
  }
  return most;
}

void ul_history_infer_limit(ul_history *h) {
  const ul_source_info *info = h->source ? ul_source_get_info(h->source) : NULL;
  const double threshold = threshold_of(info ? info->settings : NULL);
  uint64_t collecting;

  if (threshold <= 0.0 || threshold >= 1.0)
    return;
  collecting = least_collecting(h);
  if (collecting == UINT64_MAX)
    return;
  /* collected: reserved > threshold * limit, not collected: reserved <= it */
  h->limit.min = (uint64_t)((double)most_plain(h, collecting) / threshold);
  h->limit.max = (uint64_t)((double)collecting / threshold);
}
