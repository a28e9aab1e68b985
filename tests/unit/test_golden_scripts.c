/* SPDX-License-Identifier: MIT */
/* The models against PyTorch's own allocator: tests/data/scripts holds event scripts and what the
 * compiled library of each release answered (README.md there). Run through the public interface,
 * every line must be the same: placements, driver calls, statistics, snapshots, history, texts of
 * exceptions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/vec.h"
#include "parsers/bytes_in.h"
#include "ullage/script.h"

#define FOLDER UL_TEST_DATA "/scripts/"

/* Sections as they are recorded: a section of the interface, and letters of its lines. */
static const struct section {
  const char *name, *letters;
  unsigned bit;
} sections[] = {
    {"place", "AOXDU", UL_SCRIPT_PLACE}, {"stats", "SC", UL_SCRIPT_STATS},
    {"snap", "GB", UL_SCRIPT_SNAP},      {"registration", "Y", UL_SCRIPT_SNAP},
    {"trace", "TQ", UL_SCRIPT_TRACE},    {"newstats", "N", UL_SCRIPT_NEWSTATS},
    {"message", "M", UL_SCRIPT_MESSAGE},
};

enum { SECTIONS = sizeof(sections) / sizeof(sections[0]), PROFILES = 64, NAME = 64, TEXT = 400 };

/* What a backend does not do yet, by the script's profile (its name without the number). A row that
 * holds nevertheless fails the test: it has to go. */
struct not_yet {
  const char *profile, *sections;
};

static const struct not_yet native_not_yet[] = {
#include "tests/data/scripts/native_not_yet.def"
    {NULL, NULL},
};

static const struct not_yet naive_not_yet[] = {
#include "tests/data/scripts/naive_not_yet.def"
    {NULL, NULL},
};

/* ---- archives ---- */

/* The files of one kind, each under a line "== TITLE". */
struct archive {
  UL_VEC(char) text;
};

static struct archive read_archive(const char *name) {
  struct archive archive = {{NULL, 0, 0}};
  char path[TEXT];
  ul_error err;
  ul_bytes *in;

  snprintf(path, sizeof(path), FOLDER "%s.zst", name);
  cr_assert_eq(ul_bytes_open_file(&in, path, &err), UL_OK, "%s: %s", path, err.message);
  do {
    size_t have = (size_t)(in->end - in->at);
    cr_assert(UL_VEC_RESERVE(&archive.text, have + 1));
    memcpy(archive.text.items + archive.text.count, in->at, have);
    archive.text.count += have;
    in->at = in->end;
    cr_assert_eq(ul_bytes_need(in, 1, &err), UL_OK, "%s: %s", path, err.message);
  } while (in->at < in->end);
  ul_bytes_close(in);
  archive.text.items[archive.text.count] = '\0';
  return archive;
}

/* The next title from at on, or the end. No strstr: under AddressSanitizer each call measures all
 * of the text that is left. */
static const char *next_title(const struct archive *archive, const char *at) {
  const char *const end = archive->text.items + archive->text.count;

  for (at = memchr(at, '=', (size_t)(end - at)); at; at = memchr(at, '=', (size_t)(end - at))) {
    if (strncmp(at, "== ", 3) == 0)
      return at;
    at++;
  }
  return end;
}

/* The lines under the title; *size of them. */
static const char *find_file(const struct archive *archive, const char *title, size_t *size) {
  const char *const end = archive->text.items + archive->text.count;
  const size_t length = strlen(title);
  const char *at;

  for (at = next_title(archive, archive->text.items); at < end; at = next_title(archive, at)) {
    at += 3;
    if (strncmp(at, title, length) == 0 && at[length] == '\n') {
      at += length + 1;
      *size = (size_t)(next_title(archive, at) - at);
      return at;
    }
  }
  cr_assert_fail("no file '%s'", title);
  return NULL;
}

/* ---- runs ---- */

struct answer {
  UL_VEC(char) text;
};

static int take(const void *bytes, size_t size, void *arg) {
  struct answer *answer = arg;

  if (!UL_VEC_RESERVE(&answer->text, size + 1))
    return 1;
  memcpy(answer->text.items + answer->text.count, bytes, size);
  answer->text.count += size;
  answer->text.items[answer->text.count] = '\0';
  return 0;
}

static ul_status run(struct answer *out, const char *backend, const char *release,
                     unsigned section_bits, const char *script, size_t size, ul_error *err) {
  ul_script_options options = {.size = sizeof(options), .torch = release, .backend = backend};

  options.sections = section_bits;
  options.write = take;
  options.write_arg = out;
  out->text.count = 0;
  return ul_script_run(script, size, &options, NULL, err);
}

static const char *next_line(const char *at) {
  const char *end = strchr(at, '\n');
  return end ? end + 1 : at + strlen(at);
}

/* The next line of the section from at on, or the end. Only texts of exceptions that follow an O
 * are recorded; others name PyTorch's source lines. */
static const char *next_of_section(const char *at, const struct section *section, char *before) {
  for (; *at; *before = *at, at = next_line(at)) {
    if (strchr(section->letters, *at) && (*at != 'M' || *before != 'X'))
      return at;
  }
  return at;
}

