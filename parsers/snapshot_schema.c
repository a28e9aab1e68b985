/* SPDX-License-Identifier: MIT */
#include "parsers/snapshot_schema.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* --- recognising dicts --- */

/* The first row whose keys are all there. */
static const struct {
  uint64_t keys;
  ul_absorb *absorb;
} roles[] = {
    {UL_KEY_BIT(ACTION), ul_absorb_entry},
    {UL_KEY_BIT(FILENAME) | UL_KEY_BIT(NAME), ul_absorb_frame},
    {UL_KEY_BIT(BLOCKS) | UL_KEY_BIT(TOTAL_SIZE), ul_absorb_segment},
    {UL_KEY_BIT(STATE) | UL_KEY_BIT(SIZE), ul_absorb_block},
    {UL_KEY_BIT(REAL_SIZE), ul_absorb_history},
    {UL_KEY_BIT(STAGE) | UL_KEY_BIT(TIME_US), ul_absorb_annotation},
};

/* Collects the known keys; returns a set of the tags of all values, 0 if a key is no string. */
static unsigned collect(const ul_value *pairs, size_t count, ul_fields *fields) {
  unsigned tags = 1u << 31;
  uint64_t index;
  size_t i;

  fields->have = 0;
  for (i = 0; i < count; i += 2) {
    if (ul_value_tag(pairs[i]) != UL_TAG_STRING)
      return 0;
    index = ul_value_index(pairs[i]);
    tags |= 1u << ul_value_tag(pairs[i + 1]);
    if (index < UL_KEY_END) {
      fields->have |= UINT64_C(1) << index;
      fields->value[index] = pairs[i + 1];
    }
  }
  return tags;
}

/* Errors count only where the recording itself is. */
static int is_recording(const ul_heap *heap, size_t place) {
  char path[64];

  ul_heap_path(heap, place, path, sizeof(path));
  return path[0] == '[' || strncmp(path, "segments", 8) == 0 ||
         strncmp(path, "device_traces", 13) == 0;
}

static void drop_unused(ul_heap *heap, const ul_value *pairs, size_t count) {
  size_t i;

  for (i = 1; i < count; i += 2) {
    if (ul_value_tag(pairs[i]) == UL_TAG_OBJECT)
      ul_heap_replace(heap, pairs[i], UL_VALUE_NONE);
  }
}

static ul_status absorb_dict(void *arg, ul_heap *heap, const ul_value *pairs, size_t count,
                             size_t place, ul_value *record, ul_error *err) {
  ul_snapshot *snapshot = arg;
  ul_fields fields;
  unsigned tags = collect(pairs, count, &fields);
  ul_status status;
  size_t i;

  for (i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
    if ((fields.have & roles[i].keys) == roles[i].keys)
      break;
  }
  if (!tags || i == sizeof(roles) / sizeof(roles[0]))
    return UL_OK;
  fields.place = place;
  status = roles[i].absorb(snapshot, &fields, record, err);
  if (status != UL_OK) {
    if (status != UL_E_MALFORMED || is_recording(heap, place))
      return status;
    *record = UL_VALUE_NONE;
  }
  if (tags & 1u << UL_TAG_OBJECT)
    drop_unused(heap, pairs, count);
  return UL_OK;
}

/* --- stacks --- */

static ul_status write_frames(ul_snapshot *snapshot, const ul_value *items, size_t count,
                              uint32_t *frames, size_t *bad) {
  size_t i;

  for (i = 0; i < count; i++) {
    if (ul_value_tag(items[i]) != UL_TAG_FRAME) {
      *bad = i;
      return UL_E_MALFORMED;
    }
    frames[i] = (uint32_t)ul_value_index(items[i]);
  }
  (void)snapshot;
  return UL_OK;
}

static ul_status absorb_list(void *arg, ul_heap *heap, const ul_value *items, size_t count,
                             ul_value *record, ul_error *err) {
  ul_snapshot *snapshot = arg;
  uint32_t *frames, id;
  size_t bad;

  UL_TRY(ul_stack_table_reserve(&snapshot->stacks, heap, count, &frames, err));
  if (write_frames(snapshot, items, count, frames, &bad) != UL_OK)
    return UL_OK;
  UL_TRY(ul_stack_table_add_stack(&snapshot->stacks, heap, count, &id, err));
  *record = UL_VALUE(UL_TAG_STACK, id);
  return UL_OK;
}

/* C++ frames of the first releases are plain strings. */
static ul_status frame_of_item(ul_snapshot *snapshot, ul_value item, uint32_t *id, ul_error *err) {
  ul_frame_record frame = {0, 0, -1};

  item = ul_heap_follow(&snapshot->heap, item);
  if (ul_value_tag(item) == UL_TAG_FRAME) {
    *id = (uint32_t)ul_value_index(item);
    return UL_OK;
  }
  frame.name = ul_word(item);
  if (!frame.name)
    return UL_E_MALFORMED;
  return ul_stack_table_add_frame(&snapshot->stacks, &snapshot->heap, &frame, id, err);
}

