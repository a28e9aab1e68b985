/* SPDX-License-Identifier: MIT */
/* Snapshots from files: what tests/data/snapshots/make.py wrote must come out, from every protocol
 * and carrier. Text cases are in test_snapshot_schema.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>
#include <zlib.h>
#include <zstd.h>

#include "parsers/source_data.h"
#include "tests/support/byte_feed.h"
#include "tests/support/held.h"
#include "ullage/source.h"

TestSuite(parse_snapshot, .fini = release_held);

#define BASE   UINT64_C(0x7f0000000000)
#define MIB    UINT64_C(0x100000)
#define LARGE  (BASE + 20 * MIB)
#define TIME0  UINT64_C(1700000000000000000)
#define STREAM UINT64_C(0x55550000)

struct content {
  uint8_t *data;
  size_t size;
};

static struct content read_file(const char *name) {
  struct content content = {hold(1 << 20), 0};
  char path[512];
  FILE *file;

  snprintf(path, sizeof(path), "%s/snapshots/%s", UL_TEST_DATA, name);
  file = fopen(path, "rb");
  cr_assert(file != NULL, "%s", path);
  content.size = fread(content.data, 1, 1 << 20, file);
  fclose(file);
  return content;
}

static ul_source *open_file(const char *name) {
  char path[512];
  ul_source *source = NULL;
  ul_error err = {0};

  snprintf(path, sizeof(path), "%s/snapshots/%s", UL_TEST_DATA, name);
  cr_assert(eq(int, ul_source_open(&source, path, NULL, &err), UL_OK), "%s", err.message);
  return source;
}

/* --- tiny: make.py's tiny(), entry by entry --- */

struct expected {
  ul_action action;
  ul_event_kind kind;
  unsigned flags;
  uint64_t address, bytes, handle;
  unsigned frames, microseconds;
  uint64_t raw_stream, pool;
};

enum {
  BEFORE = UL_EVENT_BEFORE_RECORDING,
  DEFERRED = UL_EVENT_DEFERRED,
};

static const struct expected tiny_entries[] = {
    /* its request came before the recording: a completion of something unknown */
    {UL_ACTION_FREE_COMPLETED, UL_EVENT_COMPLETE, BEFORE, BASE + 1536, 100, 1, 2, 0, 0, 0},
    /* its allocation did */
    {UL_ACTION_FREE_REQUESTED, UL_EVENT_FREE, BEFORE, BASE + 512, 200, 2, 2, 1, 0, 0},
    {UL_ACTION_FREE_COMPLETED, UL_EVENT_COMPLETE, 0, BASE + 512, 200, 2, 2, 2, 0, 0},
    {UL_ACTION_SEGMENT_ALLOC, UL_EVENT_OBSERVED, 0, LARGE, 20 * MIB, 0, 2, 3, 0, 0},
    {UL_ACTION_ALLOC, UL_EVENT_ALLOC, 0, LARGE, 2 * MIB, 3, 2, 4, 0, 0},
    {UL_ACTION_ALLOC, UL_EVENT_ALLOC, 0, LARGE + 2 * MIB, 3 * MIB - 1, 4, 2, 5, STREAM, 0},
    /* completed three entries later */
    {UL_ACTION_FREE_REQUESTED, UL_EVENT_FREE, DEFERRED, LARGE, 2 * MIB, 3, 1, 6, 0, 0},
    {UL_ACTION_SNAPSHOT, UL_EVENT_MARK, 0, 0, 6 * MIB, 0, 2, 7, 0, 0},
    {UL_ACTION_ALLOC, UL_EVENT_ALLOC, 0, BASE + 512, 300, 5, 2, 8, 0, 3},
    {UL_ACTION_FREE_COMPLETED, UL_EVENT_COMPLETE, 0, LARGE, 2 * MIB, 3, 1, 9, 0, 0},
    {UL_ACTION_OOM, UL_EVENT_ALLOC, UL_EVENT_OOM, 7 * MIB, 900 * MIB, 6, 2, 10, 0, 0},
    {UL_ACTION_ALLOC, UL_EVENT_ALLOC, 0, BASE + 1024, 1, 7, 2, 11, 0, 0},
    /* never completed */
    {UL_ACTION_FREE_REQUESTED, UL_EVENT_FREE, DEFERRED, BASE + 1024, 1, 7, 2, 12, 0, 0},
};

