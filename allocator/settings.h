/* SPDX-License-Identifier: MIT */
/* The allocator's settings, from the string that PYTORCH_CUDA_ALLOC_CONF takes. */
#ifndef UL_ALLOCATOR_SETTINGS_H
#define UL_ALLOCATOR_SETTINGS_H

#include <stdint.h>

#include "allocator/profile.h"
#include "ullage/error.h"

enum { UL_DIVISION_COUNT = 16 };

typedef struct ul_settings {
  uint64_t max_split_bytes;              /* UINT64_MAX: unlimited */
  uint64_t max_non_split_rounding_bytes; /* how much larger an oversize block may be */
  uint64_t large_segment_bytes;          /* segment for requests below 10 MiB */
  uint32_t divisions[UL_DIVISION_COUNT]; /* of a power of two, by interval from 1 MiB; 0 off */
  double gc_threshold;                   /* 0 off */
  double fraction;                       /* of the device this process may take; 1 all */
  uint8_t expandable;
  uint8_t any_divisions;
} ul_settings;

/* The defaults. */
void ul_settings_init(ul_settings *settings);

/* Parses text ("" or NULL: defaults) under a release's grammar. */
ul_status ul_settings_parse(ul_settings *out, const char *text, const ul_profile *profile,
                            ul_error *err);

#endif
