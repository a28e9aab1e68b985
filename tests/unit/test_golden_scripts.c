/* SPDX-License-Identifier: MIT */
/* The model against PyTorch's own allocator: tests/data/scripts holds event scripts and what the
 * compiled library of each release answered (tests/data/scripts/README.md). Every placement, every
 * driver call and every statistic must be the same, and every invariant must hold after each step.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <zlib.h>

#include "base/vec.h"
#include "ullage/model.h"

#define FOLDER UL_TEST_DATA "/scripts/"

enum { LINE = 512, HANDLES = 1 << 14, CHECK_EVERY = 7 };

struct lines {
  UL_VEC(char *) text;
};

static struct lines read_lines(const char *path) {
  struct lines lines = {{NULL, 0, 0}};
  gzFile file = gzopen(path, "rb");
  char line[LINE];

  cr_assert(file, "cannot open %s", path);
  while (gzgets(file, line, sizeof(line))) {
    line[strcspn(line, "\n")] = '\0';
    cr_assert(UL_VEC_PUSH(&lines.text, strdup(line)));
  }
  gzclose(file);
  return lines;
}

static void release_lines(struct lines *lines) {
  for (size_t i = 0; i < lines->text.count; i++)
    free(lines->text.items[i]);
  UL_VEC_RELEASE(&lines->text);
}

static void push(struct lines *lines, const char *line) {
  cr_assert(UL_VEC_PUSH(&lines->text, strdup(line)));
}

/* Refused calls, reserved ranges and messages are the concern of other tests. */
static int is_compared(const char *line) {
  static const char kinds[] = "MFPU";
  char kind;

  if (line[0] == 'A' || line[0] == 'O' || line[0] == 'S')
    return 1;
  if (line[0] == 'C')
    return strstr(line, "num_") != NULL;
  return line[0] == 'D' && sscanf(line, "D %*u %c", &kind) == 1 && strchr(kinds, kind);
}

static struct lines expected_lines(const char *name, const char *section, const char *release) {
  struct lines all, kept = {{NULL, 0, 0}};
  char path[LINE];

  snprintf(path, sizeof(path), FOLDER "%s.%s.%s.gz", name, section, release);
  all = read_lines(path);
  for (size_t i = 0; i < all.text.count; i++) {
    if (is_compared(all.text.items[i]))
      push(&kept, all.text.items[i]);
  }
  release_lines(&all);
  return kept;
}

struct runner {
  ul_model *model;
  struct lines place, stats;
  struct pending {
    uint64_t handle;
    int complete;
  } pending[HANDLES];
  size_t pending_count;
  unsigned char used[HANDLES]; /* by another stream */
  int events_now;
  unsigned line;
};

static const char call_letters[] = {[UL_DRIVER_SEGMENT_ALLOC] = 'M',
                                    [UL_DRIVER_SEGMENT_FREE] = 'F',
                                    [UL_DRIVER_SEGMENT_MAP] = 'P',
                                    [UL_DRIVER_SEGMENT_UNMAP] = 'U'};

static ul_outcome apply(struct runner *r, const ul_event *event) {
  char line[LINE];
  ul_outcome outcome;
  ul_error err = {0};

  cr_assert_eq(ul_model_apply(r->model, event, NULL, &outcome, &err), UL_OK, "%s", err.message);
  for (uint32_t i = 0; i < outcome.call_count; i++) {
    const ul_driver_call *c = &outcome.calls[i];
    snprintf(line, sizeof(line), "D %u %c %" PRIx64 " %" PRIu64, r->line, call_letters[c->kind],
             c->address, c->bytes);
    push(&r->place, line);
  }
  if (r->line % CHECK_EVERY == 0)
    cr_assert_eq(ul_model_check(r->model, &err), UL_OK, "line %u: %s", r->line, err.message);
  return outcome;
}

/* Blocks whose events are over are freed at the start of the next malloc. */
static void complete_pending(struct runner *r) {
  size_t kept = 0;

  for (size_t i = 0; i < r->pending_count; i++) {
    if (r->events_now || r->pending[i].complete) {
      ul_event event = {.kind = UL_EVENT_COMPLETE, .handle = r->pending[i].handle};
      apply(r, &event);
    } else {
      r->pending[kept++] = r->pending[i];
    }
  }
  r->pending_count = kept;
}

