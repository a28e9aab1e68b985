/* SPDX-License-Identifier: MIT */
#include "cli/model_options.h"

#include <string.h>

#include "ullage/models.h"
#include "ullage/settings.h"

#include "cli/say.h"

int ul_check_torch(const char *command, const ul_settings *s) {
  ul_release_choice choice;
  ul_error err;

  if (s->torch && !*s->torch)
    return ul_misuse(command, "--torch names no release");
  if (ul_release_choose(&choice, s->torch, &err) != UL_OK)
    return ul_misuse(command, "--torch: %s", err.message);
  if (choice.note[0] && s->verbosity >= 0)
    ul_say("%s", choice.note);
  return 0;
}

/* "NAME=" of a variable before the settings; no key holds a '='. */
static void split_variable(ul_conf *out) {
  unsigned variable;

  for (variable = UL_SETTINGS_CUDA; variable <= UL_SETTINGS_ANY; variable++) {
    const char *name = ul_settings_variable_name((ul_settings_variable)variable);
    const size_t size = strlen(name);
    if (strncmp(out->text, name, size) == 0 && out->text[size] == '=') {
      out->variable = (ul_settings_variable)variable;
      out->text += size + 1;
      return;
    }
  }
}

/* Without --torch the recording tells the release, later. */
static int check_variable(const char *command, const ul_settings *s, const ul_conf *conf) {
  const char *given[UL_SETTINGS_ANY + 1] = {NULL};
  ul_settings_choice choice;
  ul_error err;

  given[conf->variable] = conf->text;
  if (ul_settings_choose(&choice, s->torch, given[UL_SETTINGS_CUDA], given[UL_SETTINGS_HIP],
                         given[UL_SETTINGS_ANY], &err) != UL_OK)
    return ul_misuse(command, "--conf: %s", err.message);
  if (choice.warning[0] && s->verbosity >= 0)
    ul_say("--conf: %s", choice.warning);
  else if (!s->torch && conf->variable != UL_SETTINGS_CUDA && s->verbosity >= 0)
    ul_say("--conf: PyTorch through 2.9 ignores %s", ul_settings_variable_name(conf->variable));
  return 0;
}

int ul_read_conf(ul_conf *out, const char *command, const ul_settings *s) {
  char warning[UL_WARNING_BYTES];
  ul_error err;

  memset(out, 0, sizeof(*out));
  if (!s->conf)
    return 0;
  out->text = s->conf;
  split_variable(out);
  if (check_variable(command, s, out))
    return 2;
  if (ul_settings_check(out->text, out->variable, s->torch, warning, sizeof(warning), &err) !=
      UL_OK)
    return ul_misuse(command, "--conf: %s", err.message);
  if (warning[0] && s->verbosity >= 0)
    ul_say("--conf: %s", warning);
  return 0;
}
