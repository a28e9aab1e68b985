/* SPDX-License-Identifier: MIT */
/* What a snapshot may say, must not say, and what is made of it: files written as text. */
#include "ullage/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/support/pickle_text.h"

static ul_status open_pickle(ul_source **source, const char *text, int memoize, ul_error *err) {
  struct pickle_text pickle = pickle_of(text, memoize);
  ul_status status;

  memset(err, 0, sizeof(*err));
  *source = NULL;
  status = ul_source_open_bytes(source, pickle.bytes, pickle.size, "f", NULL, err);
  free(pickle.bytes);
  return status;
}

/* As Python writes it and without a memo: up to the offset in brackets the same comes out. */
static ul_status open_text(ul_source **source, const char *text, ul_error *err) {
  ul_error other;
  ul_status status = open_pickle(source, text, 0, &other);

  ul_source_close(*source);
  cr_expect(eq(int, open_pickle(source, text, 1, err), status), "%s", text);
  cr_expect(eq(sz, strcspn(err->message, "("), strcspn(other.message, "(")), "%s / %s",
            err->message, other.message);
  cr_expect(strncmp(err->message, other.message, strcspn(other.message, "(")) == 0, "%s / %s",
            err->message, other.message);
  return status;
}

static ul_source *open_good(const char *text) {
  ul_source *source;
  ul_error err;

  cr_assert(eq(int, open_text(&source, text, &err), UL_OK), "%s", err.message);
  return source;
}

/* A segment of 2 MiB with one block; `more` may repeat a key: the last one counts, as in Python. */
#define BLOCK(address, size, more)                                                               \
  "{'address': " address ", 'size': " size ", 'requested_size': 1, 'state': 'active_allocated'," \
  "'frames': []" more "}"
#define SEGMENT(address, blocks, more)                                          \
  "{'device': 0, 'address': " address ", 'total_size': 0x200000, 'stream': 0,"  \
  "'segment_type': 'small', 'segment_pool_id': (0, 0), 'is_expandable': False," \
  "'requested_size': 1, 'blocks': [" blocks "]" more "}"
#define ONE_BLOCK(more)       SEGMENT("0x1000000", BLOCK("0x1000000", "0x200000", more), "")
#define STATE(segments, more) "{'segments': [" segments "]" more "}"
#define ENTRY(more)                                                                 \
  "{'action': 'alloc', 'addr': 0x1000000, 'size': 512, 'stream': 0, 'time_us': 5, " \
  "'frames': []" more "}"
#define TRACE(entries) STATE("", ",'device_traces': [[" entries "]]")

struct bad {
  const char *text, *says;
};

