/* SPDX-License-Identifier: MIT */
#include "allocator/plain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/sizing.h"
#include "base/error.h"
#include "base/units.h"

/* More than any device has, and few enough for sums and addresses to stay below 2^64. */
#define MOST_BYTES (UINT64_C(1) << 62)

/* ---- live allocations ---- */

static ul_plain_allocation *find(const ul_plain *p, uint64_t handle) {
  const uint32_t found = handle ? ul_idmap_get(&p->by_handle, handle) : 0;

  return found ? &p->live.items[found - 1] : NULL;
}

/* Where the map finds it from now on. 0 without memory. */
static int set_index(ul_plain *p, uint64_t handle, size_t index) {
  return !handle || ul_idmap_set(&p->by_handle, handle, (uint32_t)index + 1);
}

/* 0 without memory; nothing has changed then. */
static int add(ul_plain *p, const ul_plain_allocation *a) {
  if (p->live.count >= UINT32_MAX - 1 || !UL_VEC_RESERVE(&p->live, 1) ||
      !set_index(p, a->handle, p->live.count))
    return 0;
  p->live.items[p->live.count++] = *a;
  p->totals.allocated_bytes += a->bytes;
  p->totals.active_bytes += a->bytes;
  p->totals.requested_bytes += a->requested_bytes;
  p->totals.live_bytes += a->requested_bytes;
  p->totals.live_rounded_bytes += a->requested_bytes;
  p->totals.segment_count++;
  return 1;
}

/* The last one takes the place of the one that goes. */
static void forget(ul_plain *p, ul_plain_allocation *a) {
  const ul_plain_allocation gone = *a, *last = &p->live.items[p->live.count - 1];

  ul_idmap_remove(&p->by_handle, gone.handle);
  if (a != last) {
    *a = *last;
    set_index(p, a->handle, (size_t)(a - p->live.items)); /* it is there */
  }
  p->live.count--;
  p->totals.allocated_bytes -= gone.bytes;
  p->totals.active_bytes -= gone.bytes;
  p->totals.requested_bytes -= gone.requested_bytes;
  p->totals.live_bytes -= gone.requested_bytes;
  p->totals.live_rounded_bytes -= gone.requested_bytes;
  p->totals.segment_count--;
}

/* ---- events ---- */

static void reject(ul_outcome *o, const char *reason) {
  o->result = UL_OUTCOME_REJECTED;
  o->reason = reason;
}

static int note_call(ul_plain *p, ul_driver_call_kind kind, uint64_t address, uint64_t bytes,
                     uint32_t stream) {
  const ul_driver_call call = {address, bytes, stream, (uint8_t)kind};

  if (!p->rules->lists_calls || (kind == UL_DRIVER_ALLOC_REFUSED && !p->every_call))
    return 1;
  return UL_VEC_PUSH(&p->calls, call);
}

uint64_t ul_plain_free_bytes(const ul_plain *p) {
  const uint64_t reserved = p->totals.reserved_bytes;

  if (reserved > p->capacity_bytes || p->external_bytes > p->capacity_bytes - reserved)
    return 0;
  return p->capacity_bytes - reserved - p->external_bytes;
}

static int raise_oom(ul_plain *p, const ul_event *e, ul_outcome *o) {
  ul_oom_facts *f = &p->facts;

  o->result = UL_OUTCOME_OOM;
  o->preempted = 1; /* these backends know no observers */
  o->refusals = 1;
  o->limit_bytes = p->limit_bytes != UINT64_MAX ? p->limit_bytes : p->capacity_bytes;
  o->device_free_bytes = ul_plain_free_bytes(p);
  memset(f, 0, sizeof(*f));
  f->requested_bytes = f->segment_bytes = e->bytes;
  f->device_bytes = f->property_bytes = p->capacity_bytes;
  f->free_bytes = o->device_free_bytes;
  f->limit_bytes = p->limit_bytes;
  f->allocated_bytes = p->totals.requested_bytes;
  f->reserved_bytes = p->totals.reserved_bytes;
  f->device = e->device;
  f->source = p->rules->oom;
  p->last_was_oom = 1;
  return note_call(p, UL_DRIVER_ALLOC_REFUSED, 0, e->bytes, e->stream);
}

/* What admit let grow shrinks again where there are no addresses for it, or no memory. */
static ul_device_answer place(ul_plain *p, ul_plain_allocation *a) {
  ul_device_answer answer = ul_device_malloc(&p->device, a->bytes, &a->address);

  if (answer == UL_DEVICE_GRANTED && !add(p, a)) {
    ul_device_free(&p->device, a->address, a->bytes);
    answer = UL_DEVICE_NOMEM;
  }
  if (answer != UL_DEVICE_GRANTED && p->rules->released)
    p->rules->released(p);
  return answer;
}

