/* SPDX-License-Identifier: MIT */
/* The document "ullage.info/1" (docs/schema/info.schema.json). */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "report/info.h"
#include "report/replay_json.h"
#include "report/words.h"

static void sum_json(ul_json *json, const char *key, const ul_info_sum *sum) {
  ul_member_begin(json, key);
  ul_member_u64(json, "count", sum->count);
  ul_member_u64(json, "total_bytes", sum->bytes);
  ul_json_end_object(json);
}

static void release_json(ul_json *json, const char *key, unsigned release) {
  char name[UL_WORD];

  ul_member_string(json, key, release ? ul_word_release(name, release) : NULL);
}

static void file_json(ul_json *json, const ul_source_info *f) {
  ul_member_begin(json, "trace");
  ul_member_string(json, "path", f->path);
  ul_member_string(json, "format", f->format);
  ul_member_string(json, "encoding", f->encoding);
  ul_member_u64(json, "pickle_protocol", f->pickle_protocol);
  ul_member_string(json, "carriers", f->carriers);
  ul_member_u64(json, "input_bytes", f->input_bytes);
  ul_member_u64(json, "content_bytes", f->content_bytes);
  ul_json_end_object(json);
  ul_member_string(json, "backend", f->backend);
  ul_member_string(json, "era", f->era);
  ul_member_begin(json, "releases");
  release_json(json, "oldest", f->releases.oldest);
  release_json(json, "newest", f->releases.newest);
  ul_json_end_object(json);
  ul_member_string(json, "settings", f->settings);
  ul_member_string(json, "settings_recorded", f->settings_recorded);
  ul_member_begin(json, "has");
  ul_member_bool(json, "trace", f->has_trace);
  ul_member_bool(json, "time", f->has_time);
  ul_member_bool(json, "pool_ids", f->has_pool_ids);
  ul_member_bool(json, "frames", f->has_frames);
  ul_member_bool(json, "settings", f->has_settings);
  ul_member_bool(json, "requested_sizes", f->has_requested_sizes);
  ul_json_end_object(json);
}

static void stacks_json(ul_json *json, const ul_info *info) {
  ul_member_begin(json, "stacks");
  ul_member_u64(json, "count", info->facts->stack_count);
  ul_member_u64(json, "frames", info->facts->frame_count);
  ul_member_u64(json, "references", info->stack_references);
  ul_member_u64(json, "frame_references", info->frame_references);
  ul_json_end_object(json);
}

static void marks_json(ul_json *json, const ul_info *info) {
  size_t i;

  ul_member_begin(json, "marks");
  ul_member_begin(json, "kinds");
  for (i = 0; i < UL_INFO_MARK_KINDS; i++)
    ul_member_u64(json, ul_info_mark_names[i], info->marks[i]);
  ul_json_end_object(json);
  ul_json_key(json, "names");
  ul_json_begin_array(json);
  for (i = 0; i < info->name_count; i++) {
    ul_json_begin_object(json);
    ul_member_string(json, "name", info->names[i].name);
    ul_member_u64(json, "count", info->names[i].count);
    ul_json_end_object(json);
  }
  ul_json_end_array(json);
  ul_json_end_object(json);
}

static void share_members(ul_json *json, const ul_info_share *share, int requests_known) {
  sum_json(json, "segments", &share->segments);
  if (requests_known) {
    sum_json(json, "requests", &share->requests);
  } else {
    ul_json_key(json, "requests");
    ul_json_null(json);
  }
}

static void streams_json(ul_json *json, const ul_info *info, const ul_info_device *d) {
  size_t i;

  ul_json_key(json, "streams");
  ul_json_begin_array(json);
  for (i = 0; i < info->facts->stream_count; i++) {
    if (!d->streams[i].segments.count && !d->streams[i].requests.count)
      continue;
    ul_json_begin_object(json);
    ul_json_key(json, "handle");
    ul_json_hex(json, ul_source_stream(info->source, (uint32_t)i));
    share_members(json, &d->streams[i], 1);
    ul_json_end_object(json);
  }
  ul_json_end_array(json);
}

