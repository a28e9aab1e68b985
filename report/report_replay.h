/* SPDX-License-Identifier: MIT */
/* What a replay report is written from: results alone, however they came about. */
#ifndef UL_REPORT_REPORT_REPLAY_H
#define UL_REPORT_REPORT_REPLAY_H

#include <stddef.h>

#include "ullage/error.h"
#include "ullage/replay.h"
#include "ullage/report.h"
#include "ullage/source.h"

#include "report/text.h"

typedef struct ul_replay_view {
  const ul_source *source; /* frames of stacks */
  const ul_source_info *info;
  const ul_device_result *const *devices;
  size_t count;
  size_t main; /* index of the one with the highest peak */
} ul_replay_view;

ul_status ul_replay_view_text(const ul_replay_view *view, const ul_report_options *options,
                              ul_write *write, void *arg, ul_error *err);
ul_status ul_replay_view_json(const ul_replay_view *view, const ul_report_options *options,
                              ul_write *write, void *arg, ul_error *err);

/* Runs `write_view` on the results of replay. */
ul_status
ul_replay_view_report(const ul_replay *replay,
                      ul_status (*write_view)(const ul_replay_view *, const ul_report_options *,
                                              ul_write *, void *, ul_error *),
                      const ul_report_options *options, ul_write *write, void *arg, ul_error *err);

/* The recording of a device, or NULL. */
const ul_recording *ul_view_recording(const ul_replay_view *view, uint16_t device);

/* What is known of an event's instant: after the device's first entry. Returns 0 if unknown. */
int ul_view_since_start(const ul_replay_view *view, uint16_t device, uint64_t time_ns,
                        uint64_t *since_ns);

/* ---- sections of the text, in the order of the report ---- */

void ul_proof_text(ul_text *text, const ul_replay_view *view);
ul_status ul_holders_text(ul_text *text, const ul_replay_view *view, const ul_device_result *device,
                          unsigned top, ul_error *err);
void ul_lost_text(ul_text *text, const ul_replay_view *view, const ul_device_result *device,
                  const ul_lost *lost, const char *when);
void ul_asker_text(ul_text *text, const ul_asker *asker);
void ul_what_if_text(ul_text *text, const ul_device_result *device);

/* One class of lost bytes. */
typedef struct ul_lost_class {
  const char *name;   /* "rounding" */
  const char *what;   /* what such bytes are */
  const char *mostly; /* what it means if this class is the largest */
  size_t offset;      /* in ul_lost */
} ul_lost_class;

enum { UL_LOST_CLASSES = 6 };
extern const ul_lost_class ul_lost_classes[UL_LOST_CLASSES];

uint64_t ul_lost_of_class(const ul_lost *lost, const ul_lost_class *class_);

#endif
