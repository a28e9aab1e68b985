/* SPDX-License-Identifier: MIT */
/* The settings of PyTorch's CUDA allocator: which keys each release knows, which environment
 * variable it obeys, and whether it takes a string. The strings are those that
 * PYTORCH_CUDA_ALLOC_CONF takes; docs/settings.md has the rules and their evidence. */
#ifndef ULLAGE_SETTINGS_H
#define ULLAGE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/api.h"
#include "ullage/error.h"
#include "ullage/model.h"

/* One key. Texts are static storage. */
typedef struct ul_setting {
  const char *name;
  uint16_t since, until; /* first and last release that takes it, major * 100 + minor; until 0: the
                            newest still does */
  const char *value;     /* what is written after the colon */
  const char *unset;     /* what holds where the key does not stand */
  const char *effect;    /* one phrase */
  int device_only;       /* not read from PYTORCH_HIP_ALLOC_CONF */
} ul_setting;

#define UL_WARNING_BYTES 512

/* What a release makes of the environment variables. */
typedef struct ul_settings_choice {
  const char *text;               /* the one that is obeyed, as given; NULL: none */
  ul_settings_variable variable;  /* that text was given in */
  char warning[UL_WARNING_BYTES]; /* what a user would not expect, as a sentence; "": nothing */
  const char *cuda_text; /* CUDA's own keys are read from here instead; NULL: they are not */
} ul_settings_choice;

#ifdef __cplusplus
extern "C" {
#endif

/* Row n of the keys, by first release; NULL past the last. */
UL_API const ul_setting *ul_setting_at(size_t index);

/* "PYTORCH_CUDA_ALLOC_CONF". */
UL_API const char *ul_settings_variable_name(ul_settings_variable variable);

/* Which of the variables the release torch (NULL: the newest) obeys, on a CUDA build of PyTorch.
 * NULL stands for a variable that is not set; one that is set to "" counts. */
UL_API ul_status ul_settings_choose(ul_settings_choice *out, const char *torch, const char *cuda,
                                    const char *hip, const char *any, ul_error *err) UL_MUST_USE;

/* Whether the release takes text from that variable at the start of a process: UL_OK, or
 * UL_E_SETTING with the reason. Fills at most capacity bytes of warning, zero included, with what
 * it takes but does not do as it looks ("": nothing); warning may be NULL. */
UL_API ul_status ul_settings_check(const char *text, ul_settings_variable variable,
                                   const char *torch, char *warning, size_t capacity,
                                   ul_error *err) UL_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
