/* SPDX-License-Identifier: MIT */
/* Which releases behave alike for one recording. */
#include "allocator/model.h"
#include "allocator/profile.h"
#include "ullage/settings.h"

enum {
  EXPANDABLE = 1u << 0,
  PRIVATE_POOLS = 1u << 1,
  DIVISIONS = 1u << 2,
  MAX_SPLIT = 1u << 3,
  COLLECTION = 1u << 4,
};

/* The rules that a recording can show, and what it must hold for that. What only scripts can say,
 * as captures or pools that help on OOM, is in no recording. */
static const struct shown {
  size_t rule; /* its place in ul_profile */
  unsigned needs;
} shown[] = {
    {offsetof(ul_profile, tie), 0},
    {offsetof(ul_profile, odd_single_division), DIVISIONS},
    {offsetof(ul_profile, expandable), EXPANDABLE},
    {offsetof(ul_profile, private_expandable), EXPANDABLE | PRIVATE_POOLS},
    {offsetof(ul_profile, oversize_skips_expandable), EXPANDABLE | MAX_SPLIT},
    {offsetof(ul_profile, ages_by_count), COLLECTION},
};

static unsigned has(const ul_rule_relevance *r) {
  return (r->expandable ? EXPANDABLE : 0u) | (r->private_pools ? PRIVATE_POOLS : 0u) |
         (r->divisions ? DIVISIONS : 0u) | (r->max_split ? MAX_SPLIT : 0u) |
         (r->collection ? COLLECTION : 0u);
}

static int alike(const ul_profile *a, const ul_profile *b, const ul_rule_relevance *relevance) {
  const unsigned there = has(relevance);
  size_t i;

  for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
    if ((shown[i].needs & ~there) == 0 &&
        ((const uint8_t *)a)[shown[i].rule] != ((const uint8_t *)b)[shown[i].rule])
      return 0;
  }
  return 1;
}

static int takes(const ul_profile *profile, const char *settings) {
  ul_error ignored;

  return ul_settings_check(settings, UL_SETTINGS_CUDA, profile->name, NULL, 0, &ignored) == UL_OK;
}

size_t ul_rule_sets(uint16_t oldest, uint16_t newest, const char *settings,
                    const ul_rule_relevance *relevance, ul_rule_set *out, size_t capacity) {
  const ul_profile *representative[UL_RULE_SET_RELEASES];
  size_t profile_count, count = 0, i, set;
  const ul_profile *profiles = ul_profiles(&profile_count);

  for (i = 0; i < profile_count; i++) {
    if (profiles[i].release < oldest || (newest && profiles[i].release > newest) ||
        !takes(&profiles[i], settings))
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
