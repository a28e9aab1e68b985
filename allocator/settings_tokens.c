/* SPDX-License-Identifier: MIT */
#include "allocator/settings_tokens.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int is_space(char c) {
  return isspace((unsigned char)c) != 0;
}

int ul_token_is(const ul_token *token, const char *word) {
  return strlen(word) == token->size && memcmp(word, token->at, token->size) == 0;
}

char *ul_settings_strip(const char *text, int all_white_space) {
  char *out = malloc(strlen(text) + 1), *end = out;

  if (!out)
    return NULL;
  for (; *text; text++) {
    if (*text != ' ' && !(all_white_space && is_space(*text)))
      *end++ = *text;
  }
  *end = '\0';
  return out;
}

int ul_token_next(const char **at, ul_token *out) {
  out->at = *at;
  out->size = strcspn(*at, ",:[]");
  if (!out->size && **at)
    out->size = 1;
  *at += out->size;
  return out->size != 0;
}

int ul_item_next(const char **at, ul_token *key, ul_token *value) {
  const char *c = *at;

  while (*c == ',' || is_space(*c))
    c++;
  if (!*c)
    return 0;
  key->at = c;
  while (*c && *c != ',' && *c != ':' && !is_space(*c))
    c++;
  key->size = (size_t)(c - key->at);
  while (*c == ':')
    c++;
  value->at = c;
  while (*c && *c != ',' && *c != ':' && !is_space(*c))
    c++;
  value->size = (size_t)(c - value->at);
  while (*c && *c != ',' && !is_space(*c)) /* a third part is not looked at */
    c++;
  *at = c;
  return 1;
}

/* What ends a token, or the text, is no part of any number: the C library stops there. */
int ul_token_integer(const ul_token *token, int wide, uint64_t *out) {
  char *end;
  long narrow;

  errno = 0;
  if (wide) {
    *out = strtoull(token->at, &end, 10);
  } else {
    narrow = strtol(token->at, &end, 10);
    if (narrow < INT_MIN || narrow > INT_MAX)
      return 0;
    *out = (uint64_t)narrow;
  }
  return end != token->at && errno == 0;
}

int ul_token_double(const ul_token *token, double *out, const char **end) {
  char *stop;

  errno = 0;
  *out = strtod(token->at, &stop);
  if (end)
    *end = stop;
  return stop != token->at && errno == 0;
}