enum { TINY_ENTRIES = sizeof(tiny_entries) / sizeof(tiny_entries[0]) };

static void expect_tiny_events(const ul_source *source) {
  const ul_recording *recording = ul_source_recording(source, 0);
  const struct expected *want;
  const ul_event *event;
  uint64_t i, pair[2];

  cr_assert(eq(u64, recording->count, TINY_ENTRIES));
  for (i = 0; i < TINY_ENTRIES; i++) {
    want = &tiny_entries[i];
    event = &recording->events[i];
    cr_expect(eq(int, recording->actions[i], want->action), "%" PRIu64, i);
    cr_expect(eq(u64, recording->addresses[i], want->address), "%" PRIu64, i);
    cr_expect(eq(int, event->kind, want->kind), "%" PRIu64, i);
    cr_expect(eq(uint, event->flags, want->flags), "%" PRIu64, i);
    cr_expect(eq(u64, event->bytes, want->bytes), "%" PRIu64, i);
    cr_expect(eq(u64, event->handle, want->handle), "%" PRIu64, i);
    cr_expect(eq(u64, event->time_ns, TIME0 + want->microseconds * 1000), "%" PRIu64, i);
    cr_expect(eq(sz, ul_source_stack(source, event->stack, NULL), want->frames), "%" PRIu64, i);
    cr_expect(eq(u64, ul_source_stream(source, event->stream), want->raw_stream), "%" PRIu64, i);
    cr_assert(ul_source_pool(source, event->pool, pair));
    cr_expect(eq(u64, pair[0], 0));
    cr_expect(eq(u64, pair[1], want->pool), "%" PRIu64, i);
    cr_expect(eq(uint, event->device, 0));
  }
  cr_expect(eq(u64, recording->handle_count, 7));
  cr_expect(eq(u64, recording->action_counts[UL_ACTION_ALLOC], 4));
  cr_expect(eq(u64, recording->first_time_ns, TIME0));
  cr_expect(eq(u64, recording->last_time_ns, TIME0 + 12000));
  cr_expect(recording->has_trace == 1);
}

static void expect_tiny_state(const ul_source *source) {
  static const ul_block blocks[] = {
      {BASE, 512, 400, 0, 0, 0, UL_BLOCK_ACTIVE_ALLOCATED, 0},
      {BASE + 512, 512, 300, 5, 0, 0, UL_BLOCK_ACTIVE_ALLOCATED, 0},
      {BASE + 1024, 512, 1, 7, 0, 0, UL_BLOCK_ACTIVE_PENDING_FREE, 0},
      {BASE + 1536, 2 * MIB - 1536, 100, 0, 0, 0, UL_BLOCK_INACTIVE, 0},
      {LARGE, 2 * MIB, 2 * MIB, 0, 0, 0, UL_BLOCK_INACTIVE, 0},
      {LARGE + 2 * MIB, 3 * MIB, 3 * MIB - 1, 4, 0, 0, UL_BLOCK_ACTIVE_ALLOCATED, 0},
      {LARGE + 5 * MIB, 15 * MIB, 0, 0, 0, 0, UL_BLOCK_INACTIVE, 0},
  };
  const ul_state *state = &ul_source_recording(source, 0)->final_state;
  uint64_t pair[2];
  uint32_t i;

  /* The file lists the large segment first: states are in address order. */
  cr_assert(eq(u32, state->segment_count, 2));
  cr_assert(eq(u32, state->block_count, 7));
  cr_expect(eq(u64, state->segments[0].address, BASE));
  cr_expect(eq(u64, state->segments[0].bytes, 2 * MIB));
  cr_expect(eq(u32, state->segments[0].block_count, 4));
  cr_expect(state->segments[0].is_small == 1 && state->segments[0].is_expandable == 1);
  cr_assert(ul_source_pool(source, state->segments[0].pool, pair));
  cr_expect(eq(u64, pair[1], 3));
  cr_expect(eq(u64, state->segments[1].address, LARGE));
  cr_expect(eq(u32, state->segments[1].first_block, 4));
  cr_expect(state->segments[1].is_small == 0 && state->segments[1].is_expandable == 0);
  cr_expect(eq(u64, ul_source_stream(source, state->segments[1].stream), STREAM));
  for (i = 0; i < 7; i++) {
    cr_expect(eq(u64, state->blocks[i].address, blocks[i].address), "%u", i);
    cr_expect(eq(u64, state->blocks[i].bytes, blocks[i].bytes), "%u", i);
    cr_expect(eq(u64, state->blocks[i].requested_bytes, blocks[i].requested_bytes), "%u", i);
    cr_expect(eq(u64, state->blocks[i].handle, blocks[i].handle), "%u", i);
    cr_expect(eq(uint, state->blocks[i].state, blocks[i].state), "%u", i);
  }
  cr_expect(eq(sz, ul_source_stack(source, state->blocks[1].stack, NULL), 2));
  cr_expect(eq(sz, ul_source_stack(source, state->blocks[0].stack, NULL), 0));
}

