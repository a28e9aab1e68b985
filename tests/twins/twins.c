/* SPDX-License-Identifier: MIT */
/* The fast model against its naive twin, for as long as one likes: random lives of every kind on
 * every release, both models checking every invariant, answers compared after each step, states,
 * statistics and histories every now and then. A difference is made small and written as a script.
 *
 *   twins [--events N] [--seconds N] [--torch LIST|all] [--life LIST|all] [--seed N] [--out FILE]
 *         [--part I/N]
 *   twins --list
 *
 * --events   for each release, spread over the kinds of life (default 20000)
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
#include "ullage/model.h"

enum { LIFE_STEPS = 20000, STATES_EVERY = 50, STATS = 256, SHRINK_RUNS = 4000, TOLD = 3 };
enum { TEXT = 512, MESSAGE = 2048, HISTORY = 4096 };

static const char *const releases[] = {"1.13", "2.0",  "2.1",  "2.2",  "2.3", "2.4",
                                       "2.5",  "2.6",  "2.7",  "2.8",  "2.9", "2.10",
                                       "2.11", "2.12", "2.13", "2.14", "2.15"};
enum { RELEASES = sizeof(releases) / sizeof(releases[0]) };

typedef struct options {
  uint64_t events, seed, part, parts;
  double seconds;
  const char *torch, *life, *out;
} options;

typedef struct pair {
  ul_model *fast, *naive;
  const life_profile *profile;
  const char *torch;
  char difference[TEXT];
  int over; /* the life cannot go on */
} pair;

static void die(const char *what, const char *why) {
  fprintf(stderr, "twins: %s: %s\n", what, why);
  exit(2);
}

static unsigned number_of(const char *torch) {
  char *end;
  unsigned long major = strtoul(torch, &end, 10);

  return (unsigned)(major * 100 + (*end ? strtoul(end + 1, NULL, 10) : 0));
}

static ul_model *create(const pair *p, const char *backend) {
  ul_model_options o = {.size = sizeof(o), .address_policy = UL_ADDRESS_FIRST_FIT};
  ul_model *model;
  ul_error err = {0};

  o.backend = backend;
  o.torch = p->torch;
  o.settings = p->profile->settings;
  o.device_bytes = p->profile->device_mib << 20;
  o.stream_events = p->profile->stream_events;
  o.every_call = 1;
  o.checked = 1;
  if (ul_model_create(&model, &o, &err) != UL_OK)
    die(p->profile->name, err.message);
  return model;
}

static void begin(pair *p) {
  p->fast = create(p, "native");
  p->naive = create(p, "naive");
  p->difference[0] = '\0';
  p->over = 0;
}

static void end(pair *p) {
  ul_model_destroy(p->fast);
  ul_model_destroy(p->naive);
}

/* ---- comparing ---- */

static int differ(pair *p, const char *what, uint64_t a, uint64_t b) {
  if (a == b || p->difference[0])
    return p->difference[0] != 0;
  snprintf(p->difference, TEXT, "%s: native %" PRIu64 ", naive %" PRIu64, what, a, b);
  return 1;
}

static void compare_outcomes(pair *p, const ul_outcome *a, const ul_outcome *b) {
  char native[MESSAGE] = "", naive[MESSAGE] = "";
  uint32_t i;

  if (differ(p, "result", a->result, b->result) || differ(p, "address", a->address, b->address) ||
      differ(p, "block", a->block_bytes, b->block_bytes) ||
      differ(p, "driver calls", a->call_count, b->call_count))
    return;
  for (i = 0; i < a->call_count; i++) {
    const ul_driver_call *x = &a->calls[i], *y = &b->calls[i];
    if (differ(p, "driver call", x->kind, y->kind) ||
        differ(p, "driver call at", x->address, y->address) ||
        differ(p, "driver call of", x->bytes, y->bytes))
      return;
  }
  if (a->result != UL_OUTCOME_OOM)
    return;
  if (differ(p, "segment of OOM", a->segment_bytes, b->segment_bytes) ||
      differ(p, "limit", a->limit_bytes, b->limit_bytes) ||
      differ(p, "free bytes", a->device_free_bytes, b->device_free_bytes) ||
      differ(p, "preempted", a->preempted, b->preempted))
    return;
  (void)ul_model_message(p->fast, native, sizeof(native));
  (void)ul_model_message(p->naive, naive, sizeof(naive));
  if (strcmp(native, naive) != 0)
    snprintf(p->difference, TEXT, "text: native '%.200s', naive '%.200s'", native, naive);
}

