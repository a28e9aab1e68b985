/* SPDX-License-Identifier: MIT */
#include "tests/support/random_life.h"

#include <inttypes.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

#define NOW  UL_STREAM_EVENTS_AT_ONCE
#define SYNC UL_STREAM_EVENTS_ON_SYNC
#define TOLD UL_STREAM_EVENTS_RECORDED

const life_profile life_profiles[] = {
    {"default", "", 0, 113, NOW, LIFE_HISTORY},
    {"near_oom", "", 900, 113, NOW, LIFE_EXTERNAL | LIFE_ABSURD},
    {"max_split", "max_split_size_mb:30", 1200, 113, NOW, LIFE_EXTERNAL | LIFE_HISTORY},
    {"rounding", "roundup_power2_divisions:4", 2000, 113, NOW, 0},
    {"rounding_list", "roundup_power2_divisions:[64:1,256:2,1024:4,>:8]", 2000, 200, NOW, 0},
    {"collect", "garbage_collection_threshold:0.5", 1500, 113, NOW, LIFE_FRACTION},
    {"collect_split", "garbage_collection_threshold:0.6,max_split_size_mb:40", 1500, 113, NOW,
     LIFE_FRACTION | LIFE_STREAMS},
    {"non_split", "max_split_size_mb:60,max_non_split_rounding_mb:60", 1500, 206, NOW, 0},
    {"expandable", "expandable_segments:True", 0, 201, NOW, LIFE_STREAMS | LIFE_HISTORY},
    {"expandable_oom", "expandable_segments:True", 800, 201, NOW, LIFE_EXTERNAL | LIFE_STREAMS},
    {"expandable_split", "expandable_segments:True,max_split_size_mb:30", 1000, 206, NOW,
     LIFE_STREAMS},
    {"expandable_collect", "expandable_segments:True,garbage_collection_threshold:0.5", 1200, 201,
     NOW, LIFE_FRACTION},
    {"streams", "", 1500, 113, SYNC, LIFE_STREAMS | LIFE_HISTORY},
    {"streams_expandable", "expandable_segments:True", 1500, 201, SYNC, LIFE_STREAMS},
    {"pools", "", 1500, 113, SYNC, LIFE_STREAMS | LIFE_POOLS | LIFE_HISTORY},
    {"pools_expandable", "expandable_segments:True", 1500, 201, SYNC, LIFE_STREAMS | LIFE_POOLS},
    {"captures", "", 1500, 113, SYNC, LIFE_STREAMS | LIFE_POOLS | LIFE_CAPTURES},
    {"traits", "", 1500, 208, SYNC, LIFE_STREAMS | LIFE_POOLS | LIFE_TRAITS | LIFE_HISTORY},
    {"traits_expandable", "expandable_segments:True", 1500, 208, NOW, LIFE_POOLS | LIFE_TRAITS},
    {"toggles", "", 1500, 113, NOW, LIFE_TOGGLES | LIFE_FRACTION | LIFE_HISTORY},
    {"toggles_pools", "", 1500, 201, SYNC,
     LIFE_TOGGLES | LIFE_POOLS | LIFE_CAPTURES | LIFE_STREAMS},
    {"large_segments", "large_segment_size_mb:33", 1500, 211, NOW, LIFE_STREAMS},
    {"rejected", "throw_on_cudamalloc_oom:True", 1000, 212, NOW, LIFE_EXTERNAL | LIFE_FRACTION},
    {"addresses", "", 1500, 213, NOW, LIFE_ADDRESS | LIFE_STREAMS | LIFE_HISTORY},
    {"addresses_expandable", "expandable_segments:True", 1500, 213, NOW, LIFE_ADDRESS},
    {"checkpoints", "", 0, 201, NOW, LIFE_POOLS | LIFE_CHECKPOINTS | LIFE_HISTORY},
    {"reserve", "expandable_segments:True,expandable_segments_reserve:0.5", 1000, 215, NOW,
     LIFE_STREAMS},
    {"everything", "", 1200, 215, SYNC, LIFE_CROWD - 1 - LIFE_CHECKPOINTS},
    {"completed", "", 1500, 113, TOLD, LIFE_STREAMS | LIFE_POOLS | LIFE_HISTORY | LIFE_TOGGLES},
    {"completed_expandable", "expandable_segments:True", 1500, 201, TOLD,
     LIFE_STREAMS | LIFE_POOLS | LIFE_EXTERNAL},
    {"fraction", "per_process_memory_fraction:0.6,garbage_collection_threshold:0.7", 1500, 210, NOW,
     LIFE_FRACTION | LIFE_EXTERNAL | LIFE_TOGGLES},
    {"reuse", "graph_capture_record_stream_reuse:True", 1500, 209, SYNC,
     LIFE_STREAMS | LIFE_POOLS | LIFE_CAPTURES | LIFE_HISTORY},
    {"crowd", "", 0, 113, NOW, LIFE_CROWD | LIFE_STREAMS},
    {"crowd_expandable", "expandable_segments:True", 0, 201, NOW, LIFE_CROWD},
};
const size_t life_profile_count = sizeof(life_profiles) / sizeof(life_profiles[0]);