/* 0 without memory. */
static int alloc(ul_plain *p, const ul_event *e, ul_outcome *o) {
  ul_plain_allocation a = {.handle = e->handle, .requested_bytes = e->bytes};
  ul_device_answer answer;

  if (!e->bytes)
    return 1; /* a null pointer */
  if (find(p, e->handle)) {
    reject(o, "a handle that is already in use");
    return 1;
  }
  a.bytes = ul_round_up(e->bytes, p->rules->quantum);
  a.stream = e->stream;
  a.stack = e->stack;
  o->block_bytes = a.bytes;
  o->segment_bytes = e->bytes;
  if (a.bytes > MOST_BYTES - p->totals.reserved_bytes || !p->rules->admit(p, e->bytes, a.bytes))
    return raise_oom(p, e, o);
  answer = place(p, &a);
  if (answer == UL_DEVICE_REFUSED)
    return raise_oom(p, e, o);
  if (answer == UL_DEVICE_NOMEM)
    return 0;
  o->result = UL_OUTCOME_SERVED;
  o->address = a.address;
  return note_call(p, UL_DRIVER_SEGMENT_ALLOC, a.address, e->bytes, e->stream);
}

static int free_event(ul_plain *p, const ul_event *e, ul_outcome *o) {
  ul_plain_allocation *found = find(p, e->handle);
  ul_plain_allocation a;

  if (!found) {
    reject(o, "a free of an allocation that is not live");
    return 1;
  }
  a = *found;
  forget(p, found);
  ul_device_free(&p->device, a.address, a.bytes);
  if (p->rules->released)
    p->rules->released(p);
  o->address = a.address;
  o->block_bytes = a.bytes;
  return note_call(p, UL_DRIVER_SEGMENT_FREE, a.address, a.bytes, a.stream);
}

static int step(ul_plain *p, const ul_event *e, ul_outcome *o) {
  switch ((ul_event_kind)e->kind) {
  case UL_EVENT_ALLOC:
    return alloc(p, e, o);
  case UL_EVENT_FREE:
    return free_event(p, e, o);
  case UL_EVENT_STREAM_USE:
    if (!find(p, e->handle))
      reject(o, "a stream use of an allocation that is not live");
    return 1;
  case UL_EVENT_EMPTY_CACHE:
    if (p->rules->empty_cache)
      p->rules->empty_cache(p);
    return 1;
  case UL_EVENT_SET_FRACTION:
    if (p->rules->has_limit)
      p->limit_bytes = e->bytes;
    return 1;
  case UL_EVENT_EXTERNAL_BYTES:
    p->external_bytes = e->bytes;
    return 1;
  case UL_EVENT_DEVICE_BYTES:
    p->capacity_bytes = e->bytes;
    return 1;
  case UL_EVENT_SET_CONF:
    reject(o, "settings come as a string of their own");
    return 1;
  case UL_EVENT_ALLOC_AT:
  case UL_EVENT_POOL_CHECKPOINT:
  case UL_EVENT_POOL_RESTORE:
    reject(o, "an event that this backend does not know");
    return 1;
  default: /* pools change nothing: each allocation has memory of its own anyway */
    if (e->kind >= UL_EVENT_KIND_COUNT)
      reject(o, "an event kind that does not exist");
    return 1;
  }
}

static void count(ul_plain *p) {
  const struct {
    ul_stat_array array;
    uint64_t bytes;
  } figures[] = {
      {UL_STAT_ALLOCATED_BYTES, p->totals.allocated_bytes},
      {UL_STAT_ACTIVE_BYTES, p->totals.allocated_bytes},
      {UL_STAT_RESERVED_BYTES, p->totals.reserved_bytes},
  };
  size_t i;

  for (i = 0; p->rules->counts && i < sizeof(figures) / sizeof(figures[0]); i++) {
    ul_stat_values *values = &p->statistics.arrays[figures[i].array][UL_SLOT_ALL];
    values->current = figures[i].bytes;
    if (values->peak < values->current)
      values->peak = values->current;
  }
}

ul_status ul_plain_apply(void *state, const ul_event *event, const ul_grants *grants,
                         ul_outcome *outcome, ul_error *err) {
  ul_plain *p = state;

  (void)grants; /* another allocator's: they answer requests that this one does not make */
  memset(outcome, 0, sizeof(*outcome));
  p->calls.count = 0;
  p->last_was_oom = 0;
  if (!step(p, event, outcome))
    return ul_fail_nomem(err, "the allocator model");
  p->totals.releasable_bytes = p->totals.reserved_bytes - p->totals.active_bytes;
  count(p);
  outcome->calls = p->calls.items;
  outcome->call_count = (uint32_t)p->calls.count;
  return UL_OK;
}

