/* SPDX-License-Identifier: MIT */
#include "base/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>

struct sink {
  char text[65536];
  size_t used, calls, fail_at; /* fail_at: which call refuses, from 1; 0 none */
};

static int take(const void *bytes, size_t size, void *arg) {
  struct sink *sink = arg;

  sink->calls++;
  if (sink->fail_at && sink->calls >= sink->fail_at)
    return 1;
  cr_assert(sink->used + size < sizeof(sink->text));
  memcpy(sink->text + sink->used, bytes, size);
  sink->used += size;
  sink->text[sink->used] = '\0';
  return 0;
}

static struct sink sink;
static ul_json json;

static void start(int indent) {
  memset(&sink, 0, sizeof(sink));
  ul_json_init(&json, take, &sink, indent);
}

static void expect(const char *text) {
  ul_error err;

  cr_assert(eq(int, ul_json_finish(&json, &err), UL_OK));
  cr_expect(eq(str, sink.text, (char *)text));
}

Test(json_writer, writes_one_line_without_indent) {
  start(0);
  ul_json_begin_object(&json);
  ul_json_key(&json, "a");
  ul_json_u64(&json, UINT64_MAX);
  ul_json_key(&json, "b");
  ul_json_begin_array(&json);
  ul_json_i64(&json, INT64_MIN);
  ul_json_bool(&json, 1);
  ul_json_bool(&json, 0);
  ul_json_null(&json);
  ul_json_hex(&json, 0x7f0000000000);
  ul_json_end_array(&json);
  ul_json_key(&json, "c");
  ul_json_begin_object(&json);
  ul_json_end_object(&json);
  ul_json_end_object(&json);
  expect("{\"a\":18446744073709551615,\"b\":[-9223372036854775808,true,false,null,"
         "\"0x7f0000000000\"],\"c\":{}}\n");
}

Test(json_writer, indents_and_keeps_empty_containers_short) {
  start(2);
  ul_json_begin_object(&json);
  ul_json_key(&json, "a");
  ul_json_begin_array(&json);
  ul_json_u64(&json, 1);
  ul_json_u64(&json, 2);
  ul_json_end_array(&json);
  ul_json_key(&json, "b");
  ul_json_begin_array(&json);
  ul_json_end_array(&json);
  ul_json_end_object(&json);
  expect("{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": []\n}\n");
}

struct string_case {
  char name[32];
  char in[32];
  char out[64];
};

/* Expected: RFC 8259 section 7 for escapes, Unicode 15 table 3-7 for what is well formed. */
ParameterizedTestParameters(json_writer, strings_are_valid_utf8) {
  static struct string_case cases[] = {
      {"plain", "train.py", "\"train.py\""},
      {"quote and backslash", "C:\\a\"b", "\"C:\\\\a\\\"b\""},
      {"short escapes", "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
      {"other controls", "\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
      {"two bytes", "\xC3\xA9", "\"\xC3\xA9\""},
      {"four bytes", "\xF0\x9F\x8D\xBA", "\"\xF0\x9F\x8D\xBA\""},
      {"lone continuation", "a\x80z", "\"a\xEF\xBF\xBDz\""},
      {"overlong slash", "\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {"overlong three", "\xE0\x80\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {"surrogate", "\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {"above the end", "\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {"cut short", "ab\xE2\x82", "\"ab\xEF\xBF\xBD\xEF\xBF\xBD\""},
  };
  return cr_make_param_array(struct string_case, cases, sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(struct string_case *c, json_writer, strings_are_valid_utf8) {
  char expected[80];

  start(0);
  ul_json_string(&json, c->in);
  snprintf(expected, sizeof(expected), "%s\n", c->out);
  cr_assert(eq(int, ul_json_finish(&json, NULL), UL_OK));
  cr_expect(eq(str, sink.text, expected), "%s", c->name);
}

Test(json_writer, no_text_and_no_number_are_null) {
  start(0);
  ul_json_begin_array(&json);
  ul_json_string(&json, NULL);
  ul_json_double(&json, (double)NAN);
  ul_json_double(&json, (double)INFINITY);
  ul_json_double(&json, 0.5);
  ul_json_double(&json, -1e300);
  ul_json_end_array(&json);
  expect("[null,null,null,0.5,-1.0000000000000001e+300]\n"); /* as Python's '%.17g' % -1e300 */
}

Test(json_writer, long_text_crosses_the_buffer_whole) {
  char text[3 * UL_JSON_BUFFER + 8];

  memset(text, 'x', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  start(0);
  ul_json_string(&json, text);
  cr_assert(eq(int, ul_json_finish(&json, NULL), UL_OK));
  cr_expect(eq(sz, sink.used, sizeof(text) - 1 + 3)); /* two quotes and the newline */
  cr_expect(eq(sz, strspn(sink.text + 1, "x"), sizeof(text) - 1));
}

Test(json_writer, a_failing_sink_is_reported_once_at_the_end) {
  ul_error err;
  int i;

  start(0);
  sink.fail_at = 2;
  ul_json_begin_array(&json);
  for (i = 0; i < 5000; i++)
    ul_json_u64(&json, 1234567);
  ul_json_end_array(&json);
  cr_expect(eq(int, ul_json_finish(&json, &err), UL_E_OUTPUT));
  cr_expect(eq(sz, sink.calls, 2)); /* nothing is offered to a sink that has refused */
  cr_expect(eq(sz, sink.used, UL_JSON_BUFFER));
}
