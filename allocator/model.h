/* SPDX-License-Identifier: MIT */
/* What the replay needs of allocator models beyond the public ullage/model.h: the table of
 * backends, the releases as rule sets, and a look at free memory for the asker's view. */
#ifndef UL_ALLOCATOR_MODEL_H
#define UL_ALLOCATOR_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/profile.h"
#include "ullage/model.h"

/* Inactive bytes as the request of an ALLOC event sees them before the driver is asked. */
typedef struct ul_asker_view {
  uint64_t rounded_bytes;
  uint64_t pool_bound_bytes, stream_bound_bytes, rule_bound_bytes, extended_bytes, soft_bytes,
      hard_bytes;
} ul_asker_view;

/* Which allocator raises it: texts differ. */
typedef enum ul_oom_source {
  UL_OOM_OF_ALLOCATOR = 0, /* native */
  UL_OOM_OF_POOL = 1,      /* cudaMallocAsync */
  UL_OOM_OF_DRIVER = 2,    /* no caching: a plain CUDA error */
} ul_oom_source;

/* What the text of an out-of-memory exception tells. */
typedef struct ul_oom_facts {
  uint64_t requested_bytes; /* by the program */
  uint64_t segment_bytes;   /* asked of the driver */
  uint64_t device_bytes;    /* total */
  uint64_t property_bytes;  /* total, as it was when the process started */
  uint64_t free_bytes;      /* of the device */
  uint64_t limit_bytes;     /* of the memory fraction; UINT64_MAX: none */
  uint64_t allocated_bytes; /* allocated_bytes.all.current */
  uint64_t reserved_bytes;
  uint64_t private_free_bytes; /* free blocks of all private pools */
  uint64_t reserve_bytes;      /* ul_reserve_bytes of property_bytes */
  uint16_t device;             /* index */
  uint8_t expandable;          /* expandable segments are on */
  uint8_t preempted;           /* throw_on_cudamalloc_oom */
  uint8_t pool_refused;        /* an allocator of the pool's own did */
  uint8_t source;              /* ul_oom_source */
} ul_oom_facts;

/* One backend. state is its own; the table is const and shared. Semantics as in ullage/model.h.
 * apply_batch may be NULL: apply in a loop. */
typedef struct ul_model_ops {
  const char *name;
  const char *summary;
  int approximate; /* its rules are not PyTorch's own */
  ul_status (*create)(void **state, const ul_model_options *options, ul_error *err);
  void (*destroy)(void *state);
  ul_status (*load)(void *state, const ul_state *from, ul_error *err);
  ul_status (*apply)(void *state, const ul_event *event, const ul_grants *grants,
                     ul_outcome *outcome, ul_error *err);
  ul_status (*apply_batch)(void *state, const ul_event *events, size_t count,
                           ul_placement *placements, size_t *done, ul_error *err);
  ul_status (*configure)(void *state, const char *settings, ul_error *err);
  const ul_profile *(*profile)(const void *state);
  int (*oom)(const void *state, ul_oom_facts *out); /* 0: the last event was none */
  ul_status (*record_history)(void *state, int enabled, uint64_t max_entries, ul_error *err);
  size_t (*history)(const void *state, ul_history_entry *out, size_t capacity);
  ul_status (*note_snapshot)(void *state, ul_error *err); /* in the history */
  int (*pool_reserved)(const void *state, size_t index, uint32_t *pool, uint64_t values[12]);
  void (*reset_accumulated)(void *state);
  ul_status (*clone)(void **out, const void *state, ul_error *err);
  const ul_totals *(*totals)(const void *state);
  size_t (*stats)(const void *state, ul_stat *out, size_t capacity);
  void (*reset_peak)(void *state);
  ul_status (*visit)(void *state, ul_state *out, ul_error *err);
  ul_status (*check)(const void *state, ul_error *err);
  uint64_t (*round)(const void *state, uint64_t requested_bytes);
  uint64_t (*fraction_limit)(const void *state, double fraction);
  uint64_t (*unsplit_limit)(const void *state, int is_small, uint64_t rounded_bytes);
  ul_status (*asker)(const void *state, const ul_event *event, ul_asker_view *out, ul_error *err);
} ul_model_ops;

/* NULL-terminated. */
extern const ul_model_ops *const ul_model_table[];

ul_status ul_model_asker(const ul_model *model, const ul_event *event, ul_asker_view *out,
                         ul_error *err);

/* The largest remainder that stays with a block of this rounded size instead of being split off;
 * UINT64_MAX: any. */
uint64_t ul_model_unsplit_limit(const ul_model *model, int is_small, uint64_t rounded_bytes);

/* What decides between releases for one recording: which rules can matter in it. */
typedef struct ul_rule_relevance {
  int expandable; /* the option is on, or expandable memory is there */
  int private_pools;
  int divisions;
  int max_split;
  int collection;
} ul_rule_relevance;

enum { UL_RELEASE_NAME_BYTES = 8, UL_RULE_SET_RELEASES = 32 };

/* Releases that behave alike for one recording, oldest first. */
typedef struct ul_rule_set {
  size_t count;
  const char *releases[UL_RULE_SET_RELEASES]; /* static storage */
} ul_rule_set;

/* Groups the releases oldest ... newest (major * 100 + minor; newest 0: no bound) that take the
 * settings into rule sets, those of the oldest releases first. Returns how many there are, at most
 * capacity. */
size_t ul_rule_sets(uint16_t oldest, uint16_t newest, const char *settings,
                    const ul_rule_relevance *relevance, ul_rule_set *out, size_t capacity);

/* The modelled release that stands for torch ("2.9.1+cu128" -> "2.9"); *nearest is 1 if it is not
 * that very release. */
ul_status ul_release_name(const char **out, const char *torch, int *nearest, ul_error *err);

#endif
