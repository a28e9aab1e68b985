/* SPDX-License-Identifier: MIT */
/* Entries into events: addresses become handles by one pass forward over each device. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/idmap.h"
#include "parsers/snapshot_columns.h"

struct pass {
  ul_event *events; /* entries on the way in */
  uint64_t *addresses;
  uint8_t *actions;
  uint64_t count;
  uint16_t device;
  uint64_t handle_count;
  const uint64_t *action_counts;
  ul_idmap live;    /* address -> handle */
  ul_idmap pending; /* ... of what was freed and may not be used again yet */
};

static ul_status new_handle(struct pass *pass, uint64_t *handle, ul_error *err) {
  if (pass->handle_count >= UINT32_MAX - 1)
    return ul_fail(err, UL_E_LIMIT, 0, "a device has more than 4 billion allocations");
  *handle = ++pass->handle_count;
  return UL_OK;
}

static ul_status keep(ul_idmap *map, uint64_t address, uint64_t handle, ul_error *err) {
  return ul_idmap_set(map, address, (uint32_t)handle) ? UL_OK
                                                      : ul_fail_nomem(err, "live addresses");
}

static ul_status on_alloc(struct pass *pass, uint64_t i, ul_error *err) {
  ul_event *event = &pass->events[i];

  event->kind = UL_EVENT_ALLOC;
  UL_TRY(new_handle(pass, &event->handle, err));
  /* An address that is live already is a contradiction for the replay to report. */
  return keep(&pass->live, pass->addresses[i], event->handle, err);
}

static ul_status on_free_requested(struct pass *pass, uint64_t i, ul_error *err) {
  ul_event *event = &pass->events[i];
  uint64_t address = pass->addresses[i];

  event->kind = UL_EVENT_FREE;
  event->handle = ul_idmap_remove(&pass->live, address);
  if (!event->handle)
    event->handle = ul_idmap_get(&pass->pending, address); /* freed twice */
  if (!event->handle) {
    event->flags |= UL_EVENT_BEFORE_RECORDING;
    UL_TRY(new_handle(pass, &event->handle, err));
  }
  if (!pass->action_counts[UL_ACTION_FREE_COMPLETED])
    return UL_OK;
  if (i + 1 >= pass->count || pass->actions[i + 1] != UL_ACTION_FREE_COMPLETED ||
      pass->addresses[i + 1] != address)
    event->flags |= UL_EVENT_DEFERRED;
  return keep(&pass->pending, address, event->handle, err);
}

static ul_status on_free_completed(struct pass *pass, uint64_t i, ul_error *err) {
  ul_event *event = &pass->events[i];
  uint64_t address = pass->addresses[i];

  event->kind = UL_EVENT_COMPLETE;
  event->handle = ul_idmap_remove(&pass->pending, address);
  if (event->handle)
    return UL_OK;
  /* A recording without any request speaks of frees by their completion alone. In one with both,
   * this block waited for its completion before the recording began. */
  if (!pass->action_counts[UL_ACTION_FREE_REQUESTED])
    event->kind = UL_EVENT_FREE;
  event->handle = ul_idmap_remove(&pass->live, address);
  if (event->handle)
    return UL_OK;
  event->flags |= UL_EVENT_BEFORE_RECORDING;
  return new_handle(pass, &event->handle, err);
}

static ul_status on_oom(struct pass *pass, uint64_t i, ul_error *err) {
  pass->events[i].kind = UL_EVENT_ALLOC;
  pass->events[i].flags |= UL_EVENT_OOM;
  return new_handle(pass, &pass->events[i].handle, err);
}

static ul_status on_snapshot(struct pass *pass, uint64_t i, ul_error *err) {
  (void)err;
  pass->events[i].kind = UL_EVENT_MARK;
  return UL_OK;
}

typedef ul_status on_action(struct pass *pass, uint64_t i, ul_error *err);

/* Actions without a row only observe. */
static on_action *const handlers[UL_ACTION_COUNT] = {
    [UL_ACTION_ALLOC] = on_alloc,
    [UL_ACTION_FREE_REQUESTED] = on_free_requested,
    [UL_ACTION_FREE_COMPLETED] = on_free_completed,
    [UL_ACTION_OOM] = on_oom,
    [UL_ACTION_SNAPSHOT] = on_snapshot,
    [UL_ACTION_WORKSPACE_SNAPSHOT] = on_snapshot,
};

