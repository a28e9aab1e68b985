/* SPDX-License-Identifier: MIT */
/* A modelled device allocator: a pure state machine. Same events, same settings, same answers; no
 * clock, no I/O, no hidden randomness. One device per model; two models are independent.
 *
 * Rules and their evidence: docs/model.md. */
#ifndef ULLAGE_MODEL_H
#define ULLAGE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/api.h"
#include "ullage/error.h"
#include "ullage/event.h"
#include "ullage/state.h"

typedef struct ul_model ul_model;

/* Where a modelled driver puts segments that no recording places. */
typedef enum ul_address_policy {
  UL_ADDRESS_RISING = 0,       /* each above all earlier ones, never reused */
  UL_ADDRESS_FIRST_FIT = 1,    /* lowest free address that fits */
  UL_ADDRESS_RANDOM = 2,       /* any free one, the same for the same seed: for intervals */
  UL_ADDRESS_RISING_APART = 3, /* as RISING, segments from 0 on and ranges from 2^44 on */
} ul_address_policy;

/* How a model learns that a stream has passed the end of a block that it used (record_stream). */
typedef enum ul_stream_events {
  UL_STREAM_EVENTS_RECORDED = 0, /* a COMPLETE event says so, as in a recording */
  UL_STREAM_EVENTS_AT_ONCE = 1,  /* it has whenever the allocator asks */
  UL_STREAM_EVENTS_ON_SYNC = 2,  /* after a SYNC event, or after the allocator waited itself */
} ul_stream_events;

/* The environment variable that settings came from: releases obey different ones. */
typedef enum ul_settings_variable {
  UL_SETTINGS_CUDA = 0, /* PYTORCH_CUDA_ALLOC_CONF */
  UL_SETTINGS_HIP = 1,  /* PYTORCH_HIP_ALLOC_CONF */
  UL_SETTINGS_ANY = 2,  /* PYTORCH_ALLOC_CONF */
} ul_settings_variable;

typedef struct ul_model_options {
  size_t size;             /* sizeof(ul_model_options), as the caller knows it */
  const char *backend;     /* NULL: "native" */
  const char *torch;       /* release, "2.9" or "2.9.1+cu128"; NULL: the newest known */
  const char *settings;    /* as PYTORCH_CUDA_ALLOC_CONF takes it; NULL or "": defaults */
  uint64_t device_bytes;   /* capacity of the device, below 2^60; 0: unlimited (refusals come from
                              grants only) */
  uint64_t external_bytes; /* held by context and others from the start */
  ul_address_policy address_policy;
  ul_stream_events stream_events;
  ul_settings_variable variable; /* that settings came from */
  int every_call;                /* list refusals and address space among the driver calls, too */
  int checked;                   /* check every invariant after each event: UL_E_STATE */
  uint64_t seed;                 /* of UL_ADDRESS_RANDOM */
  uint64_t refuse_from;      /* failure injection: the driver refuses its calls from this one on, */
  uint64_t refuse_count;     /* counted from 1, this many of them; 0: none */
  const char *cuda_settings; /* of PYTORCH_ALLOC_CONF beside UL_SETTINGS_HIP: CUDA's own keys are
                                read from there. NULL: not set */
} ul_model_options;

typedef enum ul_outcome_result {
  UL_OUTCOME_DONE = 0,   /* the event had nothing to place */
  UL_OUTCOME_SERVED = 1, /* address and block_bytes are set */
  UL_OUTCOME_OOM = 2,    /* PyTorch would raise OutOfMemoryError; segment_bytes is what it names */
  UL_OUTCOME_REJECTED = 3, /* the event makes no sense in this state; the state is unchanged */
  UL_OUTCOME_BROKEN = 4,   /* the real allocator itself would break here */
} ul_outcome_result;

