/* SPDX-License-Identifier: MIT */
#include "allocator/profile.h"

#include <ctype.h>

#include "base/error.h"

static const ul_profile profiles[] = {
#define UL_PROFILE(release, name, tie, expandable, private_expandable, odd, whole, rounds, \
                   evidence)                                                               \
  {release, name, UL_TIE_##tie, expandable, private_expandable, odd, whole, rounds, evidence},
#include "allocator/tables/profiles.def"
#undef UL_PROFILE
};

enum { PROFILE_COUNT = sizeof(profiles) / sizeof(profiles[0]) };

const ul_profile *ul_profiles(size_t *count) {
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