/* ---- the model ---- */

/* 0 without memory. */
static int copy_text(const char **out, const char *text) {
  char *copy = text ? malloc(strlen(text) + 1) : NULL;

  if (copy)
    memcpy(copy, text, strlen(text) + 1);
  *out = copy;
  return copy || !text;
}

static ul_status keep_given(ul_plain *p, const ul_settings_given *given, ul_error *err) {
  p->given.variable = given->variable;
  if (copy_text(&p->given.text, given->text) && copy_text(&p->given.cuda_text, given->cuda_text))
    return UL_OK;
  return ul_fail_nomem(err, "the settings");
}

ul_status ul_plain_create(ul_plain **out, const ul_model_options *options,
                          const ul_plain_rules *rules, int reads_settings, ul_error *err) {
  const ul_settings_given given = ul_settings_of(options);
  ul_plain *p = calloc(1, sizeof(*p));
  ul_status status;

  if (!p)
    return ul_fail_nomem(err, "the allocator model");
  p->rules = rules;
  p->limit_bytes = UINT64_MAX;
  p->every_call = options->every_call;
  ul_device_init(&p->device, options);
  p->device.capacity_bytes = 0;
  p->capacity_bytes = options->device_bytes;
  p->external_bytes = options->external_bytes;
  ul_settings_init(&p->settings);
  status = ul_profile_find(&p->profile, options->torch, NULL, err);
  if (status == UL_OK && reads_settings)
    status = ul_settings_start(&p->settings, &given, p->profile, err);
  else if (status == UL_OK)
    status = keep_given(p, &given, err);
  if (status != UL_OK) {
    ul_plain_destroy(p);
    return status;
  }
  *out = p;
  return UL_OK;
}

void ul_plain_destroy(void *state) {
  ul_plain *p = state;

  ul_device_release(&p->device);
  ul_idmap_release(&p->by_handle);
  UL_VEC_RELEASE(&p->live);
  UL_VEC_RELEASE(&p->calls);
  UL_VEC_RELEASE(&p->shown_segments);
  UL_VEC_RELEASE(&p->shown_blocks);
  free((char *)p->given.text);
  free((char *)p->given.cuda_text);
  free(p);
}

/* What the program holds gets memory of this backend's own; what another allocator had cached is
 * not there. */
ul_status ul_plain_load(void *state, const ul_state *from, ul_error *err) {
  uint32_t i, j;

  for (i = 0; i < from->segment_count; i++) {
    const ul_segment *s = &from->segments[i];
    for (j = s->first_block; j < s->first_block + s->block_count; j++) {
      const ul_block *b = &from->blocks[j];
      ul_event event = {.kind = UL_EVENT_ALLOC, .handle = b->handle, .stack = b->stack};
      ul_outcome outcome;
      if (b->state != UL_BLOCK_ACTIVE_ALLOCATED)
        continue;
      event.bytes = b->requested_bytes ? b->requested_bytes : b->bytes;
      event.stream = s->stream;
      UL_TRY(ul_plain_apply(state, &event, NULL, &outcome, err));
      if (outcome.result != UL_OUTCOME_SERVED)
        return ul_fail(err, UL_E_INVALID, 0, "the state does not fit: %" PRIu64 " bytes more",
                       event.bytes);
    }
  }
  return UL_OK;
}

ul_status ul_plain_configure(void *state, const char *settings, ul_error *err) {
  ul_plain *p = state;

  return ul_settings_apply_late(&p->settings, &p->given, settings, p->profile, err);
}

const ul_profile *ul_plain_profile(const void *state) {
  return ((const ul_plain *)state)->profile;
}

int ul_plain_oom(const void *state, ul_oom_facts *out) {
  const ul_plain *p = state;

  *out = p->facts;
  return p->last_was_oom;
}

/* Nothing is recorded, whatever is asked. */
ul_status ul_plain_record_history(void *state, int enabled, uint64_t max_entries, ul_error *err) {
  (void)state, (void)enabled, (void)max_entries, (void)err;
  return UL_OK;
}

