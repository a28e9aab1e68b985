/* SPDX-License-Identifier: MIT */
/* What the answers of a release look like and which calls it has (tables/forms.def). */
#ifndef UL_SCRIPT_FORM_H
#define UL_SCRIPT_FORM_H

#include <stdint.h>

typedef enum ul_script_form {
#define UL_SCRIPT_FORM(id, first) UL_SCRIPT_FORM_##id,
#include "script/tables/forms.def"
#undef UL_SCRIPT_FORM
  UL_SCRIPT_FORM_COUNT
} ul_script_form;

/* Whether the release has it. */
int ul_script_has(uint16_t release, ul_script_form form);

#endif
