/* SPDX-License-Identifier: MIT */
#include "report/report_replay.h"

#include <stdlib.h>

#include "base/error.h"

ul_status
ul_replay_view_report(const ul_replay *replay,
                      ul_status (*write_view)(const ul_replay_view *, const ul_report_options *,
                                              ul_write *, void *, ul_error *),
                      const ul_report_options *options, ul_write *write, void *arg, ul_error *err) {
  ul_replay_view view = {NULL, NULL, NULL, 0, 0};
  const ul_device_result **devices, *main_device;
  ul_status status;
  size_t i;

  if (!replay || !write)
    return ul_fail(err, UL_E_INVALID, 0, "a report needs a replay and somewhere to write to");
  view.source = ul_replay_source(replay);
  view.info = ul_source_get_info(view.source);
  view.count = ul_replay_device_count(replay);
  main_device = ul_replay_main_device(replay);
  devices = calloc(view.count + 1, sizeof(const ul_device_result *));
  if (!devices)
    return ul_fail_nomem(err, "the report");
  for (i = 0; i < view.count; i++) {
    devices[i] = ul_replay_device(replay, i);
    if (devices[i] == main_device)
      view.main = i;
  }
  view.devices = devices;
  status = write_view(&view, options, write, arg, err);
  free(devices);
  return status;
}

const ul_recording *ul_view_recording(const ul_replay_view *view, uint16_t device) {
  size_t i;

  for (i = 0; view->source && i < view->info->device_count; i++) {
    const ul_recording *recording = ul_source_recording(view->source, i);
    if (recording && recording->device == device)
      return recording;
  }
  return NULL;
}

int ul_view_since_start(const ul_replay_view *view, uint16_t device, uint64_t time_ns,
                        uint64_t *since_ns) {
  const ul_recording *recording = ul_view_recording(view, device);

  if (!recording || !recording->first_time_ns || time_ns < recording->first_time_ns)
    return 0;
  *since_ns = time_ns - recording->first_time_ns;
  return 1;
}
