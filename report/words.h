/* SPDX-License-Identifier: MIT */
/* Numbers in words: sizes, shares, durations, releases. Every function fills the caller's buffer
 * and returns it. */
#ifndef UL_REPORT_WORDS_H
#define UL_REPORT_WORDS_H

#include <stdint.h>

#include "ullage/event.h"
#include "ullage/replay.h"
#include "ullage/source.h"

enum { UL_WORD = 48 };

/* "1.50 GiB", or "1610612736 bytes" if exact. */
const char *ul_word_bytes(char buffer[UL_WORD], uint64_t bytes, int exact);

/* "+1.50 GiB", "-512.00 MiB", "unchanged": what `to` has more than `from`. */
const char *ul_word_change(char buffer[UL_WORD], uint64_t from, uint64_t to, int exact);

/* "9.9 %" of whole; "0 %" of nothing; "<0.1 %" rather than a zero that is not one. */
const char *ul_word_share(char buffer[UL_WORD], uint64_t part, uint64_t whole);

/* "3.412 s", "12.0 ms", "2 h 05 min". */
const char *ul_word_duration(char buffer[UL_WORD], uint64_t ns);

/* "2.9" of 209. */
const char *ul_word_release(char buffer[UL_WORD], unsigned release);

/* "1 entry", "2 entries": count and the right one of both words. */
const char *ul_word_count(char buffer[UL_WORD], uint64_t count, const char *one, const char *many);

#endif
