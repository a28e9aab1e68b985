/* SPDX-License-Identifier: MIT */
/* Frames and stacks, each distinct one once. Frames are numbered from 0, stacks from 1; a stack is
 * a sequence of frame numbers, innermost first. */
#ifndef UL_PARSERS_STACK_TABLE_H
#define UL_PARSERS_STACK_TABLE_H

#include <stdint.h>

#include "parsers/value_heap.h"

typedef struct ul_frame_record {
  uint32_t name, filename; /* strings; 0 none */
  int64_t line;            /* -1 unknown */
} ul_frame_record;

typedef struct ul_stack_record {
  uint32_t first; /* index into frames_of_stacks */
  uint32_t count;
  uint32_t hash;
} ul_stack_record;

typedef struct ul_stack_table {
  UL_VEC(ul_frame_record) frames;
  UL_VEC(ul_stack_record) stacks; /* stack number - 1 */
  UL_VEC(uint32_t) frames_of_stacks;
  UL_VEC(uint32_t) frame_slots; /* frame number + 1; capacity is the table, a power of two */
  UL_VEC(uint32_t) stack_slots; /* stack number */
} ul_stack_table;

void ul_stack_table_release(ul_stack_table *table);

/* All growth is on heap's budget. */
ul_status ul_stack_table_add_frame(ul_stack_table *table, ul_heap *heap,
                                   const ul_frame_record *frame, uint32_t *id,
                                   ul_error *err) UL_MUST_USE;
/* Room for count frame numbers, which the caller then writes and gives to add_stack. */
ul_status ul_stack_table_reserve(ul_stack_table *table, ul_heap *heap, size_t count,
                                 uint32_t **frames, ul_error *err) UL_MUST_USE;
/* The stack of the count frame numbers just written behind the others; id 0 if count is 0. */
ul_status ul_stack_table_add_stack(ul_stack_table *table, ul_heap *heap, size_t count, uint32_t *id,
                                   ul_error *err) UL_MUST_USE;

#endif
