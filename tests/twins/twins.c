/* SPDX-License-Identifier: MIT */
/* The fast model against its naive twin, for as long as one likes: random lives of every kind on
 * every release, both models checking every invariant, answers compared after each step, states,
 * statistics and histories every now and then. A second fast model takes the same events in
 * batches; now and then copies take the place of all three. A difference is made small and written
 * as a script.
 *
 *   twins [--events N] [--seconds N] [--torch LIST|all] [--life LIST|all] [--seed N] [--out FILE]
 *         [--part I/N]
 *   twins --list
 *
 * --events   for each release, spread over the kinds of life, crowds a tenth (default 20000)
 * --seconds  in all, shared evenly by the pairs of life and release
 * --out      differences go there, too
 * --part     every Nth pair of life and release, from the Ith on, counted from 1
 * --list     shows the kinds of life
 *
 * Exit: 0 none differs, 1 some do, 2 usage. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/random_life.h"
#include "tests/twins/pair.h"

enum { LIFE_STEPS = 20000, STATES_EVERY = 50, SHRINK_RUNS = 4000, TOLD = 3 };

static const char *const releases[] = {"1.13", "2.0",  "2.1",  "2.2",  "2.3", "2.4",
                                       "2.5",  "2.6",  "2.7",  "2.8",  "2.9", "2.10",
                                       "2.11", "2.12", "2.13", "2.14", "2.15"};
enum { RELEASES = sizeof(releases) / sizeof(releases[0]) };

typedef struct options {
  uint64_t events, seed, part, parts;
  double seconds;
  const char *torch, *life, *out;
} options;

static unsigned number_of(const char *torch) {
  char *end;
  unsigned long major = strtoul(torch, &end, 10);

  return (unsigned)(major * 100 + (*end ? strtoul(end + 1, NULL, 10) : 0));
}

/* ---- differences ---- */

/* Whether these steps still lead to a difference, states compared after every so many; how many
 * steps it takes. */
static int still_differs(pair *p, const life_step *steps, size_t *count, size_t every) {
  ul_outcome answer;
  size_t i;

  pair_begin(p, p->seed);
  for (i = 0; i < *count && !p->difference[0] && !p->over; i++) {
    pair_step(p, &steps[i], &answer);
    if ((i + 1) % every == 0 || i + 1 == *count)
      pair_compare(p);
  }
  pair_end(p);
  if (p->difference[0])
    *count = i;
  return p->difference[0] != 0;
}

/* Leaves out ever smaller pieces as long as the difference stays. */
static void shrink(pair *p, life_step *steps, size_t *count, size_t every) {
  life_step *fewer = malloc((*count + 1) * sizeof(*fewer));
  size_t piece, at, runs = 0;

  if (!fewer)
    pair_die("shrinking", "not enough memory");
  for (piece = *count / 2; piece > 0 && runs<SHRINK_RUNS; piece = piece> 1 ? piece / 2 : 0) {
    for (at = 0; at < *count && runs < SHRINK_RUNS; runs++) {
      const size_t left = at + piece < *count ? *count - at - piece : 0;
      size_t tried = at + left;
      memcpy(fewer, steps, at * sizeof(*steps));
      memcpy(fewer + at, steps + *count - left, left * sizeof(*steps));
      if (still_differs(p, fewer, &tried, every)) {
        memcpy(steps, fewer, tried * sizeof(*steps));
        *count = tried;
      } else {
        at += piece;
      }
    }
  }
  free(fewer);
}

static void write_difference(FILE *out, const pair *p, const life_step *steps, size_t count) {
  size_t i;

  life_write_head(out, p->profile, p->torch);
  for (i = 0; i < count; i++)
    life_write_step(out, &steps[i]);
  fprintf(out, "# seed %" PRIu64 ", step %zu: %s\n\n", p->seed, count, p->difference);
  fflush(out);
}

static void tell(const options *o, pair *p, life_step *steps, size_t count) {
  char difference[PAIR_TEXT];
  size_t every = 1, all = count;
  FILE *file;

  memcpy(difference, p->difference, PAIR_TEXT);
  if (!still_differs(p, steps, &count, every)) {
    every = STATES_EVERY;
    count = all;
  }
  if (still_differs(p, steps, &count, every))
    shrink(p, steps, &count, every);
  if (!still_differs(p, steps, &count, every))
    memcpy(p->difference, difference, PAIR_TEXT);
  write_difference(stdout, p, steps, count);
  if (!o->out)
    return;
  file = fopen(o->out, "a");
  if (!file)
    pair_die(o->out, "cannot be written");
  write_difference(file, p, steps, count);
  fclose(file);
}

/* ---- lives ---- */

