/* SPDX-License-Identifier: MIT */
/* Text of unknown origin on its way to a terminal or a document. */
#ifndef UL_BASE_UTF8_H
#define UL_BASE_UTF8_H

#include <stddef.h>

/* Length of the well-formed UTF-8 sequence at a NUL-terminated text, or 0 (Unicode 15, table 3-7:
 * no overlong forms, no surrogates, nothing above U+10FFFF). */
size_t ul_utf8_length(const unsigned char *at);

/* The same, but 0 also for what controls a terminal or turns the direction of text: C0, DEL, C1,
 * bidirectional marks. */
size_t ul_utf8_printable(const unsigned char *at);

#endif
