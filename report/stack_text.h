/* SPDX-License-Identifier: MIT */
/* Stacks as people want to read them: the line of their own code that asked. */
#ifndef UL_REPORT_STACK_TEXT_H
#define UL_REPORT_STACK_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/source.h"

/* Whether a frame is the user's own: a Python line outside PyTorch and Python's own library. */
int ul_frame_is_users(const ul_frame *frame);

/* The innermost frame that is the user's own; failing that the innermost Python line, the node of
 * the backward pass, or the innermost frame that is not the allocator's own way. Returns 0 if the
 * stack has no frames. source may be NULL: no frames. */
int ul_stack_find_user_frame(const ul_source *source, uint32_t stack, ul_frame *out);

/* "model.py:118 forward", no wider than `width`: directories give way first, from the left, then
 * the function's name from the right. Returns buffer. */
const char *ul_frame_describe(const ul_frame *frame, char *buffer, size_t size, size_t width);

#endif
