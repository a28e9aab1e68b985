/* SPDX-License-Identifier: MIT */
/* How each release takes a settings string apart, and what a string leaves as it was
 * (docs/settings.md). */
#include "allocator/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/settings_refusal.h"
#include "base/error.h"
#include "base/units.h"
#include "ullage/nearest.h"

enum { DEFAULT_LARGE_SEGMENT_MB = 20, WORD_BYTES = 64 };

void ul_settings_init(ul_settings *settings) {
  memset(settings, 0, sizeof(*settings));
  settings->max_split_bytes = UINT64_MAX;
  settings->large_segment_bytes = DEFAULT_LARGE_SEGMENT_MB * UL_MIB;
  settings->max_non_split_rounding_bytes = settings->large_segment_bytes;
  settings->roundup_bypass_bytes = UINT64_MAX;
  settings->fraction = 1.0;
}

void ul_settings_warn(ul_settings_reader *r, const char *format, ...) {
  size_t used = r->warning ? strlen(r->warning) : 0;
  va_list args;

  if (!r->warning || used + 3 > UL_WARNING_BYTES)
    return;
  if (used) {
    memcpy(r->warning + used, "; ", 3);
    used += 2;
  }
  va_start(args, format);
  vsnprintf(r->warning + used, UL_WARNING_BYTES - used, format, args);
  va_end(args);
}

/* ---- keys ---- */

static const char *next_key(size_t *index, void *arg) {
  const ul_setting *key = ul_setting_at((*index)++);

  (void)arg;
  return key ? key->name : NULL;
}

/* "known from 2.1 on", "known in 1.13 only" */
static const char *releases_of(const ul_setting *key, char *out, size_t size) {
  if (!key->until)
    snprintf(out, size, "known from %u.%u on", key->since / 100u, key->since % 100u);
  else
    snprintf(out, size, "known in %u.%u only", key->since / 100u, key->since % 100u);
  return out;
}

static ul_mistake unknown_to(const ul_settings_reader *r) {
  return r->reads_cuda ? UL_MISTAKE_UNKNOWN_CUDA_KEY : UL_MISTAKE_UNKNOWN_KEY;
}

static ul_status unknown_key(const ul_settings_reader *r, const ul_token *token, ul_error *err) {
  char word[WORD_BYTES], releases[WORD_BYTES];
  const char *near;
  size_t i = 0;

  snprintf(word, sizeof(word), "%.*s", token->size < WORD_BYTES ? (int)token->size : WORD_BYTES - 1,
           token->at);
  near = ul_nearest(word, next_key, NULL);
  if (!near)
    return ul_settings_refuse(r, unknown_to(r), token, 0, err, "unknown setting '%s'", word);
  while (strcmp(ul_setting_at(i)->name, near) != 0)
    i++;
  return ul_settings_refuse(r, unknown_to(r), token, 0, err,
                            "unknown setting '%s': did you mean %s? %s", word, near,
                            releases_of(ul_setting_at(i), releases, sizeof(releases)));
}

/* The row of a key that this release takes. */
static ul_status find_key(ul_settings_reader *r, const ul_token *token, size_t *row,
                          ul_error *err) {
  const ul_setting *key;
  char releases[WORD_BYTES];

  for (*row = 0; (key = ul_setting_at(*row)) != NULL && !ul_token_is(token, key->name); ++*row)
    ;
  if (!key)
    return unknown_key(r, token, err);
  r->key = key->name;
  if (r->profile->release >= key->since && (!key->until || r->profile->release <= key->until))
    return UL_OK;
  return ul_settings_refuse(r, unknown_to(r), token, 0, err,
                            "PyTorch %s does not know the setting %s (%s)", r->profile->name,
                            key->name, releases_of(key, releases, sizeof(releases)));
}

/* ---- what the grammars share ---- */

