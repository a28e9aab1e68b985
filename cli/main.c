/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "ullage/nearest.h"

static const ul_command commands[] = {
    {"replay", UL_CMD_REPLAY, "replay a recording, prove the replay, say where the memory went",
     "TRACE...", ul_cmd_replay},
    {"info", UL_CMD_INFO, "say what is in a recording", "TRACE...", ul_cmd_info},
    {"script", UL_CMD_SCRIPT, "answer allocator calls written one a line", "FILE...",
     ul_cmd_script},
    {"models", UL_CMD_MODELS, "list backends, releases, settings and the rules that differ", "",
     ul_cmd_models},
    {"version", UL_CMD_VERSION, "print the version", "", ul_cmd_version},
    {"help", UL_CMD_HELP, "describe the program or one command", "[COMMAND]", ul_cmd_help},
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

const ul_command *ul_command_at(size_t index) {
  return index < COMMAND_COUNT ? &commands[index] : NULL;
}

const ul_command *ul_command_find(const char *name) {
  size_t i;

  for (i = 0; i < COMMAND_COUNT; i++) {
    if (strcmp(commands[i].name, name) == 0)
      return &commands[i];
  }
  return NULL;
}

static const char *next_name(size_t *index, void *arg) {
  (void)arg;
  return *index < COMMAND_COUNT ? commands[(*index)++].name : NULL;
}

int ul_command_unknown(const char *word) {
  const char *near = ul_nearest(word, next_name, NULL);

  if (near)
    return ul_misuse(NULL, "unknown command '%s'; did you mean '%s'?", word, near);
  return ul_misuse(NULL, "unknown command '%s'", word);
}

/* "--help" and "--version" are commands too, wherever people expect an option. */
static const char *command_word(const char *word) {
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
    return "help";
  if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
    return "version";
  return word;
}

static int run(const ul_command *command, int argc, char **argv) {
  ul_settings settings;
  ul_out out;
  int code = ul_opt_parse(&settings, command->bit, command->name, argc, argv);

  if (code)
    return code;
  if (!settings.help && !settings.operand_count && command->operands[0] == 'T')
    return ul_misuse(command->name, "no trace given");
  if (!settings.help && !settings.operand_count && command->operands[0] == 'F')
    return ul_misuse(command->name, "no script given");
  if (settings.operand_count && !command->operands[0])
    return ul_misuse(command->name, "takes no operand, but '%s' was given", settings.operands[0]);
  code = ul_out_open(&out, command->name, &settings);
  if (code)
    return code;
  if (settings.help)
    ul_help_text(&out, command);
  else
    code = command->run(&settings, &out);
  return ul_out_finish(&out, code < 2, code);
}

int main(int argc, char **argv) {
  const ul_command *command;
  const char *word;

  setlocale(LC_CTYPE, "");
  signal(SIGPIPE, SIG_IGN); /* write says EPIPE; a reader may go away when it has seen enough */
  if (argc < 2)
    return ul_misuse(NULL, "no command given");
  word = command_word(argv[1]);
  command = ul_command_find(word);
  if (!command && word[0] == '-')
    return ul_misuse(NULL, "'%s' comes before the command", word);
  if (!command)
    return ul_command_unknown(word);
  return run(command, argc - 1, argv + 1);
}
