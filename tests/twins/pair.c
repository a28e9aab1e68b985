/* SPDX-License-Identifier: MIT */
#include "tests/twins/pair.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATS = 256, MESSAGE = 2048, HISTORY = 4096, COPIES_EVERY = 7 };

void pair_die(const char *what, const char *why) {
  fprintf(stderr, "twins: %s: %s\n", what, why);
  exit(2);
}

/* ---- models ---- */

/* First fit, mostly: what the pretend runtime of the oracle does. */
static ul_address_policy policy_of(const pair *p) {
  static const ul_address_policy others[] = {UL_ADDRESS_RISING_APART, UL_ADDRESS_RISING,
                                             UL_ADDRESS_RANDOM};

  return p->seed % 10 < 3 ? others[p->seed % 10] : UL_ADDRESS_FIRST_FIT;
}

static ul_model *create(const pair *p, const char *backend, int batched) {
  ul_model_options o = {.size = sizeof(o), .seed = p->seed};
  ul_model *model;
  ul_error err = {0};

  o.backend = backend;
  o.torch = p->torch;
  o.settings = p->profile->settings;
  o.device_bytes = p->profile->device_mib << 20;
  o.stream_events = p->profile->stream_events;
  o.address_policy = policy_of(p);
  o.every_call = o.checked = !batched;
  if (ul_model_create(&model, &o, &err) != UL_OK)
    pair_die(p->profile->name, err.message);
  return model;
}

void pair_begin(pair *p, uint64_t seed) {
  p->seed = seed;
  p->fast = create(p, "native", 0);
  p->naive = create(p, "naive", 0);
  p->batched = create(p, "native", 1);
  p->batch.count = 0;
  p->batch.size = 1 + seed % PAIR_BATCH;
  p->comparisons = 0;
  p->difference[0] = '\0';
  p->over = 0;
}

void pair_end(pair *p) {
  ul_model_destroy(p->fast);
  ul_model_destroy(p->naive);
  ul_model_destroy(p->batched);
}

static void replace_by_copy(const pair *p, ul_model **model) {
  ul_model *copy;
  ul_error err = {0};

  if (ul_model_clone(&copy, *model, &err) != UL_OK)
    pair_die(p->profile->name, err.message);
  ul_model_destroy(*model);
  *model = copy;
}

/* ---- comparing ---- */

static int differ(pair *p, const char *what, uint64_t a, uint64_t b) {
  if (a == b || p->difference[0])
    return p->difference[0] != 0;
  snprintf(p->difference, PAIR_TEXT, "%s: native %" PRIu64 ", naive %" PRIu64, what, a, b);
  return 1;
}

static void compare_messages(pair *p, const ul_model *fast) {
  char native[MESSAGE] = "", naive[MESSAGE] = "";

  (void)ul_model_message(fast, native, sizeof(native));
  (void)ul_model_message(p->naive, naive, sizeof(naive));
  if (!p->difference[0] && strcmp(native, naive) != 0)
    snprintf(p->difference, PAIR_TEXT, "text: native '%.200s', naive '%.200s'", native, naive);
}

static void compare_outcomes(pair *p, const ul_outcome *a, const ul_outcome *b) {
  uint32_t i;

  if (differ(p, "result", a->result, b->result) || differ(p, "address", a->address, b->address) ||
      differ(p, "block", a->block_bytes, b->block_bytes) ||
      differ(p, "driver calls", a->call_count, b->call_count))
    return;
  for (i = 0; i < a->call_count; i++) {
    const ul_driver_call *x = &a->calls[i], *y = &b->calls[i];
    if (differ(p, "driver call", x->kind, y->kind) ||
        differ(p, "driver call at", x->address, y->address) ||
        differ(p, "driver call of", x->bytes, y->bytes))
      return;
  }
  (void)(differ(p, "refusals", a->refusals, b->refusals) ||
         differ(p, "retries", a->retries, b->retries));
  if (a->result != UL_OUTCOME_OOM)
    return;
  (void)(differ(p, "segment of OOM", a->segment_bytes, b->segment_bytes) ||
         differ(p, "limit", a->limit_bytes, b->limit_bytes) ||
         differ(p, "free bytes", a->device_free_bytes, b->device_free_bytes) ||
         differ(p, "preempted", a->preempted, b->preempted));
  compare_messages(p, p->fast);
}

