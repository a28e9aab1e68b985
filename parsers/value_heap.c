/* SPDX-License-Identifier: MIT */
#include "parsers/value_heap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

enum { FIRST_STACK = 64 };

enum { FAST_GROWTH_BYTES = 16 << 20 };

/* --- budget --- */

ul_status ul_heap_grow_to(ul_heap *heap, void **items, size_t *capacity, size_t wanted,
                          size_t element_size, ul_error *err) {
  uint64_t added;
  void *grown;

  if (wanted > SIZE_MAX / element_size)
    return ul_fail_nomem(err, "the values of the file");
  added = (uint64_t)(wanted - *capacity) * element_size;
  if (heap->held + ul_strtab_bytes(heap->strings) + added > heap->limit)
    return ul_fail(err, UL_E_LIMIT, 0,
                   "the file needs more than the %" PRIu64
                   " MiB of memory granted to what has been "
                   "read of it: no recording does",
                   heap->limit >> 20);
  grown = realloc(*items, wanted * element_size);
  if (!grown)
    return ul_fail_nomem(err, "the values of the file");
  heap->held += added;
  *items = grown;
  *capacity = wanted;
  return UL_OK;
}

void ul_heap_give_back(ul_heap *heap, void *items, size_t bytes) {
  free(items);
  heap->held -= bytes;
}

/* Geometric, in smaller steps once a step is megabytes: what is granted is counted whole. */
ul_status ul_heap_grow(ul_heap *heap, void **items, size_t *capacity, size_t needed,
                       size_t element_size, ul_error *err) {
  size_t wanted = *capacity, step;

  if (needed <= *capacity)
    return UL_OK;
  if (wanted < 4)
    wanted = needed <= 4 ? 4 : 16;
  while (wanted < needed) {
    step = wanted < FAST_GROWTH_BYTES / element_size ? wanted / 2 : wanted / 8;
    if (wanted > SIZE_MAX - step)
      return ul_fail_nomem(err, "the values of the file");
    wanted += step;
  }
  return ul_heap_grow_to(heap, items, capacity, wanted, element_size, err);
}

ul_status ul_heap_set_read(ul_heap *heap, uint64_t bytes_read, ul_error *err) {
  uint64_t room = (UINT64_MAX - UL_HEAP_BASE_LIMIT) / UL_HEAP_BYTES_PER_BYTE;

  heap->limit =
      UL_HEAP_BASE_LIMIT + UL_HEAP_BYTES_PER_BYTE * (bytes_read < room ? bytes_read : room);
  if (heap->held + ul_strtab_bytes(heap->strings) > heap->limit)
    return ul_fail(err, UL_E_LIMIT, bytes_read,
                   "the strings of the file need more than %" PRIu64 " MiB of memory: no recording "
                   "does",
                   heap->limit >> 20);
  return UL_OK;
}

ul_status ul_heap_init(ul_heap *heap, ul_error *err) {
  ul_value zero;

  memset(heap, 0, sizeof(*heap));
  heap->limit = UL_HEAP_BASE_LIMIT;
  heap->strings = ul_strtab_create();
  if (!heap->strings)
    return ul_fail_nomem(err, "strings");
  UL_TRY(UL_HEAP_RESERVE(heap, &heap->stack, FIRST_STACK, err));
  return ul_heap_pair(heap, 0, 0, &zero, err);
}

void ul_heap_trim(ul_heap *heap, ul_strtab **strings) {
  size_t i;

  for (i = 0; i < heap->objects.count; i++) {
    if (heap->objects.items[i].capacity)
      free(heap->objects.items[i].u.items);
  }
  UL_VEC_RELEASE(&heap->objects);
  UL_VEC_RELEASE(&heap->stack);
  UL_VEC_RELEASE(&heap->marks);
  UL_VEC_RELEASE(&heap->memo);
  UL_VEC_RELEASE(&heap->wide);
  UL_VEC_RELEASE(&heap->floats);
  UL_VEC_RELEASE(&heap->boxed);
  ul_idmap_release(&heap->pair_slots);
  *strings = heap->strings;
  heap->strings = NULL;
}

void ul_heap_release(ul_heap *heap) {
  ul_strtab *strings;

  ul_heap_trim(heap, &strings);
  ul_strtab_free(strings);
  UL_VEC_RELEASE(&heap->pairs);
}

/* --- stack --- */