static void run_alloc(struct runner *r, const char *text) {
  ul_event event = {.kind = UL_EVENT_ALLOC};
  unsigned stream = 0;
  char line[LINE];
  ul_outcome o;

  cr_assert_geq(sscanf(text, "a %" SCNu64 " %" SCNu64 " %u", &event.handle, &event.bytes, &stream),
                2);
  event.stream = stream;
  complete_pending(r);
  o = apply(r, &event);
  if (o.result == UL_OUTCOME_OOM)
    snprintf(line, sizeof(line), "O %u %" PRIu64, r->line, event.handle);
  else
    snprintf(line, sizeof(line), "A %u %" PRIu64 " %" PRIx64 " %" PRIu64, r->line, event.handle,
             o.address, o.block_bytes);
  push(&r->place, line);
}

static void run_free(struct runner *r, const char *text) {
  ul_event event = {.kind = UL_EVENT_FREE};
  ul_outcome o;

  cr_assert_eq(sscanf(text, "f %" SCNu64, &event.handle), 1);
  o = apply(r, &event);
  if (o.result != UL_OUTCOME_REJECTED && r->used[event.handle]) {
    r->pending[r->pending_count].handle = event.handle;
    r->pending[r->pending_count++].complete = 0;
  }
}

static void run_use(struct runner *r, const char *text) {
  ul_event event = {.kind = UL_EVENT_STREAM_USE};
  ul_outcome o;

  cr_assert_eq(sscanf(text, "r %" SCNu64 " %" SCNu32, &event.handle, &event.stream), 2);
  o = apply(r, &event);
  if (o.result == UL_OUTCOME_DONE)
    r->used[event.handle] = 1;
}

static void run_number(struct runner *r, ul_event_kind kind, uint64_t bytes) {
  ul_event event = {.kind = (uint8_t)kind, .bytes = bytes};

  apply(r, &event);
  if (kind == UL_EVENT_EMPTY_CACHE)
    r->pending_count = 0;
}

/* The library prints 12 numbers a line for array statistics, 4 for single ones. */
static void print_stats(struct runner *r, const char *like) {
  ul_stat stats[256];
  size_t count = ul_model_stats(r->model, stats, 256), i, prefix;
  char name[64], line[LINE];
  unsigned number;

  cr_assert_leq(count, 256u);
  cr_assert_eq(sscanf(like, "S %u %63s", &number, name), 2);
  snprintf(line, sizeof(line), "S %u %s", r->line, name);
  prefix = strlen(name);
  for (i = 0; i < count; i++) {
    if (strncmp(stats[i].name, name, prefix) == 0 && stats[i].name[prefix] == '.')
      snprintf(line + strlen(line), sizeof(line) - strlen(line), " %" PRIu64, stats[i].value);
  }
  push(&r->stats, line);
}

static uint64_t counter(const struct runner *r, const char *name) {
  ul_stat stats[256];
  size_t count = ul_model_stats(r->model, stats, 256);

  for (size_t i = 0; i < count; i++) {
    if (strcmp(stats[i].name, name) == 0)
      return stats[i].value;
  }
  cr_assert_fail("no statistic %s", name);
  return 0;
}

/* "C n NAME VALUE ...": each counter the line names; max_split_size is a setting, not counted. */
static void compare_counters(const struct runner *r, const char *script, const char *line) {
  char copy[LINE], *save, *name, *value;

  snprintf(copy, sizeof(copy), "%s", line);
  strtok_r(copy, " ", &save);
  strtok_r(NULL, " ", &save);
  while ((name = strtok_r(NULL, " ", &save)) && (value = strtok_r(NULL, " ", &save))) {
    if (strcmp(name, "max_split_size") != 0)
      cr_expect_eq(counter(r, name), strtoull(value, NULL, 10),
                   "%s line %u: %s: %" PRIu64 ", real %s", script, r->line, name, counter(r, name),
                   value);
  }
}

