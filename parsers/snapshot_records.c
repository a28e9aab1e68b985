/* SPDX-License-Identifier: MIT */
/* One dict of a snapshot into one record. */
#include <inttypes.h>

#include "base/error.h"
#include "parsers/snapshot_schema.h"

#define US_TO_NS UINT64_C(1000)

ul_status ul_absorb_frame(ul_snapshot *snapshot, ul_fields *fields, ul_value *record,
                          ul_error *err) {
  ul_frame_record frame = {0, 0, -1};
  uint64_t magnitude;
  int negative;
  uint32_t id = 0;

  frame.name = ul_word(fields->value[UL_KEY_NAME]);
  frame.filename = ul_word(fields->value[UL_KEY_FILENAME]);
  /* A line of -1 has been written as 2^64 - 1. */
  if (ul_has(fields, UL_KEY_LINE) &&
      ul_heap_int(&snapshot->heap, fields->value[UL_KEY_LINE], &magnitude, &negative) &&
      !negative && magnitude <= INT64_MAX)
    frame.line = (int64_t)magnitude;
  UL_TRY(ul_stack_table_add_frame(&snapshot->stacks, &snapshot->heap, &frame, &id, err));
  *record = UL_VALUE(UL_TAG_FRAME, id);
  return UL_OK;
}

/* --- trace entries --- */

static ul_status read_action(ul_snapshot *snapshot, const ul_fields *fields, ul_action *out,
                             ul_error *err) {
  uint32_t word = ul_word(fields->value[UL_KEY_ACTION]);

  if (!word)
    return ul_field_fail(snapshot, fields, UL_KEY_ACTION, err, "must be a string, found %s",
                         ul_heap_type(&snapshot->heap, fields->value[UL_KEY_ACTION]));
  if (word > UL_WORD_BEFORE_ACTIONS && word <= UL_WORD_ACTION_WORKSPACE_SNAPSHOT) {
    *out = (ul_action)(word - UL_WORD_BEFORE_ACTIONS);
    return UL_OK;
  }
  *out = UL_ACTION_UNKNOWN;
  if (!snapshot->unknown_action)
    snapshot->unknown_action = word;
  return UL_OK;
}

static ul_status read_time(const ul_snapshot *snapshot, const ul_fields *fields, uint64_t *time_us,
                           ul_error *err) {
  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_TIME_US, time_us, err));
  if (*time_us > UINT64_MAX / US_TO_NS)
    return ul_field_fail(snapshot, fields, UL_KEY_TIME_US, err,
                         "is %" PRIu64 ", beyond the year 2554", *time_us);
  return UL_OK;
}

/* Which keys an entry cannot do without. */
static ul_status check_entry(const ul_snapshot *snapshot, const ul_fields *fields, ul_action action,
                             ul_error *err) {
  unsigned missing = UL_KEY_NONE;

  if (action >= UL_ACTION_SNAPSHOT)
    return UL_OK;
  if (!ul_has(fields, UL_KEY_SIZE))
    missing = UL_KEY_SIZE;
  else if (action != UL_ACTION_OOM && !ul_has(fields, UL_KEY_ADDR))
    missing = UL_KEY_ADDR;
  return missing ? ul_field_fail(snapshot, fields, missing, err, "is missing") : UL_OK;
}

static ul_status note_context(ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                              ul_mark_kind kind, uint32_t *last, ul_error *err) {
  uint32_t word;

  if (!ul_has(fields, key))
    return UL_OK;
  word = ul_word(fields->value[key]);
  if (word == *last)
    return UL_OK;
  UL_TRY(UL_HEAP_RESERVE(&snapshot->heap, &snapshot->contexts, 1, err));
  snapshot->contexts.items[snapshot->contexts.count].entry = snapshot->entries.count;
  snapshot->contexts.items[snapshot->contexts.count].value = word;
  snapshot->contexts.items[snapshot->contexts.count++].kind = (uint8_t)kind;
  *last = word;
  return UL_OK;
}

