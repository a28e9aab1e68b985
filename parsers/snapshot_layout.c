/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "parsers/snapshot_columns.h"

enum { DEVICES_MAX = UINT16_MAX + 1 };

void ul_layout_release(ul_layout *layout) {
  UL_VEC_RELEASE(&layout->runs);
  free(layout->devices);
  layout->devices = NULL;
}

/* --- what it is instead of a snapshot --- */

/* "a dict with the keys 'a', 'b', ..." */
static void describe(const ul_heap *heap, ul_value value, char *buffer, size_t size) {
  const ul_object *object = ul_heap_object(heap, value);
  const char *key;
  size_t used, count;
  uint32_t i;

  if (ul_value_tag(value) == UL_TAG_ENTRY || ul_value_tag(value) == UL_TAG_SEGMENT) {
    snprintf(buffer, size, "a single %s",
             ul_value_tag(value) == UL_TAG_ENTRY ? "trace entry" : "segment");
    return;
  }
  if (object && object->kind == UL_OBJECT_DICT) {
    used = (size_t)snprintf(buffer, size, object->count ? "a dict with the keys" : "an empty dict");
    for (i = 0; i < object->count && i < 12 && used < size; i += 2) {
      key = ul_value_tag(object->u.items[i]) == UL_TAG_STRING
                ? ul_strtab_get(heap->strings, (uint32_t)ul_value_index(object->u.items[i]), NULL)
                : "(not a string)";
      used += (size_t)snprintf(buffer + used, size - used, "%s '%.24s'", i ? "," : "", key);
    }
    if (object->count > 12 && used < size)
      snprintf(buffer + used, size - used, " and %" PRIu32 " more", object->count / 2 - 6);
  } else if (ul_heap_is_list(heap, value, &count) && count) {
    snprintf(buffer, size, "a list of %zu values, the first of type %s", count,
             ul_heap_type(heap, ul_heap_item(heap, value, 0)));
  } else {
    snprintf(buffer, size, "a value of type %s", ul_heap_type(heap, value));
  }
}

static ul_status not_a_snapshot(const ul_heap *heap, ul_value value, ul_error *err) {
  char what[300], *at;

  describe(heap, value, what, sizeof(what));
  for (at = what; *at; at++) {
    if (*at < ' ' || *at > '~')
      *at = '?';
  }
  return ul_fail(err, UL_E_FORMAT, 0,
                 "the pickle is no memory snapshot: a dict with 'segments' or a list of segments "
                 "is expected, found %s",
                 what);
}

/* --- lists of records --- */

/* A list that must consist of records of one tag: their run. */
static ul_status run_of(const ul_heap *heap, ul_value list, unsigned tag, const char *path,
                        const char *what, uint64_t *first, uint64_t *run, ul_error *err) {
  const ul_object *object = ul_heap_object(heap, list);
  size_t count, i;

  *first = *run = 0;
  if (!ul_heap_is_list(heap, list, &count))
    return ul_fail(err, UL_E_MALFORMED, 0, "%s must be a list, found %s", path,
                   ul_heap_type(heap, list));
  if (!count)
    return UL_OK;
  if (object->kind == UL_OBJECT_RUN && ul_value_tag(object->u.first) == tag) {
    *first = ul_value_index(object->u.first);
    *run = count;
    return UL_OK;
  }
  for (i = 0; i < count && ul_value_tag(ul_heap_item(heap, list, i)) == tag; i++)
    continue;
  if (i < count)
    return ul_fail(err, UL_E_MALFORMED, 0, "%s[%zu] is no %s but a value of type %s", path, i, what,
                   ul_heap_type(heap, ul_heap_item(heap, list, i)));
  return ul_fail(err, UL_E_MALFORMED, 0,
                 "%s lists a value more than once, or not in the order of the file", path);
}

static ul_status read_segments(ul_layout *layout, const ul_snapshot *snapshot, ul_value list,
                               ul_error *err) {
  return run_of(&snapshot->heap, list, UL_TAG_SEGMENT, "segments",
                "segment (with blocks and total_size)", &layout->first_segment,
                &layout->segment_count, err);
}

