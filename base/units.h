/* SPDX-License-Identifier: MIT */
/* Sizes as people write and read them (public: ul_format_bytes, ul_parse_bytes), and arithmetic on
 * bytes that refuses to wrap. */
#ifndef UL_BASE_UNITS_H
#define UL_BASE_UNITS_H

#include <stdint.h>

#define UL_KIB UINT64_C(1024)
#define UL_MIB (UINT64_C(1024) * 1024)
#define UL_GIB (UINT64_C(1024) * 1024 * 1024)

/* value rounded up to a multiple of quantum (not 0); UINT64_MAX if that does not fit. */
static inline uint64_t ul_round_up(uint64_t value, uint64_t quantum) {
  uint64_t rest = value % quantum;

  if (!rest)
    return value;
  return value > UINT64_MAX - (quantum - rest) ? UINT64_MAX : value + (quantum - rest);
}

#endif