static void expect_tiny_marks(const ul_source *source) {
  static const struct {
    ul_mark_kind kind;
    uint64_t microseconds, event, value;
    const char *name;
  } want[] = {
      {UL_MARK_USER_METADATA, 4, 4, 0, "step 1"},
      {UL_MARK_START, 4, 4, 0, "Optimizer.step"},
      {UL_MARK_USER_METADATA, 6, 6, 0, ""},
      {UL_MARK_SNAPSHOT, 7, 7, 6 * MIB, "snapshot"},
      {UL_MARK_COMPILE_CONTEXT, 11, 11, 0, "Torch-Compiled Region: 0/0"},
      {UL_MARK_COMPILE_CONTEXT, 12, 12, 0, "N/A"},
      {UL_MARK_END, 100, 13, 0, "Optimizer.step"}, /* after the last entry */
  };
  const ul_source_info *info = ul_source_get_info(source);
  size_t i;

  cr_assert(eq(sz, info->mark_count, sizeof(want) / sizeof(want[0])));
  for (i = 0; i < info->mark_count; i++) {
    cr_expect(eq(int, info->marks[i].kind, want[i].kind), "%zu", i);
    cr_expect(eq(u64, info->marks[i].time_ns, TIME0 + want[i].microseconds * 1000), "%zu", i);
    cr_expect(eq(u64, info->marks[i].event, want[i].event), "%zu", i);
    cr_expect(eq(u64, info->marks[i].value, want[i].value), "%zu", i);
    cr_expect(eq(str, (char *)info->marks[i].name, (char *)want[i].name), "%zu", i);
    cr_expect(eq(uint, info->marks[i].device, 0));
  }
}

static void expect_tiny_info(const ul_source *source) {
  const ul_source_info *info = ul_source_get_info(source);
  const ul_recording *other = ul_source_recording(source, 1);
  ul_frame frame;
  const uint32_t *frames;

  cr_expect(eq(str, (char *)info->format, (char *)"snapshot"));
  cr_expect(eq(str, (char *)info->backend, (char *)"cuda"));
  /* pool_id and max_round_threshold are of 2.13 or later. */
  cr_expect(eq(uint, info->releases.oldest, 213));
  cr_expect(eq(uint, info->releases.newest, 0));
  cr_expect(eq(str, (char *)info->era, (char *)"torch 2.13 and later"));
  cr_expect(eq(str, (char *)info->settings_recorded, (char *)"old text"));
  cr_expect(eq(str, (char *)info->settings,
               (char *)"expandable_segments:True,max_split_size_mb:64,"
                       "garbage_collection_threshold:0.6,roundup_power2_divisions:[1:0,4:4]"));
  cr_expect(info->has_trace && info->has_time && info->has_pool_ids && info->has_frames &&
            info->has_settings && info->has_requested_sizes);
  cr_expect(eq(sz, info->warning_count, 0));
  cr_expect(eq(sz, info->stream_count, 2));
  cr_expect(eq(sz, info->pool_count, 2));
  cr_expect(eq(sz, info->stack_count, 2));
  cr_expect(eq(sz, info->frame_count, 3));
  cr_assert(eq(sz, info->device_count, 2));
  cr_expect(eq(uint, other->device, 2));
  cr_expect(eq(u64, other->count, 2));
  cr_expect(eq(u64, other->events[1].handle, 2));
  cr_expect(eq(uint, other->events[1].device, 2));
  cr_expect(eq(u64, other->final_state.blocks[1].handle, 2));
  cr_expect(eq(u32, other->final_state.block_count, 3));
  cr_assert(
      eq(sz, ul_source_stack(source, ul_source_recording(source, 0)->events[0].stack, &frames), 2));
  cr_assert(ul_source_frame(source, frames[0], &frame));
  cr_expect(eq(str, (char *)frame.name, (char *)"forward"));
  cr_expect(eq(str, (char *)frame.filename, (char *)"train.py"));
  cr_expect(eq(i64, frame.line, 10));
  cr_assert(ul_source_frame(source, frames[1], &frame));
  cr_expect(eq(str, (char *)frame.name, (char *)"main"));
}

