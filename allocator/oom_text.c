/* SPDX-License-Identifier: MIT */
#include "allocator/oom_text.h"

size_t ul_oom_text(char *out, size_t capacity, const ul_profile *profile,
                   const ul_oom_facts *facts) {
  (void)profile, (void)facts;
  if (capacity)
    out[0] = '\0';
  return 0;
}
