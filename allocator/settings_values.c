/* SPDX-License-Identifier: MIT */
/* The values of settings: what each key takes, in which release (docs/settings.md). */
#include <string.h>

#include "allocator/settings_refusal.h"
#include "base/error.h"
#include "base/units.h"

enum { SHOWN = 40, MOST_REGISTER_THREADS = 128, SMALLEST_LARGE_SEGMENT_MB = 11 };

/* PyTorch counts in MiB and takes no more of them than fit into 64 bits as bytes. */
#define MOST_MB (UINT64_MAX / UL_MIB)

static ul_status bad_value(const ul_settings_reader *r, ul_mistake mistake, const ul_token *value,
                           const char *expected, ul_error *err) {
  return ul_settings_refuse(r, mistake, value, 0, err, "setting %s: expected %s, found '%.*s'",
                            r->key, expected, value->size < SHOWN ? (int)value->size : SHOWN,
                            value->at);
}

static int is_power_of_two(uint64_t value) {
  return value && !(value & (value - 1));
}

static ul_status to_integer(const ul_settings_reader *r, const ul_token *value, uint64_t *out,
                            ul_error *err) {
  if (ul_token_integer(value, r->profile->wide_integers, out))
    return UL_OK;
  return bad_value(
      r, UL_MISTAKE_INTEGER, value,
      r->profile->wide_integers ? "a whole number below 2^64" : "a whole number below 2^31", err);
}

static ul_status read_integer(ul_settings_reader *r, uint64_t *out, ul_error *err) {
  ul_token value;

  UL_TRY(ul_settings_value(r, &value, err));
  return to_integer(r, &value, out, err);
}

static ul_status read_size(ul_settings_reader *r, uint64_t least_mb, ul_mistake mistake,
                           uint64_t *out, ul_error *err) {
  uint64_t mb;

  UL_TRY(read_integer(r, &mb, err));
  if (mb < least_mb)
    return ul_settings_refuse(r, mistake, NULL, least_mb, err,
                              "setting %s: expected at least %llu, found %llu", r->key,
                              (unsigned long long)least_mb, (unsigned long long)mb);
  *out = (mb < MOST_MB ? mb : MOST_MB) * UL_MIB;
  return UL_OK;
}

static ul_status read_flag(ul_settings_reader *r, uint8_t *out, ul_error *err) {
  ul_token value;

  UL_TRY(ul_settings_value(r, &value, err));
  if (!ul_token_is(&value, "True") && !ul_token_is(&value, "False"))
    return bad_value(r, UL_MISTAKE_FLAG, &value, "True or False", err);
  *out = value.at[0] == 'T';
  return UL_OK;
}

/* ---- blocks and segments ---- */

static uint64_t smallest_split_mb(const ul_settings_reader *r) {
  return r->settings->large_segment_bytes / UL_MIB + !r->profile->large_segment_splits;
}

static ul_status read_max_split(ul_settings_reader *r, ul_error *err) {
  return read_size(r, smallest_split_mb(r), UL_MISTAKE_SMALL, &r->settings->max_split_bytes, err);
}

static ul_status read_max_non_split_rounding(ul_settings_reader *r, ul_error *err) {
  return read_size(r, smallest_split_mb(r), UL_MISTAKE_SMALL,
                   &r->settings->max_non_split_rounding_bytes, err);
}

static ul_status read_large_segment(ul_settings_reader *r, ul_error *err) {
  return read_size(r, SMALLEST_LARGE_SEGMENT_MB, UL_MISTAKE_SMALL_LARGE_SEGMENT,
                   &r->settings->large_segment_bytes, err);
}

static ul_status read_bypass(ul_settings_reader *r, ul_error *err) {
  return read_size(r, 0, UL_MISTAKE_SMALL, &r->settings->roundup_bypass_bytes, err);
}

static ul_status read_expandable(ul_settings_reader *r, ul_error *err) {
  return read_flag(r, &r->settings->expandable, err);
}

static ul_status read_throw_on_oom(ul_settings_reader *r, ul_error *err) {
  return read_flag(r, &r->settings->throw_on_oom, err);
}

static ul_status read_graph_reuse(ul_settings_reader *r, ul_error *err) {
  return read_flag(r, &r->settings->graph_reuse, err);
}

/* ---- parts ---- */

static ul_status read_gc_threshold(ul_settings_reader *r, ul_error *err) {
  ul_token value;
  double part;

  UL_TRY(ul_settings_value(r, &value, err));
  if (!ul_token_double(&value, &part, NULL))
    return bad_value(r, UL_MISTAKE_DECIMAL, &value, "a number between 0 and 1", err);
  if (!(part > 0.0 && part < 1.0))
    return bad_value(r, part >= 1.0 ? UL_MISTAKE_BIG_PART : UL_MISTAKE_SMALL_PART, &value,
                     "a number between 0 and 1", err);
  r->settings->gc_threshold = part;
  return UL_OK;
}

