/* SPDX-License-Identifier: MIT */
#include "report/info.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

const char *const ul_info_mark_names[UL_INFO_MARK_KINDS] = {"start", "end", "user_metadata",
                                                            "compile_context", "snapshot"};

static void add(ul_info_sum *sum, uint64_t bytes) {
  sum->count++;
  sum->bytes += bytes;
}

static void count_stack(ul_info *info, uint32_t stack) {
  const uint32_t *frames;

  if (!stack)
    return;
  info->stack_references++;
  info->frame_references += ul_source_stack(info->source, stack, &frames);
}

static void count_state(ul_info *info, ul_info_device *d) {
  const ul_state *state = &d->recording->final_state;
  uint32_t i;

  for (i = 0; i < state->segment_count; i++) {
    const ul_segment *s = &state->segments[i];
    add(&d->segments, s->bytes);
    add(s->is_small ? &d->small_segments : &d->large_segments, s->bytes);
    if (s->is_expandable)
      add(&d->expandable_segments, s->bytes);
    if (s->stream < info->facts->stream_count)
      add(&d->streams[s->stream].segments, s->bytes);
    if (s->pool < info->facts->pool_count)
      add(&d->pools[s->pool].segments, s->bytes);
    count_stack(info, s->stack);
  }
  for (i = 0; i < state->block_count; i++) {
    const ul_block *b = &state->blocks[i];
    add(&d->blocks[b->state == UL_BLOCK_ACTIVE_ALLOCATED      ? UL_INFO_BLOCK_ALLOCATED
                   : b->state == UL_BLOCK_ACTIVE_PENDING_FREE ? UL_INFO_BLOCK_PENDING
                                                              : UL_INFO_BLOCK_INACTIVE],
        b->bytes);
    if (b->state == UL_BLOCK_INACTIVE)
      continue;
    d->requested_bytes += b->requested_bytes;
    d->older_blocks += b->handle == 0;
    count_stack(info, b->stack);
  }
}

/* Bytes that must have been reserved before the first entry: what the end has and no entry shows
 * being added. Fewer entries than that, and the recording began mid-run. */
static void count_entries(ul_info *info, ul_info_device *d) {
  const ul_recording *r = d->recording;
  uint64_t added = 0, removed = 0, i;

  d->last_oom = UINT64_MAX;
  for (i = 0; i < r->count; i++) {
    const ul_event *e = &r->events[i];
    count_stack(info, e->stack);
    switch (r->actions[i]) {
    case UL_ACTION_SEGMENT_ALLOC:
    case UL_ACTION_SEGMENT_MAP:
      added += e->bytes;
      break;
    case UL_ACTION_SEGMENT_FREE:
    case UL_ACTION_SEGMENT_UNMAP:
      removed += e->bytes;
      break;
    case UL_ACTION_OOM:
      d->last_oom = i;
      break;
    case UL_ACTION_ALLOC:
      d->stackless += e->stack == 0;
      if (e->stream < info->facts->stream_count)
        add(&d->streams[e->stream].requests, e->bytes);
      if (e->pool < info->facts->pool_count)
        add(&d->pools[e->pool].requests, e->bytes);
      break;
    default:
      break;
    }
    if (e->kind == UL_EVENT_FREE && (e->flags & UL_EVENT_BEFORE_RECORDING))
      d->older_frees++;
  }
  if (d->segments.bytes + removed > added)
    d->older_bytes = d->segments.bytes + removed - added;
  d->is_complete = r->has_trace && r->count && !d->older_frees && !d->older_blocks &&
                   d->segments.bytes + removed == added;
  /* Frees still get recorded while the exception unwinds. */
  d->ends_in_oom = d->last_oom != UINT64_MAX && (r->count - d->last_oom) * 20 < r->count + 200;
}

/* ---- marks ---- */

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void rank(ul_info *info, const char *name, uint64_t count) {
  size_t at = info->name_count;

  while (at > 0 && info->names[at - 1].count < count)
    at--;
  if (at == UL_INFO_NAMES)
    return;
  if (info->name_count < UL_INFO_NAMES)
    info->name_count++;
  memmove(&info->names[at + 1], &info->names[at],
          (info->name_count - at - 1) * sizeof(info->names[0]));
  info->names[at] = (ul_info_name){name, count};
}

static ul_status count_marks(ul_info *info, ul_error *err) {
  const ul_source_info *facts = info->facts;
  const char **names;
  size_t count = 0, i, from;

  if (!facts->mark_count)
    return UL_OK;
  names = calloc(facts->mark_count, sizeof(const char *));
  if (!names)
    return ul_fail_nomem(err, "the marks");
  for (i = 0; i < facts->mark_count; i++) {
    const ul_mark *mark = &facts->marks[i];
    if (mark->kind < UL_INFO_MARK_KINDS)
      info->marks[mark->kind]++;
    if (mark->kind != UL_MARK_END && mark->kind != UL_MARK_SNAPSHOT && mark->name)
      names[count++] = mark->name;
  }
  qsort(names, count, sizeof(const char *), by_name);
  for (from = 0, i = 1; i <= count; i++) {
    if (i < count && strcmp(names[i], names[from]) == 0)
      continue;
    rank(info, names[from], i - from);
    from = i;
  }
  free(names);
  return UL_OK;
}

static void find_lacks(ul_info *info) {
  const ul_source_info *f = info->facts;
  const struct {
    int lacks;
    const char *what;
  } all[] = {
      {!f->has_trace, "no usable trace: only the state at one moment"},
      {f->has_trace && !f->has_time, "no times: moments are event numbers"},
      {f->has_trace && !f->has_pool_ids,
       "no pool ids in entries: private pools have to be concluded"},
      {!f->has_settings, "no settings: defaults are assumed"},
      {!f->has_frames, "no frames: nobody can be named as the holder"},
      {!f->has_requested_sizes, "no requested sizes: rounding cannot be told from use"},
  };
  size_t i;

  for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    if (all[i].lacks)
      info->lacks[info->lack_count++] = all[i].what;
  }
}

ul_status ul_info_collect(ul_info *out, const ul_source *source, ul_error *err) {
  const ul_source_info *facts = ul_source_get_info(source);
  size_t each = facts->stream_count + facts->pool_count, i;
  ul_status status;
  ul_info info;

  memset(&info, 0, sizeof(info));
  info.source = source;
  info.facts = facts;
  info.devices = calloc(facts->device_count + 1, sizeof(ul_info_device));
  info.shares = calloc(facts->device_count * each + 1, sizeof(ul_info_share));
  if (!info.devices || !info.shares) {
    ul_info_release(&info);
    return ul_fail_nomem(err, "the report");
  }
  for (i = 0; i < facts->device_count; i++) {
    ul_info_device *d = &info.devices[i];
    d->recording = ul_source_recording(source, i);
    d->streams = info.shares + i * each;
    d->pools = d->streams + facts->stream_count;
    count_state(&info, d);
    count_entries(&info, d);
  }
  find_lacks(&info);
  status = count_marks(&info, err);
  if (status != UL_OK) {
    ul_info_release(&info);
    return status;
  }
  *out = info;
  return UL_OK;
}

void ul_info_release(ul_info *info) {
  free(info->devices);
  free(info->shares);
  info->devices = NULL;
  info->shares = NULL;
}
