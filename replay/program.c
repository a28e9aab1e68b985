/* SPDX-License-Identifier: MIT */
/* The program's steps that leave no entry of their own: empty_cache, record_stream, the pool of an
 * allocation. Each is concluded from observations, flagged and counted. */
#include <string.h>

#include "base/error.h"
#include "base/idmap.h"
#include "replay/history.h"

/* A stream that no recording names: other than the block's own, whichever that is. */
#define SOME_OTHER_STREAM UINT32_MAX

static ul_status infer(ul_history *h, uint64_t before, ul_event_kind kind, const ul_event *from,
                       ul_error *err) {
  ul_inferred step;

  memset(&step, 0, sizeof(step));
  step.before = before;
  step.event.kind = (uint8_t)kind;
  step.event.flags = UL_EVENT_INFERRED;
  step.event.device = h->recording->device;
  if (from) {
    step.event.time_ns = from->time_ns;
    step.event.handle = from->handle;
    step.event.stack = from->stack;
    step.event.stream = from->stream;
    step.event.pool = from->pool;
  }
  return UL_VEC_PUSH(&h->inferred, step) ? UL_OK : ul_fail_nomem(err, "the replay");
}

static int releases(uint8_t action) {
  return action == UL_ACTION_SEGMENT_FREE || action == UL_ACTION_SEGMENT_UNMAP;
}

static int grows(uint8_t action) {
  return action == UL_ACTION_SEGMENT_ALLOC || action == UL_ACTION_SEGMENT_MAP;
}

/* One run of releases: entries first ... end - 1, other segment entries among them only if the
 * whole belongs to one request. */
struct run {
  uint64_t first, end;
  uint64_t
      request; /* the ALLOC entry that follows, with only entries of its own between; or none */
};

/* *stop: where the last search ended; runs before it need no search of their own. */
static struct run find_run(const ul_recording *r, uint64_t first, uint64_t *stop) {
  struct run run = {first, first, UL_NO_EVENT};
  uint64_t i;

  while (run.end < r->count && releases(r->actions[run.end]))
    run.end++;
  for (i = run.end > *stop ? run.end : *stop; i < r->count; i++) {
    if (r->events[i].kind == UL_EVENT_ALLOC || (!releases(r->actions[i]) && !grows(r->actions[i]) &&
                                                r->actions[i] != UL_ACTION_FREE_COMPLETED))
      break;
  }
  *stop = i;
  if (i < r->count && r->events[i].kind == UL_EVENT_ALLOC)
    run.request = i;
  return run;
}

/* Did the request itself cause these releases (a flush after a refusal), or did the program call
 * empty_cache before it? Inside malloc all entries carry the stack of that malloc; empty_cache has
 * its own, or each entry that of its segment (allocator-spec 9.4). Without stacks the question is
 * open: empty_cache is far more common. */
static int caused_by_request(ul_history *h, const struct run *run) {
  const ul_recording *r = h->recording;
  uint64_t i;
  int served_by_driver = 0, same = 1, any_stack = 0;

  if (run->request == UL_NO_EVENT)
    return 0;
  if (r->events[run->request].flags & UL_EVENT_OOM)
    return 1;
  for (i = run->first; i < run->request; i++) {
    served_by_driver |= grows(r->actions[i]);
    if (!releases(r->actions[i]))
      continue;
    any_stack |= r->events[i].stack != 0;
    same &= r->events[i].stack == r->events[run->request].stack;
  }
  if (!served_by_driver)
    return 0; /* a flush is always followed by new memory, or by oom */
  if (!any_stack || !r->events[run->request].stack) {
    h->ambiguous_flushes++;
    return 0;
  }
  return same;
}

static ul_status infer_releases(ul_history *h, ul_error *err) {
  const ul_recording *r = h->recording;
  uint64_t i = 0, stop = 0;

  while (i < r->count) {
    struct run run;
    if (!releases(r->actions[i])) {
      i++;
      continue;
    }
    run = find_run(r, i, &stop);
    if (caused_by_request(h, &run)) {
      i = run.request;
      continue;
    }
    UL_TRY(infer(h, run.end, UL_EVENT_EMPTY_CACHE, NULL, err));
    h->inferred.items[h->inferred.count - 1].event.time_ns = r->events[i].time_ns;
    h->inferred.items[h->inferred.count - 1].event.stack = r->events[i].stack;
    i = run.end;
  }
  return UL_OK;
}

