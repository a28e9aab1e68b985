/* SPDX-License-Identifier: MIT */
/* Values of a structured document while it is being read: a stack machine of lists, dicts, tuples,
 * strings and numbers, with the memo that lets a document mention a value again. Owns all of them
 * until ul_heap_release. Knows no format: readers (pickle) push, mark and collapse; a schema, given
 * as hooks, turns finished dicts into records of its own at once, so that a document of repeated
 * dicts never exists as a tree.
 *
 * Values are 8 bytes: a tag in the low four bits, an index or a small integer above. The tags from
 * UL_TAG_RECORD on belong to the schema; consecutive records in a list take one run.
 *
 * A container is "open" while only the stack (and one memo entry) knows it. Its storage is used
 * again once a schema has absorbed it; the memo entry then names the record. A container that was
 * mentioned twice while open is pinned instead and forwards to the record for good.
 *
 * No function recurses. All growth is granted from a budget that follows the bytes read. */
#ifndef UL_PARSERS_VALUE_HEAP_H
#define UL_PARSERS_VALUE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/idmap.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "ullage/error.h"

typedef uint64_t ul_value;

enum {
  UL_TAG_SPECIAL = 0, /* index is a ul_special */
  UL_TAG_INT = 1,     /* 60 bits, signed */
  UL_TAG_WIDE = 2,    /* integer outside 60 bits: index into wide */
  UL_TAG_FLOAT = 3,   /* index into floats */
  UL_TAG_STRING = 4,  /* id in strings */
  UL_TAG_BYTES = 5,   /* index is the length; the content is not kept */
  UL_TAG_OBJECT = 6,  /* index into objects: list, dict, tuple, set */
  UL_TAG_PAIR = 7,    /* tuple of two integers: index into pairs */
  UL_TAG_RECORD = 8,  /* ... 14: the schema's */
  UL_TAG_BOXED = 15   /* only in memo entries: index into boxed */
};

enum ul_special { UL_SPECIAL_UNSET, UL_SPECIAL_NONE, UL_SPECIAL_FALSE, UL_SPECIAL_TRUE };

#define UL_VALUE(tag, index) (((ul_value)(index) << 4) | (ul_value)(tag))
#define UL_VALUE_UNSET       UL_VALUE(UL_TAG_SPECIAL, UL_SPECIAL_UNSET)
#define UL_VALUE_NONE        UL_VALUE(UL_TAG_SPECIAL, UL_SPECIAL_NONE)
#define UL_VALUE_FALSE       UL_VALUE(UL_TAG_SPECIAL, UL_SPECIAL_FALSE)
#define UL_VALUE_TRUE        UL_VALUE(UL_TAG_SPECIAL, UL_SPECIAL_TRUE)
#define UL_INT_MAX           ((INT64_C(1) << 59) - 1)
#define UL_INT_MIN           (-(INT64_C(1) << 59))

static inline unsigned ul_value_tag(ul_value value) {
  return (unsigned)(value & 15);
}

static inline uint64_t ul_value_index(ul_value value) {
  return value >> 4;
}

static inline int64_t ul_value_small(ul_value value) {
  return (int64_t)value >> 4; /* arithmetic in every compiler this builds with */
}

enum ul_object_kind {
  UL_OBJECT_FREE,
  UL_OBJECT_LIST,
  UL_OBJECT_TUPLE,
  UL_OBJECT_SET,
  UL_OBJECT_DICT,   /* items are key, value, key, value ... */
  UL_OBJECT_RUN,    /* a list of records first, first + 1, ... of one tag */
  UL_OBJECT_FORWARD /* was absorbed: stands for `first` */
};

typedef struct ul_object {
  union {
    ul_value *items;
    ul_value first; /* RUN: first record; FORWARD: the record; FREE: index of the next free one */
  } u;
  uint32_t count;    /* items, or records of a run */
  uint32_t capacity; /* of items */
  uint32_t memo;     /* memo entry that names it, plus 1; 0 none */
  uint8_t kind;
  uint8_t pinned;  /* mentioned twice while open: never reused */
  uint8_t settled; /* the schema did not want it: not asked again */
} ul_object;

typedef struct ul_wide {
  uint64_t magnitude;
  int negative;
} ul_wide;

struct ul_heap;

/* What a schema does with a finished dict. pairs: key, value, ... of count / 2 pairs, owned by the
 * heap. Sets *record and returns UL_OK to absorb it, or leaves *record alone to keep it a dict.
 * place: of the dict on the stack, for ul_heap_path. */
