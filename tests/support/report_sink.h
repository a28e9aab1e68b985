/* SPDX-License-Identifier: MIT */
/* A sink that keeps what a report writes, and can refuse. */
#ifndef UL_TESTS_SUPPORT_REPORT_SINK_H
#define UL_TESTS_SUPPORT_REPORT_SINK_H

#include <stddef.h>
#include <string.h>

typedef struct report_sink {
  char text[1 << 20];
  size_t used;
  int refuse;
} report_sink;

static inline int report_sink_write(const void *bytes, size_t size, void *arg) {
  report_sink *sink = arg;

  if (sink->refuse || size >= sizeof(sink->text) - sink->used)
    return 1;
  memcpy(sink->text + sink->used, bytes, size);
  sink->used += size;
  sink->text[sink->used] = '\0';
  return 0;
}

/* Line n of the text, from 0, in a static buffer. */
static inline char *report_sink_line(const report_sink *sink, size_t n) {
  static char line[4096];
  const char *at = sink->text;
  size_t size;

  while (n-- > 0 && (at = strchr(at, '\n')) != NULL)
    at++;
  if (!at)
    return strcpy(line, "(no such line)");
  size = strcspn(at, "\n");
  if (size >= sizeof(line))
    size = sizeof(line) - 1;
  memcpy(line, at, size);
  line[size] = '\0';
  return line;
}

#endif
