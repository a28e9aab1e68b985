/* SPDX-License-Identifier: MIT */
/* Asks the model of the allocator without any recording: what does this little program reserve, and
 * what is lost when its tensors die in an unlucky order?
 *
 *   cc by_hand.c $(pkg-config --cflags --libs ullage) -o by_hand && ./by_hand */
#include <inttypes.h>
#include <stdio.h>

#include <ullage/ullage.h>

enum { MIB = 1024 * 1024 };

static ul_status apply(ul_model *model, ul_event_kind kind, uint64_t handle, uint64_t bytes,
                       ul_error *err) {
  ul_event event = {0}; /* default stream, default pool, device 0 */
  ul_outcome outcome;

  event.kind = (uint8_t)kind;
  event.handle = handle;
  event.bytes = bytes;
  return ul_model_apply(model, &event, NULL, &outcome, err);
}

static ul_status run(ul_model *model, ul_error *err) {
  const ul_totals *totals;
  ul_status status;

  /* Twelve tensors of 4 MiB. Each segment of 20 MiB holds five of them, so three are needed. */
  for (uint64_t handle = 1; handle <= 12; handle++)
    if ((status = apply(model, UL_EVENT_ALLOC, handle, 4 * MIB, err)) != UL_OK)
      return status;
  totals = ul_model_totals(model);
  printf("allocated %" PRIu64 " MiB, reserved %" PRIu64 " MiB in %" PRIu64 " segments\n",
         totals->allocated_bytes / MIB, totals->reserved_bytes / MIB, totals->segment_count);

  /* All die but the first of each segment. */
  for (uint64_t handle = 1; handle <= 12; handle++)
    if (handle % 5 != 1 && (status = apply(model, UL_EVENT_FREE, handle, 0, err)) != UL_OK)
      return status;
  if ((status = apply(model, UL_EVENT_EMPTY_CACHE, 0, 0, err)) != UL_OK)
    return status;
  totals = ul_model_totals(model);
  printf("allocated %" PRIu64 " MiB, reserved %" PRIu64 " MiB even after empty_cache\n",
         totals->allocated_bytes / MIB, totals->reserved_bytes / MIB);

  /* A request larger than any hole needs a segment of its own. */
  if ((status = apply(model, UL_EVENT_ALLOC, 13, 32 * MIB, err)) != UL_OK)
    return status;
  totals = ul_model_totals(model);
  printf("allocated %" PRIu64 " MiB, reserved %" PRIu64 " MiB with one more tensor of 32 MiB\n",
         totals->allocated_bytes / MIB, totals->reserved_bytes / MIB);
  return UL_OK;
}

static ul_status show_segments(ul_model *model, ul_error *err) {
  ul_state state;
  ul_status status = ul_model_state(model, &state, err);

  if (status != UL_OK)
    return status;
  for (uint32_t s = 0; s < state.segment_count; s++) {
    const ul_segment *segment = &state.segments[s];

    printf("%" PRIu64 " MiB:", segment->bytes / MIB);
    for (uint32_t b = 0; b < segment->block_count; b++) {
      const ul_block *block = &state.blocks[segment->first_block + b];

      printf(" %" PRIu64 " %s", block->bytes / MIB,
             block->state == UL_BLOCK_INACTIVE ? "free" : "live");
    }
    printf("\n");
  }
  return UL_OK;
}

int main(void) {
  ul_model_options options = {0};
  ul_model *model = NULL;
  ul_error err = {0};

  options.size = sizeof(options);
  options.torch = "2.9";
  options.settings = ""; /* try "expandable_segments:True" */
  if (ul_model_create(&model, &options, &err) != UL_OK || run(model, &err) != UL_OK ||
      show_segments(model, &err) != UL_OK)
    fprintf(stderr, "%s\n", err.message);
  ul_model_destroy(model);
  return ul_status_exit_code(err.status);
}

/*
 * Prints:
 *   allocated 48 MiB, reserved 60 MiB in 3 segments
 *   allocated 12 MiB, reserved 60 MiB even after empty_cache
 *   allocated 44 MiB, reserved 92 MiB with one more tensor of 32 MiB
 *   20 MiB: 4 live 16 free
 *   20 MiB: 4 live 16 free
 *   20 MiB: 4 live 16 free
 *   32 MiB: 32 live
 */
