/* SPDX-License-Identifier: MIT */
/* All free blocks of one size in one pool and stream, by tie: up to three in place, more in a list
 * of their own. Inline: this is the innermost step of every request and every free. */
#ifndef UL_ALLOCATOR_SIZE_CLASS_H
#define UL_ALLOCATOR_SIZE_CLASS_H

#include <stdint.h>

#include "allocator/tie_list.h"

enum { UL_CLASS_FEW = 3 };

typedef struct ul_size_class {
  uint32_t count;
  uint32_t is_many;
  union {
    ul_tie few[UL_CLASS_FEW]; /* descending: the lowest, which is asked for, is last */
    ul_tie_list many;
  } items;
  uint64_t bytes; /* of each block */
} ul_size_class;

/* Out of line: more than three. All that can fail return 0 without memory. */
int ul_size_class_add_to_many(ul_size_class *c, ul_tie tie);
int ul_size_class_remove_from_many(ul_size_class *c, uint64_t tie);
int ul_size_class_copy(ul_size_class *to, const ul_size_class *from);

static inline int ul_size_class_add(ul_size_class *c, uint64_t tie, uint32_t block) {
  const ul_tie fresh = {tie, block};
  ul_tie *few = c->items.few;
  uint32_t at = c->count;

  if (c->is_many || at == UL_CLASS_FEW)
    return ul_size_class_add_to_many(c, fresh);
  for (; at && few[at - 1].tie < tie; at--)
    few[at] = few[at - 1];
  few[at] = fresh;
  c->count++;
  return 1;
}

/* The lowest tie of a class that has some. */
static inline ul_tie ul_size_class_first(const ul_size_class *c) {
  return c->is_many ? ul_tie_list_first(&c->items.many) : c->items.few[c->count - 1];
}

/* Removes it. */
static inline ul_tie ul_size_class_take_first(ul_size_class *c) {
  c->count--;
  return c->is_many ? ul_tie_list_take_first(&c->items.many) : c->items.few[c->count];
}

/* Returns 0 if there is no such tie. */
static inline int ul_size_class_remove(ul_size_class *c, uint64_t tie) {
  ul_tie *few = c->items.few;
  uint32_t at;

  if (c->is_many)
    return ul_size_class_remove_from_many(c, tie);
  for (at = 0; at < c->count && few[at].tie != tie; at++)
    ;
  if (at == c->count)
    return 0;
  for (c->count--; at < c->count; at++)
    few[at] = few[at + 1];
  return 1;
}

static inline ul_tie ul_size_class_at(const ul_size_class *c, ul_tie_at at) {
  return c->is_many ? ul_tie_list_get(&c->items.many, at) : c->items.few[c->count - 1 - at.index];
}

static inline ul_tie_at ul_size_class_last(const ul_size_class *c) {
  const ul_tie_at last = {0, c->count - 1};
  return c->is_many ? ul_tie_list_last(&c->items.many) : last;
}

static inline int ul_size_class_next(const ul_size_class *c, ul_tie_at *at) {
  if (c->is_many)
    return ul_tie_list_next(&c->items.many, at);
  if (at->index + 1 >= c->count)
    return 0;
  at->index++;
  return 1;
}

static inline int ul_size_class_previous(const ul_size_class *c, ul_tie_at *at) {
  if (c->is_many)
    return ul_tie_list_previous(&c->items.many, at);
  if (!at->index)
    return 0;
  at->index--;
  return 1;
}

static inline void ul_size_class_release(ul_size_class *c) {
  if (c->is_many)
    ul_tie_list_release(&c->items.many);
}

#endif
