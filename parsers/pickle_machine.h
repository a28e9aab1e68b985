/* SPDX-License-Identifier: MIT */
/* Shared by the files of the pickle reader: the state of the machine and how its opcodes ask for
 * more bytes and fail. */
#ifndef UL_PARSERS_PICKLE_MACHINE_H
#define UL_PARSERS_PICKLE_MACHINE_H

#include "parsers/bytes_in.h"
#include "parsers/value_heap.h"

/* Entries of the memo are numbered from 0 up, one per value: a number far beyond the bytes read is
 * a trap. */
enum { UL_PICKLE_MEMO_SLACK = 1024 };

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

/* Ends an opcode that used the heap. */
static inline const uint8_t *ul_pickle_then(ul_pickle *p, ul_status status, const uint8_t *next) {
  return status == UL_OK ? next : ul_pickle_failed(p, status);
}

/* Little-endian whatever the machine; compilers make one load of each. */
static inline uint32_t ul_le16(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static inline uint32_t ul_le32(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t ul_le64(const uint8_t *at) {
  return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
         (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
         (uint64_t)at[7] << 56;
}

/* pickle_runs.c: as much as goes without a call for each opcode. Returns what follows, NULL on
 * failure. */
const uint8_t *ul_pickle_run(ul_pickle *p, const uint8_t *at);

/* pickle_values.c */
ul_pickle_op ul_pickle_op_none, ul_pickle_op_true, ul_pickle_op_false, ul_pickle_op_binint1,
    ul_pickle_op_binint2, ul_pickle_op_binint, ul_pickle_op_long1, ul_pickle_op_long4,
    ul_pickle_op_binfloat, ul_pickle_op_text1, ul_pickle_op_text4, ul_pickle_op_text8,
    ul_pickle_op_bytes1, ul_pickle_op_bytes4, ul_pickle_op_bytes8;
/* pickle_containers.c */
ul_pickle_op ul_pickle_op_mark, ul_pickle_op_pop, ul_pickle_op_pop_mark, ul_pickle_op_dup,
    ul_pickle_op_empty_dict, ul_pickle_op_empty_list, ul_pickle_op_empty_tuple,
    ul_pickle_op_empty_set, ul_pickle_op_tuple1, ul_pickle_op_tuple2, ul_pickle_op_tuple3,
    ul_pickle_op_tuple, ul_pickle_op_list, ul_pickle_op_dict, ul_pickle_op_frozenset,
    ul_pickle_op_append, ul_pickle_op_appends, ul_pickle_op_setitem, ul_pickle_op_setitems,
    ul_pickle_op_memoize, ul_pickle_op_binput, ul_pickle_op_long_binput, ul_pickle_op_binget,
    ul_pickle_op_long_binget;
/* pickle_text.c */
ul_pickle_op ul_pickle_op_int, ul_pickle_op_long, ul_pickle_op_float, ul_pickle_op_string,
    ul_pickle_op_unicode, ul_pickle_op_get, ul_pickle_op_put;
/* pickle_refused.c */
ul_pickle_op ul_pickle_refuse, ul_pickle_refuse_global, ul_pickle_refuse_stack_global,
    ul_pickle_refuse_persid;

#endif
