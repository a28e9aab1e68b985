/* SPDX-License-Identifier: MIT */
/* Whatever opens must replay: any file that the reader accepts goes through the conclusions about
 * the past, every rule set, the proof and both reports, under all invariants of the model. The
 * seven classes of reserved bytes must add up, however the file contradicts itself. */
#include <stdint.h>
#include <stdlib.h>

#include "ullage/ullage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int swallow(const void *bytes, size_t size, void *arg) {
  (void)bytes;
  *(size_t *)arg += size;
  return 0;
}

static void check_lost(const ul_lost *l) {
  if (l->live_bytes + l->rounding_bytes + l->tail_bytes + l->pending_bytes + l->releasable_bytes +
          l->held_bytes + l->pinned_bytes !=
      l->reserved_bytes)
    abort();
}

static void check_replay(ul_replay *replay) {
  size_t written = 0, i;
  ul_error err = {0};

  for (i = 0; i < ul_replay_device_count(replay); i++) {
    const ul_device_result *d = ul_replay_device(replay, i);
    ul_state state;
    check_lost(&d->lost_at_peak);
    check_lost(&d->lost_at_end);
    if (d->proof.exact + d->proof.assisted > d->proof.placements)
      abort();
    if (d->proof.holds != (d->proof.first_difference.kind == UL_DIFFERENCE_NONE && d->has_trace))
      abort();
    if (ul_replay_state_at(replay, i, d->entries / 2, &state, &err) != UL_OK)
      abort();
  }
  if (ul_report_replay_text(replay, NULL, swallow, &written, &err) != UL_OK ||
      ul_report_replay_json(replay, NULL, swallow, &written, &err) != UL_OK || !written)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ul_replay_options options = {.size = sizeof(options), .settings = "expandable_segments:True"};
  ul_source *source;
  ul_replay *replay;
  ul_error err = {0};

  options.memory_bytes = (uint64_t)1 << 32;
  if (ul_source_open_bytes(&source, data, size, "fuzz", NULL, &err) != UL_OK)
    return 0;
  if (ul_replay_run(&replay, source, &options, &err) == UL_OK) {
    check_replay(replay);
    ul_replay_free(replay);
  } else if (!err.message[0]) {
    abort();
  }
  ul_source_close(source);
  return 0;
}