static void expect_tiny(const ul_source *source) {
  expect_tiny_info(source);
  expect_tiny_events(source);
  expect_tiny_state(source);
  expect_tiny_marks(source);
}

struct named {
  char name[32];
  unsigned protocol;
};

ParameterizedTestParameters(parse_snapshot, every_protocol_gives_the_same) {
  static struct named files[] = {
      {"tiny_p0.pickle", 0},  {"tiny_p1.pickle", 0},    {"tiny_p2.pickle", 2},
      {"tiny_p3.pickle", 3},  {"tiny_p4.pickle", 4},    {"tiny_p5.pickle", 5},
      {"tiny_cpp.pickle", 2}, {"tiny_plain.pickle", 4},
  };
  return cr_make_param_array(struct named, files, sizeof(files) / sizeof(files[0]));
}

ParameterizedTest(struct named *file, parse_snapshot, every_protocol_gives_the_same) {
  ul_source *source = open_file(file->name);
  const ul_source_info *info = ul_source_get_info(source);
  struct content content = read_file(file->name);

  expect_tiny(source);
  cr_expect(eq(uint, info->pickle_protocol, file->protocol));
  cr_expect(eq(u64, info->content_bytes, content.size));
  cr_expect(eq(u64, info->input_bytes, content.size));
  cr_expect(eq(str, (char *)info->carriers, (char *)""));
  ul_source_close(source);
}

Test(parse_snapshot, events_and_observations_are_handed_out_in_batches) {
  ul_source *source = open_file("tiny_p4.pickle");
  ul_event events[4];
  ul_observation observations[20];
  size_t count, total = 0, pass, i;

  for (pass = 0; pass < 2; pass++) {
    for (total = 0;; total += count) {
      cr_assert(eq(int, ul_source_next(source, events, 4, &count, NULL), UL_OK));
      if (!count)
        break;
      for (i = 0; i < count; i++)
        cr_expect(eq(uint, events[i].device, total + i < TINY_ENTRIES ? 0 : 2));
    }
    cr_expect(eq(sz, total, TINY_ENTRIES + 2));
    ul_source_rewind(source);
  }
  cr_expect(eq(sz, ul_source_observations(source, 0, 3, observations, 20), TINY_ENTRIES - 3));
  cr_expect(eq(u64, observations[0].event, 3));
  cr_expect(eq(u64, observations[0].address, LARGE));
  cr_expect(eq(u64, observations[0].bytes, 20 * MIB));
  cr_expect(eq(int, observations[0].kind, UL_ACTION_SEGMENT_ALLOC));
  cr_expect(eq(sz, ul_source_observations(source, 0, 3, observations, 2), 2));
  cr_expect(eq(sz, ul_source_observations(source, 0, TINY_ENTRIES, observations, 2), 0));
  cr_expect(eq(sz, ul_source_observations(source, 9, 0, observations, 2), 0));
  ul_source_close(source);
}

