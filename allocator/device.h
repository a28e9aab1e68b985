/* SPDX-License-Identifier: MIT */
/* The modelled driver of one device: capacity, addresses, and the answers that a recording says it
 * gave. Charges segments in whole multiples of 2 MiB, units of expandable ones as they
 * are. */
#ifndef UL_ALLOCATOR_DEVICE_H
#define UL_ALLOCATOR_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/spans.h"
#include "ullage/model.h"

/* No driver gives out so much at once. */
#define UL_DEVICE_MOST_BYTES (UINT64_C(1) << 60)

typedef struct ul_device {
  uint64_t capacity_bytes; /* 0: unlimited */
  uint64_t external_bytes;
  uint64_t used_bytes;
  ul_address_policy policy;
  uint64_t next_address[2]; /* rising; [1]: of ranges, where they are apart */
  ul_spans spans;           /* first fit: taken address space */
  uint64_t no_gap_below[2]; /* first fit, segments and ranges: all is taken from the base to here */
  const ul_grants *grants;  /* of the event being applied; NULL: none */
  size_t grant;             /* the next one */
} ul_device;

typedef enum ul_device_answer {
  UL_DEVICE_GRANTED,
  UL_DEVICE_REFUSED,
  UL_DEVICE_NOMEM, /* of this machine */
} ul_device_answer;

void ul_device_init(ul_device *device, const ul_model_options *options);
void ul_device_release(ul_device *device);
int ul_device_copy(ul_device *to, const ul_device *from); /* 0 without memory */

/* What the driver would say is free; 0 on a device without a capacity. */
uint64_t ul_device_free_bytes(const ul_device *device);

/* cudaMalloc. */
ul_device_answer ul_device_malloc(ul_device *device, uint64_t bytes, uint64_t *address);

/* cudaFree. */
void ul_device_free(ul_device *device, uint64_t address, uint64_t bytes);

/* cuMemAddressReserve: address space only. A recording's next mapping tells where it was. */
ul_device_answer ul_device_reserve(ul_device *device, uint64_t bytes, uint64_t *address);

/* cuMemAddressFree of a whole range. */
void ul_device_unreserve(ul_device *device, uint64_t address);

/* cuMemCreate + cuMemMap of bytes at address, and the reverse. */
ul_device_answer ul_device_map(ul_device *device, uint64_t address, uint64_t bytes);
void ul_device_unmap(ul_device *device, uint64_t address, uint64_t bytes);

/* After a full flush the driver is asked again: the recorded releases are behind us. */
void ul_device_after_flush(ul_device *device);

/* Memory taken before the first event. Returns 0 without memory. */
int ul_device_take(ul_device *device, uint64_t address, uint64_t bytes);

#endif
