/* SPDX-License-Identifier: MIT */
/* The segments and blocks at the instant of the snapshot, laid out and checked. What makes a state
 * impossible (overlaps, blocks beyond their segment) is an error; sums that do not add up and gaps
 * are counted in warnings, and a gap becomes an inactive block. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "parsers/snapshot_columns.h"

enum { BLOCK_USED = 1u << 6 /* in ul_block.flags: some segment has it already */ };

/* Things counted over all segments: how many, and the index of the first. */
enum { GAPS, ALLOCATED, ACTIVE, REQUESTED, NO_TYPE, ODDITIES };

struct build {
  ul_snapshot *snapshot;
  const ul_layout *layout;
  ul_source *source;
  uint32_t *order; /* segment numbers by device, then address */
  UL_VEC(ul_block) blocks;
  uint64_t odd_count[ODDITIES], odd_first[ODDITIES];
};

static void note(struct build *build, int oddity, uint32_t segment) {
  if (!build->odd_count[oddity]++ || build->odd_first[oddity] > segment)
    build->odd_first[oddity] = segment;
}

static ul_segment_record *record_of(const struct build *build, uint32_t index) {
  return &build->snapshot->segments.items[build->layout->first_segment + index];
}

/* --- order --- */

struct sort_key {
  uint64_t address;
  uint32_t device, index;
};

