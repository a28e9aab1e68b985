/* SPDX-License-Identifier: MIT */
/* What programs are told about settings: the keys, the variables, whether a string is taken. */
#include <stdio.h>
#include <string.h>

#include "allocator/settings_reader.h"
#include "base/error.h"
#include "ullage/settings.h"

enum { STILL_KNOWN = 9999, NEUTRAL = 0, DEVICE = 1 };

static const ul_setting keys[] = {
#define UL_SETTING(name, since, until, read, scope, value, unset, effect) \
  {name, since, (until) == STILL_KNOWN ? 0 : (until), value, unset, effect, scope},
#include "allocator/tables/settings.def"
};

enum { KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };

static const char *const variable_names[] = {
    [UL_SETTINGS_CUDA] = "PYTORCH_CUDA_ALLOC_CONF",
    [UL_SETTINGS_HIP] = "PYTORCH_HIP_ALLOC_CONF",
    [UL_SETTINGS_ANY] = "PYTORCH_ALLOC_CONF",
};

enum { VARIABLE_COUNT = sizeof(variable_names) / sizeof(variable_names[0]) };

const ul_setting *ul_setting_at(size_t index) {
  return index < KEY_COUNT ? &keys[index] : NULL;
}

const char *ul_settings_variable_name(ul_settings_variable variable) {
  return (unsigned)variable < VARIABLE_COUNT ? variable_names[variable] : "?";
}

/* What a release that obeys one variable only passes over. */
static void warn_of_others(ul_settings_choice *out, const ul_profile *profile, const char *hip,
                           const char *any) {
  const char *name = any ? variable_names[UL_SETTINGS_ANY] : variable_names[UL_SETTINGS_HIP];

  if (!hip && !any)
    return;
  snprintf(out->warning, sizeof(out->warning),
           "PyTorch %s ignores %s%s: its CUDA allocator obeys PYTORCH_CUDA_ALLOC_CONF only",
           profile->name, hip && any ? "PYTORCH_HIP_ALLOC_CONF and " : "", name);
}

/* The device-neutral reader takes the first variable that is set, the CUDA reader the first of the
 * CUDA one and the generic one. */
static void choose_first(ul_settings_choice *out, const ul_profile *profile,
                         const char *const given[]) {
  unsigned variable = 0;

  while (variable < VARIABLE_COUNT && !given[variable])
    variable++;
  if (variable == VARIABLE_COUNT)
    return;
  out->variable = (ul_settings_variable)variable;
  out->text = given[variable];
  if (variable == UL_SETTINGS_HIP) {
    out->cuda_text = given[UL_SETTINGS_ANY];
    snprintf(out->warning, sizeof(out->warning),
             "a CUDA build of PyTorch %s reads only settings of no particular device from "
             "PYTORCH_HIP_ALLOC_CONF%s",
             profile->name,
             given[UL_SETTINGS_ANY] ? ", and the others from PYTORCH_ALLOC_CONF" : "");
  } else if (variable == UL_SETTINGS_CUDA && (given[UL_SETTINGS_HIP] || given[UL_SETTINGS_ANY])) {
    snprintf(out->warning, sizeof(out->warning),
             "PyTorch %s obeys PYTORCH_CUDA_ALLOC_CONF and ignores the other variables",
             profile->name);
  }
}

ul_status ul_settings_choose(ul_settings_choice *out, const char *torch, const char *cuda,
                             const char *hip, const char *any, ul_error *err) {
  const char *const given[] = {cuda, hip, any};
  const ul_profile *profile;

  if (!out)
    return ul_fail(err, UL_E_INVALID, 0, "ul_settings_choose: out is NULL");
  UL_TRY(ul_profile_find(&profile, torch, NULL, err));
  memset(out, 0, sizeof(*out));
  if (profile->generic_variables) {
    choose_first(out, profile, given);
  } else {
    out->text = cuda;
    warn_of_others(out, profile, hip, any);
  }
  return UL_OK;
}

/* What the asynchronous backend makes of the other keys: nothing, right or wrong. */
static void warn_of_async(ul_settings_reader *r, const ul_settings_given *given) {
  ul_settings settings;
  ul_error ignored;

  if (!strchr(given->text, ','))
    return; /* it stands alone */
  if (ul_settings_start(&settings, given, r->profile, &ignored) == UL_E_SETTING)
    ul_settings_warn(r, "backend:cudaMallocAsync reads no other key, nor notices that %.300s",
                     ignored.message);
  else
    ul_settings_warn(r, "backend:cudaMallocAsync reads no other key");
}

ul_status ul_settings_check(const char *text, ul_settings_variable variable, const char *torch,
                            char *warning, size_t capacity, ul_error *err) {
  char collected[UL_WARNING_BYTES] = "";
  ul_settings settings;
  ul_settings_reader r = {.settings = &settings, .warning = collected};
  const ul_settings_given given = {text, variable, NULL};
  int async;

  if ((unsigned)variable >= VARIABLE_COUNT)
    return ul_fail(err, UL_E_INVALID, 0, "ul_settings_check: there is no variable %u",
                   (unsigned)variable);
  UL_TRY(ul_profile_find(&r.profile, torch, NULL, err));
  ul_settings_init(&settings);
  UL_TRY(ul_settings_ask_for_async(&async, &given, r.profile, err));
  if (async)
    warn_of_async(&r, &given);
  else
    UL_TRY(ul_settings_read_all(&r, &given, err));
  if (warning && capacity)
    snprintf(warning, capacity, "%s", collected);
  return UL_OK;
}
