/* SPDX-License-Identifier: MIT */
/* ullage models: what can be modelled, from the tables that the models themselves read. */
#include <stdio.h>
#include <string.h>

#include "ullage/models.h"
#include "ullage/settings.h"
#include "ullage/version.h"

#include "cli/command.h"

enum { COLUMNS = 90, INDENT = 6, WORD_BYTES = 128, RELEASE_BYTES = 16 };

/* "2.9" for 209. */
static const char *release_name(char *out, unsigned number) {
  snprintf(out, RELEASE_BYTES, "%u.%u", number / 100, number % 100);
  return out;
}

static int is_known(const ul_setting *key, const ul_release *only) {
  return !only || (only->number >= key->since && (!key->until || only->number <= key->until));
}

/* ---- text ---- */

/* A paragraph, indented. */
static void paragraph(ul_out *out, const char *text) {
  size_t at = INDENT;

  ul_out_printf(out, "%*s", INDENT, "");
  while (*text) {
    const size_t size = strcspn(text, " ");
    if (at > INDENT && at + 1 + size > COLUMNS) {
      ul_out_printf(out, "\n%*s", INDENT, "");
      at = INDENT;
    }
    ul_out_printf(out, "%s%.*s", at > INDENT ? " " : "", (int)size, text);
    at += size + (at > INDENT);
    text += size;
    text += *text == ' ';
  }
  ul_out_printf(out, "\n");
}

static void backends_text(ul_out *out) {
  const ul_backend *b;
  size_t i;

  ul_out_printf(out, "Backends:\n");
  for (i = 0; (b = ul_backend_at(i)) != NULL; i++) {
    ul_out_printf(out, "  %s%s\n", b->name, b->approximate ? " (approximate)" : "");
    paragraph(out, b->summary);
  }
}

static void releases_text(ul_out *out, const ul_release *only) {
  const ul_release *r;
  size_t i;

  ul_out_printf(out, "\nReleases, and the variables that their CUDA allocator obeys:\n");
  for (i = 0; (r = ul_release_at(i)) != NULL; i++) {
    if (only && r != only)
      continue;
    ul_out_printf(out, "  %-5s %-12s %s%s\n", r->name, r->evidence,
                  ul_settings_variable_name(UL_SETTINGS_CUDA),
                  r->generic_variables ? ", else PYTORCH_ALLOC_CONF" : "");
  }
}

static void known_in(char *out, size_t size, const ul_setting *key) {
  char since[RELEASE_BYTES], until[RELEASE_BYTES];

  release_name(since, key->since);
  if (!key->until)
    snprintf(out, size, "from %s on", since);
  else if (key->until == key->since)
    snprintf(out, size, "in %s only", since);
  else
    snprintf(out, size, "from %s to %s", since, release_name(until, key->until));
}

static void settings_text(ul_out *out, const ul_release *only) {
  const ul_setting *key;
  char line[WORD_BYTES * 4], releases[WORD_BYTES];
  size_t i;

  ul_out_printf(out, "\nSettings, written KEY:VALUE,KEY:VALUE:\n");
  for (i = 0; (key = ul_setting_at(i)) != NULL; i++) {
    if (!is_known(key, only))
      continue;
    known_in(releases, sizeof(releases), key);
    ul_out_printf(out, "  %s, %s\n", key->name, releases);
    snprintf(line, sizeof(line), "%s: %s; default %s", key->value, key->effect, key->unset);
    paragraph(out, line);
  }
}

/* "address; from 2.12 on block; from 2.13 on segment" */
static void values_of(char *out, size_t size, const ul_rule *rule) {
  char first[RELEASE_BYTES], again[RELEASE_BYTES];

  if (rule->since[1])
    snprintf(out, size, "%s; from %s on %s; from %s on %s", rule->values[0],
             release_name(first, rule->since[0]), rule->values[1],
             release_name(again, rule->since[1]), rule->values[2]);
  else
    snprintf(out, size, "%s; from %s on %s", rule->values[0], release_name(first, rule->since[0]),
             rule->values[1]);
}

static void rules_text(ul_out *out, const ul_release *only) {
  char line[WORD_BYTES * 4], values[WORD_BYTES];
  const ul_rule *rule;
  size_t i;

  ul_out_printf(out, "\nRules that differ between releases:\n");
  for (i = 0; (rule = ul_rule_at(i)) != NULL; i++) {
    values_of(values, sizeof(values), rule);
    ul_out_printf(out, "  %s: %s\n", rule->name, only ? ul_rule_value(rule, only->number) : values);
    snprintf(line, sizeof(line), "%s%s%s%s", rule->what, *rule->evidence ? " (" : "",
             rule->evidence, *rule->evidence ? ")" : "");
    paragraph(out, line);
  }
}

/* ---- JSON ---- */

static void member(ul_out *out, const char *key, const char *value, const char *before) {
  ul_out_printf(out, "%s\"%s\":", before, key);
  if (value)
    ul_out_json_string(out, value);
  else
    ul_out_printf(out, "null");
}

