/* SPDX-License-Identifier: MIT */
/* Which release and which back end wrote a snapshot: concluded from keys, since no file says so. */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "parsers/snapshot_columns.h"

enum { OLDEST = 104, NEWEST = UINT16_MAX };

/* Where a key can be: on the top level (UL_TOP_*), in entries, blocks or segments. */
enum { IN_TOP, IN_ENTRY, IN_BLOCK, IN_SEGMENT };

/* A key's first and last release. Without the key the file is older than `since` only if absence
 * says so: it is always written, and there is a place where it would be. */
struct fact {
  int where;
  uint64_t key;
  uint16_t since, until;
  uint8_t always;
};

static const struct fact facts[] = {
    {IN_SEGMENT, UL_KEY_BIT(REQUESTED_SIZE), 200, NEWEST, 1},
    {IN_SEGMENT, UL_KEY_BIT(REGISTRATION_COUNTER), 211, NEWEST, 0},
    {IN_BLOCK, UL_KEY_BIT(HISTORY), 113, 200, 0},
    {IN_BLOCK, UL_KEY_BIT(ADDRESS), 201, NEWEST, 1},
    {IN_ENTRY, UL_KEY_BIT(TIME_US), 202, NEWEST, 1},
    {IN_ENTRY, UL_KEY_BIT(COMPILE_CONTEXT), 208, NEWEST, 1},
    {IN_ENTRY, UL_KEY_BIT(USER_METADATA), 210, NEWEST, 1},
    {IN_ENTRY, UL_KEY_BIT(POOL_ID), 212, NEWEST, 0},
    {IN_TOP, UL_TOP_IS_DICT, 113, NEWEST, 0},
    {IN_TOP, UL_TOP_SETTINGS, 203, NEWEST, 1},
    {IN_TOP, UL_TOP_ANNOTATIONS, 205, NEWEST, 1},
    {IN_TOP, UL_TOP_HOST, 213, NEWEST, 0},
    {IN_TOP, UL_TOP_ROUND_THRESHOLD, 213, NEWEST, 0},
};

/* Only where there are settings. */
static const struct fact setting_fact = {IN_TOP, UL_TOP_STREAM_REUSE, 209, NEWEST, 1};

struct range {
  uint16_t oldest, newest;
};

/* 2.0 follows 1.13. */
static uint16_t release_before(uint16_t release) {
  return release == 200 ? 113 : (uint16_t)(release - 1);
}

static void narrow(struct range *range, const struct fact *fact, uint64_t keys, int can_tell) {
  if (keys & fact->key) {
    if (fact->since > range->oldest)
      range->oldest = fact->since;
    if (fact->until < range->newest)
      range->newest = fact->until;
  } else if (can_tell && fact->always && fact->since <= range->newest) {
    range->newest = release_before(fact->since);
  }
}

struct keys {
  uint64_t entry, block, segment, top;
  int has_entries, has_blocks;
};

static struct keys collect(const ul_snapshot *snapshot, const ul_layout *layout) {
  struct keys keys = {snapshot->entry_keys, snapshot->block_keys, 0, layout->top, 0, 0};
  uint64_t i;

  for (i = 0; i < layout->segment_count; i++) {
    keys.segment |= snapshot->segments.items[layout->first_segment + i].keys;
    keys.has_blocks |= snapshot->segments.items[layout->first_segment + i].segment.block_count > 0;
  }
  keys.has_entries = layout->runs.count > 0;
  return keys;
}

static struct range find_range(const struct keys *keys) {
  struct range range = {OLDEST, NEWEST};
  const struct {
    uint64_t keys;
    int can_tell;
  } places[] = {
      [IN_TOP] = {keys->top, (keys->top & UL_TOP_IS_DICT) != 0},
      [IN_ENTRY] = {keys->entry, keys->has_entries},
      [IN_BLOCK] = {keys->block, keys->has_blocks},
      [IN_SEGMENT] = {keys->segment, keys->segment != 0},
  };
  size_t i;

