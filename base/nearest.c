/* SPDX-License-Identifier: MIT */
#include "ullage/nearest.h"

#include <string.h>

enum { LONGEST = 63 };

/* Levenshtein distance, one row at a time. */
static size_t distance(const char *a, const char *b) {
  size_t row[LONGEST + 1], i, j, width = strlen(b);

  for (j = 0; j <= width; j++)
    row[j] = j;
  for (i = 1; a[i - 1]; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (j = 1; j <= width; j++) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      size_t best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
      diagonal = row[j];
      row[j] = change < best ? change : best;
    }
  }
  return row[width];
}

const char *ul_nearest(const char *word, const char *(*next)(size_t *index, void *arg), void *arg) {
  const char *found = NULL, *candidate;
  size_t index = 0, limit = strlen(word) / 3 + 1, least = limit + 1;

  if (!*word || strlen(word) > LONGEST)
    return NULL;
  while ((candidate = next(&index, arg)) != NULL) {
    size_t edits = strlen(candidate) > LONGEST ? LONGEST : distance(word, candidate);
    if (edits < least) {
      least = edits;
      found = candidate;
    }
  }
  return found;
}
