/* SPDX-License-Identifier: MIT */
#include "replay/history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void ul_history_contradiction(ul_history *history, ul_contradiction_rank rank, uint64_t event,
                              const char *format, ...) {
  ul_difference *d = &history->contradiction;
  va_list args;

  history->contradiction_count++;
  if ((int)rank <= history->contradiction_rank)
    return;
  history->contradiction_rank = (int)rank;
  memset(d, 0, sizeof(*d));
  d->kind = rank == UL_RANK_REQUEST ? UL_DIFFERENCE_REQUEST : UL_DIFFERENCE_INCONSISTENT;
  d->event = event;
  va_start(args, format);
  vsnprintf(d->text, sizeof(d->text), format, args);
  va_end(args);
  snprintf(d->cause, sizeof(d->cause),
           "the recording contradicts itself: an entry was changed, lost or added");
}

/* Where three entries name one allocation's size, the odd one out is the contradiction. */
static void check_request(ul_history *h, uint64_t alloc, uint64_t request, uint64_t completed) {
  const ul_event *events = h->recording->events;
  uint64_t a = events[alloc].bytes, odd = alloc;

  if (a == events[request].bytes && (completed == UL_NO_EVENT || a == events[completed].bytes))
    return;
  if (completed != UL_NO_EVENT && a == events[completed].bytes)
    odd = request;
  else if (completed != UL_NO_EVENT && a == events[request].bytes)
    odd = completed;
  ul_history_contradiction(h, UL_RANK_REQUEST, odd,
                           "entry %" PRIu64 " (%s) says %" PRIu64 " bytes, but entry %" PRIu64
                           " of the same allocation says %" PRIu64,
                           odd, ul_action_name((ul_action)h->recording->actions[odd]),
                           events[odd].bytes, odd == alloc ? request : alloc,
                           odd == alloc ? events[request].bytes : a);
}

/* Pairs every allocation with its free and checks that they agree about the size. */
static void pair_entries(ul_history *h) {
  const ul_recording *r = h->recording;
  uint64_t i;

  for (i = 0; i <= r->handle_count; i++)
    h->alloc_of[i] = h->free_of[i] = UL_NO_EVENT;
  for (i = 0; i < r->count; i++) {
    const ul_event *e = &r->events[i];
    if (e->kind == UL_EVENT_ALLOC && !(e->flags & UL_EVENT_OOM)) {
      h->alloc_of[e->handle] = i;
    } else if (e->kind == UL_EVENT_FREE) {
      h->free_of[e->handle] = i;
    } else if (e->kind == UL_EVENT_COMPLETE) {
      uint64_t request = h->free_of[e->handle], alloc = h->alloc_of[e->handle];
      if (request != UL_NO_EVENT && alloc != UL_NO_EVENT)
        check_request(h, alloc, request, i);
      else if (request != UL_NO_EVENT && r->events[request].bytes != e->bytes)
        check_request(h, request, i, UL_NO_EVENT);
      if (request == UL_NO_EVENT && alloc != UL_NO_EVENT)
        ul_history_contradiction(h, UL_RANK_REQUEST, i,
                                 "entry %" PRIu64 " completes the free of 0x%" PRIx64
                                 ", which no entry requested",
                                 i, r->addresses[i]);
      if (request == UL_NO_EVENT)
        h->free_of[e->handle] = i;
    }
  }
  /* Frees that never completed were not compared above. */
  for (i = 1; i <= r->handle_count; i++) {
    uint64_t alloc = h->alloc_of[i], request = h->free_of[i];
    if (alloc != UL_NO_EVENT && request != UL_NO_EVENT &&
        ((r->events[request].flags & UL_EVENT_DEFERRED) ||
         r->actions[request] == UL_ACTION_FREE_COMPLETED) &&
        r->events[alloc].bytes != r->events[request].bytes)
      check_request(h, alloc, request, UL_NO_EVENT);
  }
}

void ul_history_free(ul_history *history) {
  if (!history)
    return;
  free(history->alloc_of);
  free(history->free_of);
  UL_VEC_RELEASE(&history->segments);
  UL_VEC_RELEASE(&history->blocks);
  UL_VEC_RELEASE(&history->inferred);
  UL_VEC_RELEASE(&history->pools);
  free(history);
}

static void look_around(ul_history *h) {
  const ul_recording *r = h->recording;
  uint32_t i;

  h->any_expandable =
      r->action_counts[UL_ACTION_SEGMENT_MAP] > 0 || r->action_counts[UL_ACTION_SEGMENT_UNMAP] > 0;
  for (i = 0; i < r->final_state.segment_count; i++) {
    h->any_expandable |= r->final_state.segments[i].is_expandable;
    h->any_private_pools |= r->final_state.segments[i].pool != 0;
  }
}

ul_status ul_history_build(ul_history **out, const ul_source *source, const ul_recording *recording,
                           ul_error *err) {
  ul_history *h = calloc(1, sizeof(*h));
  ul_status status = UL_OK;
  size_t handles = (size_t)recording->handle_count + 1;

  if (!h)
    return ul_fail_nomem(err, "the replay");
  h->source = source;
  h->recording = recording;
  h->alloc_of = malloc(handles * sizeof(*h->alloc_of));
  h->free_of = malloc(handles * sizeof(*h->free_of));
  if (!h->alloc_of || !h->free_of)
    status = ul_fail_nomem(err, "the replay");
  look_around(h);
  if (status == UL_OK) {
    pair_entries(h);
    status = ul_history_undo(h, err);
  }
  if (status == UL_OK)
    status = ul_history_infer(h, err);
  if (status == UL_OK && recording->has_trace)
    ul_history_infer_limit(h);
  if (status != UL_OK) {
    ul_history_free(h);
    return status;
  }
  *out = h;
  return UL_OK;
}