Test(parse_snapshot, unknown_ids_and_missing_arguments_are_answered) {
  ul_source *source = open_file("tiny_p4.pickle");
  const uint32_t *frames;
  uint64_t pair[2];
  ul_frame frame;
  ul_error err;
  ul_source *none = NULL;

  cr_expect(eq(sz, ul_source_stack(source, 99, &frames), 0));
  cr_expect(eq(sz, ul_source_stack(source, 0, &frames), 0));
  cr_expect(eq(int, ul_source_frame(source, 99, &frame), 0));
  cr_expect(eq(u64, ul_source_stream(source, 99), 0));
  cr_expect(eq(int, ul_source_pool(source, 99, pair), 0));
  cr_expect(ul_source_recording(source, 2) == NULL);
  cr_expect(eq(int, ul_source_open(NULL, "x", NULL, &err), UL_E_INVALID));
  cr_expect(eq(int, ul_source_open(&none, NULL, NULL, &err), UL_E_INVALID));
  cr_expect(eq(int, ul_source_open_bytes(&none, NULL, 5, "x", NULL, &err), UL_E_INVALID));
  ul_source_close(source);
  ul_source_close(NULL);
  cr_expect(eq(str, (char *)ul_action_name(UL_ACTION_SEGMENT_UNMAP), (char *)"segment_unmap"));
  cr_expect(eq(str, (char *)ul_action_name(UL_ACTION_COUNT), (char *)"unknown"));
}

/* --- the same through carriers, and byte by byte --- */

static struct content compress_gzip(struct content from) {
  struct content to = {hold(from.size + 1024), 0};
  z_stream z = {0};

  deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  z.next_in = from.data;
  z.avail_in = (uInt)from.size;
  z.next_out = to.data;
  z.avail_out = (uInt)(from.size + 1024);
  deflate(&z, Z_FINISH);
  to.size = z.total_out;
  deflateEnd(&z);
  return to;
}

static struct content compress_zstd(struct content from) {
  struct content to = {hold(from.size + 1024), 0};

  to.size = ZSTD_compress(to.data, from.size + 1024, from.data, from.size, 9);
  return to;
}

static void expect_tiny_in_chunks(struct content content, const char *carriers) {
  static const size_t chunks[] = {SIZE_MAX, 1, 3, 1000};
  struct byte_feed feed;
  ul_source *source = NULL;
  ul_bytes *bytes = NULL;
  ul_error err = {0};
  size_t i;

  for (i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
    feed = (struct byte_feed){content.data, content.size, 0, chunks[i]};
    cr_assert(eq(int, ul_bytes_open_reader(&bytes, feed_bytes, &feed, 0, &err), UL_OK));
    cr_assert(eq(int, ul_source_read(&source, bytes, "tiny", &err), UL_OK), "%s", err.message);
    ul_bytes_close(bytes);
    expect_tiny(source);
    cr_expect(eq(str, (char *)ul_source_get_info(source)->carriers, (char *)carriers));
    cr_expect(eq(u64, ul_source_get_info(source)->input_bytes, content.size));
    ul_source_close(source);
  }
}

Test(parse_snapshot, carriers_and_pieces_make_no_difference) {
  struct content plain = read_file("tiny_p4.pickle");

  expect_tiny_in_chunks(plain, "");
  expect_tiny_in_chunks(read_file("tiny_p0.pickle"), "");
  expect_tiny_in_chunks(compress_gzip(plain), "gzip");
  expect_tiny_in_chunks(compress_zstd(plain), "zstd");
  expect_tiny_in_chunks(compress_gzip(compress_zstd(plain)), "gzip+zstd");
}

