/* SPDX-License-Identifier: MIT */
#include "report/curve_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/words.h"

enum { LABEL = 12, MOST_COLUMNS = 160, LEAST_COLUMNS = 20 };

/* Unicode and ASCII. */
static const struct {
  const char *allocated, *between, *reserved, *side, *corner, *line, *mark;
} glyphs[] = {
    {"#", "+", ".", "|", "+", "-", "^"},
    {"\u2588", "\u2593", "\u2591", "\u2502", "\u2514", "\u2500", "\u25B2"},
};

void ul_curve_columns(const ul_curve_point *points, size_t count, ul_curve_column *columns,
                      size_t width) {
  size_t c, i;

  for (c = 0; c < width; c++) {
    /* From the point at the column's left edge to the one before the next column's. */
    size_t from = c * count / width, to = (c + 1) * count / width;
    ul_curve_column column = {0, UINT64_MAX, 0};
    if (to <= from)
      to = from + 1;
    for (i = from; i < to && i < count; i++) {
      const ul_curve_point *p = &points[i];
      if (p->reserved_max > column.reserved_max)
        column.reserved_max = p->reserved_max;
      if (p->allocated_min < column.allocated_min)
        column.allocated_min = p->allocated_min;
      if (p->allocated_max > column.allocated_max)
        column.allocated_max = p->allocated_max;
    }
    columns[c] = column;
  }
}

size_t ul_curve_column_of(const ul_curve_point *points, size_t count, uint64_t event,
                          size_t width) {
  size_t i, column = 0;

  for (i = 0; i < count && points[i].first_event <= event; i++)
    ;
  if (i == 0)
    return 0;
  i--;
  column = i * width / count;
  /* The first column whose points begin at or before i and end after it. */
  while (column + 1 < width && (column + 1) * count / width <= i)
    column++;
  return column;
}

/* Lines that a value reaches: all that it touches for tops that must be seen, or the nearest. */
static unsigned reaches(uint64_t value, uint64_t top, unsigned rows, int touch) {
  double height = top ? (double)value * rows / (double)top : 0;
  unsigned whole = (unsigned)height;

  if (whole >= rows)
    return rows;
  return whole + (touch ? height > whole : height - whole >= 0.5);
}

static const char *glyph_at(const ul_curve_column *column, uint64_t top, unsigned rows,
                            unsigned row, int unicode) {
  if (row < reaches(column->allocated_min, top, rows, 0))
    return glyphs[unicode].allocated;
  if (row < reaches(column->allocated_max, top, rows, 0))
    return glyphs[unicode].between;
  if (row < reaches(column->reserved_max, top, rows, 1))
    return glyphs[unicode].reserved;
  return " ";
}

static void draw_rows(ul_text *text, const ul_curve_column *columns, size_t width, uint64_t top,
                      unsigned rows) {
  int unicode = text->options.unicode != 0;
  unsigned row;
  size_t c;

  for (row = rows; row-- > 0;) {
    char label[UL_WORD] = "";
    size_t last = width;
    if (row == rows - 1)
      ul_format_bytes(label, sizeof(label), top, 0);
    else if (row + 1 == rows / 2) /* labels name the upper edge of their line */
      ul_format_bytes(label, sizeof(label), top / 2, 0);
    ul_text_printf(text, "%*s ", LABEL - 1, label);
    ul_text_put(text, glyphs[unicode].side);
    while (last > 0 && strcmp(glyph_at(&columns[last - 1], top, rows, row, unicode), " ") == 0)
      last--; /* no spaces at the end of lines */
    for (c = 0; c < last; c++)
      ul_text_put(text, glyph_at(&columns[c], top, rows, row, unicode));
    ul_text_put(text, "\n");
  }
}

static void draw_axis(ul_text *text, size_t width, size_t peak_column, uint64_t first,
                      uint64_t last, uint64_t entries, uint64_t peak_event) {
  int unicode = text->options.unicode != 0;
  char peak[UL_WORD], end[UL_WORD];
  size_t c, peak_at, end_at;

  ul_text_printf(text, "%*s ", LABEL - 1, "0");
  ul_text_put(text, glyphs[unicode].corner);
  for (c = 0; c < width; c++)
    ul_text_put(text, c == peak_column ? glyphs[unicode].mark : glyphs[unicode].line);
  snprintf(peak, sizeof(peak), "peak %" PRIu64, peak_event);
  if (first)
    snprintf(end, sizeof(end), "%" PRIu64 " to %" PRIu64, first, last);
  else
    snprintf(end, sizeof(end), "%" PRIu64 " events", entries);
  end_at = width > strlen(end) ? width - strlen(end) : 0;
  /* The peak's label stands under its mark; the end's gives way if they would meet. */
  peak_at = peak_column > strlen(peak) / 2 ? peak_column - strlen(peak) / 2 : 0;
  if (peak_at + strlen(peak) > width)
    peak_at = width - strlen(peak);
  ul_text_printf(text, "\n%*s%*s%s", LABEL + 1, "", (int)peak_at, "", peak);
  if (peak_at + strlen(peak) + 2 <= end_at)
    ul_text_printf(text, "%*s%s", (int)(end_at - peak_at - strlen(peak)), "", end);
  ul_text_put(text, "\n");
}

void ul_curve_draw(ul_text *text, const ul_curve_point *points, size_t count, uint64_t entries,
                   uint64_t peak_event, unsigned rows) {
  ul_curve_column columns[MOST_COLUMNS];
  size_t width = text->options.columns - LABEL - 2, c;
  uint64_t top = 0;

  if (!count)
    return;
  if (width > MOST_COLUMNS)
    width = MOST_COLUMNS;
  if (width < LEAST_COLUMNS)
    width = LEAST_COLUMNS;
  ul_curve_columns(points, count, columns, width);
  for (c = 0; c < width; c++)
    top = columns[c].reserved_max > top ? columns[c].reserved_max : top;
  draw_rows(text, columns, width, top, rows);
  draw_axis(text, width, ul_curve_column_of(points, count, peak_event, width),
            points[0].first_event, points[count - 1].last_event, entries, peak_event);
}