static void compare_stats(struct runner *r, const char *script, const struct lines *expected,
                          size_t *at) {
  unsigned number;

  for (; *at < expected->text.count; ++*at) {
    const char *want = expected->text.items[*at];
    cr_assert_eq(sscanf(want, "%*c %u", &number), 1);
    if (number != r->line)
      return;
    if (want[0] == 'C') {
      compare_counters(r, script, want);
      continue;
    }
    print_stats(r, want);
    cr_assert_str_eq(r->stats.text.items[r->stats.text.count - 1], want, "%s", script);
  }
}

static void run_script(const char *name, const char *release, const char *place_release,
                       const char *stats_release) {
  struct runner *r = calloc(1, sizeof(*r));
  struct lines place = expected_lines(name, "place", place_release);
  struct lines stats = expected_lines(name, "stats", stats_release), script;
  ul_model_options options = {
      .size = sizeof(options), .torch = release, .address_policy = UL_ADDRESS_FIRST_FIT};
  char path[LINE], settings[LINE] = "", title[LINE];
  size_t i, stats_at = 0;
  ul_error err = {0};

  cr_assert(r);
  snprintf(title, sizeof(title), "%s on %s", name, release);
  snprintf(path, sizeof(path), FOLDER "%s.script.gz", name);
  script = read_lines(path);
  for (i = 0; i < script.text.count; i++) {
    const char *line = script.text.items[i];
    if (strncmp(line, "# env FAKE_EVENTS=now", 21) == 0)
      r->events_now = 1;
    sscanf(line, "# env FAKE_TOTAL=%" SCNu64, &options.device_bytes);
    sscanf(line, "# env PYTORCH_CUDA_ALLOC_CONF=%511s", settings);
  }
  options.settings = settings;
  cr_assert_eq(ul_model_create(&r->model, &options, &err), UL_OK, "%s: %s", title, err.message);
  for (i = 0; i < script.text.count; i++) {
    const char *line = script.text.items[i];
    uint64_t bytes = 0;
    double fraction;
    if (!*line || *line == '#')
      continue;
    r->line++;
    if (strcmp(line, "reset_peak") == 0) {
      ul_model_reset_peak(r->model);
    } else if (strcmp(line, "stats") == 0) {
      compare_stats(r, title, &stats, &stats_at);
    } else if (strcmp(line, "s") == 0) {
      for (size_t p = 0; p < r->pending_count; p++)
        r->pending[p].complete = 1;
    } else if (strcmp(line, "e") == 0) {
      run_number(r, UL_EVENT_EMPTY_CACHE, 0);
    } else if (sscanf(line, "frac %lf", &fraction) == 1) {
      run_number(r, UL_EVENT_SET_FRACTION, ul_model_fraction_limit(r->model, fraction));
    } else if (sscanf(line, "ext %" SCNu64, &bytes) == 1) {
      run_number(r, UL_EVENT_EXTERNAL_BYTES, bytes);
    } else if (line[0] == 'a') {
      run_alloc(r, line);
    } else if (line[0] == 'f') {
      run_free(r, line);
    } else if (line[0] == 'r') {
      run_use(r, line);
    }
  }
  for (i = 0; i < place.text.count || i < r->place.text.count; i++)
    cr_assert_str_eq(i < r->place.text.count ? r->place.text.items[i] : "(end)",
                     i < place.text.count ? place.text.items[i] : "(end)", "%s: answer %zu", title,
                     i);
  cr_assert_eq(stats_at, stats.text.count, "%s: statistics left over", title);
  ul_model_destroy(r->model);
  release_lines(&r->place);
  release_lines(&r->stats);
  release_lines(&place);
  release_lines(&stats);
  release_lines(&script);
  free(r);
}

Test(golden_scripts, every_answer_is_the_librarys, .timeout = 240) {
  FILE *index = fopen(FOLDER "INDEX", "r");
  char line[LINE], name[64], release[16], place[16], stats[16];
  size_t count = 0;

  cr_assert(index);
  while (fgets(line, sizeof(line), index)) {
    if (sscanf(line, "%63s %15s %15s %15s", name, release, place, stats) != 4 || name[0] == '#')
      continue;
    run_script(name, release, place, stats);
    count++;
  }
  fclose(index);
  cr_assert_geq(count, 250u, "only %zu answers compared", count);
}
