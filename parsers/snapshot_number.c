/* SPDX-License-Identifier: MIT */
/* Final numbers of streams and pools: only those that devices use, in an order that does not depend
 * on where the file mentions them first. */
#include <stdlib.h>

#include "base/error.h"
#include "parsers/snapshot_columns.h"

/* One kind of number: old number -> new one. */
struct numbering {
  uint32_t *number; /* of each old one; while collecting, not 0 means used */
  uint32_t *order;  /* old numbers, by new one */
  size_t count;
};

struct key {
  uint64_t first, second;
  uint32_t old;
};

static int by_key(const void *a, const void *b) {
  const struct key *x = a, *y = b;

  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return x->second < y->second ? -1 : x->second > y->second;
}

/* Old number 0, the default, is always used and always first. */
static int arrange(struct numbering *numbering, size_t old_count, const uint64_t *keys,
                   size_t width) {
  struct key *sorted = NULL;
  size_t i, used = 0;

  numbering->number[0] = 1;
  for (i = 0; i < old_count; i++)
    used += numbering->number[i] != 0;
  sorted = malloc(used * sizeof(*sorted));
  numbering->order = malloc(used * sizeof(*numbering->order));
  numbering->count = used;
  if (!sorted || !numbering->order) {
    free(sorted);
    return 0;
  }
  for (i = used = 0; i < old_count; i++) {
    if (!numbering->number[i])
      continue;
    sorted[used].first = keys[i * width];
    sorted[used].second = width > 1 ? keys[i * width + 1] : 0;
    sorted[used++].old = (uint32_t)i;
  }
  qsort(sorted, used, sizeof(*sorted), by_key);
  for (i = 0; i < used; i++) {
    numbering->order[i] = sorted[i].old;
    numbering->number[sorted[i].old] = (uint32_t)i;
  }
  free(sorted);
  return 1;
}

static void collect(const ul_snapshot *snapshot, const ul_layout *layout, uint32_t *streams,
                    uint32_t *pools) {
  const ul_segment *segment;
  const ul_trace_run *run;
  const ul_event *entry;
  uint64_t i;
  size_t r;

  for (i = 0; i < layout->segment_count; i++) {
    segment = &snapshot->segments.items[layout->first_segment + i].segment;
    streams[segment->stream] = 1;
    pools[segment->pool] = 1;
  }
  for (r = 0; r < layout->runs.count; r++) {
    run = &layout->runs.items[r];
    for (i = 0; i < run->count; i++) {
      entry = &snapshot->entries.items[run->first + i];
      streams[entry->stream] = 1;
      pools[entry->pool] = 1;
    }
  }
}

static int is_identity(const struct numbering *numbering, size_t old_count) {
  size_t i;

  for (i = 0; i < numbering->count && numbering->order[i] == i; i++)
    continue;
  return i == numbering->count && i <= old_count;
}

static void apply(ul_snapshot *snapshot, const ul_layout *layout, const uint32_t *streams,
                  const uint32_t *pools) {
  ul_segment *segment;
  const ul_trace_run *run;
  ul_event *entry;
  uint64_t i;
  size_t r;

  for (i = 0; i < layout->segment_count; i++) {
    segment = &snapshot->segments.items[layout->first_segment + i].segment;
    segment->stream = streams[segment->stream];
    segment->pool = pools[segment->pool];
  }
  for (r = 0; r < layout->runs.count; r++) {
    run = &layout->runs.items[r];
    for (i = 0; i < run->count; i++) {
      entry = &snapshot->entries.items[run->first + i];
      entry->stream = streams[entry->stream];
      entry->pool = pools[entry->pool];
    }
  }
}

static ul_status hand_over(const ul_snapshot *snapshot, ul_source *source,
                           const struct numbering *streams, const struct numbering *pools,
                           ul_error *err) {
  size_t i;

  source->streams = malloc(streams->count * sizeof(*source->streams));
  source->pools = malloc(pools->count * 2 * sizeof(*source->pools));
  if (!source->streams || !source->pools)
    return ul_fail_nomem(err, "streams and pools");
  for (i = 0; i < streams->count; i++)
    source->streams[i] = snapshot->streams.items[streams->order[i]];
  for (i = 0; i < pools->count; i++) {
    source->pools[2 * i] = snapshot->heap.pairs.items[2 * (size_t)pools->order[i]];
    source->pools[2 * i + 1] = snapshot->heap.pairs.items[2 * (size_t)pools->order[i] + 1];
  }
  source->info.stream_count = streams->count;
  source->info.pool_count = pools->count;
  return UL_OK;
}

ul_status ul_snapshot_number(ul_snapshot *snapshot, const ul_layout *layout, ul_source *source,
                             ul_error *err) {
  size_t stream_count = snapshot->streams.count, pool_count = snapshot->heap.pairs.count / 2;
  struct numbering streams = {calloc(stream_count, sizeof(uint32_t)), NULL, 0};
  struct numbering pools = {calloc(pool_count, sizeof(uint32_t)), NULL, 0};
  ul_status status;

  if (streams.number && pools.number) {
    /* With the defaults alone, which are always used, no entry needs to be looked at. */
    if (stream_count > 1 || pool_count > 1)
      collect(snapshot, layout, streams.number, pools.number);
    if (arrange(&streams, stream_count, snapshot->streams.items, 1) &&
        arrange(&pools, pool_count, snapshot->heap.pairs.items, 2)) {
      if (!is_identity(&streams, stream_count) || !is_identity(&pools, pool_count))
        apply(snapshot, layout, streams.number, pools.number);
      status = hand_over(snapshot, source, &streams, &pools, err);
    } else {
      status = ul_fail_nomem(err, "streams and pools");
    }
  } else {
    status = ul_fail_nomem(err, "streams and pools");
  }
  free(streams.number);
  free(streams.order);
  free(pools.number);
  free(pools.order);
  return status;
}
