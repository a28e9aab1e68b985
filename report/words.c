/* SPDX-License-Identifier: MIT */
#include "report/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ullage/report.h"

const char *ul_word_bytes(char buffer[UL_WORD], uint64_t bytes, int exact) {
  if (exact)
    snprintf(buffer, UL_WORD, "%" PRIu64 " bytes", bytes);
  else
    ul_format_bytes(buffer, UL_WORD, bytes, 0);
  return buffer;
}

const char *ul_word_change(char buffer[UL_WORD], uint64_t from, uint64_t to, int exact) {
  char size[UL_WORD];

  if (from == to)
    snprintf(buffer, UL_WORD, "unchanged");
  else
    snprintf(buffer, UL_WORD, "%c%.40s", to > from ? '+' : '-',
             ul_word_bytes(size, to > from ? to - from : from - to, exact));
  return buffer;
}

const char *ul_word_share(char buffer[UL_WORD], uint64_t part, uint64_t whole) {
  double share = whole ? 100.0 * (double)part / (double)whole : 0.0;

  if (!part || !whole)
    snprintf(buffer, UL_WORD, "0 %%");
  else if (part == whole)
    snprintf(buffer, UL_WORD, "100 %%");
  else if (share < 0.1)
    snprintf(buffer, UL_WORD, "<0.1 %%");
  else if (share > 99.9 && part < whole) /* never a full hundred that is not one */
    snprintf(buffer, UL_WORD, ">99.9 %%");
  else
    snprintf(buffer, UL_WORD, "%.1f %%", share);
  return buffer;
}

const char *ul_word_duration(char buffer[UL_WORD], uint64_t ns) {
  double seconds = (double)ns / 1e9;
  uint64_t minutes = ns / UINT64_C(60000000000);

  if (seconds < 0.001)
    snprintf(buffer, UL_WORD, "%.0f us", seconds * 1e6);
  else if (seconds < 1)
    snprintf(buffer, UL_WORD, "%.1f ms", seconds * 1e3);
  else if (minutes < 5)
    snprintf(buffer, UL_WORD, "%.3f s", seconds);
  else
    snprintf(buffer, UL_WORD, "%" PRIu64 " h %02" PRIu64 " min", minutes / 60, minutes % 60);
  return buffer;
}

const char *ul_word_release(char buffer[UL_WORD], unsigned release) {
  snprintf(buffer, UL_WORD, "%u.%u", release / 100, release % 100);
  return buffer;
}

const char *ul_word_count(char buffer[UL_WORD], uint64_t count, const char *one, const char *many) {
  snprintf(buffer, UL_WORD, "%" PRIu64 " %.24s", count, count == 1 ? one : many);
  return buffer;
}
