/* SPDX-License-Identifier: MIT */
/* What PyTorch's own libraries raise for some 900 settings strings, when a process starts with them
 * and at run time, recorded by scripts/record_settings. Where a library crashes nothing is
 * recorded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "allocator/settings.h"
#include "base/vec.h"
#include "parsers/bytes_in.h"
#include "ullage/models.h"

enum { COLUMNS = 5, LEAST_LINES = 4000 };

typedef UL_VEC(char) record_text;

static record_text read_record(void) {
  record_text record = {NULL, 0, 0};
  ul_error err;
  ul_bytes *in;

  cr_assert_eq(ul_bytes_open_file(&in, UL_TEST_DATA "/settings/raised.tsv.zst", &err), UL_OK, "%s",
               err.message);
  do {
    const size_t have = (size_t)(in->end - in->at);
    cr_assert(UL_VEC_RESERVE(&record, have + 1));
    memcpy(record.items + record.count, in->at, have);
    record.count += have;
    in->at = in->end;
    cr_assert_eq(ul_bytes_need(in, 1, &err), UL_OK, "%s", err.message);
  } while (in->at < in->end);
  ul_bytes_close(in);
  record.items[record.count] = '\0';
  return record;
}

/* \xHH, in place. */
static void unescape(char *at) {
  char *to = at;

  while (*at) {
    if (at[0] == '\\' && at[1] == 'x') {
      const char hex[] = {at[2], at[3], '\0'};
      *to++ = (char)strtoul(hex, NULL, 16);
      at += 4;
    } else {
      *to++ = *at++;
    }
  }
  *to = '\0';
}

/* What a string raises: "" for nothing, NULL where ullage quotes nothing. */
static const char *raised(char *out, size_t size, const char *when, const char *string,
                          const ul_profile *profile) {
  const ul_settings_given given = {string, UL_SETTINGS_CUDA, NULL};
  ul_settings settings;
  ul_error err = {0};
  const char *quote;
  ul_status status;
  int async = 0;

  ul_settings_init(&settings);
  if (strcmp(when, "run") == 0)
    status = ul_settings_apply(&settings, string, profile, &err);
  else if ((status = ul_settings_ask_for_async(&async, &given, profile, &err)) == UL_OK && !async)
    status = ul_settings_start(&settings, &given, profile, &err);
  if (status == UL_OK)
    return "";
  quote = strstr(err.message, " raises \"");
  if (!quote)
    return NULL;
  snprintf(out, size, "%s", quote + strlen(" raises \""));
  out[strlen(out) - 1] = '\0';
  return out;
}

static size_t compare(char *column[COLUMNS], const ul_profile *profile) {
  char found[UL_ERROR_MESSAGE_BYTES];
  const char *text = raised(found, sizeof(found), column[0], column[3], profile);

  cr_expect(text && strcmp(text, column[4]) == 0,
            "%s %s: '%s'\n  raises        '%s'\n  should raise  '%s'", column[0], profile->name,
            column[3], text ? text : "(nothing quoted)", column[4]);
  return 1;
}

static size_t compare_releases(char *column[COLUMNS]) {
  const ul_profile *first, *last;
  const ul_release *release;
  ul_error err;
  size_t i, compared = 0;

  cr_assert_eq(ul_profile_find(&first, column[1], NULL, &err), UL_OK, "%s", err.message);
  cr_assert_eq(ul_profile_find(&last, column[2], NULL, &err), UL_OK, "%s", err.message);
  for (i = 0; (release = ul_release_at(i)) != NULL; i++) {
    const ul_profile *profile;
    if (release->number < first->release || release->number > last->release)
      continue;
    cr_assert_eq(ul_profile_find(&profile, release->name, NULL, &err), UL_OK, "%s", err.message);
    compared += compare(column, profile);
  }
  return compared;
}

Test(settings_raised, is_what_the_libraries_raise) {
  record_text record = read_record();
  char *line = record.items, *end;
  size_t lines = 0, compared = 0;

  for (; *line; line = end + 1, lines++) {
    char *column[COLUMNS], *at = line;
    size_t i;
    end = strchr(line, '\n');
    cr_assert(end);
    *end = '\0';
    for (i = 0; i < COLUMNS; i++) {
      char *tab = i + 1 < COLUMNS ? strchr(at, '\t') : end;
      cr_assert(tab, "line %zu", lines + 1);
      column[i] = at;
      at = tab + 1;
      *tab = '\0';
    }
    unescape(column[3]);
    unescape(column[4]);
    compared += compare_releases(column);
  }
  cr_expect_gt(lines, LEAST_LINES);
  cr_expect_gt(compared, lines);
  UL_VEC_RELEASE(&record);
}
