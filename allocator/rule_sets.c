/* SPDX-License-Identifier: MIT */
/* Which releases behave alike for one recording. */
#include "allocator/model.h"
#include "allocator/profile.h"

static int alike(const ul_profile *a, const ul_profile *b, const ul_rule_relevance *relevance) {
  if (a->tie != b->tie)
    return 0;
  if (relevance->divisions && a->odd_single_division != b->odd_single_division)
    return 0;
  if (relevance->expandable && a->expandable != b->expandable)
    return 0;
  return !relevance->expandable || !relevance->private_pools ||
         a->private_expandable == b->private_expandable;
}

size_t ul_rule_sets(uint16_t oldest, uint16_t newest, const ul_rule_relevance *relevance,
                    ul_rule_set *out, size_t capacity) {
  const ul_profile *representative[UL_RULE_SET_RELEASES];
  size_t profile_count, count = 0, i, set;
  const ul_profile *profiles = ul_profiles(&profile_count);

  for (i = 0; i < profile_count; i++) {
    if (profiles[i].release < oldest || (newest && profiles[i].release > newest))
      continue;
    for (set = 0; set < count && !alike(representative[set], &profiles[i], relevance); set++)
      ;
    if (set == count) {
      if (count == capacity || count == UL_RULE_SET_RELEASES)
        break;
      representative[count] = &profiles[i];
      out[count++].count = 0;
    }
    out[set].releases[out[set].count++] = profiles[i].name;
  }
  return count;
}

ul_status ul_release_name(const char **out, const char *torch, int *nearest, ul_error *err) {
  const ul_profile *profile;
  ul_status status = ul_profile_find(&profile, torch, nearest, err);

  if (status == UL_OK)
    *out = profile->name;
  return status;
}
