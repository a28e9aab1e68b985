/* SPDX-License-Identifier: MIT */
/* Runs a recording through a model, compares what the model decides with what was recorded, and
 * measures. All byte counts are exact; what a recording does not determine is marked unknown. */
#ifndef ULLAGE_REPLAY_H
#define ULLAGE_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/api.h"
#include "ullage/error.h"
#include "ullage/event.h"
#include "ullage/model.h"
#include "ullage/source.h"

typedef struct ul_replay ul_replay;

/* Called after every event of the as-recorded replay that was kept, in order. Return 0 to go on;
 * anything else stops the replay with UL_E_STATE. */
typedef int ul_observer(const ul_event *event, uint64_t number, const ul_outcome *outcome,
                        const ul_totals *totals, void *arg);

typedef struct ul_replay_options {
  size_t size; /* sizeof(ul_replay_options), as the caller knows it */
  /* The release of the as-recorded replay, which is proved. */
  const char *torch; /* NULL: every rule set the file's keys allow is tried */
  /* What-if: any of these that differs from the recording adds a second replay, without proof. */
  const char *settings;                   /* NULL: as recorded, or the defaults */
  uint64_t memory_bytes;                  /* device capacity of the what-if; 0: unlimited */
  uint64_t external_bytes;                /* of it, held by context and others */
  const char *what_if_torch;              /* NULL: same as the as-recorded replay */
  ul_settings_variable settings_variable; /* that settings are given in */
  /* Selection of what is reported; the whole history is always replayed. */
  int has_device;
  uint16_t device;
  int has_window; /* peaks, holders and the curve only of events from ... to, both inclusive */
  uint64_t from_event, to_event;
  uint32_t top;          /* holders kept in the result; 0: all of them */
  uint32_t curve_points; /* buckets of the curve; 0: 1000 */
  int skip_free_mode;    /* do not replay with invented segment bases */
  ul_observer *observer;
  void *observer_arg;
  ul_progress *progress;
  void *progress_arg;
} ul_replay_options;

typedef struct ul_interval {
  uint64_t min, max; /* equal: exact */
} ul_interval;

/* The first place where model and recording part, or where the recording contradicts itself. */
typedef enum ul_difference_kind {
  UL_DIFFERENCE_NONE = 0,
  UL_DIFFERENCE_PLACEMENT = 1,    /* another block address */
  UL_DIFFERENCE_SEGMENT = 2,      /* another driver call, or none, or one too many */
  UL_DIFFERENCE_RESULT = 3,       /* served where recorded as oom, or the reverse */
  UL_DIFFERENCE_REQUEST = 4,      /* alloc and free of one block disagree about its size */
  UL_DIFFERENCE_INCONSISTENT = 5, /* the recording contradicts itself here */
  UL_DIFFERENCE_FINAL_BLOCK = 6,
  UL_DIFFERENCE_FINAL_SEGMENT = 7,
} ul_difference_kind;

#define UL_DIFFERENCE_TEXT_BYTES 320

typedef struct ul_difference {
  uint8_t kind; /* ul_difference_kind */
  uint64_t event;
  uint64_t recorded_address, recorded_bytes; /* 0 none */
  uint64_t model_address, model_bytes;       /* 0 none */
  uint64_t placed_address; /* where the model put the allocation of this entry; 0 nowhere */
  char text[UL_DIFFERENCE_TEXT_BYTES];  /* the entry, both answers */
  char cause[UL_DIFFERENCE_TEXT_BYTES]; /* the likely cause, or "" */
} ul_difference;

typedef struct ul_proof {
  uint64_t placements; /* recorded allocations, refused ones included */
  uint64_t exact;      /* same answer, from requests and environment alone */
  uint64_t assisted; /* same answer, after an input was inferred from the recorded address itself */
  uint64_t segments_recorded, segments_exact;         /* segment entries: order, address and size */
  uint64_t final_blocks_recorded, final_blocks_exact; /* address, size, state and request */
  uint64_t inferred_empty_cache, inferred_pool, inferred_stream_use;
  uint64_t ambiguous_blocks; /* whose size before the recording is not determined */
  uint64_t inconsistencies;  /* entries that contradict others */
  uint64_t unknown_frees;    /* frees of allocations that no entry and no state knows */
  int holds;                 /* everything compared is exact or assisted, nothing contradicts */
  ul_difference first_difference;
} ul_proof;

typedef struct ul_peak {
  uint64_t event; /* first event after which reserved was maximal */
  uint64_t time_ns;
  uint64_t reserved_bytes, allocated_bytes, active_bytes, requested_bytes;
  /* each curve's own maximum and the first event after which it was reached */
  uint64_t max_allocated_bytes, max_allocated_event;
  uint64_t max_active_bytes, max_active_event;
  uint64_t max_live_bytes, max_live_event; /* requested bytes: the floor */
} ul_peak;

/* Where every reserved byte is, at one event; the seven classes add up to reserved_bytes. */
typedef struct ul_lost {
  uint64_t event;
  uint64_t reserved_bytes, live_bytes;
  uint64_t rounding_bytes, tail_bytes, pending_bytes, releasable_bytes, held_bytes, pinned_bytes;
} ul_lost;

