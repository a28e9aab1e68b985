/* SPDX-License-Identifier: MIT */
/* A data-only pickle machine, protocols 0 to 5. It builds lists, dicts, tuples, strings and
 * numbers on a value heap; every opcode that would import, call or restore an object is refused by
 * name, with what it would have reached. Nothing after STOP is looked at. */
#ifndef UL_PARSERS_PICKLE_READER_H
#define UL_PARSERS_PICKLE_READER_H

#include "parsers/bytes_in.h"
#include "parsers/value_heap.h"

/* Reads one pickle from bytes, which then stands just behind STOP. *result lives in the heap, whose
 * schema hooks were called on the way. *protocol is what PROTO said, 0 without one. Errors carry
 * the offset of the opcode. */
ul_status ul_pickle_read(ul_bytes *bytes, ul_heap *heap, ul_value *result, unsigned *protocol,
                         ul_error *err) UL_MUST_USE;

/* Could these first bytes begin a pickle? JSON never does: it has no `]`, `}` or `(` in front. */
int ul_pickle_sniff(const uint8_t *bytes, size_t size);

#endif
