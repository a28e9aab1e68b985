/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "script/line.h"

enum { NAME_BYTES = 200 }; /* of a long path its end tells more than its beginning */

static const char *short_name(const char *name) {
  size_t size = strlen(name);
  return size > NAME_BYTES ? name + (size - NAME_BYTES) : name;
}

ul_status ul_script_fail(ul_error *err, const ul_script_lines *lines, ul_status status,
                         const char *format, ...) {
  char text[UL_ERROR_MESSAGE_BYTES];
  va_list args;

  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  return ul_fail(err, status, ul_bytes_offset(lines->bytes, lines->bytes->at), "%s:%" PRIu64 ": %s",
                 short_name(lines->name), lines->number, text);
}

void ul_script_locate(ul_error *err, const ul_script_lines *lines) {
  char prefix[NAME_BYTES + 32];

  snprintf(prefix, sizeof(prefix), "%s:%" PRIu64, short_name(lines->name), lines->number);
  ul_error_prefix(err, prefix);
}

/* Looks for the end of the line, reading on only as far as it takes: input may come from somebody
 * who waits for the answer. *size is that of the line without its end. */
static ul_status find_end(ul_script_lines *lines, size_t *size, ul_error *err) {
  ul_bytes *in = lines->bytes;
  const uint8_t *end;
  size_t seen = 0, have;

  for (;;) {
    have = (size_t)(in->end - in->at);
    end = memchr(in->at + seen, '\n', have - seen);
    *size = end ? (size_t)(end - in->at) : have;
    if (*size > UL_SCRIPT_LINE_BYTES)
      return ul_script_fail(err, lines, UL_E_LIMIT,
                            "expected a line of at most %d bytes, found a longer one",
                            UL_SCRIPT_LINE_BYTES);
    if (end)
      return UL_OK;
    seen = have;
    UL_TRY(ul_bytes_need(in, have + 1, err));
    if ((size_t)(in->end - in->at) == have)
      return UL_OK;
  }
}

static int is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

ul_status ul_script_next_line(ul_script_lines *lines, int *more, ul_error *err) {
  ul_bytes *in = lines->bytes;
  size_t size, start = 0, end;
  const char *text;

  lines->number++;
  UL_TRY(find_end(lines, &size, err));
  *more = in->at < in->end;
  text = (const char *)in->at;
  if (memchr(text, '\0', size))
    return ul_script_fail(err, lines, UL_E_MALFORMED, "expected text, found a zero byte");
  for (end = size; end > 0 && is_blank(text[end - 1]); end--)
    ;
  while (start < end && is_blank(text[start]))
    start++;
  memcpy(lines->text, text + start, end - start);
  lines->text[end - start] = '\0';
  in->at += size;
  if (in->at < in->end)
    in->at++;
  return UL_OK;
}
