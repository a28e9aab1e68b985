/* SPDX-License-Identifier: MIT */
/* What may reach a terminal, byte by byte. */
#include <string.h>

#include <criterion/criterion.h>

#include "ullage/report.h"

Test(utf8, controls_become_question_marks) {
  static const struct {
    const char *text, *clean;
  } rows[] = {
      {"plain", "plain"},
      {"Gr\xC3\xB6\xC3\x9F"
       "e \xE2\x96\x88 \xF0\x9F\x98\x80",
       "Gr\xC3\xB6\xC3\x9F"
       "e \xE2\x96\x88 \xF0\x9F\x98\x80"},
      {"\x1b]0;title\x07\x1b[31m", "?]0;title??[31m"},
      {"a\nb\tc\x7f", "a?b?c?"},
      {"\xC2\x9B"
       "31m",
       "?31m"}, /* U+009B, the 8-bit CSI */
      {"\x9B"
       "31m",
       "?31m"}, /* a bare byte of it: with its kind one mark */
      {"\xE2\x80\xAE"
       "txt.exe",
       "?txt.exe"},                         /* U+202E, right-to-left override */
      {"\xE2\x81\xA6x\xE2\x81\xA9", "?x?"}, /* U+2066, U+2069 */
      {"cut \xE2\x96", "cut ?"},            /* a sequence that ends too early */
      {"\xED\xA0\x80", "?"},                /* a surrogate */
      {"\xC0\xAF", "?"},                    /* overlong */
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char text[64];
    strcpy(text, rows[i].text);
    cr_expect_str_eq(ul_clean_text(text), rows[i].clean, "row %zu", i);
  }
}