ul_status ul_absorb_entry(ul_snapshot *snapshot, ul_fields *fields, ul_value *record,
                          ul_error *err) {
  ul_event entry = {0};
  ul_action action = UL_ACTION_NONE;
  uint64_t time_us = 0;

  UL_TRY(read_action(snapshot, fields, &action, err));
  UL_TRY(check_entry(snapshot, fields, action, err));
  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_SIZE, &entry.bytes, err));
  UL_TRY(ul_field_bits(snapshot, fields, UL_KEY_ADDR, &entry.handle, err));
  if (action == UL_ACTION_OOM)
    UL_TRY(ul_field_size(snapshot, fields, UL_KEY_DEVICE_FREE, &entry.handle, err));
  UL_TRY(read_time(snapshot, fields, &time_us, err));
  UL_TRY(ul_field_stream(snapshot, fields, &entry.stream, err));
  UL_TRY(ul_field_pool(snapshot, fields, UL_KEY_POOL_ID, &entry.pool, err));
  UL_TRY(ul_field_stack(snapshot, fields, &entry.stack, err));
  UL_TRY(UL_HEAP_RESERVE(&snapshot->heap, &snapshot->entries, 1, err));
  UL_TRY(note_context(snapshot, fields, UL_KEY_COMPILE_CONTEXT, UL_MARK_COMPILE_CONTEXT,
                      &snapshot->last_context[0], err));
  UL_TRY(note_context(snapshot, fields, UL_KEY_USER_METADATA, UL_MARK_USER_METADATA,
                      &snapshot->last_context[1], err));
  entry.time_ns = time_us * US_TO_NS;
  entry.kind = (uint8_t)action;
  snapshot->entry_keys |= fields->have;
  *record = UL_VALUE(UL_TAG_ENTRY, snapshot->entries.count);
  snapshot->entries.items[snapshot->entries.count++] = entry;
  return UL_OK;
}

/* --- blocks and segments --- */

static ul_status read_state(const ul_snapshot *snapshot, const ul_fields *fields, uint8_t *out,
                            ul_error *err) {
  static const struct {
    uint32_t word;
    uint8_t state;
  } states[] = {
      {UL_WORD_INACTIVE, UL_BLOCK_INACTIVE},
      {UL_WORD_ACTIVE_ALLOCATED, UL_BLOCK_ACTIVE_ALLOCATED},
      {UL_WORD_ACTIVE_PENDING_FREE, UL_BLOCK_ACTIVE_PENDING_FREE},
      {UL_WORD_ACTIVE_AWAITING_FREE, UL_BLOCK_ACTIVE_PENDING_FREE}, /* as documentation spells it */
  };
  uint32_t word = ul_word(fields->value[UL_KEY_STATE]);
  size_t i;

  for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
    if (states[i].word == word) {
      *out = states[i].state;
      return UL_OK;
    }
  }
  return ul_field_fail(snapshot, fields, UL_KEY_STATE, err,
                       "must be inactive, active_allocated or active_pending_free, found %s'%.40s'",
                       word ? "" : "a value of type ",
                       word ? ul_strtab_get(snapshot->heap.strings, word, NULL)
                            : ul_heap_type(&snapshot->heap, fields->value[UL_KEY_STATE]));
}