typedef ul_status ul_heap_dict_hook(void *arg, struct ul_heap *heap, const ul_value *pairs,
                                    size_t count, size_t place, ul_value *record, ul_error *err);
/* The same for all items of a list that begin with a record of list_tag. It must absorb the list or
 * fail if all are of that tag. */
typedef ul_status ul_heap_list_hook(void *arg, struct ul_heap *heap, const ul_value *items,
                                    size_t count, ul_value *record, ul_error *err);

typedef struct ul_heap_hooks {
  ul_heap_dict_hook *dict;
  ul_heap_list_hook *list;
  const char *(*type)(ul_value record); /* "dict", "list": what a record was in the file */
  unsigned list_tag;                    /* items of lists that are absorbed at once */
} ul_heap_hooks;

/* A string of up to 8 bytes and its id. */
typedef struct ul_short_string {
  uint64_t key; /* its bytes */
  uint32_t size, id;
} ul_short_string;

enum { UL_HEAP_SHORT_STRINGS = 64 };

typedef struct ul_heap {
  ul_strtab *strings;
  UL_VEC(ul_value) stack;
  UL_VEC(size_t) marks; /* heights of the stack */
  size_t fence;         /* the topmost mark, or 0: nothing below it may be popped */
  UL_VEC(uint32_t) memo;
  UL_VEC(ul_object) objects;
  UL_VEC(ul_wide) wide;
  UL_VEC(double) floats;
  UL_VEC(ul_value) boxed; /* values whose memo entry needs more than 32 bits */
  UL_VEC(uint64_t) pairs; /* first, second, first, ... */
  ul_idmap pair_slots;
  uint64_t last_pair;   /* index of the pair looked up last */
  uint32_t free_object; /* index + 1; 0 none */
  const ul_heap_hooks *hooks;
  void *hook_arg;
  ul_short_string short_strings[UL_HEAP_SHORT_STRINGS];
  uint64_t held;  /* bytes granted so far */
  uint64_t limit; /* ... and to grant at most */
} ul_heap;

/* Python's pickler hands over containers in batches of this many: a full batch may not be all. */
enum { UL_HEAP_BATCH = 1000 };

/* Memory granted whatever the input, and per byte of it. */
#define UL_HEAP_BASE_LIMIT (UINT64_C(256) << 20)
enum { UL_HEAP_BYTES_PER_BYTE = 2 };

ul_status ul_heap_init(ul_heap *heap, ul_error *err) UL_MUST_USE;
void ul_heap_release(ul_heap *heap);

/* Everything but the pairs; *strings takes the strings over. Nothing may be pushed afterwards. */
void ul_heap_trim(ul_heap *heap, ul_strtab **strings);

/* The reader has come this far: the budget follows. UL_E_LIMIT if it is already exceeded. */
ul_status ul_heap_set_read(ul_heap *heap, uint64_t bytes_read, ul_error *err) UL_MUST_USE;

/* Room for extra more elements in any array, on the budget. Use UL_HEAP_RESERVE. */
ul_status ul_heap_grow(ul_heap *heap, void **items, size_t *capacity, size_t needed,
                       size_t element_size, ul_error *err) UL_MUST_USE;
/* An array of exactly `wanted` elements in place of an empty one; give it back with its size. */
ul_status ul_heap_grow_to(ul_heap *heap, void **items, size_t *capacity, size_t wanted,
                          size_t element_size, ul_error *err) UL_MUST_USE;
void ul_heap_give_back(ul_heap *heap, void *items, size_t bytes);
#define UL_HEAP_RESERVE(heap, vec, extra, err)                        \
  ((vec)->capacity - (vec)->count >= (size_t)(extra)                  \
       ? UL_OK                                                        \
       : ul_heap_grow(heap, (void **)&(vec)->items, &(vec)->capacity, \
                      (vec)->count + (size_t)(extra), sizeof(*(vec)->items), err))

/* --- stack --- */
ul_status ul_heap_push_slow(ul_heap *heap, ul_value value, ul_error *err) UL_MUST_USE;

static inline ul_status ul_heap_push(ul_heap *heap, ul_value value, ul_error *err) {
  if (heap->stack.count == heap->stack.capacity)
    return ul_heap_push_slow(heap, value, err);
  heap->stack.items[heap->stack.count++] = value;
  return UL_OK;
}

