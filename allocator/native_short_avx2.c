/* SPDX-License-Identifier: MIT */
/* The short way on processors with AVX2 and BMI2, as nearly all of the last ten years: four
 * statistics at once. */
#include "allocator/native_short.h"

static native_step apply(native *n, const ul_event *event, ul_outcome *outcome) {
  return apply_one(n, event, outcome);
}

static native_step run(native *n, const ul_event *events, size_t count, ul_placement *placements,
                       size_t *applied) {
  return run_many(n, events, count, placements, applied);
}

const native_short_way ul_native_short_avx2 = {apply, run};