static void compare_totals(pair *p) {
  const ul_totals *a = ul_model_totals(p->fast), *b = ul_model_totals(p->naive);

  (void)(differ(p, "reserved", a->reserved_bytes, b->reserved_bytes) ||
         differ(p, "allocated", a->allocated_bytes, b->allocated_bytes) ||
         differ(p, "active", a->active_bytes, b->active_bytes) ||
         differ(p, "requested", a->requested_bytes, b->requested_bytes) ||
         differ(p, "live", a->live_bytes, b->live_bytes) ||
         differ(p, "live, rounded", a->live_rounded_bytes, b->live_rounded_bytes) ||
         differ(p, "releasable", a->releasable_bytes, b->releasable_bytes) ||
         differ(p, "held", a->held_bytes, b->held_bytes) ||
         differ(p, "segments", a->segment_count, b->segment_count));
}

static void compare_statistics(pair *p) {
  static ul_stat a[STATS], b[STATS];
  const size_t count = ul_model_stats(p->fast, a, STATS);
  const size_t wanted = ul_model_stats(p->naive, b, STATS);
  uint64_t x[12], y[12];
  uint32_t pool = 0, other = 0;
  size_t i, j;

  if (differ(p, "statistics", count, wanted))
    return;
  for (i = 0; i < count; i++) {
    if (differ(p, b[i].name, a[i].value, b[i].value) ||
        differ(p, "name of a statistic", 0, strcmp(a[i].name, b[i].name) != 0))
      return;
  }
  for (i = 0;; i++) {
    const int more = ul_model_pool_reserved(p->naive, i, &other, y);
    if (differ(p, "pools with statistics", (uint64_t)ul_model_pool_reserved(p->fast, i, &pool, x),
               (uint64_t)more) ||
        !more || differ(p, "pool", pool, other))
      return;
    for (j = 0; j < 12; j++)
      (void)differ(p, "reserved bytes of a pool", x[j], y[j]);
  }
}

static void compare_blocks(pair *p, const ul_block *a, const ul_block *b) {
  (void)(differ(p, "block at", a->address, b->address) ||
         differ(p, "size of the block", a->bytes, b->bytes) ||
         differ(p, "state of the block", a->state, b->state) ||
         differ(p, "handle of the block", a->state ? a->handle : 0, b->state ? b->handle : 0) ||
         (a->state && differ(p, "request of the block", a->requested_bytes, b->requested_bytes)));
}

static void compare_states(pair *p, ul_state *y) {
  ul_error err = {0};
  ul_state x;
  uint32_t i, j;

  if (ul_model_state(p->fast, &x, &err) != UL_OK || ul_model_state(p->naive, y, &err) != UL_OK)
    die("state", err.message);
  if (differ(p, "segments in the state", x.segment_count, y->segment_count))
    return;
  for (i = 0; i < x.segment_count; i++) {
    const ul_segment *s = &x.segments[i], *t = &y->segments[i];
    if (differ(p, "segment at", s->address, t->address) ||
        differ(p, "size of the segment", s->bytes, t->bytes) ||
        differ(p, "stream of the segment", s->stream, t->stream) ||
        differ(p, "pool of the segment", s->pool, t->pool) ||
        differ(p, "blocks of the segment", s->block_count, t->block_count) ||
        differ(p, "registration", s->registration, t->registration))
      return;
    for (j = 0; j < s->block_count; j++)
      compare_blocks(p, &x.blocks[s->first_block + j], &y->blocks[t->first_block + j]);
  }
}

