/* SPDX-License-Identifier: MIT */
/* ullage script FILE...: allocator calls, one a line, and what a modelled device answers. */
#include <stdio.h>
#include <string.h>

#include "ullage/models.h"
#include "ullage/nearest.h"
#include "ullage/report.h"
#include "ullage/script.h"

#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/say.h"
#include "cli/terminal.h"

static const struct {
  const char *name;
  unsigned bit;
} sections[] = {
    {"place", UL_SCRIPT_PLACE},       {"message", UL_SCRIPT_MESSAGE}, {"stats", UL_SCRIPT_STATS},
    {"newstats", UL_SCRIPT_NEWSTATS}, {"snap", UL_SCRIPT_SNAP},       {"trace", UL_SCRIPT_TRACE},
};

enum { SECTION_COUNT = sizeof(sections) / sizeof(sections[0]), NAME_BYTES = 32 };

static const char *next_section(size_t *index, void *arg) {
  (void)arg;
  return *index < SECTION_COUNT ? sections[(*index)++].name : NULL;
}

static unsigned section_bit(const char *name, size_t size) {
  size_t i;

  for (i = 0; i < SECTION_COUNT; i++) {
    if (strlen(sections[i].name) == size && memcmp(sections[i].name, name, size) == 0)
      return sections[i].bit;
  }
  return 0;
}

/* "place,stats". Returns 0 or an exit code. */
static int read_sections(const char *text, unsigned *out) {
  while (text) {
    const size_t size = strcspn(text, ",");
    const unsigned bit = section_bit(text, size);
    char name[NAME_BYTES];
    const char *near;
    if (!bit) {
      snprintf(name, sizeof(name), "%.*s", (int)(size < NAME_BYTES ? size : NAME_BYTES - 1), text);
      near = ul_nearest(name, next_section, NULL);
      if (near)
        return ul_misuse("script", "--section has no '%s'; did you mean '%s'?", name, near);
      return ul_misuse("script",
                       "--section has no '%s', but place, message, stats, newstats, snap, trace",
                       name);
    }
    *out |= bit;
    text = text[size] ? text + size + 1 : NULL;
  }
  return 0;
}

static const char *next_backend(size_t *index, void *arg) {
  const ul_backend *backend = ul_backend_at((*index)++);

  (void)arg;
  return backend ? backend->name : NULL;
}

static int check_backend(const char *name) {
  const ul_backend *backend = NULL;
  const char *near;
  size_t i;

  if (!name)
    return 0;
  for (i = 0; (backend = ul_backend_at(i)) != NULL; i++) {
    if (strcmp(backend->name, name) == 0)
      return 0;
  }
  near = ul_nearest(name, next_backend, NULL);
  if (near)
    return ul_misuse("script", "--backend: there is no '%s'; did you mean '%s'?", name, near);
  return ul_misuse("script", "--backend: there is no '%s'; 'ullage models' lists them", name);
}

/* The settings choose a backend, too. */
static int say_approximate(const ul_settings *s, const ul_conf *conf) {
  ul_model_options o = {.size = sizeof(o), .torch = s->torch, .backend = s->backend};
  ul_model *model;
  ul_error err;

  o.settings = conf->text;
  o.variable = conf->variable;
  if (ul_model_create(&model, &o, &err) != UL_OK)
    return ul_misuse("script", "--conf: %s", err.message);
  if (ul_model_is_approximate(model) && s->verbosity >= 0)
    ul_say("the driver's pool is not public: its answers are estimates");
  ul_model_destroy(model);
  return 0;
}

/* A release, settings or a backend that no model takes are the caller's mistake, whatever the
 * scripts hold. */
static int check_model(const ul_settings *s, ul_conf *conf) {
  int code = ul_check_torch("script", s);

  if (!code)
    code = check_backend(s->backend);
  if (!code)
    code = ul_read_conf(conf, "script", s);
  return code ? code : say_approximate(s, conf);
}

static int read_memory(const ul_settings *s, uint64_t *out) {
  ul_error err;

  if (!s->memory)
    return 0;
  if (ul_parse_bytes(out, s->memory, &err) != UL_OK)
    return ul_misuse("script", "--memory: %s", err.message);
  if (*out >> 60)
    return ul_misuse("script", "--memory %s: no device has an exabyte", s->memory);
  return *out ? 0 : ul_misuse("script", "--memory 0 leaves nothing to allocate");
}

/* What belongs before the answers of a script is written once there are any. */
typedef struct output {
  const ul_settings *settings;
  ul_out *out;
  const char *path;
  int written; /* scripts that had answers */
  int begun;   /* this one's have begun */
} output;

static void separate(output *o) {
  if (o->settings->operand_count < 2)
    return;
  if (o->settings->json)
    ul_out_printf(o->out, o->written ? "," : "{\"schema\":\"ullage.script_list/1\",\"scripts\":[");
  else
    ul_out_printf(o->out, "%s==> %s <==\n", o->written ? "\n" : "", o->path);
}

static int write_answers(const void *bytes, size_t size, void *arg) {
  output *o = arg;

  if (!o->begun)
    separate(o);
  o->written += !o->begun;
  o->begun = 1;
  return ul_out_write(bytes, size, o->out);
}

static int run_one(const ul_settings *s, ul_script_options *o, const char *path) {
  ul_script_result result = {.size = sizeof(result)};
  ul_status status;
  ul_error err;
  ul_bar bar;

  ul_bar_begin(&bar, "running", s);
  o->progress = ul_bar_progress;
  o->progress_arg = &bar;
  status = ul_script_run_file(path, o, &result, &err);
  ul_bar_end(&bar);
  if (status == UL_E_OUTPUT) /* ul_out_finish says what went wrong */
    return 0;
  if (result.warning[0] && s->verbosity >= 0)
    ul_say("%s: %s", path, result.warning);
  if (status != UL_OK) {
    ul_say("%s", err.message);
    return ul_status_exit_code(status);
  }
  if (result.broken_line) {
    ul_say("%s:%llu: the real allocator itself would break here: %s", path,
           (unsigned long long)result.broken_line, result.broken_reason);
    return 1;
  }
  return s->strict && (result.ooms || result.errors);
}

int ul_cmd_script(const ul_settings *s, ul_out *out) {
  output answers = {.settings = s, .out = out};
  ul_script_options o = {.size = sizeof(o)};
  ul_conf conf;
  int code = check_model(s, &conf), i;

  if (!code)
    code = read_memory(s, &o.device_bytes);
  if (!code)
    code = read_sections(s->section, &o.sections);
  if (code)
    return code;
  o.torch = s->torch;
  o.settings = conf.text;
  o.settings_variable = conf.variable;
  o.backend = s->backend;
  o.checked = s->checked;
  o.json = s->json;
  o.write = write_answers;
  o.write_arg = &answers;
  for (i = 0; i < s->operand_count && !out->error && !out->closed; i++) {
    int one;
    answers.path = s->operands[i];
    answers.begun = 0;
    one = run_one(s, &o, s->operands[i]);
    code = one > code ? one : code;
  }
  if (s->json && s->operand_count > 1)
    ul_out_printf(out, "%s]}\n",
                  answers.written ? "" : "{\"schema\":\"ullage.script_list/1\",\"scripts\":[");
  return code;
}