Test(parse_snapshot, a_file_cut_at_any_byte_is_an_error) {
  static const char *const names[] = {"tiny_p4.pickle", "tiny_p0.pickle", "tiny_cpp.pickle"};
  struct content forms[5];
  ul_source *source;
  ul_error err;
  size_t i, size;

  for (i = 0; i < 3; i++)
    forms[i] = read_file(names[i]);
  forms[3] = compress_gzip(forms[0]);
  forms[4] = compress_zstd(forms[0]);
  for (i = 0; i < 5; i++) {
    for (size = 0; size < forms[i].size; size++) {
      source = NULL;
      memset(&err, 0, sizeof(err));
      cr_assert(
          ne(int, ul_source_open_bytes(&source, forms[i].data, size, "cut", NULL, &err), UL_OK),
          "%zu at %zu", i, size);
      cr_assert(source == NULL);
      cr_assert(strncmp(err.message, "cut: ", 5) == 0);
      cr_assert(err.status == UL_E_MALFORMED || (size < 5 && err.status == UL_E_FORMAT), "%zu: %s",
                size, err.message);
    }
  }
}

Test(parse_snapshot, one_changed_byte_never_harms) {
  struct content plain = read_file("tiny_p4.pickle");
  ul_source *source;
  ul_error err;
  uint8_t was;
  size_t at;
  int change;

  for (at = 0; at < plain.size; at++) {
    was = plain.data[at];
    for (change = 1; change < 256; change = change * 2 + 1) {
      plain.data[at] = (uint8_t)(was ^ change);
      source = NULL;
      err.message[0] = '\0';
      if (ul_source_open_bytes(&source, plain.data, plain.size, "x", NULL, &err) != UL_OK)
        cr_assert(err.message[0] != '\0');
      ul_source_close(source);
    }
    plain.data[at] = was;
  }
}

/* --- older shapes --- */

Test(parse_snapshot, blocks_with_a_history) {
  ul_source *source = open_file("history_113.pickle");
  const ul_source_info *info = ul_source_get_info(source);
  const ul_state *state = &ul_source_recording(source, 0)->final_state;
  const uint32_t *frames;
  ul_frame frame;

  cr_expect(eq(str, (char *)info->era, (char *)"torch 1.13"));
  cr_expect(info->settings == NULL && info->settings_recorded == NULL);
  cr_expect(eq(int, info->has_trace, 0), "one stray entry is no trace");
  cr_expect(eq(u64, ul_source_recording(source, 0)->count, 1));
  cr_expect(eq(sz, info->mark_count, 1));
  cr_assert(eq(u32, state->block_count, 3));
  cr_expect(eq(u64, state->blocks[0].address, BASE));
  cr_expect(eq(u64, state->blocks[0].requested_bytes, 300), "the newest owner's");
  cr_expect(eq(u64, state->blocks[1].address, BASE + 512));
  cr_expect(eq(u64, state->blocks[1].requested_bytes, 400));
  cr_expect(eq(u64, state->blocks[2].address, BASE + 1536));
  cr_expect(eq(u64, state->blocks[2].requested_bytes, 0));
  /* C++ frames are strings and the inner ones. */
  cr_assert(eq(sz, ul_source_stack(source, state->blocks[0].stack, &frames), 3));
  cr_assert(ul_source_frame(source, frames[0], &frame));
  cr_expect(eq(str, (char *)frame.name, (char *)"at::empty"));
  cr_expect(eq(i64, frame.line, -1));
  cr_assert(ul_source_frame(source, frames[2], &frame));
  cr_expect(eq(str, (char *)frame.name, (char *)"new"));
  cr_expect(eq(i64, frame.line, 1));
  ul_source_close(source);
}

Test(parse_snapshot, a_bare_list_of_segments) {
  ul_source *source = open_file("list_only.pickle");
  const ul_source_info *info = ul_source_get_info(source);

  cr_assert(eq(sz, info->device_count, 2));
  cr_expect(eq(u64, ul_source_recording(source, 0)->count, 0));
  cr_expect(eq(u32, ul_source_recording(source, 0)->final_state.block_count, 7));
  cr_expect(eq(u32, ul_source_recording(source, 1)->final_state.block_count, 3));
  cr_expect(eq(uint, info->releases.oldest, 201));
  cr_expect(eq(int, info->has_trace, 0));
  cr_expect(info->settings == NULL);
  ul_source_close(source);
}

/* --- recordings of others: what traces/README of the samples counts --- */

