/* SPDX-License-Identifier: MIT */
#include "cli/say.h"

#include <stdio.h>

#include "ullage/report.h"

enum { SENTENCE_BYTES = 4096 };

void ul_say_of(const char *command, const char *format, va_list args) {
  char text[SENTENCE_BYTES];

  vsnprintf(text, sizeof(text), format, args);
  fprintf(stderr, "ullage%s%s: %s\n", command ? " " : "", command ? command : "",
          ul_clean_text(text));
}

void ul_say(const char *format, ...) {
  va_list args;

  va_start(args, format);
  ul_say_of(NULL, format, args);
  va_end(args);
}