static const struct bad bad_files[] = {
    /* entries */
    {TRACE(ENTRY("") "," ENTRY(",'size': -5")), "device_traces[0][1].size is negative (-5)"},
    {TRACE(ENTRY(",'size': 0x1000000000000001")),
     "device_traces[0][0].size is 1152921504606846977, more than 2^60"},
    {TRACE(ENTRY(",'size': 'big'")), "device_traces[0][0].size must be an integer, found str"},
    {TRACE(ENTRY(",'size': 1.5")), "device_traces[0][0].size must be an integer, found float"},
    {TRACE(ENTRY(",'addr': None")), "device_traces[0][0].addr must be an integer, found NoneType"},
    {TRACE(ENTRY(",'stream': []")), "device_traces[0][0].stream must be an integer, found list"},
    {TRACE(ENTRY(",'time_us': -1")), "device_traces[0][0].time_us is negative (-1)"},
    {TRACE(ENTRY(",'time_us': 0x0fffffffffffffff")),
     "device_traces[0][0].time_us is 1152921504606846975, beyond the year 2554"},
    {TRACE(ENTRY(",'action': 7")), "device_traces[0][0].action must be a string, found int"},
    {TRACE(ENTRY(",'frames': 7")),
     "device_traces[0][0].frames must be a list of frames, found int"},
    {TRACE(ENTRY(",'frames': [7]")),
     "device_traces[0][0].frames holds a int where frame 0 is expected"},
    {TRACE(ENTRY(",'pool_id': (1, 2, 3)")),
     "device_traces[0][0].pool_id must be a pair of integers, found tuple"},
    {TRACE(ENTRY(",'pool_id': 'x'")),
     "device_traces[0][0].pool_id must be a pair of integers, found str"},
    {TRACE(ENTRY(",'pool_id': (-1, 0)")), "device_traces[0][0].pool_id holds a negative number"},
    {TRACE("{'action': 'alloc', 'size': 1}"), "device_traces[0][0].addr is missing"},
    {TRACE("{'action': 'free_requested', 'addr': 1}"), "device_traces[0][0].size is missing"},
    {TRACE("{'addr': 1, 'size': 1}"),
     "device_traces[0][0] is no trace entry (with an action) but a value of type dict"},
    {TRACE("7"), "device_traces[0][0] is no trace entry (with an action) but a value of type int"},
    {STATE("", ",'device_traces': [7]"), "device_traces[0] must be a list, found int"},
    {STATE("", ",'device_traces': 7"), "device_traces must be a list, found int"},
    {STATE("", ",'device_traces': [[]," ENTRY("") "]"),
     "device_traces[1] must be a list, found dict"},
    /* blocks */
    {STATE(ONE_BLOCK(",'size': 0"), ""), "segments[0].blocks[0].size is 0"},
    {STATE(ONE_BLOCK(",'size': -512"), ""), "segments[0].blocks[0].size is negative (-512)"},
    {STATE(ONE_BLOCK(",'size': None"), ""),
     "segments[0].blocks[0].size must be an integer, found NoneType"},
    {STATE(ONE_BLOCK(",'state': 'gone'"), ""),
     "segments[0].blocks[0].state must be inactive, active_allocated or active_pending_free, found "
     "'gone'"},
    {STATE(ONE_BLOCK(",'state': 3"), ""), "found a value of type 'int'"},
    {STATE(ONE_BLOCK(",'history': 3"), ""),
     "segments[0].blocks[0].history must be a list, found int"},
    {STATE(ONE_BLOCK(",'history': [3]"), ""),
     "segments[0].blocks[0].history must hold entries with a real_size, found int"},
    {STATE(ONE_BLOCK(",'address': 0xfff000"), ""),
     "segments[0].blocks[0].address is 0xfff000, before the end of what precedes it, 0x1000000"},
    {STATE(
         SEGMENT("0x1000000", BLOCK("0x1000000", "1024", "") "," BLOCK("0x1000200", "512", ""), ""),
         ""),
     "segments[0].blocks[1].address is 0x1000200, before the end of what precedes it, 0x1000400"},
    {STATE(SEGMENT("0x1000000",
                   BLOCK("0x1000000", "1024", "") "," BLOCK("0x1000400", "0x200000", ""), ""),
           ""),
     "segments[0].blocks[1], 2097152 bytes at 0x1000400, reaches beyond the segment's total_size"},
    {STATE(SEGMENT("0x1000000", BLOCK("0x9000000", "512", ""), ""), ""), "reaches beyond"},
    {STATE(SEGMENT("0x1000000", "7", ""), ""),
     "segments[0].blocks holds a int without size and state at index 0"},
    {STATE(SEGMENT("0x1000000", "{'size': 512}", ""), ""),
     "segments[0].blocks holds a dict without size and state at index 0"},
    /* segments */
    {STATE(SEGMENT("0x1000000", "", "") "," SEGMENT("0x1000000", "", ""), ""),
     "segments[0] and segments[1] are both at 0x1000000"},
    {STATE(SEGMENT("0x1100000", "", "") "," SEGMENT("0x1000000", "", ""), ""),
     "segments[0] at 0x1100000 overlaps segments[1], 2097152 bytes at 0x1000000"},
    {STATE(SEGMENT("0xffffffffffffff00", "", ""), ""),
     "segments[0] at 0xffffffffffffff00 reaches beyond 2^64"},
    {STATE(SEGMENT("0", "", ",'total_size': 0"), ""), "segments[0].total_size is 0"},
    {STATE(SEGMENT("0", "", ",'total_size': -1"), ""), "segments[0].total_size is negative (-1)"},
    {STATE(SEGMENT("0", "", ",'device': -1"), ""), "segments[0].device is negative (-1)"},
    {STATE(SEGMENT("0", "", ",'device': 65536"), ""), "segments[0].device is 65536"},
    {STATE(SEGMENT("0", "", ",'blocks': 7"), ""), "segments[0].blocks must be a list, found int"},
    {STATE("{'total_size': 1, 'blocks': []}", ""), "segments[0].address is missing"},
    {STATE("{'address': 1}", ""),
     "segments[0] is no segment (with blocks and total_size) but a value of type dict"},
    {STATE(SEGMENT("0", "", "") ",{'address': 1}", ""), "segments[1] is no segment"},
    {"[" SEGMENT("0", "", "") "," SEGMENT("0", "", ",'total_size': -1") "]",
     "segments[1].total_size is negative"},
    {"{'segments': 7}", "segments must be a list, found int"},
    {STATE(SEGMENT("0", "", ""), ",'allocator_settings': 7"),
     "allocator_settings must be a dict, found int"},
    /* nothing to say */
    {"{'segments': []}", "the snapshot is empty"},
    {"{'segments': [], 'device_traces': [[], []]}", "the snapshot is empty"},
    {"[]", "the snapshot is empty"},
};