ul_status ul_plain_clone(void **out, const void *state, ul_error *err) {
  const ul_plain *from = state;
  ul_plain *copy = calloc(1, sizeof(*copy));

  if (!copy)
    return ul_fail_nomem(err, "a copy of the allocator model");
  *copy = *from;
  memset(&copy->by_handle, 0, sizeof(copy->by_handle));
  memset(&copy->live, 0, sizeof(copy->live));
  memset(&copy->calls, 0, sizeof(copy->calls));
  memset(&copy->shown_segments, 0, sizeof(copy->shown_segments));
  memset(&copy->shown_blocks, 0, sizeof(copy->shown_blocks));
  memset(&copy->device.spans, 0, sizeof(copy->device.spans));
  copy->given.text = copy->given.cuda_text = NULL;
  if (keep_given(copy, &from->given, err) != UL_OK ||
      !ul_device_copy(&copy->device, &from->device) ||
      !ul_idmap_copy(&copy->by_handle, &from->by_handle) ||
      !UL_VEC_RESERVE(&copy->live, from->live.count)) {
    ul_plain_destroy(copy);
    return ul_fail_nomem(err, "a copy of the allocator model");
  }
  if (from->live.count)
    memcpy(copy->live.items, from->live.items, from->live.count * sizeof(*from->live.items));
  copy->live.count = from->live.count;
  *out = copy;
  return UL_OK;
}

const ul_totals *ul_plain_totals(const void *state) {
  return &((const ul_plain *)state)->totals;
}

size_t ul_plain_stats(const void *state, ul_stat *out, size_t capacity) {
  return ul_statistics_list(&((const ul_plain *)state)->statistics, out, capacity);
}

void ul_plain_reset_peak(void *state) {
  ul_statistics_reset_peak(&((ul_plain *)state)->statistics);
}

static int by_address(const void *a, const void *b) {
  const ul_plain_allocation *x = a, *y = b;

  return (x->address > y->address) - (x->address < y->address);
}

/* A segment with one block for each allocation. */
ul_status ul_plain_visit(void *state, ul_state *out, ul_error *err) {
  ul_plain *p = state;
  size_t i;

  p->shown_segments.count = p->shown_blocks.count = 0;
  if (p->live.count) { /* their order is nobody's business but the map's */
    qsort(p->live.items, p->live.count, sizeof(*p->live.items), by_address);
    for (i = 0; i < p->live.count; i++)
      set_index(p, p->live.items[i].handle, i);
  }
  for (i = 0; i < p->live.count; i++) {
    const ul_plain_allocation *a = &p->live.items[i];
    ul_segment s = {.address = a->address, .bytes = a->bytes, .first_block = (uint32_t)i};
    ul_block b = {.address = a->address, .bytes = a->bytes, .handle = a->handle};
    s.block_count = 1;
    s.stream = a->stream;
    s.stack = b.stack = a->stack;
    b.requested_bytes = a->requested_bytes;
    b.state = UL_BLOCK_ACTIVE_ALLOCATED;
    if (!UL_VEC_PUSH(&p->shown_segments, s) || !UL_VEC_PUSH(&p->shown_blocks, b))
      return ul_fail_nomem(err, "the state of the allocator model");
  }
  out->segments = p->shown_segments.items;
  out->blocks = p->shown_blocks.items;
  out->segment_count = out->block_count = (uint32_t)p->live.count;
  return UL_OK;
}

/* The sums over what is live, and that each is found by its handle. */
ul_status ul_plain_check(const void *state, ul_error *err) {
  const ul_plain *p = state;
  uint64_t bytes = 0, requested = 0;
  size_t i;

  for (i = 0; i < p->live.count; i++) {
    if (p->live.items[i].handle && ul_idmap_get(&p->by_handle, p->live.items[i].handle) != i + 1)
      return ul_fail(err, UL_E_STATE, 0, "allocation %" PRIu64 " is not found by its handle",
                     p->live.items[i].handle);
    bytes += p->live.items[i].bytes;
    requested += p->live.items[i].requested_bytes;
  }
  if (bytes != p->totals.active_bytes || requested != p->totals.requested_bytes ||
      p->totals.reserved_bytes < bytes || p->totals.segment_count != p->live.count)
    return ul_fail(err, UL_E_STATE, 0, "the totals are not the sums over live allocations");
  return UL_OK;
}

/* Nothing is rounded by the allocator; the driver's granules are the tail of an allocation. */
uint64_t ul_plain_round(const void *state, uint64_t requested_bytes) {
  (void)state;
  return requested_bytes;
}

/* cudaMallocAsync's is truncated in every release, and 1 is a limit, too. */
uint64_t ul_plain_fraction_limit(const void *state, double fraction) {
  const ul_plain *p = state;

  return (uint64_t)(fraction * (double)p->capacity_bytes);
}

uint64_t ul_plain_unsplit_limit(const void *state, int is_small, uint64_t rounded_bytes) {
  (void)state, (void)is_small, (void)rounded_bytes;
  return UINT64_MAX;
}

/* Whatever is free can serve everybody. */
ul_status ul_plain_asker(const void *state, const ul_event *event, ul_asker_view *out,
                         ul_error *err) {
  (void)state, (void)err;
  memset(out, 0, sizeof(*out));
  out->rounded_bytes = event->bytes;
  return UL_OK;
}
