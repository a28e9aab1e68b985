/* SPDX-License-Identifier: MIT */
#include "cli/opt.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/say.h"
#include "ullage/nearest.h"

#define AT(field) offsetof(ul_settings, field)

static const ul_opt options[] = {
    {"torch", 0, UL_OPT_TEXT, UL_CMD_REPLAY, AT(torch), "RELEASE", NULL,
     "Also replay as this PyTorch release would (2.9, 2.9.1+cu128), beside the proof."},
    {"conf", 0, UL_OPT_TEXT, UL_CMD_REPLAY, AT(conf), "SETTINGS", NULL,
     "Also replay under these settings, written as PYTORCH_CUDA_ALLOC_CONF takes them; "
     "NAME=SETTINGS stands for another variable."},
    {"memory", 0, UL_OPT_TEXT, UL_CMD_REPLAY, AT(memory), "SIZE", NULL,
     "Also replay on a device with this much memory (24GiB, 80G, 24GB); exit 1 if it does not "
     "fit."},
    {"gpu", 0, UL_OPT_TEXT, UL_CMD_REPLAY, AT(gpu), "NAME", NULL,
     "The memory of a known GPU instead of --memory (H100-80GB)."},
    {"reserve", 0, UL_OPT_TEXT, UL_CMD_REPLAY, AT(reserve), "SIZE", NULL,
     "Of --memory or --gpu, what the CUDA context and other processes hold."},
    {"device", 0, UL_OPT_NUMBER, UL_CMD_REPLAY, AT(device), "N", NULL,
     "Report only this device of the recording."},
    {"from", 0, UL_OPT_TEXT, UL_CMD_REPLAY, AT(from), "MOMENT", NULL,
     "Report peaks, holders and the curve from here on: an event number, a time since the first "
     "entry (12.5ms, 3s), the start of a mark (@NAME), or @step:3. All of it is replayed."},
    {"to", 0, UL_OPT_TEXT, UL_CMD_REPLAY, AT(to), "MOMENT", NULL,
     "The last moment that is reported, inclusive; of a mark its end."},
    {"top", 0, UL_OPT_NUMBER, UL_CMD_REPLAY, AT(top), "N", NULL,
     "Name this many holders of the peak; 0 names all (default: 5, and 20 with --json)."},
    {"stack", 0, UL_OPT_CHOICE, UL_CMD_REPLAY, AT(stack), "STYLE", "user|full|none",
     "How much of a stack is shown: the line of your own code, every frame, or nothing (default: "
     "user, and full with --json)."},
    {"strict", 0, UL_OPT_FLAG, UL_CMD_REPLAY, AT(strict), NULL, NULL,
     "Exit 1 unless the replay is proved."},
    {"torch", 0, UL_OPT_TEXT, UL_CMD_SCRIPT, AT(torch), "RELEASE", NULL,
     "Answer as this PyTorch release (2.9, 2.9.1+cu128) would (default: the newest known)."},
    {"conf", 0, UL_OPT_TEXT, UL_CMD_SCRIPT, AT(conf), "SETTINGS", NULL,
     "These settings instead of those in the script, written as PYTORCH_CUDA_ALLOC_CONF takes "
     "them; NAME=SETTINGS stands for another variable."},
    {"memory", 0, UL_OPT_TEXT, UL_CMD_SCRIPT, AT(memory), "SIZE", NULL,
     "A device with this much memory (24GiB, 80G, 24GB) instead of the script's (default: 80GiB)."},
    {"backend", 0, UL_OPT_TEXT, UL_CMD_SCRIPT, AT(backend), "NAME", NULL,
     "The model that answers, of those that 'ullage models' lists (default: native)."},
    {"section", 0, UL_OPT_TEXT, UL_CMD_SCRIPT, AT(section), "LIST", NULL,
     "Print only these parts of the answers, of place,message,stats,newstats,snap,trace."},
    {"checked", 0, UL_OPT_FLAG, UL_CMD_SCRIPT, AT(checked), NULL, NULL,
     "Check every invariant of the model after each event."},
    {"strict", 0, UL_OPT_FLAG, UL_CMD_SCRIPT, AT(strict), NULL, NULL,
     "Exit 1 if an event ran out of memory or into an error."},
    {"torch", 0, UL_OPT_TEXT, UL_CMD_MODELS, AT(torch), "RELEASE", NULL,
     "Only what holds in this PyTorch release (2.9, 2.9.1+cu128)."},
    {"json", 0, UL_OPT_FLAG, UL_CMD_ALL, AT(json), NULL, NULL,
     "Write one JSON document instead of text."},
    {"output", 'o', UL_OPT_TEXT, UL_CMD_ALL, AT(output), "FILE", NULL,
     "Write to FILE, which appears only once it is complete."},
    {"force", 0, UL_OPT_FLAG, UL_CMD_ALL, AT(force), NULL, NULL,
     "Let --output replace an existing file."},
    {"bytes", 0, UL_OPT_FLAG, UL_CMD_READERS, AT(bytes), NULL, NULL,
     "Print sizes as exact numbers of bytes."},
    {"verbose", 'v', UL_OPT_MORE, UL_CMD_ALL, AT(verbosity), NULL, NULL, "Say more."},
    {"quiet", 'q', UL_OPT_LESS, UL_CMD_ALL, AT(verbosity), NULL, NULL, "Say less."},
    {"no-progress", 0, UL_OPT_FLAG, UL_CMD_READERS | UL_CMD_SCRIPT, AT(no_progress), NULL, NULL,
     "Draw no progress bar on the terminal."},
    {"man", 0, UL_OPT_FLAG, UL_CMD_HELP, AT(man), NULL, NULL,
     "Print the option list of a command as its manual page has it."},
    {"help", 'h', UL_OPT_FLAG, UL_CMD_ALL, AT(help), NULL, NULL, "Describe the command."},
};

