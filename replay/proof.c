/* SPDX-License-Identifier: MIT */
#include "replay/proof.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const causes[] = {
    [UL_DIFFERENCE_PLACEMENT] =
        "another release or other settings than the recorded ones, a use of the block that leaves "
        "no entry (record_stream, a private pool), or an entry that is missing or changed",
    [UL_DIFFERENCE_SEGMENT] =
        "other settings than the recorded ones, memory given back by a call that leaves no entry, "
        "or an entry that is missing or changed",
    [UL_DIFFERENCE_RESULT] = "the device held more, or less, than the entries tell",
    [UL_DIFFERENCE_FINAL_BLOCK] =
        "an entry that is missing, or the state was changed after it was recorded",
    [UL_DIFFERENCE_FINAL_SEGMENT] =
        "an entry that is missing, or the state was changed after it was recorded",
};

/* Keeps d if it is the earliest difference so far. Returns NULL if it is not. */
static ul_difference *first_difference(ul_prover *p, ul_difference_kind kind, uint64_t event) {
  ul_difference *d = &p->proof.first_difference;

  /* Entries that contradict each other explain whatever else differs. What is only known to be
   * wrong with the start is told better by the first difference that it makes. */
  if (p->history->contradiction_rank > UL_RANK_START)
    return NULL;
  if (p->differs && d->event <= event)
    return NULL;
  p->differs = 1;
  memset(d, 0, sizeof(*d));
  d->kind = (uint8_t)kind;
  d->event = event;
  if (p->history->contradiction_count)
    snprintf(d->cause, sizeof(d->cause), "%s", p->history->contradiction.text);
  else if (kind == UL_DIFFERENCE_PLACEMENT && p->proof.ambiguous_blocks)
    snprintf(d->cause, sizeof(d->cause),
             "the sizes of %" PRIu64 " blocks older than the recording are not recorded",
             p->proof.ambiguous_blocks);
  else if ((size_t)kind < sizeof(causes) / sizeof(causes[0]) && causes[kind])
    snprintf(d->cause, sizeof(d->cause), "%s", causes[kind]);
  return d;
}