/* Every release that takes strings takes the first three; others are refused by some. */
static const char *const toggles[] = {
    "",
    "max_split_size_mb:40",
    "garbage_collection_threshold:0.6",
    "roundup_power2_divisions:8",
    "expandable_segments:True",
    "expandable_segments:False",
    "max_split_size_mb:100,roundup_power2_divisions:[256:1,512:2,>:4]",
    "nonsense:1",
    "max_split_size_mb:50,nonsense:1",
    "large_segment_size_mb:40",
    "max_split_size_mb:50,max_non_split_rounding_mb:30",
    "per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True",
    "graph_capture_record_stream_reuse:True",
    "roundup_power2_divisions:4,roundup_bypass_threshold_mb:5",
};
enum { TOGGLES = sizeof(toggles) / sizeof(toggles[0]) };

static uint64_t below(life *l, uint64_t limit) {
  l->seed ^= l->seed << 13;
  l->seed ^= l->seed >> 7;
  l->seed ^= l->seed << 17;
  return l->seed % limit;
}

static int may(const life *l, unsigned what) {
  return (l->profile->may & what) != 0;
}

static uint64_t any_size(life *l) {
  static const uint64_t limits[] = {3000, MIB, 4 * MIB, 12 * MIB, 70 * MIB, 24 * MIB};
  const uint64_t limit = limits[below(l, 6)];

  return below(l, 2) ? 1 + below(l, limit) : (1 + below(l, 4)) * limit / 2;
}

void life_begin(life *l, const life_profile *profile, uint64_t seed) {
  size_t i;

  memset(l, 0, sizeof(*l));
  l->profile = profile;
  l->seed = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  for (i = 0; i < 4; i++)
    (void)below(l, 2);
  for (i = 0; i < 8; i++)
    l->sizes[i] = any_size(l);
  l->growing = 1;
}

static uint64_t size_of_request(life *l) {
  if (may(l, LIFE_ABSURD) && !below(l, 300))
    return UINT64_MAX >> below(l, 10);
  return below(l, 3) && !may(l, LIFE_CROWD) ? l->sizes[below(l, 8)] : any_size(l);
}

static uint32_t stream(life *l) {
  return may(l, LIFE_STREAMS) ? (uint32_t)(below(l, 3) ? 0 : below(l, 4)) : 0;
}

static life_step request(life *l) {
  life_step s = {.event = {.kind = UL_EVENT_ALLOC}};

  s.event.handle = l->last_handle + 1;
  s.event.bytes = size_of_request(l);
  s.event.stream = stream(l);
  if (may(l, LIFE_ADDRESS) && !below(l, 3)) {
    s.event.kind = UL_EVENT_ALLOC_AT;
    s.event.time_ns = below(l, 3) ? l->last_address : below(l, 1000) * 512;
  }
  return s;
}

static life_step about(life *l, uint8_t kind) {
  life_step s = {.event = {.kind = kind}};

  s.event.handle = l->live_count ? l->live[below(l, l->live_count)] : 0;
  if (may(l, LIFE_ABSURD) && !below(l, 200))
    s.event.handle = l->last_handle + 1000;
  if (kind == UL_EVENT_STREAM_USE)
    s.event.stream = (uint32_t)below(l, 4);
  return s;
}

/* ---- private pools ---- */