static void compare_totals(pair *p, const ul_model *fast) {
  const ul_totals *a = ul_model_totals(fast), *b = ul_model_totals(p->naive);

  (void)(differ(p, "reserved", a->reserved_bytes, b->reserved_bytes) ||
         differ(p, "allocated", a->allocated_bytes, b->allocated_bytes) ||
         differ(p, "active", a->active_bytes, b->active_bytes) ||
         differ(p, "requested", a->requested_bytes, b->requested_bytes) ||
         differ(p, "live", a->live_bytes, b->live_bytes) ||
         differ(p, "live, rounded", a->live_rounded_bytes, b->live_rounded_bytes) ||
         differ(p, "releasable", a->releasable_bytes, b->releasable_bytes) ||
         differ(p, "held", a->held_bytes, b->held_bytes) ||
         differ(p, "segments", a->segment_count, b->segment_count));
}

static void compare_pools(pair *p, const ul_model *fast) {
  uint64_t x[12], y[12];
  uint32_t pool = 0, other = 0;
  size_t i, j;
  int more = 1;

  for (i = 0; more; i++) {
    more = ul_model_pool_reserved(p->naive, i, &other, y);
    if (differ(p, "pools with statistics", (uint64_t)ul_model_pool_reserved(fast, i, &pool, x),
               (uint64_t)more) ||
        (more && differ(p, "pool", pool, other)))
      return;
    for (j = 0; more && j < 12; j++)
      (void)differ(p, "reserved bytes of a pool", x[j], y[j]);
  }
}

static void compare_statistics(pair *p, const ul_model *fast) {
  static ul_stat a[STATS], b[STATS];
  const size_t count = ul_model_stats(fast, a, STATS);
  size_t i;

  if (differ(p, "statistics", count, ul_model_stats(p->naive, b, STATS)))
    return;
  for (i = 0; i < count; i++) {
    if (differ(p, b[i].name, a[i].value, b[i].value) ||
        differ(p, "name of a statistic", 0, strcmp(a[i].name, b[i].name) != 0))
      return;
  }
  compare_pools(p, fast);
}

static void compare_blocks(pair *p, const ul_block *a, const ul_block *b) {
  (void)(differ(p, "block at", a->address, b->address) ||
         differ(p, "size of the block", a->bytes, b->bytes) ||
         differ(p, "state of the block", a->state, b->state) ||
         differ(p, "handle of the block", a->state ? a->handle : 0, b->state ? b->handle : 0) ||
         (a->state && differ(p, "request of the block", a->requested_bytes, b->requested_bytes)));
}

static void compare_states(pair *p, ul_model *fast) {
  ul_error err = {0};
  ul_state x, y;
  uint32_t i, j;

  if (ul_model_state(fast, &x, &err) != UL_OK || ul_model_state(p->naive, &y, &err) != UL_OK)
    pair_die("state", err.message);
  if (differ(p, "segments in the state", x.segment_count, y.segment_count))
    return;
  for (i = 0; i < x.segment_count; i++) {
    const ul_segment *s = &x.segments[i], *t = &y.segments[i];
    if (differ(p, "segment at", s->address, t->address) ||
        differ(p, "size of the segment", s->bytes, t->bytes) ||
        differ(p, "stream of the segment", s->stream, t->stream) ||
        differ(p, "pool of the segment", s->pool, t->pool) ||
        differ(p, "blocks of the segment", s->block_count, t->block_count) ||
        differ(p, "registration", s->registration, t->registration))
      return;
    for (j = 0; j < s->block_count; j++)
      compare_blocks(p, &x.blocks[s->first_block + j], &y.blocks[t->first_block + j]);
  }
}

static void compare_histories(pair *p, const ul_model *fast) {
  static ul_history_entry a[HISTORY], b[HISTORY];
  size_t i, count;

  count = ul_model_history(fast, a, HISTORY);
  if (differ(p, "entries of the history", count, ul_model_history(p->naive, b, HISTORY)))
    return;
  for (i = 0; i < count && i < HISTORY; i++) {
    if (differ(p, "action of an entry", a[i].action, b[i].action) ||
        differ(p, "address of an entry", a[i].address, b[i].address) ||
        differ(p, "bytes of an entry", a[i].bytes, b[i].bytes) ||
        differ(p, "stream of an entry", a[i].stream, b[i].stream))
      return;
  }
}

static void compare_with(pair *p, ul_model *fast) {
  compare_states(p, fast);
  compare_statistics(p, fast);
  compare_histories(p, fast);
}

/* ---- batches ---- */

/* What differs is the second fast model's. */
static void blame_batch(pair *p) {
  char what[PAIR_TEXT];

  memcpy(what, p->difference, PAIR_TEXT);
  snprintf(p->difference, PAIR_TEXT, "in a batch of %zu: %.400s", p->batch.size, what);
}

