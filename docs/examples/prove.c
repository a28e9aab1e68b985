/* SPDX-License-Identifier: MIT */
/* Opens a recording, replays it and says whether the model reproduced it and what the peak was.
 *
 *   cc prove.c $(pkg-config --cflags --libs ullage) -o prove && ./prove snapshot.pickle */
#include <inttypes.h>
#include <stdio.h>

#include <ullage/ullage.h>

static int fail(const ul_error *err) {
  fprintf(stderr, "%s\n", err->message);
  return ul_status_exit_code(err->status);
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "traces/attention_peak_tiny_full.pickle";
  const ul_device_result *result;
  ul_source *source = NULL;
  ul_replay *replay = NULL;
  ul_error err = {0};
  char reserved[32], allocated[32];

  if (ul_source_open(&source, path, NULL, &err) != UL_OK)
    return fail(&err);
  if (ul_replay_run(&replay, source, NULL, &err) != UL_OK) {
    ul_source_close(source);
    return fail(&err);
  }

  result = ul_replay_main_device(replay);
  if (result) {
    printf("proof: %" PRIu64 " of %" PRIu64 " placements exact, the model is PyTorch %s\n",
           result->proof.exact, result->proof.placements, result->torch);
    printf("peak: %s reserved after event %" PRIu64 ", %s of it allocated\n",
           ul_format_bytes(reserved, sizeof(reserved), result->peak.reserved_bytes, 0),
           result->peak.event,
           ul_format_bytes(allocated, sizeof(allocated), result->peak.allocated_bytes, 0));
  }

  ul_replay_free(replay);
  ul_source_close(source);
  return 0;
}

/*
 * Prints:
 *   proof: 36 of 36 placements exact, the model is PyTorch 2.7
 *   peak: 3.52 GiB reserved after event 52, 3.03 GiB of it allocated
 */