static int is_routed(const life *l) {
  int i, any = 0;

  for (i = 1; i < LIFE_POOLS_KNOWN; i++)
    any |= l->begun[i];
  return any;
}

static life_step pool_step(life *l) {
  const uint32_t pool = 1 + (uint32_t)below(l, LIFE_POOLS_KNOWN - 1);
  const int wrong = !below(l, 150);
  life_step s = {.event = {.kind = UL_EVENT_POOL_RELEASE, .pool = pool}};

  s.event.stream = may(l, LIFE_STREAMS) && below(l, 2) ? 0 : UL_STREAM_ALL;
  if (l->begun[pool] || wrong) {
    s.event.kind = l->captured[pool] ? UL_EVENT_CAPTURE_END : UL_EVENT_POOL_END;
    s.event.stream = l->begun[pool] ? (uint32_t)l->begun[pool] - 1 : s.event.stream;
    if (s.event.stream == INT32_MAX - 1)
      s.event.stream = UL_STREAM_ALL;
    l->begun[pool] = 0;
  } else if (l->uses[pool] > 0 && below(l, 2)) {
    l->uses[pool]--;
  } else if (!is_routed(l) || !below(l, 20)) {
    l->captured[pool] = may(l, LIFE_CAPTURES) && below(l, 2);
    s.event.kind = l->captured[pool] ? UL_EVENT_CAPTURE_BEGIN : UL_EVENT_POOL_BEGIN;
    l->begun[pool] = s.event.stream == UL_STREAM_ALL ? INT32_MAX : (int)s.event.stream + 1;
    l->uses[pool]++;
  } else {
    s.event.kind = UL_EVENT_POOL_CREATE;
    l->uses[pool]++;
  }
  return s;
}

static life_step trait_step(life *l) {
  static const uint8_t kinds[] = {UL_EVENT_POOL_USE_ON_OOM, UL_EVENT_POOL_NOT_ON_OOM,
                                  UL_EVENT_POOL_NO_SPLIT, UL_EVENT_POOL_CUSTOM};
  life_step s = {.event = {.kind = kinds[below(l, 4)]}};

  s.event.pool = 1 + (uint32_t)below(l, LIFE_POOLS_KNOWN - 1);
  if (s.event.kind == UL_EVENT_POOL_CUSTOM)
    l->uses[s.event.pool]++;
  return s;
}

static life_step checkpoint_step(life *l) {
  life_step s = {.event = {.kind = UL_EVENT_POOL_CHECKPOINT, .pool = 1}};

  s.event.handle = below(l, 3);
  if ((l->checkpoints >> s.event.handle & 1) && below(l, 2))
    s.event.kind = UL_EVENT_POOL_RESTORE;
  else
    l->checkpoints |= UINT64_C(1) << s.event.handle;
  return s;
}

/* ---- the environment ---- */

static life_step environment_step(life *l) {
  life_step s = {.event = {.kind = UL_EVENT_EXTERNAL_BYTES}};
  const uint64_t total = l->profile->device_mib ? l->profile->device_mib : 4000;

  s.event.bytes = below(l, total / 3) * MIB + below(l, MIB);
  if (!below(l, 4)) {
    s.event.kind = UL_EVENT_DEVICE_BYTES;
    s.event.bytes = (total / 2 + below(l, total)) * MIB;
  }
  return s;
}

static life_step fraction_step(life *l) {
  static const double fractions[] = {1.0, 0.9, 0.7, 0.5, 0.3333, 0.05};
  life_step s = {.event = {.kind = UL_EVENT_SET_FRACTION}};

  s.fraction = fractions[below(l, 6)];
  return s;
}

static life_step history_step(life *l) {
  static const uint64_t entries[] = {0, 1, 2, 7, 100, 1000000000};
  life_step s = {.kind = LIFE_RECORD};

  s.number = entries[below(l, 6)];
  return s;
}

static life_step statistics_step(life *l) {
  static const life_kind kinds[] = {LIFE_SNAPSHOT, LIFE_RESET_PEAK, LIFE_RESET_ACCUMULATED};
  life_step s = {.kind = kinds[below(l, 3)]};

  return s;
}