Test(snapshot_schema, nonsense_is_refused_with_its_place) {
  ul_source *source;
  ul_error err;
  size_t i;

  for (i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++) {
    cr_expect(eq(int, open_text(&source, bad_files[i].text, &err), UL_E_MALFORMED), "%s: %s",
              bad_files[i].says, err.message);
    cr_expect(strstr(err.message, bad_files[i].says) != NULL, "'%s' in '%s'", bad_files[i].says,
              err.message);
  }
}

Test(snapshot_schema, what_is_no_snapshot_is_described) {
  static const struct bad files[] = {
      {"{'a': 1, 'b': [2]}", "found a dict with the keys 'a', 'b'"},
      {"{'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1, 'f': 1, 'g': 1, 'h': 1}",
       "'a', 'b', 'c', 'd', 'e', 'f' and 2 more"},
      {"{1: 2}", "found a dict with the keys '(not a string)'"},
      {"{}", "found an empty dict"},
      {"7", "found a value of type int"},
      {"'x'", "found a value of type str"},
      {"['x']", "found a list of 1 values, the first of type str"},
      {ENTRY(""), "found a single trace entry"},
      {SEGMENT("0", "", ""), "found a single segment"},
      {"[" ENTRY("") "]", "found a list of 1 values, the first of type dict"},
  };
  ul_source *source;
  ul_error err;
  size_t i;

  for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    cr_expect(eq(int, open_text(&source, files[i].text, &err), UL_E_FORMAT), "%s", err.message);
    cr_expect(strstr(err.message, files[i].says) != NULL, "'%s' in '%s'", files[i].says,
              err.message);
  }
}

/* Elsewhere nonsense does not matter: nobody asks for it. */
Test(snapshot_schema, what_is_not_the_recording_is_skipped) {
  ul_source *source = open_good(STATE(
      ONE_BLOCK(""),
      ",'host_traces': [[{'action': 'alloc', 'size': -5}, {'action': 5}]],"
      "'host_segments': [{'blocks': 5, 'total_size': -1}], 'future': {'x': [{}]},"
      "'external_annotations': [{'stage': 'MIDDLE', 'name': 'x', 'time_us': 1}],"
      "'device_traces': [[" ENTRY(",'rounded_by': [1], 'forward_frames': ['a','b']") "," ENTRY(
          ",'category': {'a': [1]}") "]]"));

  cr_expect(eq(u64, ul_source_recording(source, 0)->count, 2));
  cr_expect(eq(sz, ul_source_get_info(source)->mark_count, 0));
  ul_source_close(source);
}

Test(snapshot_schema, a_key_given_twice_counts_once) {
  ul_source *source = open_good(TRACE(ENTRY(",'size': 7")));

  cr_expect(eq(u64, ul_source_recording(source, 0)->events[0].bytes, 7));
  ul_source_close(source);
}

Test(snapshot_schema, gaps_are_inactive_blocks_and_counted) {
  ul_source *source = open_good(
      STATE(SEGMENT("0x1000000", BLOCK("0x1000200", "512", "") "," BLOCK("0x1000600", "512", ""),
                    ",'requested_size': 2"),
            ""));
  const ul_state *state = &ul_source_recording(source, 0)->final_state;

  /* [0, 512) gap, block, [1024, 1536) gap, block, [2048, 2 MiB) gap */
  cr_assert(eq(u32, state->block_count, 5));
  cr_expect(eq(u64, state->blocks[0].bytes, 512));
  cr_expect(eq(uint, state->blocks[0].state, UL_BLOCK_INACTIVE));
  cr_expect(eq(u64, state->blocks[2].address, 0x1000400));
  cr_expect(eq(u64, state->blocks[4].bytes, 0x200000 - 2048));
  cr_assert(eq(sz, ul_source_get_info(source)->warning_count, 1));
  cr_expect(strstr(ul_source_get_info(source)->warnings[0].text, "do not cover") != NULL);
  ul_source_close(source);
}

