/* SPDX-License-Identifier: MIT */
/* A settings string as the words that a release sees in it. */
#ifndef UL_ALLOCATOR_SETTINGS_TOKENS_H
#define UL_ALLOCATOR_SETTINGS_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/error.h"

/* A stretch of the text; not terminated. */
typedef struct ul_token {
  const char *at;
  size_t size;
} ul_token;

int ul_token_is(const ul_token *token, const char *word);

/* A copy of text without its blanks, or without all white space; free it. NULL: no memory. */
char *ul_settings_strip(const char *text, int all_white_space);

/* The next of , : [ ] or text between them; 0 at the end. */
int ul_token_next(const char **at, ul_token *out);

/* The next item of text, cut at white space and commas, and in it what stands before the first and
 * between the first and second run of colons (value.size 0: nothing); 0 at the end. */
int ul_item_next(const char **at, ul_token *key, ul_token *value);

/* The number that the token begins with, as the C++ library reads it: std::stoi, or std::stoull for
 * wide; a negative one becomes huge. 0: there is none, or it does not fit. */
int ul_token_integer(const ul_token *token, int wide, uint64_t *out);

/* The same with std::stod. *end (may be NULL) is where the number ends. */
int ul_token_double(const ul_token *token, double *out, const char **end);

#endif
