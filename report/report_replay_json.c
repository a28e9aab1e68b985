/* SPDX-License-Identifier: MIT */
/* The document "ullage.replay/1" (docs/schema/replay.schema.json). */
#include <string.h>

#include "report/replay_json.h"

static void trace_json(ul_json *json, const ul_replay_view *view, const ul_device_result *device) {
  const ul_source_info *info = view->info;
  const ul_recording *recording = ul_view_recording(view, device->device);

  ul_member_begin(json, "trace");
  ul_member_string(json, "path", info->path);
  ul_member_string(json, "format", info->format);
  ul_member_string(json, "encoding", info->encoding);
  ul_member_string(json, "carriers", info->carriers);
  ul_member_string(json, "backend", info->backend);
  ul_member_string(json, "era", info->era);
  ul_member_u64(json, "input_bytes", info->input_bytes);
  ul_member_u64(json, "entries", device->entries);
  ul_member_bool(json, "has_trace", device->has_trace);
  ul_member_bool(json, "starts_empty", device->starts_empty);
  ul_member_bool(json, "history_complete", device->history_complete);
  ul_member_known(json, "first_time_ns", recording && recording->first_time_ns,
                  recording ? recording->first_time_ns : 0);
  ul_member_known(json, "last_time_ns", recording && recording->last_time_ns,
                  recording ? recording->last_time_ns : 0);
  ul_json_end_object(json);
}

static void model_json(ul_json *json, const ul_device_result *device) {
  size_t i;

  ul_member_begin(json, "model");
  ul_member_string(json, "torch", device->torch);
  ul_member_string(json, "settings", device->settings);
  ul_member_string(json, "why", device->why);
  ul_json_key(json, "alike");
  ul_json_begin_array(json);
  for (i = 0; i < device->alike_count; i++)
    ul_json_string(json, device->alike[i]);
  ul_json_end_array(json);
  ul_member_begin(json, "refuted");
  for (i = 0; i < device->refuted_count; i++)
    ul_member_u64(json, device->refuted[i].torch, device->refuted[i].event);
  ul_json_end_object(json);
  ul_json_end_object(json);
}

static void asker_json(ul_json *json, const ul_device_result *device) {
  const ul_asker *a = &device->asker_at_peak;

  ul_json_key(json, "asker_at_peak");
  if (!device->has_asker) {
    ul_json_null(json);
    return;
  }
  ul_json_begin_object(json);
  ul_member_u64(json, "event", a->event);
  ul_member_u64(json, "requested_bytes", a->requested_bytes);
  ul_member_u64(json, "rounded_bytes", a->rounded_bytes);
  ul_member_u64(json, "pool_bound_bytes", a->pool_bound_bytes);
  ul_member_u64(json, "stream_bound_bytes", a->stream_bound_bytes);
  ul_member_u64(json, "rule_bound_bytes", a->rule_bound_bytes);
  ul_member_u64(json, "extended_bytes", a->extended_bytes);
  ul_member_u64(json, "soft_bytes", a->soft_bytes);
  ul_member_u64(json, "hard_bytes", a->hard_bytes);
  ul_json_end_object(json);
}

static void interval(ul_json *json, const char *key, const ul_interval *value) {
  ul_json_key(json, key);
  if (!value->max) {
    ul_json_null(json);
    return;
  }
  ul_json_begin_object(json);
  ul_member_u64(json, "min", value->min);
  ul_member_u64(json, "max", value->max);
  ul_json_end_object(json);
}

static void stats_json(ul_json *json, const ul_device_result *device) {
  size_t i;

  ul_member_begin(json, "stats");
  for (i = 0; i < device->stat_count; i++)
    ul_member_known(json, device->stats[i].name, device->stats[i].known, device->stats[i].value);
  ul_json_end_object(json);
}

static void oom_members(ul_json *json, const ul_oom *oom) {
  ul_json_begin_object(json);
  ul_member_u64(json, "event", oom->event);
  ul_member_u64(json, "rounded_bytes", oom->rounded_bytes);
  ul_member_known(json, "device_free_bytes", oom->device_free_known, oom->device_free_bytes);
  ul_json_end_object(json);
}

static void ooms_json(ul_json *json, const ul_device_result *device) {
  uint64_t i;

  ul_json_key(json, "oom");
  if (device->oom_count)
    oom_members(json, &device->ooms[0]);
  else
    ul_json_null(json);
  ul_json_key(json, "ooms");
  ul_json_begin_array(json);
  for (i = 0; i < device->oom_count; i++)
    oom_members(json, &device->ooms[i]);
  ul_json_end_array(json);
}

