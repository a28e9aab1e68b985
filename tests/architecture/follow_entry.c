/* SPDX-License-Identifier: MIT */
/* Follows one alloc entry of a snapshot through every layer and prints what each makes of it.
 * docs/architecture.md shows the output; a test compares the two.
 *   follow_entry TRACE ENTRY */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "replay/attempt.h"
#include "ullage/source.h"

struct follower {
  uint64_t entry;
  ul_totals before, after;
  ul_outcome outcome;
  uint64_t rounded;
};

static ul_status before(void *arg, uint64_t number, const ul_event *event, ul_model *model,
                        ul_error *err) {
  struct follower *f = arg;

  (void)err;
  if (number == f->entry && event->kind == UL_EVENT_ALLOC) {
    f->before = *ul_model_totals(model);
    f->rounded = ul_model_round(model, event->bytes);
  }
  return UL_OK;
}

static void print_calls(const ul_outcome *outcome) {
  for (uint32_t i = 0; i < outcome->call_count; i++)
    printf("             asks the driver: %s of %" PRIu64 " bytes, gets 0x%" PRIx64 "\n",
           ul_action_name((ul_action)outcome->calls[i].kind), outcome->calls[i].bytes,
           outcome->calls[i].address);
}

static ul_status after(void *arg, uint64_t number, const ul_event *event, const ul_outcome *outcome,
                       ul_model *model, ul_error *err) {
  struct follower *f = arg;

  (void)err;
  if (number != f->entry || event->kind != UL_EVENT_ALLOC)
    return UL_OK;
  f->outcome = *outcome;
  f->after = *ul_model_totals(model);
  printf("allocator/   %" PRIu64 " bytes round up to %" PRIu64 "\n", event->bytes, f->rounded);
  print_calls(outcome);
  printf("             hands out 0x%" PRIx64 ", a block of %" PRIu64 " bytes\n", outcome->address,
         outcome->block_bytes);
  return UL_OK;
}

static void print_event(const ul_source *source, const ul_recording *r, uint64_t entry) {
  const ul_event *e = &r->events[entry];
  const uint32_t *frames;
  size_t depth = ul_source_stack(source, e->stack, &frames);

  printf("parsers/     entry %" PRIu64 ": %s, %" PRIu64 " bytes, stream %" PRIu32 ", pool %" PRIu32
         ", a stack of %zu frames\n",
         entry, ul_action_name((ul_action)r->actions[entry]), e->bytes, e->stream, e->pool, depth);
  printf("             event:       ALLOC handle %" PRIu64 " (what the program asked for)\n",
         e->handle);
  printf("             observation: address 0x%" PRIx64 " (what PyTorch decided; never fed)\n",
         r->addresses[entry]);
}

static uint64_t print_grants(const ul_recording *r, uint64_t entry) {
  uint64_t first = entry;

  while (first && r->actions[first - 1] >= UL_ACTION_SEGMENT_ALLOC &&
         r->actions[first - 1] <= UL_ACTION_SEGMENT_UNMAP)
    first--;
  for (uint64_t i = first; i < entry; i++)
    printf("             the driver's answer comes from entry %" PRIu64 ": %s at 0x%" PRIx64 "\n",
           i, ul_action_name((ul_action)r->actions[i]), r->addresses[i]);
  return entry - first;
}

static int fail(const ul_error *err) {
  fprintf(stderr, "%s\n", err->message);
  return 1;
}

int main(int argc, char **argv) {
  ul_attempt_options options = {.torch = "2.7", .settings = "", .with_proof = 1};
  struct follower f = {0};
  const ul_probe probe = {before, after, &f};
  const ul_recording *r;
  ul_source *source;
  ul_history *history;
  ul_attempt attempt;
  ul_lost lost;
  ul_error err = {0};

  if (argc != 3)
    return 2;
  f.entry = strtoull(argv[2], NULL, 10);
  if (ul_source_open(&source, argv[1], NULL, &err) != UL_OK)
    return fail(&err);
  r = ul_source_recording(source, 0);
  if (!r || f.entry >= r->count || r->actions[f.entry] != UL_ACTION_ALLOC)
    return 2;
  print_event(source, r, f.entry);
  if (ul_history_build(&history, source, r, &err) != UL_OK)
    return fail(&err);
  printf("replay/      before entry 0: %zu segments, %zu blocks%s\n", history->segments.count,
         history->blocks.count, history->starts_empty ? " (the allocator was empty)" : "");
  if (!print_grants(r, f.entry))
    printf("             the driver did nothing for it\n");
  options.stop_after = UL_NO_EVENT;
  options.probe = &probe;
  if (ul_attempt_run(&attempt, history, &options, &err) != UL_OK)
    return fail(&err);
  printf("proof        recorded 0x%" PRIx64 ", model 0x%" PRIx64 ": %s\n", r->addresses[f.entry],
         f.outcome.address, r->addresses[f.entry] == f.outcome.address ? "exact" : "differs");
  printf("             all of it: %" PRIu64 " of %" PRIu64 " placements exact\n",
         attempt.prover.proof.exact, attempt.prover.proof.placements);
  lost = ul_lost_of(&f.after, f.entry);
  printf("measure/     reserved %" PRIu64 " -> %" PRIu64 ", allocated %" PRIu64 " -> %" PRIu64 "\n",
         f.before.reserved_bytes, f.after.reserved_bytes, f.before.allocated_bytes,
         f.after.allocated_bytes);
  printf("             of reserved: live %" PRIu64 ", rounding %" PRIu64 ", tail %" PRIu64
         ", pending %" PRIu64 ", releasable %" PRIu64 ", held %" PRIu64 ", pinned %" PRIu64 "\n",
         lost.live_bytes, lost.rounding_bytes, lost.tail_bytes, lost.pending_bytes,
         lost.releasable_bytes, lost.held_bytes, lost.pinned_bytes);
  ul_attempt_release(&attempt);
  ul_history_free(history);
  ul_source_close(source);
  return 0;
}