static int by_device_address(const void *a, const void *b) {
  const struct sort_key *x = a, *y = b;

  if (x->device != y->device)
    return x->device < y->device ? -1 : 1;
  if (x->address != y->address)
    return x->address < y->address ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static ul_status sort_segments(struct build *build, ul_error *err) {
  uint32_t count = (uint32_t)build->layout->segment_count, i;
  struct sort_key *keys = malloc((count + (size_t)1) * sizeof(*keys));

  build->order = malloc((count + (size_t)1) * sizeof(*build->order));
  if (!keys || !build->order) {
    free(keys);
    return ul_fail_nomem(err, "segments");
  }
  for (i = 0; i < count; i++) {
    keys[i].address = record_of(build, i)->segment.address;
    keys[i].device = record_of(build, i)->device;
    keys[i].index = i;
  }
  qsort(keys, count, sizeof(*keys), by_device_address);
  for (i = 0; i < count; i++)
    build->order[i] = keys[i].index;
  free(keys);
  return UL_OK;
}

static ul_status check_segment(const struct build *build, uint32_t index, uint32_t before,
                               ul_error *err) {
  const ul_segment_record *record = record_of(build, index), *previous;

  if (!record->segment.bytes)
    return ul_fail(err, UL_E_MALFORMED, 0, "segments[%" PRIu32 "].total_size is 0", index);
  if (record->segment.address > UINT64_MAX - record->segment.bytes)
    return ul_fail(err, UL_E_MALFORMED, 0,
                   "segments[%" PRIu32 "] at 0x%" PRIx64 " reaches beyond 2^64", index,
                   record->segment.address);
  if (before == UINT32_MAX)
    return UL_OK;
  previous = record_of(build, before);
  if (previous->device != record->device)
    return UL_OK;
  if (record->segment.address == previous->segment.address)
    return ul_fail(err, UL_E_MALFORMED, 0,
                   "segments[%" PRIu32 "] and segments[%" PRIu32 "] are both at 0x%" PRIx64, before,
                   index, record->segment.address);
  if (record->segment.address - previous->segment.address < previous->segment.bytes)
    return ul_fail(err, UL_E_MALFORMED, 0,
                   "segments[%" PRIu32 "] at 0x%" PRIx64 " overlaps segments[%" PRIu32 "], %" PRIu64
                   " bytes at 0x%" PRIx64,
                   index, record->segment.address, before, previous->segment.bytes,
                   previous->segment.address);
  return UL_OK;
}

/* --- blocks --- */

static ul_status add_block(struct build *build, const ul_block *block, ul_error *err) {
  if (build->blocks.count >= UINT32_MAX - 1)
    return ul_fail(err, UL_E_LIMIT, 0, "the snapshot holds more than 4 billion blocks");
  return UL_VEC_PUSH(&build->blocks, *block) ? UL_OK : ul_fail_nomem(err, "blocks");
}

/* What no block covers is inactive: state.h promises that blocks tile. */
static ul_status add_gap(struct build *build, uint64_t from, uint64_t to, ul_error *err) {
  ul_block gap = {0};

  gap.address = from;
  gap.bytes = to - from;
  return add_block(build, &gap, err);
}

static ul_status place_block(const ul_segment *segment, ul_block *block, uint64_t expected,
                             uint32_t index, uint32_t position, ul_error *err) {
  uint64_t end = segment->address + segment->bytes;

  if (block->flags & BLOCK_USED)
    return ul_fail(err, UL_E_MALFORMED, 0,
                   "segments[%" PRIu32 "].blocks[%" PRIu32 "] belongs to another segment as well",
                   index, position);
  block->flags |= BLOCK_USED;
  if (block->flags & UL_BLOCK_NO_ADDRESS)
    block->address = expected;
  if (block->address < expected)
    return ul_fail(err, UL_E_MALFORMED, 0,
                   "segments[%" PRIu32 "].blocks[%" PRIu32 "].address is 0x%" PRIx64
                   ", before the end of what precedes it, 0x%" PRIx64,
                   index, position, block->address, expected);
  if (block->address > end || block->bytes > end - block->address)
    return ul_fail(err, UL_E_MALFORMED, 0,
                   "segments[%" PRIu32 "].blocks[%" PRIu32 "], %" PRIu64 " bytes at 0x%" PRIx64
                   ", reaches beyond the segment's total_size of %" PRIu64,
                   index, position, block->bytes, block->address, segment->bytes);
  return UL_OK;
}

static void compare_sums(struct build *build, const ul_segment_record *record, uint32_t index,
                         uint64_t allocated, uint64_t active, uint64_t requested) {
  uint64_t keys = record->keys;

  if (keys & UL_KEY_BIT(ALLOCATED_SIZE) && allocated != record->allocated_bytes)
    note(build, ALLOCATED, index);
  if (keys & UL_KEY_BIT(ACTIVE_SIZE) && active != record->active_bytes)
    note(build, ACTIVE, index);
  if (keys & UL_KEY_BIT(REQUESTED_SIZE) && requested != record->requested_bytes)
    note(build, REQUESTED, index);
  if (!(keys & UL_KEY_BIT(SEGMENT_TYPE)))
    note(build, NO_TYPE, index);
}

static ul_status lay_out_blocks(struct build *build, uint32_t index, ul_error *err) {
  ul_segment_record *record = record_of(build, index);
  uint64_t at = record->segment.address, end = at + record->segment.bytes;
  uint64_t allocated = 0, active = 0, requested = 0;
  ul_block *block, placed;
  uint32_t i;
  int gaps = 0;

  for (i = 0; i < record->segment.block_count; i++) {
    block = &build->snapshot->blocks.items[record->segment.first_block + i];
    UL_TRY(place_block(&record->segment, block, at, index, i, err));
    if (block->address > at) {
      UL_TRY(add_gap(build, at, block->address, err));
      gaps = 1;
    }
    at = block->address + block->bytes;
    if (block->state != UL_BLOCK_INACTIVE) {
      active += block->bytes;
      requested += block->requested_bytes;
    }
    if (block->state == UL_BLOCK_ACTIVE_ALLOCATED)
      allocated += block->bytes;
    placed = *block;
    placed.flags = 0;
    UL_TRY(add_block(build, &placed, err));
  }
  if (at < end) {
    UL_TRY(add_gap(build, at, end, err));
    gaps = 1;
  }
  if (gaps)
    note(build, GAPS, index);
  compare_sums(build, record, index, allocated, active, requested);
  return UL_OK;
}

/* --- all --- */

/* segments and blocks of each device are consecutive: device i owns [first[i], first[i + 1]). */
static ul_status lay_out(struct build *build, ul_error *err) {
  uint32_t count = (uint32_t)build->layout->segment_count, i, before = UINT32_MAX;
  size_t device = 0, first_block = 0;
  ul_recording *recordings = build->source->recordings;
  ul_segment *segment;

  for (i = 0; i < count; i++) {
    UL_TRY(check_segment(build, build->order[i], before, err));
    while (recordings[device].device != record_of(build, build->order[i])->device) {
      device++;
      first_block = build->blocks.count;
    }
    if (!recordings[device].final_state.segment_count)
      first_block = build->blocks.count;
    segment = &build->source->segments[i];
    *segment = record_of(build, build->order[i])->segment;
    segment->first_block = (uint32_t)(build->blocks.count - first_block);
    UL_TRY(lay_out_blocks(build, build->order[i], err));
    segment->block_count = (uint32_t)(build->blocks.count - first_block) - segment->first_block;
    if (!recordings[device].final_state.segment_count++)
      recordings[device].final_state.segments = segment;
    recordings[device].final_state.block_count += segment->block_count;
    before = build->order[i];
  }
  return UL_OK;
}

static ul_status warn(const struct build *build, ul_error *err) {
  static const struct {
    const char *what, *is;
  } oddities[ODDITIES] = {
      {"the blocks", "do not cover their total_size; the rest is taken as inactive"},
      {"the allocated_size", "is not the sum of their allocated blocks"},
      {"the active_size", "is not the sum of their active blocks"},
      {"the requested_size", "is not the sum of their active blocks' requests"},
      {"the segment_type", "is missing; large is assumed"},
  };
  int i;

  for (i = 0; i < ODDITIES; i++) {
    if (build->odd_count[i])
      UL_TRY(ul_source_warn(build->source, build->odd_count[i], build->odd_first[i], err,
                            "%s of %" PRIu64 " segment%s, first segments[%" PRIu64 "], %s",
                            oddities[i].what, build->odd_count[i],
                            build->odd_count[i] == 1 ? "" : "s", build->odd_first[i],
                            oddities[i].is));
  }
  return UL_OK;
}

static ul_status run(struct build *build, ul_error *err) {
  ul_source *source = build->source;
  size_t i, first = 0;

  if (build->layout->segment_count > UINT32_MAX - 1)
    return ul_fail(err, UL_E_LIMIT, 0, "the snapshot holds more than 4 billion segments");
  source->segments = calloc(build->layout->segment_count + 1, sizeof(*source->segments));
  if (!source->segments || !UL_VEC_RESERVE(&build->blocks, build->snapshot->blocks.count + 1))
    return ul_fail_nomem(err, "segments");
  UL_TRY(sort_segments(build, err));
  UL_TRY(lay_out(build, err));
  source->blocks = build->blocks.items;
  build->blocks.items = NULL;
  for (i = 0; i < build->layout->device_count; i++) {
    source->recordings[i].final_state.blocks = source->blocks + first;
    first += source->recordings[i].final_state.block_count;
  }
  return warn(build, err);
}

ul_status ul_snapshot_state(ul_snapshot *snapshot, const ul_layout *layout, ul_source *source,
                            ul_error *err) {
  struct build build = {0};
  ul_status status;

  build.snapshot = snapshot;
  build.layout = layout;
  build.source = source;
  status = run(&build, err);
  free(build.order);
  free(build.blocks.items);
  return status;
}
