/* SPDX-License-Identifier: MIT */
/* What the backends that cut no blocks share: live allocations by handle, each with device memory
 * of its own, and everything of a model that does not differ between them. What does differ is in a
 * ul_plain_rules. Units are bytes. */
#ifndef UL_ALLOCATOR_PLAIN_H
#define UL_ALLOCATOR_PLAIN_H

#include "allocator/device.h"
#include "allocator/model.h"
#include "allocator/settings.h"
#include "allocator/statistics.h"
#include "base/idmap.h"
#include "base/vec.h"

typedef struct ul_plain_allocation {
  uint64_t handle; /* 0: no event names it, so it stays */
  uint64_t address;
  uint64_t requested_bytes;
  uint64_t bytes; /* requested, rounded up to the quantum */
  uint32_t stream, stack;
} ul_plain_allocation;

typedef struct ul_plain ul_plain;

typedef struct ul_plain_rules {
  ul_oom_source oom;
  uint64_t quantum; /* requests are rounded up to it */
  /* Whether the device can hold an allocation that takes bytes; if it may grow what it holds, it
   * has. */
  int (*admit)(ul_plain *p, uint64_t requested_bytes, uint64_t bytes);
  /* After an allocation ended; its figures are gone from the totals already. May be NULL. */
  void (*released)(ul_plain *p);
  void (*empty_cache)(ul_plain *p); /* NULL: nothing is cached */
  int lists_calls;                  /* every allocation is a driver call */
  int has_limit;                    /* the memory fraction is obeyed */
  int counts;                       /* PyTorch's statistics are kept: allocated and reserved only */
} ul_plain_rules;

struct ul_plain {
  const ul_plain_rules *rules;
  const ul_profile *profile;
  ul_settings settings;
  ul_settings_given given; /* owned texts; read when settings are first made at run time */
  ul_device device;
  ul_idmap by_handle; /* index into live, plus 1 */
  UL_VEC(ul_plain_allocation) live;
  UL_VEC(ul_driver_call) calls;
  UL_VEC(ul_segment) shown_segments;
  UL_VEC(ul_block) shown_blocks;
  ul_totals totals;
  ul_statistics statistics;
  uint64_t capacity_bytes; /* of the device; 0: unlimited. The device itself only finds places */
  uint64_t external_bytes;
  uint64_t limit_bytes; /* of requested bytes; UINT64_MAX: none */
  ul_oom_facts facts;
  int last_was_oom;
  int every_call;
};

/* The model of one device. settings are read at once only where reads_settings is set; until they
 * are, they are defaults. */
ul_status ul_plain_create(ul_plain **out, const ul_model_options *options,
                          const ul_plain_rules *rules, int reads_settings, ul_error *err);

/* Of a device with a capacity: what nobody holds. */
uint64_t ul_plain_free_bytes(const ul_plain *p);

/* The operations of the table, for every such backend. */
void ul_plain_destroy(void *state);
ul_status ul_plain_load(void *state, const ul_state *from, ul_error *err);
ul_status ul_plain_apply(void *state, const ul_event *event, const ul_grants *grants,
                         ul_outcome *outcome, ul_error *err);
ul_status ul_plain_configure(void *state, const char *settings, ul_error *err);
const ul_profile *ul_plain_profile(const void *state);
int ul_plain_oom(const void *state, ul_oom_facts *out);
ul_status ul_plain_record_history(void *state, int enabled, uint64_t max_entries, ul_error *err);
ul_status ul_plain_clone(void **out, const void *state, ul_error *err);
const ul_totals *ul_plain_totals(const void *state);
size_t ul_plain_stats(const void *state, ul_stat *out, size_t capacity);
void ul_plain_reset_peak(void *state);
ul_status ul_plain_visit(void *state, ul_state *out, ul_error *err);
ul_status ul_plain_check(const void *state, ul_error *err);
uint64_t ul_plain_round(const void *state, uint64_t requested_bytes);
uint64_t ul_plain_fraction_limit(const void *state, double fraction);
uint64_t ul_plain_unsplit_limit(const void *state, int is_small, uint64_t rounded_bytes);
ul_status ul_plain_asker(const void *state, const ul_event *event, ul_asker_view *out,
                         ul_error *err);

/* What a row of the table of backends has for all of them. */
#define UL_PLAIN_OPERATIONS                                                                      \
  .destroy = ul_plain_destroy, .load = ul_plain_load, .apply = ul_plain_apply,                   \
  .configure = ul_plain_configure, .profile = ul_plain_profile, .oom = ul_plain_oom,             \
  .record_history = ul_plain_record_history, .clone = ul_plain_clone, .totals = ul_plain_totals, \
  .stats = ul_plain_stats, .reset_peak = ul_plain_reset_peak, .visit = ul_plain_visit,           \
  .check = ul_plain_check, .round = ul_plain_round, .fraction_limit = ul_plain_fraction_limit,   \
  .unsplit_limit = ul_plain_unsplit_limit, .asker = ul_plain_asker

#endif