static void compare_histories(pair *p) {
  static ul_history_entry a[HISTORY], b[HISTORY];
  size_t i, count;

  count = ul_model_history(p->fast, a, HISTORY);
  if (differ(p, "entries of the history", count, ul_model_history(p->naive, b, HISTORY)))
    return;
  for (i = 0; i < count && i < HISTORY; i++) {
    if (differ(p, "action of an entry", a[i].action, b[i].action) ||
        differ(p, "address of an entry", a[i].address, b[i].address) ||
        differ(p, "bytes of an entry", a[i].bytes, b[i].bytes) ||
        differ(p, "stream of an entry", a[i].stream, b[i].stream))
      return;
  }
}

/* ---- one step of both ---- */

/* A refusal that both make in the same words is none. */
static void both(pair *p, ul_status a, const ul_error *x, ul_status b, const ul_error *y) {
  if (a != b || (a != UL_OK && strcmp(x->message, y->message) != 0))
    snprintf(p->difference, TEXT, "native: %d %.200s; naive: %d %.200s", (int)a,
             a ? x->message : "", (int)b, b ? y->message : "");
}

static void apply(pair *p, const life_step *s, ul_outcome *answer) {
  ul_error x = {0}, y = {0};
  ul_event e = s->event;
  ul_status status;
  ul_outcome fast;

  if (e.kind == UL_EVENT_SET_FRACTION) {
    if (!p->profile->device_mib)
      return;
    e.bytes = ul_model_fraction_limit(p->naive, s->fraction);
  }
  status = ul_model_apply(p->naive, &e, NULL, answer, &y);
  both(p, ul_model_apply(p->fast, &e, NULL, &fast, &x), &x, status, &y);
  if (!p->difference[0] && status == UL_OK)
    compare_outcomes(p, &fast, answer);
  p->over = answer->result == UL_OUTCOME_BROKEN;
}

static void take_step(pair *p, const life_step *s, ul_outcome *answer) {
  ul_error x = {0}, y = {0};
  ul_state state;

  memset(answer, 0, sizeof(*answer));
  switch (s->kind) {
  case LIFE_EVENT:
    apply(p, s, answer);
    break;
  case LIFE_CONFIGURE:
    both(p, ul_model_configure(p->fast, s->settings, &x), &x,
         ul_model_configure(p->naive, s->settings, &y), &y);
    break;
  case LIFE_RECORD:
    both(p, ul_model_record_history(p->fast, s->number > 0, s->number, &x), &x,
         ul_model_record_history(p->naive, s->number > 0, s->number, &y), &y);
    break;
  case LIFE_SNAPSHOT:
    compare_histories(p);
    both(p, ul_model_snapshot(p->fast, &state, &x), &x, ul_model_snapshot(p->naive, &state, &y),
         &y);
    compare_states(p, &state);
    break;
  case LIFE_RESET_PEAK:
    ul_model_reset_peak(p->fast);
    ul_model_reset_peak(p->naive);
    break;
  case LIFE_RESET_ACCUMULATED:
    ul_model_reset_accumulated(p->fast);
    ul_model_reset_accumulated(p->naive);
    break;
  }
  if (!p->difference[0] && !p->over)
    compare_totals(p);
}

static void compare_all(pair *p) {
  ul_state state;

  if (p->difference[0] || p->over)
    return;
  compare_states(p, &state);
  compare_statistics(p);
  compare_histories(p);
}

/* ---- differences ---- */

/* Whether these steps still lead to a difference; how many it takes. */
static int still_differs(pair *p, const life_step *steps, size_t *count) {
  ul_outcome answer;
  size_t i;

  begin(p);
  for (i = 0; i < *count && !p->difference[0] && !p->over; i++) {
    take_step(p, &steps[i], &answer);
    compare_all(p);
  }
  end(p);
  if (p->difference[0])
    *count = i;
  return p->difference[0] != 0;
}

