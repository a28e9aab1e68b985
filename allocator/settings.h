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
} ul_settings;

/* The defaults. */
void ul_settings_init(ul_settings *settings);

/* What a process finds in its environment. */
typedef struct ul_settings_given {
  const char *text; /* NULL: nothing */
  ul_settings_variable variable;
  const char *cuda_text; /* of PYTORCH_ALLOC_CONF beside UL_SETTINGS_HIP; NULL: not set */
} ul_settings_given;

ul_settings_given ul_settings_of(const ul_model_options *options);

/* Whether a process that starts so uses cudaMallocAsync. Then nothing else is read, nor are errors
 * behind it noticed, before settings are made at run time. */
ul_status ul_settings_ask_for_async(int *out, const ul_settings_given *given,
                                    const ul_profile *profile, ul_error *err);

/* The settings of a process that starts so. On an error *out is as it was. */
ul_status ul_settings_start(ul_settings *out, const ul_settings_given *given,
                            const ul_profile *profile, ul_error *err);

/* What a settings string does at run time to the settings in force, under a release's grammar: some
 * keys go back to their defaults first, the others stay as they are, and on an error what stands
 * before it has been applied. text may be NULL or "". */
ul_status ul_settings_apply(ul_settings *settings, const char *text, const ul_profile *profile,
                            ul_error *err);

/* The same in a process that has not read what it was given, as one with cudaMallocAsync: that is
 * read now, reader by reader, each time anew as long as it is an error. */
ul_status ul_settings_apply_late(ul_settings *settings, const ul_settings_given *given,
                                 const char *text, const ul_profile *profile, ul_error *err);

#endif
