/* SPDX-License-Identifier: MIT */
#include "allocator/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"

enum { VALUE_BYTES = 64, DEFAULT_LARGE_SEGMENT_MB = 20 };

/* A position in the string being parsed. */
struct reader {
  const char *at;
  const ul_profile *profile;
  const char *key; /* being read, for messages */
  char value[VALUE_BYTES];
};

static ul_status bad_value(const struct reader *r, ul_error *err, const char *expected) {
  return ul_fail(err, UL_E_SETTING, 0, "setting %s: expected %s, found '%s'", r->key, expected,
                 r->value);
}

/* The text up to the next separator, blanks dropped as PyTorch drops them. */
static void read_token(struct reader *r) {
  size_t used = 0;

  for (; *r->at && !strchr(",:[]", *r->at); r->at++) {
    if (*r->at != ' ' && used + 1 < sizeof(r->value))
      r->value[used++] = *r->at;
  }
  r->value[used] = '\0';
}

static ul_status read_separator(struct reader *r, char wanted, ul_error *err) {
  while (*r->at == ' ')
    r->at++;
  if (*r->at != wanted)
    return ul_fail(err, UL_E_SETTING, 0, "setting %s: expected '%c', found '%.20s'", r->key, wanted,
                   *r->at ? r->at : "the end");
  r->at++;
  return UL_OK;
}

static ul_status read_integer(struct reader *r, uint64_t *out, ul_error *err) {
  char *end;
  unsigned long long value;

  read_token(r);
  if (r->value[0] < '0' || r->value[0] > '9')
    return bad_value(r, err, "a whole number");
  value = strtoull(r->value, &end, 10);
  if (value > INT32_MAX)
    return bad_value(r, err, "a number below 2^31");
  *out = value;
  return UL_OK;
}

static ul_status read_megabytes(struct reader *r, uint64_t above_mb, uint64_t *out, ul_error *err) {
  uint64_t mb;

  UL_TRY(read_integer(r, &mb, err));
  if (mb <= above_mb)
    return ul_fail(err, UL_E_SETTING, 0, "setting %s: PyTorch %s wants more than %u, found %s",
                   r->key, r->profile->name, (unsigned)above_mb, r->value);
  *out = mb * UL_MIB;
  return UL_OK;
}

static uint64_t smallest_split_mb(const struct reader *r, const ul_settings *s) {
  /* Through 2.9 the bound is "more than 20"; from 2.10 the large segment size itself is allowed
   * (seen on 2.10.0 - 2.15.0). */
  uint64_t large_mb = s->large_segment_bytes / UL_MIB;
  return r->profile->release >= 210 ? large_mb - 1 : DEFAULT_LARGE_SEGMENT_MB;
}

static ul_status read_max_split(struct reader *r, ul_settings *s, ul_error *err) {
  return read_megabytes(r, smallest_split_mb(r, s), &s->max_split_bytes, err);
}

static ul_status read_max_non_split_rounding(struct reader *r, ul_settings *s, ul_error *err) {
  return read_megabytes(r, smallest_split_mb(r, s), &s->max_non_split_rounding_bytes, err);
}

static ul_status read_large_segment(struct reader *r, ul_settings *s, ul_error *err) {
  return read_megabytes(r, 10, &s->large_segment_bytes, err);
}

static ul_status read_bool(struct reader *r, uint8_t *out, ul_error *err) {
  read_token(r);
  if (strcmp(r->value, "True") != 0 && strcmp(r->value, "False") != 0)
    return bad_value(r, err, "True or False");
  *out = r->value[0] == 'T';
  return UL_OK;
}

static ul_status read_expandable(struct reader *r, ul_settings *s, ul_error *err) {
  return read_bool(r, &s->expandable, err);
}

static ul_status read_gc_threshold(struct reader *r, ul_settings *s, ul_error *err) {
  char *end;

  read_token(r);
  s->gc_threshold = strtod(r->value, &end);
  if (end == r->value || *end || !(s->gc_threshold > 0.0 && s->gc_threshold < 1.0))
    return bad_value(r, err, "a number between 0 and 1");
  return UL_OK;
}

static ul_status read_fraction(struct reader *r, ul_settings *s, ul_error *err) {
  char *end;

  read_token(r);
  s->fraction = strtod(r->value, &end);
  if (end == r->value || *end || !(s->fraction >= 0.0 && s->fraction <= 1.0))
    return bad_value(r, err, "a number from 0 to 1");
  return UL_OK;
}

static ul_status read_backend(struct reader *r, ul_settings *s, ul_error *err) {
  (void)s;
  read_token(r);
  if (strcmp(r->value, "cudaMallocAsync") == 0)
    return ul_fail(err, UL_E_SETTING, 0, "backend:cudaMallocAsync is not modelled yet");
  return strcmp(r->value, "native") == 0 ? UL_OK : bad_value(r, err, "native or cudaMallocAsync");
}

static ul_status read_ignore(struct reader *r, ul_settings *s, ul_error *err) {
  (void)s, (void)err;
  read_token(r);
  return UL_OK;
}

static ul_status read_unsupported(struct reader *r, ul_settings *s, ul_error *err) {
  (void)s;
  return ul_fail(err, UL_E_SETTING, 0, "setting %s is not modelled yet", r->key);
}

static int is_power_of_two(uint64_t value) {
  return value && !(value & (value - 1));
}

