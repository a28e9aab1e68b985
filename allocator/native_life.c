/* SPDX-License-Identifier: MIT */
/* The native allocator comes to be, is copied and goes. */
#include <stdlib.h>
#include <string.h>

#include "allocator/native_fast.h"
#include "base/error.h"

/* Zeroed, and aligned as its tallies are. */
static native *new_native(void) {
  native *n = aligned_alloc(_Alignof(native), sizeof(*n));

  if (n)
    memset(n, 0, sizeof(*n));
  return n;
}

void ul_native_destroy(void *state) {
  native *n = state;
  size_t i;

  for (i = 0; i < n->lanes.count; i++) {
    ul_free_set_release(&n->lanes.items[i].free);
    ul_free_set_release(&n->lanes.items[i].unmapped);
  }
  for (i = 0; i < n->pools.count; i++) {
    UL_VEC_RELEASE(&n->pools.items[i].lanes[0]);
    UL_VEC_RELEASE(&n->pools.items[i].lanes[1]);
  }
  for (i = 0; i < n->checkpoints.count; i++)
    UL_VEC_RELEASE(&n->checkpoints.items[i].blocks);
  ul_pools_release(&n->registry);
  ul_waits_release(&n->waits);
  ul_history_release(&n->history);
  ul_device_release(&n->device);
  ul_idmap_release(&n->pool_index);
  ul_idmap_release(&n->lane_index);
  UL_VEC_RELEASE(&n->blocks);
  UL_VEC_RELEASE(&n->segments);
  UL_VEC_RELEASE(&n->lanes);
  UL_VEC_RELEASE(&n->pools);
  UL_VEC_RELEASE(&n->block_of);
  UL_VEC_RELEASE(&n->objects);
  UL_VEC_RELEASE(&n->checkpoints);
  UL_VEC_RELEASE(&n->scratch);
  UL_VEC_RELEASE(&n->calls);
  UL_VEC_RELEASE(&n->shown_segments);
  UL_VEC_RELEASE(&n->shown_blocks);
  free(n);
}

/* Snapshots tell numbers of block objects, which are no ties. */
static int numbers_objects(const ul_profile *profile) {
  return profile->registration && profile->tie == UL_TIE_ADDRESS;
}

ul_status ul_native_create(void **state, const ul_model_options *options, ul_error *err) {
  const ul_settings_given given = ul_settings_of(options);
  const ul_profile *profile;
  ul_settings settings;
  native *n;

  UL_TRY(ul_profile_find(&profile, options->torch, NULL, err));
  UL_TRY(ul_settings_start(&settings, &given, profile, err));
  n = new_native();
  if (!n)
    return ul_fail_nomem(err, "the allocator model");
  n->profile = profile;
  n->settings = settings;
  ul_device_init(&n->device, options);
  n->limit_bytes = settings.fraction < 1.0
                       ? ul_fraction_limit(profile, options->device_bytes, settings.fraction)
                       : UINT64_MAX;
  n->short_way = &ul_native_short_plain;
#ifdef UL_AVX2_WAY
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
    n->short_way = &ul_native_short_avx2;
#endif
  n->every_call = options->every_call;
  n->property_bytes = options->device_bytes;
  n->max_split_shown = settings.max_split_bytes;
  n->numbers_blocks = profile->tie == UL_TIE_BLOCK;
  ul_pools_init(&n->registry, profile);
  ul_waits_init(&n->waits, options->stream_events, profile);
  ul_history_init(&n->history, profile);
  ul_native_settings_changed(n);
  /* Index 0 of each is "none": the short ways read it without asking. */
  n->dead_block = ul_native_grow_blocks(n);
  if (!n->dead_block || !ul_native_pool_of(n, 0) || !ul_native_lane_of(n, 0, 0, 0) ||
      !ul_native_make_room_for(n, 0) || (numbers_objects(profile) && !ul_native_keep_objects(n))) {
    ul_native_destroy(n);
    return ul_fail_nomem(err, "the allocator model");
  }
  *state = n;
  return UL_OK;
}