/* Leaves out ever smaller pieces as long as the difference stays. */
static void shrink(pair *p, life_step *steps, size_t *count) {
  life_step *fewer = malloc((*count + 1) * sizeof(*fewer));
  size_t piece, at, runs = 0;

  if (!fewer)
    die("shrinking", "not enough memory");
  for (piece = *count / 2; piece > 0 && runs<SHRINK_RUNS; piece = piece> 1 ? piece / 2 : 0) {
    for (at = 0; at < *count && runs < SHRINK_RUNS; runs++) {
      const size_t left = at + piece < *count ? *count - at - piece : 0;
      size_t tried = at + left;
      memcpy(fewer, steps, at * sizeof(*steps));
      memcpy(fewer + at, steps + *count - left, left * sizeof(*steps));
      if (still_differs(p, fewer, &tried)) {
        memcpy(steps, fewer, tried * sizeof(*steps));
        *count = tried;
      } else {
        at += piece;
      }
    }
  }
  free(fewer);
}

static void write_difference(FILE *out, const pair *p, const life_step *steps, size_t count,
                             uint64_t seed) {
  size_t i;

  life_write_head(out, p->profile, p->torch);
  for (i = 0; i < count; i++)
    life_write_step(out, &steps[i]);
  fprintf(out, "# seed %" PRIu64 ", step %zu: %s\n\n", seed, count, p->difference);
  fflush(out);
}

static void tell(const options *o, pair *p, life_step *steps, size_t count, uint64_t seed) {
  FILE *file;

  if (still_differs(p, steps, &count)) {
    shrink(p, steps, &count);
    (void)still_differs(p, steps, &count);
  }
  write_difference(stdout, p, steps, count, seed);
  if (!o->out)
    return;
  file = fopen(o->out, "a");
  if (!file)
    die(o->out, "cannot be written");
  write_difference(file, p, steps, count, seed);
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

  begin(p);
  life_begin(&l, p->profile, seed);
  while (n < most && !p->difference[0] && !p->over) {
    ul_outcome answer;
    steps[n] = life_next(&l);
    take_step(p, &steps[n], &answer);
    n++;
    if (n % STATES_EVERY == 0)
      compare_all(p);
    if (p->difference[0] || p->over || (n % STATES_EVERY == 0 && is_late(until)))
      break;
    life_learn(&l, &steps[n - 1], &answer);
    if (steps[n - 1].kind == LIFE_EVENT && steps[n - 1].event.kind == UL_EVENT_POOL_RESTORE) {
      ul_state state;
      ul_error err = {0};
      if (ul_model_state(p->naive, &state, &err) != UL_OK)
        die("state", err.message);
      life_learn_state(&l, &state);
    }
  }
  end(p);
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
    die(p->profile->name, "not enough memory");
  while (events < most && told < TOLD && !is_late(until)) {
    const uint64_t rest = most - events;
    const size_t n = live(p, seed, steps, rest < LIFE_STEPS ? (size_t)rest : LIFE_STEPS, until);
    events += n;
    sum->lives++;
    if (p->difference[0]) {
      sum->differences++;
      told++;
      tell(o, p, steps, n, seed);
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

/* Of one release. */
static uint64_t count_lives(const options *o, size_t release) {
  uint64_t lives = 0;
  size_t i;

  for (i = 0; i < life_profile_count; i++)
    lives += is_listed(o->life, life_profiles[i].name) &&
             number_of(releases[release]) >= life_profiles[i].first;
  return lives ? lives : 1;
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
    die("nothing to do", "no such life on such a release");
  for (i = 0; i < life_profile_count; i++) {
    for (j = 0; j < RELEASES; j++) {
      if (!is_wanted(o, i, j, &position))
        continue;
      p.profile = &life_profiles[i];
      p.torch = releases[j];
      done++;
      run_pair(o, &p, (o->events + count_lives(o, j) - 1) / count_lives(o, j),
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
      die(argv[i], "expected a known option with a value");
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
      die(argv[i], "unknown option, or no such part");
    i++;
  }
  return run(&o);
}