enum { OPTION_COUNT = sizeof(options) / sizeof(options[0]), LONG_BASE = 1000 };

const ul_opt *ul_opt_at(size_t index) {
  return index < OPTION_COUNT ? &options[index] : NULL;
}

int ul_opt_given(const ul_settings *settings, const char *name) {
  size_t i;

  for (i = 0; i < OPTION_COUNT; i++) { /* a name may have a row for each command */
    if (strcmp(options[i].name, name) == 0 && (settings->given >> i & 1))
      return 1;
  }
  return 0;
}

int ul_misuse(const char *command, const char *format, ...) {
  va_list args;

  va_start(args, format);
  ul_say_of(command, format, args);
  va_end(args);
  fprintf(stderr, "'ullage help%s%s' says more.\n", command ? " " : "", command ? command : "");
  return 2;
}

/* ---- one option ---- */

static int parse_number(unsigned *out, const char *text) {
  char *end;
  unsigned long value;

  if (text[0] < '0' || text[0] > '9') /* strtoul takes signs and spaces */
    return 0;
  errno = 0;
  value = strtoul(text, &end, 10);
  if (errno || *end || value > UINT_MAX)
    return 0;
  *out = (unsigned)value;
  return 1;
}

/* The index of word in "a|b|c", or -1. */
static int parse_choice(const char *choices, const char *word) {
  size_t size = strlen(word);
  int index;

  for (index = 0;; index++) {
    size_t length = strcspn(choices, "|");
    if (length == size && memcmp(choices, word, size) == 0)
      return index;
    if (!choices[length])
      return -1;
    choices += length + 1;
  }
}

static int take(ul_settings *out, const char *command, size_t index, const char *argument) {
  const ul_opt *opt = &options[index];
  char *field = (char *)out + opt->offset;

  out->given |= UINT64_C(1) << index;
  switch ((ul_opt_kind)opt->kind) {
  case UL_OPT_FLAG:
    *(int *)(void *)field = 1;
    return 0;
  case UL_OPT_MORE:
    *(int *)(void *)field += 1;
    return 0;
  case UL_OPT_LESS:
    *(int *)(void *)field -= 1;
    return 0;
  case UL_OPT_TEXT:
    *(const char **)(void *)field = argument;
    return 0;
  case UL_OPT_NUMBER:
    if (parse_number((unsigned *)(void *)field, argument))
      return 0;
    return ul_misuse(command, "--%s takes a number, not '%s'", opt->name, argument);
  case UL_OPT_CHOICE:
    *(int *)(void *)field = parse_choice(opt->choices, argument);
    if (*(int *)(void *)field >= 0)
      return 0;
    return ul_misuse(command, "--%s is one of %s, not '%s'", opt->name, opt->choices, argument);
  }
  return 0;
}

/* ---- the command line ---- */

static const char *next_name(size_t *index, void *arg) {
  unsigned command = *(unsigned *)arg;

  while (*index < OPTION_COUNT) {
    const ul_opt *opt = &options[(*index)++];
    if (opt->commands & command)
      return opt->name;
  }
  return NULL;
}

static int unknown(unsigned command, const char *name, const char *word) {
  char typed[64];
  const char *near;

  if (strncmp(word, "--", 2) != 0)
    return ul_misuse(name, "unknown option '-%c'", optopt);
  snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(word + 2, "="), word + 2);
  near = ul_nearest(typed, next_name, &command);
  if (near)
    return ul_misuse(name, "unknown option '--%s'; did you mean '--%s'?", typed, near);
  return ul_misuse(name, "unknown option '--%s'", typed);
}

static const ul_opt *by_value(int value) {
  size_t i;

  if (value >= LONG_BASE && value < LONG_BASE + (int)OPTION_COUNT)
    return &options[value - LONG_BASE];
  for (i = 0; i < OPTION_COUNT; i++) {
    if (options[i].short_name && options[i].short_name == value)
      return &options[i];
  }
  return NULL;
}

static void build_tables(unsigned command, struct option longs[], char shorts[]) {
  size_t i, count = 0, used = 0;

  shorts[used++] = ':'; /* a missing argument is told apart from an unknown option */
  for (i = 0; i < OPTION_COUNT; i++) {
    const ul_opt *opt = &options[i];
    if (!(opt->commands & command))
      continue;
    longs[count++] = (struct option){opt->name, opt->argument ? required_argument : no_argument,
                                     NULL, LONG_BASE + (int)i};
    if (opt->short_name) {
      shorts[used++] = opt->short_name;
      if (opt->argument)
        shorts[used++] = ':';
    }
  }
  longs[count] = (struct option){NULL, 0, NULL, 0};
  shorts[used] = '\0';
}

int ul_opt_parse(ul_settings *out, unsigned command, const char *name, int argc, char **argv) {
  struct option longs[OPTION_COUNT + 1];
  char shorts[2 * OPTION_COUNT + 2];
  int value;

  memset(out, 0, sizeof(*out));
  build_tables(command, longs, shorts);
  opterr = 0;
  optind = 1;
  while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
    const ul_opt *opt = by_value(value == ':' || value == '?' ? optopt : value);
    const char *word = argv[optind - 1];
    int code;
    if (value == ':' && opt)
      return ul_misuse(name, "--%s needs an argument: %s", opt->name, opt->argument);
    if (value == '?' && opt && (opt->commands & command))
      return ul_misuse(name, "--%s takes no argument", opt->name);
    if (value == '?' || !opt)
      return unknown(command, name, word);
    code = take(out, name, (size_t)(opt - options), optarg);
    if (code)
      return code;
  }
  out->operands = argv + optind;
  out->operand_count = argc - optind;
  return 0;
}
