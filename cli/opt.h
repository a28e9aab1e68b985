/* SPDX-License-Identifier: MIT */
/* Options as one table: parsing, help, the manual's option lists and `help --json` all come from
 * it. */
#ifndef UL_CLI_OPT_H
#define UL_CLI_OPT_H

#include <stddef.h>
#include <stdint.h>

/* Commands, as bits of ul_opt.commands. */
enum {
  UL_CMD_REPLAY = 1u << 0,
  UL_CMD_INFO = 1u << 1,
  UL_CMD_VERSION = 1u << 2,
  UL_CMD_HELP = 1u << 3,
  UL_CMD_SCRIPT = 1u << 4,
  UL_CMD_MODELS = 1u << 5,
  UL_CMD_READERS = UL_CMD_REPLAY | UL_CMD_INFO,
  UL_CMD_ALL = UL_CMD_READERS | UL_CMD_SCRIPT | UL_CMD_MODELS | UL_CMD_VERSION | UL_CMD_HELP,
};

/* What the command line said. Texts point into argv. */
typedef struct ul_settings {
  const char *torch, *conf, *memory, *gpu, *reserve, *output, *from, *to;
  const char *backend, *section;
  uint64_t memory_bytes, reserve_bytes; /* of memory or gpu, and of reserve */
  unsigned device, top;
  int stack; /* ul_stack_style */
  int json, force, strict, checked, bytes, no_progress, help, man;
  int verbosity;
  uint64_t given; /* bit n: row n of the table was given */
  char **operands;
  int operand_count;
} ul_settings;

typedef enum ul_opt_kind {
  UL_OPT_FLAG,   /* int = 1 */
  UL_OPT_MORE,   /* int + 1 */
  UL_OPT_LESS,   /* int - 1 */
  UL_OPT_TEXT,   /* const char * */
  UL_OPT_NUMBER, /* unsigned */
  UL_OPT_CHOICE, /* int: which word of choices */
} ul_opt_kind;

typedef struct ul_opt {
  const char *name;
  char short_name; /* 0 none */
  uint8_t kind;    /* ul_opt_kind */
  uint8_t commands;
  size_t offset; /* in ul_settings */
  const char *argument;
  const char *choices; /* "full|user|none" */
  const char *help;    /* one sentence */
} ul_opt;

/* Row n, or NULL past the last. */
const ul_opt *ul_opt_at(size_t index);

/* Whether the option of that name was given. */
int ul_opt_given(const ul_settings *settings, const char *name);

/* Reads argv[1...] as options and operands of the command `name`; operands may stand between
 * options. Returns 0, or 2 after two lines on stderr. */
int ul_opt_parse(ul_settings *out, unsigned command, const char *name, int argc, char **argv);

/* Two lines on stderr: what is wrong, and where help is. Returns 2. */
int ul_misuse(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