/* The newest owner of a block of the first recordings: its request and its stack. */
static ul_status read_history(ul_snapshot *snapshot, const ul_fields *fields, ul_block *block,
                              ul_error *err) {
  ul_value list, newest;
  size_t count;

  if (!ul_has(fields, UL_KEY_HISTORY))
    return UL_OK;
  list = ul_heap_follow(&snapshot->heap, fields->value[UL_KEY_HISTORY]);
  if (!ul_heap_is_list(&snapshot->heap, list, &count))
    return ul_field_fail(snapshot, fields, UL_KEY_HISTORY, err, "must be a list, found %s",
                         ul_heap_type(&snapshot->heap, list));
  if (!count)
    return UL_OK;
  newest = ul_heap_item(&snapshot->heap, list, 0);
  if (ul_value_tag(newest) != UL_TAG_HISTORY)
    return ul_field_fail(snapshot, fields, UL_KEY_HISTORY, err,
                         "must hold entries with a real_size, found %s",
                         ul_heap_type(&snapshot->heap, newest));
  block->requested_bytes = snapshot->histories.items[ul_value_index(newest)].real_bytes;
  block->stack = snapshot->histories.items[ul_value_index(newest)].stack;
  return UL_OK;
}

ul_status ul_absorb_block(ul_snapshot *snapshot, ul_fields *fields, ul_value *record,
                          ul_error *err) {
  ul_block block = {0};

  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_SIZE, &block.bytes, err));
  if (!block.bytes)
    return ul_field_fail(snapshot, fields, UL_KEY_SIZE, err, "is 0");
  UL_TRY(ul_field_bits(snapshot, fields, UL_KEY_ADDRESS, &block.address, err));
  if (!ul_has(fields, UL_KEY_ADDRESS))
    block.flags = UL_BLOCK_NO_ADDRESS;
  UL_TRY(read_history(snapshot, fields, &block, err));
  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_REQUESTED_SIZE, &block.requested_bytes, err));
  UL_TRY(read_state(snapshot, fields, &block.state, err));
  if (ul_has(fields, UL_KEY_FRAMES))
    UL_TRY(ul_field_stack(snapshot, fields, &block.stack, err));
  UL_TRY(UL_HEAP_RESERVE(&snapshot->heap, &snapshot->blocks, 1, err));
  snapshot->block_keys |= fields->have;
  *record = UL_VALUE(UL_TAG_BLOCK, snapshot->blocks.count);
  snapshot->blocks.items[snapshot->blocks.count++] = block;
  return UL_OK;
}

ul_status ul_absorb_history(ul_snapshot *snapshot, ul_fields *fields, ul_value *record,
                            ul_error *err) {
  ul_history_record history = {0, 0};

  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_REAL_SIZE, &history.real_bytes, err));
  UL_TRY(ul_field_stack(snapshot, fields, &history.stack, err));
  UL_TRY(UL_HEAP_RESERVE(&snapshot->heap, &snapshot->histories, 1, err));
  *record = UL_VALUE(UL_TAG_HISTORY, snapshot->histories.count);
  snapshot->histories.items[snapshot->histories.count++] = history;
  return UL_OK;
}

/* Blocks of one list were read one after the other, so the list is a run of their numbers. */
static ul_status read_blocks(ul_snapshot *snapshot, const ul_fields *fields, ul_segment *segment,
                             ul_error *err) {
  ul_value list = ul_heap_follow(&snapshot->heap, fields->value[UL_KEY_BLOCKS]), item;
  const ul_object *object = ul_heap_object(&snapshot->heap, list);
  size_t count, i;

  if (!ul_heap_is_list(&snapshot->heap, list, &count))
    return ul_field_fail(snapshot, fields, UL_KEY_BLOCKS, err, "must be a list, found %s",
                         ul_heap_type(&snapshot->heap, list));
  if (object->kind == UL_OBJECT_RUN && ul_value_tag(object->u.first) == UL_TAG_BLOCK) {
    segment->first_block = (uint32_t)ul_value_index(object->u.first);
    segment->block_count = object->count;
    return UL_OK;
  }
  for (i = 0; i < count; i++) {
    item = ul_heap_item(&snapshot->heap, list, i);
    if (ul_value_tag(item) != UL_TAG_BLOCK)
      return ul_field_fail(snapshot, fields, UL_KEY_BLOCKS, err,
                           "holds a %s without size and state at index %zu, where a block is "
                           "expected",
                           ul_heap_type(&snapshot->heap, item), i);
  }
  if (count)
    return ul_field_fail(snapshot, fields, UL_KEY_BLOCKS, err,
                         "mentions a block that another list holds");
  return UL_OK;
}

