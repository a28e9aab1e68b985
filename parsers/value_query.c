/* SPDX-License-Identifier: MIT */
/* The part of the value heap that only looks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "parsers/value_heap.h"

const char *ul_heap_type(const ul_heap *heap, ul_value value) {
  static const char *const tags[] = {"nothing", "int",  "int",   "float", "str",
                                     "bytes",   "",     "tuple", "",      "",
                                     "dict",    "dict", "dict",  "dict",  "dict"};
  static const char *const kinds[] = {"nothing", "list", "tuple", "set", "dict", "list", ""};
  static const char *const specials[] = {"nothing", "NoneType", "bool", "bool"};
  unsigned tag;

  value = ul_heap_follow(heap, value);
  tag = ul_value_tag(value);
  if (tag == UL_TAG_SPECIAL)
    return specials[ul_value_index(value) & 3];
  if (tag == UL_TAG_OBJECT)
    return kinds[heap->objects.items[ul_value_index(value)].kind];
  if (heap->hooks && heap->hooks->type && tag >= UL_TAG_RECORD)
    return heap->hooks->type(value);
  return tags[tag < UL_TAG_BOXED ? tag : 0];
}

int ul_heap_int(const ul_heap *heap, ul_value value, uint64_t *magnitude, int *negative) {
  int64_t small;
  const ul_wide *wide;

  switch (ul_value_tag(value)) {
  case UL_TAG_INT:
    small = ul_value_small(value);
    *negative = small < 0;
    *magnitude = small < 0 ? 0 - (uint64_t)small : (uint64_t)small;
    return 1;
  case UL_TAG_WIDE:
    wide = &heap->wide.items[ul_value_index(value)];
    *magnitude = wide->magnitude;
    *negative = wide->negative;
    return 1;
  case UL_TAG_SPECIAL:
    *magnitude = value == UL_VALUE_TRUE;
    *negative = 0;
    return value == UL_VALUE_TRUE || value == UL_VALUE_FALSE;
  default:
    return 0;
  }
}

const ul_object *ul_heap_object(const ul_heap *heap, ul_value value) {
  value = ul_heap_follow(heap, value);
  return ul_value_tag(value) == UL_TAG_OBJECT ? &heap->objects.items[ul_value_index(value)] : NULL;
}

ul_value ul_heap_lookup(const ul_heap *heap, ul_value dict, const char *key) {
  const ul_object *object = ul_heap_object(heap, dict);
  ul_value wanted = UL_VALUE(UL_TAG_STRING, ul_strtab_find(heap->strings, key, strlen(key)));
  uint32_t i;

  if (!object || object->kind != UL_OBJECT_DICT || !ul_value_index(wanted))
    return UL_VALUE_UNSET;
  /* The last one wins, as in Python. */
  for (i = object->count; i >= 2; i -= 2) {
    if (object->u.items[i - 2] == wanted)
      return ul_heap_follow(heap, object->u.items[i - 1]);
  }
  return UL_VALUE_UNSET;
}

int ul_heap_is_list(const ul_heap *heap, ul_value value, size_t *count) {
  const ul_object *object = ul_heap_object(heap, value);

  *count = 0;
  if (!object || (object->kind != UL_OBJECT_LIST && object->kind != UL_OBJECT_TUPLE &&
                  object->kind != UL_OBJECT_RUN))
    return 0;
  *count = object->count;
  return 1;
}

ul_value ul_heap_item(const ul_heap *heap, ul_value list, size_t index) {
  const ul_object *object = ul_heap_object(heap, list);

  if (!object || index >= object->count)
    return UL_VALUE_UNSET;
  if (object->kind == UL_OBJECT_RUN)
    return object->u.first + ((ul_value)index << 4);
  return ul_heap_follow(heap, object->u.items[index]);
}

/* --- paths --- */

struct path {
  const ul_heap *heap;
  char *buffer;
  size_t size, used;
};

static void add_index(struct path *path, size_t index) {
  if (path->used < path->size)
    path->used +=
        (size_t)snprintf(path->buffer + path->used, path->size - path->used, "[%zu]", index);
}

/* Keys come from the file: only what can be printed safely, and not all of a long one. */
static void add_key(struct path *path, ul_value key) {
  size_t length, i;
  const char *text = ul_strtab_get(path->heap->strings, (uint32_t)ul_value_index(key), &length);
  char shown[48];

  for (i = 0; i < length && i < sizeof(shown) - 1; i++)
    shown[i] = text[i];
  shown[i] = '\0';
  for (i = 0; shown[i]; i++) {
    if (shown[i] < ' ' || shown[i] > '~')
      shown[i] = '?';
  }
  if (path->used < path->size)
    path->used += (size_t)snprintf(path->buffer + path->used, path->size - path->used, "%s%s",
                                   path->used ? "." : "", shown);
}

static int is_string(ul_value value) {
  return ul_value_tag(value) == UL_TAG_STRING;
}

/* Containers that wait for their one item without a mark follow each other on the stack. */
static void add_unmarked(struct path *path, const ul_value *chain, size_t count) {
  size_t i;
  const ul_object *object;

  for (i = 0; i + 1 < count; i++) {
    object = ul_heap_object(path->heap, chain[i]);
    if (object && object->kind == UL_OBJECT_DICT && is_string(chain[i + 1]))
      add_key(path, chain[++i]);
    else if (object)
      add_index(path, object->kind == UL_OBJECT_DICT ? object->count / 2 : object->count);
  }
}

static void add_dict_items(struct path *path, const ul_value *items, size_t count) {
  size_t at = 0;

  while (at + 2 < count && is_string(items[at + 2]))
    at += 2;
  if (at < count && is_string(items[at]))
    add_key(path, items[at]);
  if (at + 1 < count)
    add_unmarked(path, items + at + 1, count - at - 1);
}

const char *ul_heap_path(const ul_heap *heap, size_t place, char *buffer, size_t size) {
  struct path path = {heap, buffer, size, 0};
  const ul_value *items = heap->stack.items;
  const ul_object *object;
  size_t i, base, top;

  buffer[0] = '\0';
  base = heap->marks.count ? heap->marks.items[0] : place + 1;
  if (base)
    add_unmarked(&path, items, base <= place ? base : place + 1);
  for (i = 0; i < heap->marks.count; i++) {
    base = heap->marks.items[i];
    if (base > place)
      break;
    top = i + 1 < heap->marks.count ? heap->marks.items[i + 1] : place + 1;
    if (top > place + 1)
      top = place + 1;
    object = base ? ul_heap_object(heap, items[base - 1]) : NULL;
    if (top == base)
      continue;
    if (object && object->kind == UL_OBJECT_DICT)
      add_dict_items(&path, items + base, top - base);
    else if (object)
      add_index(&path, object->count + top - base - 1);
  }
  return buffer;
}
