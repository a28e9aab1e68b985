/* SPDX-License-Identifier: MIT */
/* Pickles from text that looks like Python: dicts, lists, tuples, 'strings', integers (also 0x),
 * floats, True, False, None. */
#ifndef UL_TESTS_SUPPORT_PICKLE_TEXT_H
#define UL_TESTS_SUPPORT_PICKLE_TEXT_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pickle_text {
  unsigned char *bytes;
  size_t size;
};

static inline const char *pickle_word(struct pickle_text *to, const char *at) {
  char *end;
  size_t length;

  if (*at == '\'') {
    length = strcspn(++at, "'");
    to->bytes[to->size++] = 0x8c;
    to->bytes[to->size++] = (unsigned char)length;
    memcpy(to->bytes + to->size, at, length);
    to->size += length;
    return at + length + 1;
  }
  if (isalpha((unsigned char)*at)) {
    to->bytes[to->size++] = *at == 'N' ? 'N' : *at == 'T' ? 0x88 : 0x89;
    while (isalpha((unsigned char)*at))
      at++;
    return at;
  }
  length = strspn(at, "+-.xX0123456789abcdefABCDEF");
  if (strchr(at, '.') && strchr(at, '.') < at + length)
    to->size += (size_t)sprintf((char *)to->bytes + to->size, "F%.17g\n", strtod(at, &end));
  else if (*at == '-')
    to->size += (size_t)sprintf((char *)to->bytes + to->size, "L%.*sL\n", (int)length, at);
  else
    to->size += (size_t)sprintf((char *)to->bytes + to->size, "L%lluL\n", strtoull(at, &end, 0));
  return at + length;
}

/* The caller frees bytes. A number beyond 64 bits is written as 2^64 - 1. memoize: lists and dicts
 * as Python writes them, with a memo entry each. */
static inline struct pickle_text pickle_of(const char *text, int memoize) {
  static const struct {
    char sign;
    const char *ops;
  } signs[] = {{'{', "}("}, {'}', "u"}, {'[', "]("}, {']', "e"}, {'(', "("},
               {')', "t"},  {',', ""},  {':', ""},   {' ', ""},  {'\n', ""}};
  struct pickle_text to = {(unsigned char *)malloc(strlen(text) * 4 + 64), 0};
  size_t i;

  to.size = (size_t)sprintf((char *)to.bytes, "\x80\x04");
  while (*text) {
    for (i = 0; i < sizeof(signs) / sizeof(signs[0]) && signs[i].sign != *text; i++)
      continue;
    if (i == sizeof(signs) / sizeof(signs[0])) {
      text = pickle_word(&to, text);
      continue;
    }
    to.size += (size_t)sprintf((char *)to.bytes + to.size, "%s", signs[i].ops);
    if (memoize && (*text == '{' || *text == '[')) {
      to.bytes[to.size - 1] = 0x94;
      to.bytes[to.size++] = '(';
    }
    text++;
  }
  to.bytes[to.size++] = '.';
  return to;
}

#endif
