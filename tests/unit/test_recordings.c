/* SPDX-License-Identifier: MIT */
/* Every bundled recording, end to end: proof, final state, and PyTorch's own statistics.
 *
 * Public samples: numbers are those of their README (traces/MANIFEST.md), found by an independent
 * model. Golden snapshots: the answer key is torch.cuda.memory_stats() at the moment of the
 * snapshot, which lies beside each of them. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "ullage/ullage.h"

enum { PATH_BYTES = 512, NAME_BYTES = 256 };

static ul_replay *replay_of(const char *path, const char *torch, ul_source **source) {
  ul_replay_options options = {.size = sizeof(options)};
  ul_replay *replay;
  ul_error err = {0};

  options.torch = torch;
  cr_assert_eq(ul_source_open(source, path, NULL, &err), UL_OK, "%s", err.message);
  cr_assert_eq(ul_replay_run(&replay, *source, &options, &err), UL_OK, "%s: %s", path, err.message);
  return replay;
}

/* ---- public samples ---- */

struct sample {
  char file[48];
  uint64_t placements, assisted, segments, blocks;
  int starts_empty;
};

static struct sample samples[] = {
    {"attention_peak_tiny_full.pickle", 36, 0, 9, 20, 1},
    {"decomfl_opt125m_sgd_full.pickle.zst", 7946, 0, 61, 468, 1},
    {"lm_fwdbwd_ctx100_full.pickle.zst", 3853, 0, 65, 213, 1},
    {"lm_fwdbwd_ctx200_amp_full.pickle.zst", 4404, 0, 88, 229, 1},
    {"lm_fwd_ctx100_full.pickle.zst", 785, 0, 31, 64, 1},
    {"lm_bf16_128.pickle.zst", 937, 0, 0, 178, 0},
    {"lm_fp32_128.pickle.zst", 681, 0, 0, 164, 0},
    /* three blocks older than this recording kept a remainder that only the address of the block
     * behind them tells */
    {"lm_medium_512_train.pickle.zst", 7591, 3, 1, 1041, 0},
    {"lm_medium_512_infer.pickle.zst", 1666, 0, 0, 233, 0},
    {"lm_forward_4158blk.pickle.zst", 4138, 0, 0, 4158, 0},
    {"lm_windows_usermeta.pickle.zst", 1721, 0, 0, 455, 0},
};

ParameterizedTestParameters(recordings, samples_are_exact) {
  return cr_make_param_array(struct sample, samples, sizeof(samples) / sizeof(samples[0]));
}

ParameterizedTest(struct sample *s, recordings, samples_are_exact, .timeout = 120) {
  char path[PATH_BYTES];
  ul_source *source;
  ul_replay *replay;
  const ul_device_result *d;
  const ul_proof *p;

  snprintf(path, sizeof(path), UL_TRACES "/%s", s->file);
  replay = replay_of(path, NULL, &source);
  d = ul_replay_main_device(replay);
  p = &d->proof;
  cr_expect(p->holds, "%s: %s", s->file, p->first_difference.text);
  cr_expect_eq(p->placements, s->placements, "%s: %" PRIu64, s->file, p->placements);
  cr_expect_eq(p->exact, s->placements - s->assisted, "%s: %" PRIu64, s->file, p->exact);
  cr_expect_eq(p->assisted, s->assisted, "%s", s->file);
  cr_expect_eq(p->segments_recorded, s->segments, "%s", s->file);
  cr_expect_eq(p->segments_exact, s->segments, "%s", s->file);
  cr_expect_eq(p->final_blocks_recorded, s->blocks, "%s", s->file);
  cr_expect_eq(p->final_blocks_exact, s->blocks, "%s", s->file);
  cr_expect_eq(d->starts_empty, s->starts_empty, "%s", s->file);
  ul_replay_free(replay);
  ul_source_close(source);
}

/* A file that a script made of random numbers: a verdict, not a crash. */
Test(recordings, an_inconsistent_file_gets_a_verdict) {
  ul_source *source;
  ul_replay *replay =
      replay_of(UL_TRACES "/synthetic_inconsistent_mosaic.pickle.zst", NULL, &source);
  const ul_proof *p = &ul_replay_main_device(replay)->proof;

  cr_expect_not(p->holds);
  cr_expect_eq(p->placements, 520u);
  cr_expect_eq(p->exact + p->assisted, 0u);
  cr_expect_neq(p->first_difference.kind, UL_DIFFERENCE_NONE);
  cr_expect_neq(p->first_difference.text[0], '\0');
  ul_replay_free(replay);
  ul_source_close(source);
}

/* Snapshots without a history: state, totals and lost bytes all the same. Totals are the sums of
 * the files' own segments and blocks, computed by Python when this test was written. */