static void member_bool(ul_out *out, const char *key, int value) {
  ul_out_printf(out, ",\"%s\":%s", key, value ? "true" : "false");
}

static void choice_json(ul_out *out, const char *torch, const ul_release_choice *choice) {
  ul_out_printf(out, ",\"torch\":");
  if (!torch) {
    ul_out_printf(out, "null");
    return;
  }
  member(out, "typed", torch, "{");
  member(out, "release", choice->release->name, ",");
  member_bool(out, "exact", choice->exact);
  member(out, "note", choice->note[0] ? choice->note : NULL, ",");
  ul_out_printf(out, "}");
}

static void backends_json(ul_out *out) {
  const ul_backend *b;
  size_t i;

  ul_out_printf(out, ",\"backends\":[");
  for (i = 0; (b = ul_backend_at(i)) != NULL; i++) {
    member(out, "name", b->name, i ? ",{" : "{");
    member(out, "summary", b->summary, ",");
    member_bool(out, "approximate", b->approximate);
    ul_out_printf(out, "}");
  }
  ul_out_printf(out, "]");
}

static void releases_json(ul_out *out, const ul_release *only) {
  const ul_release *r;
  int first = 1;
  size_t i;

  ul_out_printf(out, ",\"releases\":[");
  for (i = 0; (r = ul_release_at(i)) != NULL; i++) {
    if (only && r != only)
      continue;
    member(out, "release", r->name, first ? "{" : ",{");
    member(out, "run", r->run, ",");
    member(out, "evidence", r->evidence, ",");
    ul_out_printf(out, ",\"variables\":[\"%s\"", ul_settings_variable_name(UL_SETTINGS_CUDA));
    if (r->generic_variables)
      ul_out_printf(out, ",\"%s\",\"%s\"", ul_settings_variable_name(UL_SETTINGS_HIP),
                    ul_settings_variable_name(UL_SETTINGS_ANY));
    ul_out_printf(out, "]}");
    first = 0;
  }
  ul_out_printf(out, "]");
}

static void settings_json(ul_out *out, const ul_release *only) {
  const ul_setting *key;
  char name[RELEASE_BYTES];
  int first = 1;
  size_t i;

  ul_out_printf(out, ",\"settings\":[");
  for (i = 0; (key = ul_setting_at(i)) != NULL; i++) {
    if (!is_known(key, only))
      continue;
    member(out, "name", key->name, first ? "{" : ",{");
    member(out, "first", release_name(name, key->since), ",");
    member(out, "last", key->until ? release_name(name, key->until) : NULL, ",");
    member(out, "value", key->value, ",");
    member(out, "default", key->unset, ",");
    member(out, "effect", key->effect, ",");
    member_bool(out, "cuda_only", key->device_only);
    ul_out_printf(out, "}");
    first = 0;
  }
  ul_out_printf(out, "]");
}

static void change_json(ul_out *out, const char *since, const char *value, const char *before) {
  member(out, "since", since, before);
  member(out, "value", value, ",");
  ul_out_printf(out, "}");
}

static void rules_json(ul_out *out, const ul_release *only) {
  const ul_rule *rule;
  char name[RELEASE_BYTES];
  size_t i, j;

  ul_out_printf(out, ",\"rules\":[");
  for (i = 0; (rule = ul_rule_at(i)) != NULL; i++) {
    member(out, "name", rule->name, i ? ",{" : "{");
    member(out, "what", rule->what, ",");
    member(out, "evidence", *rule->evidence ? rule->evidence : NULL, ",");
    member(out, "value", only ? ul_rule_value(rule, only->number) : NULL, ",");
    ul_out_printf(out, ",\"changes\":[");
    change_json(out, ul_release_at(0)->name, rule->values[0], "{");
    for (j = 0; j < 2 && rule->since[j]; j++)
      change_json(out, release_name(name, rule->since[j]), rule->values[j + 1], ",{");
    ul_out_printf(out, "]}");
  }
  ul_out_printf(out, "]");
}

/* ---- the command ---- */

int ul_cmd_models(const ul_settings *settings, ul_out *out) {
  const ul_release *only = NULL;
  ul_release_choice choice;
  ul_error err;

  if (settings->torch && !*settings->torch)
    return ul_misuse("models", "--torch names no release");
  if (ul_release_choose(&choice, settings->torch, &err) != UL_OK)
    return ul_misuse("models", "--torch: %s", err.message);
  if (settings->torch)
    only = choice.release;
  if (settings->json) {
    ul_out_printf(out, "{\"schema\":\"ullage.models/1\",\"version\":\"%s\"", ul_version());
    choice_json(out, settings->torch, &choice);
    backends_json(out);
    releases_json(out, only);
    settings_json(out, only);
    rules_json(out, only);
    ul_out_printf(out, "}\n");
    return 0;
  }
  if (settings->torch && choice.note[0])
    ul_out_printf(out, "%s.\n\n", choice.note);
  backends_text(out);
  releases_text(out, only);
  settings_text(out, only);
  rules_text(out, only);
  return 0;
}