/* Values above the topmost mark. */
static inline size_t ul_heap_above(const ul_heap *heap) {
  return heap->stack.count - heap->fence;
}

ul_status ul_heap_mark(ul_heap *heap, ul_error *err) UL_MUST_USE;
/* Takes the topmost mark away and says where it stood; 0 if there is none. */
int ul_heap_unmark(ul_heap *heap, size_t *base);
/* Drops values from base up. */
void ul_heap_drop(ul_heap *heap, size_t base);
ul_status ul_heap_push_u64(ul_heap *heap, uint64_t value, ul_error *err) UL_MUST_USE;
ul_status ul_heap_push_i64(ul_heap *heap, int64_t value, ul_error *err) UL_MUST_USE;
ul_status ul_heap_push_double(ul_heap *heap, double value, ul_error *err) UL_MUST_USE;
ul_status ul_heap_push_string(ul_heap *heap, const char *bytes, size_t size,
                              ul_error *err) UL_MUST_USE;
/* An empty container of that kind. */
ul_status ul_heap_push_object(ul_heap *heap, enum ul_object_kind kind, ul_error *err) UL_MUST_USE;
ul_status ul_heap_duplicate(ul_heap *heap, ul_error *err) UL_MUST_USE;

/* --- containers; base is a height of the stack, what lies above is taken --- */
/* Values above base become a new container there. DICT: pairs. */
ul_status ul_heap_collapse(ul_heap *heap, size_t base, enum ul_object_kind kind,
                           ul_error *err) UL_MUST_USE;
/* Values above base are appended to the list (or set) just below it. */
ul_status ul_heap_append(ul_heap *heap, size_t base, ul_error *err) UL_MUST_USE;
/* Pairs above base are put into the dict just below it. absorb: it may be complete now. */
ul_status ul_heap_set_items(ul_heap *heap, size_t base, int absorb, ul_error *err) UL_MUST_USE;

/* A dict and its mark go below the values that lie above base, into the place at base - 1 and the
 * memo entry `memo`, which were kept free for it. */
ul_status ul_heap_open_dict(ul_heap *heap, size_t base, size_t memo, ul_error *err) UL_MUST_USE;

/* --- memo --- */
ul_status ul_heap_memo_set(ul_heap *heap, uint64_t index, ul_error *err) UL_MUST_USE;
/* Pushes the entry; UL_E_MALFORMED if there is none. */
ul_status ul_heap_memo_get(ul_heap *heap, uint64_t index, ul_error *err) UL_MUST_USE;

/* --- looking at values; forwards are followed --- */
static inline ul_value ul_heap_follow(const ul_heap *heap, ul_value value) {
  const ul_object *object;

  if (ul_value_tag(value) != UL_TAG_OBJECT)
    return value;
  object = &heap->objects.items[ul_value_index(value)];
  return object->kind == UL_OBJECT_FORWARD ? object->u.first : value;
}

/* "int", "str", "list", "dict" ... as Python says it; schema records are "dict" or "list". */
const char *ul_heap_type(const ul_heap *heap, ul_value value);
/* The integer of an int or bool. Returns 0 if it is none. */
int ul_heap_int(const ul_heap *heap, ul_value value, uint64_t *magnitude, int *negative);
/* The container behind a value; NULL if it is none. */
const ul_object *ul_heap_object(const ul_heap *heap, ul_value value);
/* The value of a string key in a generic dict; UL_VALUE_UNSET if absent. */
ul_value ul_heap_lookup(const ul_heap *heap, ul_value dict, const char *key);
/* Number of items of a list, tuple or run. 0 if it is no such thing. */
int ul_heap_is_list(const ul_heap *heap, ul_value value, size_t *count);
/* Item of a list, tuple or run. */
ul_value ul_heap_item(const ul_heap *heap, ul_value list, size_t index);

/* Interns a pair of integers. */
ul_status ul_heap_pair(ul_heap *heap, uint64_t first, uint64_t second, ul_value *out,
                       ul_error *err) UL_MUST_USE;

/* The schema has taken what it wants from a container: it stands for record from now on. */
void ul_heap_replace(ul_heap *heap, ul_value container, ul_value record);

/* Where the value at stack height `place` hangs: "device_traces[0][1187]". Returns buffer. */
const char *ul_heap_path(const ul_heap *heap, size_t place, char *buffer, size_t size);

#endif
