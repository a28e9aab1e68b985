/* SPDX-License-Identifier: MIT */
#include "replay/tail_choices.h"

/* The ambiguous old block that ends where the model placed something else, or NULL. */
static const ul_block *block_ending_at(const ul_state *state, uint64_t address) {
  uint32_t i;

  for (i = 0; i + 1 < state->block_count; i++) {
    const ul_block *b = &state->blocks[i];
    if ((b->flags & UL_BLOCK_SIZE_AMBIGUOUS) && b->address + b->bytes == address)
      return b;
  }
  return NULL;
}

int ul_tail_choices_learn(ul_tail_choices *choices, const ul_history *history,
                          const ul_attempt *attempt) {
  const ul_difference *d = &attempt->prover.proof.first_difference;
  const ul_block *b;
  ul_tail_choice choice;
  uint64_t rounded, base, room, limit;
  size_t i;

  if (d->kind != UL_DIFFERENCE_PLACEMENT && d->kind != UL_DIFFERENCE_SEGMENT)
    return 0;
  if (d->event >= history->recording->count ||
      history->recording->actions[d->event] != UL_ACTION_ALLOC)
    return 0;
  /* b's neighbour, which follows it in the state, is the free block the model used */
  b = block_ending_at(&attempt->initial.state, d->placed_address);
  if (!b || (b->handle && history->free_of[b->handle] <= d->event))
    return 0;
  base = ul_model_round(attempt->model, b->requested_bytes);
  room = b->bytes + b[1].bytes - base; /* remainder and free block together */
  rounded = ul_model_round(attempt->model, history->recording->events[d->event].bytes);
  limit = ul_model_unsplit_limit(attempt->model, 0, base);
  if (room < rounded || room - rounded + 512 > limit)
    return 0;
  choice.address = b->address;
  choice.tail = room - rounded + 512;
  choice.event = d->event;
  for (i = 0; i < choices->count && choices->items[i].address != b->address; i++)
    ;
  if (i < choices->count) {
    if (choices->items[i].tail >= choice.tail)
      return 0;
    choices->items[i] = choice;
    return 1;
  }
  return UL_VEC_PUSH(choices, choice) ? 1 : -1;
}
