/* SPDX-License-Identifier: MIT */
/* The replay of one device while it is being made: shared by the files that make it. */
#ifndef UL_REPLAY_DEVICE_STATE_H
#define UL_REPLAY_DEVICE_STATE_H

#include "base/strtab.h"
#include "replay/attempt.h"
#include "replay/measure/holders.h"
#include "replay/replay_device.h"
#include "replay/tail_choices.h"

struct ul_device_replay {
  const ul_source *source;
  const ul_recording *recording;
  ul_history *history;
  ul_attempt kept;         /* the as-recorded run that proves most */
  ul_tail_choices choices; /* that the kept run needed */
  uint64_t limit_bytes;    /* memory fraction that the kept run needed; 0: none */
  ul_attempt state_run;    /* of the last ul_device_replay_state */
  ul_device_result result;
  ul_strtab *strings; /* everything the result points to and that is not static */
  UL_VEC(const char *) alike;
  UL_VEC(ul_refuted) refuted;
  UL_VEC(ul_replay_stat) stats;
  UL_VEC(ul_warning) warnings;
  ul_holders holders;
  const char *settings;            /* as recorded */
  uint64_t window_from, window_to; /* events that are reported */
  const ul_replay_options *options;
  ul_error *err;
};

/* Options of an as-recorded run under a release, as the kept run had them. */
ul_attempt_options ul_device_as_recorded(const ul_device_replay *d, const char *torch);

/* A copy of text that lives as long as the replay. */
const char *ul_device_keep(ul_device_replay *d, const char *text);

/* Replays every rule set that the file allows, keeps the one that proves most (choose_release.c).
 */
ul_status ul_device_choose_release(ul_device_replay *d);

/* PyTorch's statistics, holders and the asker at the peak, invented bases (measures.c). */
ul_status ul_device_measure(ul_device_replay *d);

/* Another release, other settings, another memory (what_if.c). */
ul_status ul_device_what_if(ul_device_replay *d);

#endif
