/* SPDX-License-Identifier: MIT */
/* Reads a script line by line, asks the model of the device it is for, and hands the answer on. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "script/answer.h"
#include "script/header.h"
#include "script/runner.h"

/* ---- options and result of callers that know fewer fields ---- */

static ul_script_options full_options(const ul_script_options *options, const char *name) {
  ul_script_options full = {0};

  if (options)
    memcpy(&full, options, options->size < sizeof(full) ? options->size : sizeof(full));
  full.size = sizeof(full);
  if (!full.name)
    full.name = name;
  full.sections &= UL_SCRIPT_ALL;
  if (!full.sections)
    full.sections = UL_SCRIPT_ALL;
  return full;
}

static void give_result(ul_script_result *out, const ul_script_result *result) {
  size_t size;

  if (!out)
    return;
  size = out->size < sizeof(*out) ? out->size : sizeof(*out);
  if (size > sizeof(out->size))
    memcpy((char *)out + sizeof(out->size), (const char *)result + sizeof(out->size),
           size - sizeof(out->size));
}

/* ---- the run ---- */

static ul_status read_lines(ul_runner *r, ul_error *err) {
  ul_script_lines *lines = &r->lines;
  ul_script_command command;
  int more = 1;

  for (;;) {
    UL_TRY(ul_script_next_line(lines, &more, err));
    if (!more)
      return UL_OK;
    if (lines->text[0] == '#') {
      UL_TRY(ul_script_header_read(&r->header, lines, r->result.events > 0, err));
      continue;
    }
    if (!lines->text[0])
      continue;
    UL_TRY(ul_script_parse(&command, lines, err));
    UL_TRY(ul_runner_step(r, &command, err));
    if (r->result.broken_line)
      return UL_OK;
    if (r->printer->failed(r->printer_state))
      return ul_fail(err, UL_E_OUTPUT, 0, "the answers could not be written");
  }
}

static ul_status run_lines(ul_runner *r, ul_error *err) {
  ul_status status;

  UL_TRY(read_lines(r, err));
  if (r->result.events)
    return UL_OK;
  status = ul_runner_open(r, err); /* such a script has settings too */
  if (status != UL_OK)
    ul_script_locate(err, &r->lines);
  return status;
}

static ul_status run(ul_bytes *bytes, const ul_script_options *options, ul_script_result *result,
                     ul_error *err) {
  ul_runner *r = calloc(1, sizeof(*r));
  ul_status status;

  if (!r) {
    ul_bytes_close(bytes);
    return ul_fail_nomem(err, "the script");
  }
  bytes->progress = options->progress;
  bytes->progress_arg = options->progress_arg;
  r->options = options;
  r->lines.bytes = bytes;
  r->lines.name = options->name;
  r->printer = options->json ? &ul_printer_json : &ul_printer_text;
  ul_script_header_init(&r->header);
  status = r->printer->create(&r->printer_state, options, err);
  if (status == UL_OK) {
    status = run_lines(r, err);
    if (status == UL_OK)
      status = r->printer->finish(r->printer_state, &r->result, !r->result.broken_line, err);
    else /* what came before a bad line is an answer all the same */
      (void)r->printer->finish(r->printer_state, &r->result, 0, NULL);
    r->printer->destroy(r->printer_state);
  }
  give_result(result, &r->result);
  ul_runner_release(r);
  ul_bytes_close(bytes);
  free(r);
  return status;
}

static ul_status check_arguments(const char *function, const ul_script_options *options,
                                 const void *input, const ul_script_result *result, ul_error *err) {
  const char *wrong = NULL;

  if (!input)
    wrong = "there is no script";
  else if (options && options->size < sizeof(options->size))
    wrong = "options.size is not set";
  else if (result && result->size < sizeof(result->size))
    wrong = "result.size is not set";
  return wrong ? ul_fail(err, UL_E_INVALID, 0, "%s: %s", function, wrong) : UL_OK;
}

ul_status ul_script_run(const void *bytes, size_t size, const ul_script_options *options,
                        ul_script_result *result, ul_error *err) {
  ul_script_options full;
  ul_bytes *in;

  UL_TRY(check_arguments("ul_script_run", options, size ? bytes : "", result, err));
  full = full_options(options, "script");
  UL_TRY(ul_bytes_open_memory(&in, size ? bytes : "", size, err));
  return run(in, &full, result, err);
}

ul_status ul_script_run_file(const char *path, const ul_script_options *options,
                             ul_script_result *result, ul_error *err) {
  ul_script_options full;
  ul_status status;
  ul_bytes *in;

  UL_TRY(check_arguments("ul_script_run_file", options, path, result, err));
  full = full_options(options, strcmp(path, "-") == 0 ? "standard input" : path);
  status = ul_bytes_open_file(&in, path, err);
  if (status != UL_OK) {
    ul_error_prefix(err, path);
    return status;
  }
  return run(in, &full, result, err);
}
