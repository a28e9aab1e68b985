/* SPDX-License-Identifier: MIT */
/* What the dicts of a memory snapshot mean, release by release. Each is turned into a compact
 * record the moment it is complete; frames and stacks are interned. A dict is recognised by its
 * keys, never by where it is or by a version. Inside `segments` and `device_traces` a field that
 * makes no sense is an error that names its place; elsewhere the dict is dropped. */
#ifndef UL_PARSERS_SNAPSHOT_SCHEMA_H
#define UL_PARSERS_SNAPSHOT_SCHEMA_H

#include "base/idmap.h"
#include "parsers/snapshot_names.h"
#include "parsers/stack_table.h"
#include "parsers/value_heap.h"
#include "ullage/event.h"
#include "ullage/state.h"

/* Tags of the records on the heap; the index is a number in the arrays below. */
enum {
  UL_TAG_FRAME = UL_TAG_RECORD,
  UL_TAG_STACK,
  UL_TAG_ENTRY,
  UL_TAG_BLOCK,
  UL_TAG_SEGMENT,
  UL_TAG_ANNOTATION,
  UL_TAG_HISTORY
};

enum { UL_BLOCK_NO_ADDRESS = 1u << 7 /* in ul_block.flags until the state is laid out */ };

#define UL_SNAPSHOT_SIZE_MAX (UINT64_C(1) << 60)

typedef struct ul_segment_record {
  ul_segment segment; /* first_block and block_count: of the record's own blocks; pool: pair */
  uint64_t allocated_bytes, active_bytes, requested_bytes; /* as claimed */
  uint64_t keys;
  uint32_t device;
} ul_segment_record;

typedef struct ul_annotation_record {
  uint64_t time_us;
  uint32_t name, device;
  uint8_t is_end;
} ul_annotation_record;

typedef struct ul_history_record {
  uint64_t real_bytes;
  uint32_t stack;
} ul_history_record;

/* compile_context or user_metadata differ from the entry before. */
typedef struct ul_context_record {
  uint64_t entry;
  uint32_t value; /* string */
  uint8_t kind;   /* ul_mark_kind */
} ul_context_record;

typedef struct ul_snapshot {
  ul_heap heap;
  ul_stack_table stacks;
  /* An entry is a ul_event that holds its action in kind, its address in handle, the index of its
   * stream in `streams` and of its pool pair in heap.pairs. */
  UL_VEC(ul_event) entries;
  UL_VEC(ul_block) blocks;
  UL_VEC(ul_segment_record) segments;
  UL_VEC(ul_annotation_record) annotations;
  UL_VEC(ul_history_record) histories;
  UL_VEC(ul_context_record) contexts;
  UL_VEC(uint64_t) streams; /* raw handles; [0] is 0 */
  ul_idmap stream_slots;    /* raw handle -> index + 1 */
  uint64_t last_stream;     /* raw handle looked up last, and its index */
  uint32_t last_stream_index;
  uint32_t last_context[2];        /* compile_context, user_metadata of the entry before */
  uint64_t entry_keys, block_keys; /* every key seen in any of them */
  uint32_t unknown_action;         /* string of the first one */
} ul_snapshot;

ul_status ul_snapshot_init(ul_snapshot *snapshot, ul_error *err) UL_MUST_USE;
void ul_snapshot_release(ul_snapshot *snapshot);

/* --- for the files of the schema --- */

/* The known keys of one dict. value[k] means something only if have has bit k. */
typedef struct ul_fields {
  uint64_t have;
  size_t place; /* of the dict on the stack */
  ul_value value[UL_KEY_END];
} ul_fields;

static inline int ul_has(const ul_fields *fields, unsigned key) {
  return (int)(fields->have >> key & 1);
}

typedef ul_status ul_absorb(ul_snapshot *snapshot, ul_fields *fields, ul_value *record,
                            ul_error *err);
ul_absorb ul_absorb_frame, ul_absorb_entry, ul_absorb_block, ul_absorb_segment,
    ul_absorb_annotation, ul_absorb_history;

