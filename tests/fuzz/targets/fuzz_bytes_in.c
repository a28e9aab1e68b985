/* SPDX-License-Identifier: MIT */
/* Property: content, status and message do not depend on the pieces in which the input arrives. */
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "parsers/bytes_in.h"
#include "tests/support/byte_feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONTENT_MAX = 4 << 20 /* a bomb is unpacked no further */ };

struct result {
  ul_status status;
  uint64_t content, hash;
  ul_error err;
};

static ul_status read_all(ul_bytes *bytes, size_t step, struct result *result) {
  XXH3_state_t state;
  size_t here;

  XXH3_64bits_reset(&state);
  for (;;) {
    UL_TRY(ul_bytes_need(bytes, step, &result->err));
    here = (size_t)(bytes->end - bytes->at);
    if (here > step)
      here = step;
    if (ul_bytes_offset(bytes, bytes->at) != result->content)
      abort();
    if (!here || result->content + here > CONTENT_MAX)
      break;
    XXH3_64bits_update(&state, bytes->at, here);
    result->content += here;
    bytes->at += here;
  }
  result->hash = XXH3_64bits_digest(&state);
  return UL_OK;
}

static struct result read_in_chunks(const uint8_t *data, size_t size, size_t chunk, size_t step) {
  struct byte_feed feed = {data, size, 0, chunk};
  struct result result = {0};
  ul_bytes *bytes = NULL;

  result.status = ul_bytes_open_reader(&bytes, feed_bytes, &feed, size, &result.err);
  if (result.status == UL_OK)
    result.status = read_all(bytes, step, &result);
  if (bytes && bytes->input_bytes > size)
    abort();
  ul_bytes_close(bytes);
  return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct result whole = read_in_chunks(data, size, SIZE_MAX, 4096);
  struct result bits = read_in_chunks(data, size, 1, 4096);

  if (whole.status != bits.status)
    abort();
  if (whole.status == UL_OK && (whole.content != bits.content || whole.hash != bits.hash))
    abort();
  if (whole.status != UL_OK && !whole.err.message[0])
    abort();
  return 0;
}
