/* SPDX-License-Identifier: MIT */
#include "allocator/profile.h"

#include <ctype.h>
#include <threads.h>

#include "base/error.h"

static ul_profile profiles[] = {
#define UL_PROFILE(number, text, seen) {.release = number, .name = text, .run = seen},
#include "allocator/tables/profiles.def"
#undef UL_PROFILE
};

enum { PROFILE_COUNT = sizeof(profiles) / sizeof(profiles[0]) };

/* Rules are written one to a row; profiles want one to a release. */
static void fill_profiles(void) {
  size_t i;

  for (i = 0; i < PROFILE_COUNT; i++) {
    ul_profile *p = &profiles[i];
#define UL_RULE(name, first, since, then, what, evidence) \
  p->name = p->release >= (since) ? (then) : (first);
#define UL_RULE_TWICE(name, first, since, then, since_again, then_again, what, evidence) \
  p->name = p->release >= (since_again) ? (then_again) : p->release >= (since) ? (then) : (first);
#include "allocator/tables/rules.def"
  }
}

static once_flag filled = ONCE_FLAG_INIT;

const ul_profile *ul_profiles(size_t *count) {
  call_once(&filled, fill_profiles);
  *count = PROFILE_COUNT;
  return profiles;
}

/* Reads a decimal of at most three digits; -1 if there is none. */
static int read_number(const char **at) {
  int value = 0, digits = 0;

  while (isdigit((unsigned char)**at) && digits++ < 3)
    value = value * 10 + (*(*at)++ - '0');
  return digits && !isdigit((unsigned char)**at) ? value : -1;
}

ul_status ul_profile_find(const ul_profile **out, const char *torch, int *nearest, ul_error *err) {
  const char *at = torch;
  int major, minor, wanted;
  size_t i;

  call_once(&filled, fill_profiles);
  if (nearest)
    *nearest = 0;
  if (!torch || !*torch) {
    *out = &profiles[PROFILE_COUNT - 1];
    return UL_OK;
  }
  if (*at == 'v')
    at++;
  major = read_number(&at);
  minor = major >= 0 && *at == '.' ? (at++, read_number(&at)) : -1;
  if (major < 0 || minor < 0 || minor > 99 ||
      (*at && !ispunct((unsigned char)*at) && !isalpha((unsigned char)*at)))
    return ul_fail(err, UL_E_SETTING, 0, "'%s' is not a PyTorch release: write 2.9 or 2.9.1",
                   torch);
  wanted = major * 100 + minor;
  if (wanted < profiles[0].release)
    return ul_fail(err, UL_E_SETTING, 0, "PyTorch %s is older than the oldest release modelled, %s",
                   torch, profiles[0].name);
  for (i = PROFILE_COUNT - 1; profiles[i].release > wanted; i--)
    ;
  if (nearest)
    *nearest = profiles[i].release != wanted;
  *out = &profiles[i];
  return UL_OK;
}
