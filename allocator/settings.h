/* SPDX-License-Identifier: MIT */
/* The allocator's settings, from the string that PYTORCH_CUDA_ALLOC_CONF takes. */
#ifndef UL_ALLOCATOR_SETTINGS_H
#define UL_ALLOCATOR_SETTINGS_H

#include <stdint.h>

#include "allocator/profile.h"
#include "ullage/error.h"
#include "ullage/model.h"

enum { UL_DIVISION_COUNT = 16 };

typedef struct ul_settings {
  uint64_t max_split_bytes;              /* UINT64_MAX: unlimited */
  uint64_t max_non_split_rounding_bytes; /* how much larger an oversize block may be */
  uint64_t large_segment_bytes;          /* segment for requests below 10 MiB */
  uint64_t roundup_bypass_bytes;         /* larger requests know no divisions; UINT64_MAX: none */
  uint64_t divisions[UL_DIVISION_COUNT]; /* of a power of two, by interval from 1 MiB; 0 off */
  double gc_threshold;                   /* 0 off */
  double fraction;        /* of the device this process may take, from its start on; 1 all */
  double reserve;         /* of address space for a range; 0: not set (ul_reserve_bytes) */
  uint8_t reserve_in_gib; /* reserve counts GiB; otherwise it is a part of the device */
  uint8_t expandable;
  uint8_t any_divisions;
  uint8_t throw_on_oom; /* throw_on_cudamalloc_oom */
  uint8_t graph_reuse;  /* graph_capture_record_stream_reuse */
  uint8_t async;        /* backend:cudaMallocAsync */
  uint8_t started;      /* a string was applied: the backend is chosen */
} ul_settings;

/* The defaults. */
void ul_settings_init(ul_settings *settings);

/* What a settings string does to the settings in force, under a release's grammar: some keys go
 * back to their defaults first, the others stay as they are, and on an error what stands before it
 * has been applied. variable is where text comes from at the start of a process; settings made at
 * run time count as UL_SETTINGS_CUDA. text may be NULL or "". */
ul_status ul_settings_apply(ul_settings *settings, const char *text, ul_settings_variable variable,
                            const ul_profile *profile, ul_error *err);

/* Whether a process that starts with text in that variable uses cudaMallocAsync. Then nothing else
 * in text is read, nor are its errors noticed, before settings are made at run time. */
ul_status ul_settings_ask_for_async(int *out, const char *text, ul_settings_variable variable,
                                    const ul_profile *profile, ul_error *err);

/* The settings of a process that starts with text in that variable. */
ul_status ul_settings_parse(ul_settings *out, const char *text, ul_settings_variable variable,
                            const ul_profile *profile, ul_error *err);

#endif