ul_status ul_heap_push_slow(ul_heap *heap, ul_value value, ul_error *err) {
  UL_TRY(UL_HEAP_RESERVE(heap, &heap->stack, 1, err));
  heap->stack.items[heap->stack.count++] = value;
  return UL_OK;
}

ul_status ul_heap_mark(ul_heap *heap, ul_error *err) {
  UL_TRY(UL_HEAP_RESERVE(heap, &heap->marks, 1, err));
  heap->marks.items[heap->marks.count++] = heap->stack.count;
  heap->fence = heap->stack.count;
  return UL_OK;
}

int ul_heap_unmark(ul_heap *heap, size_t *base) {
  if (!heap->marks.count)
    return 0;
  *base = heap->marks.items[--heap->marks.count];
  heap->fence = heap->marks.count ? heap->marks.items[heap->marks.count - 1] : 0;
  return 1;
}

static void free_items(ul_heap *heap, ul_object *object) {
  if (object->capacity)
    ul_heap_give_back(heap, object->u.items, (size_t)object->capacity * sizeof(ul_value));
  object->capacity = 0;
}

static void free_object(ul_heap *heap, uint64_t index) {
  ul_object *object = &heap->objects.items[index];

  free_items(heap, object);
  object->kind = UL_OBJECT_FREE;
  object->u.first = heap->free_object;
  heap->free_object = (uint32_t)index + 1;
}

void ul_heap_drop(ul_heap *heap, size_t base) {
  ul_value value;
  const ul_object *object;

  while (heap->stack.count > base) {
    value = heap->stack.items[--heap->stack.count];
    if (ul_value_tag(value) != UL_TAG_OBJECT)
      continue;
    object = &heap->objects.items[ul_value_index(value)];
    if (!object->pinned && !object->memo)
      free_object(heap, ul_value_index(value));
  }
}

static ul_status push_wide(ul_heap *heap, uint64_t magnitude, int negative, ul_error *err) {
  UL_TRY(UL_HEAP_RESERVE(heap, &heap->wide, 1, err));
  heap->wide.items[heap->wide.count].magnitude = magnitude;
  heap->wide.items[heap->wide.count].negative = negative;
  return ul_heap_push(heap, UL_VALUE(UL_TAG_WIDE, heap->wide.count++), err);
}

ul_status ul_heap_push_u64(ul_heap *heap, uint64_t value, ul_error *err) {
  if (value > (uint64_t)UL_INT_MAX)
    return push_wide(heap, value, 0, err);
  return ul_heap_push(heap, UL_VALUE(UL_TAG_INT, value), err);
}

ul_status ul_heap_push_i64(ul_heap *heap, int64_t value, ul_error *err) {
  if (value >= 0)
    return ul_heap_push_u64(heap, (uint64_t)value, err);
  if (value < UL_INT_MIN)
    return push_wide(heap, 0 - (uint64_t)value, 1, err);
  return ul_heap_push(heap, UL_VALUE(UL_TAG_INT, (uint64_t)value), err);
}

ul_status ul_heap_push_double(ul_heap *heap, double value, ul_error *err) {
  UL_TRY(UL_HEAP_RESERVE(heap, &heap->floats, 1, err));
  heap->floats.items[heap->floats.count] = value;
  return ul_heap_push(heap, UL_VALUE(UL_TAG_FLOAT, heap->floats.count++), err);
}

/* Short strings come again and again ("N/A", "", names of pools): the last one of each hash is
 * remembered, so that most cost no look into the table. */
static ul_status push_short_string(ul_heap *heap, const char *bytes, size_t size, ul_error *err) {
  uint64_t key = 0;
  ul_short_string *known;

  memcpy(&key, bytes, size);
  known = &heap->short_strings[(key * UINT64_C(0x9E3779B97F4A7C15) >> 32 ^ size) %
                               UL_HEAP_SHORT_STRINGS];
  if (!known->id || known->key != key || known->size != size) {
    known->id = ul_strtab_intern(heap->strings, bytes, size);
    known->key = key;
    known->size = (uint32_t)size;
    if (!known->id)
      return ul_fail_nomem(err, "strings");
  }
  return ul_heap_push(heap, UL_VALUE(UL_TAG_STRING, known->id), err);
}

