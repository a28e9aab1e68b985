/* SPDX-License-Identifier: MIT */
#include "report/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

enum { DEFAULT_COLUMNS = 80, LEAST_COLUMNS = 40 };

ul_report_options ul_report_options_resolve(const ul_report_options *given) {
  ul_report_options out;

  memset(&out, 0, sizeof(out));
  if (given)
    memcpy(&out, given, given->size < sizeof(out) ? given->size : sizeof(out));
  out.size = sizeof(out);
  if (!out.columns)
    out.columns = DEFAULT_COLUMNS;
  if (out.columns < LEAST_COLUMNS)
    out.columns = LEAST_COLUMNS;
  if (!out.top)
    out.top = UL_TEXT_DEFAULT_TOP;
  return out;
}

void ul_text_init(ul_text *text, const ul_report_options *options, ul_write *write, void *arg) {
  text->write = write;
  text->arg = arg;
  text->failed = 0;
  text->used = 0;
  text->options = ul_report_options_resolve(options);
}

static void flush(ul_text *text) {
  if (text->used && !text->failed && text->write(text->buffer, text->used, text->arg) != 0)
    text->failed = 1;
  text->used = 0;
}

static void put_raw(ul_text *text, const char *bytes, size_t size) {
  if (size > sizeof(text->buffer) - text->used)
    flush(text);
  if (size <= sizeof(text->buffer)) {
    memcpy(text->buffer + text->used, bytes, size);
    text->used += size;
  }
}

static int is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

void ul_text_put(ul_text *text, const char *bytes) {
  const unsigned char *at = (const unsigned char *)bytes;

  while (*at) {
    size_t length = *at == '\n' ? 1 : ul_utf8_printable(at);

    if (!length || (length > 1 && !text->options.unicode)) {
      put_raw(text, "?", 1);
      at++;
      while (is_continuation(*at))
        at++;
      continue;
    }
    put_raw(text, (const char *)at, length);
    at += length;
  }
}

void ul_text_printf(ul_text *text, const char *format, ...) {
  char line[UL_TEXT_LINE];
  va_list args;

  va_start(args, format);
  vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  ul_text_put(text, line);
}

void ul_text_set_style(ul_text *text, ul_text_style style) {
  static const char *const sequences[] = {"\033[0m", "\033[1m", "\033[1;32m", "\033[1;31m"};

  if (text->options.colour)
    put_raw(text, sequences[style], strlen(sequences[style]));
}

void ul_text_heading(ul_text *text, const char *heading, const char *rest) {
  ul_text_set_style(text, UL_TEXT_BOLD);
  ul_text_put(text, heading);
  ul_text_set_style(text, UL_TEXT_PLAIN);
  ul_text_wrap(text, (unsigned)ul_text_width(heading), 2, rest);
}

size_t ul_text_width(const char *bytes) {
  size_t width = 0;

  for (; *bytes; bytes++)
    width += !is_continuation((unsigned char)*bytes);
  return width;
}

void ul_text_wrap(ul_text *text, unsigned at, unsigned hang, const char *paragraph) {
  unsigned column = at;
  int first = 1;

  while (*paragraph) {
    size_t spaces = strspn(paragraph, " "), size = strcspn(paragraph + spaces, " "), width;
    char word[UL_TEXT_LINE];

    if (size >= sizeof(word))
      size = sizeof(word) - 1;
    memcpy(word, paragraph + spaces, size);
    word[size] = '\0';
    width = ul_text_width(word);
    if (!first && column + spaces + width > text->options.columns) {
      ul_text_printf(text, "\n%*s", (int)hang, "");
      column = hang;
      spaces = 0;
    }
    ul_text_printf(text, "%*s", (int)spaces, "");
    ul_text_put(text, word);
    column += (unsigned)(spaces + width);
    paragraph += size + strspn(paragraph, " ");
    first = 0;
  }
  ul_text_put(text, "\n");
}

ul_status ul_text_finish(ul_text *text, ul_error *err) {
  flush(text);
  if (text->failed)
    return ul_fail(err, UL_E_OUTPUT, 0, "the output could not be written");
  return UL_OK;
}

void ul_line_clear(ul_line *line) {
  line->used = 0;
  line->text[0] = '\0';
}

void ul_line_add(ul_line *line, const char *format, ...) {
  va_list args;
  int wrote;

  va_start(args, format);
  wrote = vsnprintf(line->text + line->used, sizeof(line->text) - line->used, format, args);
  va_end(args);
  if (wrote < 0)
    return;
  line->used += (size_t)wrote;
  if (line->used >= sizeof(line->text))
    line->used = sizeof(line->text) - 1;
}