struct recording {
  char name[48];
  uint32_t segments, blocks;
  uint64_t entries, allocs, frees, segment_allocs;
  char era[32];
};

ParameterizedTestParameters(parse_snapshot, real_recordings) {
  static struct recording files[] = {
      {"decomfl_opt125m_sgd_full.pickle.zst", 61, 468, 23105, 7946, 7549, 61, "torch 2.9"},
      {"lm_fwdbwd_ctx100_full.pickle.zst", 65, 213, 11300, 3853, 3691, 65, "torch 2.5 - 2.7"},
      {"lm_fwdbwd_ctx200_amp_full.pickle.zst", 88, 229, 12976, 4404, 4242, 88, "torch 2.5 - 2.7"},
      {"lm_fwd_ctx100_full.pickle.zst", 31, 64, 2304, 785, 744, 31, "torch 2.5 - 2.7"},
      {"attention_peak_tiny_full.pickle", 9, 20, 97, 36, 26, 9, "torch 2.5 - 2.7"},
      {"lm_bf16_128.pickle.zst", 43, 178, 2811, 937, 937, 0, "torch 2.5 - 2.7"},
      {"lm_medium_512_train.pickle.zst", 400, 1041, 22332, 7591, 7370, 1, "torch 2.10 and later"},
      {"lm_forward_4158blk.pickle.zst", 1722, 4158, 8948, 4138, 2405, 0, "torch 2.5 - 2.7"},
      {"lm_windows_usermeta.pickle.zst", 216, 455, 5163, 1721, 1721, 0, "torch 2.10 and later"},
      {"torch20_history_opt13b.pickle.zst", 112, 593, 1, 0, 0, 0, "torch 2.0"},
      {"state_2gpu_3019blk.pickle.zst", 370, 3019, 0, 0, 0, 0, "torch 2.1 - 2.2"},
      {"vllm_private_pools_state.pickle.zst", 127, 638, 0, 0, 0, 0, "torch 2.5 - 2.8"},
      {"tiny_12seg.pickle", 12, 116, 0, 0, 0, 0, "torch 2.5 - 2.8"},
  };
  return cr_make_param_array(struct recording, files, sizeof(files) / sizeof(files[0]));
}

ParameterizedTest(struct recording *file, parse_snapshot, real_recordings) {
  ul_source *source = NULL;
  const ul_recording *recording;
  const ul_source_info *info;
  char path[512];
  ul_error err = {0};

  snprintf(path, sizeof(path), "%s/%s", UL_TRACES, file->name);
  cr_assert(eq(int, ul_source_open(&source, path, NULL, &err), UL_OK), "%s", err.message);
  info = ul_source_get_info(source);
  recording = ul_source_recording(source, 0);
  cr_expect(eq(sz, info->device_count, 1));
  cr_expect(eq(sz, info->warning_count, 0));
  cr_expect(eq(str, (char *)info->era, file->era));
  cr_expect(eq(u32, recording->final_state.segment_count, file->segments));
  cr_expect(eq(u32, recording->final_state.block_count, file->blocks));
  cr_expect(eq(u64, recording->count, file->entries));
  cr_expect(eq(u64, recording->action_counts[UL_ACTION_ALLOC], file->allocs));
  cr_expect(eq(u64, recording->action_counts[UL_ACTION_FREE_REQUESTED], file->frees));
  cr_expect(eq(u64, recording->action_counts[UL_ACTION_SEGMENT_ALLOC], file->segment_allocs));
  ul_source_close(source);
}

Test(parse_snapshot, sums_that_do_not_add_up_are_warnings) {
  ul_source *source = NULL;
  const ul_source_info *info;
  const ul_state *state;
  ul_error err = {0};

  cr_assert(
      eq(int,
         ul_source_open(&source, UL_TRACES "/synthetic_inconsistent_mosaic.pickle.zst", NULL, &err),
         UL_OK),
      "%s", err.message);
  info = ul_source_get_info(source);
  state = &ul_source_recording(source, 0)->final_state;
  cr_expect(ge(sz, info->warning_count, 4));
  cr_expect(eq(u64, info->warnings[0].count, 5));
  /* 17 blocks as written, and one gap behind those of each of the 5 segments */
  cr_expect(eq(u32, state->block_count, 17 + 5));
  cr_expect(eq(u64, state->blocks[state->block_count - 1].state, UL_BLOCK_INACTIVE));
  ul_source_close(source);
}