/* Moves address and action out of the entries first: a free looks at what follows it. */
static void split(struct pass *pass, ul_recording *recording) {
  uint64_t i;

  for (i = 0; i < pass->count; i++) {
    pass->addresses[i] = pass->events[i].handle;
    pass->actions[i] = pass->events[i].kind;
    pass->events[i].handle = 0;
    pass->events[i].kind = UL_EVENT_OBSERVED;
    pass->events[i].device = pass->device;
    recording->action_counts[pass->actions[i]]++;
    if (pass->events[i].time_ns) {
      if (!recording->first_time_ns)
        recording->first_time_ns = pass->events[i].time_ns;
      recording->last_time_ns = pass->events[i].time_ns;
    }
  }
}

static ul_status run(struct pass *pass, ul_error *err) {
  uint64_t i;

  for (i = 0; i < pass->count; i++) {
    if (handlers[pass->actions[i]])
      UL_TRY(handlers[pass->actions[i]](pass, i, err));
  }
  return UL_OK;
}

/* state lies in source->blocks, which is ours to write. */
static void name_final_blocks(const struct pass *pass, ul_source *source, const ul_state *state) {
  ul_block *blocks = source->blocks + (state->blocks - source->blocks);
  uint32_t i;

  for (i = 0; i < state->block_count; i++) {
    if (blocks[i].state == UL_BLOCK_ACTIVE_ALLOCATED)
      blocks[i].handle = ul_idmap_get(&pass->live, blocks[i].address);
    else if (blocks[i].state == UL_BLOCK_ACTIVE_PENDING_FREE)
      blocks[i].handle = ul_idmap_get(&pass->pending, blocks[i].address);
  }
}

static ul_status read_device(const ul_trace_run *run_of_device, ul_recording *recording,
                             ul_source *source, ul_error *err) {
  struct pass pass = {0};
  ul_status status;

  pass.events = source->events + run_of_device->first;
  pass.addresses = source->addresses + run_of_device->first;
  pass.actions = source->actions + run_of_device->first;
  pass.count = run_of_device->count;
  pass.device = run_of_device->device;
  pass.action_counts = recording->action_counts;
  split(&pass, recording);
  status = run(&pass, err);
  if (status == UL_OK)
    name_final_blocks(&pass, source, &recording->final_state);
  ul_idmap_release(&pass.live);
  ul_idmap_release(&pass.pending);
  recording->count = pass.count;
  recording->events = pass.events;
  recording->addresses = pass.addresses;
  recording->actions = pass.actions;
  recording->handle_count = pass.handle_count;
  /* Recording of state alone keeps a ring of one entry, with whatever came last in it. */
  recording->has_trace = pass.count > 1;
  return status;
}

static ul_status warn_unknown(const ul_snapshot *snapshot, ul_source *source, ul_error *err) {
  uint64_t count = 0, first = 0, i;
  size_t d;

  for (d = 0; d < source->info.device_count; d++) {
    if (!source->recordings[d].action_counts[UL_ACTION_UNKNOWN])
      continue;
    for (i = 0; !count && source->recordings[d].actions[i] != UL_ACTION_UNKNOWN; i++)
      continue;
    if (!count)
      first = i;
    count += source->recordings[d].action_counts[UL_ACTION_UNKNOWN];
  }
  if (!count)
    return UL_OK;
  return ul_source_warn(source, count, first, err,
                        "%" PRIu64
                        " entr%s an action that this program does not know, first '%.40s' "
                        "at event %" PRIu64 "; left out",
                        count, count == 1 ? "y has" : "ies have",
                        ul_strtab_get(source->strings, snapshot->unknown_action, NULL), first);
}

/* The rest of the growth is given back; where that fails, it is only room unused. */
static void *shrink(void *items, size_t bytes) {
  void *smaller = realloc(items, bytes ? bytes : 1);
  return smaller ? smaller : items;
}

ul_status ul_snapshot_trace(ul_snapshot *snapshot, const ul_layout *layout, ul_source *source,
                            ul_error *err) {
  size_t count = snapshot->entries.count, r, d = 0;

  source->events = shrink(snapshot->entries.items, count * sizeof(*source->events));
  snapshot->entries.items = NULL;
  source->addresses = malloc((count + 1) * sizeof(*source->addresses));
  source->actions = malloc(count + 1);
  if (!source->events || !source->addresses || !source->actions)
    return ul_fail_nomem(err, "the columns of the trace");
  for (r = 0; r < layout->runs.count; r++) {
    while (source->recordings[d].device != layout->runs.items[r].device)
      d++;
    UL_TRY(read_device(&layout->runs.items[r], &source->recordings[d], source, err));
    source->info.has_trace |= source->recordings[d].has_trace;
  }
  return warn_unknown(snapshot, source, err);
}
