/* SPDX-License-Identifier: MIT */
/* allocator_settings as the string that PYTORCH_CUDA_ALLOC_CONF takes. The resolved fields are what
 * the allocator obeyed; the recorded string may be older than they are. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "parsers/snapshot_columns.h"

enum { DIVISIONS = 16, TEXT_BYTES = 1024 };

struct text {
  char bytes[TEXT_BYTES];
  size_t used;
};

static void add(struct text *text, const char *key, const char *value) {
  if (text->used < TEXT_BYTES)
    text->used += (size_t)snprintf(text->bytes + text->used, TEXT_BYTES - text->used, "%s%s:%s",
                                   text->used ? "," : "", key, value);
}

/* PyTorch writes these two as True and False. */
static void add_flags(struct text *text, const ul_heap *heap, ul_value settings) {
  static const char *const flags[] = {"expandable_segments", "release_lock_on_cudamalloc",
                                      "graph_capture_record_stream_reuse"};
  size_t i;

  for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
    if (ul_heap_lookup(heap, settings, flags[i]) == UL_VALUE_TRUE)
      add(text, flags[i], "True");
  }
}

static void add_max_split(struct text *text, const ul_heap *heap, ul_value settings) {
  char number[32];
  uint64_t bytes;
  int negative;

  /* -1 is unlimited; SIZE_MAX has been written unsigned as well. */
  if (!ul_heap_int(heap, ul_heap_lookup(heap, settings, "max_split_size"), &bytes, &negative) ||
      negative || bytes > (uint64_t)INT64_MAX)
    return;
  snprintf(number, sizeof(number), "%" PRIu64, bytes / UL_MIB);
  add(text, "max_split_size_mb", number);
}

static void add_threshold(struct text *text, const ul_heap *heap, ul_value settings) {
  ul_value value = ul_heap_lookup(heap, settings, "garbage_collection_threshold");
  char number[40];
  double threshold;
  int digits;

  if (ul_value_tag(value) != UL_TAG_FLOAT)
    return;
  threshold = heap->floats.items[ul_value_index(value)];
  if (!(threshold > 0 && threshold < 1))
    return;
  /* The shortest text that reads back as the same number. */
  for (digits = 1; digits <= 17; digits++) {
    snprintf(number, sizeof(number), "%.*g", digits, threshold);
    if (strtod(number, NULL) == threshold)
      break;
  }
  add(text, "garbage_collection_threshold", number);
}

static void add_divisions(struct text *text, const ul_heap *heap, ul_value settings) {
  ul_value dict = ul_heap_lookup(heap, settings, "roundup_power2_divisions");
  char list[512] = "[", key[16];
  size_t used = 1;
  uint64_t division;
  int i, negative, any = 0;

  for (i = 0; i < DIVISIONS; i++) {
    snprintf(key, sizeof(key), "%u", 1u << i);
    if (!ul_heap_int(heap, ul_heap_lookup(heap, dict, key), &division, &negative) || negative ||
        division > UINT32_MAX)
      division = 0;
    any |= division != 0;
    /* Intervals that are not named have 0, but the first named one stands for those below it; a
     * list with 0 is an error in releases that cannot have one there. */
    if (division || !i)
      used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s:%" PRIu64,
                               used > 1 ? "," : "", key, division);
  }
  snprintf(list + used, sizeof(list) - used, "]");
  if (any)
    add(text, "roundup_power2_divisions", list);
}

/* ---- keys that no resolved field tells ---- */

/* The whole number that the last "KEY:" of the text has, white space passed over; 0: none. */
static uint64_t recorded_number(const char *text, const char *key) {
  const char *at = text;
  uint64_t found = 0;
  char *end;

  while ((at = strstr(at, key)) != NULL) {
    const int begins = at == text || strchr(", \t", at[-1]) != NULL;
    at += strlen(key);
    at += strspn(at, " \t");
    if (!begins || *at != ':')
      continue;
    at++;
    at += strspn(at, " \t");
    if (*at >= '0' && *at <= '9')
      found = strtoull(at, &end, 10);
  }
  return found;
}

static void add_number(struct text *text, const char *key, uint64_t value) {
  char number[32];

  snprintf(number, sizeof(number), "%" PRIu64, value);
  add(text, key, number);
}

/* The string may be one that was refused, so its values are taken only where some release would. */
static void add_unresolved(struct text *text, const char *recorded) {
  enum { USUAL_MB = 20, LEAST_MB = 11, MOST_MB = 1 << 24 };
  const uint64_t large = recorded_number(recorded, "large_segment_size_mb");
  const uint64_t rounding = recorded_number(recorded, "max_non_split_rounding_mb");
  const int has_large = large >= LEAST_MB && large <= MOST_MB && large != USUAL_MB;

  if (has_large)
    add_number(text, "large_segment_size_mb", large);
  if (rounding >= (has_large ? large : USUAL_MB) && rounding <= MOST_MB && rounding != USUAL_MB)
    add_number(text, "max_non_split_rounding_mb", rounding);
}

ul_status ul_layout_settings(ul_layout *layout, ul_snapshot *snapshot, ul_value settings,
                             ul_source *source, ul_error *err) {
  static const char *const names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
                                      "PYTORCH_NPU_ALLOC_CONF",  "PYTORCH_HIP_ALLOC_CONF",
                                      "PYTORCH_XPU_ALLOC_CONF",  "PYTORCH_MUSA_ALLOC_CONF"};
  const ul_heap *heap = &snapshot->heap;
  const ul_object *object = ul_heap_object(heap, settings);
  struct text text = {{0}, 0};
  ul_value recorded;
  size_t i;

  if (!object || object->kind != UL_OBJECT_DICT)
    return ul_fail(err, UL_E_MALFORMED, 0, "allocator_settings must be a dict, found %s",
                   ul_heap_type(heap, settings));
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    recorded = ul_heap_lookup(heap, settings, names[i]);
    if (ul_word(recorded))
      source->info.settings_recorded = ul_strtab_get(heap->strings, ul_word(recorded), NULL);
    if (recorded != UL_VALUE_UNSET && strstr(names[i], "NPU"))
      layout->top |= UL_TOP_NPU;
  }
  if (ul_heap_lookup(heap, settings, "graph_capture_record_stream_reuse") != UL_VALUE_UNSET)
    layout->top |= UL_TOP_STREAM_REUSE;
  if (ul_heap_lookup(heap, settings, "max_round_threshold") != UL_VALUE_UNSET)
    layout->top |= UL_TOP_ROUND_THRESHOLD;
  if (ul_heap_lookup(heap, settings, "max_split_size") == UL_VALUE_UNSET &&
      ul_heap_lookup(heap, settings, "PYTORCH_ALLOC_CONF") != UL_VALUE_UNSET)
    layout->top |= UL_TOP_XPU;
  add_flags(&text, heap, settings);
  add_max_split(&text, heap, settings);
  add_threshold(&text, heap, settings);
  add_divisions(&text, heap, settings);
  if (source->info.settings_recorded && !(layout->top & (UL_TOP_NPU | UL_TOP_XPU)))
    add_unresolved(&text, source->info.settings_recorded);
  source->info.settings = ul_source_keep(source, text.bytes);
  return source->info.settings ? UL_OK : ul_fail_nomem(err, "settings");
}