static ul_status read_fraction(ul_settings_reader *r, ul_error *err) {
  ul_token value;
  double part;

  UL_TRY(ul_settings_value(r, &value, err));
  if (!ul_token_double(&value, &part, NULL))
    return bad_value(r, UL_MISTAKE_DECIMAL, &value, "a number from 0 to 1", err);
  if (!(part >= 0.0 && part <= 1.0))
    return bad_value(r, UL_MISTAKE_FRACTION, &value, "a number from 0 to 1", err);
  r->settings->fraction = part;
  return UL_OK;
}

/* A positive decimal number with nothing behind it but a G for GiB. */
static int to_reserve(const ul_token *value, double *out, uint8_t *in_gib) {
  ul_token number = *value;
  const char last = number.at[number.size - 1];
  const char *end;

  *in_gib = last == 'G' || last == 'g';
  number.size -= *in_gib;
  return number.size && strspn(number.at, "+-.0123456789eE") >= number.size &&
         ul_token_double(&number, out, &end) && end == number.at + number.size && *out > 0;
}

static void warn_of_reserve(ul_settings_reader *r, const ul_token *value) {
  ul_settings_warn(r,
                   "%s: '%.*s' is neither a part of the device like 0.5 nor a size like 40G, "
                   "and is ignored",
                   r->key, value->size < SHOWN ? (int)value->size : SHOWN, value->at);
}

static ul_status read_reserve(ul_settings_reader *r, ul_error *err) {
  ul_token value;
  uint8_t in_gib;
  double number;

  UL_TRY(ul_settings_value(r, &value, err));
  if (to_reserve(&value, &number, &in_gib)) {
    r->settings->reserve = number;
    r->settings->reserve_in_gib = in_gib;
  } else {
    warn_of_reserve(r, &value);
  }
  return UL_OK;
}

/* ---- lists ---- */

static ul_status next_in_list(ul_settings_reader *r, ul_mistake mistake, ul_token *out,
                              ul_error *err) {
  if (ul_token_next(&r->at, out))
    return UL_OK;
  return ul_settings_refuse(r, mistake, NULL, 0, err, "setting %s: the list ends too early",
                            r->key);
}

/* Begins an entry: 1 unless the list ends here. */
static int entry_begins(ul_settings_reader *r, ul_token *out) {
  return ul_token_next(&r->at, out) && !ul_token_is(out, "]");
}

/* Between entries, and before the end, which stays to be read. */
static ul_status end_entry(ul_settings_reader *r, ul_error *err) {
  if (!*r->at)
    return ul_settings_refuse(r, UL_MISTAKE_NO_END, NULL, 0, err,
                              "setting %s: the list lacks its ']'", r->key);
  return *r->at == ']' ? UL_OK : ul_settings_separator(r, ',', err);
}

/* Earlier grammars take the end of the text for the end of a list, after a comma. */
static ul_status end_list(ul_settings_reader *r, const ul_token *last, ul_mistake mistake,
                          ul_error *err) {
  if (last->size || r->profile->settings_grammar != UL_GRAMMAR_LENIENT)
    return UL_OK;
  return ul_settings_refuse(r, mistake, NULL, 0, err, "setting %s: the list lacks its ']'", r->key);
}

static unsigned interval_index(uint64_t mb) {
  unsigned index = 0;

  while (mb >>= 1)
    index++;
  return index < UL_DIVISION_COUNT ? index : UL_DIVISION_COUNT - 1;
}

static void fill_divisions(ul_settings *settings, unsigned from, unsigned to, uint64_t value) {
  for (; from < to; from++)
    settings->divisions[from] = value;
}

/* "1:8" or ">:8". The first interval that is named also fills those below it; ">" fills to the end,
 * from the last named interval on or from the one after it. */
static ul_status read_division_entry(ul_settings_reader *r, const ul_token *name, unsigned *last,
                                     int *first, ul_error *err) {
  ul_token value;
  uint64_t divisions, mb;

  UL_TRY(ul_settings_separator(r, ':', err));
  UL_TRY(next_in_list(r, UL_MISTAKE_NO_DIVISION, &value, err));
  UL_TRY(to_integer(r, &value, &divisions, err));
  if (!is_power_of_two(divisions) && (divisions || !r->profile->division_zero))
    return bad_value(r, UL_MISTAKE_LISTED_DIVISION, &value,
                     r->profile->division_zero ? "a power of two or 0" : "a power of two", err);
  if (ul_token_is(name, ">")) {
    fill_divisions(r->settings, *last + r->profile->division_rest_follows, UL_DIVISION_COUNT,
                   divisions);
    return UL_OK;
  }
  if (!ul_token_integer(name, 1, &mb))
    return bad_value(r, UL_MISTAKE_INTERVAL_INTEGER, name, "an interval in MiB, or >", err);
  if (!is_power_of_two(mb))
    return bad_value(r, UL_MISTAKE_INTERVAL, name,
                     "an interval that is a power of two, in MiB, or >", err);
  *last = interval_index(mb);
  fill_divisions(r->settings, *first ? 0 : *last, *last + 1, divisions);
  *first = 0;
  return UL_OK;
}

