/* SPDX-License-Identifier: MIT */
#include "allocator/device.h"

#include <string.h>

#include "base/units.h"

/* Invented addresses start where no real device or range lies, so that they can never be mistaken
 * for recorded ones. */
#define RISING_BASE    (UINT64_C(1) << 60)
#define FIRST_FIT_BASE UINT64_C(0)
/* First fit keeps ranges apart from segments, as drivers do. */
#define RANGE_BASE   (UINT64_C(1) << 44)
#define LAST_ADDRESS (UINT64_C(1) << 63)

/* The driver gives memory out in units of 2 MiB. */
static uint64_t charged(uint64_t bytes) {
  return bytes > UINT64_MAX - 2 * UL_MIB ? UINT64_MAX : ul_round_up(bytes, 2 * UL_MIB);
}

void ul_device_init(ul_device *device, const ul_model_options *options) {
  memset(device, 0, sizeof(*device));
  device->capacity_bytes = options->device_bytes;
  device->external_bytes = options->external_bytes;
  device->policy = options->address_policy;
  device->next_address[0] =
      device->policy == UL_ADDRESS_RISING_APART ? FIRST_FIT_BASE : RISING_BASE;
  device->next_address[1] = RANGE_BASE;
}

void ul_device_release(ul_device *device) {
  ul_spans_release(&device->spans);
}

int ul_device_copy(ul_device *to, const ul_device *from) {
  *to = *from;
  to->grants = NULL;
  return ul_spans_copy(&to->spans, &from->spans);
}

/* Lowest free address from base on that has room. What is known to be full from there on is not
 * looked at again. */
static uint64_t first_fit(ul_device *device, uint64_t base, uint64_t bytes) {
  uint64_t *known = &device->no_gap_below[base == RANGE_BASE];
  uint64_t at = *known > base ? *known : base;
  int full = 1;
  ul_span_at where;
  const ul_span *span = ul_spans_above(&device->spans, at, &where);

  for (; span; span = ul_spans_next(&device->spans, &where)) {
    if (span->address > at && span->address - at >= bytes)
      break;
    full &= span->address <= at;
    at = span->address + ul_round_up(span->bytes, UL_MIB * 2);
    if (full)
      *known = at;
  }
  return at;
}

static int is_rising(const ul_device *device) {
  return device->policy == UL_ADDRESS_RISING || device->policy == UL_ADDRESS_RISING_APART;
}

/* The next address above all earlier ones: of all, or of segments and ranges each. */
static uint64_t *next_address(ul_device *device, uint64_t base) {
  return &device->next_address[device->policy == UL_ADDRESS_RISING_APART && base == RANGE_BASE];
}

/* Also on a device without a capacity addresses end somewhere, and nobody has an exabyte: sizes
 * below that can be added and kept in sets without a thought. */
static int ends_in_range(uint64_t address, uint64_t bytes) {
  return bytes < 2 * UL_DEVICE_MOST_BYTES && address <= LAST_ADDRESS - charged(bytes);
}

static ul_device_answer place(ul_device *device, uint64_t base, uint64_t bytes, uint64_t *address) {
  ul_span span = {0, bytes, 0};

  if (is_rising(device)) {
    uint64_t *next = next_address(device, base);
    if (!ends_in_range(*next, bytes))
      return UL_DEVICE_REFUSED;
    *address = *next;
    *next += charged(bytes);
    return UL_DEVICE_GRANTED;
  }
  span.address = first_fit(device, base, bytes);
  if (!ends_in_range(span.address, bytes))
    return UL_DEVICE_REFUSED;
  if (!ul_spans_insert(&device->spans, span))
    return UL_DEVICE_NOMEM;
  *address = span.address;
  return UL_DEVICE_GRANTED;
}

static void forget_span(ul_device *device, uint64_t address) {
  const ul_span *span;
  ul_span_at at;

  if (is_rising(device))
    return;
  span = ul_spans_above(&device->spans, address, &at);
  if (!span || span->address != address)
    return;
  ul_spans_remove(&device->spans, at);
  if (address < device->no_gap_below[0])
    device->no_gap_below[0] = address;
  if (address < device->no_gap_below[1])
    device->no_gap_below[1] = address;
}

