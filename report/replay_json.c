/* SPDX-License-Identifier: MIT */
#include "report/replay_json.h"

#include <string.h>

#include "report/stack_text.h"

void ul_json_frame(ul_json *json, const ul_frame *frame) {
  ul_json_begin_object(json);
  ul_member_string(json, "name", frame->name);
  ul_member_string(json, "filename", frame->filename);
  ul_member_known(json, "line", frame->line >= 0, (uint64_t)(frame->line >= 0 ? frame->line : 0));
  ul_json_end_object(json);
}

static void warnings(ul_json *json, const ul_warning *list, size_t count) {
  size_t i;

  for (i = 0; i < count; i++) {
    ul_json_begin_object(json);
    ul_member_string(json, "text", list[i].text);
    ul_member_u64(json, "count", list[i].count);
    ul_member_u64(json, "first", list[i].first);
    ul_json_end_object(json);
  }
}

void ul_json_warnings(ul_json *json, const ul_warning *first, size_t first_count,
                      const ul_warning *second, size_t second_count) {
  ul_json_key(json, "warnings");
  ul_json_begin_array(json);
  warnings(json, first, first_count);
  warnings(json, second, second_count);
  ul_json_end_array(json);
}

static void pair(ul_json *json, const char *key, uint64_t recorded, uint64_t exact) {
  ul_member_begin(json, key);
  ul_member_u64(json, "recorded", recorded);
  ul_member_u64(json, "exact", exact);
  ul_json_end_object(json);
}

static void address(ul_json *json, const char *key, uint64_t value) {
  ul_json_key(json, key);
  if (value)
    ul_json_hex(json, value);
  else
    ul_json_null(json);
}

static void difference(ul_json *json, const ul_difference *d) {
  static const char *const kinds[] = {"none",    "placement",    "segment",     "result",
                                      "request", "inconsistent", "final_block", "final_segment"};

  ul_json_key(json, "first_difference");
  if (d->kind == UL_DIFFERENCE_NONE) {
    ul_json_null(json);
    return;
  }
  ul_json_begin_object(json);
  ul_member_string(json, "kind", d->kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[d->kind] : "?");
  ul_member_known(json, "event", d->event != UINT64_MAX, d->event);
  address(json, "recorded_address", d->recorded_address);
  ul_member_known(json, "recorded_bytes", d->recorded_bytes != 0, d->recorded_bytes);
  address(json, "model_address", d->model_address);
  ul_member_known(json, "model_bytes", d->model_bytes != 0, d->model_bytes);
  ul_member_string(json, "text", d->text);
  ul_member_string(json, "cause", d->cause[0] ? d->cause : NULL);
  ul_json_end_object(json);
}

void ul_replay_json_proof(ul_json *json, const ul_device_result *device) {
  const ul_proof *p = &device->proof;

  ul_member_begin(json, "proof");
  ul_member_bool(json, "holds", p->holds);
  ul_member_u64(json, "placements", p->placements);
  ul_member_u64(json, "exact", p->exact);
  ul_member_u64(json, "assisted", p->assisted);
  pair(json, "segments", p->segments_recorded, p->segments_exact);
  ul_member_begin(json, "final_blocks");
  ul_member_known(json, "recorded", device->has_trace, p->final_blocks_recorded);
  ul_member_known(json, "exact", device->has_trace, p->final_blocks_exact);
  ul_json_end_object(json);
  ul_member_begin(json, "inferred");
  ul_member_u64(json, "empty_cache", p->inferred_empty_cache);
  ul_member_u64(json, "pool", p->inferred_pool);
  ul_member_u64(json, "stream_use", p->inferred_stream_use);
  ul_json_end_object(json);
  ul_member_u64(json, "ambiguous_blocks", p->ambiguous_blocks);
  ul_member_u64(json, "inconsistencies", p->inconsistencies);
  ul_member_u64(json, "unknown_frees", p->unknown_frees);
  difference(json, &p->first_difference);
  ul_json_end_object(json);
}

void ul_replay_json_peak(ul_json *json, const ul_peak *peak, int has_trace, int has_requests) {
  ul_member_begin(json, "peak");
  ul_member_known(json, "event", has_trace && peak->event != UINT64_MAX, peak->event);
  ul_member_known(json, "time_ns", peak->time_ns != 0, peak->time_ns);
  ul_member_u64(json, "reserved_bytes", peak->reserved_bytes);
  ul_member_u64(json, "allocated_bytes", peak->allocated_bytes);
  ul_member_u64(json, "active_bytes", peak->active_bytes);
  ul_member_known(json, "requested_bytes", has_requests, peak->requested_bytes);
  ul_member_known(json, "max_allocated_bytes", has_trace, peak->max_allocated_bytes);
  ul_member_known(json, "max_allocated_event", has_trace, peak->max_allocated_event);
  ul_member_known(json, "max_active_bytes", has_trace, peak->max_active_bytes);
  ul_member_known(json, "max_active_event", has_trace, peak->max_active_event);
  ul_member_known(json, "max_live_bytes", has_trace && has_requests, peak->max_live_bytes);
  ul_member_known(json, "max_live_event", has_trace && has_requests, peak->max_live_event);
  ul_json_end_object(json);
}