ul_status ul_heap_push_string(ul_heap *heap, const char *bytes, size_t size, ul_error *err) {
  uint32_t id;

  if (size <= sizeof(uint64_t))
    return push_short_string(heap, bytes, size, err);
  id = ul_strtab_intern(heap->strings, bytes, size);
  if (!id)
    return ul_fail_nomem(err, "strings");
  return ul_heap_push(heap, UL_VALUE(UL_TAG_STRING, id), err);
}

static ul_status new_object(ul_heap *heap, enum ul_object_kind kind, ul_value *out, ul_error *err) {
  ul_object *object;
  uint64_t index;

  if (heap->free_object) {
    index = heap->free_object - 1;
    heap->free_object = (uint32_t)heap->objects.items[index].u.first;
  } else {
    UL_TRY(UL_HEAP_RESERVE(heap, &heap->objects, 1, err));
    if (heap->objects.count >= UINT32_MAX - 1)
      return ul_fail(err, UL_E_LIMIT, 0, "the file holds more than 4 billion lists and dicts");
    index = heap->objects.count++;
  }
  object = &heap->objects.items[index];
  memset(object, 0, sizeof(*object));
  object->kind = (uint8_t)kind;
  *out = UL_VALUE(UL_TAG_OBJECT, index);
  return UL_OK;
}

ul_status ul_heap_push_object(ul_heap *heap, enum ul_object_kind kind, ul_error *err) {
  ul_value value = UL_VALUE_NONE;

  UL_TRY(UL_HEAP_RESERVE(heap, &heap->stack, 1, err));
  UL_TRY(new_object(heap, kind, &value, err));
  heap->stack.items[heap->stack.count++] = value;
  return UL_OK;
}

static void pin(ul_heap *heap, ul_value value) {
  if (ul_value_tag(value) == UL_TAG_OBJECT)
    heap->objects.items[ul_value_index(value)].pinned = 1;
}

ul_status ul_heap_duplicate(ul_heap *heap, ul_error *err) {
  ul_value value = heap->stack.items[heap->stack.count - 1];

  pin(heap, value);
  return ul_heap_push(heap, value, err);
}

/* --- memo --- */

static ul_status memo_entry(ul_heap *heap, ul_value value, uint32_t *entry, ul_error *err) {
  if (ul_value_index(value) < UINT32_MAX >> 4 && value <= UINT32_MAX) {
    *entry = (uint32_t)value;
    return UL_OK;
  }
  /* Tag 15 in a memo entry means boxed; records use 8 to 14. */
  UL_TRY(UL_HEAP_RESERVE(heap, &heap->boxed, 1, err));
  if (heap->boxed.count >= UINT32_MAX >> 4)
    return ul_fail(err, UL_E_LIMIT, 0, "the file memoizes more than 268 million large values");
  heap->boxed.items[heap->boxed.count] = value;
  *entry = (uint32_t)(heap->boxed.count++ << 4 | UL_TAG_BOXED);
  return UL_OK;
}

ul_status ul_heap_memo_set(ul_heap *heap, uint64_t index, ul_error *err) {
  ul_value value = heap->stack.items[heap->stack.count - 1];
  ul_object *object;
  uint32_t entry = 0;

  if (index >= UINT32_MAX - 1)
    return ul_fail(err, UL_E_LIMIT, 0, "memo entry %" PRIu64 " is beyond 4 billion", index);
  UL_TRY(memo_entry(heap, value, &entry, err));
  if (index >= heap->memo.count) {
    UL_TRY(UL_HEAP_RESERVE(heap, &heap->memo, index - heap->memo.count + 1, err));
    if (index > heap->memo.count)
      memset(heap->memo.items + heap->memo.count, 0,
             (index - heap->memo.count) * sizeof(*heap->memo.items));
    heap->memo.count = index + 1;
  }
  if (ul_value_tag(value) == UL_TAG_OBJECT) {
    object = &heap->objects.items[ul_value_index(value)];
    if (object->memo)
      object->pinned = 1;
    object->memo = (uint32_t)index + 1;
  }
  heap->memo.items[index] = entry;
  return UL_OK;
}

ul_status ul_heap_memo_get(ul_heap *heap, uint64_t index, ul_error *err) {
  ul_value value = index < heap->memo.count ? heap->memo.items[index] : 0;

  if (!value)
    return ul_fail(err, UL_E_MALFORMED, 0, "memo entry %" PRIu64 " is used but was never stored",
                   index);
  if ((value & 15) == UL_TAG_BOXED)
    value = heap->boxed.items[value >> 4];
  pin(heap, value);
  return ul_heap_push(heap, ul_heap_follow(heap, value), err);
}

