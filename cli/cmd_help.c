/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ullage/device.h"
#include "ullage/report.h"
#include "ullage/version.h"

#include "cli/command.h"

enum { HELP_COLUMN = 24, COLUMNS = 80 };

static const struct {
  int code;
  const char *meaning;
} exit_codes[] = {
    {0, "Done, and the answer is yes."},
    {1, "The answer is no: no proof or an error under --strict, or it does not fit --memory."},
    {2, "Misuse: the command line asks for something that does not exist."},
    {3, "An input cannot be read, or is not what it should be."},
    {4, "The output cannot be written, or this machine has not enough memory."},
};

enum { EXIT_CODES = sizeof(exit_codes) / sizeof(exit_codes[0]) };

/* ---- text ---- */

/* Words of text from column `at` on, later lines indented to HELP_COLUMN. */
static void wrapped(ul_out *out, size_t at, const char *text) {
  while (*text) {
    size_t size = strcspn(text, " ");
    if (at + size > COLUMNS) {
      ul_out_printf(out, "\n%*s", HELP_COLUMN, "");
      at = HELP_COLUMN;
    }
    ul_out_printf(out, "%.*s", (int)size, text);
    at += size;
    text += size;
    if (*text == ' ') {
      text++;
      at++;
      if (at + strcspn(text, " ") <= COLUMNS)
        ul_out_printf(out, " ");
    }
  }
  ul_out_printf(out, "\n");
}

/* "-o, --output FILE" */
static void option_name(char *buffer, size_t size, const ul_opt *opt, const char *around) {
  char short_name[16] = "";

  if (opt->short_name)
    snprintf(short_name, sizeof(short_name), "%s-%c%s, ", around, opt->short_name, around);
  snprintf(buffer, size, "%s%s--%s%s%s%s", short_name, around, opt->name, around,
           opt->argument ? " " : "", opt->argument ? opt->argument : "");
}

static void options_text(ul_out *out, unsigned command) {
  const ul_opt *opt;
  char name[64];
  size_t i;

  for (i = 0; (opt = ul_opt_at(i)) != NULL; i++) {
    if (!(opt->commands & command))
      continue;
    option_name(name, sizeof(name), opt, "");
    ul_out_printf(out, "  %-*s", HELP_COLUMN - 2, name);
    if (strlen(name) > HELP_COLUMN - 3)
      ul_out_printf(out, "\n%*s", HELP_COLUMN, "");
    wrapped(out, HELP_COLUMN, opt->help);
  }
}

static void gpus_text(ul_out *out) {
  char size[32];
  const ul_gpu *gpu;
  size_t i;

  ul_out_printf(out, "\nGPUs by name, with the memory that PyTorch sees on them:\n");
  for (i = 0; (gpu = ul_gpu_at(i)) != NULL; i++)
    ul_out_printf(out, "%s%-10s %10s%s", i % 3 ? "    " : "  ", gpu->name,
                  ul_format_bytes(size, sizeof(size), gpu->memory_bytes, 0),
                  i % 3 == 2 || !ul_gpu_at(i + 1) ? "\n" : "");
}

static void exit_codes_text(ul_out *out) {
  size_t i;

  ul_out_printf(out, "\nExit codes:\n");
  for (i = 0; i < EXIT_CODES; i++)
    ul_out_printf(out, "  %d  %s\n", exit_codes[i].code, exit_codes[i].meaning);
}

static void program_text(ul_out *out) {
  const ul_command *command;
  size_t i;

  ul_out_printf(out, "Usage: ullage COMMAND [OPTIONS] [TRACE...]\n\n"
                     "Replays the memory of a PyTorch job from its recording, and proves it.\n"
                     "A TRACE is a memory snapshot as torch.cuda.memory._dump_snapshot writes it,\n"
                     "plain or compressed with gzip or zstd; '-' is standard input.\n\n"
                     "Commands:\n");
  for (i = 0; (command = ul_command_at(i)) != NULL; i++)
    ul_out_printf(out, "  %-10s %s\n", command->name, command->summary);
  ul_out_printf(out, "\n'ullage help COMMAND' describes one command.\n");
  exit_codes_text(out);
}