Test(snapshot_schema, documentation_spelling_of_pending) {
  ul_source *source = open_good(STATE(ONE_BLOCK(",'state': 'active_awaiting_free'"), ""));

  cr_expect(eq(uint, ul_source_recording(source, 0)->final_state.blocks[0].state,
               UL_BLOCK_ACTIVE_PENDING_FREE));
  ul_source_close(source);
}

Test(snapshot_schema, pool_ids_as_pair_list_or_number) {
  static const char *const forms[] = {"(0, 1)", "[0, 1]", "1", "True"};
  char text[1024];
  uint64_t pair[2];
  ul_source *source;
  size_t i;

  for (i = 0; i < 4; i++) {
    snprintf(text, sizeof(text), STATE(SEGMENT("0", "", ",'segment_pool_id': %s"), ""), forms[i]);
    source = open_good(text);
    cr_assert(eq(int, ul_source_pool(source, 1, pair), 1), "%s", forms[i]);
    cr_expect(eq(u64, pair[0], 0));
    cr_expect(eq(u64, pair[1], 1));
    cr_expect(eq(u32, ul_source_recording(source, 0)->final_state.segments[0].pool, 1));
    ul_source_close(source);
  }
}

Test(snapshot_schema, streams_and_pools_are_numbered_by_value) {
  ul_source *source =
      open_good(TRACE(ENTRY(",'stream': 0xffffffffffffffff, 'pool_id': (1, 0)") "," ENTRY(
          ",'stream': 7, 'pool_id': (0, 9)") "," ENTRY(",'stream': 9, 'pool_id': (0, 2)")));
  const ul_event *events = ul_source_recording(source, 0)->events;
  uint64_t pair[2];

  cr_expect(eq(sz, ul_source_get_info(source)->stream_count, 4)); /* 0 7 9 2^64 - 1 */
  cr_expect(eq(u32, events[0].stream, 3));
  cr_expect(eq(u32, events[1].stream, 1));
  cr_expect(eq(u32, events[2].stream, 2));
  cr_expect(eq(u64, ul_source_stream(source, 3), UINT64_MAX));
  cr_expect(eq(sz, ul_source_get_info(source)->pool_count, 4)); /* (0,0) (0,2) (0,9) (1,0) */
  cr_expect(eq(u32, events[0].pool, 3));
  cr_expect(eq(u32, events[1].pool, 2));
  cr_expect(eq(u32, events[2].pool, 1));
  cr_assert(eq(int, ul_source_pool(source, 3, pair), 1));
  cr_expect(eq(u64, pair[0], 1));
  ul_source_close(source);
}

/* The C++ pickler has 8 signed bytes: addresses from 2^63 up become negative. */
Test(snapshot_schema, addresses_may_come_negative) {
  ul_source *source = open_good(TRACE(ENTRY(",'addr': -4096") "," ENTRY("")));

  cr_expect(eq(u64, ul_source_recording(source, 0)->addresses[0], UINT64_MAX - 4095));
  ul_source_close(source);
}

Test(snapshot_schema, a_line_of_minus_one_in_every_spelling) {
  ul_source *source = open_good(
      TRACE(ENTRY(",'frames': [{'name': 'a', 'filename': 'f', 'line': -1},"
                  "{'name': 'b', 'filename': 'f', 'line': 0xffffffffffffffff},"
                  "{'name': 'c', 'filename': 'f'}, {'name': 'd', 'filename': 'f', 'line': 7,"
                  "'fx_node_op': 'call'}, {'name': None, 'filename': None, 'line': 0}]")));
  const uint32_t *frames;
  ul_frame frame;
  static const int64_t lines[] = {-1, -1, -1, 7, 0};
  size_t i;

  cr_assert(
      eq(sz, ul_source_stack(source, ul_source_recording(source, 0)->events[0].stack, &frames), 5));
  for (i = 0; i < 5; i++) {
    cr_assert(eq(int, ul_source_frame(source, frames[i], &frame), 1));
    cr_expect(eq(i64, frame.line, lines[i]));
  }
  cr_expect(eq(str, (char *)frame.name, (char *)""));
  ul_source_close(source);
}

