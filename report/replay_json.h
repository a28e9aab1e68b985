/* SPDX-License-Identifier: MIT */
/* Pieces of the replay document that both of its files write, and shorthands for members. */
#ifndef UL_REPORT_REPLAY_JSON_H
#define UL_REPORT_REPLAY_JSON_H

#include <stdint.h>

#include "base/json_writer.h"
#include "report/report_replay.h"

static inline void ul_member_u64(ul_json *json, const char *key, uint64_t value) {
  ul_json_key(json, key);
  ul_json_u64(json, value);
}

static inline void ul_member_string(ul_json *json, const char *key, const char *value) {
  ul_json_key(json, key);
  ul_json_string(json, value);
}

static inline void ul_member_bool(ul_json *json, const char *key, int value) {
  ul_json_key(json, key);
  ul_json_bool(json, value);
}

static inline void ul_member_null(ul_json *json, const char *key) {
  ul_json_key(json, key);
  ul_json_null(json);
}

/* null where it is not known. */
static inline void ul_member_known(ul_json *json, const char *key, int known, uint64_t value) {
  ul_json_key(json, key);
  if (known)
    ul_json_u64(json, value);
  else
    ul_json_null(json);
}

static inline void ul_member_begin(ul_json *json, const char *key) {
  ul_json_key(json, key);
  ul_json_begin_object(json);
}

/* {"name": ..., "filename": ..., "line": ...} */
void ul_json_frame(ul_json *json, const ul_frame *frame);

void ul_json_warnings(ul_json *json, const ul_warning *first, size_t first_count,
                      const ul_warning *second, size_t second_count);

void ul_replay_json_proof(ul_json *json, const ul_device_result *device);
void ul_replay_json_peak(ul_json *json, const ul_peak *peak, int has_trace, int has_requests);
void ul_replay_json_lost(ul_json *json, const ul_lost *lost, int has_trace, int has_requests);
void ul_replay_json_what_if(ul_json *json, const ul_device_result *device, int has_requests);
void ul_replay_json_holders(ul_json *json, const ul_replay_view *view,
                            const ul_device_result *device, const ul_report_options *options);
void ul_replay_json_curve(ul_json *json, const ul_device_result *device);

#endif
