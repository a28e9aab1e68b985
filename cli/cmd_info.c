/* SPDX-License-Identifier: MIT */
/* ullage info TRACE...: what each of them holds. */
#include <stdio.h>
#include <string.h>

#include "ullage/report.h"
#include "ullage/source.h"

#include "cli/command.h"
#include "cli/say.h"
#include "cli/terminal.h"

static int fail(const char *path, const ul_error *err) {
  int named = strncmp(err->message, path, strlen(path)) == 0;

  ul_say("%s%s%s", named ? "" : path, named ? "" : ": ", err->message);
  return ul_status_exit_code(err->status);
}

static int info_one(const ul_settings *s, ul_out *out, const char *path, int *written) {
  const ul_report_options report = ul_terminal_report_options(s, out);
  ul_source_options options = {.size = sizeof(options)};
  ul_source *source = NULL;
  ul_status status;
  ul_error err;
  ul_bar bar;
  int code = 0;

  ul_bar_begin(&bar, "reading", s);
  options.progress = ul_bar_progress;
  options.progress_arg = &bar;
  status = ul_source_open(&source, path, &options, &err);
  ul_bar_end(&bar);
  if (status != UL_OK)
    return fail(path, &err);
  if (s->json && s->operand_count > 1)
    ul_out_printf(out, *written ? "," : "{\"schema\":\"ullage.info_list/1\",\"infos\":[");
  else if (*written)
    ul_out_printf(out, "\n");
  *written = 1;
  status = s->json ? ul_report_info_json(source, &report, ul_out_write, out, &err)
                   : ul_report_info_text(source, &report, ul_out_write, out, &err);
  if (status != UL_OK && !out->error && !out->closed)
    code = fail(path, &err);
  ul_source_close(source);
  return code;
}

int ul_cmd_info(const ul_settings *settings, ul_out *out) {
  int code = 0, written = 0, i;

  for (i = 0; i < settings->operand_count && !out->error && !out->closed; i++) {
    int one = info_one(settings, out, settings->operands[i], &written);
    code = one > code ? one : code;
  }
  if (settings->json && settings->operand_count > 1)
    ul_out_printf(out, "%s]}\n", written ? "" : "{\"schema\":\"ullage.info_list/1\",\"infos\":[");
  return code;
}