/* A free whose completion comes later had been used on another stream. */
static ul_status infer_stream_uses(ul_history *h, ul_error *err) {
  const ul_recording *r = h->recording;
  uint64_t i;

  for (i = 0; i < r->count; i++) {
    if (r->events[i].kind == UL_EVENT_FREE && (r->events[i].flags & UL_EVENT_DEFERRED)) {
      UL_TRY(infer(h, i, UL_EVENT_STREAM_USE, &r->events[i], err));
      h->inferred.items[h->inferred.count - 1].event.stream = SOME_OTHER_STREAM;
    }
  }
  return UL_OK;
}

/* The private segment of the final state that holds address, or NULL. */
static const ul_segment *private_segment(const ul_state *final, uint64_t address) {
  uint32_t low = 0, high = final->segment_count;

  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (final->segments[middle].address + final->segments[middle].bytes <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == final->segment_count || final->segments[low].address > address ||
      !final->segments[low].pool)
    return NULL;
  return &final->segments[low];
}

/* Releases before 2.11 do not record the pool of an allocation. Where it lands in a segment that is
 * private at the end, and which was not made anew later, it was asked of that pool. */
static ul_status infer_pools(ul_history *h, ul_error *err) {
  const ul_recording *r = h->recording;
  uint64_t i = r->count;
  size_t first, last;
  ul_pool_override swap;
  ul_idmap made = UL_IDMAP_INIT; /* private segments made later than i, by address */
  ul_status status = UL_OK;

  while (i-- > 0 && status == UL_OK) {
    const ul_segment *segment;
    ul_pool_override found = {i, 0};
    if (r->actions[i] == UL_ACTION_SEGMENT_ALLOC &&
        private_segment(&r->final_state, r->addresses[i]) &&
        !ul_idmap_set(&made, r->addresses[i], 1))
      status = ul_fail_nomem(err, "the replay");
    if (r->actions[i] != UL_ACTION_ALLOC || r->events[i].pool)
      continue;
    segment = private_segment(&r->final_state, r->addresses[i]);
    if (!segment || ul_idmap_get(&made, segment->address))
      continue;
    found.pool = segment->pool;
    if (!UL_VEC_PUSH(&h->pools, found))
      status = ul_fail_nomem(err, "the replay");
  }
  ul_idmap_release(&made);
  for (first = 0, last = h->pools.count; first + 1 < last; first++) { /* found from the end */
    swap = h->pools.items[first];
    h->pools.items[first] = h->pools.items[--last];
    h->pools.items[last] = swap;
  }
  return status;
}

/* Two lists in order into one in order; of equal positions the releases come first. */
static ul_status merge_inferred(ul_history *h, size_t releases_count, ul_error *err) {
  UL_VEC(ul_inferred) merged = {NULL, 0, 0};
  size_t a = 0, b = releases_count;

  if (!UL_VEC_RESERVE(&merged, h->inferred.count))
    return ul_fail_nomem(err, "the replay");
  while (a < releases_count || b < h->inferred.count) {
    int take_a = b == h->inferred.count ||
                 (a < releases_count && h->inferred.items[a].before <= h->inferred.items[b].before);
    merged.items[merged.count++] = h->inferred.items[take_a ? a++ : b++];
  }
  UL_VEC_RELEASE(&h->inferred);
  h->inferred.items = merged.items;
  h->inferred.count = merged.count;
  h->inferred.capacity = merged.capacity;
  return UL_OK;
}

ul_status ul_history_infer(ul_history *h, ul_error *err) {
  const ul_recording *r = h->recording;
  size_t releases_count;
  uint64_t i;

  if (!r->has_trace)
    return UL_OK;
  UL_TRY(infer_releases(h, err));
  releases_count = h->inferred.count;
  UL_TRY(infer_stream_uses(h, err));
  if (h->inferred.count)
    UL_TRY(merge_inferred(h, releases_count, err));
  if (h->any_private_pools)
    UL_TRY(infer_pools(h, err));
  h->complete = h->starts_empty && !h->contradiction_count;
  for (i = 0; i < r->count && h->complete; i++)
    h->complete = !(r->events[i].flags & UL_EVENT_BEFORE_RECORDING);
  return UL_OK;
}