static unsigned interval_index(uint64_t mb) {
  unsigned index = 0;
  while (mb >>= 1)
    index++;
  return index < UL_DIVISION_COUNT ? index : UL_DIVISION_COUNT - 1;
}

static ul_status read_division(struct reader *r, int zero_allowed, uint32_t *out, ul_error *err) {
  uint64_t value;

  UL_TRY(read_integer(r, &value, err));
  if (!is_power_of_two(value) && !(value == 0 && zero_allowed))
    return bad_value(r, err, "a power of two");
  *out = (uint32_t)value;
  return UL_OK;
}

/* "[1:8,2:4,>:8]": the first named interval also fills those below it; ">" fills to the end, from
 * the last named interval on through 2.9, from the one after it later. */
static ul_status read_division_list(struct reader *r, ul_settings *s, ul_error *err) {
  unsigned last = 0, i;
  int first = 1;
  uint64_t mb;
  uint32_t value;

  do {
    read_token(r);
    if (strcmp(r->value, ">") == 0) {
      UL_TRY(read_separator(r, ':', err));
      UL_TRY(read_division(r, 1, &value, err));
      for (i = r->profile->release >= 210 ? last + 1 : last; i < UL_DIVISION_COUNT; i++)
        s->divisions[i] = value;
    } else {
      mb = strtoull(r->value, NULL, 10);
      if (!is_power_of_two(mb))
        return bad_value(r, err, "an interval that is a power of two, in MiB, or >");
      last = interval_index(mb);
      UL_TRY(read_separator(r, ':', err));
      UL_TRY(read_division(r, 1, &value, err));
      for (i = first ? 0 : last; i <= last; i++)
        s->divisions[i] = value;
      first = 0;
    }
  } while (*r->at == ',' && r->at++);
  return read_separator(r, ']', err);
}

static ul_status read_divisions(struct reader *r, ul_settings *s, ul_error *err) {
  uint32_t value;
  unsigned i;

  while (*r->at == ' ')
    r->at++;
  if (*r->at == '[' && r->profile->release >= 200) {
    r->at++;
    UL_TRY(read_division_list(r, s, err));
  } else {
    UL_TRY(read_division(r, 0, &value, err));
    for (i = 0; i < UL_DIVISION_COUNT; i++)
      s->divisions[i] = value;
  }
  for (i = 0; i < UL_DIVISION_COUNT; i++)
    s->any_divisions |= s->divisions[i] != 0;
  return UL_OK;
}

static const struct setting {
  const char *name;
  uint16_t since, until;
  ul_status (*read)(struct reader *, ul_settings *, ul_error *);
} settings_table[] = {
#define UL_SETTING(name, since, until, reader) {name, since, until, read_##reader},
#include "allocator/tables/settings.def"
#undef UL_SETTING
};

static const struct setting *find_setting(const char *name) {
  size_t i;

  for (i = 0; i < sizeof(settings_table) / sizeof(settings_table[0]); i++) {
    if (strcmp(settings_table[i].name, name) == 0)
      return &settings_table[i];
  }
  return NULL;
}

void ul_settings_init(ul_settings *settings) {
  memset(settings, 0, sizeof(*settings));
  settings->max_split_bytes = UINT64_MAX;
  settings->max_non_split_rounding_bytes = DEFAULT_LARGE_SEGMENT_MB * UL_MIB;
  settings->fraction = 1.0;
  settings->roundup_bypass_bytes = UINT64_MAX;
  settings->large_segment_bytes = DEFAULT_LARGE_SEGMENT_MB * UL_MIB;
}

static ul_status read_setting(struct reader *r, ul_settings *s, ul_error *err) {
  const struct setting *setting;

  read_token(r);
  setting = find_setting(r->value);
  if (!setting)
    return ul_fail(err, UL_E_SETTING, 0, "unknown setting '%s'", r->value);
  if (r->profile->release < setting->since || r->profile->release > setting->until)
    return ul_fail(err, UL_E_SETTING, 0,
                   "PyTorch %s does not know the setting %s (%s from %u.%u%s)", r->profile->name,
                   setting->name, "accepted", setting->since / 100u, setting->since % 100u,
                   setting->until == 9999 ? " on" : " only");
  r->key = setting->name;
  UL_TRY(read_separator(r, ':', err));
  return setting->read(r, s, err);
}

ul_status ul_settings_apply(ul_settings *settings, const char *text, ul_settings_variable variable,
                            const ul_profile *profile, ul_error *err) {
  struct reader r = {text ? text : "", profile, "", ""};

  (void)variable;
  settings->max_split_bytes = UINT64_MAX;
  settings->gc_threshold = 0;
  settings->any_divisions = 0;
  memset(settings->divisions, 0, sizeof(settings->divisions));
  while (*r.at == ' ')
    r.at++;
  while (*r.at) {
    UL_TRY(read_setting(&r, settings, err));
    while (*r.at == ' ')
      r.at++;
    if (*r.at) {
      UL_TRY(read_separator(&r, ',', err));
      while (*r.at == ' ')
        r.at++;
    }
  }
  return UL_OK;
}

ul_status ul_settings_parse(ul_settings *out, const char *text, const ul_profile *profile,
                            ul_error *err) {
  ul_settings parsed;

  ul_settings_init(&parsed);
  UL_TRY(ul_settings_apply(&parsed, text, UL_SETTINGS_CUDA, profile, err));
  *out = parsed;
  return UL_OK;
}
