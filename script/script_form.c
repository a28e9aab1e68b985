/* SPDX-License-Identifier: MIT */
#include "script/form.h"

static const uint16_t first_releases[UL_SCRIPT_FORM_COUNT] = {
#define UL_SCRIPT_FORM(id, first) [UL_SCRIPT_FORM_##id] = (first),
#include "script/tables/forms.def"
#undef UL_SCRIPT_FORM
};

int ul_script_has(uint16_t release, ul_script_form form) {
  return release >= first_releases[form];
}
