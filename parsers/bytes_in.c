/* SPDX-License-Identifier: MIT */
#include "parsers/bytes_in.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "parsers/carrier.h"

enum {
  SNIFFED_BYTES = 8,
  MOVED_BYTES = 4096,
  /* A gigabyte from a megabyte is a trap, not a recording: those shrink 10 to 60 times. */
  EXPANSION_LIMIT = 1000,
};
static const uint64_t expansion_free = UINT64_C(256) << 20;

struct ul_bytes_layer {
  ul_bytes_read *read;
  void *arg;
  int fd; /* owned if close_fd */
  int close_fd;
  const uint8_t *memory, *memory_end;
  /* carriers: */
  const ul_carrier *carrier;
  void *state;
  uint8_t *buffer; /* bytes of the layer below */
  size_t buffer_size;
  ul_carrier_input input;
  int finished;
};

static const ul_carrier *const carriers[] = {&ul_carrier_gzip, &ul_carrier_zstd};

/* --- the input itself --- */

static ul_status read_fd(void *arg, uint8_t *buffer, size_t capacity, size_t *got, ul_error *err) {
  const struct ul_bytes_layer *layer = arg;
  char reason[128];
  ssize_t n;

  do
    n = read(layer->fd, buffer, capacity);
  while (n < 0 && errno == EINTR);
  if (n < 0) {
    if (strerror_r(errno, reason, sizeof(reason)) != 0)
      reason[0] = '\0';
    return ul_fail(err, UL_E_OPEN, 0, "cannot be read: %s", reason);
  }
  *got = (size_t)n;
  return UL_OK;
}

static ul_status read_memory(void *arg, uint8_t *buffer, size_t capacity, size_t *got,
                             ul_error *err) {
  struct ul_bytes_layer *layer = arg;
  size_t left = (size_t)(layer->memory_end - layer->memory);

  (void)err;
  *got = left < capacity ? left : capacity;
  memcpy(buffer, layer->memory, *got);
  layer->memory += *got;
  return UL_OK;
}

/* --- layers --- */

static ul_status read_layer(ul_bytes *bytes, unsigned index, uint8_t *out, size_t capacity,
                            size_t *got, ul_error *err);

static ul_status refill_carrier(ul_bytes *bytes, unsigned index, ul_error *err) {
  struct ul_bytes_layer *layer = bytes->layers[index];
  size_t kept = (size_t)(layer->input.end - layer->input.at), got = 0;

  memmove(layer->buffer, layer->input.at, kept);
  layer->input.at = layer->buffer;
  layer->input.end = layer->buffer + kept;
  UL_TRY(read_layer(bytes, index - 1, layer->buffer + kept, layer->buffer_size - kept, &got, err));
  layer->input.end += got;
  layer->input.at_eof = got == 0;
  return UL_OK;
}

static ul_status read_carrier(ul_bytes *bytes, unsigned index, uint8_t *out, size_t capacity,
                              size_t *got, ul_error *err) {
  struct ul_bytes_layer *layer = bytes->layers[index];
  const uint8_t *before;

  *got = 0;
  while (!layer->finished && !*got) {
    before = layer->input.at;
    UL_TRY(layer->carrier->decode(layer->state, &layer->input, out, capacity, got, &layer->finished,
                                  err));
    /* A decoder that can do nothing with a few bytes gets more of them; at the end it must stop. */
    if (!*got && !layer->finished && layer->input.at == before) {
      if (layer->input.at_eof)
        return ul_fail(err, UL_E_MALFORMED, 0, "the %s data ends too early: the file is cut short",
                       layer->carrier->name);
      UL_TRY(refill_carrier(bytes, index, err));
    }
  }
  return UL_OK;
}

/* Layers call the one below; there are at most UL_BYTES_CARRIERS of them. */
static ul_status read_layer(ul_bytes *bytes, unsigned index, uint8_t *out, size_t capacity,
                            size_t *got, ul_error *err) {
  struct ul_bytes_layer *layer = bytes->layers[index];

  if (index)
    return read_carrier(bytes, index, out, capacity, got, err);
  UL_TRY(layer->read(layer->arg ? layer->arg : layer, out, capacity, got, err));
  bytes->input_bytes += *got;
  if (bytes->progress &&
      bytes->progress(bytes->input_bytes, bytes->input_total, bytes->progress_arg) != 0)
    return ul_fail(err, UL_E_STATE, bytes->input_bytes, "reading was stopped by the caller");
  return UL_OK;
}