/* --- containers --- */

void ul_heap_replace(ul_heap *heap, ul_value container, ul_value record) {
  uint64_t index = ul_value_index(container);
  ul_object *object = &heap->objects.items[index];
  uint32_t *entry;

  if (object->kind == UL_OBJECT_FORWARD || object->kind == UL_OBJECT_FREE)
    return;
  entry = object->memo ? &heap->memo.items[object->memo - 1] : NULL;
  /* An entry that was overwritten since, or that is too narrow for the record, pins as well. */
  if (object->pinned || (entry && (*entry != (uint32_t)container || record > UINT32_MAX))) {
    free_items(heap, object);
    object->pinned = 1;
    object->kind = UL_OBJECT_FORWARD;
    object->u.first = record;
    return;
  }
  if (entry)
    *entry = (uint32_t)record;
  free_object(heap, index);
}

/* A dict that got its keys one by one is complete when a container takes it. Its items are out of
 * reach while the schema looks at them: the dict may be among them. */
static ul_status settle(ul_heap *heap, ul_value *value, size_t place, ul_error *err) {
  ul_object *object = &heap->objects.items[ul_value_index(*value)];
  ul_value record = UL_VALUE_UNSET;
  ul_object taken = *object;
  ul_status status;

  if (object->kind == UL_OBJECT_FORWARD) {
    *value = object->u.first;
    return UL_OK;
  }
  if (object->kind != UL_OBJECT_DICT || object->settled || !heap->hooks)
    return UL_OK;
  object->settled = 1;
  object->count = object->capacity = 0;
  object->u.items = NULL;
  status = heap->hooks->dict(heap->hook_arg, heap, taken.u.items, taken.count, place, &record, err);
  object = &heap->objects.items[ul_value_index(*value)];
  if (status == UL_OK && record == UL_VALUE_UNSET) {
    object->u.items = taken.u.items;
    object->count = taken.count;
    object->capacity = taken.capacity;
    return UL_OK;
  }
  free_items(heap, &taken);
  UL_TRY(status);
  ul_heap_replace(heap, *value, record);
  *value = record;
  return UL_OK;
}

static ul_status settle_all(ul_heap *heap, size_t base, ul_error *err) {
  size_t i;

  for (i = base; i < heap->stack.count; i++) {
    if (ul_value_tag(heap->stack.items[i]) == UL_TAG_OBJECT)
      UL_TRY(settle(heap, &heap->stack.items[i], i, err));
  }
  return UL_OK;
}

static ul_status add_items(ul_heap *heap, ul_object *object, const ul_value *items, size_t count,
                           ul_error *err) {
  size_t capacity = object->capacity;

  if (!count)
    return UL_OK;
  if (count > UINT32_MAX / 2 - object->count)
    return ul_fail(err, UL_E_LIMIT, 0, "one list or dict holds more than 2 billion values");
  UL_TRY(ul_heap_grow(heap, (void **)&object->u.items, &capacity, object->count + count,
                      sizeof(ul_value), err));
  object->capacity = (uint32_t)capacity;
  memcpy(object->u.items + object->count, items, count * sizeof(ul_value));
  object->count += (uint32_t)count;
  return UL_OK;
}

/* Do these records follow first, one by one? */
static int is_run(ul_value first, const ul_value *items, size_t count) {
  size_t i;

  for (i = 0; i < count; i++) {
    if (items[i] != first + (i << 4))
      return 0;
  }
  return 1;
}

static ul_status expand_run(ul_heap *heap, ul_object *run, ul_error *err) {
  ul_object list = {0};
  size_t capacity = 0;
  uint32_t i;

  UL_TRY(ul_heap_grow(heap, (void **)&list.u.items, &capacity, run->count, sizeof(ul_value), err));
  for (i = 0; i < run->count; i++)
    list.u.items[i] = run->u.first + ((ul_value)i << 4);
  run->u.items = list.u.items;
  run->capacity = (uint32_t)capacity;
  run->kind = UL_OBJECT_LIST;
  return UL_OK;
}