typedef enum ul_driver_call_kind {
  UL_DRIVER_SEGMENT_ALLOC = UL_ACTION_SEGMENT_ALLOC,
  UL_DRIVER_SEGMENT_FREE = UL_ACTION_SEGMENT_FREE,
  UL_DRIVER_SEGMENT_MAP = UL_ACTION_SEGMENT_MAP,
  UL_DRIVER_SEGMENT_UNMAP = UL_ACTION_SEGMENT_UNMAP,
  /* No recording shows the rest, and outcomes only where options.every_call is set: address space
   * of expandable segments, and refusals. */
  UL_DRIVER_RANGE_RESERVE = 32,
  UL_DRIVER_RANGE_RELEASE = 33,
  UL_DRIVER_ALLOC_REFUSED = 34, /* of a segment; address is 0 */
  UL_DRIVER_MAP_REFUSED = 35,   /* of a unit, bytes is one unit; address is 0 */
} ul_driver_call_kind;

typedef struct ul_driver_call {
  uint64_t address;
  uint64_t bytes;
  uint32_t stream;
  uint8_t kind; /* ul_driver_call_kind */
} ul_driver_call;

/* What one event did. calls belongs to the model and lives until its next operation. */
typedef struct ul_outcome {
  uint8_t result; /* ul_outcome_result */
  uint64_t address;
  uint64_t block_bytes;
  uint64_t segment_bytes; /* what the driver was, or would have been, asked for */
  uint32_t refusals;      /* driver calls refused during this event */
  uint32_t retries;       /* attempts after a full flush: num_alloc_retries */
  uint32_t call_count;
  const ul_driver_call *calls; /* in order */
  const char *reason;          /* REJECTED or BROKEN: a phrase, static storage */
  /* OOM: what out-of-memory observers are told beside segment_bytes. */
  uint64_t limit_bytes;       /* of this process, or the device's total without a limit */
  uint64_t device_free_bytes; /* as cudaMemGetInfo tells */
  uint8_t preempted; /* OOM by throw_on_cudamalloc_oom, or of a backend that has none of it: no
                        observer, no count, no trace entry */
} ul_outcome;

/* One event's placement, as ul_model_apply_batch tells it. */
typedef struct ul_placement {
  uint64_t address;
  uint64_t block_bytes;
  uint8_t result; /* ul_outcome_result */
} ul_placement;

/* An entry of the allocator's own history, as the release's recorder writes it. */
typedef struct ul_history_entry {
  uint64_t address; /* OOM: free bytes of the device; SNAPSHOT: 0 */
  uint64_t bytes;
  uint32_t stream;
  uint8_t action; /* ul_action */
} ul_history_entry;

/* Sums over the blocks, kept up to date by every event (design: where every reserved byte goes). */
typedef struct ul_totals {
  uint64_t reserved_bytes;
  uint64_t allocated_bytes;    /* blocks the program holds */
  uint64_t active_bytes;       /* those and the ones that wait for other streams */
  uint64_t requested_bytes;    /* PyTorch's: requests of active blocks */
  uint64_t live_bytes;         /* requests of the blocks the program holds */
  uint64_t live_rounded_bytes; /* the same requests rounded by release and settings */
  uint64_t releasable_bytes;   /* inactive, empty_cache would give it back now */
  uint64_t held_bytes;    /* inactive, pinned by no block, but its private pool forbids release */
  uint64_t segment_count; /* cudaMalloc segments */
} ul_totals;

/* Environment facts of one event, taken from a recording: the driver's answers in order. The model
 * asks for memory: an ALLOC or MAP grant at the cursor is its answer, a FREE or UNMAP there means
 * that the driver refused. When the list is used up, a request is refused if refuse_rest is set and
 * otherwise placed by the model's own policy. */
typedef struct ul_grants {
  const ul_driver_call *calls;
  size_t count;
  int refuse_rest;
} ul_grants;

/* Statistics under PyTorch's own names: "reserved_bytes.all.peak". */
typedef struct ul_stat {
  const char *name; /* static storage */
  uint64_t value;
} ul_stat;

