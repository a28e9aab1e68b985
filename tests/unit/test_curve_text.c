/* SPDX-License-Identifier: MIT */
#include "report/curve_text.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/support/report_sink.h"

static report_sink sink;

/* Points of one event each: reserved 8 MiB at the peak, else 4 MiB; allocated 4 and 2 MiB. */
static void fill(ul_curve_point *points, size_t count, size_t peak) {
  size_t i;

  memset(points, 0, count * sizeof(*points));
  for (i = 0; i < count; i++) {
    const uint64_t reserved = (uint64_t)(i == peak ? 8 : 4) << 20;
    points[i].first_event = points[i].last_event = i;
    points[i].reserved_min = points[i].reserved_max = reserved;
    points[i].allocated_min = points[i].allocated_max = reserved / 2;
  }
}

Test(curve_text, no_peak_is_lost_when_points_share_a_column) {
  static ul_curve_point points[1000];
  ul_curve_column columns[10];
  size_t peak, c;

  for (peak = 0; peak < 1000; peak += 37) {
    fill(points, 1000, peak);
    ul_curve_columns(points, 1000, columns, 10);
    for (c = 0; c < 10; c++) /* 100 points each */
      cr_expect(eq(u64, columns[c].reserved_max, (uint64_t)(c == peak / 100 ? 8 : 4) << 20));
    cr_expect(eq(sz, ul_curve_column_of(points, 1000, peak, 10), peak / 100));
  }
}

Test(curve_text, few_points_are_stretched) {
  ul_curve_point points[2];
  ul_curve_column columns[6];
  size_t c;

  fill(points, 2, 1);
  ul_curve_columns(points, 2, columns, 6);
  for (c = 0; c < 6; c++)
    cr_expect(eq(u64, columns[c].reserved_max, (uint64_t)(c < 3 ? 4 : 8) << 20));
}

Test(curve_text, extremes_of_allocated_are_both_kept) {
  ul_curve_point points[2];
  ul_curve_column column;

  fill(points, 2, 0);
  points[0].allocated_min = 1;
  ul_curve_columns(points, 2, &column, 1);
  cr_expect(eq(u64, column.allocated_min, 1));
  cr_expect(eq(u64, column.allocated_max, UINT64_C(4) << 20));
}

Test(curve_text, draws_ascii_where_nothing_else_is_allowed) {
  ul_curve_point points[40];
  ul_report_options options = {.size = sizeof(options), .columns = 54};
  ul_text text;

  fill(points, 40, 20);
  memset(&sink, 0, sizeof(sink));
  ul_text_init(&text, &options, report_sink_write, &sink);
  ul_curve_draw(&text, points, 40, 40, 20, 4);
  cr_assert(eq(int, ul_text_finish(&text, NULL), UL_OK));
  /* 54 columns less 14 leave 40, one for each point. Lines stand for 2 MiB each: allocated fills
   * one (two at the peak), reserved two (four). The label of the second line from below is its
   * middle: 8 MiB * 3/8. */
  cr_expect(eq(str, report_sink_line(&sink, 0), "   8.00 MiB |                    ."));
  cr_expect(eq(str, report_sink_line(&sink, 1), "            |                    ."));
  cr_expect(
      eq(str, report_sink_line(&sink, 2), "   4.00 MiB |....................#..................."));
  cr_expect(
      eq(str, report_sink_line(&sink, 3), "            |########################################"));
  cr_expect(
      eq(str, report_sink_line(&sink, 4), "          0 +--------------------^-------------------"));
  cr_expect(
      eq(str, report_sink_line(&sink, 5), "                              peak 20       40 events"));
}

Test(curve_text, an_empty_recording_draws_nothing) {
  ul_text text;

  memset(&sink, 0, sizeof(sink));
  ul_text_init(&text, NULL, report_sink_write, &sink);
  ul_curve_draw(&text, NULL, 0, 0, 0, 4);
  cr_assert(eq(int, ul_text_finish(&text, NULL), UL_OK));
  cr_expect(eq(sz, sink.used, 0));
}