static ul_status read_division_list(ul_settings_reader *r, ul_error *err) {
  ul_token name;
  unsigned last = 0;
  int first = 1;

  while (entry_begins(r, &name)) {
    UL_TRY(read_division_entry(r, &name, &last, &first, err));
    UL_TRY(end_entry(r, err));
  }
  return end_list(r, &name, UL_MISTAKE_NO_BRACKET, err);
}

static ul_status read_division_scalar(ul_settings_reader *r, const ul_token *value, ul_error *err) {
  uint64_t divisions;

  UL_TRY(to_integer(r, value, &divisions, err));
  if (!is_power_of_two(divisions))
    return bad_value(r, UL_MISTAKE_DIVISION, value, "a power of two", err);
  fill_divisions(r->settings, 0, UL_DIVISION_COUNT, divisions);
  return UL_OK;
}

static ul_status read_divisions(ul_settings_reader *r, ul_error *err) {
  ul_token value;
  ul_status status;
  unsigned i;

  UL_TRY(ul_settings_value(r, &value, err));
  status = ul_token_is(&value, "[") && r->profile->settings_grammar != UL_GRAMMAR_ITEMS
               ? read_division_list(r, err)
               : read_division_scalar(r, &value, err);
  r->settings->any_divisions = 0;
  for (i = 0; i < UL_DIVISION_COUNT; i++)
    r->settings->any_divisions |= r->settings->divisions[i] != 0;
  return status;
}

/* Streams have no class unless the program gives them one, which no recording tells. Any token
 * stands for the bracket that begins this list, and between entries it takes a comma or nothing. */
static ul_status read_reserve_by_class(ul_settings_reader *r, ul_error *err) {
  ul_token name, value;
  uint8_t in_gib;
  double number;

  UL_TRY(ul_settings_value(r, &name, err));
  while (entry_begins(r, &name)) {
    UL_TRY(ul_settings_separator(r, ':', err));
    UL_TRY(next_in_list(r, UL_MISTAKE_NO_LIST, &value, err));
    if (!to_reserve(&value, &number, &in_gib))
      warn_of_reserve(r, &value);
    if (*r->at == ',')
      r->at++;
  }
  UL_TRY(end_list(r, &name, UL_MISTAKE_NO_LIST, err));
  ul_settings_warn(r, "%s: streams are taken to have no class, so it changes nothing", r->key);
  return UL_OK;
}

/* ---- the allocator itself, and host memory ---- */

static ul_status read_backend(ul_settings_reader *r, ul_error *err) {
  ul_token value;

  UL_TRY(ul_settings_value(r, &value, err));
  if (!ul_token_is(&value, "native") && !ul_token_is(&value, "cudaMallocAsync"))
    return bad_value(r, UL_MISTAKE_BACKEND, &value, "native or cudaMallocAsync", err);
  if (ul_token_is(&value, "cudaMallocAsync") == r->settings->async)
    return UL_OK;
  return ul_settings_refuse(
      r, UL_MISTAKE_OTHER_BACKEND, &value, 0, err,
      "setting backend: the process started with %s, and %.*s cannot replace it",
      r->settings->async ? "cudaMallocAsync" : "native", (int)value.size, value.at);
}

static ul_status read_register_threads(ul_settings_reader *r, ul_error *err) {
  ul_token value;
  uint64_t threads;

  UL_TRY(ul_settings_value(r, &value, err));
  UL_TRY(to_integer(r, &value, &threads, err));
  if (!is_power_of_two(threads) || threads > MOST_REGISTER_THREADS)
    return ul_settings_refuse(
        r, is_power_of_two(threads) ? UL_MISTAKE_MANY_THREADS : UL_MISTAKE_THREADS, &value, threads,
        err, "setting %s: expected a power of two up to 128, found '%.*s'", r->key,
        value.size < SHOWN ? (int)value.size : SHOWN, value.at);
  return UL_OK;
}

static ul_status read_pinned_reserve(ul_settings_reader *r, ul_error *err) {
  uint64_t unused;

  return read_size(r, 1, UL_MISTAKE_SMALL_PINNED, &unused, err);
}

static ul_status read_unused_size(ul_settings_reader *r, ul_error *err) {
  uint64_t unused;

  return read_size(r, 0, UL_MISTAKE_SMALL, &unused, err);
}

static ul_status read_unused_flag(ul_settings_reader *r, ul_error *err) {
  uint8_t unused;

  return read_flag(r, &unused, err);
}

ul_settings_read *const ul_settings_readers[] = {
#define UL_SETTING(name, since, until, read, scope, value, unset, effect) read_##read,
#include "allocator/tables/settings.def"
};
