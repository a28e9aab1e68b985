/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "parsers/parser.h"
#include "parsers/source_data.h"

/* --- for parsers --- */

const char *ul_source_keep(ul_source *source, const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = malloc(size);

  if (!copy || !UL_VEC_PUSH(&source->texts, copy)) {
    free(copy);
    return NULL;
  }
  memcpy(copy, text, size);
  return copy;
}

ul_status ul_source_warn(ul_source *source, uint64_t count, uint64_t first, ul_error *err,
                         const char *format, ...) {
  char text[UL_ERROR_MESSAGE_BYTES];
  ul_warning warning;
  va_list args;

  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  warning.text = ul_source_keep(source, text);
  warning.count = count;
  warning.first = first;
  if (!warning.text || !UL_VEC_PUSH(&source->warnings, warning))
    return ul_fail_nomem(err, "warnings");
  return UL_OK;
}

/* --- opening --- */

static ul_status fill(ul_source *source, ul_bytes *bytes, const char *name, ul_error *err) {
  const ul_parser *parser;
  uint64_t content;
  size_t size;

  UL_TRY(ul_bytes_need(bytes, UL_PARSER_SNIFF_BYTES, err));
  size = (size_t)(bytes->end - bytes->at);
  parser = ul_parser_find(bytes->at, size);
  if (!parser)
    return ul_parser_none(bytes->at, size, err);
  UL_TRY(parser->read(source, bytes, err));
  content = ul_bytes_offset(bytes, bytes->at);
  /* The checksum of a compressed file stands at its end. */
  if (bytes->carriers[0])
    UL_TRY(ul_bytes_drain(bytes, err));
  source->info.format = parser->format;
  source->info.path = ul_source_keep(source, name);
  source->info.carriers = ul_source_keep(source, bytes->carriers);
  if (!source->info.path || !source->info.carriers)
    return ul_fail_nomem(err, "names");
  source->info.input_bytes = bytes->carriers[0] ? bytes->input_bytes : content;
  source->info.content_bytes = content;
  source->info.warning_count = source->warnings.count;
  source->info.warnings = source->warnings.items;
  source->info.mark_count = source->marks.count;
  source->info.marks = source->marks.items;
  return UL_OK;
}

ul_status ul_source_read(ul_source **out, ul_bytes *bytes, const char *name, ul_error *err) {
  ul_source *source = calloc(1, sizeof(*source));
  ul_status status;

  if (!source)
    return ul_fail_nomem(err, "a source");
  status = fill(source, bytes, name, err);
  if (status != UL_OK) {
    ul_source_close(source);
    return status;
  }
  *out = source;
  return UL_OK;
}

/* Options may come from a caller built with an older, shorter struct. */
static void take_options(ul_bytes *bytes, const ul_source_options *options) {
  if (!options)
    return;
  if (options->size >= offsetof(ul_source_options, progress_arg) + sizeof(void *)) {
    bytes->progress = options->progress;
    bytes->progress_arg = options->progress_arg;
  }
}

static ul_status open_bytes(ul_source **out, ul_bytes *bytes, const char *name,
                            const ul_source_options *options, ul_error *err) {
  ul_status status;

  take_options(bytes, options);
  status = ul_source_read(out, bytes, name, err);
  ul_bytes_close(bytes);
  return status;
}

/* Every message begins with the file's name. */
static ul_status named(ul_status status, const char *name, ul_error *err) {
  if (status != UL_OK)
    ul_error_prefix(err, strcmp(name, "-") == 0 ? "standard input" : name);
  return status;
}

ul_status ul_source_open(ul_source **out, const char *path, const ul_source_options *options,
                         ul_error *err) {
  ul_bytes *bytes;
  ul_status status;

  if (!out || !path)
    return ul_fail(err, UL_E_INVALID, 0, "ul_source_open needs a place for the source and a path");
  status = ul_bytes_open_file(&bytes, path, err);
  if (status == UL_OK)
    status = open_bytes(out, bytes, path, options, err);
  return named(status, path, err);
}

ul_status ul_source_open_bytes(ul_source **out, const void *content, size_t size, const char *name,
                               const ul_source_options *options, ul_error *err) {
  ul_bytes *bytes;
  ul_status status;

  if (!out || (!content && size))
    return ul_fail(err, UL_E_INVALID, 0,
                   "ul_source_open_bytes needs a place for the source and "
                   "bytes");
  if (!name)
    name = "memory";
  status = ul_bytes_open_memory(&bytes, content, size, err);
  if (status == UL_OK)
    status = open_bytes(out, bytes, name, options, err);
  return named(status, name, err);
}