Test(snapshot_schema, equal_stacks_are_one) {
#define FRAMES ",'frames': [{'name': 'a', 'filename': 'f', 'line': 1}]"
  ul_source *source = open_good(TRACE(ENTRY(FRAMES) "," ENTRY(FRAMES) "," ENTRY("")));
  const ul_event *events = ul_source_recording(source, 0)->events;

  cr_expect(eq(u32, events[0].stack, 1));
  cr_expect(eq(u32, events[1].stack, 1));
  cr_expect(eq(u32, events[2].stack, 0));
  cr_expect(eq(sz, ul_source_get_info(source)->frame_count, 1));
  ul_source_close(source);
}

Test(snapshot_schema, unknown_actions_are_counted_and_named) {
  ul_source *source = open_good(TRACE(ENTRY("") "," ENTRY(",'action': 'defrag'") ","
                                                                                 "{'action': "
                                                                                 "'defrag'}"));
  const ul_source_info *info = ul_source_get_info(source);

  cr_assert(eq(sz, info->warning_count, 1));
  cr_expect(eq(u64, info->warnings[0].count, 2));
  cr_expect(eq(u64, info->warnings[0].first, 1));
  cr_expect(strstr(info->warnings[0].text, "'defrag'") != NULL);
  cr_expect(eq(uint, ul_source_recording(source, 0)->events[1].kind, UL_EVENT_OBSERVED));
  ul_source_close(source);
}

/* --- handles --- */

static void expect_handles(const char *text, size_t count, const uint64_t *handles,
                           const uint8_t *kinds, const uint8_t *flags) {
  ul_source *source = open_good(text);
  const ul_recording *recording = ul_source_recording(source, 0);
  size_t i;

  cr_assert(eq(u64, recording->count, count));
  for (i = 0; i < count; i++) {
    cr_expect(eq(u64, recording->events[i].handle, handles[i]), "%zu", i);
    cr_expect(eq(uint, recording->events[i].kind, kinds[i]), "%zu", i);
    cr_expect(eq(uint, recording->events[i].flags, flags[i]), "%zu", i);
  }
  ul_source_close(source);
}

#define ON(action, address) "{'action': '" action "', 'addr': " address ", 'size': 512}"

/* skip_actions may leave the completions out: then no free is deferred. */
Test(snapshot_schema, requests_without_completions) {
  expect_handles(TRACE(ON("alloc", "1") "," ON("free_requested", "1") "," ON("alloc", "1")), 3,
                 (const uint64_t[]){1, 1, 2},
                 (const uint8_t[]){UL_EVENT_ALLOC, UL_EVENT_FREE, UL_EVENT_ALLOC},
                 (const uint8_t[]){0, 0, 0});
}

/* ... or the requests: then the completion is the free. */
Test(snapshot_schema, completions_without_requests) {
  expect_handles(
      TRACE(ON("alloc", "1") "," ON("free_completed", "1") "," ON("free_completed", "2")), 3,
      (const uint64_t[]){1, 1, 2}, (const uint8_t[]){UL_EVENT_ALLOC, UL_EVENT_FREE, UL_EVENT_FREE},
      (const uint8_t[]){0, 0, UL_EVENT_BEFORE_RECORDING});
}

Test(snapshot_schema, contradictions_stay_visible) {
  /* alloc where something lives; a second free of the same; completion of what lives */
  expect_handles(
      TRACE(ON("alloc", "1") "," ON("alloc", "1") "," ON("free_requested", "1") "," ON(
          "free_requested", "1") "," ON("free_completed",
                                        "1") "," ON("alloc", "2") "," ON("free_completed", "2")),
      7, (const uint64_t[]){1, 2, 2, 2, 2, 3, 3},
      (const uint8_t[]){UL_EVENT_ALLOC, UL_EVENT_ALLOC, UL_EVENT_FREE, UL_EVENT_FREE,
                        UL_EVENT_COMPLETE, UL_EVENT_ALLOC, UL_EVENT_COMPLETE},
      (const uint8_t[]){0, 0, UL_EVENT_DEFERRED, 0, 0, 0, 0});
}

