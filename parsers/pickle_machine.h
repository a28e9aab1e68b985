/* SPDX-License-Identifier: MIT */
/* Shared by the files of the pickle reader: the state of the machine and how its opcodes ask for
 * more bytes and fail. */
#ifndef UL_PARSERS_PICKLE_MACHINE_H
#define UL_PARSERS_PICKLE_MACHINE_H

#include "parsers/bytes_in.h"
#include "parsers/value_heap.h"

typedef struct ul_pickle {
  ul_heap *heap;
  ul_bytes *in;
  const uint8_t *op; /* opcode being run; stays in the window */
  uint64_t next_memo;
  UL_VEC(char) scratch; /* decoded text of STRING and UNICODE */
  ul_error *err;
  ul_status status; /* why an opcode returned NULL; UL_OK after STOP */
  unsigned protocol;
} ul_pickle;

/* Runs one opcode whose operand begins at `at`; returns what follows, or NULL with status set.
 * The bytes that its row in the table calls its operand are there. */
typedef const uint8_t *ul_pickle_op(ul_pickle *p, const uint8_t *at);

/* Makes count bytes available at `at` and returns it moved; NULL when the input ends before. */
const uint8_t *ul_pickle_need(ul_pickle *p, const uint8_t *at, size_t count);
/* The operand's line without its newline: *size bytes at the returned place; NULL on failure. */
const uint8_t *ul_pickle_line(ul_pickle *p, const uint8_t *at, size_t *size);
/* Fails: "<opcode> at byte <n> <what>". Returns NULL. */
const uint8_t *ul_pickle_fail(ul_pickle *p, ul_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Passes a heap's status on, adding opcode and offset to its message. */
const uint8_t *ul_pickle_failed(ul_pickle *p, ul_status status);
const char *ul_pickle_op_name(uint8_t op);
/* At least `count` values above the topmost mark? Fails otherwise. */
int ul_pickle_has(ul_pickle *p, size_t count);

/* pickle_text.c: opcodes with a line of text, and refused ones. */
ul_pickle_op ul_pickle_op_int, ul_pickle_op_long, ul_pickle_op_float, ul_pickle_op_string,
    ul_pickle_op_unicode, ul_pickle_op_get, ul_pickle_op_put;
/* pickle_refused.c */
ul_pickle_op ul_pickle_refuse, ul_pickle_refuse_global, ul_pickle_refuse_stack_global,
    ul_pickle_refuse_persid;

#endif