ul_status ul_absorb_segment(ul_snapshot *snapshot, ul_fields *fields, ul_value *record,
                            ul_error *err) {
  ul_segment_record segment = {0};
  uint64_t device = 0, registration = 0;
  uint32_t word;

  UL_TRY(ul_field_bits(snapshot, fields, UL_KEY_ADDRESS, &segment.segment.address, err));
  if (!ul_has(fields, UL_KEY_ADDRESS))
    return ul_field_fail(snapshot, fields, UL_KEY_ADDRESS, err, "is missing");
  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_TOTAL_SIZE, &segment.segment.bytes, err));
  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_ALLOCATED_SIZE, &segment.allocated_bytes, err));
  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_ACTIVE_SIZE, &segment.active_bytes, err));
  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_REQUESTED_SIZE, &segment.requested_bytes, err));
  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_DEVICE, &device, err));
  if (device > UINT16_MAX)
    return ul_field_fail(snapshot, fields, UL_KEY_DEVICE, err, "is %" PRIu64, device);
  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_REGISTRATION_COUNTER, &registration, err));
  UL_TRY(ul_field_stream(snapshot, fields, &segment.segment.stream, err));
  UL_TRY(ul_field_pool(snapshot, fields, UL_KEY_SEGMENT_POOL_ID, &segment.segment.pool, err));
  UL_TRY(ul_field_stack(snapshot, fields, &segment.segment.stack, err));
  UL_TRY(read_blocks(snapshot, fields, &segment.segment, err));
  word = ul_has(fields, UL_KEY_SEGMENT_TYPE) ? ul_word(fields->value[UL_KEY_SEGMENT_TYPE]) : 0;
  segment.segment.is_small = word == UL_WORD_SMALL;
  segment.segment.is_expandable =
      ul_has(fields, UL_KEY_IS_EXPANDABLE) && fields->value[UL_KEY_IS_EXPANDABLE] == UL_VALUE_TRUE;
  segment.segment.registration = registration <= UINT32_MAX ? (uint32_t)registration : 0;
  segment.device = (uint32_t)device;
  segment.keys = fields->have;
  UL_TRY(UL_HEAP_RESERVE(&snapshot->heap, &snapshot->segments, 1, err));
  *record = UL_VALUE(UL_TAG_SEGMENT, snapshot->segments.count);
  snapshot->segments.items[snapshot->segments.count++] = segment;
  return UL_OK;
}

/* --- annotations --- */

ul_status ul_absorb_annotation(ul_snapshot *snapshot, ul_fields *fields, ul_value *record,
                               ul_error *err) {
  ul_annotation_record annotation = {0};
  uint32_t stage = ul_word(fields->value[UL_KEY_STAGE]);
  uint64_t device = 0;

  UL_TRY(read_time(snapshot, fields, &annotation.time_us, err));
  UL_TRY(ul_field_size(snapshot, fields, UL_KEY_DEVICE, &device, err));
  if ((stage != UL_WORD_START && stage != UL_WORD_END) || device > UINT16_MAX)
    return ul_field_fail(snapshot, fields, UL_KEY_STAGE, err, "must be START or END");
  annotation.device = (uint32_t)device;
  annotation.is_end = stage == UL_WORD_END;
  if (ul_has(fields, UL_KEY_NAME))
    annotation.name = ul_word(fields->value[UL_KEY_NAME]);
  UL_TRY(UL_HEAP_RESERVE(&snapshot->heap, &snapshot->annotations, 1, err));
  *record = UL_VALUE(UL_TAG_ANNOTATION, snapshot->annotations.count);
  snapshot->annotations.items[snapshot->annotations.count++] = annotation;
  return UL_OK;
}
