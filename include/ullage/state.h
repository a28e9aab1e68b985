/* SPDX-License-Identifier: MIT */
/* The allocator's state at one instant: what a parser reads from a file, a model loads and shows,
 * the proof compares and reports draw. One device. Blocks tile their segment in address order;
 * memory reserved but not mapped (expandable segments) is absent, so a range with holes appears as
 * several segments, as in PyTorch's own snapshots. All sizes in bytes. */
#ifndef ULLAGE_STATE_H
#define ULLAGE_STATE_H

#include <stdint.h>

typedef enum ul_block_state {
  UL_BLOCK_INACTIVE = 0,
  UL_BLOCK_ACTIVE_ALLOCATED = 1,
  UL_BLOCK_ACTIVE_PENDING_FREE = 2,
} ul_block_state;

enum {
  UL_BLOCK_SIZE_INFERRED = 1u << 0, /* its size is not recorded; the tail came from a later entry */
  UL_BLOCK_SIZE_AMBIGUOUS = 1u << 1, /* other sizes fit the recording as well */
};

typedef struct ul_block {
  uint64_t address;
  uint64_t bytes;
  uint64_t requested_bytes; /* stale on inactive blocks, as PyTorch leaves it; 0 unknown */
  uint64_t handle;          /* of the events; 0 if no event names it */
  uint32_t stack;           /* allocation stack; 0 none */
  uint32_t gc_age;          /* as snapshots tell it; PyTorch's own library never fills it in */
  uint8_t state;            /* ul_block_state */
  uint8_t flags;
} ul_block;

typedef struct ul_segment {
  uint64_t address;
  uint64_t bytes;
  uint64_t range_address; /* expandable: lowest known address of its reserved range; 0: its own */
  uint32_t first_block;   /* index into ul_state.blocks */
  uint32_t block_count;
  uint32_t stream;
  uint32_t pool;
  uint32_t stack;        /* of its creation; 0 none */
  uint32_t registration; /* creation number, 0 where unknown (recorded from 2.11 on) */
  uint8_t is_small;      /* small pool */
  uint8_t is_expandable;
} ul_segment;

typedef struct ul_state {
  const ul_segment *segments; /* in address order */
  const ul_block *blocks;
  uint32_t segment_count;
  uint32_t block_count;
} ul_state;

#endif
