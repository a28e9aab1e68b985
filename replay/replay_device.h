/* SPDX-License-Identifier: MIT */
/* The replay of one device: finds the rule set that proves most, measures, asks what if. */
#ifndef UL_REPLAY_REPLAY_DEVICE_H
#define UL_REPLAY_REPLAY_DEVICE_H

#include "replay/engine.h"

typedef struct ul_device_replay ul_device_replay;

ul_status ul_device_replay_run(ul_device_replay **out, const ul_source *source,
                               const ul_recording *recording, const ul_replay_options *options,
                               ul_error *err);
void ul_device_replay_free(ul_device_replay *device);
const ul_device_result *ul_device_replay_result(const ul_device_replay *device);

/* The state before event 0 (started 0) or after `event`; borrowed until the next call. */
ul_status ul_device_replay_state(ul_device_replay *device, int started, uint64_t event,
                                 ul_state *out, ul_error *err);

#endif
