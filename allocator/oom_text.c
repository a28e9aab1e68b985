/* SPDX-License-Identifier: MIT */
#include "allocator/oom_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

typedef enum condition {
  PREEMPTED, /* refused before the driver was asked: nothing else is said */
  ASKED,
  LIMITED,
  PRIVATE, /* private pools hold free blocks */
  NOT_FIRST,
  NOT_EXPANDABLE,
  RANGE_TOO_SMALL, /* expandable, and this is why it failed */
  RANGE_SUFFICES,  /* expandable */
  POOL_REFUSED,
  OF_POOL,
  OF_POOL_NOT_FIRST,
  OF_DRIVER,
} condition;

static const struct piece {
  uint16_t first, last; /* releases */
  condition when;
  const char *text;
} pieces[] = {
#define UL_OOM_PIECE(first, last, when, text) {first, last, when, text},
#include "allocator/tables/oom_text.def"
};

enum { PIECES = sizeof(pieces) / sizeof(pieces[0]), NUMBER_BYTES = 32 };

static int holds(condition when, const ul_oom_facts *f) {
  /* A range as large as the device would not help a request that is larger than the device. */
  const int too_small =
      f->segment_bytes > f->reserve_bytes && f->segment_bytes <= f->property_bytes;

  if (f->source == UL_OOM_OF_DRIVER)
    return when == OF_DRIVER;
  if (f->source == UL_OOM_OF_POOL)
    return when == OF_POOL || (when == OF_POOL_NOT_FIRST && f->device);
  switch (when) {
  case PREEMPTED:
    return f->preempted;
  case ASKED:
    return !f->preempted;
  case LIMITED:
    return !f->preempted && f->limit_bytes != UINT64_MAX;
  case PRIVATE:
    return !f->preempted && f->private_free_bytes;
  case NOT_FIRST:
    return !f->preempted && f->device;
  case NOT_EXPANDABLE:
    return !f->preempted && !f->expandable;
  case RANGE_TOO_SMALL:
    return !f->preempted && f->expandable && too_small;
  case RANGE_SUFFICES:
    return !f->preempted && f->expandable && !too_small;
  case POOL_REFUSED:
    return !f->preempted && f->pool_refused;
  default:
    return 0;
  }
}

/* ---- numbers ---- */

/* value / unit to two places, as C++ streams write a double: to nearest, ties to even. By integers,
 * since printf's point depends on the locale. */
static void format_part(char *out, size_t size, uint64_t value, uint64_t unit, const char *name) {
  const uint64_t rest = value % unit * 100;
  uint64_t hundredths = rest / unit, half = rest % unit * 2;

  hundredths += half > unit || (half == unit && (hundredths & 1));
  snprintf(out, size, "%" PRIu64 ".%02" PRIu64 " %s", value / unit + hundredths / 100,
           hundredths % 100, name);
}

/* PyTorch's format_size. */
static void format_size(char *out, size_t size, uint64_t bytes) {
  if (bytes <= UL_KIB)
    snprintf(out, size, "%" PRIu64 " bytes", bytes);
  else if (bytes <= UL_MIB)
    format_part(out, size, bytes, UL_KIB, "KiB");
  else if (bytes <= UL_GIB)
    format_part(out, size, bytes, UL_MIB, "MiB");
  else
    format_part(out, size, bytes, UL_GIB, "GiB");
}

/* What stands in braces. */
static void format_number(char *out, size_t size, const char *name, size_t length,
                          const ul_oom_facts *f) {
  const uint64_t with_private = f->allocated_bytes + f->private_free_bytes;
  const struct {
    const char *name;
    uint64_t bytes;
  } sizes[] = {
      {"requested", f->requested_bytes},
      {"segment", f->segment_bytes},
      {"total", f->device_bytes},
      {"free", f->free_bytes},
      {"limit", f->limit_bytes},
      {"allocated", f->allocated_bytes},
      {"reserved", f->reserved_bytes},
      {"unallocated", f->reserved_bytes - f->allocated_bytes},
      {"private", f->private_free_bytes},
      {"allocated_and_private", with_private},
      {"unallocated_but_private", f->reserved_bytes - with_private},
      {"reserve", f->reserve_bytes},
  };
  size_t i;

  if (length == 6 && memcmp(name, "device", length) == 0) {
    snprintf(out, size, "%u", (unsigned)f->device);
    return;
  }
  if (length == 9 && memcmp(name, "character", length) == 0) {
    snprintf(out, size, "%c", (char)f->device);
    return;
  }
  out[0] = '\0';
  for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    if (strlen(sizes[i].name) == length && memcmp(name, sizes[i].name, length) == 0)
      format_size(out, size, sizes[i].bytes);
  }
}

/* ---- text ---- */

typedef struct writer {
  char *out;
  size_t capacity, size;
} writer;

static void write_bytes(writer *w, const char *bytes, size_t size) {
  const size_t room = w->size + 1 < w->capacity ? w->capacity - 1 - w->size : 0;
  const size_t fits = size < room ? size : room;

  if (fits) {
    memcpy(w->out + w->size, bytes, fits);
    w->out[w->size + fits] = '\0';
  }
  w->size += size;
}

static void write_piece(writer *w, const char *text, const ul_oom_facts *facts) {
  char number[NUMBER_BYTES];

  while (*text) {
    const size_t plain = strcspn(text, "{");
    size_t name;
    write_bytes(w, text, plain);
    text += plain;
    if (!*text)
      return;
    name = strcspn(++text, "}");
    format_number(number, sizeof(number), text, name, facts);
    write_bytes(w, number, strlen(number));
    text += name + 1;
  }
}

size_t ul_oom_text(char *out, size_t capacity, const ul_profile *profile,
                   const ul_oom_facts *facts) {
  writer w = {out, capacity, 0};
  size_t i;

  if (capacity)
    out[0] = '\0';
  for (i = 0; i < PIECES; i++) {
    if (profile->release >= pieces[i].first && profile->release <= pieces[i].last &&
        holds(pieces[i].when, facts))
      write_piece(&w, pieces[i].text, facts);
  }
  return w.size;
}