/* --- releases and back ends --- */

#define SETTINGS     ",'allocator_settings': {'PYTORCH_CUDA_ALLOC_CONF': '', 'max_split_size': -1"
#define TRACES(more) ",'device_traces': [[" ENTRY(more) "," ENTRY(more) "]]"

#define OLD_SEGMENT(more)                                                   \
  "{'device': 0, 'address': 0, 'total_size': 512, 'segment_type': 'small'," \
  "'blocks': [{'size': 512, 'state': 'inactive'}]" more "}"

struct dated {
  const char *text;
  unsigned oldest, newest;
};

Test(snapshot_schema, keys_tell_the_release) {
  static const struct dated files[] = {
      {STATE("", ",'device_traces': [[" ON("alloc", "1") "," ON("alloc", "2") "]]"), 113, 201},
      {STATE(ONE_BLOCK(""), ",'device_traces': [[" ON("alloc", "1") "]]"), 201, 201},
      {STATE(ONE_BLOCK(""), TRACES("")), 202, 202},
      {STATE(ONE_BLOCK(""), TRACES("") SETTINGS "}"), 203, 204},
      {STATE(ONE_BLOCK(""), TRACES("") SETTINGS "}, 'external_annotations': []"), 205, 207},
      {STATE(ONE_BLOCK(""),
             TRACES(",'compile_context': 'N/A'") SETTINGS "}, 'external_annotations': []"),
       208, 208},
      {STATE(ONE_BLOCK(""), TRACES(",'compile_context': 'N/A'") SETTINGS
             ",'graph_capture_record_stream_reuse': False},"
             "'external_annotations': []"),
       209, 209},
      {STATE(ONE_BLOCK(""), TRACES(",'compile_context': 'N/A', 'user_metadata': ''") SETTINGS
             ",'graph_capture_record_stream_reuse': False},"
             "'external_annotations': []"),
       210, 0},
      {STATE(ONE_BLOCK(""), ",'device_traces': []"), 201, 202},
      {STATE(OLD_SEGMENT(""), ",'device_traces': []"), 113, 113},
      {STATE(OLD_SEGMENT(",'requested_size': 0"), ",'device_traces': []"), 200, 200},
      {"[" OLD_SEGMENT("") "]", 104, 113},
  };
  ul_source *source;
  const ul_source_info *info;
  size_t i;

  for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    source = open_good(files[i].text);
    info = ul_source_get_info(source);
    cr_expect(eq(uint, info->releases.oldest, files[i].oldest), "%zu: %s", i, info->era);
    cr_expect(eq(uint, info->releases.newest, files[i].newest), "%zu: %s", i, info->era);
    ul_source_close(source);
  }
}

Test(snapshot_schema, back_ends_are_told_apart) {
  static const struct {
    const char *text, *backend;
  } files[] = {
      {STATE(ONE_BLOCK(""), ""), "cuda"},
      {STATE(ONE_BLOCK(""), ",'allocator_settings': {'PYTORCH_ALLOC_CONF': '',"
                            "'expandable_segments': False}"),
       "xpu"},
      {TRACE(ENTRY(",'action': 'workspace_snapshot'") "," ENTRY("")), "npu"},
      {STATE(ONE_BLOCK(""), ",'allocator_settings': {'PYTORCH_NPU_ALLOC_CONF': ''}"), "npu"},
      {STATE("{'device': 0, 'address': 0, 'total_size': 512, 'segment_type': 'small',"
             "'blocks': [" BLOCK("0", "512", "") "]}",
             ""),
       "gcu"},
      {STATE(
           "{'device': 0, 'address': 0, 'total_size': 512, 'blocks': [" BLOCK("0", "512", "") "]}",
           TRACES(",'category': 'unknown'")),
       "profiler"},
  };
  ul_source *source;
  size_t i;

  for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    source = open_good(files[i].text);
    cr_expect(eq(str, (char *)ul_source_get_info(source)->backend, (char *)files[i].backend));
    cr_expect(eq(int, ul_source_get_info(source)->warning_count > 0, i > 0), "%zu", i);
    ul_source_close(source);
  }
}

