/* SPDX-License-Identifier: MIT */
/* What programs are told about releases and their rules (ullage/models.h). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

#include "allocator/profile.h"
#include "base/error.h"
#include "ullage/models.h"

enum { RELEASES = 64, WORD_BYTES = 16 };

static const ul_rule written[] = {
#define UL_RULE(name, first, since, then, what, evidence) \
  {#name, what, evidence, {since, 0}, {#first, #then, #then}},
#define UL_RULE_TWICE(name, first, since, then, since_again, then_again, what, evidence) \
  {#name, what, evidence, {since, since_again}, {#first, #then, #then_again}},
#include "allocator/tables/rules.def"
};

enum { RULES = sizeof(written) / sizeof(written[0]), VALUES = 3 };

static ul_rule rules[RULES];
static char words[RULES][VALUES][WORD_BYTES];
static ul_release releases[RELEASES];
static char evidence[RELEASES][64];
static once_flag filled = ONCE_FLAG_INIT;

/* "UL_TIE_SEGMENT" is "segment"; 0 and 1 are "no" and "yes". */
static void fill_word(char *out, const char *value) {
  const char *last = strrchr(value, '_');
  size_t i;

  if (value[0] == '0' || value[0] == '1') {
    snprintf(out, WORD_BYTES, "%s", value[0] == '1' ? "yes" : "no");
    return;
  }
  value = last ? last + 1 : value;
  for (i = 0; value[i] && i + 1 < WORD_BYTES; i++)
    out[i] = (char)tolower((unsigned char)value[i]);
  out[i] = '\0';
}

static void fill(void) {
  const ul_profile *profiles;
  size_t count, i, j;

  for (i = 0; i < RULES; i++) {
    rules[i] = written[i];
    for (j = 0; j < VALUES; j++) {
      fill_word(words[i][j], written[i].values[j]);
      rules[i].values[j] = words[i][j];
    }
  }
  profiles = ul_profiles(&count);
  for (i = 0; i < count && i < RELEASES; i++) {
    const ul_profile *p = &profiles[i];
    if (p->run[0])
      snprintf(evidence[i], sizeof(evidence[i]), "run %s", p->run);
    else
      snprintf(evidence[i], sizeof(evidence[i]), "between releases that were run");
    releases[i].number = p->release;
    releases[i].name = p->name;
    releases[i].run = p->run[0] ? p->run : NULL;
    releases[i].evidence = evidence[i];
    releases[i].generic_variables = p->generic_variables;
  }
}

const ul_release *ul_release_at(size_t index) {
  call_once(&filled, fill);
  return index < RELEASES && releases[index].number ? &releases[index] : NULL;
}

const ul_rule *ul_rule_at(size_t index) {
  call_once(&filled, fill);
  return index < RULES ? &rules[index] : NULL;
}

const char *ul_rule_value(const ul_rule *rule, uint16_t release) {
  if (!rule)
    return NULL;
  if (rule->since[1] && release >= rule->since[1])
    return rule->values[2];
  return rule->values[release >= rule->since[0]];
}

/* ---- releases as users write them ---- */

/* Behind "2.9": ".1+cu128" is a patch release, ".0a0+git12" a development version. */
static int is_development(const char *rest) {
  size_t plain = strspn(rest, ".0123456789");

  return rest[plain] && rest[plain] != '+';
}

/* Whether what was typed is that release, or no more than its first two numbers. */
static int is_that(const char *torch, const char *rest, const char *run) {
  const size_t typed = (size_t)(rest - torch) + strspn(rest, ".0123456789");

  return *rest != '.' || (typed == strlen(run) && memcmp(torch, run, typed) == 0);
}

static void write_note(ul_release_choice *out, const char *torch, int nearest) {
  const ul_release *r = out->release;
  const char *rest = torch + strspn(torch, "0123456789");

  rest += *rest == '.';
  rest += strspn(rest, "0123456789");
  out->exact = 0;
  if (nearest)
    snprintf(out->note, sizeof(out->note),
             "PyTorch %.64s is not modelled; it is taken as %s (%s), the nearest release that is",
             torch, r->name, r->evidence);
  else if (is_development(rest))
    snprintf(out->note, sizeof(out->note),
             "PyTorch %.64s is a development version; it is taken as %s (%s)", torch, r->name,
             r->evidence);
  else if (r->run && !is_that(torch, rest, r->run))
    snprintf(out->note, sizeof(out->note), "PyTorch %.64s is taken as %s (%s)", torch, r->name,
             r->evidence);
  else
    out->exact = r->run != NULL;
}

ul_status ul_release_choose(ul_release_choice *out, const char *torch, ul_error *err) {
  const ul_profile *profile;
  int nearest;
  size_t i = 0;

  if (!out)
    return ul_fail(err, UL_E_INVALID, 0, "ul_release_choose: out is NULL");
  UL_TRY(ul_profile_find(&profile, torch, &nearest, err));
  while (ul_release_at(i)->number != profile->release)
    i++;
  memset(out, 0, sizeof(*out));
  out->release = ul_release_at(i);
  if (torch && *torch)
    write_note(out, *torch == 'v' ? torch + 1 : torch, nearest);
  else
    out->exact = out->release->run != NULL;
  return UL_OK;
}