static int by_first(const void *a, const void *b) {
  const ul_trace_run *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

static int by_device(const void *a, const void *b) {
  const ul_trace_run *x = a, *y = b;
  return (int)x->device - (int)y->device;
}

static ul_status check_runs(ul_layout *layout, ul_error *err) {
  const ul_trace_run *runs = layout->runs.items;
  size_t i;

  if (layout->runs.count < 2)
    return UL_OK;
  qsort(layout->runs.items, layout->runs.count, sizeof(*runs), by_first);
  for (i = 1; i < layout->runs.count; i++) {
    if (runs[i].first < runs[i - 1].first + runs[i - 1].count)
      return ul_fail(err, UL_E_MALFORMED, 0,
                     "device_traces[%d] and device_traces[%d] share entries", runs[i - 1].device,
                     runs[i].device);
  }
  qsort(layout->runs.items, layout->runs.count, sizeof(*runs), by_device);
  return UL_OK;
}

static ul_status read_traces(ul_layout *layout, const ul_snapshot *snapshot, ul_value list,
                             ul_error *err) {
  ul_trace_run run;
  size_t count, i;
  char path[48];

  if (!ul_heap_is_list(&snapshot->heap, list, &count))
    return ul_fail(err, UL_E_MALFORMED, 0, "device_traces must be a list, found %s",
                   ul_heap_type(&snapshot->heap, list));
  for (i = 0; i < count; i++) {
    snprintf(path, sizeof(path), "device_traces[%zu]", i);
    UL_TRY(run_of(&snapshot->heap, ul_heap_item(&snapshot->heap, list, i), UL_TAG_ENTRY, path,
                  "trace entry (with an action)", &run.first, &run.count, err));
    if (!run.count)
      continue;
    if (i >= DEVICES_MAX)
      return ul_fail(err, UL_E_LIMIT, 0, "device_traces holds entries of device %zu", i);
    run.device = (uint16_t)i;
    if (!UL_VEC_PUSH(&layout->runs, run))
      return ul_fail_nomem(err, "traces");
  }
  return check_runs(layout, err);
}

/* Annotations are extra: what is not understood is left out. */
static void read_annotations(ul_layout *layout, const ul_snapshot *snapshot, ul_value list) {
  if (run_of(&snapshot->heap, list, UL_TAG_ANNOTATION, "", "", &layout->first_annotation,
             &layout->annotation_count, NULL) != UL_OK)
    layout->annotation_count = 0;
}

static ul_status find_devices(ul_layout *layout, const ul_snapshot *snapshot, ul_error *err) {
  uint8_t *used = calloc(DEVICES_MAX, 1);
  uint64_t i;
  size_t device;

  if (!used)
    return ul_fail_nomem(err, "devices");
  for (i = 0; i < layout->segment_count; i++)
    used[snapshot->segments.items[layout->first_segment + i].device] = 1;
  for (i = 0; i < layout->runs.count; i++)
    used[layout->runs.items[i].device] = 1;
  for (device = 0; device < DEVICES_MAX; device++)
    layout->device_count += used[device];
  layout->devices = malloc((layout->device_count + 1) * sizeof(*layout->devices));
  for (i = device = 0; layout->devices && device < DEVICES_MAX; device++) {
    if (used[device])
      layout->devices[i++] = (uint16_t)device;
  }
  free(used);
  return layout->devices ? UL_OK : ul_fail_nomem(err, "devices");
}

static ul_status read_dict(ul_layout *layout, ul_snapshot *snapshot, ul_value top,
                           ul_source *source, ul_error *err) {
  const ul_heap *heap = &snapshot->heap;
  ul_value segments = ul_heap_lookup(heap, top, "segments");
  ul_value traces = ul_heap_lookup(heap, top, "device_traces");
  ul_value settings = ul_heap_lookup(heap, top, "allocator_settings");
  ul_value annotations = ul_heap_lookup(heap, top, "external_annotations");

  if (segments == UL_VALUE_UNSET)
    return not_a_snapshot(heap, top, err);
  layout->top |= UL_TOP_IS_DICT;
  UL_TRY(read_segments(layout, snapshot, segments, err));
  if (traces != UL_VALUE_UNSET)
    UL_TRY(read_traces(layout, snapshot, traces, err));
  if (annotations != UL_VALUE_UNSET) {
    layout->top |= UL_TOP_ANNOTATIONS;
    read_annotations(layout, snapshot, annotations);
  }
  if (ul_heap_lookup(heap, top, "host_segments") != UL_VALUE_UNSET ||
      ul_heap_lookup(heap, top, "host_traces") != UL_VALUE_UNSET)
    layout->top |= UL_TOP_HOST;
  if (settings == UL_VALUE_UNSET)
    return UL_OK;
  layout->top |= UL_TOP_SETTINGS;
  return ul_layout_settings(layout, snapshot, settings, source, err);
}

ul_status ul_layout_read(ul_layout *layout, ul_snapshot *snapshot, ul_value top, ul_source *source,
                         ul_error *err) {
  const ul_object *object = ul_heap_object(&snapshot->heap, top);
  size_t count;

  if (object && object->kind == UL_OBJECT_DICT) {
    UL_TRY(read_dict(layout, snapshot, top, source, err));
  } else if (ul_heap_is_list(&snapshot->heap, top, &count) &&
             (!count || ul_value_tag(ul_heap_item(&snapshot->heap, top, 0)) == UL_TAG_SEGMENT)) {
    UL_TRY(read_segments(layout, snapshot, top, err));
  } else {
    return not_a_snapshot(&snapshot->heap, top, err);
  }
  UL_TRY(find_devices(layout, snapshot, err));
  if (!layout->device_count)
    return ul_fail(err, UL_E_MALFORMED, 0,
                   "the snapshot is empty: it holds no segment and no trace entry, so nothing was "
                   "allocated or recorded");
  return UL_OK;
}
