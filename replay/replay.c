/* SPDX-License-Identifier: MIT */
/* The public replay: opens one device after the other and hands out what replay_device.c found. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "replay/replay_device.h"

struct ul_replay {
  const ul_source *source;
  ul_replay_options options;
  UL_VEC(ul_device_replay *) devices;
};

/* Options of an older caller are shorter; what it does not know is zero. */
static ul_replay_options full_options(const ul_replay_options *options) {
  ul_replay_options full;

  memset(&full, 0, sizeof(full));
  if (options)
    memcpy(&full, options, options->size < sizeof(full) ? options->size : sizeof(full));
  full.size = sizeof(full);
  if (!full.curve_points)
    full.curve_points = 1000;
  return full;
}

static ul_status run_devices(ul_replay *replay, ul_error *err) {
  const ul_source_info *info = ul_source_get_info(replay->source);
  size_t i;

  for (i = 0; i < info->device_count; i++) {
    const ul_recording *recording = ul_source_recording(replay->source, i);
    ul_device_replay *device = NULL;
    if (replay->options.has_device && recording->device != replay->options.device)
      continue;
    UL_TRY(ul_device_replay_run(&device, replay->source, recording, &replay->options, err));
    if (!UL_VEC_PUSH(&replay->devices, device)) {
      ul_device_replay_free(device);
      return ul_fail_nomem(err, "the replay");
    }
  }
  if (!replay->devices.count && replay->options.has_device)
    return ul_fail(err, UL_E_INVALID, 0, "the recording has nothing of device %u",
                   (unsigned)replay->options.device);
  return UL_OK;
}

ul_status ul_replay_run(ul_replay **out, const ul_source *source, const ul_replay_options *options,
                        ul_error *err) {
  ul_replay *replay;
  ul_status status;

  if (!out || !source)
    return ul_fail(err, UL_E_INVALID, 0, "ul_replay_run: NULL argument");
  if (options && options->size < sizeof(options->size))
    return ul_fail(err, UL_E_INVALID, 0, "ul_replay_run: options.size is not set");
  replay = calloc(1, sizeof(*replay));
  if (!replay)
    return ul_fail_nomem(err, "the replay");
  replay->source = source;
  replay->options = full_options(options);
  status = run_devices(replay, err);
  /* The caller's strings and callbacks are not kept beyond this call. */
  replay->options.torch = replay->options.settings = replay->options.what_if_torch = NULL;
  replay->options.observer = NULL;
  replay->options.progress = NULL;
  if (status != UL_OK) {
    ul_replay_free(replay);
    return status;
  }
  *out = replay;
  return UL_OK;
}

void ul_replay_free(ul_replay *replay) {
  size_t i;

  if (!replay)
    return;
  for (i = 0; i < replay->devices.count; i++)
    ul_device_replay_free(replay->devices.items[i]);
  UL_VEC_RELEASE(&replay->devices);
  free(replay);
}

size_t ul_replay_device_count(const ul_replay *replay) {
  return replay->devices.count;
}

const ul_device_result *ul_replay_device(const ul_replay *replay, size_t index) {
  return index < replay->devices.count ? ul_device_replay_result(replay->devices.items[index])
                                       : NULL;
}

const ul_device_result *ul_replay_main_device(const ul_replay *replay) {
  const ul_device_result *best = NULL, *result;
  size_t i;

  for (i = 0; i < replay->devices.count; i++) {
    result = ul_device_replay_result(replay->devices.items[i]);
    if (!best || result->peak.reserved_bytes > best->peak.reserved_bytes)
      best = result;
  }
  return best;
}

const ul_source *ul_replay_source(const ul_replay *replay) {
  return replay->source;
}

ul_status ul_replay_state_at(ul_replay *replay, size_t index, uint64_t event, ul_state *out,
                             ul_error *err) {
  if (!replay || !out || index >= replay->devices.count)
    return ul_fail(err, UL_E_INVALID, 0, "ul_replay_state_at: no such device");
  return ul_device_replay_state(replay->devices.items[index], 1, event, out, err);
}

ul_status ul_replay_initial_state(ul_replay *replay, size_t index, ul_state *out, ul_error *err) {
  if (!replay || !out || index >= replay->devices.count)
    return ul_fail(err, UL_E_INVALID, 0, "ul_replay_initial_state: no such device");
  return ul_device_replay_state(replay->devices.items[index], 0, 0, out, err);
}
