/* SPDX-License-Identifier: MIT */
/* A ul_bytes_read over memory that gives at most `chunk` bytes at a time. */
#ifndef UL_TESTS_SUPPORT_BYTE_FEED_H
#define UL_TESTS_SUPPORT_BYTE_FEED_H

#include <string.h>

#include "parsers/bytes_in.h"

struct byte_feed {
  const uint8_t *data;
  size_t size, at, chunk;
};

static inline ul_status feed_bytes(void *arg, uint8_t *buffer, size_t capacity, size_t *got,
                                   ul_error *err) {
  struct byte_feed *feed = arg;
  size_t count = feed->size - feed->at;

  (void)err;
  if (count > feed->chunk)
    count = feed->chunk;
  if (count > capacity)
    count = capacity;
  if (count)
    memcpy(buffer, feed->data + feed->at, count);
  feed->at += count;
  *got = count;
  return UL_OK;
}

#endif