ul_status ul_settings_separator(ul_settings_reader *r, char wanted, ul_error *err) {
  const ul_mistake mistake = wanted == ':' ? UL_MISTAKE_NO_COLON : UL_MISTAKE_NO_COMMA;
  const char *before = r->at;
  ul_token found;

  if (!ul_token_next(&r->at, &found))
    return ul_settings_refuse(r, mistake, NULL, 0, err, "setting %s: expected '%c', found the end",
                              r->key, wanted);
  if (r->profile->settings_grammar == UL_GRAMMAR_LENIENT || *before == wanted)
    return UL_OK;
  return ul_settings_refuse(r, mistake, &found, 0, err, "setting %s: expected '%c', found '%.20s'",
                            r->key, wanted, before);
}

ul_status ul_settings_no_value(const ul_settings_reader *r, ul_error *err) {
  static const struct {
    const char *key;
    ul_mistake mistake;
  } others[] = {
      {"backend", UL_MISTAKE_NO_BACKEND},
      {"expandable_segments", UL_MISTAKE_NO_FLAG},
      {"release_lock_on_cudamalloc", UL_MISTAKE_NO_FLAG},
      {"release_lock_on_hipmalloc", UL_MISTAKE_NO_FLAG},
  };
  ul_mistake mistake = UL_MISTAKE_NO_VALUE;
  size_t i;

  for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
    if (strcmp(r->key, others[i].key) == 0)
      mistake = others[i].mistake;
  }
  return ul_settings_refuse(r, mistake, NULL, 0, err, "setting %s: it has no value", r->key);
}

ul_status ul_settings_value(ul_settings_reader *r, ul_token *out, ul_error *err) {
  if (r->profile->settings_grammar == UL_GRAMMAR_ITEMS) {
    *out = r->item_value;
    return UL_OK;
  }
  UL_TRY(ul_settings_separator(r, ':', err));
  return ul_token_next(&r->at, out) ? UL_OK : ul_settings_no_value(r, err);
}

/* Passes over a value that is not wanted. */
static ul_status skip_value(ul_settings_reader *r, ul_error *err) {
  ul_token token;

  UL_TRY(ul_settings_value(r, &token, err));
  if (!ul_token_is(&token, "["))
    return UL_OK;
  while (ul_token_next(&r->at, &token)) {
    if (ul_token_is(&token, "]"))
      return UL_OK;
  }
  return ul_settings_refuse(r, UL_MISTAKE_NO_BRACKET, NULL, 0, err,
                            "setting %s: the list lacks its ']'", r->key);
}

/* ---- the grammars ---- */

/* Keys without a value are passed over, known or not. */
static ul_status read_items(ul_settings_reader *r, ul_error *err) {
  ul_token key;
  size_t row;

  while (ul_item_next(&r->at, &key, &r->item_value)) {
    if (!r->item_value.size)
      continue;
    UL_TRY(find_key(r, &key, &row, err));
    UL_TRY(ul_settings_readers[row](r, err));
  }
  return UL_OK;
}

/* The large segment size binds others, so it is looked for first, at every place of the text. */
static const char read_first[] = "large_segment_size_mb";

typedef enum scope { SCOPE_ALL, SCOPE_NEUTRAL, SCOPE_DEVICE } scope;

static int is_in_scope(const ul_setting *key, scope wanted) {
  if (wanted == SCOPE_ALL)
    return 1;
  return (wanted == SCOPE_DEVICE) == (key->device_only != 0) && strcmp(key->name, read_first) != 0;
}

/* Keys outside of the scope are passed over, but must be known. */
static ul_status read_keys(ul_settings_reader *r, scope wanted, ul_error *err) {
  ul_token key;
  size_t row;

  while (ul_token_next(&r->at, &key)) {
    UL_TRY(find_key(r, &key, &row, err));
    if (is_in_scope(ul_setting_at(row), wanted))
      UL_TRY(ul_settings_readers[row](r, err));
    else
      UL_TRY(skip_value(r, err));
    if (*r->at)
      UL_TRY(ul_settings_separator(r, ',', err));
  }
  return UL_OK;
}

static int knows(const ul_profile *profile, const char *name, size_t *row) {
  const ul_setting *key;

  for (*row = 0; (key = ul_setting_at(*row)) != NULL && strcmp(key->name, name) != 0; ++*row)
    ;
  return key && profile->release >= key->since;
}