Test(recordings, a_state_alone_gives_totals) {
  static const struct {
    const char *file;
    uint64_t reserved, allocated, active, live;
  } rows[] = {
      {"tiny_12seg.pickle", 109051904, 90861056, 90861056, 90861056},
      {"state_2gpu_3019blk.pickle.zst", 8143241216, 7626237952, 7626237952, 7575726912},
      {"torch20_history_opt13b.pickle.zst", 1851785216, 809461760, 809461760, 807625200},
      {"torch20_oom_state.pickle.zst", 11844714496, 11840159744, 11840159744, 11840159744},
      {"vllm_private_pools_state.pickle.zst", 26189234176, 24916034560, 25513411584, 24886778000},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char path[PATH_BYTES];
    ul_source *source;
    ul_replay *replay;
    const ul_device_result *d;
    const ul_lost *l;
    snprintf(path, sizeof(path), UL_TRACES "/%s", rows[i].file);
    replay = replay_of(path, NULL, &source);
    d = ul_replay_main_device(replay);
    l = &d->lost_at_end;
    cr_expect_not(d->has_trace, "%s", rows[i].file);
    cr_expect_eq(d->proof.placements, 0u);
    cr_expect_eq(d->peak.reserved_bytes, rows[i].reserved, "%s", rows[i].file);
    cr_expect_eq(d->peak.allocated_bytes, rows[i].allocated, "%s", rows[i].file);
    cr_expect_eq(d->peak.active_bytes, rows[i].active, "%s", rows[i].file);
    cr_expect_eq(l->live_bytes, rows[i].live, "%s: %" PRIu64, rows[i].file, l->live_bytes);
    cr_expect_eq(l->pending_bytes, rows[i].active - rows[i].allocated, "%s", rows[i].file);
    cr_expect_eq(l->live_bytes + l->rounding_bytes + l->tail_bytes + l->pending_bytes +
                     l->releasable_bytes + l->held_bytes + l->pinned_bytes,
                 rows[i].reserved, "%s", rows[i].file);
    ul_replay_free(replay);
    ul_source_close(source);
  }
}

/* ---- golden snapshots ---- */

struct golden {
  char name[NAME_BYTES];
};

static int is_snapshot(const struct dirent *entry) {
  return strstr(entry->d_name, ".pickle") != NULL;
}

ParameterizedTestParameters(recordings, golden_snapshots_are_exact) {
  struct dirent **entries;
  int count = scandir(UL_TEST_DATA "/golden", &entries, is_snapshot, alphasort), i;
  struct golden *list = cr_calloc(count > 0 ? (size_t)count : 1, sizeof(*list));

  for (i = 0; i < count; i++) {
    snprintf(list[i].name, sizeof(list[i].name), "%s", entries[i]->d_name);
    free(entries[i]);
  }
  if (count > 0)
    free(entries);
  return cr_make_param_array(struct golden, list, count > 0 ? (size_t)count : 0);
}

static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 18);

  cr_assert(file && text, "cannot read %s", path);
  cr_assert_lt(fread(text, 1, (1 << 18) - 1, file), (size_t)(1 << 18) - 1);
  fclose(file);
  return text;
}

/* The value of a key in the n-th "stats" object of an answer key; 0 if it is not there. */
static int key_value(const char *text, unsigned device, const char *name, uint64_t *value) {
  char key[NAME_BYTES];
  const char *at = strstr(text, "\"devices\""), *end, *found;

  for (unsigned i = 0; at && i <= device; i++)
    at = strstr(at + 1, "\"stats\"");
  if (!at)
    return 0;
  end = strchr(at, '}');
  snprintf(key, sizeof(key), "\"%s\":", name);
  found = strstr(at, key);
  return found && end && found < end && sscanf(found + strlen(key), " %" SCNu64, value) == 1;
}

ParameterizedTest(struct golden *g, recordings, golden_snapshots_are_exact, .timeout = 120) {
  char path[PATH_BYTES], keys_path[PATH_BYTES], release[16] = "", *keys;
  ul_source *source;
  ul_replay *replay;

  snprintf(path, sizeof(path), UL_TEST_DATA "/golden/%s", g->name);
  snprintf(keys_path, sizeof(keys_path), "%.*s.stats.json", (int)(strstr(path, ".pickle") - path),
           path);
  cr_assert_eq(sscanf(g->name, "torch%15[0-9.]", release), 1);
  keys = read_text(keys_path);
  for (int given = 0; given < 2; given++) { /* the release found, and the release given */
    replay = replay_of(path, given ? release : NULL, &source);
    for (size_t i = 0; i < ul_replay_device_count(replay); i++) {
      const ul_device_result *d = ul_replay_device(replay, i);
      size_t compared = 0;
      if (d->has_trace)
        cr_expect(d->proof.holds, "%s device %u: %s", g->name, d->device,
                  d->proof.first_difference.text);
      for (size_t s = 0; s < d->stat_count; s++) {
        uint64_t real;
        if (!d->stats[s].known || !key_value(keys, d->device, d->stats[s].name, &real))
          continue;
        compared++;
        cr_expect_eq(d->stats[s].value, real, "%s: %s: %" PRIu64 ", real %" PRIu64, g->name,
                     d->stats[s].name, d->stats[s].value, real);
      }
      /* all currents of a state, all but one key of a whole life */
      cr_expect_geq(compared, d->history_complete ? 115u : 29u, "%s: %zu keys", g->name, compared);
    }
    ul_replay_free(replay);
    ul_source_close(source);
  }
  free(keys);
}
