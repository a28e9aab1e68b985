/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/support/fake_result.h"
#include "tests/support/report_sink.h"

static report_sink sink;
static ul_source_info info;
static ul_report_options options;

static void write_report(const ul_device_result *const *devices, size_t count, size_t main_index,
                         int json) {
  const ul_replay_view view = {NULL, &info, devices, count, main_index};
  ul_error err;
  ul_status status;

  memset(&sink, 0, sizeof(sink));
  status = json ? ul_replay_view_json(&view, &options, report_sink_write, &sink, &err)
                : ul_replay_view_text(&view, &options, report_sink_write, &sink, &err);
  cr_assert(eq(int, status, UL_OK));
}

static void write_one(const ul_device_result *device, int json) {
  write_report(&device, 1, 0, json);
}

static void setup(void) {
  info = fake_info();
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
}

#define EXPECT_TEXT(piece) \
  cr_expect(strstr(sink.text, piece) != NULL, "\"%s\" is not in:\n%s", piece, sink.text)
#define EXPECT_NO_TEXT(piece) \
  cr_expect(strstr(sink.text, piece) == NULL, "\"%s\" is in:\n%s", piece, sink.text)

TestSuite(report_replay, .init = setup);

Test(report_replay, the_proof_comes_first) {
  const ul_device_result d = fake_device(0);

  write_one(&d, 0);
  cr_expect(eq(str, report_sink_line(&sink, 0),
               "7946 of 7946 placements exact, 0 assisted; 61 of 61 segment entries; 468 of 468"));
  cr_expect(strncmp(report_sink_line(&sink, 2), "Proved: ", 8) == 0, "%s", sink.text);
}

Test(report_replay, fits_one_screen) {
  const ul_device_result d = fake_device(0);
  size_t lines = 0, width = 0, i;

  write_one(&d, 0);
  for (i = 0; sink.text[i]; i++) {
    size_t line = 0;
    for (; sink.text[i] != '\n'; i++)
      line++;
    lines++;
    width = line > width ? line : width;
  }
  cr_expect(le(sz, lines, 40));
  cr_expect(le(sz, width, 80), "%s", sink.text);
}

Test(report_replay, a_failed_proof_names_the_first_difference) {
  ul_device_result d = fake_device(0);

  fake_refute(&d);
  write_one(&d, 0);
  EXPECT_TEXT("41 of 7946 placements exact");
  EXPECT_TEXT("NOT PROVED");
  EXPECT_TEXT("unproven");
  EXPECT_TEXT("First difference: entry 1187: recorded here, modelled there\n");
  EXPECT_TEXT("Likely cause: another setting\n");
  EXPECT_NO_TEXT("Proved");
}

Test(report_replay, lost_bytes_are_listed_by_class_and_only_where_there_are_any) {
  ul_device_result d = fake_device(0);

  write_one(&d, 0);
  /* 26 of 100 MiB; 11 of the 26 are pinned */
  EXPECT_TEXT("Lost at the peak: 26.00 MiB, 26.0 % of reserved; most of it fragmentation\n");
  EXPECT_TEXT("     11.00 MiB   42.3 %  pinned ");
  EXPECT_TEXT("      2.00 MiB    7.7 %  rounding ");
  EXPECT_TEXT("  held ");
  d.lost_at_peak.held_bytes = 0;
  d.lost_at_peak.live_bytes += 5 * FAKE_MIB;
  write_one(&d, 0);
  EXPECT_NO_TEXT("  held ");
}

Test(report_replay, the_peak_says_when_and_how_much) {
  const ul_device_result d = fake_device(0);

  write_one(&d, 0);
  EXPECT_TEXT("100.00 MiB reserved after event 700 of 1000 (70.1 %)"); /* 701 of 1000 done */
  EXPECT_TEXT("79.00 MiB allocated, 80.00 MiB active, 75.00 MiB requested");
  EXPECT_TEXT("78.00 MiB allocated at most (event 702), 74.00 MiB live at most (event\n");
  EXPECT_TEXT("refused: 32.00 MiB at event 990 with 3.00 MiB free on the device");
}

Test(report_replay, holders_that_are_not_shown_are_summed) {
  const ul_device_result d = fake_device(0);

  options.top = 1;
  options.stack_style = UL_STACK_NONE;
  write_one(&d, 0);
  /* 50 of 79 MiB allocated; 79 - 50 = 29 */
  EXPECT_TEXT("     50.00 MiB   63.3 %       3 blocks  stack 7\n");
  EXPECT_TEXT("     29.00 MiB   36.7 %  from other places");
  options.stack_style = UL_STACK_USER;
  write_one(&d, 0); /* without frames both stacks are one place: 70 of 79 MiB in 4 blocks */
  EXPECT_TEXT("     70.00 MiB   88.6 %       4 blocks  no stack recorded\n");
}

Test(report_replay, exact_sizes_on_request) {
  const ul_device_result d = fake_device(0);

  options.exact_bytes = 1;
  write_one(&d, 0);
  EXPECT_TEXT("104857600 bytes reserved");
}

