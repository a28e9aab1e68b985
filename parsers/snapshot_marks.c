/* SPDX-License-Identifier: MIT */
/* Names for moments: record_function scopes, changes of user metadata and of the compiled region,
 * earlier snapshots. Sorted by device, then time. */
#include <stdlib.h>

#include "base/error.h"
#include "parsers/snapshot_columns.h"

static ul_status add(ul_source *source, const ul_mark *mark, ul_error *err) {
  return UL_VEC_PUSH(&source->marks, *mark) ? UL_OK : ul_fail_nomem(err, "marks");
}

static ul_status add_snapshots(ul_source *source, const ul_recording *recording, ul_error *err) {
  ul_mark mark = {0};
  uint64_t i;

  if (!recording->action_counts[UL_ACTION_SNAPSHOT])
    return UL_OK;
  mark.device = recording->device;
  mark.kind = UL_MARK_SNAPSHOT;
  mark.name = "snapshot";
  for (i = 0; i < recording->count; i++) {
    if (recording->actions[i] != UL_ACTION_SNAPSHOT)
      continue;
    mark.event = i;
    mark.time_ns = recording->events[i].time_ns;
    mark.value = recording->events[i].bytes;
    UL_TRY(add(source, &mark, err));
  }
  return UL_OK;
}

/* What stands for "nothing": no region, no metadata. */
static int is_none(uint32_t value) {
  return !value || value == UL_WORD_NOT_APPLICABLE || value == UL_WORD_EMPTY;
}

/* What is in effect at the device's first entry, and the changes after it. *at: the first context
 * not looked at yet; in_effect: by kind, what held before it. */
static ul_status add_contexts(const ul_snapshot *snapshot, ul_source *source,
                              const ul_recording *recording, uint64_t first, size_t *at,
                              uint32_t in_effect[2], ul_error *err) {
  const ul_context_record *context = snapshot->contexts.items;
  ul_mark mark = {0};
  size_t count = snapshot->contexts.count;
  int which;

  for (; *at < count && context[*at].entry <= first; (*at)++)
    in_effect[context[*at].kind == UL_MARK_USER_METADATA] = context[*at].value;
  mark.device = recording->device;
  mark.time_ns = recording->events[0].time_ns;
  for (which = 0; which < 2; which++) {
    if (is_none(in_effect[which]))
      continue;
    mark.kind = which ? UL_MARK_USER_METADATA : UL_MARK_COMPILE_CONTEXT;
    mark.name = ul_strtab_get(source->strings, in_effect[which], NULL);
    UL_TRY(add(source, &mark, err));
  }
  for (; *at < count && context[*at].entry - first < recording->count; (*at)++) {
    which = context[*at].kind == UL_MARK_USER_METADATA;
    if (!is_none(context[*at].value) || !is_none(in_effect[which])) {
      mark.event = context[*at].entry - first;
      mark.time_ns = recording->events[mark.event].time_ns;
      mark.kind = context[*at].kind;
      mark.name = ul_strtab_get(source->strings, context[*at].value, NULL);
      UL_TRY(add(source, &mark, err));
    }
    in_effect[which] = context[*at].value;
  }
  return UL_OK;
}

static const ul_recording *recording_of(const ul_source *source, uint32_t device) {
  size_t low = 0, high = source->info.device_count, middle;

  while (low < high) {
    middle = low + (high - low) / 2;
    if (source->recordings[middle].device < device)
      low = middle + 1;
    else
      high = middle;
  }
  return low < source->info.device_count && source->recordings[low].device == device
             ? &source->recordings[low]
             : NULL;
}

static int by_first(const void *a, const void *b) {
  const ul_trace_run *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

/* Contexts were noted in the order of the file, which need not be that of the devices. */
static ul_status add_all_contexts(const ul_snapshot *snapshot, const ul_layout *layout,
                                  ul_source *source, ul_error *err) {
  ul_trace_run *runs = malloc((layout->runs.count + 1) * sizeof(*runs));
  uint32_t in_effect[2] = {0, 0};
  ul_status status = UL_OK;
  size_t r, at = 0;

  if (!runs)
    return ul_fail_nomem(err, "marks");
  for (r = 0; r < layout->runs.count; r++)
    runs[r] = layout->runs.items[r];
  qsort(runs, layout->runs.count, sizeof(*runs), by_first);
  for (r = 0; r < layout->runs.count && status == UL_OK; r++)
    status = add_contexts(snapshot, source, recording_of(source, runs[r].device), runs[r].first,
                          &at, in_effect, err);
  free(runs);
  return status;
}

static ul_status add_annotations(ul_snapshot *snapshot, const ul_layout *layout, ul_source *source,
                                 ul_error *err) {
  const ul_annotation_record *annotation;
  ul_mark mark = {0};
  uint64_t i;

  for (i = 0; i < layout->annotation_count; i++) {
    annotation = &snapshot->annotations.items[layout->first_annotation + i];
    mark.device = (uint16_t)annotation->device;
    mark.kind = annotation->is_end ? UL_MARK_END : UL_MARK_START;
    mark.time_ns = annotation->time_us * 1000;
    mark.event = UINT64_MAX; /* found below */
    mark.name = ul_strtab_get(source->strings, annotation->name, NULL);
    UL_TRY(add(source, &mark, err));
  }
  return UL_OK;
}

struct ordered {
  ul_mark mark;
  size_t position; /* keeps the file's order among equal times */
};

static int by_device_time(const void *a, const void *b) {
  const struct ordered *x = a, *y = b;

  if (x->mark.device != y->mark.device)
    return x->mark.device < y->mark.device ? -1 : 1;
  if (x->mark.time_ns != y->mark.time_ns)
    return x->mark.time_ns < y->mark.time_ns ? -1 : 1;
  return x->position < y->position ? -1 : x->position > y->position;
}

static ul_status sort_marks(ul_source *source, ul_error *err) {
  struct ordered *ordered = malloc((source->marks.count + 1) * sizeof(*ordered));
  size_t i;

  if (!ordered)
    return ul_fail_nomem(err, "marks");
  for (i = 0; i < source->marks.count; i++) {
    ordered[i].mark = source->marks.items[i];
    ordered[i].position = i;
  }
  qsort(ordered, source->marks.count, sizeof(*ordered), by_device_time);
  for (i = 0; i < source->marks.count; i++)
    source->marks.items[i] = ordered[i].mark;
  free(ordered);
  return UL_OK;
}

/* The first event at or after each mark's time; both in order of time, so one walk does. */
static void find_events(ul_source *source) {
  const ul_recording *recording = NULL;
  ul_mark *mark;
  uint64_t at = 0;
  size_t i;

  for (i = 0; i < source->marks.count; i++) {
    mark = &source->marks.items[i];
    if (!i || mark->device != mark[-1].device) {
      recording = recording_of(source, mark->device);
      at = 0;
    }
    if (mark->event != UINT64_MAX)
      continue;
    while (recording && at < recording->count && recording->events[at].time_ns < mark->time_ns)
      at++;
    mark->event = at;
  }
}

ul_status ul_snapshot_marks(ul_snapshot *snapshot, const ul_layout *layout, ul_source *source,
                            ul_error *err) {
  size_t d;

  if (snapshot->contexts.count)
    UL_TRY(add_all_contexts(snapshot, layout, source, err));
  for (d = 0; d < source->info.device_count; d++)
    UL_TRY(add_snapshots(source, &source->recordings[d], err));
  UL_TRY(add_annotations(snapshot, layout, source, err));
  if (source->marks.count)
    UL_TRY(sort_marks(source, err));
  find_events(source);
  return UL_OK;
}