/* How often in ten thousand steps. */
static const struct {
  unsigned what, often;
  life_step (*make)(life *l);
} rare[] = {
    {LIFE_POOLS, 300, pool_step},
    {LIFE_TRAITS, 60, trait_step},
    {LIFE_CHECKPOINTS, 100, checkpoint_step},
    {LIFE_EXTERNAL, 60, environment_step},
    {LIFE_FRACTION, 40, fraction_step},
    {LIFE_HISTORY, 30, history_step},
    {UINT32_MAX, 40, statistics_step},
};

static life_step flush_step(life *l) {
  life_step s = {.event = {.kind = UL_EVENT_EMPTY_CACHE}};

  if (may(l, LIFE_POOLS) && !below(l, 3))
    s.event.pool = 1 + (uint32_t)below(l, LIFE_POOLS_KNOWN - 1);
  return s;
}

static life_step complete_step(life *l) {
  const size_t which = below(l, l->freed_count);
  life_step s = {.event = {.kind = UL_EVENT_COMPLETE}};

  s.event.handle = l->freed[which];
  l->freed[which] = l->freed[--l->freed_count];
  return s;
}

/* Between few and many live blocks, to and fro. */
static int grows(life *l) {
  const int crowd = may(l, LIFE_CROWD);
  const size_t most = crowd ? LIFE_HANDLES : LIFE_FEW;

  if (l->live_count >= most - 1 || (!l->growing && l->live_count))
    l->growing = l->live_count < 20;
  else if (!below(l, crowd ? 20000 : 400))
    l->growing = 0;
  if (!l->live_count || l->live_count >= most)
    return !l->live_count;
  return below(l, 100) < (l->growing ? (crowd ? 75u : 60u) : (crowd ? 25u : 35u));
}

static life_step usual_step(life *l) {
  const uint64_t dice = below(l, 100);
  life_step s = {.event = {.kind = UL_EVENT_SYNC}};

  if (dice < 1 && !below(l, 2))
    return flush_step(l);
  if (dice < 10 && l->profile->stream_events == TOLD && l->freed_count)
    return complete_step(l);
  if (dice < 3 && l->profile->stream_events == SYNC) {
    s.event.stream = below(l, 2) ? UL_STREAM_ALL : (uint32_t)below(l, 4);
    return s;
  }
  if (dice < 12 && may(l, LIFE_STREAMS) && l->live_count)
    return about(l, UL_EVENT_STREAM_USE);
  return grows(l) ? request(l) : about(l, UL_EVENT_FREE);
}

life_step life_next(life *l) {
  uint64_t dice = below(l, 10000);
  size_t i;

  if (may(l, LIFE_TOGGLES) && dice < 30)
    return (life_step){.kind = LIFE_CONFIGURE, .settings = toggles[below(l, TOGGLES)]};
  for (i = 0; i < sizeof(rare) / sizeof(rare[0]); i++) {
    if (!may(l, rare[i].what))
      continue;
    if (dice >= 10000 - rare[i].often)
      return rare[i].make(l);
    dice += rare[i].often;
  }
  return usual_step(l);
}

void life_learn(life *l, const life_step *s, const ul_outcome *o) {
  size_t i;

  if (s->kind != LIFE_EVENT)
    return;
  if (s->event.kind == UL_EVENT_ALLOC || s->event.kind == UL_EVENT_ALLOC_AT) {
    if (o->result != UL_OUTCOME_SERVED)
      return;
    l->live[l->live_count++] = s->event.handle;
    l->last_handle = s->event.handle;
    l->last_address = o->address + o->block_bytes;
  } else if (s->event.kind == UL_EVENT_FREE) {
    l->freed[l->freed_count] = s->event.handle;
    l->freed_count += l->freed_count < LIFE_FREED - 1;
    for (i = 0; i < l->live_count; i++) {
      if (l->live[i] == s->event.handle) {
        l->live[i] = l->live[--l->live_count];
        return;
      }
    }
  }
}

void life_learn_state(life *l, const ul_state *state) {
  uint32_t i;

  l->live_count = 0;
  for (i = 0; i < state->block_count && l->live_count < LIFE_FEW; i++) {
    if (state->blocks[i].state == UL_BLOCK_ACTIVE_ALLOCATED && state->blocks[i].handle)
      l->live[l->live_count++] = state->blocks[i].handle;
  }
}