static void describe(ul_difference *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void describe(ul_difference *d, const char *format, ...) {
  va_list args;

  va_start(args, format);
  vsnprintf(d->text, sizeof(d->text), format, args);
  va_end(args);
}

void ul_prover_init(ul_prover *prover, const ul_history *history, const ul_initial_state *initial) {
  const ul_recording *r = history->recording;
  size_t i;

  memset(prover, 0, sizeof(*prover));
  prover->history = history;
  prover->initial = initial;
  prover->proof.ambiguous_blocks = initial->ambiguous;
  prover->proof.inconsistencies = history->contradiction_count;
  prover->proof.unknown_frees = history->unknown_frees;
  prover->proof.first_difference = history->contradiction;
  if (!r->has_trace)
    return;
  prover->proof.inferred_pool = history->pools.count;
  for (i = 0; i < history->inferred.count; i++) {
    uint8_t kind = history->inferred.items[i].event.kind;
    prover->proof.inferred_empty_cache += kind == UL_EVENT_EMPTY_CACHE;
    prover->proof.inferred_stream_use += kind == UL_EVENT_STREAM_USE;
  }
  prover->proof.segments_recorded =
      r->action_counts[UL_ACTION_SEGMENT_ALLOC] + r->action_counts[UL_ACTION_SEGMENT_FREE] +
      r->action_counts[UL_ACTION_SEGMENT_MAP] + r->action_counts[UL_ACTION_SEGMENT_UNMAP];
}

static int same_call(const ul_driver_call *a, const ul_driver_call *b) {
  return a->kind == b->kind && a->address == b->address && a->bytes == b->bytes;
}

/* Compares the model's driver calls with the recorded ones, in order. */
static void compare_calls(ul_prover *p, uint64_t number, const ul_outcome *outcome,
                          ul_call_list recorded) {
  size_t i, count = outcome->call_count > recorded.count ? outcome->call_count : recorded.count;
  ul_difference *d;

  for (i = 0; i < count; i++) {
    const ul_driver_call *ours = i < outcome->call_count ? &outcome->calls[i] : NULL;
    const ul_driver_call *theirs = i < recorded.count ? &recorded.calls[i] : NULL;
    char a[80] = "nothing", b[80] = "nothing";
    if (ours && theirs && same_call(ours, theirs)) {
      p->proof.segments_exact++;
      continue;
    }
    d = first_difference(p, UL_DIFFERENCE_SEGMENT, number);
    if (!d)
      continue;
    if (theirs) {
      snprintf(a, sizeof(a), "%s of %" PRIu64 " bytes at 0x%" PRIx64,
               ul_action_name((ul_action)theirs->kind), theirs->bytes, theirs->address);
      d->recorded_address = theirs->address;
      d->recorded_bytes = theirs->bytes;
    }
    if (ours) {
      snprintf(b, sizeof(b), "%s of %" PRIu64 " bytes at 0x%" PRIx64,
               ul_action_name((ul_action)ours->kind), ours->bytes, ours->address);
      d->model_address = ours->address;
      d->model_bytes = ours->bytes;
    }
    d->placed_address = outcome->address;
    describe(d, "driver calls before entry %" PRIu64 ": recorded %s, model %s", number, a, b);
  }
}

/* Was an input of this placement concluded from its own address? */
static int is_assisted(ul_prover *p, uint64_t number, int pool_inferred) {
  int assisted = pool_inferred;

  while (p->next_assisted < p->initial->assisted.count &&
         p->initial->assisted.items[p->next_assisted] <= number)
    assisted |= p->initial->assisted.items[p->next_assisted++] == number;
  return assisted;
}

void ul_prover_alloc(ul_prover *p, uint64_t number, const ul_event *event,
                     const ul_outcome *outcome, ul_call_list recorded, int pool_inferred) {
  const int recorded_oom = (event->flags & UL_EVENT_OOM) != 0;
  const uint64_t address = p->history->recording->addresses[number];
  const int assisted = is_assisted(p, number, pool_inferred);
  ul_difference *d;

  p->proof.placements++;
  compare_calls(p, number, outcome, recorded);
  if (recorded_oom != (outcome->result == UL_OUTCOME_OOM)) {
    d = first_difference(p, UL_DIFFERENCE_RESULT, number);
    if (d)
      describe(d, "entry %" PRIu64 ": a request of %" PRIu64 " bytes was %s, the model %s%s%s",
               number, event->bytes, recorded_oom ? "refused (oom)" : "served",
               outcome->result == UL_OUTCOME_SERVED ? "serves it"
               : outcome->result == UL_OUTCOME_OOM  ? "refuses it"
                                                    : "cannot apply it",
               outcome->reason ? ": " : "", outcome->reason ? outcome->reason : "");
    return;
  }
  if (recorded_oom || (outcome->result == UL_OUTCOME_SERVED && outcome->address == address)) {
    if (assisted)
      p->proof.assisted++;
    else
      p->proof.exact++;
    return;
  }
  d = first_difference(p, UL_DIFFERENCE_PLACEMENT, number);
  if (!d)
    return;
  d->recorded_address = address;
  d->recorded_bytes = event->bytes;
  d->model_address = d->placed_address = outcome->address;
  d->model_bytes = outcome->block_bytes;
  describe(d,
           "entry %" PRIu64 ": alloc of %" PRIu64 " bytes: recorded at 0x%" PRIx64
           ", the model places it at 0x%" PRIx64 " (block of %" PRIu64 " bytes)",
           number, event->bytes, address, outcome->address, outcome->block_bytes);
}

void ul_prover_release(ul_prover *p, uint64_t number, const ul_outcome *outcome,
                       ul_call_list recorded) {
  compare_calls(p, number, outcome, recorded);
}

void ul_prover_rejected(ul_prover *p, uint64_t number, const ul_outcome *outcome) {
  ul_difference *d = first_difference(p, UL_DIFFERENCE_INCONSISTENT, number);

  if (d)
    describe(d, "entry %" PRIu64 " (%s): the model finds %s", number,
             ul_action_name((ul_action)p->history->recording->actions[number]),
             outcome->reason ? outcome->reason : "no sense in it");
}

void ul_prover_unexplained(ul_prover *p, ul_call_list recorded) {
  const uint64_t end = p->history->recording->count;
  ul_difference *d;

  if (!recorded.count)
    return;
  d = first_difference(p, UL_DIFFERENCE_SEGMENT, end ? end - 1 : 0);
  if (!d)
    return;
  d->recorded_address = recorded.calls[0].address;
  d->recorded_bytes = recorded.calls[0].bytes;
  describe(d,
           "the recording ends with %s of %" PRIu64 " bytes at 0x%" PRIx64
           ", which serves no request",
           ul_action_name((ul_action)recorded.calls[0].kind), recorded.calls[0].bytes,
           recorded.calls[0].address);
}

/* Walks the blocks of a state in address order. */
struct walk {
  const ul_state *state;
  uint32_t segment, block; /* block counts within its segment */
};

static const ul_block *current(struct walk *w) {
  while (w->segment < w->state->segment_count &&
         w->block == w->state->segments[w->segment].block_count) {
    w->segment++;
    w->block = 0;
  }
  if (w->segment == w->state->segment_count)
    return NULL;
  return &w->state->blocks[w->state->segments[w->segment].first_block + w->block];
}

static const char *state_name(uint8_t state) {
  static const char *const names[] = {"inactive", "active_allocated", "active_pending_free"};
  return state < 3 ? names[state] : "unknown";
}

static void block_differs(ul_prover *p, const ul_block *theirs, const ul_block *ours) {
  ul_difference *d = first_difference(p, UL_DIFFERENCE_FINAL_BLOCK, p->history->recording->count);
  char a[96] = "no block", b[96] = "no block";

  if (!d)
    return;
  if (theirs) {
    snprintf(a, sizeof(a), "%s, %" PRIu64 " bytes (%" PRIu64 " requested)",
             state_name(theirs->state), theirs->bytes, theirs->requested_bytes);
    d->recorded_address = theirs->address;
    d->recorded_bytes = theirs->bytes;
  }
  if (ours) {
    snprintf(b, sizeof(b), "%s, %" PRIu64 " bytes (%" PRIu64 " requested)", state_name(ours->state),
             ours->bytes, ours->requested_bytes);
    d->model_address = ours->address;
    d->model_bytes = ours->bytes;
  }
  describe(d, "final block at 0x%" PRIx64 ": recorded %s, model %s",
           theirs ? theirs->address : ours->address, a, b);
}

static int same_block(const ul_block *a, const ul_block *b) {
  return a->bytes == b->bytes && a->state == b->state &&
         (a->state == UL_BLOCK_INACTIVE || a->requested_bytes == b->requested_bytes);
}

static void compare_blocks(ul_prover *p, const ul_state *recorded, const ul_state *model) {
  struct walk a = {recorded, 0, 0}, b = {model, 0, 0};
  const ul_block *theirs = current(&a), *ours = current(&b);

  while (theirs || ours) {
    if (theirs && ours && theirs->address == ours->address) {
      if (same_block(theirs, ours))
        p->proof.final_blocks_exact++;
      else
        block_differs(p, theirs, ours);
      a.block++;
      b.block++;
    } else if (theirs && (!ours || theirs->address < ours->address)) {
      block_differs(p, theirs, NULL);
      a.block++;
    } else {
      block_differs(p, NULL, ours);
      b.block++;
    }
    theirs = current(&a);
    ours = current(&b);
  }
}

static void compare_segments(ul_prover *p, const ul_state *recorded, const ul_state *model) {
  uint32_t i;
  ul_difference *d;

  for (i = 0; i < recorded->segment_count || i < model->segment_count; i++) {
    const ul_segment *a = i < recorded->segment_count ? &recorded->segments[i] : NULL;
    const ul_segment *b = i < model->segment_count ? &model->segments[i] : NULL;
    if (a && b && a->address == b->address && a->bytes == b->bytes && a->stream == b->stream &&
        a->pool == b->pool && a->is_small == b->is_small && a->is_expandable == b->is_expandable)
      continue;
    d = first_difference(p, UL_DIFFERENCE_FINAL_SEGMENT, p->history->recording->count);
    if (!d)
      return;
    d->recorded_address = a ? a->address : 0;
    d->recorded_bytes = a ? a->bytes : 0;
    d->model_address = b ? b->address : 0;
    d->model_bytes = b ? b->bytes : 0;
    describe(d,
             "final segment %u: recorded %" PRIu64 " bytes at 0x%" PRIx64 ", model %" PRIu64
             " bytes at 0x%" PRIx64 " (address, size, stream, pool and kind are compared)",
             (unsigned)i, d->recorded_bytes, d->recorded_address, d->model_bytes, d->model_address);
    return;
  }
}

ul_status ul_prover_final(ul_prover *p, ul_model *model, ul_error *err) {
  const ul_state *recorded = &p->history->recording->final_state;
  const ul_proof *proof = &p->proof;
  ul_state state;
  ul_status status;

  if (!p->history->recording->has_trace)
    return UL_OK; /* the state was loaded, not reached: there is nothing to prove */
  status = ul_model_state(model, &state, err);
  if (status != UL_OK)
    return status;
  p->proof.final_blocks_recorded = recorded->block_count;
  compare_segments(p, recorded, &state);
  compare_blocks(p, recorded, &state);
  p->proof.holds = proof->first_difference.kind == UL_DIFFERENCE_NONE &&
                   proof->exact + proof->assisted == proof->placements &&
                   proof->segments_exact == proof->segments_recorded &&
                   proof->final_blocks_exact == proof->final_blocks_recorded &&
                   !proof->inconsistencies && !proof->unknown_frees;
  return UL_OK;
}
