/* SPDX-License-Identifier: MIT */
/* Growing arrays. A vec is three fields in the owner's struct; growth is geometric with checked
 * arithmetic, and on failure the array is unchanged.
 *
 *   struct { uint64_t *items; size_t count, capacity; } ends;
 *   if (!UL_VEC_PUSH(&ends, value)) return ul_fail_nomem(err, "ends");                           */
#ifndef UL_BASE_VEC_H
#define UL_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#define UL_VEC(type)        \
  struct {                  \
    type *items;            \
    size_t count, capacity; \
  }

/* Grows *items so that at least needed elements fit. Returns 0 and changes nothing if it cannot. */
int ul_vec_grow(void **items, size_t *capacity, size_t needed, size_t element_size);

/* Room for `extra` more elements. 0 on failure. */
#define UL_VEC_RESERVE(vec, extra)                                                       \
  ((vec)->capacity - (vec)->count >= (size_t)(extra) ||                                  \
   ul_vec_grow((void **)&(vec)->items, &(vec)->capacity, (vec)->count + (size_t)(extra), \
               sizeof(*(vec)->items)))

/* Appends value. 0 on failure. */
#define UL_VEC_PUSH(vec, value) \
  (UL_VEC_RESERVE(vec, 1) && ((vec)->items[(vec)->count++] = (value), 1))

/* Releases the storage; the vec is empty and usable again. */
#define UL_VEC_RELEASE(vec) \
  (free((vec)->items), (vec)->items = NULL, (vec)->count = 0, (vec)->capacity = 0)

#endif
