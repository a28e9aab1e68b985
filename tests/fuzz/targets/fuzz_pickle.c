/* SPDX-License-Identifier: MIT */
/* Properties of the pickle machine: the same end whether the file comes whole or byte by byte, a
 * sentence with every failure, and memory within the budget. */
#include <stdlib.h>
#include <string.h>

#include "parsers/pickle_reader.h"
#include "tests/support/byte_feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
  ul_status status;
  unsigned protocol, tag;
  uint64_t consumed;
  size_t strings, objects, memo;
  ul_error err;
};

static struct result run(const uint8_t *data, size_t size, size_t chunk) {
  struct byte_feed feed = {data, size, 0, chunk};
  struct result result = {0};
  ul_bytes *bytes = NULL;
  ul_heap heap;
  ul_value value = UL_VALUE_UNSET;

  result.status = ul_bytes_open_reader(&bytes, feed_bytes, &feed, size, &result.err);
  if (result.status != UL_OK)
    return result;
  result.status = ul_heap_init(&heap, &result.err);
  if (result.status == UL_OK)
    result.status = ul_pickle_read(bytes, &heap, &value, &result.protocol, &result.err);
  if (result.status == UL_OK) {
    result.tag = ul_value_tag(value);
    result.consumed = ul_bytes_offset(bytes, bytes->at);
    if (value == UL_VALUE_UNSET || ul_heap_type(&heap, value)[0] == '\0')
      abort();
  }
  if (heap.held > heap.limit)
    abort();
  result.strings = ul_strtab_count(heap.strings);
  result.objects = heap.objects.count;
  result.memo = heap.memo.count;
  ul_heap_release(&heap);
  ul_bytes_close(bytes);
  return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct result whole, bits;

  /* Damage to a compressed input may show earlier or later: fuzz_bytes_in is about those. */
  if (size && (data[0] == 0x1f || (data[0] == 0x28 && size > 1 && data[1] == 0xb5) ||
               (size > 1 && (data[0] & 0xf0) == 0x50 && data[1] == 0x2a)))
    return 0;
  whole = run(data, size, SIZE_MAX);
  bits = run(data, size, 1);
  if (whole.status != bits.status || whole.tag != bits.tag || whole.consumed != bits.consumed ||
      whole.strings != bits.strings || whole.objects != bits.objects || whole.memo != bits.memo)
    abort();
  if (whole.status != UL_OK &&
      (!whole.err.message[0] || strcmp(whole.err.message, bits.err.message) != 0))
    abort();
  return 0;
}
