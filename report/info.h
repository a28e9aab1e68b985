/* SPDX-License-Identifier: MIT */
/* What is in a recording, counted once for both reports. */
#ifndef UL_REPORT_INFO_H
#define UL_REPORT_INFO_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/error.h"
#include "ullage/source.h"

typedef struct ul_info_sum {
  uint64_t count, bytes;
} ul_info_sum;

/* What belongs to one stream or pool. */
typedef struct ul_info_share {
  ul_info_sum segments;
  ul_info_sum requests; /* recorded allocations */
} ul_info_share;

typedef enum ul_info_block {
  UL_INFO_BLOCK_INACTIVE,
  UL_INFO_BLOCK_ALLOCATED,
  UL_INFO_BLOCK_PENDING,
  UL_INFO_BLOCK_STATES
} ul_info_block;

typedef struct ul_info_device {
  const ul_recording *recording;
  ul_info_sum segments, small_segments, large_segments, expandable_segments;
  ul_info_sum blocks[UL_INFO_BLOCK_STATES];
  uint64_t requested_bytes; /* of active blocks */
  /* The history is complete when nothing refers to a time before it and the segments add up. */
  uint64_t older_frees;  /* frees of allocations that no entry shows */
  uint64_t older_blocks; /* active at the end, allocated by no entry */
  uint64_t older_bytes;  /* reserved before the first entry, as far as that is certain */
  int is_complete;
  int ends_in_oom;        /* the last refused request is among the last entries */
  uint64_t last_oom;      /* event number; UINT64_MAX none */
  uint64_t stackless;     /* allocations without a stack */
  ul_info_share *streams; /* stream_count */
  ul_info_share *pools;   /* pool_count */
} ul_info_device;

typedef struct ul_info_name {
  const char *name;
  uint64_t count;
} ul_info_name;

enum { UL_INFO_MARK_KINDS = 5, UL_INFO_NAMES = 8, UL_INFO_LACKS = 8 };

typedef struct ul_info {
  const ul_source *source;
  const ul_source_info *facts;
  ul_info_device *devices; /* facts->device_count */
  ul_info_share *shares;   /* storage of all streams and pools */
  uint64_t marks[UL_INFO_MARK_KINDS];
  size_t name_count; /* most frequent names of started marks, most frequent first */
  ul_info_name names[UL_INFO_NAMES];
  uint64_t stack_references; /* entries and blocks that name a stack */
  uint64_t frame_references; /* frames, counted once for every such entry and block */
  size_t lack_count;
  const char *lacks[UL_INFO_LACKS]; /* what the file does not say, a phrase each */
} ul_info;

/* "start", "end", "user_metadata" ... of ul_mark_kind. */
extern const char *const ul_info_mark_names[UL_INFO_MARK_KINDS];

ul_status ul_info_collect(ul_info *out, const ul_source *source, ul_error *err);
void ul_info_release(ul_info *info);

#endif