static ul_status stack_of_list(ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                               uint32_t *out, ul_error *err) {
  ul_value list = ul_heap_follow(&snapshot->heap, fields->value[key]);
  size_t count, i;
  uint32_t *frames, id;
  ul_status status;

  if (ul_value_tag(list) == UL_TAG_STACK) {
    *out = (uint32_t)ul_value_index(list);
    return UL_OK;
  }
  *out = 0;
  if (list == UL_VALUE_NONE)
    return UL_OK;
  if (!ul_heap_is_list(&snapshot->heap, list, &count))
    return ul_field_fail(snapshot, fields, key, err, "must be a list of frames, found %s",
                         ul_heap_type(&snapshot->heap, list));
  /* Adding a frame does not touch the frames of stacks: the reserved room stays. */
  UL_TRY(ul_stack_table_reserve(&snapshot->stacks, &snapshot->heap, count, &frames, err));
  for (i = 0; i < count; i++) {
    status = frame_of_item(snapshot, ul_heap_item(&snapshot->heap, list, i), &id, err);
    if (status == UL_E_MALFORMED)
      return ul_field_fail(snapshot, fields, key, err, "holds a %s where frame %zu is expected",
                           ul_heap_type(&snapshot->heap, ul_heap_item(&snapshot->heap, list, i)),
                           i);
    UL_TRY(status);
    frames[i] = id;
  }
  UL_TRY(ul_stack_table_add_stack(&snapshot->stacks, &snapshot->heap, count, out, err));
  ul_heap_replace(&snapshot->heap, list, UL_VALUE(UL_TAG_STACK, *out));
  return UL_OK;
}

/* C++ frames are the inner ones. */
static ul_status join_stacks(ul_snapshot *snapshot, uint32_t inner, uint32_t outer, uint32_t *out,
                             ul_error *err) {
  ul_stack_table *table = &snapshot->stacks;
  ul_stack_record first, second;
  uint32_t *frames;

  if (!inner || !outer) {
    *out = inner ? inner : outer;
    return UL_OK;
  }
  first = table->stacks.items[inner - 1];
  second = table->stacks.items[outer - 1];
  UL_TRY(ul_stack_table_reserve(table, &snapshot->heap, (size_t)first.count + second.count, &frames,
                                err));
  memcpy(frames, table->frames_of_stacks.items + first.first, first.count * sizeof(*frames));
  memcpy(frames + first.count, table->frames_of_stacks.items + second.first,
         second.count * sizeof(*frames));
  return ul_stack_table_add_stack(table, &snapshot->heap, (size_t)first.count + second.count, out,
                                  err);
}

ul_status ul_field_stack_slow(ul_snapshot *snapshot, const ul_fields *fields, uint32_t *out,
                              ul_error *err) {
  uint32_t inner = 0, outer = 0;

  if (ul_has(fields, UL_KEY_FRAMES))
    UL_TRY(stack_of_list(snapshot, fields, UL_KEY_FRAMES, &outer, err));
  if (ul_has(fields, UL_KEY_CPP_FRAMES))
    UL_TRY(stack_of_list(snapshot, fields, UL_KEY_CPP_FRAMES, &inner, err));
  return join_stacks(snapshot, inner, outer, out, err);
}

/* --- fields --- */

ul_status ul_field_fail(const ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                        ul_error *err, const char *format, ...) {
  char path[160], what[200];
  va_list args;

  va_start(args, format);
  vsnprintf(what, sizeof(what), format, args);
  va_end(args);
  ul_heap_path(&snapshot->heap, fields->place, path, sizeof(path));
  return ul_fail(err, UL_E_MALFORMED, 0, "%s%s%s%s %s", path[0] == '[' ? "segments" : "", path,
                 path[0] ? "." : "", ul_strtab_get(snapshot->heap.strings, key, NULL), what);
}

static ul_status not_an_integer(const ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                                ul_error *err) {
  return ul_field_fail(snapshot, fields, key, err, "must be an integer, found %s",
                       ul_heap_type(&snapshot->heap, fields->value[key]));
}

ul_status ul_field_size_slow(const ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                             uint64_t *out, ul_error *err) {
  uint64_t magnitude;
  int negative;

  if (!ul_has(fields, key))
    return UL_OK;
  if (!ul_heap_int(&snapshot->heap, fields->value[key], &magnitude, &negative))
    return not_an_integer(snapshot, fields, key, err);
  if (negative && magnitude)
    return ul_field_fail(snapshot, fields, key, err, "is negative (-%" PRIu64 ")", magnitude);
  if (magnitude > UL_SNAPSHOT_SIZE_MAX)
    return ul_field_fail(snapshot, fields, key, err, "is %" PRIu64 ", more than 2^60", magnitude);
  *out = magnitude;
  return UL_OK;
}

