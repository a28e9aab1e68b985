/* SPDX-License-Identifier: MIT */
/* Which release a recording was made by, as far as its placements tell. */
#include <string.h>

#include "base/error.h"
#include "replay/device_state.h"
#include "ullage/settings.h"

enum { RULE_SETS = 16, ROUNDS_PER_BLOCK = 4, MOST_EVENTS = 20000000 };

static int has_setting(const ul_device_replay *d, const char *text) {
  return strstr(d->settings, text) != NULL;
}

static ul_status no_release_takes(const ul_device_replay *d) {
  ul_error why;

  if (ul_settings_check(d->settings, UL_SETTINGS_CUDA, NULL, NULL, 0, &why) == UL_OK)
    return ul_fail(d->err, UL_E_MALFORMED, 0, "no release that writes such a file takes '%s'",
                   d->settings);
  return ul_fail(d->err, UL_E_MALFORMED, 0, "the recorded settings: %s", why.message);
}

static size_t candidate_sets(ul_device_replay *d, ul_rule_set *sets, ul_status *status) {
  const ul_source_info *info = ul_source_get_info(d->source);
  const ul_rule_relevance relevance = {
      .expandable = d->history->any_expandable || has_setting(d, "expandable_segments:True"),
      .private_pools = d->history->any_private_pools,
      .divisions = has_setting(d, "roundup_power2_divisions"),
      .max_split = has_setting(d, "max_split_size_mb"),
      .collection = has_setting(d, "garbage_collection_threshold"),
  };
  size_t count;

  *status = UL_OK;
  if (d->options->torch) {
    sets[0].count = 1;
    *status = ul_release_name(&sets[0].releases[0], d->options->torch, NULL, d->err);
    return 1;
  }
  count = ul_rule_sets(info->releases.oldest, info->releases.newest, d->settings, &relevance, sets,
                       RULE_SETS);
  if (!count) /* keys of a release before the oldest profile: its rules are the nearest */
    count = ul_rule_sets(0, 0, d->settings, &relevance, sets, 1);
  if (!count)
    *status = no_release_takes(d);
  return count;
}

static const char *newest(const ul_rule_set *set) {
  return set->releases[set->count - 1];
}

static ul_status note_alike(ul_device_replay *d, const ul_rule_set *set, size_t but) {
  size_t i;

  for (i = 0; i < set->count; i++) {
    if (i != but && !UL_VEC_PUSH(&d->alike, set->releases[i]))
      return ul_fail_nomem(d->err, "the replay");
  }
  return UL_OK;
}

static ul_status note_refuted(ul_device_replay *d, const ul_rule_set *set, uint64_t event) {
  size_t i;

  for (i = 0; i < set->count; i++) {
    const ul_refuted refuted = {set->releases[i], event};
    if (!UL_VEC_PUSH(&d->refuted, refuted))
      return ul_fail_nomem(d->err, "the replay");
  }
  return UL_OK;
}

/* Runs a rule set again as long as its first difference tells a remainder of an old block. */
static ul_status run_and_learn(ul_device_replay *d, ul_attempt *attempt,
                               const ul_attempt_options *options, ul_tail_choices *choices) {
  ul_status status = ul_attempt_run(attempt, d->history, options, d->err);
  uint64_t rounds = attempt->initial.ambiguous * ROUNDS_PER_BLOCK;
  const uint64_t most = MOST_EVENTS / (d->recording->count + 1);
  int learnt;

  if (rounds > most)
    rounds = most;
  while (status == UL_OK && rounds-- > 0) {
    learnt = ul_tail_choices_learn(choices, d->history, attempt);
    if (!learnt)
      break;
    ul_attempt_release(attempt);
    if (learnt < 0)
      return ul_fail_nomem(d->err, "the replay");
    status = ul_attempt_run(attempt, d->history, options, d->err);
  }
  return status;
}

/* Tries without a memory fraction first, then with the one that collected segments tell. */
static ul_status run_with_limits(ul_device_replay *d, ul_attempt *attempt,
                                 ul_attempt_options *options, ul_tail_choices *choices) {
  const ul_interval *limit = &d->history->limit;
  ul_tail_choices others = {NULL, 0, 0};
  ul_attempt_options limited = *options;
  ul_attempt second;
  ul_status status;

  UL_TRY(run_and_learn(d, attempt, options, choices));
  if (attempt->prover.proof.holds || !limit->max)
    return UL_OK;
  limited.limit_bytes = limit->min + (limit->max - limit->min) / 2;
  limited.choices = &others;
  status = run_and_learn(d, &second, &limited, &others);
  if (status == UL_OK && ul_attempt_is_better(&second, attempt)) {
    ul_attempt_release(attempt);
    UL_VEC_RELEASE(choices);
    *attempt = second;
    *choices = others;
    options->limit_bytes = limited.limit_bytes;
    return UL_OK;
  }
  ul_attempt_release(&second);
  UL_VEC_RELEASE(&others);
  return status;
}

/* Replays every rule set and keeps the one that proves most; of equals the older one, since its
 * releases are the more common. */
ul_status ul_device_choose_release(ul_device_replay *d) {
  ul_rule_set sets[RULE_SETS];
  ul_proof proofs[RULE_SETS];
  ul_status status;
  size_t count = candidate_sets(d, sets, &status), best = 0, i;

  UL_TRY(status);
  for (i = 0; i < count; i++) {
    ul_attempt_options options = ul_device_as_recorded(d, newest(&sets[i]));
    ul_tail_choices choices = {NULL, 0, 0};
    ul_attempt attempt;
    options.curve_points = d->options->curve_points;
    options.progress = d->options->progress;
    options.progress_arg = d->options->progress_arg;
    options.choices = &choices;
    status = run_with_limits(d, &attempt, &options, &choices);
    if (status != UL_OK) {
      UL_VEC_RELEASE(&choices);
      ul_attempt_release(&attempt);
      return status;
    }
    proofs[i] = attempt.prover.proof;
    if (!i || ul_attempt_is_better(&attempt, &d->kept)) {
      ul_attempt_release(&d->kept);
      UL_VEC_RELEASE(&d->choices);
      d->kept = attempt;
      d->choices = choices;
      d->limit_bytes = options.limit_bytes;
      best = i;
    } else {
      UL_VEC_RELEASE(&choices);
      ul_attempt_release(&attempt);
    }
  }
  d->result.torch = newest(&sets[best]);
  for (i = 0; i < count; i++) {
    if (i == best || proofs[i].holds || !d->recording->has_trace)
      UL_TRY(note_alike(d, &sets[i], i == best ? sets[i].count - 1 : sets[i].count));
    else
      UL_TRY(note_refuted(d, &sets[i], proofs[i].first_difference.event));
  }
  if (d->options->torch)
    d->result.why = "the release was given";
  else if (!d->recording->has_trace)
    d->result.why = "nothing in the file tells releases apart";
  else if (count == 1)
    d->result.why = "all releases that write such a file have the same rules here";
  else if (d->kept.prover.proof.holds)
    d->result.why = "proves every placement";
  else
    d->result.why = d->kept.prover.proof.exact + d->kept.prover.proof.assisted
                        ? "proves most of the rule sets that the file's keys allow"
                        : "no rule set that the file's keys allow proves anything";
  return UL_OK;
}
