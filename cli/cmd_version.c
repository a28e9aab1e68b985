/* SPDX-License-Identifier: MIT */
#include "ullage/version.h"

#include "cli/command.h"

static const char *const schemas[] = {
    "ullage.replay/1",    "ullage.replay_list/1", "ullage.info/1",
    "ullage.info_list/1", "ullage.script/1",      "ullage.script_list/1",
    "ullage.models/1",    "ullage.version/1",     "ullage.help/1",
};

enum { SCHEMA_COUNT = sizeof(schemas) / sizeof(schemas[0]) };

int ul_cmd_version(const ul_settings *settings, ul_out *out) {
  size_t i;

  if (settings->json) {
    ul_out_printf(
        out, "{\"schema\":\"ullage.version/1\",\"version\":\"%s\",\"compiler\":", ul_version());
    ul_out_json_string(out, __VERSION__);
    ul_out_printf(out, ",\"schemas\":[");
    for (i = 0; i < SCHEMA_COUNT; i++)
      ul_out_printf(out, "%s\"%s\"", i ? "," : "", schemas[i]);
    ul_out_printf(out, "]}\n");
    return 0;
  }
  ul_out_printf(out, "ullage %s\n", ul_version());
  if (settings->verbosity < 1)
    return 0;
  ul_out_printf(out, "compiler  %s\nschemas   ", __VERSION__);
  for (i = 0; i < SCHEMA_COUNT; i++)
    ul_out_printf(out, "%s%s", i ? ", " : "", schemas[i]);
  ul_out_printf(out, "\n");
  return 0;
}
