/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "script/header.h"

typedef enum variable_kind { TOTAL, DEVICES, EVENTS, PLACE, SETTINGS } variable_kind;

static const struct variable {
  const char *name;
  variable_kind kind;
  ul_settings_variable of; /* SETTINGS */
} variables[] = {
    {"FAKE_TOTAL", TOTAL, UL_SETTINGS_CUDA},
    {"FAKE_DEVICES", DEVICES, UL_SETTINGS_CUDA},
    {"FAKE_EVENTS", EVENTS, UL_SETTINGS_CUDA},
    {"FAKE_PLACE", PLACE, UL_SETTINGS_CUDA},
    {"PYTORCH_CUDA_ALLOC_CONF", SETTINGS, UL_SETTINGS_CUDA},
    {"PYTORCH_HIP_ALLOC_CONF", SETTINGS, UL_SETTINGS_HIP},
    {"PYTORCH_ALLOC_CONF", SETTINGS, UL_SETTINGS_ANY},
};

static const char known_names[] = "FAKE_TOTAL=, FAKE_DEVICES=, FAKE_EVENTS=, FAKE_PLACE=, "
                                  "PYTORCH_CUDA_ALLOC_CONF=, PYTORCH_HIP_ALLOC_CONF= or "
                                  "PYTORCH_ALLOC_CONF=";

enum { VARIABLE_COUNT = sizeof(variables) / sizeof(variables[0]), SHOWN_BYTES = 40 };

void ul_script_header_init(ul_script_header *header) {
  memset(header, 0, sizeof(*header));
  header->device_bytes = UL_SCRIPT_DEVICE_BYTES;
  header->stream_events = UL_STREAM_EVENTS_AT_ONCE;
  header->address_policy = UL_ADDRESS_FIRST_FIT;
}

void ul_script_header_release(ul_script_header *header) {
  size_t i;

  for (i = 0; i < UL_SCRIPT_VARIABLES; i++) {
    free(header->settings[i]);
    header->settings[i] = NULL;
  }
}

static const struct variable *variable_at(const char *text) {
  size_t i;

  for (i = 0; i < VARIABLE_COUNT; i++) {
    const size_t size = strlen(variables[i].name);
    if (strncmp(text, variables[i].name, size) == 0 && text[size] == '=')
      return &variables[i];
  }
  return NULL;
}

/* A value runs to the next variable or to the end of the line: settings may hold blanks. */
static size_t value_size(const char *value) {
  const char *at = value, *blank;

  while ((blank = strpbrk(at, " \t")) != NULL) {
    at = blank + strspn(blank, " \t");
    if (variable_at(at))
      return (size_t)(blank - value);
  }
  return strlen(value);
}

static int parse_number(uint64_t *out, const char *value, size_t size) {
  uint64_t sum = 0;
  size_t i;

  for (i = 0; i < size; i++) {
    const uint64_t digit = (uint64_t)(unsigned char)value[i] - '0';
    if (digit > 9 || sum > (UINT64_MAX - digit) / 10)
      return 0;
    sum = sum * 10 + digit;
  }
  *out = sum;
  return size > 0 && sum > 0;
}

static int is_value(const char *value, size_t size, const char *word) {
  return strlen(word) == size && memcmp(value, word, size) == 0;
}

static ul_status set_settings(ul_script_header *header, const struct variable *variable,
                              const char *value, size_t size, const ul_script_lines *lines,
                              ul_error *err) {
  char *copy;

  if (header->settings[variable->of])
    return ul_script_fail(err, lines, UL_E_MALFORMED, "expected %s once, found it again",
                          variable->name);
  copy = malloc(size + 1);
  if (!copy)
    return ul_fail_nomem(err, "the settings of the script");
  memcpy(copy, value, size);
  copy[size] = '\0';
  header->settings[variable->of] = copy;
  header->settings_line[variable->of] = lines->number;
  return UL_OK;
}

static ul_status set(ul_script_header *header, const struct variable *variable, const char *value,
                     size_t size, const ul_script_lines *lines, ul_error *err) {
  const char *expected = "";

  switch (variable->kind) {
  case TOTAL:
    if (parse_number(&header->device_bytes, value, size) &&
        header->device_bytes <= UL_SCRIPT_MOST_BYTES)
      return UL_OK;
    expected = "a number of bytes from 1 to 1152921504606846975";
    break;
  case DEVICES:
    if (parse_number(&header->devices, value, size) && header->devices <= UL_SCRIPT_DEVICES)
      return UL_OK;
    expected = "a number of devices from 1 to 64";
    break;
  case EVENTS:
    header->stream_events =
        is_value(value, size, "manual") ? UL_STREAM_EVENTS_ON_SYNC : UL_STREAM_EVENTS_AT_ONCE;
    if (is_value(value, size, "manual") || is_value(value, size, "now"))
      return UL_OK;
    expected = "now or manual";
    break;
  case PLACE:
    header->address_policy =
        is_value(value, size, "bump") ? UL_ADDRESS_RISING_APART : UL_ADDRESS_FIRST_FIT;
    if (is_value(value, size, "bump") || is_value(value, size, "first"))
      return UL_OK;
    expected = "bump or first";
    break;
  case SETTINGS:
    return set_settings(header, variable, value, size, lines, err);
  }
  return ul_script_fail(err, lines, UL_E_MALFORMED, "%s: expected %s, found '%.*s'", variable->name,
                        expected, size > SHOWN_BYTES ? SHOWN_BYTES : (int)size, value);
}

ul_status ul_script_header_read(ul_script_header *header, const ul_script_lines *lines, int closed,
                                ul_error *err) {
  const char *at = lines->text + 1; /* behind the '#' */
  const struct variable *variable;
  size_t size;

  at += strspn(at, " \t");
  if (strncmp(at, "env", 3) != 0 || (at[3] != ' ' && at[3] != '\t'))
    return UL_OK;
  at += 3 + strspn(at + 3, " \t");
  if (!memchr(at, '=', strcspn(at, " \t"))) /* a sentence on the environment */
    return UL_OK;
  if (closed)
    return ul_script_fail(err, lines, UL_E_MALFORMED,
                          "expected every '# env' line before the first event, found one here");
  do {
    variable = variable_at(at);
    if (!variable)
      return ul_script_fail(err, lines, UL_E_MALFORMED, "expected %s, found '%.*s'", known_names,
                            SHOWN_BYTES, at);
    at += strlen(variable->name) + 1;
    size = value_size(at);
    UL_TRY(set(header, variable, at, size, lines, err));
    at += size;
    at += strspn(at, " \t");
  } while (*at);
  return UL_OK;
}