/* Fails: "<path>.<key> <what>". */
ul_status ul_field_fail(const ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                        ul_error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Readers of one field; each fails if the key is there with a value that makes no sense, and leaves
 * *out alone if the key is absent. The first line of each is what occurs; the _slow ones do the
 * rest. */
ul_status ul_field_size_slow(const ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                             uint64_t *out, ul_error *err) UL_MUST_USE;
ul_status ul_field_bits_slow(const ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                             uint64_t *out, ul_error *err) UL_MUST_USE;
ul_status ul_field_stream_slow(ul_snapshot *snapshot, const ul_fields *fields, uint32_t *out,
                               ul_error *err) UL_MUST_USE;
ul_status ul_field_pool_slow(ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                             uint32_t *out, ul_error *err) UL_MUST_USE;
ul_status ul_field_stack_slow(ul_snapshot *snapshot, const ul_fields *fields, uint32_t *out,
                              ul_error *err) UL_MUST_USE;

/* Is the key there as an integer of 60 bits that is not negative? */
static inline int ul_is_small_int(const ul_fields *fields, unsigned key) {
  return ul_has(fields, key) &&
         (fields->value[key] & (UINT64_C(1) << 63 | 15)) == (ul_value)UL_TAG_INT;
}

/* A count or size, at most 2^60. */
static inline ul_status ul_field_size(const ul_snapshot *snapshot, const ul_fields *fields,
                                      unsigned key, uint64_t *out, ul_error *err) {
  if (!ul_is_small_int(fields, key))
    return ul_field_size_slow(snapshot, fields, key, out, err);
  *out = ul_value_index(fields->value[key]);
  return UL_OK;
}

/* Any 64 bits: the C++ pickler writes addresses from 2^63 up as negative numbers. */
static inline ul_status ul_field_bits(const ul_snapshot *snapshot, const ul_fields *fields,
                                      unsigned key, uint64_t *out, ul_error *err) {
  if (!ul_is_small_int(fields, key))
    return ul_field_bits_slow(snapshot, fields, key, out, err);
  *out = ul_value_index(fields->value[key]);
  return UL_OK;
}

/* The index of the stream in snapshot->streams. */
static inline ul_status ul_field_stream(ul_snapshot *snapshot, const ul_fields *fields,
                                        uint32_t *out, ul_error *err) {
  if (!ul_is_small_int(fields, UL_KEY_STREAM) ||
      ul_value_index(fields->value[UL_KEY_STREAM]) != snapshot->last_stream)
    return ul_field_stream_slow(snapshot, fields, out, err);
  *out = snapshot->last_stream_index;
  return UL_OK;
}

/* The index of the pair in snapshot->heap.pairs; (0, 0) without the key. */
static inline ul_status ul_field_pool(ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                                      uint32_t *out, ul_error *err) {
  *out = 0;
  if (!ul_has(fields, key))
    return UL_OK;
  if (ul_value_tag(fields->value[key]) != UL_TAG_PAIR)
    return ul_field_pool_slow(snapshot, fields, key, out, err);
  *out = (uint32_t)ul_value_index(fields->value[key]);
  return UL_OK;
}

/* frames and cpp_frames together; 0 without them. */
static inline ul_status ul_field_stack(ul_snapshot *snapshot, const ul_fields *fields,
                                       uint32_t *out, ul_error *err) {
  if (!ul_has(fields, UL_KEY_FRAMES) || ul_has(fields, UL_KEY_CPP_FRAMES) ||
      ul_value_tag(fields->value[UL_KEY_FRAMES]) != UL_TAG_STACK)
    return ul_field_stack_slow(snapshot, fields, out, err);
  *out = (uint32_t)ul_value_index(fields->value[UL_KEY_FRAMES]);
  return UL_OK;
}

/* The number of the word or string, 0 if the value is no string. */
static inline uint32_t ul_word(ul_value value) {
  return ul_value_tag(value) == UL_TAG_STRING ? (uint32_t)ul_value_index(value) : 0;
}

#endif