static ul_status append_to(ul_heap *heap, ul_object *list, const ul_value *items, size_t count,
                           ul_error *err) {
  int is_records = ul_value_tag(items[0]) >= UL_TAG_RECORD;

  if (is_records && list->kind == UL_OBJECT_LIST && !list->count &&
      is_run(items[0], items, count)) {
    free_items(heap, list);
    list->kind = UL_OBJECT_RUN;
    list->u.first = items[0];
    list->count = (uint32_t)count;
    return UL_OK;
  }
  if (list->kind == UL_OBJECT_RUN) {
    if (count < UINT32_MAX - list->count &&
        is_run(list->u.first + ((ul_value)list->count << 4), items, count)) {
      list->count += (uint32_t)count;
      return UL_OK;
    }
    UL_TRY(expand_run(heap, list, err));
  }
  return add_items(heap, list, items, count, err);
}

static ul_status wrong_container(const ul_heap *heap, ul_value value, const char *wanted,
                                 ul_error *err) {
  if (ul_value_tag(value) >= UL_TAG_RECORD)
    return ul_fail(err, UL_E_MALFORMED, 0,
                   "a %s is changed after it was used; recordings are written in one go", wanted);
  return ul_fail(err, UL_E_MALFORMED, 0, "a %s is needed where there is a value of type %s", wanted,
                 ul_heap_type(heap, value));
}

ul_status ul_heap_append(ul_heap *heap, size_t base, ul_error *err) {
  ul_value list = ul_heap_follow(heap, heap->stack.items[base - 1]), record = UL_VALUE_UNSET;
  const ul_value *items = heap->stack.items + base;
  size_t count = heap->stack.count - base;
  ul_object *object;

  if (ul_value_tag(list) != UL_TAG_OBJECT)
    return wrong_container(heap, list, "list", err);
  object = &heap->objects.items[ul_value_index(list)];
  if (object->kind != UL_OBJECT_LIST && object->kind != UL_OBJECT_RUN &&
      object->kind != UL_OBJECT_SET)
    return wrong_container(heap, list, "list", err);
  if (!count)
    return UL_OK;
  if (heap->hooks && count > 1 && count < UL_HEAP_BATCH && object->kind == UL_OBJECT_LIST &&
      !object->count && ul_value_tag(items[0]) == heap->hooks->list_tag) {
    UL_TRY(heap->hooks->list(heap->hook_arg, heap, items, count, &record, err));
    if (record != UL_VALUE_UNSET) {
      ul_heap_replace(heap, list, record);
      heap->stack.items[base - 1] = record;
      heap->stack.count = base;
      return UL_OK;
    }
  }
  UL_TRY(settle_all(heap, base, err));
  /* An item that mentions the list may just have used it. */
  object = &heap->objects.items[ul_value_index(list)];
  if (object->kind == UL_OBJECT_FORWARD)
    return wrong_container(heap, object->u.first, "list", err);
  UL_TRY(append_to(heap, object, heap->stack.items + base, count, err));
  heap->stack.count = base;
  return UL_OK;
}

ul_status ul_heap_set_items(ul_heap *heap, size_t base, int absorb, ul_error *err) {
  ul_value dict = ul_heap_follow(heap, heap->stack.items[base - 1]), record = UL_VALUE_UNSET;
  size_t count = heap->stack.count - base;
  ul_object *object;

  if (ul_value_tag(dict) != UL_TAG_OBJECT)
    return wrong_container(heap, dict, "dict", err);
  if (heap->objects.items[ul_value_index(dict)].kind != UL_OBJECT_DICT)
    return wrong_container(heap, dict, "dict", err);
  if (count % 2)
    return ul_fail(err, UL_E_MALFORMED, 0, "a dict is given a key without a value");
  if (!count)
    return UL_OK;
  object = &heap->objects.items[ul_value_index(dict)];
  if (absorb && heap->hooks && !object->count && count / 2 != UL_HEAP_BATCH) {
    UL_TRY(heap->hooks->dict(heap->hook_arg, heap, heap->stack.items + base, count, base - 1,
                             &record, err));
    if (record != UL_VALUE_UNSET) {
      ul_heap_replace(heap, dict, record);
      heap->stack.items[base - 1] = record;
      heap->stack.count = base;
      return UL_OK;
    }
    heap->objects.items[ul_value_index(dict)].settled = 1;
  }
  UL_TRY(settle_all(heap, base, err));
  object = &heap->objects.items[ul_value_index(dict)];
  if (object->kind == UL_OBJECT_FORWARD)
    return wrong_container(heap, object->u.first, "dict", err);
  UL_TRY(add_items(heap, object, heap->stack.items + base, count, err));
  heap->stack.count = base;
  return UL_OK;
}

