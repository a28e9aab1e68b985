/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <string.h>

#include "ullage/report.h"

size_t ul_utf8_length(const unsigned char *at) {
  unsigned char first = at[0], low = 0x80, high = 0xBF;
  size_t length, i;

  if (first < 0x80)
    return 1;
  if (first < 0xC2 || first > 0xF4)
    return 0;
  length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (first == 0xE0)
    low = 0xA0;
  else if (first == 0xED)
    high = 0x9F;
  else if (first == 0xF0)
    low = 0x90;
  else if (first == 0xF4)
    high = 0x8F;
  if (at[1] < low || at[1] > high)
    return 0;
  for (i = 2; i < length; i++) {
    if (at[i] < 0x80 || at[i] > 0xBF)
      return 0;
  }
  return length;
}

/* U+200E, U+200F, U+202A - U+202E, U+2066 - U+2069: marks that reorder what stands around them. */
static int is_bidirectional(const unsigned char *at) {
  if (at[0] != 0xE2)
    return 0;
  return (at[1] == 0x80 && ((at[2] >= 0xAA && at[2] <= 0xAE) || at[2] == 0x8E || at[2] == 0x8F)) ||
         (at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9);
}

size_t ul_utf8_printable(const unsigned char *at) {
  const size_t length = ul_utf8_length(at);

  if (length == 1 && (at[0] < 0x20 || at[0] == 0x7F))
    return 0;
  if (length == 2 && at[0] == 0xC2 && at[1] < 0xA0) /* U+0080 ... U+009F */
    return 0;
  return length == 3 && is_bidirectional(at) ? 0 : length;
}

char *ul_clean_text(char *text) {
  unsigned char *from = (unsigned char *)text, *to = from;

  while (*from) {
    size_t length = ul_utf8_printable(from);
    if (length) {
      memmove(to, from, length);
      from += length;
      to += length;
      continue;
    }
    *to++ = '?';
    from++;
    while ((*from & 0xC0) == 0x80)
      from++;
  }
  *to = '\0';
  return text;
}