#ifdef __cplusplus
extern "C" {
#endif

UL_API ul_status ul_model_create(ul_model **out, const ul_model_options *options,
                                 ul_error *err) UL_MUST_USE;
/* NULL is accepted. */
UL_API void ul_model_destroy(ul_model *model);

/* Starts from state instead of empty; only before the first event. Handles in it may be freed by
 * later events. UL_E_INVALID if the state breaks its invariants. */
UL_API ul_status ul_model_load(ul_model *model, const ul_state *state, ul_error *err) UL_MUST_USE;

/* Applies one event. grants may be NULL: the model's own driver answers. */
UL_API ul_status ul_model_apply(ul_model *model, const ul_event *event, const ul_grants *grants,
                                ul_outcome *outcome, ul_error *err) UL_MUST_USE;

/* Applies events in order, the fast way: no driver calls are listed, no grants taken. placements
 * may be NULL, or has room for count. *done (may be NULL) is how many were applied; fewer than
 * count only with an error. */
UL_API ul_status ul_model_apply_batch(ul_model *model, const ul_event *events, size_t count,
                                      ul_placement *placements, size_t *done,
                                      ul_error *err) UL_MUST_USE;

/* Settings at run time (torch.cuda.memory._set_allocator_settings). Like PyTorch, keeps what the
 * string set before its first error. */
UL_API ul_status ul_model_configure(ul_model *model, const char *settings,
                                    ul_error *err) UL_MUST_USE;

/* Whether the model's backend is approximate (ul_backend.approximate). */
UL_API int ul_model_is_approximate(const ul_model *model);

/* The text of the exception that the last event's OOM raises in this release, without the part on
 * other processes. Fills at most capacity bytes, zero included; returns the length of the whole
 * text, 0 if the last event was no OOM. */
UL_API size_t ul_model_message(const ul_model *model, char *out, size_t capacity);

/* What this release raises where the model rejects an event for that reason (ul_outcome.reason),
 * with {} for the number that the caller gave; "" where it raises nothing: the event cannot be made
 * there. Static storage. */
UL_API const char *ul_model_raises(const ul_model *model, const char *reason);

/* torch.cuda.memory._record_memory_history: on with a ring of max_entries, or off. */
UL_API ul_status ul_model_record_history(ul_model *model, int enabled, uint64_t max_entries,
                                         ul_error *err) UL_MUST_USE;

/* The recorded entries, oldest first; fills up to capacity and returns how many there are. */
UL_API size_t ul_model_history(const ul_model *model, ul_history_entry *out, size_t capacity);

/* As ul_model_state, and history notes that a snapshot was taken, as PyTorch's does. */
UL_API ul_status ul_model_snapshot(ul_model *model, ul_state *out, ul_error *err) UL_MUST_USE;

/* An independent copy: the counterfactual from here on. */
UL_API ul_status ul_model_clone(ul_model **out, const ul_model *model, ul_error *err) UL_MUST_USE;

/* Current sums. The pointer stays valid until destroy; what it points to is brought up to date by
 * the next call. */
UL_API const ul_totals *ul_model_totals(const ul_model *model);

/* Fills up to capacity statistics and returns how many there are. */
UL_API size_t ul_model_stats(const ul_model *model, ul_stat *out, size_t capacity);

/* torch.cuda.reset_peak_memory_stats(): every peak becomes its current value. */
UL_API void ul_model_reset_peak(ul_model *model);

/* torch.cuda.reset_accumulated_memory_stats(). */
UL_API void ul_model_reset_accumulated(ul_model *model);

/* Reserved bytes of one private pool, as PyTorch's statistics keep them from 2.13 on: current,
 * peak, allocated, freed for all, small and large pools. index counts pools that ever reserved, in
 * order of id; returns 0 past the last, and in releases without them. */
UL_API int ul_model_pool_reserved(const ul_model *model, size_t index, uint32_t *pool,
                                  uint64_t values[12]);

/* The state now, in address order. *out borrows from the model until its next operation. */
UL_API ul_status ul_model_state(ul_model *model, ul_state *out, ul_error *err) UL_MUST_USE;

/* Checks every invariant of the state (docs/model.md); UL_E_STATE names the first that fails. */
UL_API ul_status ul_model_check(const ul_model *model, ul_error *err) UL_MUST_USE;

/* The limit that set_per_process_memory_fraction(fraction) sets, for UL_EVENT_SET_FRACTION;
 * UINT64_MAX: none. The device's capacity must be known. */
UL_API uint64_t ul_model_fraction_limit(const ul_model *model, double fraction);

/* What a request of this size is rounded to under the model's release and settings. */
UL_API uint64_t ul_model_round(const ul_model *model, uint64_t requested_bytes);

#ifdef __cplusplus
}
#endif
#endif
