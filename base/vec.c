/* SPDX-License-Identifier: MIT */
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

int ul_vec_grow(void **items, size_t *capacity, size_t needed, size_t element_size) {
  size_t wanted = *capacity;
  void *grown;

  if (needed <= *capacity)
    return 1;
  if (wanted < 16)
    wanted = 16;
  while (wanted < needed) {
    if (wanted > SIZE_MAX / 2)
      return 0;
    wanted += wanted / 2;
  }
  if (wanted > SIZE_MAX / element_size)
    return 0;
  grown = realloc(*items, wanted * element_size);
  if (!grown)
    return 0;
  *items = grown;
  *capacity = wanted;
  return 1;
}
