/* SPDX-License-Identifier: MIT */
#include "replay/engine.h"

#include <string.h>

#include "base/error.h"

enum { PROGRESS_EVERY = 1 << 16 };

struct engine {
  ul_model *model;
  const ul_history *h;
  const ul_engine_options *options;
  UL_VEC(ul_driver_call) group; /* recorded driver calls since the last step that made any */
  UL_VEC(ul_driver_call) granted;
  size_t next_inferred, next_pool;
  uint8_t last_result; /* ul_outcome_result of the step just made */
  ul_error *err;
};

/* The environment of one step: what the driver did in the recording. Without recorded bases only
 * the refusals are left, which the releases in between stand for. */
static ul_status grants_of(struct engine *e, const ul_event *event, ul_grants *grants) {
  size_t i;

  grants->refuse_rest = (event->flags & UL_EVENT_OOM) != 0;
  if (e->options->mode == UL_ENGINE_AS_RECORDED) {
    grants->calls = e->group.items;
    grants->count = e->group.count;
    return UL_OK;
  }
  e->granted.count = 0;
  for (i = 0; i < e->group.count && !e->options->collects; i++) {
    const ul_driver_call *call = &e->group.items[i];
    if ((call->kind == UL_DRIVER_SEGMENT_FREE || call->kind == UL_DRIVER_SEGMENT_UNMAP) &&
        !UL_VEC_PUSH(&e->granted, *call))
      return ul_fail_nomem(e->err, "the replay");
  }
  grants->calls = e->granted.items;
  grants->count = e->granted.count;
  return UL_OK;
}

static ul_status step(struct engine *e, uint64_t number, const ul_event *event, int pool_inferred) {
  const ul_engine_options *o = e->options;
  ul_grants grants = {NULL, 0, 0};
  ul_call_list recorded;
  ul_outcome outcome;
  size_t i;

  for (i = 0; i < o->probe_count; i++) {
    if (o->probes[i].before)
      UL_TRY(o->probes[i].before(o->probes[i].arg, number, event, e->model, e->err));
  }
  if (event->kind == UL_EVENT_ALLOC || event->kind == UL_EVENT_EMPTY_CACHE)
    UL_TRY(grants_of(e, event, &grants));
  UL_TRY(ul_model_apply(e->model, event, o->mode == UL_ENGINE_WHAT_IF ? NULL : &grants, &outcome,
                        e->err));
  e->last_result = outcome.result;
  recorded.calls = e->group.items;
  recorded.count = e->group.count;
  if (o->prover) {
    if (event->kind == UL_EVENT_ALLOC)
      ul_prover_alloc(o->prover, number, event, &outcome, recorded, pool_inferred);
    else if (event->kind == UL_EVENT_EMPTY_CACHE)
      ul_prover_release(o->prover, number, &outcome, recorded);
    else if (outcome.result == UL_OUTCOME_REJECTED)
      ul_prover_rejected(o->prover, number, &outcome);
  }
  if (event->kind == UL_EVENT_ALLOC || event->kind == UL_EVENT_EMPTY_CACHE)
    e->group.count = 0;
  for (i = 0; i < o->probe_count; i++)
    UL_TRY(o->probes[i].after(o->probes[i].arg, number, event, &outcome, e->model, e->err));
  return UL_OK;
}

/* The steps that were concluded to lie before event `number`. */
static ul_status step_inferred(struct engine *e, uint64_t number) {
  const ul_history *h = e->h;

  while (e->next_inferred < h->inferred.count &&
         h->inferred.items[e->next_inferred].before <= number)
    UL_TRY(step(e, number, &h->inferred.items[e->next_inferred++].event, 0));
  return UL_OK;
}

/* The event as the model gets it: with the pool that its address tells. */
static ul_event event_at(struct engine *e, uint64_t number, int *pool_inferred) {
  ul_event event = e->h->recording->events[number];

  *pool_inferred =
      e->next_pool < e->h->pools.count && e->h->pools.items[e->next_pool].event == number;
  if (*pool_inferred)
    event.pool = e->h->pools.items[e->next_pool++].pool;
  return event;
}

/* A request that was refused in the recording but served here is given up at once: what the
 * program did with it is not known, and it must not stay for ever. */
static ul_status give_up(struct engine *e, uint64_t number, const ul_event *request) {
  ul_event event = *request;

  event.kind = UL_EVENT_FREE;
  event.flags = UL_EVENT_INFERRED;
  return step(e, number, &event, 0);
}

static ul_status run(struct engine *e) {
  const ul_recording *r = e->h->recording;
  uint64_t i, end = r->has_trace ? r->count : 0;
  ul_driver_call call;
  int pool_inferred;

  for (i = 0; i < end && (i <= e->options->stop_after); i++) {
    const uint8_t action = r->actions[i];
    if (e->options->progress && i % PROGRESS_EVERY == 0 &&
        e->options->progress(i, r->count, e->options->progress_arg))
      return ul_fail(e->err, UL_E_STATE, 0, "the replay was stopped");
    UL_TRY(step_inferred(e, i));
    if (action >= UL_ACTION_SEGMENT_ALLOC && action <= UL_ACTION_SEGMENT_UNMAP) {
      call.address = r->addresses[i];
      call.bytes = r->events[i].bytes;
      call.stream = r->events[i].stream;
      call.kind = action;
      if (!UL_VEC_PUSH(&e->group, call))
        return ul_fail_nomem(e->err, "the replay");
    }
    {
      const ul_event event = event_at(e, i, &pool_inferred);
      UL_TRY(step(e, i, &event, pool_inferred));
      if ((event.flags & UL_EVENT_OOM) && e->last_result == UL_OUTCOME_SERVED)
        UL_TRY(give_up(e, i, &event));
    }
  }
  if (e->options->stop_after < end)
    return UL_OK;
  UL_TRY(step_inferred(e, end));
  if (e->options->prover) {
    const ul_call_list rest = {e->group.items, e->group.count};
    ul_prover_unexplained(e->options->prover, rest);
    UL_TRY(ul_prover_final(e->options->prover, e->model, e->err));
  }
  return UL_OK;
}

ul_status ul_engine_run(ul_model *model, const ul_history *history,
                        const ul_engine_options *options, ul_error *err) {
  struct engine e;
  ul_status status;

  memset(&e, 0, sizeof(e));
  e.model = model;
  e.h = history;
  e.options = options;
  e.err = err;
  status = run(&e);
  UL_VEC_RELEASE(&e.group);
  UL_VEC_RELEASE(&e.granted);
  return status;
}