static void free_layer(struct ul_bytes_layer *layer) {
  if (!layer)
    return;
  if (layer->carrier && layer->state)
    layer->carrier->destroy(layer->state);
  if (layer->close_fd)
    close(layer->fd);
  free(layer->buffer);
  free(layer);
}

/* The window so far becomes the input of a new decoder, and a new window begins. */
static ul_status add_carrier(ul_bytes *bytes, const ul_carrier *carrier, ul_error *err) {
  struct ul_bytes_layer *layer = calloc(1, sizeof(*layer));
  uint8_t *window = calloc(1, UL_BYTES_WINDOW + UL_BYTES_PADDING);

  if (layer)
    layer->state = carrier->create();
  if (!layer || !window || !layer->state) {
    if (layer && layer->state)
      carrier->destroy(layer->state);
    free(layer);
    free(window);
    return ul_fail_nomem(err, "a decoder");
  }
  layer->carrier = carrier;
  layer->buffer = bytes->window;
  layer->buffer_size = bytes->window_size;
  layer->input.at = bytes->at;
  layer->input.end = bytes->end;
  layer->input.at_eof = 0;
  bytes->window = window;
  bytes->window_size = UL_BYTES_WINDOW;
  bytes->at = bytes->end = window;
  bytes->at_eof = 0;
  bytes->layers[bytes->layer_count++] = layer;
  if (bytes->carriers[0])
    strcat(bytes->carriers, "+");
  strcat(bytes->carriers, carrier->name);
  return UL_OK;
}

static ul_status open_carriers(ul_bytes *bytes, ul_error *err) {
  size_t i;
  const ul_carrier *found;

  for (;;) {
    UL_TRY(ul_bytes_need(bytes, SNIFFED_BYTES, err));
    found = NULL;
    for (i = 0; i < sizeof(carriers) / sizeof(carriers[0]) && !found; i++) {
      if (carriers[i]->sniff(bytes->at, (size_t)(bytes->end - bytes->at)))
        found = carriers[i];
    }
    if (!found)
      return UL_OK;
    if (bytes->layer_count > UL_BYTES_CARRIERS)
      return ul_fail(err, UL_E_LIMIT, 0,
                     "compressed more than %d times over (%s and on): unpack it first",
                     UL_BYTES_CARRIERS, bytes->carriers);
    UL_TRY(add_carrier(bytes, found, err));
  }
}

static ul_status open_layer(ul_bytes **out, const struct ul_bytes_layer *input, uint64_t total,
                            ul_error *err) {
  ul_bytes *bytes = calloc(1, sizeof(*bytes));
  struct ul_bytes_layer *layer = malloc(sizeof(*layer));
  uint8_t *window = calloc(1, UL_BYTES_WINDOW + UL_BYTES_PADDING);
  ul_status status;

  if (!bytes || !layer || !window) {
    if (input->close_fd)
      close(input->fd);
    free(bytes);
    free(layer);
    free(window);
    return ul_fail_nomem(err, "the input window");
  }
  *layer = *input;
  bytes->layers[bytes->layer_count++] = layer;
  bytes->window = window;
  bytes->window_size = UL_BYTES_WINDOW;
  bytes->at = bytes->end = window;
  bytes->input_total = total;
  status = open_carriers(bytes, err);
  if (status != UL_OK) {
    ul_bytes_close(bytes);
    return status;
  }
  *out = bytes;
  return UL_OK;
}

/* --- public --- */

