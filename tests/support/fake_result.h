/* SPDX-License-Identifier: MIT */
/* A replay's result filled by hand, with figures that add up and differ from each other. */
#ifndef UL_TESTS_SUPPORT_FAKE_RESULT_H
#define UL_TESTS_SUPPORT_FAKE_RESULT_H

#include "report/report_replay.h"

#define FAKE_MIB (UINT64_C(1) << 20)

static const char *const fake_alike[] = {"2.5", "2.7"};
static const ul_refuted fake_refuted[] = {{"2.12", 5121}};
static const ul_replay_stat fake_stats[] = {{"reserved_bytes.all.peak", 100 * FAKE_MIB, 1},
                                            {"num_sync_all_streams", 0, 0}};
static const ul_holder fake_holders[] = {{7, 50 * FAKE_MIB, 49 * FAKE_MIB, 3, 11},
                                         {8, 20 * FAKE_MIB, 19 * FAKE_MIB, 1, UINT64_MAX}};
static const ul_curve_point fake_curve[] = {
    {0, 499, 0, 0, 40 * FAKE_MIB, 0, 30 * FAKE_MIB, 0, 30 * FAKE_MIB, 0, 29 * FAKE_MIB},
    {500, 999, 0, 40 * FAKE_MIB, 100 * FAKE_MIB, 10 * FAKE_MIB, 80 * FAKE_MIB, 10 * FAKE_MIB,
     79 * FAKE_MIB, 9 * FAKE_MIB, 74 * FAKE_MIB},
};
static const ul_oom fake_ooms[] = {{990, 32 * FAKE_MIB, 3 * FAKE_MIB, 1}};

static inline ul_source_info fake_info(void) {
  const ul_source_info info = {.path = "/data/run.pickle",
                               .format = "snapshot",
                               .encoding = "pickle",
                               .carriers = "zstd",
                               .backend = "cuda",
                               .era = "torch 2.5 - 2.7",
                               .input_bytes = 3 * FAKE_MIB,
                               .device_count = 1,
                               .has_trace = 1,
                               .has_requested_sizes = 1};
  return info;
}

/* reserved 100 = live 74 + rounding 2 + tail 3 + pending 1 + releasable 4 + held 5 + pinned 11 */
static inline ul_device_result fake_device(uint16_t device) {
  const ul_lost lost = {700,          100 * FAKE_MIB, 74 * FAKE_MIB, 2 * FAKE_MIB, 3 * FAKE_MIB,
                        1 * FAKE_MIB, 4 * FAKE_MIB,   5 * FAKE_MIB,  11 * FAKE_MIB};
  ul_device_result d = {.device = device,
                        .entries = 1000,
                        .starts_empty = 1,
                        .has_trace = 1,
                        .torch = "2.6",
                        .settings = "",
                        .why = "its keys",
                        .alike_count = 2,
                        .alike = fake_alike,
                        .refuted_count = 1,
                        .refuted = fake_refuted,
                        .lost_at_peak = lost,
                        .lost_at_end = lost,
                        .stat_count = 2,
                        .stats = fake_stats,
                        .holder_count = 2,
                        .holders_event = 700,
                        .holder_total = 5,
                        .holders = fake_holders,
                        .curve_count = 2,
                        .curve = fake_curve,
                        .driver_calls = 70,
                        .segment_allocs = 61,
                        .segment_frees = 9,
                        .alloc_retries = 2,
                        .oom_count = 1,
                        .ooms = fake_ooms};

  d.proof.placements = 7946;
  d.proof.exact = 7946;
  d.proof.segments_recorded = d.proof.segments_exact = 61;
  d.proof.final_blocks_recorded = d.proof.final_blocks_exact = 468;
  d.proof.holds = 1;
  d.peak.event = 700;
  d.peak.reserved_bytes = 100 * FAKE_MIB;
  d.peak.allocated_bytes = 79 * FAKE_MIB;
  d.peak.active_bytes = 80 * FAKE_MIB;
  d.peak.requested_bytes = 75 * FAKE_MIB;
  d.peak.max_live_bytes = 74 * FAKE_MIB;
  d.peak.max_live_event = 701;
  d.peak.max_allocated_bytes = 78 * FAKE_MIB;
  d.peak.max_allocated_event = 702;
  d.free_mode_reserved_peak.min = d.free_mode_reserved_peak.max = 100 * FAKE_MIB;
  return d;
}

static inline void fake_refute(ul_device_result *d) {
  ul_difference *difference = &d->proof.first_difference;

  d->proof.exact = 41;
  d->proof.holds = 0;
  difference->kind = UL_DIFFERENCE_PLACEMENT;
  difference->event = 1187;
  difference->recorded_address = 0x7f0000000200;
  difference->recorded_bytes = 512;
  difference->model_address = 0x7f0000000000;
  difference->model_bytes = 1024;
  memcpy(difference->text, "recorded here, modelled there", 30);
  memcpy(difference->cause, "another setting", 16);
}

#endif