static double now(void) {
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* until: 0 for ever. */
static int is_late(double until) {
  return until > 0 && now() >= until;
}

/* Returns the steps that were taken. */
static size_t live(pair *p, uint64_t seed, life_step *steps, size_t most, double until) {
  life l;
  size_t n = 0;

  pair_begin(p, seed);
  life_begin(&l, p->profile, seed);
  while (n < most && !p->difference[0] && !p->over && !(n % STATES_EVERY == 0 && is_late(until))) {
    ul_outcome answer;
    steps[n] = life_next(&l);
    pair_step(p, &steps[n], &answer);
    n++;
    if (n % STATES_EVERY == 0)
      pair_compare(p);
    if (p->difference[0] || p->over)
      break;
    life_learn(&l, &steps[n - 1], &answer);
    if (steps[n - 1].kind == LIFE_EVENT && steps[n - 1].event.kind == UL_EVENT_POOL_RESTORE) {
      ul_state state;
      ul_error err = {0};
      if (ul_model_state(p->naive, &state, &err) != UL_OK)
        pair_die("state", err.message);
      life_learn_state(&l, &state);
    }
  }
  pair_compare(p);
  pair_end(p);
  return n;
}

typedef struct tally {
  uint64_t events, lives, differences;
} tally;

static void run_pair(const options *o, pair *p, uint64_t most, double until, tally *sum) {
  life_step *steps = malloc(LIFE_STEPS * sizeof(*steps));
  uint64_t events = 0, seed = o->seed + number_of(p->torch) * UINT64_C(1000000);
  int told = 0;

  if (!steps)
    pair_die(p->profile->name, "not enough memory");
  while (events < most && told < TOLD && !is_late(until)) {
    const uint64_t rest = most - events;
    const size_t n = live(p, seed, steps, rest < LIFE_STEPS ? (size_t)rest : LIFE_STEPS, until);
    events += n;
    sum->lives++;
    if (p->difference[0]) {
      sum->differences++;
      told++;
      tell(o, p, steps, n);
    }
    seed++;
  }
  sum->events += events;
  free(steps);
}

static int is_listed(const char *list, const char *name) {
  const size_t size = strlen(name);
  const char *at = list;

  if (strcmp(list, "all") == 0)
    return 1;
  while ((at = strstr(at, name)) != NULL) {
    if ((at == list || at[-1] == ',') && (at[size] == ',' || !at[size]))
      return 1;
    at += size;
  }
  return 0;
}

static int is_wanted(const options *o, size_t profile, size_t release, uint64_t *position) {
  const life_profile *p = &life_profiles[profile];

  return is_listed(o->life, p->name) && is_listed(o->torch, releases[release]) &&
         number_of(releases[release]) >= p->first && (*position)++ % o->parts == o->part - 1;
}

/* Parts of the events of a release: the twin takes its time over crowds. */
static uint64_t weight_of(const life_profile *p) {
  return p->may & LIFE_CROWD ? 1 : 10;
}

/* How many of a release's events go to a kind of life. */
static uint64_t share(const options *o, size_t release, const life_profile *p) {
  uint64_t all = 0;
  size_t i;

  for (i = 0; i < life_profile_count; i++) {
    if (is_listed(o->life, life_profiles[i].name) &&
        number_of(releases[release]) >= life_profiles[i].first)
      all += weight_of(&life_profiles[i]);
  }
  return (o->events * weight_of(p) + all - 1) / all;
}

static uint64_t count_pairs(const options *o) {
  uint64_t position = 0, pairs = 0;
  size_t i, j;

  for (i = 0; i < life_profile_count; i++)
    for (j = 0; j < RELEASES; j++)
      pairs += (uint64_t)is_wanted(o, i, j, &position);
  return pairs;
}

static int run(const options *o) {
  const double start = now();
  const uint64_t pairs = count_pairs(o);
  uint64_t position = 0, done = 0;
  pair p = {0};
  tally sum = {0};
  size_t i, j;

  if (!pairs)
    pair_die("nothing to do", "no such life on such a release");
  for (i = 0; i < life_profile_count; i++) {
    for (j = 0; j < RELEASES; j++) {
      if (!is_wanted(o, i, j, &position))
        continue;
      p.profile = &life_profiles[i];
      p.torch = releases[j];
      done++;
      run_pair(o, &p, share(o, j, p.profile),
               o->seconds > 0 ? start + o->seconds * (double)done / (double)pairs : 0, &sum);
    }
  }
  printf("%" PRIu64 " events in %" PRIu64 " lives of %" PRIu64
         " pairs of life and release, %.0f s: %" PRIu64 " differences\n",
         sum.events, sum.lives, pairs, now() - start, sum.differences);
  return sum.differences > 0;
}

static int list(void) {
  size_t i;

  for (i = 0; i < life_profile_count; i++)
    printf("%-22s from %u.%-3u '%s'\n", life_profiles[i].name, life_profiles[i].first / 100,
           life_profiles[i].first % 100, life_profiles[i].settings);
  return 0;
}

int main(int argc, char **argv) {
  options o = {.events = LIFE_STEPS, .seed = 1, .part = 1, .parts = 1};
  int i;

  o.torch = o.life = "all";
  for (i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--list") == 0)
      return list();
    if (!value)
      pair_die(argv[i], "expected a known option with a value");
    if (strcmp(argv[i], "--events") == 0)
      o.events = strtoull(value, NULL, 10);
    else if (strcmp(argv[i], "--seconds") == 0)
      o.seconds = strtod(value, NULL);
    else if (strcmp(argv[i], "--seed") == 0)
      o.seed = strtoull(value, NULL, 10);
    else if (strcmp(argv[i], "--torch") == 0)
      o.torch = value;
    else if (strcmp(argv[i], "--life") == 0)
      o.life = value;
    else if (strcmp(argv[i], "--out") == 0)
      o.out = value;
    else if (strcmp(argv[i], "--part") != 0 ||
             sscanf(value, "%" SCNu64 "/%" SCNu64, &o.part, &o.parts) != 2 || !o.part ||
             o.part > o.parts)
      pair_die(argv[i], "unknown option, or no such part");
    i++;
  }
  return run(&o);
}