Test(snapshot_schema, settings_as_the_allocator_resolved_them) {
  static const struct {
    const char *fields, *settings;
  } cases[] = {
      {"", ""},
      {",'max_split_size': 0x1500000", "max_split_size_mb:21"},
      {",'max_split_size': 0xffffffffffffffff", ""},
      {",'garbage_collection_threshold': 0.6", "garbage_collection_threshold:0.6"},
      {",'garbage_collection_threshold': 0.0", ""},
      {",'expandable_segments': True, 'release_lock_on_cudamalloc': True,"
       "'graph_capture_record_stream_reuse': True",
       "expandable_segments:True,release_lock_on_cudamalloc:True,"
       "graph_capture_record_stream_reuse:True"},
      {",'roundup_power2_divisions': {'1': 0, '2': 0}", ""},
      {",'roundup_power2_divisions': {'1': 8, '32768': 4}",
       "roundup_power2_divisions:[1:8,32768:4]"},
      {",'PYTORCH_CUDA_ALLOC_CONF': 'a:1, "
       "large_segment_size_mb : 40,max_non_split_rounding_mb:50'",
       "large_segment_size_mb:40,max_non_split_rounding_mb:50"},
      {",'PYTORCH_CUDA_ALLOC_CONF': 'large_segment_size_mb:40,max_non_split_rounding_mb:30'",
       "large_segment_size_mb:40"},
      {",'PYTORCH_CUDA_ALLOC_CONF': 'my_large_segment_size_mb:40,large_segment_size_mb'", ""},
      {",'garbage_collection_threshold': 'x', 'max_split_size': []", ""},
  };
  char text[2048];
  ul_source *source;
  size_t i;

  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    snprintf(text, sizeof(text), STATE(ONE_BLOCK(""), SETTINGS "%s}"), cases[i].fields);
    source = open_good(text);
    cr_expect(eq(str, (char *)ul_source_get_info(source)->settings, (char *)cases[i].settings));
    ul_source_close(source);
  }
}

/* One list of segments, or of blocks, in two places: each thing exists once. */
Test(snapshot_schema, shared_lists_are_refused) {
  static const char twice_trace[] = "\x80\x04}(\x8c\x08segments](e\x8c\x0d"
                                    "device_traces](](}(\x8c\x06"
                                    "action\x8c\x05"
                                    "alloc\x8c\x04"
                                    "addrK\x01\x8c\x04sizeK\x01ueq\x01h\x01"
                                    "eu.";
  ul_source *source = NULL;
  ul_error err = {0};

  cr_expect(eq(int,
               ul_source_open_bytes(&source, twice_trace, sizeof(twice_trace) - 1, "f", NULL, &err),
               UL_E_MALFORMED));
  cr_expect(strstr(err.message, "device_traces[0] and device_traces[1] share entries") != NULL,
            "%s", err.message);
}

/* An entry that is part of its own frames, a dict that holds itself and changes later. */
Test(snapshot_schema, things_that_hold_themselves_end) {
  static const struct {
    const char *bytes;
    size_t size;
  } files[] = {
#define RAW(text) {text, sizeof(text) - 1}
      RAW("}\x94(\x8c\x06"
          "action\x8c\x05"
          "alloc\x8c\x04sizeK\x01\x8c\x04"
          "addrK\x01\x8c\x06"
          "framesh\x00u."),
      RAW("}\x94(\x8c\x06"
          "action\x8c\x05"
          "alloc\x8c\x04sizeK\x01\x8c\x04"
          "addrK\x01\x8c\x01xh\x00uh\x00K\x01K\x02s."),
      RAW("}\x94\x8c\x06"
          "action\x8c\x05"
          "allocs\x8c\x04sizeK\x01s\x8c\x04"
          "addrK\x01s\x8c\x01xh\x00sh\x00K\x01K\x02s."),
      RAW("]\x94}\x8c\x06"
          "action\x8c\x05"
          "allocs\x8c\x04sizeK\x01s\x8c\x04"
          "addrK\x01s\x8c\x06"
          "framesh\x00sa."),
  };
  ul_source *source;
  ul_error err;
  size_t i;

  for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    source = NULL;
    err.message[0] = '\0';
    cr_expect(ne(int, ul_source_open_bytes(&source, files[i].bytes, files[i].size, "f", NULL, &err),
                 UL_OK));
    cr_expect(err.message[0] != '\0');
  }
}