static ul_status read_large_segment_first(ul_settings_reader *r, ul_error *err) {
  ul_token token;
  size_t row;

  if (!knows(r->profile, read_first, &row))
    return UL_OK;
  while (ul_token_next(&r->at, &token)) {
    if (!ul_token_is(&token, read_first))
      continue;
    r->key = read_first;
    UL_TRY(ul_settings_readers[row](r, err));
  }
  return UL_OK;
}

static ul_status read_neutral_keys(ul_settings_reader *r, const char *text, ul_error *err) {
  r->reads_cuda = 0;
  r->text = r->at = text;
  UL_TRY(read_large_segment_first(r, err));
  if (r->profile->rounding_reset)
    r->settings->max_non_split_rounding_bytes = r->settings->large_segment_bytes;
  r->at = text;
  return read_keys(r, SCOPE_NEUTRAL, err);
}

static ul_status read_cuda_keys(ul_settings_reader *r, const char *text, ul_error *err) {
  r->reads_cuda = 1;
  r->text = r->at = text;
  return read_keys(r, SCOPE_DEVICE, err);
}

/* ---- the start of a process ---- */

/* Through 2.9 the back end is looked for by a reader of its own, whatever else the text holds. */
static int item_asks_for_async(const char *text) {
  ul_token key, value;

  while (ul_item_next(&text, &key, &value)) {
    if (ul_token_is(&key, "backend") && ul_token_is(&value, "cudaMallocAsync"))
      return 1;
    if (ul_token_is(&key, "backend") && ul_token_is(&value, "native"))
      return 0;
  }
  return 0;
}

/* From 2.10 on the first backend decides. What ends too early before it is an error when the
 * library is loaded; keys that nobody knows are none yet. */
static ul_status key_asks_for_async(ul_settings_reader *r, const char *text, int *out,
                                    ul_error *err) {
  char name[WORD_BYTES];
  ul_token key, value;

  r->text = r->at = text;
  while (ul_token_next(&r->at, &key)) {
    snprintf(name, sizeof(name), "%.*s", key.size < WORD_BYTES ? (int)key.size : WORD_BYTES - 1,
             key.at);
    r->key = name;
    if (ul_token_is(&key, "backend")) {
      UL_TRY(ul_settings_value(r, &value, err));
      *out = ul_token_is(&value, "cudaMallocAsync");
      return UL_OK;
    }
    UL_TRY(skip_value(r, err));
    if (*r->at)
      UL_TRY(ul_settings_separator(r, ',', err));
  }
  return UL_OK;
}

static ul_status find_backend(ul_settings_reader *r, const char *text, int *out, ul_error *err) {
  ul_status status;
  char *stripped;

  *out = 0;
  if (r->profile->settings_grammar == UL_GRAMMAR_ITEMS)
    return UL_OK;
  if (r->profile->settings_grammar == UL_GRAMMAR_TOKENS) {
    *out = item_asks_for_async(text);
    return UL_OK;
  }
  stripped = ul_settings_strip(text, 1);
  if (!stripped)
    return ul_fail_nomem(err, "the settings");
  status = key_asks_for_async(r, stripped, out, err);
  free(stripped);
  return status;
}

static void reset(ul_settings *settings) {
  settings->max_split_bytes = UINT64_MAX;
  settings->roundup_bypass_bytes = UINT64_MAX;
  settings->gc_threshold = 0;
  settings->any_divisions = 0;
  memset(settings->divisions, 0, sizeof(settings->divisions));
}

typedef ul_status read_part(ul_settings_reader *r, const char *text, ul_error *err);

static ul_status read_all_keys(ul_settings_reader *r, const char *text, ul_error *err) {
  r->text = r->at = text;
  return read_keys(r, SCOPE_ALL, err);
}

static ul_status read_stripped(ul_settings_reader *r, read_part *read, const char *text,
                               ul_error *err) {
  const int lenient = r->profile->settings_grammar == UL_GRAMMAR_LENIENT;
  char *stripped = ul_settings_strip(text, lenient);
  ul_status status = stripped ? read(r, stripped, err) : ul_fail_nomem(err, "the settings");

  free(stripped);
  return status;
}