int ul_device_take(ul_device *device, uint64_t address, uint64_t bytes) {
  const ul_span span = {address, bytes, 0};

  device->used_bytes += charged(bytes);
  if (is_rising(device)) {
    uint64_t *next = next_address(device, address < RANGE_BASE ? FIRST_FIT_BASE : RANGE_BASE);
    if (address + bytes > *next)
      *next = ul_round_up(address + bytes, UL_MIB * 2);
    return 1;
  }
  return ul_spans_insert(&device->spans, span);
}

uint64_t ul_device_free_bytes(const ul_device *device) {
  const uint64_t capacity = device->capacity_bytes, used = device->used_bytes;

  if (used > capacity || device->external_bytes > capacity - used)
    return 0;
  return capacity - used - device->external_bytes;
}

static int over_capacity(const ul_device *device, uint64_t bytes) {
  return device->capacity_bytes && bytes > ul_device_free_bytes(device);
}

/* What the recording says about this request: an answer, or NULL to ask the policy. */
static const ul_driver_call *recorded_answer(ul_device *device, int kind, int *refused) {
  const ul_grants *grants = device->grants;

  *refused = 0;
  if (!grants)
    return NULL;
  if (device->grant >= grants->count) {
    *refused = grants->refuse_rest;
    return NULL;
  }
  if (grants->calls[device->grant].kind == kind)
    return &grants->calls[device->grant];
  *refused = grants->calls[device->grant].kind == UL_DRIVER_SEGMENT_FREE ||
             grants->calls[device->grant].kind == UL_DRIVER_SEGMENT_UNMAP;
  return NULL;
}

ul_device_answer ul_device_malloc(ul_device *device, uint64_t bytes, uint64_t *address) {
  int refused;
  const ul_driver_call *recorded = recorded_answer(device, UL_DRIVER_SEGMENT_ALLOC, &refused);
  ul_device_answer answer;

  if (refused || bytes >= UL_DEVICE_MOST_BYTES ||
      (!device->grants && over_capacity(device, charged(bytes))))
    return UL_DEVICE_REFUSED;
  if (recorded && recorded->bytes == bytes) {
    device->grant++;
    device->used_bytes += charged(bytes);
    *address = recorded->address;
    return UL_DEVICE_GRANTED;
  }
  answer = place(device, FIRST_FIT_BASE, bytes, address);
  if (answer == UL_DEVICE_GRANTED)
    device->used_bytes += charged(bytes);
  return answer;
}

static void note_release(ul_device *device, int kind, uint64_t address) {
  const ul_grants *grants = device->grants;

  if (grants && device->grant < grants->count && grants->calls[device->grant].kind == kind &&
      grants->calls[device->grant].address == address)
    device->grant++;
}

void ul_device_free(ul_device *device, uint64_t address, uint64_t bytes) {
  device->used_bytes -= charged(bytes);
  forget_span(device, address);
  note_release(device, UL_DRIVER_SEGMENT_FREE, address);
}

ul_device_answer ul_device_reserve(ul_device *device, uint64_t bytes, uint64_t *address) {
  int refused;
  const ul_driver_call *recorded = recorded_answer(device, UL_DRIVER_SEGMENT_MAP, &refused);

  if (recorded) {
    *address = recorded->address;
    return UL_DEVICE_GRANTED;
  }
  return place(device, RANGE_BASE, bytes, address);
}

void ul_device_unreserve(ul_device *device, uint64_t address) {
  forget_span(device, address);
}

ul_device_answer ul_device_map(ul_device *device, uint64_t address, uint64_t bytes) {
  int refused;
  const ul_driver_call *recorded = recorded_answer(device, UL_DRIVER_SEGMENT_MAP, &refused);

  (void)address;
  if (refused || (!device->grants && over_capacity(device, bytes)))
    return UL_DEVICE_REFUSED;
  if (recorded)
    device->grant++;
  device->used_bytes += bytes;
  return UL_DEVICE_GRANTED;
}

void ul_device_unmap(ul_device *device, uint64_t address, uint64_t bytes) {
  device->used_bytes -= bytes;
  note_release(device, UL_DRIVER_SEGMENT_UNMAP, address);
}

void ul_device_after_flush(ul_device *device) {
  const ul_grants *grants = device->grants;

  while (grants && device->grant < grants->count &&
         (grants->calls[device->grant].kind == UL_DRIVER_SEGMENT_FREE ||
          grants->calls[device->grant].kind == UL_DRIVER_SEGMENT_UNMAP))
    device->grant++;
}
