/* SPDX-License-Identifier: MIT */
#include "report/text.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>

#include "report/words.h"

#include "tests/support/report_sink.h"

static report_sink sink;

static void start(ul_text *text, unsigned columns, int unicode, int colour) {
  const ul_report_options options = {
      .size = sizeof(options), .columns = columns, .unicode = unicode, .colour = colour};

  memset(&sink, 0, sizeof(sink));
  ul_text_init(text, &options, report_sink_write, &sink);
}

Test(report_text, nothing_that_a_file_holds_controls_the_terminal) {
  ul_text text;

  start(&text, 80, 1, 1);
  ul_text_put(&text, "a\033[31mb\rc\x7f"
                     "d\x80\xC2\x9B"
                     "e\xE2\x82\xAC\xED\xA0\x80");
  cr_assert(eq(int, ul_text_finish(&text, NULL), UL_OK));
  /* ESC, CR, DEL, a lone continuation byte with the C1 control after it, a surrogate: one '?' each;
   * the euro sign stays */
  cr_expect(eq(str, sink.text, "a?[31mb?c?d??e\xE2\x82\xAC?"));
}

Test(report_text, without_unicode_only_ascii_is_written) {
  ul_text text;

  start(&text, 80, 0, 0);
  ul_text_set_style(&text, UL_TEXT_BAD);
  ul_text_put(&text, "\xE2\x82\xAC z");
  cr_assert(eq(int, ul_text_finish(&text, NULL), UL_OK));
  cr_expect(eq(str, sink.text, "? z"));
}

Test(report_text, paragraphs_break_between_words) {
  ul_text text;

  start(&text, 40, 0, 0);
  ul_text_put(&text, "Peak:");
  /* columns:          5         15        25        35   40 */
  ul_text_wrap(&text, 5, 4, " aaaaaaaaa bbbbbbbbb ccccccccc dddd eeeee");
  cr_assert(eq(int, ul_text_finish(&text, NULL), UL_OK));
  cr_expect(eq(str, sink.text, "Peak: aaaaaaaaa bbbbbbbbb ccccccccc dddd\n    eeeee\n"));
}

Test(report_text, a_failing_sink_is_reported) {
  ul_text text;
  ul_error err;

  start(&text, 80, 0, 0);
  sink.refuse = 1;
  ul_text_put(&text, "x");
  cr_expect(eq(int, ul_text_finish(&text, &err), UL_E_OUTPUT));
}

Test(report_text, options_of_an_older_caller_get_defaults) {
  ul_report_options given = {.columns = 100, .top = 9};
  ul_report_options got;

  given.size = offsetof(ul_report_options, colour);
  got = ul_report_options_resolve(&given);
  cr_expect(eq(u32, got.columns, 100));
  cr_expect(eq(u32, got.top, 5));
  cr_expect(eq(u32, ul_report_options_resolve(NULL).columns, 80));
}

struct word_case {
  uint64_t part, whole;
  char expected[16];
};

ParameterizedTestParameters(report_text, shares_never_lie_at_the_ends) {
  static struct word_case cases[] = {
      {0, 10, "0 %"},     {5, 0, "0 %"},        {10, 10, "100 %"},
      {1, 3, "33.3 %"},   {1, 10000, "<0.1 %"}, {9999, 10000, ">99.9 %"},
      {1, 1000, "0.1 %"},
  };
  return cr_make_param_array(struct word_case, cases, sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(struct word_case *c, report_text, shares_never_lie_at_the_ends) {
  char word[UL_WORD];

  ul_word_share(word, c->part, c->whole);
  cr_expect(eq(str, word, c->expected));
}

ParameterizedTestParameters(report_text, durations) {
  static struct word_case cases[] = {
      {500, 0, "0 us"},
      {25000, 0, "25 us"},
      {12000000, 0, "12.0 ms"},
      {UINT64_C(3412000000), 0, "3.412 s"},
      {UINT64_C(7500000000000), 0, "2 h 05 min"}, /* 7500 s */
  };
  return cr_make_param_array(struct word_case, cases, sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(struct word_case *c, report_text, durations) {
  char word[UL_WORD];

  ul_word_duration(word, c->part);
  cr_expect(eq(str, word, c->expected));
}

Test(report_text, changes_have_a_sign) {
  char word[UL_WORD];

  cr_expect(eq(str, (char *)ul_word_change(word, 0, 3 << 20, 0), "+3.00 MiB"));
  cr_expect(eq(str, (char *)ul_word_change(word, 3 << 20, 1 << 20, 1), "-2097152 bytes"));
  cr_expect(eq(str, (char *)ul_word_change(word, 7, 7, 0), "unchanged"));
}
