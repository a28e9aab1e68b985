/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "script/form.h"

static const uint16_t first_releases[UL_SCRIPT_FORM_COUNT] = {
#define UL_SCRIPT_FORM(id, first) [UL_SCRIPT_FORM_##id] = (first),
#include "script/tables/forms.def"
#undef UL_SCRIPT_FORM
};

uint16_t ul_script_release(const char *torch) {
  unsigned long major, minor;
  char *end;

  if (!torch || torch[0] < '0' || torch[0] > '9')
    return UINT16_MAX;
  major = strtoul(torch, &end, 10);
  if (*end != '.' || end[1] < '0' || end[1] > '9')
    return UINT16_MAX;
  minor = strtoul(end + 1, NULL, 10);
  return major > 99 || minor > 99 ? UINT16_MAX : (uint16_t)(major * 100 + minor);
}

int ul_script_has(uint16_t release, ul_script_form form) {
  return release >= first_releases[form];
}