/* Where the two differ, in words; "" if they do not. */
static void compare(char difference[TEXT], const char *answer, const char *want, size_t want_size,
                    const struct section *section) {
  const char *end = want + want_size;
  char before = 0;
  size_t count = 0;

  difference[0] = '\0';
  for (;; count++) {
    const char *line = next_of_section(answer, section, &before);
    const size_t size = (size_t)(next_line(line) - line);
    const size_t wanted = want < end ? (size_t)(next_line(want) - want) : 0;
    if (size == wanted && memcmp(line, want, size) == 0) {
      if (!size)
        return;
      before = *line;
      answer = line + size;
      want += wanted;
      continue;
    }
    snprintf(difference, TEXT, "line %zu: model '%.*s', real '%.*s'", count + 1,
             size ? (int)size - 1 : 0, line, wanted ? (int)wanted - 1 : 0, want);
    return;
  }
}

/* ---- the table of what holds ---- */

struct profile {
  char name[NAME];
  unsigned compared[SECTIONS], differing[SECTIONS];
  char first[SECTIONS][TEXT]; /* difference */
};

struct test {
  const char *backend;
  struct archive scripts, answers[SECTIONS];
  struct profile profiles[PROFILES];
  size_t profile_count, rows;
};

static struct profile *profile_of(struct test *t, const char *script) {
  const size_t size = (size_t)(strrchr(script, '-') - script);
  size_t i;

  for (i = 0; i < t->profile_count; i++) {
    if (strlen(t->profiles[i].name) == size && strncmp(t->profiles[i].name, script, size) == 0)
      return &t->profiles[i];
  }
  cr_assert_lt(t->profile_count, (size_t)PROFILES);
  memcpy(t->profiles[t->profile_count].name, script, size);
  return &t->profiles[t->profile_count++];
}

static void compare_section(struct test *t, size_t s, const char *script, const char *release,
                            const char *recorded, const struct answer *answer,
                            const ul_error *failed) {
  struct profile *profile = profile_of(t, script);
  char title[2 * NAME], difference[TEXT] = "";
  const char *want = "";
  size_t size = 0;

  if (strcmp(recorded, "-") != 0) {
    snprintf(title, sizeof(title), "%s %s", script, recorded);
    want = find_file(&t->answers[s], title, &size);
  }
  if (failed)
    snprintf(difference, sizeof(difference), "%.300s", failed->message);
  else
    compare(difference, answer->text.count ? answer->text.items : "", want, size, &sections[s]);
  profile->compared[s]++;
  if (difference[0] && !profile->differing[s]++)
    snprintf(profile->first[s], TEXT, "%.64s on %.16s: %.300s", script, release, difference);
}

/* "NAME RELEASE place=R ...": one run, and where that fails one for each section. */
static void run_row(struct test *t, char *row) {
  char *save, *script = strtok_r(row, " \n", &save), *release = strtok_r(NULL, " \n", &save);
  struct answer answer = {{NULL, 0, 0}};
  ul_status all;
  size_t size, s;
  const char *text;
  ul_error err;

  text = find_file(&t->scripts, script, &size);
  all = run(&answer, t->backend, release, 0, text, size, &err);
  for (s = 0; s < SECTIONS; s++) {
    const char *recorded = strtok_r(NULL, " \n", &save);
    ul_status status = all;
    cr_assert(recorded && (recorded = strchr(recorded, '=')));
    if (all != UL_OK)
      status = run(&answer, t->backend, release, sections[s].bit, text, size, &err);
    compare_section(t, s, script, release, recorded + 1, &answer, status == UL_OK ? NULL : &err);
  }
  UL_VEC_RELEASE(&answer.text);
  t->rows++;
}

static int is_listed(const struct not_yet *list, const char *profile, const char *section) {
  for (; list->profile; list++) {
    const char *at = strstr(list->sections, section);
    if (strcmp(list->profile, profile) == 0 && at)
      return 1;
  }
  return 0;
}

static void judge(const struct test *t, const struct not_yet *list) {
  size_t i, s;

  for (i = 0; i < t->profile_count; i++) {
    const struct profile *p = &t->profiles[i];
    for (s = 0; s < SECTIONS; s++) {
      const int listed = is_listed(list, p->name, sections[s].name);
      cr_expect(listed || !p->differing[s], "%s: %s: %u of %u answers differ, the first: %s",
                t->backend, sections[s].name, p->differing[s], p->compared[s], p->first[s]);
      cr_expect(!listed || p->differing[s], "%s: %s of %s holds now: take it from the list",
                t->backend, sections[s].name, p->name);
    }
  }
}

static void run_all(const char *backend, const struct not_yet *list) {
  struct test *t = calloc(1, sizeof(*t));
  FILE *index = fopen(FOLDER "INDEX", "r");
  char row[TEXT];
  size_t s;

  cr_assert(t && index);
  t->backend = backend;
  t->scripts = read_archive("script");
  for (s = 0; s < SECTIONS; s++)
    t->answers[s] = read_archive(sections[s].name);
  while (fgets(row, sizeof(row), index)) {
    if (row[0] != '#')
      run_row(t, row);
  }
  fclose(index);
  judge(t, list);
  cr_assert_geq(t->rows, 396u, "only %zu scripts run", t->rows);
  UL_VEC_RELEASE(&t->scripts.text);
  for (s = 0; s < SECTIONS; s++)
    UL_VEC_RELEASE(&t->answers[s].text);
  free(t);
}

Test(golden_scripts, native_answers_as_the_library, .timeout = 240) {
  run_all("native", native_not_yet);
}

Test(golden_scripts, naive_answers_as_the_library, .timeout = 240) {
  run_all("naive", naive_not_yet);
}
