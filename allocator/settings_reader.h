/* SPDX-License-Identifier: MIT */
/* What reads one settings string: settings.c knows the grammars, settings_values.c the values. */
#ifndef UL_ALLOCATOR_SETTINGS_READER_H
#define UL_ALLOCATOR_SETTINGS_READER_H

#include <stddef.h>

#include "allocator/settings.h"
#include "allocator/settings_tokens.h"
#include "ullage/settings.h"

typedef struct ul_settings_reader {
  const char *text; /* all of it, without blanks */
  const char *at;   /* in the text, behind what was read */
  int reads_cuda;   /* keys of CUDA only are being read */
  const ul_profile *profile;
  ul_settings *settings;
  const char *key;     /* being read */
  ul_token item_value; /* of the key, where the grammar is one of items */
  char *warning;       /* UL_WARNING_BYTES, or NULL: not wanted */
} ul_settings_reader;

/* Reads the value of a key into r->settings. */
typedef ul_status ul_settings_read(ul_settings_reader *r, ul_error *err);

/* In the order of ul_setting_at. */
extern ul_settings_read *const ul_settings_readers[];

/* Applies what is given to r->settings (ul_settings_start). */
ul_status ul_settings_read_all(ul_settings_reader *r, const ul_settings_given *given,
                               ul_error *err);

/* The token behind the key and its colon. */
ul_status ul_settings_value(ul_settings_reader *r, ul_token *out, ul_error *err);

/* The error of a key without a value. */
ul_status ul_settings_no_value(const ul_settings_reader *r, ul_error *err);

/* Takes the next token, which must be that separator (in a lenient grammar: any token). */
ul_status ul_settings_separator(ul_settings_reader *r, char wanted, ul_error *err);

/* Adds a sentence to r->warning. */
void ul_settings_warn(ul_settings_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