Test(report_replay, the_what_if_stands_beside_the_proof) {
  ul_device_result d = fake_device(0);

  d.has_what_if = 1;
  d.what_if.torch = "2.12";
  d.what_if.settings = "expandable_segments:True";
  d.what_if.memory_bytes = 90 * FAKE_MIB;
  d.what_if.fits = 0;
  d.what_if.oom_count = 2;
  d.what_if.first_oom.event = 612;
  d.what_if.first_oom.rounded_bytes = 6 * FAKE_MIB;
  d.what_if.peak.reserved_bytes = 88 * FAKE_MIB;
  write_one(&d, 0);
  EXPECT_TEXT("What if: torch 2.12, settings expandable_segments:True");
  EXPECT_TEXT("90.00 MiB (94371840");
  EXPECT_TEXT("peak reserved 88.00 MiB (-12.00 MiB)");
  EXPECT_TEXT("DOES NOT FIT: 2 requests refused, first 6.00 MiB at event 612");
  EXPECT_TEXT("Proved");
}

Test(report_replay, a_state_without_a_trace_is_said_to_be_one) {
  ul_device_result d = fake_device(0);

  memset(&d.proof, 0, sizeof(d.proof));
  d.has_trace = 0;
  d.entries = 0;
  d.curve_count = 0;
  write_one(&d, 0);
  cr_expect(strncmp(sink.text, "0 of 0 placements exact: the file has no usable trace", 53) == 0,
            "%s", sink.text);
  EXPECT_TEXT("100.00 MiB reserved");
  EXPECT_TEXT("Lost then: 26.00 MiB");
  EXPECT_NO_TEXT("after event");
  EXPECT_NO_TEXT("Proved");
}

Test(report_replay, the_main_device_comes_first_and_the_proof_covers_all) {
  ul_device_result a = fake_device(0), b = fake_device(3);
  const ul_device_result *devices[] = {&a, &b};

  fake_refute(&a);
  write_report(devices, 2, 1, 0);
  EXPECT_TEXT("7987 of 15892 placements exact"); /* 41 + 7946 of 2 * 7946 */
  EXPECT_TEXT("NOT PROVED");
  EXPECT_TEXT("device 0, entry 1187");
  cr_expect(lt(ptr, (void *)strstr(sink.text, "device 3"), (void *)strstr(sink.text, "Device 0")));
}

Test(report_replay, json_has_the_agreed_keys) {
  const ul_device_result d = fake_device(4);

  write_one(&d, 1);
  cr_expect(strncmp(sink.text, "{\"schema\":\"ullage.replay/1\",\"trace\":{", 37) == 0);
  EXPECT_TEXT("\"device\":4,");
  EXPECT_TEXT(
      "\"torch\":\"2.6\",\"settings\":\"\",\"why\":\"its keys\",\"alike\":[\"2.5\",\"2.7\"],"
      "\"refuted\":{\"2.12\":5121}");
  EXPECT_TEXT("\"placements\":7946,\"exact\":7946,\"assisted\":0,\"segments\":{\"recorded\":61,"
              "\"exact\":61},\"final_blocks\":{\"recorded\":468,\"exact\":468},\"inferred\":{"
              "\"empty_cache\":0,\"pool\":0,\"stream_use\":0},\"ambiguous_blocks\":0");
  EXPECT_TEXT(
      "\"lost_at_peak\":{\"event\":700,\"reserved_bytes\":104857600,\"live_bytes\":77594624,"
      "\"rounding_bytes\":2097152,\"tail_bytes\":3145728,\"pending_bytes\":1048576,"
      "\"releasable_bytes\":4194304,\"held_bytes\":5242880,\"pinned_bytes\":11534336}");
  EXPECT_TEXT("\"stats\":{\"reserved_bytes.all.peak\":104857600,\"num_sync_all_streams\":null}");
  EXPECT_TEXT("\"oom\":{\"event\":990,\"rounded_bytes\":33554432,\"device_free_bytes\":3145728}");
  EXPECT_TEXT("\"asker_at_peak\":null");
  EXPECT_TEXT("\"what_if\":null");
  EXPECT_TEXT("\"first_event\":11,");
  EXPECT_TEXT("\"first_event\":null,"); /* before the recording */
  EXPECT_TEXT("\"reserved_peak_bytes\":{\"min\":104857600,\"max\":104857600}");
}

Test(report_replay, json_writes_addresses_as_text_and_the_unknown_as_null) {
  ul_device_result d = fake_device(0);

  fake_refute(&d);
  info.has_requested_sizes = 0;
  write_one(&d, 1);
  EXPECT_TEXT("\"first_difference\":{\"kind\":\"placement\",\"event\":1187,"
              "\"recorded_address\":\"0x7f0000000200\",\"recorded_bytes\":512,");
  EXPECT_TEXT("\"live_bytes\":null,\"rounding_bytes\":null,\"tail_bytes\":null,");
  EXPECT_TEXT("\"first_time_ns\":null");
}

Test(report_replay, a_file_without_devices_still_makes_a_report) {
  write_report(NULL, 0, 0, 1);
  EXPECT_TEXT("\"devices\":[]}");
  write_report(NULL, 0, 0, 0);
  EXPECT_TEXT("no device");
}

Test(report_replay, a_sink_that_refuses_ends_the_report) {
  const ul_device_result d = fake_device(0), *devices[] = {&d};
  const ul_replay_view view = {NULL, &info, devices, 1, 0};
  ul_error err;

  sink.refuse = 1;
  cr_expect(eq(int, ul_replay_view_text(&view, NULL, report_sink_write, &sink, &err), UL_E_OUTPUT));
  cr_expect(eq(int, ul_replay_view_json(&view, NULL, report_sink_write, &sink, &err), UL_E_OUTPUT));
}
