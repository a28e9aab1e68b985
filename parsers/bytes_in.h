/* SPDX-License-Identifier: MIT */
/* Bytes of an input, from a file, standard input or memory, seen through a sliding window. gzip and
 * zstd layers are recognised by their first bytes and opened by themselves, stacked up to
 * UL_BYTES_CARRIERS deep. Owns the window and the layers; knows nothing of what the bytes mean.
 *
 * A reader looks at [at, end), moves `at` forward, and calls ul_bytes_need when it wants more.
 * UL_BYTES_PADDING bytes after end may be read (their value means nothing), so that small fixed
 * operands need no check of their own. One thread at a time. */
#ifndef UL_PARSERS_BYTES_IN_H
#define UL_PARSERS_BYTES_IN_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/error.h"
#include "ullage/source.h"

enum {
  UL_BYTES_WINDOW = 256 * 1024,
  UL_BYTES_PADDING = 16,
  UL_BYTES_CARRIERS = 4,              /* layers of compression around the content */
  UL_BYTES_LONGEST = 16 * 1024 * 1024 /* the most that ul_bytes_need grants at once */
};

/* Puts up to capacity bytes into buffer; *got == 0 with UL_OK is the end. */
typedef ul_status ul_bytes_read(void *arg, uint8_t *buffer, size_t capacity, size_t *got,
                                ul_error *err);

typedef struct ul_bytes {
  const uint8_t *at, *end; /* unread part of the window */
  uint8_t *window;
  size_t window_size;     /* without padding */
  uint64_t window_offset; /* of window[0] in the uncompressed content */
  int at_eof;             /* nothing comes after end */
  struct ul_bytes_layer *layers[UL_BYTES_CARRIERS + 1]; /* [0] the input, then its carriers */
  unsigned layer_count;
  uint64_t input_bytes;                 /* read from the input so far, compressed */
  uint64_t input_total;                 /* its size; 0 unknown */
  char carriers[UL_BYTES_CARRIERS * 8]; /* "", "gzip", "gzip+zstd": outermost first */
  ul_progress *progress;
  void *progress_arg;
} ul_bytes;

/* Opens path, "-" for standard input. On success *out is the caller's, until ul_bytes_close. */
ul_status ul_bytes_open_file(ul_bytes **out, const char *path, ul_error *err) UL_MUST_USE;

/* bytes must stay until ul_bytes_close. */
ul_status ul_bytes_open_memory(ul_bytes **out, const void *bytes, size_t size,
                               ul_error *err) UL_MUST_USE;

/* Any other input. total is its size, 0 if unknown. */
ul_status ul_bytes_open_reader(ul_bytes **out, ul_bytes_read *read, void *arg, uint64_t total,
                               ul_error *err) UL_MUST_USE;

/* NULL is accepted. */
void ul_bytes_close(ul_bytes *bytes);

/* Reads on until at least count bytes lie in [at, end), or all there are. Both pointers move.
 * UL_E_LIMIT if count is over UL_BYTES_LONGEST. */
ul_status ul_bytes_need(ul_bytes *bytes, size_t count, ul_error *err) UL_MUST_USE;

/* Reads and drops what is left, so that checksums of the carriers are verified. */
ul_status ul_bytes_drain(ul_bytes *bytes, ul_error *err) UL_MUST_USE;

/* Offset in the uncompressed content of a byte in the window. */
static inline uint64_t ul_bytes_offset(const ul_bytes *bytes, const uint8_t *at) {
  return bytes->window_offset + (uint64_t)(at - bytes->window);
}

#endif
