/* SPDX-License-Identifier: MIT */
/* A recording's reserved and allocated bytes as a picture of characters. Minima and maxima of every
 * column are kept, so no peak is lost however long the recording. */
#ifndef UL_REPORT_CURVE_TEXT_H
#define UL_REPORT_CURVE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/replay.h"

#include "report/text.h"

/* What one column shows. */
typedef struct ul_curve_column {
  uint64_t reserved_max, allocated_min, allocated_max;
} ul_curve_column;

/* Spreads the points over `width` columns: several share one, or one is repeated. */
void ul_curve_columns(const ul_curve_point *points, size_t count, ul_curve_column *columns,
                      size_t width);

/* The column that shows event number `event`; 0 if no point holds it. */
size_t ul_curve_column_of(const ul_curve_point *points, size_t count, uint64_t event, size_t width);

/* Draws `rows` lines, the axis below them and its labels. entries: of the recording. */
void ul_curve_draw(ul_text *text, const ul_curve_point *points, size_t count, uint64_t entries,
                   uint64_t peak_event, unsigned rows);

#endif