void ul_help_text(ul_out *out, const ul_command *command) {
  if (!command) {
    program_text(out);
    return;
  }
  ul_out_printf(out, "Usage: ullage %s [OPTIONS]%s%s\n\nullage %s: %s.\n\nOptions:\n",
                command->name, command->operands[0] ? " " : "", command->operands, command->name,
                command->summary);
  options_text(out, command->bit);
  if (command->bit == UL_CMD_REPLAY)
    gpus_text(out);
  exit_codes_text(out);
}

/* ---- for the manual ---- */

/* scdoc reads underscores and asterisks as marks. */
static void escaped(ul_out *out, const char *text) {
  for (; *text; text++)
    ul_out_printf(out, "%s%c", strchr("_*\\", *text) ? "\\" : "", *text);
}

static void options_man(ul_out *out, unsigned command) {
  const ul_opt *opt;
  char name[64];
  size_t i;

  for (i = 0; (opt = ul_opt_at(i)) != NULL; i++) {
    if (!(opt->commands & command))
      continue;
    option_name(name, sizeof(name), opt, "*");
    ul_out_printf(out, "%s\n\t", name);
    escaped(out, opt->help);
    ul_out_printf(out, "\n\n");
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

static void options_json(ul_out *out, unsigned command) {
  const ul_opt *opt;
  int first = 1;
  size_t i;

  ul_out_printf(out, ",\"options\":[");
  for (i = 0; (opt = ul_opt_at(i)) != NULL; i++) {
    char short_name[2] = {opt->short_name, '\0'};
    if (!(opt->commands & command))
      continue;
    member(out, "name", opt->name, first ? "{" : ",{");
    member(out, "short", short_name[0] ? short_name : NULL, ",");
    member(out, "argument", opt->argument, ",");
    member(out, "choices", opt->choices, ",");
    member(out, "help", opt->help, ",");
    ul_out_printf(out, "}");
    first = 0;
  }
  ul_out_printf(out, "]");
}

static void help_json(ul_out *out, const ul_command *only) {
  const ul_command *command;
  const ul_gpu *gpu;
  int first = 1;
  size_t i;

  ul_out_printf(out, "{\"schema\":\"ullage.help/1\",\"version\":\"%s\",\"commands\":[",
                ul_version());
  for (i = 0; (command = ul_command_at(i)) != NULL; i++) {
    if (only && command != only)
      continue;
    member(out, "name", command->name, first ? "{" : ",{");
    member(out, "summary", command->summary, ",");
    member(out, "operands", command->operands, ",");
    options_json(out, command->bit);
    ul_out_printf(out, "}");
    first = 0;
  }
  ul_out_printf(out, "],\"exit_codes\":[");
  for (i = 0; i < EXIT_CODES; i++) {
    ul_out_printf(out, "%s{\"code\":%d", i ? "," : "", exit_codes[i].code);
    member(out, "meaning", exit_codes[i].meaning, ",");
    ul_out_printf(out, "}");
  }
  ul_out_printf(out, "],\"gpus\":[");
  for (i = 0; (gpu = ul_gpu_at(i)) != NULL; i++) {
    member(out, "name", gpu->name, i ? ",{" : "{");
    ul_out_printf(out, ",\"memory_bytes\":%" PRIu64 "}", gpu->memory_bytes);
  }
  ul_out_printf(out, "]}\n");
}

int ul_cmd_help(const ul_settings *settings, ul_out *out) {
  const ul_command *command = NULL;

  if (settings->operand_count > 1)
    return ul_misuse("help", "one command at a time, please");
  if (settings->operand_count) {
    command = ul_command_find(settings->operands[0]);
    if (!command)
      return ul_command_unknown(settings->operands[0]);
  }
  if (settings->man && !command)
    return ul_misuse("help", "--man needs a command");
  if (settings->json)
    help_json(out, command);
  else if (settings->man)
    options_man(out, command->bit);
  else
    ul_help_text(out, command);
  return 0;
}
