/* SPDX-License-Identifier: MIT */
/* A recording, opened and read. The file is recognised from its bytes, never from its name; gzip
 * and zstd layers open by themselves. Nothing in a file is ever executed.
 *
 * Ownership: everything a source hands out lives until ul_source_close. A source may be read by
 * several threads once it is open. */
#ifndef ULLAGE_SOURCE_H
#define ULLAGE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/api.h"
#include "ullage/error.h"
#include "ullage/event.h"
#include "ullage/state.h"

typedef struct ul_source ul_source;

/* Called now and then while reading. Both count bytes of the input as it is read, compressed or
 * not; total is 0 where unknown (stdin). Return 0 to go on; anything else stops the read with
 * UL_E_STATE. */
typedef int ul_progress(uint64_t done, uint64_t total, void *arg);

typedef struct ul_source_options {
  size_t size; /* sizeof(ul_source_options), as the caller knows it */
  ul_progress *progress;
  void *progress_arg;
} ul_source_options;

/* What the keys present in the file tell about the PyTorch that wrote it, as release numbers
 * major * 100 + minor (2.9 is 209). Both ends inclusive. */
typedef struct ul_release_range {
  uint16_t oldest;
  uint16_t newest; /* 0: no upper bound known */
} ul_release_range;

/* Something read but not as expected; counted, reported once, never silent. */
typedef struct ul_warning {
  const char *text; /* a finished sentence */
  uint64_t count;   /* how often */
  uint64_t first;   /* byte offset or event number of the first, as the text says */
} ul_warning;

typedef struct ul_source_info {
  const char *path;     /* as given; "-" for stdin */
  const char *format;   /* "snapshot" */
  const char *encoding; /* "pickle" */
  const char *carriers; /* "", "gzip", "zstd", "gzip+zstd": outermost first */
  const char *backend;  /* "cuda", "xpu", "npu", "gcu" ...: as the keys tell */
  const char *era;      /* one phrase: "torch 2.5 - 2.7" */
  ul_release_range releases;
  unsigned pickle_protocol;
  uint64_t input_bytes;   /* as read, compressed */
  uint64_t content_bytes; /* uncompressed */
  size_t device_count;    /* recordings below: every device with entries or segments */
  /* Streams and pools are numbered from 0, the default; frames from 0; stacks from 1. */
  size_t stream_count, pool_count, stack_count, frame_count, string_count;
  const char *settings; /* canonical settings string the model understands; NULL: file has none */
  const char *settings_recorded; /* PYTORCH_CUDA_ALLOC_CONF as recorded; NULL: file has none */
  size_t warning_count;
  const ul_warning *warnings;
  size_t mark_count;
  const ul_mark *marks; /* by device, then time */
  uint8_t has_trace, has_time, has_pool_ids, has_frames, has_settings, has_requested_sizes;
} ul_source_info;

/* One device's recording. Columns of `count` rows; row number = event number. */
typedef struct ul_recording {
  uint16_t device; /* ordinal */
  uint64_t count;
  const ul_event *events;
  const uint64_t *addresses; /* as recorded; free bytes of the device for OOM; 0 where none */
  const uint8_t *actions;    /* ul_action */
  uint64_t handle_count;     /* handles are 1 ... handle_count */
  uint64_t action_counts[UL_ACTION_COUNT];
  uint64_t first_time_ns, last_time_ns; /* 0 where the file has no time */
  ul_state final_state;                 /* at the instant of the snapshot */
  uint8_t has_trace;                    /* 0: entries say nothing of use (state-only recording) */
} ul_recording;

typedef struct ul_frame {
  const char *name;
  const char *filename;
  int64_t line; /* -1 unknown */
} ul_frame;

#ifdef __cplusplus
extern "C" {
#endif

/* Opens and reads path ("-": standard input). On success *out is the caller's, until
 * ul_source_close. options may be NULL. Memory stays below the size of the content plus 8 MiB for
 * what PyTorch writes, and is bounded for what nobody writes (UL_E_LIMIT). */
UL_API ul_status ul_source_open(ul_source **out, const char *path, const ul_source_options *options,
                                ul_error *err) UL_MUST_USE;

/* The same from memory; name is used in messages. bytes are not kept. */
UL_API ul_status ul_source_open_bytes(ul_source **out, const void *bytes, size_t size,
                                      const char *name, const ul_source_options *options,
                                      ul_error *err) UL_MUST_USE;

/* NULL is accepted. */
UL_API void ul_source_close(ul_source *source);

UL_API const ul_source_info *ul_source_get_info(const ul_source *source);

/* index < device_count; NULL otherwise. */
UL_API const ul_recording *ul_source_recording(const ul_source *source, size_t index);

/* Fills up to capacity events, device after device in order; *count == 0 with UL_OK is the end.
 * The cursor is the source's own: one reader at a time. */
UL_API ul_status ul_source_next(ul_source *source, ul_event *events, size_t capacity, size_t *count,
                                ul_error *err) UL_MUST_USE;

/* Starts ul_source_next again from the first event. */
UL_API void ul_source_rewind(ul_source *source);

/* Observations of recording `index` from event number `first` on; returns how many were filled,
 * one per recorded entry. */
UL_API size_t ul_source_observations(const ul_source *source, size_t index, uint64_t first,
                                     ul_observation *out, size_t capacity);

/* Frames of a stack, innermost first, as frame ids; 0 frames for stack 0 or an unknown id. */
UL_API size_t ul_source_stack(const ul_source *source, uint32_t stack, const uint32_t **frames);

/* Returns 0 if there is no such frame. */
UL_API int ul_source_frame(const ul_source *source, uint32_t frame, ul_frame *out);

/* The raw stream handle behind an id; 0 for unknown ids. */
UL_API uint64_t ul_source_stream(const ul_source *source, uint32_t stream);

/* The pool's id pair as PyTorch writes it. Returns 0 if there is no such pool. */
UL_API int ul_source_pool(const ul_source *source, uint32_t pool, uint64_t pair[2]);

#ifdef __cplusplus
}
#endif
#endif