ul_status ul_heap_open_dict(ul_heap *heap, size_t base, size_t memo, ul_error *err) {
  ul_value dict = UL_VALUE_NONE;
  uint32_t entry = 0;

  UL_TRY(UL_HEAP_RESERVE(heap, &heap->marks, 1, err));
  UL_TRY(new_object(heap, UL_OBJECT_DICT, &dict, err));
  UL_TRY(memo_entry(heap, dict, &entry, err));
  heap->objects.items[ul_value_index(dict)].memo = (uint32_t)memo + 1;
  heap->memo.items[memo] = entry;
  heap->stack.items[base - 1] = dict;
  heap->marks.items[heap->marks.count++] = base;
  heap->fence = base;
  return UL_OK;
}

ul_status ul_heap_collapse(ul_heap *heap, size_t base, enum ul_object_kind kind, ul_error *err) {
  const ul_value *items = heap->stack.items + base;
  size_t count = heap->stack.count - base, i;
  uint64_t first, second;
  int negative_first, negative_second;
  ul_value pair;

  if (kind == UL_OBJECT_TUPLE && count == 2 &&
      ul_heap_int(heap, items[0], &first, &negative_first) &&
      ul_heap_int(heap, items[1], &second, &negative_second) && !negative_first &&
      !negative_second && ul_value_tag(items[0]) != UL_TAG_SPECIAL &&
      ul_value_tag(items[1]) != UL_TAG_SPECIAL) {
    UL_TRY(ul_heap_pair(heap, first, second, &pair, err));
    heap->stack.items[base] = pair;
    heap->stack.count = base + 1;
    return UL_OK;
  }
  /* The container goes below its items: one place more, then they are taken as usual. */
  UL_TRY(ul_heap_push_object(heap, kind, err));
  pair = heap->stack.items[heap->stack.count - 1];
  for (i = heap->stack.count - 1; i > base; i--)
    heap->stack.items[i] = heap->stack.items[i - 1];
  heap->stack.items[base] = pair;
  if (kind == UL_OBJECT_DICT)
    return ul_heap_set_items(heap, base + 1, 1, err);
  if (kind != UL_OBJECT_TUPLE)
    return ul_heap_append(heap, base + 1, err);
  UL_TRY(settle_all(heap, base + 1, err));
  UL_TRY(add_items(heap, &heap->objects.items[ul_value_index(pair)], heap->stack.items + base + 1,
                   count, err));
  heap->stack.count = base + 1;
  return UL_OK;
}

ul_status ul_heap_pair(ul_heap *heap, uint64_t first, uint64_t second, ul_value *out,
                       ul_error *err) {
  uint64_t pair[2] = {first, second}, key, index = heap->last_pair;

  if (index * 2 < heap->pairs.count && heap->pairs.items[index * 2] == first &&
      heap->pairs.items[index * 2 + 1] == second) {
    *out = UL_VALUE(UL_TAG_PAIR, index);
    return UL_OK;
  }
  /* Keys that collide probe on: the map holds one pair for each key value. */
  for (key = XXH3_64bits(pair, sizeof(pair));; key++) {
    index = ul_idmap_get(&heap->pair_slots, key);
    if (!index)
      break;
    if (heap->pairs.items[(index - 1) * 2] == first &&
        heap->pairs.items[(index - 1) * 2 + 1] == second) {
      *out = UL_VALUE(UL_TAG_PAIR, index - 1);
      heap->last_pair = index - 1;
      return UL_OK;
    }
  }
  if (heap->pairs.count / 2 >= UINT32_MAX >> 5)
    return ul_fail(err, UL_E_LIMIT, 0, "the file holds more than 134 million pairs of integers");
  UL_TRY(UL_HEAP_RESERVE(heap, &heap->pairs, 2, err));
  if (!ul_idmap_set(&heap->pair_slots, key, (uint32_t)(heap->pairs.count / 2) + 1))
    return ul_fail_nomem(err, "pairs of integers");
  index = heap->pairs.count / 2;
  heap->pairs.items[heap->pairs.count++] = first;
  heap->pairs.items[heap->pairs.count++] = second;
  heap->last_pair = index;
  *out = UL_VALUE(UL_TAG_PAIR, index);
  return UL_OK;
}
