/* SPDX-License-Identifier: MIT */
/* From the records of a snapshot to the columns of a source. The steps in their order: layout, what
 * the top level says; then state, trace, marks and info. */
#ifndef UL_PARSERS_SNAPSHOT_COLUMNS_H
#define UL_PARSERS_SNAPSHOT_COLUMNS_H

#include "parsers/snapshot_schema.h"
#include "parsers/source_data.h"

/* The entries of one device, in ul_snapshot.entries. */
typedef struct ul_trace_run {
  uint64_t first, count;
  uint16_t device;
} ul_trace_run;

/* Keys of the top level and of allocator_settings that tell releases and back ends apart. */
enum {
  UL_TOP_IS_DICT = 1u << 0, /* else nothing but the list of segments */
  UL_TOP_SETTINGS = 1u << 2,
  UL_TOP_ANNOTATIONS = 1u << 3,
  UL_TOP_HOST = 1u << 4,
  UL_TOP_STREAM_REUSE = 1u << 5, /* allocator_settings.graph_capture_record_stream_reuse */
  UL_TOP_ROUND_THRESHOLD = 1u << 6,
  UL_TOP_XPU = 1u << 7, /* settings of the few keys that only XPU writes */
  UL_TOP_NPU = 1u << 8,
};

typedef struct ul_layout {
  UL_VEC(ul_trace_run) runs; /* by device; devices without entries have none */
  uint64_t first_segment, segment_count;
  uint64_t first_annotation, annotation_count;
  unsigned top;      /* UL_TOP_* */
  uint16_t *devices; /* every device with entries or segments, ascending */
  size_t device_count;
} ul_layout;

void ul_layout_release(ul_layout *layout);

/* Understands the value that the pickle was, and the settings; fills source->info.settings. */
ul_status ul_layout_read(ul_layout *layout, ul_snapshot *snapshot, ul_value top, ul_source *source,
                         ul_error *err) UL_MUST_USE;
ul_status ul_layout_settings(ul_layout *layout, ul_snapshot *snapshot, ul_value settings,
                             ul_source *source, ul_error *err) UL_MUST_USE;

/* Streams and pools that devices use get their final numbers, in entries and segments. */
ul_status ul_snapshot_number(ul_snapshot *snapshot, const ul_layout *layout, ul_source *source,
                             ul_error *err) UL_MUST_USE;
/* recordings[].final_state, validated. */
ul_status ul_snapshot_state(ul_snapshot *snapshot, const ul_layout *layout, ul_source *source,
                            ul_error *err) UL_MUST_USE;
/* recordings[] but for the state; takes the entries. Sets the handles of the final blocks. */
ul_status ul_snapshot_trace(ul_snapshot *snapshot, const ul_layout *layout, ul_source *source,
                            ul_error *err) UL_MUST_USE;
ul_status ul_snapshot_marks(ul_snapshot *snapshot, const ul_layout *layout, ul_source *source,
                            ul_error *err) UL_MUST_USE;
/* Era, releases, back end. */
ul_status ul_snapshot_info(const ul_snapshot *snapshot, const ul_layout *layout, ul_source *source,
                           ul_error *err) UL_MUST_USE;

#endif
