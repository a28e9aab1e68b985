/* SPDX-License-Identifier: MIT */
/* How a settings string is refused: a sentence for people, and what PyTorch raises, word for word
 * (tables/settings_raises.def). */
#ifndef UL_ALLOCATOR_SETTINGS_REFUSAL_H
#define UL_ALLOCATOR_SETTINGS_REFUSAL_H

#include "allocator/settings_reader.h"

typedef enum ul_mistake {
  UL_MISTAKE_UNKNOWN_KEY,
  UL_MISTAKE_UNKNOWN_CUDA_KEY, /* found while CUDA's own keys were read */
  UL_MISTAKE_NO_COLON,
  UL_MISTAKE_NO_COMMA,
  UL_MISTAKE_NO_VALUE,
  UL_MISTAKE_NO_FLAG,
  UL_MISTAKE_NO_BACKEND,
  UL_MISTAKE_NO_DIVISION,
  UL_MISTAKE_NO_END,     /* of a list, behind a value */
  UL_MISTAKE_NO_BRACKET, /* at the end of a list */
  UL_MISTAKE_NO_LIST,    /* or none that can be read */
  UL_MISTAKE_INTEGER,
  UL_MISTAKE_INTERVAL_INTEGER,
  UL_MISTAKE_DECIMAL,
  UL_MISTAKE_FLAG,
  UL_MISTAKE_SMALL,
  UL_MISTAKE_SMALL_LARGE_SEGMENT,
  UL_MISTAKE_SMALL_PINNED,
  UL_MISTAKE_SMALL_PART,
  UL_MISTAKE_BIG_PART,
  UL_MISTAKE_FRACTION,
  UL_MISTAKE_DIVISION,
  UL_MISTAKE_LISTED_DIVISION,
  UL_MISTAKE_INTERVAL,
  UL_MISTAKE_BACKEND,
  UL_MISTAKE_OTHER_BACKEND,
  UL_MISTAKE_THREADS,
  UL_MISTAKE_MANY_THREADS,
} ul_mistake;

/* UL_E_SETTING with the formatted sentence and what the release raises. word may be NULL where
 * nothing stands; number is what the text names, if it names one. */
ul_status ul_settings_refuse(const ul_settings_reader *r, ul_mistake mistake, const ul_token *word,
                             uint64_t number, ul_error *err, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#endif
