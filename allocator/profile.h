/* SPDX-License-Identifier: MIT */
/* What differs between releases of PyTorch's allocator, as data (tables/rules.def). Rules are asked
 * for by name; nothing else compares release numbers. */
#ifndef UL_ALLOCATOR_PROFILE_H
#define UL_ALLOCATOR_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/error.h"

/* Among free blocks of equal size on one stream. */
typedef enum ul_tie_rule {
  UL_TIE_ADDRESS, /* lowest address */
  UL_TIE_BLOCK,   /* creation order of the block object */
  UL_TIE_SEGMENT, /* creation order of the segment, then address */
} ul_tie_rule;

/* How requests are sent to a private pool. */
typedef enum ul_routing_rule {
  UL_ROUTING_CAPTURE, /* by graph capture, all streams of it */
  UL_ROUTING_STREAM,  /* one stream to one pool */
  UL_ROUTING_LIST,    /* a list of pools, each with a test on the stream */
} ul_routing_rule;

/* When a pool registered as use_on_oom serves requests of others. */
typedef enum ul_on_oom_rule {
  UL_ON_OOM_NEVER,
  UL_ON_OOM_LAST,  /* when all else has failed */
  UL_ON_OOM_FIRST, /* at the driver's first refusal */
} ul_on_oom_rule;

/* How a settings string is taken apart (settings.c). */
typedef enum ul_settings_grammar {
  UL_GRAMMAR_ITEMS,   /* at blanks and commas, then at colons */
  UL_GRAMMAR_TOKENS,  /* blanks dropped, then at , : [ ], each where it belongs */
  UL_GRAMMAR_LENIENT, /* the same, but any of them stands for any other */
} ul_settings_grammar;

typedef struct ul_profile {
  uint16_t release; /* major * 100 + minor */
  const char *name; /* "2.9" */
  const char *run;  /* "2.9.1", whose compiled library was run; "": none was */
#define UL_RULE(name, first, since, then, what, evidence) uint8_t name; /* what: rules.def */
#define UL_RULE_TWICE(name, first, since, then, since_again, then_again, what, evidence) \
  uint8_t name;
#include "allocator/tables/rules.def"
} ul_profile;

/* All profiles, oldest first. */
const ul_profile *ul_profiles(size_t *count);

/* The profile of a release as users write it: "2.9", "2.9.1", "2.9.1+cu128", "2.16.0a0+git12".
 * NULL or "" is the newest. Releases beyond the table map to the nearest one; *nearest (may be
 * NULL) then is 1. UL_E_SETTING if it is not a release. */
ul_status ul_profile_find(const ul_profile **out, const char *torch, int *nearest, ul_error *err);

#endif