static void driver_json(ul_json *json, const ul_device_result *device) {
  ul_member_begin(json, "driver");
  ul_member_known(json, "calls", device->has_trace, device->driver_calls);
  ul_member_known(json, "segment_alloc", device->has_trace, device->segment_allocs);
  ul_member_known(json, "segment_free", device->has_trace, device->segment_frees);
  ul_member_known(json, "segment_map", device->has_trace, device->segment_maps);
  ul_member_known(json, "segment_unmap", device->has_trace, device->segment_unmaps);
  ul_member_known(json, "alloc_retries", device->has_trace, device->alloc_retries);
  ul_json_end_object(json);
}

static void marks_json(ul_json *json, const ul_replay_view *view, const ul_device_result *device) {
  static const char *const kinds[] = {"start", "end", "user_metadata", "compile_context",
                                      "snapshot"};
  enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
  uint64_t counts[KINDS] = {0};
  size_t i;

  for (i = 0; i < view->info->mark_count; i++) {
    const ul_mark *mark = &view->info->marks[i];
    if (mark->device == device->device && mark->kind < KINDS)
      counts[mark->kind]++;
  }
  ul_member_begin(json, "marks");
  for (i = 0; i < KINDS; i++)
    ul_member_u64(json, kinds[i], counts[i]);
  ul_json_end_object(json);
}

/* The members that the document and every one of its devices have. */
static void device_members(ul_json *json, const ul_replay_view *view,
                           const ul_device_result *device, const ul_report_options *options) {
  int has_requests = view->info->has_requested_sizes;

  trace_json(json, view, device);
  ul_member_u64(json, "device", device->device);
  model_json(json, device);
  ul_replay_json_proof(json, device);
  ul_replay_json_peak(json, &device->peak, device->has_trace, has_requests);
  ul_json_key(json, "window");
  if (device->has_window) {
    ul_json_begin_object(json);
    ul_member_u64(json, "from_event", device->window_from);
    ul_member_u64(json, "to_event", device->window_to);
    ul_json_end_object(json);
  } else {
    ul_json_null(json);
  }
  ul_json_key(json, "lost_at_peak");
  ul_replay_json_lost(json, &device->lost_at_peak, device->has_trace, has_requests);
  ul_json_key(json, "lost_at_end");
  ul_replay_json_lost(json, &device->lost_at_end, device->has_trace, has_requests);
  asker_json(json, device);
  ul_member_begin(json, "free_mode");
  interval(json, "reserved_peak_bytes", &device->free_mode_reserved_peak);
  interval(json, "allocated_peak_bytes", &device->free_mode_allocated_peak);
  ul_json_end_object(json);
  stats_json(json, device);
  ooms_json(json, device);
  driver_json(json, device);
  marks_json(json, view, device);
  ul_replay_json_what_if(json, device, has_requests);
  ul_replay_json_holders(json, view, device, options);
  ul_replay_json_curve(json, device);
  ul_json_warnings(json, device->warnings, device->warning_count, view->info->warnings,
                   view->info->warning_count);
}

ul_status ul_replay_view_json(const ul_replay_view *view, const ul_report_options *options,
                              ul_write *write, void *arg, ul_error *err) {
  /* A file without any device still makes a document with every key. */
  static const ul_device_result nothing = {.torch = NULL, .proof = {.holds = 0}};
  const ul_report_options resolved = ul_report_options_resolve(options);
  ul_json json;
  size_t i;

  ul_json_init(&json, write, arg, 0);
  ul_json_begin_object(&json);
  ul_member_string(&json, "schema", "ullage.replay/1");
  device_members(&json, view, view->count ? view->devices[view->main] : &nothing, &resolved);
  ul_json_key(&json, "devices");
  ul_json_begin_array(&json);
  for (i = 0; i < view->count; i++) {
    ul_json_begin_object(&json);
    device_members(&json, view, view->devices[i], &resolved);
    ul_json_end_object(&json);
  }
  ul_json_end_array(&json);
  ul_json_end_object(&json);
  return ul_json_finish(&json, err);
}

ul_status ul_report_replay_json(const ul_replay *replay, const ul_report_options *options,
                                ul_write *write, void *arg, ul_error *err) {
  return ul_replay_view_report(replay, ul_replay_view_json, options, write, arg, err);
}