  for (i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
    narrow(&range, &facts[i], places[facts[i].where].keys, places[facts[i].where].can_tell);
  narrow(&range, &setting_fact, keys->top, (keys->top & UL_TOP_SETTINGS) != 0);
  return range;
}

/* --- words --- */

static ul_status name_era(const struct range *range, ul_source *source, ul_error *err) {
  char text[64];
  unsigned oldest = range->oldest, newest = range->newest;

  if (newest == NEWEST)
    snprintf(text, sizeof(text), "torch %u.%u and later", oldest / 100, oldest % 100);
  else if (oldest == OLDEST)
    snprintf(text, sizeof(text), "torch %u.%u and earlier", newest / 100, newest % 100);
  else if (oldest == newest)
    snprintf(text, sizeof(text), "torch %u.%u", oldest / 100, oldest % 100);
  else
    snprintf(text, sizeof(text), "torch %u.%u - %u.%u", oldest / 100, oldest % 100, newest / 100,
             newest % 100);
  source->info.era = ul_source_keep(source, text);
  source->info.releases.oldest = range->oldest;
  source->info.releases.newest = newest == NEWEST ? 0 : range->newest;
  return source->info.era ? UL_OK : ul_fail_nomem(err, "names");
}

/* Back ends that copied the format, by what they do differently. */
static const char *find_backend(const struct keys *keys, const ul_source *source) {
  size_t i;

  for (i = 0; i < source->info.device_count; i++) {
    if (source->recordings[i].action_counts[UL_ACTION_WORKSPACE_SNAPSHOT])
      return "npu";
  }
  if (keys->top & UL_TOP_NPU)
    return "npu";
  if (keys->top & UL_TOP_XPU)
    return "xpu";
  if (keys->block & UL_KEY_BIT(ADDRESS) && keys->segment &&
      !(keys->segment & (UL_KEY_BIT(SEGMENT_POOL_ID) | UL_KEY_BIT(IS_EXPANDABLE))))
    return keys->entry & UL_KEY_BIT(CATEGORY) ? "profiler" : "gcu";
  return "cuda";
}

static ul_status name_backend(const struct keys *keys, ul_source *source, ul_error *err) {
  const char *backend = find_backend(keys, source);
  int is_profiler = backend[0] == 'p';

  source->info.backend = backend;
  if (backend[0] == 'c' && backend[1] == 'u')
    return UL_OK;
  if (is_profiler)
    return ul_source_warn(source, 1, 0, err,
                          "the snapshot was made from profiler data: its segments are invented, so "
                          "placements mean nothing");
  return ul_source_warn(source, 1, 0, err,
                        "the snapshot looks like one of the %s back end, whose sizes and rounding "
                        "differ from CUDA's; a replay follows CUDA's rules",
                        backend);
}

static int any_requested(const struct keys *keys) {
  return (keys->block & (UL_KEY_BIT(REQUESTED_SIZE) | UL_KEY_BIT(HISTORY))) != 0;
}

ul_status ul_snapshot_info(const ul_snapshot *snapshot, const ul_layout *layout, ul_source *source,
                           ul_error *err) {
  struct keys keys = collect(snapshot, layout);
  struct range range = find_range(&keys);

  if (range.oldest > range.newest) {
    UL_TRY(ul_source_warn(source, 1, 0, err,
                          "the keys of the snapshot belong to no single PyTorch release: some are "
                          "of %u.%u or later, others of that time are missing",
                          range.oldest / 100u, range.oldest % 100u));
    range.newest = NEWEST;
  }
  UL_TRY(name_era(&range, source, err));
  UL_TRY(name_backend(&keys, source, err));
  source->info.stack_count = source->stacks.stacks.count;
  source->info.frame_count = source->stacks.frames.count;
  source->info.string_count = ul_strtab_count(source->strings);
  source->info.has_time = keys.has_entries && (keys.entry & UL_KEY_BIT(TIME_US)) != 0;
  source->info.has_pool_ids = (keys.entry & UL_KEY_BIT(POOL_ID)) != 0;
  source->info.has_frames = source->stacks.stacks.count != 0;
  source->info.has_settings = source->info.settings != NULL;
  source->info.has_requested_sizes = any_requested(&keys) != 0;
  return UL_OK;
}