static void take_batch(pair *p) {
  static ul_placement got[PAIR_BATCH];
  pair_batch *b = &p->batch;
  ul_error err = {0};
  size_t done = 0, i;

  if (p->difference[0] || !b->count)
    return;
  if (ul_model_apply_batch(p->batched, b->events, b->count, got, &done, &err) != UL_OK ||
      ul_model_check(p->batched, &err) != UL_OK)
    snprintf(p->difference, PAIR_TEXT, "native, event %zu: %.400s", done, err.message);
  for (i = 0; i < done; i++)
    (void)(differ(p, "result", got[i].result, b->wanted[i].result) ||
           differ(p, "address", got[i].address, b->wanted[i].address) ||
           differ(p, "block", got[i].block_bytes, b->wanted[i].block_bytes));
  b->count = 0;
  compare_totals(p, p->batched);
  compare_messages(p, p->batched);
  if (p->difference[0])
    blame_batch(p);
}

static void put_in_batch(pair *p, const ul_event *event, const ul_outcome *answer) {
  pair_batch *b = &p->batch;

  b->events[b->count] = *event;
  b->wanted[b->count].result = answer->result;
  b->wanted[b->count].address = answer->address;
  b->wanted[b->count].block_bytes = answer->block_bytes;
  if (++b->count == b->size || p->over)
    take_batch(p);
}

/* ---- one step of all ---- */

/* A refusal that all make in the same words is no difference. */
static void same(pair *p, ul_status a, const ul_error *x, ul_status b, const ul_error *y) {
  if (!p->difference[0] && (a != b || (a != UL_OK && strcmp(x->message, y->message) != 0)))
    snprintf(p->difference, PAIR_TEXT, "native: %d %.200s; naive: %d %.200s", (int)a,
             a ? x->message : "", (int)b, b ? y->message : "");
}

static void apply(pair *p, const life_step *s, ul_outcome *answer) {
  ul_error x = {0}, y = {0};
  ul_event e = s->event;
  ul_status status;
  ul_outcome fast;

  if (e.kind == UL_EVENT_SET_FRACTION) {
    if (!p->profile->device_mib)
      return;
    e.bytes = ul_model_fraction_limit(p->naive, s->fraction);
  }
  status = ul_model_apply(p->naive, &e, NULL, answer, &y);
  same(p, ul_model_apply(p->fast, &e, NULL, &fast, &x), &x, status, &y);
  if (p->difference[0])
    return;
  if (status != UL_OK)
    pair_die("an event", y.message);
  compare_outcomes(p, &fast, answer);
  p->over = answer->result == UL_OUTCOME_BROKEN;
  put_in_batch(p, &e, answer);
}

/* What is no event, of one model. */
static ul_status act(ul_model *model, const life_step *s, ul_error *err) {
  ul_state state;

  switch (s->kind) {
  case LIFE_CONFIGURE:
    return ul_model_configure(model, s->settings, err);
  case LIFE_RECORD:
    return ul_model_record_history(model, s->number > 0, s->number, err);
  case LIFE_SNAPSHOT:
    return ul_model_snapshot(model, &state, err);
  case LIFE_RESET_PEAK:
    ul_model_reset_peak(model);
    return UL_OK;
  case LIFE_RESET_ACCUMULATED:
    ul_model_reset_accumulated(model);
    return UL_OK;
  case LIFE_EVENT:
    break;
  }
  return UL_OK;
}

static void act_all(pair *p, const life_step *s) {
  ul_error x = {0}, y = {0}, z = {0};
  ul_status wanted;

  take_batch(p);
  wanted = act(p->naive, s, &y);
  same(p, act(p->fast, s, &x), &x, wanted, &y);
  same(p, act(p->batched, s, &z), &z, wanted, &y);
}

void pair_step(pair *p, const life_step *s, ul_outcome *answer) {
  memset(answer, 0, sizeof(*answer));
  if (s->kind == LIFE_EVENT)
    apply(p, s, answer);
  else
    act_all(p, s);
  if (!p->over)
    compare_totals(p, p->fast);
}

void pair_compare(pair *p) {
  take_batch(p);
  if (p->difference[0] || p->over)
    return;
  compare_with(p, p->fast);
  if (p->difference[0])
    return;
  compare_with(p, p->batched);
  if (p->difference[0])
    blame_batch(p);
  if (++p->comparisons % COPIES_EVERY)
    return;
  replace_by_copy(p, &p->fast);
  replace_by_copy(p, &p->naive);
  replace_by_copy(p, &p->batched);
}