/* --- opening --- */

static int count_calls(uint64_t done, uint64_t total, void *arg) {
  cr_assert(total == 0 || done <= total);
  ++*(int *)arg;
  return 0;
}

static int stop(uint64_t done, uint64_t total, void *arg) {
  (void)done;
  (void)total;
  (void)arg;
  return 1;
}

Test(parse_snapshot, progress_is_told_and_may_stop) {
  int calls = 0;
  ul_source_options options = {sizeof(options), count_calls, &calls};
  ul_source *source = NULL;
  ul_error err = {0};
  const char *path = UL_TRACES "/lm_medium_512_train.pickle.zst";

  cr_assert(eq(int, ul_source_open(&source, path, &options, &err), UL_OK), "%s", err.message);
  cr_expect(gt(int, calls, 0));
  ul_source_close(source);
  source = NULL;
  options.progress = stop;
  cr_expect(eq(int, ul_source_open(&source, path, &options, &err), UL_E_STATE));
  cr_expect(source == NULL);
  options.size = 4; /* an older caller, without these fields */
  cr_expect(eq(int, ul_source_open(&source, path, &options, &err), UL_OK));
  ul_source_close(source);
}

struct wrong {
  const char *content, *says;
  size_t size;
  ul_status status;
};

Test(parse_snapshot, other_files_are_named) {
  static const struct wrong files[] = {
      {"", "the input is empty", 0, UL_E_FORMAT},
      {"\n<!DOCTYPE html>", "an HTML page", 16, UL_E_FORMAT},
      {"<svg>", "XML", 5, UL_E_FORMAT},
      {" {\"traceEvents\": []}", "a profiler trace", 20, UL_E_FORMAT},
      {"{\"segments\": []}", "JSON", 16, UL_E_FORMAT},
      {"[1]", "JSON", 3, UL_E_FORMAT},
      {"PK\x03\x04", "a zip archive", 4, UL_E_FORMAT},
      {"BZh9", "bzip2", 4, UL_E_FORMAT},
      {"\xfd"
       "7zXZ\0",
       "xz", 6, UL_E_FORMAT},
      {"SQLite format 3\0", "SQLite", 16, UL_E_FORMAT},
      {"CUDA out of memory. Tried", "a memory message", 25, UL_E_FORMAT},
      {"hello\n", "plain text", 6, UL_E_FORMAT},
      {"\x00\x01", "begin with 0x00", 2, UL_E_FORMAT},
      {"\x80\x04N.", "found a value of type NoneType", 4, UL_E_FORMAT},
      {"].", "the snapshot is empty", 2, UL_E_MALFORMED},
      {"](K\x01K\x02"
       "e.",
       "a list of 2 values, the first of type int", 8, UL_E_FORMAT},
      {"cposix\nsystem\n.", "would import posix.system; ullage never runs code", 15, UL_E_REFUSED},
  };
  ul_source *source = NULL;
  ul_error err;
  size_t i;

  for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    memset(&err, 0, sizeof(err));
    cr_expect(eq(int,
                 ul_source_open_bytes(&source, files[i].content, files[i].size, "f", NULL, &err),
                 files[i].status),
              "%s", files[i].says);
    cr_expect(strstr(err.message, files[i].says) != NULL, "'%s' in '%s'", files[i].says,
              err.message);
  }
  cr_expect(eq(int, ul_source_open(&source, UL_TEST_DATA, NULL, &err), UL_E_OPEN));
  cr_expect(strstr(err.message, "is a directory, not a file") != NULL);
  cr_expect(eq(int, ul_source_open(&source, UL_TEST_DATA "/none", NULL, &err), UL_E_OPEN));
  cr_expect(strstr(err.message, "No such file") != NULL);
  cr_expect(strncmp(err.message, UL_TEST_DATA, strlen(UL_TEST_DATA)) == 0);
}