void ul_replay_json_lost(ul_json *json, const ul_lost *lost, int has_trace, int has_requests) {
  ul_json_begin_object(json);
  ul_member_known(json, "event", has_trace && lost->event != UINT64_MAX, lost->event);
  ul_member_u64(json, "reserved_bytes", lost->reserved_bytes);
  ul_member_known(json, "live_bytes", has_requests, lost->live_bytes);
  ul_member_known(json, "rounding_bytes", has_requests, lost->rounding_bytes);
  ul_member_known(json, "tail_bytes", has_requests, lost->tail_bytes);
  ul_member_u64(json, "pending_bytes", lost->pending_bytes);
  ul_member_u64(json, "releasable_bytes", lost->releasable_bytes);
  ul_member_u64(json, "held_bytes", lost->held_bytes);
  ul_member_u64(json, "pinned_bytes", lost->pinned_bytes);
  ul_json_end_object(json);
}

void ul_replay_json_what_if(ul_json *json, const ul_device_result *device, int has_requests) {
  const ul_what_if *w = &device->what_if;

  ul_json_key(json, "what_if");
  if (!device->has_what_if) {
    ul_json_null(json);
    return;
  }
  ul_json_begin_object(json);
  ul_member_string(json, "torch", w->torch);
  ul_member_string(json, "settings", w->settings);
  ul_member_known(json, "memory_bytes", w->memory_bytes != 0, w->memory_bytes);
  ul_member_u64(json, "external_bytes", w->external_bytes);
  ul_member_bool(json, "fits", w->fits);
  ul_member_u64(json, "start_reserved_bytes", w->start_reserved_bytes);
  ul_replay_json_peak(json, &w->peak, 1, has_requests);
  ul_json_key(json, "lost_at_peak");
  ul_replay_json_lost(json, &w->lost_at_peak, 1, has_requests);
  ul_member_u64(json, "segment_count_at_peak", w->segment_count_at_peak);
  ul_member_u64(json, "driver_calls", w->driver_calls);
  ul_member_u64(json, "alloc_retries", w->retries);
  ul_member_u64(json, "oom_count", w->oom_count);
  ul_json_key(json, "first_oom");
  if (w->oom_count) {
    ul_json_begin_object(json);
    ul_member_u64(json, "event", w->first_oom.event);
    ul_member_u64(json, "rounded_bytes", w->first_oom.rounded_bytes);
    ul_json_end_object(json);
  } else {
    ul_json_null(json);
  }
  ul_member_u64(json, "rejected_events", w->rejected_events);
  ul_member_bool(json, "approximate", w->approximate);
  ul_json_end_object(json);
}

static void frames(ul_json *json, const ul_source *source, uint32_t stack) {
  const uint32_t *ids;
  size_t count = source ? ul_source_stack(source, stack, &ids) : 0, i;

  ul_json_key(json, "frames");
  ul_json_begin_array(json);
  for (i = 0; i < count; i++) {
    ul_frame frame;
    if (ul_source_frame(source, ids[i], &frame))
      ul_json_frame(json, &frame);
  }
  ul_json_end_array(json);
}

void ul_replay_json_holders(ul_json *json, const ul_replay_view *view,
                            const ul_device_result *device, const ul_report_options *options) {
  size_t i;

  ul_member_u64(json, "holder_count", device->holder_total);
  ul_member_known(json, "holders_event", device->has_trace, device->holders_event);
  ul_member_u64(json, "live_without_stack_bytes", device->live_without_stack_bytes);
  ul_json_key(json, "holders");
  ul_json_begin_array(json);
  for (i = 0; i < device->holder_count; i++) {
    const ul_holder *h = &device->holders[i];
    ul_frame frame;
    ul_json_begin_object(json);
    ul_member_u64(json, "block_bytes", h->bytes);
    ul_member_known(json, "requested_bytes", view->info->has_requested_sizes, h->requested_bytes);
    ul_member_u64(json, "block_count", h->block_count);
    ul_member_known(json, "first_event", h->first_event != UINT64_MAX, h->first_event);
    if (options->stack_style != UL_STACK_NONE) {
      ul_json_key(json, "at");
      if (ul_stack_find_user_frame(view->source, h->stack, &frame))
        ul_json_frame(json, &frame);
      else
        ul_json_null(json);
    }
    if (options->stack_style == UL_STACK_FULL)
      frames(json, view->source, h->stack);
    ul_json_end_object(json);
  }
  ul_json_end_array(json);
}

void ul_replay_json_curve(ul_json *json, const ul_device_result *device) {
  static const struct {
    const char *name;
    size_t offset;
  } columns[] = {
      {"first_event", offsetof(ul_curve_point, first_event)},
      {"last_event", offsetof(ul_curve_point, last_event)},
      {"first_time_ns", offsetof(ul_curve_point, first_time_ns)},
      {"reserved_min_bytes", offsetof(ul_curve_point, reserved_min)},
      {"reserved_max_bytes", offsetof(ul_curve_point, reserved_max)},
      {"active_min_bytes", offsetof(ul_curve_point, active_min)},
      {"active_max_bytes", offsetof(ul_curve_point, active_max)},
      {"allocated_min_bytes", offsetof(ul_curve_point, allocated_min)},
      {"allocated_max_bytes", offsetof(ul_curve_point, allocated_max)},
      {"live_min_bytes", offsetof(ul_curve_point, live_min)},
      {"live_max_bytes", offsetof(ul_curve_point, live_max)},
  };
  size_t c, i;

  ul_member_begin(json, "curve");
  for (c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
    ul_json_key(json, columns[c].name);
    ul_json_begin_array(json);
    for (i = 0; i < device->curve_count; i++) {
      uint64_t value;
      memcpy(&value, (const char *)&device->curve[i] + columns[c].offset, sizeof(value));
      if (!value && columns[c].offset == offsetof(ul_curve_point, first_time_ns))
        ul_json_null(json); /* the file has no times */
      else
        ul_json_u64(json, value);
    }
    ul_json_end_array(json);
  }
  ul_json_end_object(json);
}