/* ---- as a script ---- */

void life_write_head(FILE *out, const life_profile *p, const char *torch) {
  fprintf(out, "# %s on %s\n", p->name, torch);
  /* scripts have no unlimited device */
  fprintf(out, "# env FAKE_TOTAL=%" PRIu64 "\n",
          p->device_mib ? p->device_mib * MIB : UINT64_C(1) << 50);
  if (p->stream_events == SYNC)
    fprintf(out, "# env FAKE_EVENTS=manual\n");
  if (*p->settings)
    fprintf(out, "# env PYTORCH_CUDA_ALLOC_CONF=%s\n", p->settings);
}

/* i handle, b bytes, s stream or nothing, p pool, q pool or nothing, x address. */
static const struct {
  const char *word, *arguments;
} words[UL_EVENT_KIND_COUNT] = {
    [UL_EVENT_ALLOC] = {"a", "ibs"},
    [UL_EVENT_ALLOC_AT] = {"at", "ibx"},
    [UL_EVENT_FREE] = {"f", "i"},
    [UL_EVENT_STREAM_USE] = {"r", "is"},
    [UL_EVENT_SYNC] = {"s", "s"},
    [UL_EVENT_EMPTY_CACHE] = {"e", "q"},
    [UL_EVENT_COMPLETE] = {"# complete", "i"},
    [UL_EVENT_POOL_BEGIN] = {"pool begin", "ps"},
    [UL_EVENT_POOL_END] = {"pool end", "ps"},
    [UL_EVENT_POOL_RELEASE] = {"pool release", "p"},
    [UL_EVENT_CAPTURE_BEGIN] = {"cap begin", "ps"},
    [UL_EVENT_CAPTURE_END] = {"cap end", "ps"},
    [UL_EVENT_EXTERNAL_BYTES] = {"ext", "b"},
    [UL_EVENT_DEVICE_BYTES] = {"total", "b"},
    [UL_EVENT_POOL_CREATE] = {"pool create", "p"},
    [UL_EVENT_POOL_USE_ON_OOM] = {"pool oom", "p"},
    [UL_EVENT_POOL_NOT_ON_OOM] = {"pool notoom", "p"},
    [UL_EVENT_POOL_NO_SPLIT] = {"pool nosplit", "p"},
    [UL_EVENT_POOL_CUSTOM] = {"pool custom", "p"},
    [UL_EVENT_POOL_CHECKPOINT] = {"ckpt", "pi"},
    [UL_EVENT_POOL_RESTORE] = {"restore", "pi"},
};

static void write_event(FILE *out, const ul_event *e) {
  const char *at = words[e->kind].arguments;

  fprintf(out, "%s", words[e->kind].word ? words[e->kind].word : "#");
  for (; at && *at; at++) {
    if (*at == 'i')
      fprintf(out, " %" PRIu64, e->handle);
    else if (*at == 'b')
      fprintf(out, " %" PRIu64, e->bytes);
    else if (*at == 'q' && !e->pool)
      continue;
    else if (*at == 'p' || *at == 'q')
      fprintf(out, " %" PRIu32, e->pool);
    else if (*at == 'x')
      fprintf(out, " %" PRIx64, e->time_ns);
    else if (e->stream != UL_STREAM_ALL)
      fprintf(out, " %" PRIu32, e->stream);
  }
  fprintf(out, "\n");
}

void life_write_step(FILE *out, const life_step *s) {
  switch (s->kind) {
  case LIFE_EVENT:
    if (s->event.kind == UL_EVENT_SET_FRACTION)
      fprintf(out, "frac %g\n", s->fraction);
    else
      write_event(out, &s->event);
    return;
  case LIFE_CONFIGURE:
    fprintf(out, "conf %s\n", s->settings);
    return;
  case LIFE_RECORD:
    fprintf(out, s->number ? "hist on %" PRIu64 "\n" : "hist off\n", s->number);
    return;
  case LIFE_SNAPSHOT:
    fprintf(out, "snap\ntrace\nstats\n");
    return;
  case LIFE_RESET_PEAK:
    fprintf(out, "reset_peak\n");
    return;
  case LIFE_RESET_ACCUMULATED:
    fprintf(out, "reset_acc\n");
    return;
  }
}