ul_status ul_bytes_open_file(ul_bytes **out, const char *path, ul_error *err) {
  struct ul_bytes_layer layer = {0};
  struct stat info;
  char reason[128];
  int is_stdin = strcmp(path, "-") == 0;

  layer.read = read_fd;
  layer.fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  layer.close_fd = !is_stdin;
  if (layer.fd < 0 || fstat(layer.fd, &info) != 0) {
    if (strerror_r(errno, reason, sizeof(reason)) != 0)
      reason[0] = '\0';
    if (layer.fd >= 0 && !is_stdin)
      close(layer.fd);
    return ul_fail(err, UL_E_OPEN, 0, "cannot be opened: %s", reason);
  }
  if (S_ISDIR(info.st_mode)) {
    if (!is_stdin)
      close(layer.fd);
    return ul_fail(err, UL_E_OPEN, 0, "is a directory, not a file");
  }
  return open_layer(out, &layer, S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0, err);
}

ul_status ul_bytes_open_memory(ul_bytes **out, const void *bytes, size_t size, ul_error *err) {
  struct ul_bytes_layer layer = {0};

  layer.read = read_memory;
  layer.memory = bytes ? bytes : (const uint8_t *)"";
  layer.memory_end = layer.memory + (bytes ? size : 0);
  return open_layer(out, &layer, size, err);
}

ul_status ul_bytes_open_reader(ul_bytes **out, ul_bytes_read *read, void *arg, uint64_t total,
                               ul_error *err) {
  struct ul_bytes_layer layer = {0};

  assert(arg);
  layer.read = read;
  layer.arg = arg;
  return open_layer(out, &layer, total, err);
}

void ul_bytes_close(ul_bytes *bytes) {
  if (!bytes)
    return;
  while (bytes->layer_count)
    free_layer(bytes->layers[--bytes->layer_count]);
  free(bytes->window);
  free(bytes);
}

static ul_status grow_window(ul_bytes *bytes, size_t kept, ul_error *err) {
  size_t size = bytes->window_size * 2;
  uint8_t *window = calloc(1, size + UL_BYTES_PADDING);

  if (!window)
    return ul_fail_nomem(err, "the input window");
  memcpy(window, bytes->at, kept);
  free(bytes->window);
  bytes->window = window;
  bytes->window_size = size;
  return UL_OK;
}

/* Makes room behind the unread bytes. The window doubles only once it is full of them, so a length
 * that a file merely claims never costs memory; a long piece is not moved for every small read. */
static ul_status slide(ul_bytes *bytes, ul_error *err) {
  size_t kept = (size_t)(bytes->end - bytes->at);
  uint64_t offset = ul_bytes_offset(bytes, bytes->at);

  if (kept > MOVED_BYTES && bytes->end < bytes->window + bytes->window_size)
    return UL_OK;
  if (kept == bytes->window_size)
    UL_TRY(grow_window(bytes, kept, err));
  else
    memmove(bytes->window, bytes->at, kept);
  bytes->at = bytes->window;
  bytes->end = bytes->window + kept;
  bytes->window_offset = offset;
  return UL_OK;
}

ul_status ul_bytes_need(ul_bytes *bytes, size_t count, ul_error *err) {
  size_t got, used;

  if (count > UL_BYTES_LONGEST)
    return ul_fail(err, UL_E_LIMIT, ul_bytes_offset(bytes, bytes->at),
                   "one piece of %zu bytes is more than the %d that are read at once", count,
                   UL_BYTES_LONGEST);
  while ((size_t)(bytes->end - bytes->at) < count && !bytes->at_eof) {
    UL_TRY(slide(bytes, err));
    used = (size_t)(bytes->end - bytes->window);
    got = 0;
    UL_TRY(read_layer(bytes, bytes->layer_count - 1, bytes->window + used,
                      bytes->window_size - used, &got, err));
    bytes->end += got;
    bytes->at_eof = got == 0;
    if (bytes->layer_count > 1 && bytes->window_offset > expansion_free &&
        bytes->window_offset / EXPANSION_LIMIT > bytes->input_bytes)
      return ul_fail(err, UL_E_LIMIT, bytes->window_offset,
                     "the compressed data expands more than %d times, past %" PRIu64
                     " bytes: no recording does",
                     EXPANSION_LIMIT, bytes->window_offset);
  }
  return UL_OK;
}

ul_status ul_bytes_drain(ul_bytes *bytes, ul_error *err) {
  do {
    bytes->at = bytes->end;
    UL_TRY(ul_bytes_need(bytes, 1, err));
  } while (bytes->at != bytes->end);
  return UL_OK;
}