/* The asker's view of the inactive bytes just before the driver was asked. */
typedef struct ul_asker {
  uint64_t event;
  uint64_t requested_bytes, rounded_bytes;
  uint64_t pool_bound_bytes, stream_bound_bytes, rule_bound_bytes, extended_bytes, soft_bytes,
      hard_bytes;
} ul_asker;

/* Who holds memory at the peak: live blocks of one allocation stack. */
typedef struct ul_holder {
  uint32_t stack;
  uint64_t bytes; /* of blocks */
  uint64_t requested_bytes;
  uint64_t block_count;
  uint64_t first_event; /* earliest allocation among them; UINT64_MAX: before the recording */
} ul_holder;

/* One bucket of the curve: minima and maxima of the values after each event in it. */
typedef struct ul_curve_point {
  uint64_t first_event, last_event;
  uint64_t first_time_ns;
  uint64_t reserved_min, reserved_max;
  uint64_t active_min, active_max;
  uint64_t allocated_min, allocated_max;
  uint64_t live_min, live_max;
} ul_curve_point;

typedef struct ul_replay_stat {
  const char *name; /* PyTorch's own, "reserved_bytes.all.peak" */
  uint64_t value;
  int known; /* 0: this file does not determine it */
} ul_replay_stat;

typedef struct ul_refuted {
  const char *torch; /* "2.12" */
  uint64_t event;    /* where it first differed */
} ul_refuted;

typedef struct ul_oom {
  uint64_t event;
  uint64_t rounded_bytes;
  uint64_t device_free_bytes; /* as recorded; known == 0 in a what-if */
  int device_free_known;
} ul_oom;

/* A replay without proof: another release, other settings, another memory. */
typedef struct ul_what_if {
  const char *torch, *settings;
  uint64_t memory_bytes, external_bytes; /* 0 unlimited */
  int fits; /* the start fits, and nothing is refused that was served */
  uint64_t
      start_reserved_bytes; /* before event 0, after empty_cache where more than memory allows */
  ul_peak peak;
  ul_lost lost_at_peak;
  uint64_t segment_count_at_peak;
  uint64_t driver_calls, retries, oom_count;
  ul_oom first_oom;         /* if oom_count */
  uint64_t rejected_events; /* events that had no meaning there, e.g. frees of what did not fit */
  int approximate;          /* the backend that answered is (ul_backend.approximate) */
} ul_what_if;

typedef struct ul_device_result {
  uint16_t device;
  uint64_t entries;
  int starts_empty;     /* the recording begins with an empty allocator */
  int history_complete; /* ... and every allocation and free is in it */
  int has_trace;
  int has_window; /* peaks, holders and curve are those of this window only */
  uint64_t window_from, window_to;

  const char *torch;    /* of the kept rule set: "2.9" */
  const char *settings; /* "" defaults */
  const char *why;      /* how release and settings were chosen */
  size_t alike_count;
  const char *const *alike; /* releases with the same rules for this file */
  size_t refuted_count;
  const ul_refuted *refuted;

  ul_proof proof;
  ul_peak peak;
  ul_lost lost_at_peak;
  ul_lost lost_at_end;
  int has_asker;
  ul_asker asker_at_peak;
  ul_interval free_mode_reserved_peak; /* with invented segment bases; equal to the peak: exact */
  ul_interval free_mode_allocated_peak;

  size_t stat_count;
  const ul_replay_stat *stats;
  uint64_t holders_event; /* the peak's, or where most was allocated if reserved never grew */
  size_t holder_count, holder_total;
  const ul_holder *holders; /* by bytes, largest first */
  uint64_t live_without_stack_bytes;
  size_t curve_count;
  const ul_curve_point *curve;

  uint64_t driver_calls, segment_allocs, segment_frees, segment_maps, segment_unmaps;
  uint64_t alloc_retries;
  uint64_t oom_count;
  const ul_oom *ooms;
  int has_what_if;
  ul_what_if what_if;
  size_t warning_count;
  const ul_warning *warnings;
} ul_device_result;

#ifdef __cplusplus
extern "C" {
#endif

/* Replays every device of source, which must outlive the result. options may be NULL. A proof that
 * fails is a result, not an error. */
UL_API ul_status ul_replay_run(ul_replay **out, const ul_source *source,
                               const ul_replay_options *options, ul_error *err) UL_MUST_USE;

/* NULL is accepted. */
UL_API void ul_replay_free(ul_replay *replay);

UL_API size_t ul_replay_device_count(const ul_replay *replay);
/* index < device count; NULL otherwise. */
UL_API const ul_device_result *ul_replay_device(const ul_replay *replay, size_t index);
/* The device with the highest peak reserved; NULL if there is none. */
UL_API const ul_device_result *ul_replay_main_device(const ul_replay *replay);
UL_API const ul_source *ul_replay_source(const ul_replay *replay);

/* Segments and blocks of result `index` after `event` (UINT64_MAX: the end; before event 0 use
 * ul_replay_initial_state). Replays from the start. *out borrows from the replay until its next
 * call or ul_replay_free. */
UL_API ul_status ul_replay_state_at(ul_replay *replay, size_t index, uint64_t event, ul_state *out,
                                    ul_error *err) UL_MUST_USE;
UL_API ul_status ul_replay_initial_state(ul_replay *replay, size_t index, ul_state *out,
                                         ul_error *err) UL_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
