/* SPDX-License-Identifier: MIT */
/* Text for a terminal, onto a buffered sink. Whatever names a file holds, nothing but printable
 * text reaches the terminal: control characters and broken UTF-8 become '?'. A sink that fails is
 * remembered; ul_text_finish reports it. */
#ifndef UL_REPORT_TEXT_H
#define UL_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/error.h"
#include "ullage/report.h"

/* Holders shown where the caller names no number. */
enum { UL_TEXT_DEFAULT_TOP = 5 };

enum { UL_TEXT_BUFFER = 4096, UL_TEXT_LINE = 1536 };

typedef struct ul_text {
  ul_write *write;
  void *arg;
  int failed;
  ul_report_options options; /* with defaults filled in */
  size_t used;
  char buffer[UL_TEXT_BUFFER];
} ul_text;

typedef enum ul_text_style {
  UL_TEXT_PLAIN,
  UL_TEXT_BOLD,
  UL_TEXT_GOOD,
  UL_TEXT_BAD,
} ul_text_style;

/* What the caller knows of the options, and defaults for the rest. given may be NULL. */
ul_report_options ul_report_options_resolve(const ul_report_options *given);

void ul_text_init(ul_text *text, const ul_report_options *options, ul_write *write, void *arg);
void ul_text_put(ul_text *text, const char *bytes);
void ul_text_printf(ul_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Changes how what follows looks, where colours are allowed. */
void ul_text_set_style(ul_text *text, ul_text_style style);
/* A section's heading and what follows it on the line. */
void ul_text_heading(ul_text *text, const char *heading, const char *rest);
/* A paragraph broken between words at the terminal's width; later lines start with hang spaces,
 * the first one continues at column `at`. Ends the line. */
void ul_text_wrap(ul_text *text, unsigned at, unsigned hang, const char *paragraph);
ul_status ul_text_finish(ul_text *text, ul_error *err);

/* Columns that UTF-8 text takes, one for each code point. */
size_t ul_text_width(const char *bytes);

/* A paragraph put together piece by piece; what does not fit is cut off. */
typedef struct ul_line {
  size_t used;
  char text[UL_TEXT_LINE];
} ul_line;

void ul_line_clear(ul_line *line);
void ul_line_add(ul_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