ul_status ul_field_bits_slow(const ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                             uint64_t *out, ul_error *err) {
  uint64_t magnitude;
  int negative;

  if (!ul_has(fields, key))
    return UL_OK;
  if (!ul_heap_int(&snapshot->heap, fields->value[key], &magnitude, &negative))
    return not_an_integer(snapshot, fields, key, err);
  *out = negative ? 0 - magnitude : magnitude;
  return UL_OK;
}

ul_status ul_field_stream_slow(ul_snapshot *snapshot, const ul_fields *fields, uint32_t *out,
                               ul_error *err) {
  uint64_t raw = 0;
  uint32_t index;

  UL_TRY(ul_field_bits(snapshot, fields, UL_KEY_STREAM, &raw, err));
  index = ul_idmap_get(&snapshot->stream_slots, raw);
  if (!index) {
    UL_TRY(UL_HEAP_RESERVE(&snapshot->heap, &snapshot->streams, 1, err));
    if (snapshot->streams.count >= UINT32_MAX - 1)
      return ul_fail(err, UL_E_LIMIT, 0, "the file names more than 4 billion streams");
    index = (uint32_t)snapshot->streams.count + 1;
    if (!ul_idmap_set(&snapshot->stream_slots, raw, index))
      return ul_fail_nomem(err, "streams");
    snapshot->streams.items[snapshot->streams.count++] = raw;
  }
  snapshot->last_stream = raw;
  *out = snapshot->last_stream_index = index - 1;
  return UL_OK;
}

/* A pair as tuple or (JSON, one vendor's) list, or a bare number. */
ul_status ul_field_pool_slow(ul_snapshot *snapshot, const ul_fields *fields, unsigned key,
                             uint32_t *out, ul_error *err) {
  ul_heap *heap = &snapshot->heap;
  ul_value value, pair;
  uint64_t id[2] = {0, 0};
  int negative[2] = {0, 0};
  size_t count;

  value = ul_heap_follow(heap, fields->value[key]);
  if (ul_value_tag(value) == UL_TAG_PAIR) {
    *out = (uint32_t)ul_value_index(value);
    return UL_OK;
  }
  if (ul_heap_int(heap, value, &id[1], &negative[1])) {
    count = 0;
  } else if (!ul_heap_is_list(heap, value, &count) || count != 2 ||
             !ul_heap_int(heap, ul_heap_item(heap, value, 0), &id[0], &negative[0]) ||
             !ul_heap_int(heap, ul_heap_item(heap, value, 1), &id[1], &negative[1])) {
    return ul_field_fail(snapshot, fields, key, err, "must be a pair of integers, found %s",
                         ul_heap_type(heap, value));
  }
  if (negative[0] || negative[1])
    return ul_field_fail(snapshot, fields, key, err, "holds a negative number");
  UL_TRY(ul_heap_pair(heap, id[0], id[1], &pair, err));
  *out = (uint32_t)ul_value_index(pair);
  if (count)
    ul_heap_replace(heap, value, pair);
  return UL_OK;
}

/* --- life --- */

static const char *record_type(ul_value record) {
  return ul_value_tag(record) == UL_TAG_STACK ? "list" : "dict";
}

static const ul_heap_hooks hooks = {absorb_dict, absorb_list, record_type, UL_TAG_FRAME};

static const char *const words[] = {
#define X(id, text) text,
    UL_SNAPSHOT_KEYS(X) UL_SNAPSHOT_ACTIONS(X) UL_SNAPSHOT_WORDS(X)
#undef X
};

ul_status ul_snapshot_init(ul_snapshot *snapshot, ul_error *err) {
  size_t i;

  memset(snapshot, 0, sizeof(*snapshot));
  UL_TRY(ul_heap_init(&snapshot->heap, err));
  for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
    if (ul_strtab_intern(snapshot->heap.strings, words[i], strlen(words[i])) != i + 1)
      return ul_fail_nomem(err, "strings");
  }
  snapshot->heap.hooks = &hooks;
  snapshot->heap.hook_arg = snapshot;
  UL_TRY(UL_HEAP_RESERVE(&snapshot->heap, &snapshot->streams, 1, err));
  snapshot->streams.items[snapshot->streams.count++] = 0;
  if (!ul_idmap_set(&snapshot->stream_slots, 0, 1))
    return ul_fail_nomem(err, "streams");
  return UL_OK;
}

void ul_snapshot_release(ul_snapshot *snapshot) {
  ul_heap_release(&snapshot->heap);
  ul_stack_table_release(&snapshot->stacks);
  UL_VEC_RELEASE(&snapshot->entries);
  UL_VEC_RELEASE(&snapshot->blocks);
  UL_VEC_RELEASE(&snapshot->segments);
  UL_VEC_RELEASE(&snapshot->annotations);
  UL_VEC_RELEASE(&snapshot->histories);
  UL_VEC_RELEASE(&snapshot->contexts);
  UL_VEC_RELEASE(&snapshot->streams);
  ul_idmap_release(&snapshot->stream_slots);
}