void ul_source_close(ul_source *source) {
  if (!source)
    return;
  ul_strtab_free(source->strings);
  ul_stack_table_release(&source->stacks);
  free(source->streams);
  free(source->pools);
  free(source->recordings);
  free(source->events);
  free(source->addresses);
  free(source->actions);
  free(source->segments);
  free(source->blocks);
  UL_VEC_RELEASE(&source->marks);
  UL_VEC_RELEASE(&source->warnings);
  while (source->texts.count)
    free(source->texts.items[--source->texts.count]);
  UL_VEC_RELEASE(&source->texts);
  free(source);
}

/* --- looking --- */

const ul_source_info *ul_source_get_info(const ul_source *source) {
  return source ? &source->info : NULL;
}

const ul_recording *ul_source_recording(const ul_source *source, size_t index) {
  return source && index < source->info.device_count ? &source->recordings[index] : NULL;
}

ul_status ul_source_next(ul_source *source, ul_event *events, size_t capacity, size_t *count,
                         ul_error *err) {
  const ul_recording *recording;
  uint64_t left;
  size_t filled = 0, here;

  if (!source || !count || (!events && capacity))
    return ul_fail(err, UL_E_INVALID, 0, "ul_source_next needs a source, room and a count");
  while (filled < capacity && source->next_recording < source->info.device_count) {
    recording = &source->recordings[source->next_recording];
    left = recording->count - source->next_event;
    here = left < capacity - filled ? (size_t)left : capacity - filled;
    if (here)
      memcpy(events + filled, recording->events + source->next_event, here * sizeof(*events));
    filled += here;
    source->next_event += here;
    if (source->next_event == recording->count) {
      source->next_recording++;
      source->next_event = 0;
    }
  }
  *count = filled;
  return UL_OK;
}

void ul_source_rewind(ul_source *source) {
  if (source) {
    source->next_recording = 0;
    source->next_event = 0;
  }
}

size_t ul_source_observations(const ul_source *source, size_t index, uint64_t first,
                              ul_observation *out, size_t capacity) {
  const ul_recording *recording = ul_source_recording(source, index);
  size_t i;
  uint64_t at;

  if (!recording || !out || first >= recording->count)
    return 0;
  for (i = 0; i < capacity && recording->count - first > i; i++) {
    at = first + i;
    out[i].event = at;
    out[i].address = recording->addresses[at];
    out[i].bytes = recording->events[at].bytes;
    out[i].stream = recording->events[at].stream;
    out[i].kind = recording->actions[at];
  }
  return i;
}

size_t ul_source_stack(const ul_source *source, uint32_t stack, const uint32_t **frames) {
  const ul_stack_record *record;

  if (!source || !stack || stack > source->stacks.stacks.count) {
    if (frames)
      *frames = NULL;
    return 0;
  }
  record = &source->stacks.stacks.items[stack - 1];
  if (frames)
    *frames = source->stacks.frames_of_stacks.items + record->first;
  return record->count;
}

int ul_source_frame(const ul_source *source, uint32_t frame, ul_frame *out) {
  const ul_frame_record *record;

  if (!source || !out || frame >= source->stacks.frames.count)
    return 0;
  record = &source->stacks.frames.items[frame];
  out->name = ul_strtab_get(source->strings, record->name, NULL);
  out->filename = ul_strtab_get(source->strings, record->filename, NULL);
  out->line = record->line;
  return 1;
}

uint64_t ul_source_stream(const ul_source *source, uint32_t stream) {
  return source && stream < source->info.stream_count ? source->streams[stream] : 0;
}

int ul_source_pool(const ul_source *source, uint32_t pool, uint64_t pair[2]) {
  if (!source || !pair || pool >= source->info.pool_count)
    return 0;
  pair[0] = source->pools[2 * (size_t)pool];
  pair[1] = source->pools[2 * (size_t)pool + 1];
  return 1;
}

const char *ul_action_name(ul_action action) {
  static const char *const names[UL_ACTION_COUNT] = {
      "none",          "alloc",        "free_requested",     "free_completed",
      "segment_alloc", "segment_free", "segment_map",        "segment_unmap",
      "oom",           "snapshot",     "workspace_snapshot", "unknown"};

  return (unsigned)action < UL_ACTION_COUNT ? names[action] : "unknown";
}
