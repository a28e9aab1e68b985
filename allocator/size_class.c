/* SPDX-License-Identifier: MIT */
#include "allocator/size_class.h"

#include <string.h>

static int make_many(ul_size_class *c) {
  ul_tie_list many = {NULL, 0, 0};
  uint32_t i;

  for (i = 0; i < c->count; i++) {
    if (!ul_tie_list_insert(&many, c->items.few[i])) {
      ul_tie_list_release(&many);
      return 0;
    }
  }
  c->items.many = many;
  c->is_many = 1;
  return 1;
}

int ul_size_class_add_to_many(ul_size_class *c, ul_tie tie) {
  if (!c->is_many && !make_many(c))
    return 0;
  if (!ul_tie_list_insert(&c->items.many, tie))
    return 0;
  c->count++;
  return 1;
}

int ul_size_class_remove_from_many(ul_size_class *c, uint64_t tie) {
  if (!ul_tie_list_remove(&c->items.many, tie))
    return 0;
  c->count--;
  return 1;
}

int ul_size_class_copy(ul_size_class *to, const ul_size_class *from) {
  ul_tie_at at = {0, 0};

  memset(to, 0, sizeof(*to));
  to->bytes = from->bytes;
  if (!from->count)
    return 1;
  do {
    const ul_tie tie = ul_size_class_at(from, at);
    if (!ul_size_class_add(to, tie.tie, tie.block)) {
      ul_size_class_release(to);
      memset(to, 0, sizeof(*to));
      return 0;
    }
  } while (ul_size_class_next(from, &at));
  return 1;
}
