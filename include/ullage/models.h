/* SPDX-License-Identifier: MIT */
/* What can be modelled: backends, releases of PyTorch, and the rules that differ between them, as
 * tables. Settings have a header of their own (ullage/settings.h). All texts are static storage.
 *
 * Releases are numbers, major * 100 + minor: 209 is 2.9, 215 is 2.15. */
#ifndef ULLAGE_MODELS_H
#define ULLAGE_MODELS_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/api.h"
#include "ullage/error.h"

/* One backend, for ul_model_options.backend. */
typedef struct ul_backend {
  const char *name;
  const char *summary; /* a phrase */
  int approximate;     /* its rules are not PyTorch's own: read its figures as estimates */
} ul_backend;

/* One release that is modelled. */
typedef struct ul_release {
  uint16_t number;
  const char *name;      /* "2.9" */
  const char *run;       /* the patch release whose compiled library was run; NULL: none was */
  const char *evidence;  /* what the model of this release rests on */
  int generic_variables; /* obeys PYTORCH_ALLOC_CONF and PYTORCH_HIP_ALLOC_CONF, too */
} ul_release;

/* One rule that differs between releases. */
typedef struct ul_rule {
  const char *name, *what;
  const char *evidence;  /* releases whose compiled library was seen to behave so */
  uint16_t since[2];     /* releases that changed it, 0: none */
  const char *values[3]; /* in the oldest release and from each change on; "yes" and "no" where it
                            is a switch */
} ul_rule;

enum { UL_RELEASE_NOTE_BYTES = 256 };

/* How a release that somebody typed is modelled. */
typedef struct ul_release_choice {
  const ul_release *release;
  int exact;                        /* it is the very release whose library was run */
  char note[UL_RELEASE_NOTE_BYTES]; /* otherwise a sentence on what is taken instead; "" */
} ul_release_choice;

#ifdef __cplusplus
extern "C" {
#endif

/* Row n, or NULL past the last; releases oldest first. */
UL_API const ul_backend *ul_backend_at(size_t index);
UL_API const ul_release *ul_release_at(size_t index);
UL_API const ul_rule *ul_rule_at(size_t index);

/* The value of a rule in a release. */
UL_API const char *ul_rule_value(const ul_rule *rule, uint16_t release);

/* The release modelled for torch as users write it: "2.9", "2.9.1+cu128", "2.16.0a0+git12". NULL or
 * "" is the newest. Patch releases, development versions and releases beyond the table map to the
 * nearest. UL_E_SETTING if it is not a release, or older than the oldest. */
UL_API ul_status ul_release_choose(ul_release_choice *out, const char *torch,
                                   ul_error *err) UL_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
