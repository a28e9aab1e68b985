/* SPDX-License-Identifier: MIT */
#include "allocator/refusals.h"

#include <string.h>

static const struct refusal {
  const char *reason;
  uint16_t first, last; /* releases */
  const char *text;
} refusals[] = {
#define UL_REFUSAL(reason, first, last, text) {reason, first, last, text},
#include "allocator/tables/refusals.def"
};

const char *ul_refusal_text(const ul_profile *profile, const char *reason) {
  size_t i;

  for (i = 0; reason && i < sizeof(refusals) / sizeof(refusals[0]); i++) {
    if (profile->release >= refusals[i].first && profile->release <= refusals[i].last &&
        strcmp(refusals[i].reason, reason) == 0)
      return refusals[i].text;
  }
  return "";
}