/* The grammars of one reader. */
static ul_status read_one_text(ul_settings_reader *r, const char *text, ul_error *err) {
  if (r->profile->settings_grammar == UL_GRAMMAR_TOKENS)
    return read_stripped(r, read_all_keys, text, err);
  r->text = r->at = text;
  return read_items(r, err);
}

static int has_two_readers(const ul_settings_reader *r) {
  return r->profile->settings_grammar == UL_GRAMMAR_LENIENT;
}

/* What the two readers find in the environment. */
static const char *neutral_text(const ul_settings_given *given, const ul_profile *profile) {
  return given->text && (given->variable == UL_SETTINGS_CUDA || profile->generic_variables)
             ? given->text
             : "";
}

static const char *cuda_text(const ul_settings_given *given, const ul_profile *profile) {
  if (given->variable != UL_SETTINGS_HIP)
    return neutral_text(given, profile);
  return given->cuda_text && profile->generic_variables ? given->cuda_text : "";
}

/* CUDA's own keys come first when a process starts, and last at run time. */
ul_status ul_settings_read_all(ul_settings_reader *r, const ul_settings_given *given,
                               ul_error *err) {
  if (!has_two_readers(r))
    return read_one_text(r, neutral_text(given, r->profile), err);
  UL_TRY(read_stripped(r, read_cuda_keys, cuda_text(given, r->profile), err));
  return read_stripped(r, read_neutral_keys, neutral_text(given, r->profile), err);
}

ul_status ul_settings_ask_for_async(int *out, const ul_settings_given *given,
                                    const ul_profile *profile, ul_error *err) {
  ul_settings settings;
  ul_settings_reader r = {.profile = profile, .settings = &settings};

  ul_settings_init(&settings);
  return find_backend(&r, cuda_text(given, profile), out, err);
}

ul_status ul_settings_start(ul_settings *out, const ul_settings_given *given,
                            const ul_profile *profile, ul_error *err) {
  ul_settings started;
  ul_settings_reader r = {.profile = profile, .settings = &started};
  int async;

  ul_settings_init(&started);
  UL_TRY(ul_settings_ask_for_async(&async, given, profile, err));
  started.async = async != 0;
  UL_TRY(ul_settings_read_all(&r, given, err));
  *out = started;
  return UL_OK;
}

ul_status ul_settings_apply(ul_settings *settings, const char *text, const ul_profile *profile,
                            ul_error *err) {
  ul_settings_reader r = {.profile = profile, .settings = settings};

  reset(settings);
  if (!has_two_readers(&r))
    return read_one_text(&r, text ? text : "", err);
  UL_TRY(read_stripped(&r, read_neutral_keys, text ? text : "", err));
  return read_stripped(&r, read_cuda_keys, text ? text : "", err);
}

ul_status ul_settings_apply_late(ul_settings *settings, const ul_settings_given *given,
                                 const char *text, const ul_profile *profile, ul_error *err) {
  ul_settings unused;
  ul_settings_reader first = {.profile = profile, .settings = &unused};
  ul_settings_reader r = {.profile = profile, .settings = settings};

  ul_settings_init(&unused);
  unused.async = settings->async;
  reset(settings);
  if (!has_two_readers(&r)) {
    UL_TRY(read_one_text(&first, neutral_text(given, profile), err));
    return read_one_text(&r, text ? text : "", err);
  }
  UL_TRY(read_stripped(&first, read_neutral_keys, neutral_text(given, profile), err));
  UL_TRY(read_stripped(&r, read_neutral_keys, text ? text : "", err));
  UL_TRY(read_stripped(&first, read_cuda_keys, cuda_text(given, profile), err));
  return read_stripped(&r, read_cuda_keys, text ? text : "", err);
}

ul_settings_given ul_settings_of(const ul_model_options *options) {
  const ul_settings_given given = {options->settings, options->variable, options->cuda_settings};

  return given;
}