static void pools_json(ul_json *json, const ul_info *info, const ul_info_device *d) {
  size_t i;

  ul_json_key(json, "pools");
  ul_json_begin_array(json);
  for (i = 0; i < info->facts->pool_count; i++) {
    uint64_t pair[2] = {0, 0};
    if (!d->pools[i].segments.count && !d->pools[i].requests.count)
      continue;
    ul_json_begin_object(json);
    ul_json_key(json, "id");
    if (ul_source_pool(info->source, (uint32_t)i, pair)) {
      ul_json_begin_array(json);
      ul_json_u64(json, pair[0]);
      ul_json_u64(json, pair[1]);
      ul_json_end_array(json);
    } else {
      ul_json_null(json);
    }
    share_members(json, &d->pools[i], info->facts->has_pool_ids || info->facts->pool_count == 1);
    ul_json_end_object(json);
  }
  ul_json_end_array(json);
}

static void segments_json(ul_json *json, const ul_info *info, const ul_info_device *d) {
  ul_member_begin(json, "segments");
  ul_member_u64(json, "count", d->segments.count);
  ul_member_u64(json, "total_bytes", d->segments.bytes);
  sum_json(json, "small", &d->small_segments);
  sum_json(json, "large", &d->large_segments);
  sum_json(json, "expandable", &d->expandable_segments);
  ul_json_end_object(json);
  ul_member_begin(json, "blocks");
  sum_json(json, "active_allocated", &d->blocks[UL_INFO_BLOCK_ALLOCATED]);
  sum_json(json, "active_pending_free", &d->blocks[UL_INFO_BLOCK_PENDING]);
  sum_json(json, "inactive", &d->blocks[UL_INFO_BLOCK_INACTIVE]);
  ul_member_known(json, "requested_bytes", info->facts->has_requested_sizes, d->requested_bytes);
  ul_json_end_object(json);
}

static void device_json(ul_json *json, const ul_info *info, const ul_info_device *d) {
  const ul_recording *r = d->recording;
  int a;

  ul_json_begin_object(json);
  ul_member_u64(json, "device", r->device);
  ul_member_u64(json, "entries", r->count);
  ul_member_bool(json, "has_trace", r->has_trace);
  ul_member_begin(json, "actions");
  for (a = UL_ACTION_NONE + 1; a < UL_ACTION_COUNT; a++)
    ul_member_u64(json, ul_action_name((ul_action)a), r->action_counts[a]);
  ul_json_end_object(json);
  ul_member_known(json, "first_time_ns", r->first_time_ns != 0, r->first_time_ns);
  ul_member_known(json, "last_time_ns", r->last_time_ns != 0, r->last_time_ns);
  segments_json(json, info, d);
  ul_member_begin(json, "history");
  ul_member_bool(json, "complete", d->is_complete);
  ul_member_u64(json, "older_blocks", d->older_blocks);
  ul_member_u64(json, "older_frees", d->older_frees);
  ul_member_u64(json, "older_reserved_bytes", d->older_bytes);
  ul_json_end_object(json);
  ul_member_known(json, "last_oom_event", d->last_oom != UINT64_MAX, d->last_oom);
  ul_member_u64(json, "allocations_without_stack", d->stackless);
  streams_json(json, info, d);
  pools_json(json, info, d);
  ul_json_end_object(json);
}

ul_status ul_report_info_json(const ul_source *source, const ul_report_options *options,
                              ul_write *write, void *arg, ul_error *err) {
  ul_json json;
  ul_info info;
  size_t i;

  (void)options;
  if (!source || !write)
    return ul_fail(err, UL_E_INVALID, 0, "a report needs a source and somewhere to write to");
  UL_TRY(ul_info_collect(&info, source, err));
  ul_json_init(&json, write, arg, 0);
  ul_json_begin_object(&json);
  ul_member_string(&json, "schema", "ullage.info/1");
  file_json(&json, info.facts);
  ul_json_key(&json, "devices");
  ul_json_begin_array(&json);
  for (i = 0; i < info.facts->device_count; i++)
    device_json(&json, &info, &info.devices[i]);
  ul_json_end_array(&json);
  stacks_json(&json, &info);
  marks_json(&json, &info);
  ul_json_key(&json, "missing");
  ul_json_begin_array(&json);
  for (i = 0; i < info.lack_count; i++)
    ul_json_string(&json, info.lacks[i]);
  ul_json_end_array(&json);
  ul_json_warnings(&json, NULL, 0, info.facts->warnings, info.facts->warning_count);
  ul_json_end_object(&json);
  ul_info_release(&info);
  return ul_json_finish(&json, err);
}