/* A copy of an array of plain values; 0 without memory. */
#define COPY(field)                                                                            \
  (memset(&to->field, 0, sizeof(to->field)), UL_VEC_RESERVE(&to->field, from->field.count)) && \
      (from->field.count ? memcpy(to->field.items, from->field.items,                          \
                                  from->field.count * sizeof(*from->field.items)) != NULL      \
                         : 1) &&                                                               \
      (to->field.count = from->field.count, 1)

static int copy_lanes(native *to, const native *from) {
  size_t i;

  for (i = 0; i < from->lanes.count; i++) {
    native_lane lane = from->lanes.items[i];
    ul_free_set_init(&lane.free, UL_FREE_DIRECTORY);
    ul_free_set_init(&lane.unmapped, UL_FREE_DIRECTORY);
    if (!UL_VEC_PUSH(&to->lanes, lane) ||
        !ul_free_set_copy(&to->lanes.items[i].free, &from->lanes.items[i].free) ||
        !ul_free_set_copy(&to->lanes.items[i].unmapped, &from->lanes.items[i].unmapped))
      return 0;
  }
  return 1;
}

static int copy_pools(native *to_model, const native *from_model) {
  size_t i;

  for (i = 0; i < from_model->pools.count; i++) {
    const native_pool *from = &from_model->pools.items[i];
    native_pool fresh = {0}, *to;
    fresh = *from;
    memset(fresh.lanes, 0, sizeof(fresh.lanes));
    if (!UL_VEC_PUSH(&to_model->pools, fresh))
      return 0;
    to = &to_model->pools.items[i];
    if (!(COPY(lanes[0])) || !(COPY(lanes[1])))
      return 0;
  }
  return 1;
}

static int copy_checkpoints(native *to_model, const native *from_model) {
  size_t i;

  for (i = 0; i < from_model->checkpoints.count; i++) {
    const native_checkpoint *from = &from_model->checkpoints.items[i];
    native_checkpoint fresh = *from, *to;
    memset(&fresh.blocks, 0, sizeof(fresh.blocks));
    if (!UL_VEC_PUSH(&to_model->checkpoints, fresh))
      return 0;
    to = &to_model->checkpoints.items[i];
    if (!(COPY(blocks)))
      return 0;
  }
  return 1;
}

/* Forgets what belongs to the model that was copied. */
static void disown(native *n) {
  memset(&n->blocks, 0, sizeof(n->blocks));
  memset(&n->block_of, 0, sizeof(n->block_of));
  memset(&n->lanes, 0, sizeof(n->lanes));
  memset(&n->device, 0, sizeof(n->device));
  memset(&n->segments, 0, sizeof(n->segments));
  memset(&n->pools, 0, sizeof(n->pools));
  memset(&n->pool_index, 0, sizeof(n->pool_index));
  memset(&n->lane_index, 0, sizeof(n->lane_index));
  memset(&n->registry, 0, sizeof(n->registry));
  memset(&n->waits, 0, sizeof(n->waits));
  memset(&n->history, 0, sizeof(n->history));
  memset(&n->objects, 0, sizeof(n->objects));
  memset(&n->checkpoints, 0, sizeof(n->checkpoints));
  memset(&n->scratch, 0, sizeof(n->scratch));
  memset(&n->calls, 0, sizeof(n->calls));
  memset(&n->shown_segments, 0, sizeof(n->shown_segments));
  memset(&n->shown_blocks, 0, sizeof(n->shown_blocks));
}

ul_status ul_native_clone(void **out, const void *state, ul_error *err) {
  const native *from = state;
  native *to = new_native();
  int done;

  if (!to)
    return ul_fail_nomem(err, "a copy of the allocator model");
  *to = *from;
  disown(to);
  done = ul_device_copy(&to->device, &from->device) && COPY(blocks) && COPY(segments) &&
         COPY(block_of) && COPY(objects) && ul_idmap_copy(&to->pool_index, &from->pool_index) &&
         ul_idmap_copy(&to->lane_index, &from->lane_index) && copy_lanes(to, from) &&
         copy_pools(to, from) && copy_checkpoints(to, from) &&
         ul_pools_copy(&to->registry, &from->registry) && ul_waits_copy(&to->waits, &from->waits) &&
         ul_history_copy(&to->history, &from->history);
  if (!done) {
    ul_native_destroy(to);
    return ul_fail_nomem(err, "a copy of the allocator model");
  }
  *out = to;
  return UL_OK;
}
