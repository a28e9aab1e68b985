/* SPDX-License-Identifier: MIT */
#include "cli/moment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  double ns;
} time_units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};

/* First event at or after a time; the last one before it for the end of a window. */
static int by_time(uint64_t *event, const ul_recording *r, double since_ns, int want_end, char *why,
                   size_t size) {
  uint64_t low = 0, high = r->count, middle;

  if (!r->first_time_ns) {
    snprintf(why, size, "the recording has no times");
    return -1;
  }
  while (low < high) { /* times never fall within a recording */
    middle = low + (high - low) / 2;
    if ((double)(r->events[middle].time_ns - r->first_time_ns) < since_ns + (want_end ? 0.5 : 0.0))
      low = middle + 1;
    else
      high = middle;
  }
  if (want_end && !low) {
    snprintf(why, size, "nothing was recorded before it");
    return -1;
  }
  *event = want_end ? low - 1 : low;
  return 0;
}

static int by_mark(uint64_t *event, const ul_source *source, const ul_recording *r,
                   const char *name, int want_end, char *why, size_t size) {
  const ul_source_info *info = ul_source_get_info(source);
  const uint8_t kind = want_end ? UL_MARK_END : UL_MARK_START;
  char step[64];
  size_t i;

  if (strncmp(name, "step:", 5) == 0) {
    snprintf(step, sizeof(step), "ProfilerStep#%s", name + 5);
    name = step;
  }
  for (i = 0; i < info->mark_count; i++) {
    const ul_mark *m = &info->marks[i];
    if (m->device != r->device || m->kind != kind || strcmp(m->name, name) != 0)
      continue;
    /* what happens at the instant of its end is no more in it */
    *event = want_end && m->event ? m->event - 1 : m->event;
    return 0;
  }
  snprintf(why, size, "device %u has no mark '%s' with %s", (unsigned)r->device, name,
           want_end ? "an end" : "a start");
  return -1;
}

int ul_moment_find(uint64_t *event, const ul_source *source, const ul_recording *recording,
                   const char *text, int want_end, char *why, size_t size) {
  char *end;
  double value;
  size_t i;

  if (text[0] == '@')
    return by_mark(event, source, recording, text + 1, want_end, why, size);
  if (strspn(text, "0123456789") == strlen(text) && *text && strlen(text) < 19) {
    *event = strtoull(text, NULL, 10);
    return 0;
  }
  value = strtod(text, &end);
  if (*text < '0' || *text > '9' ||
      !(value < 1e18)) /* no signs, no words, nothing beyond all time */
    value = -1;
  for (i = 0; end != text && value >= 0 && i < sizeof(time_units) / sizeof(time_units[0]); i++) {
    if (strcmp(end, time_units[i].name) == 0)
      return by_time(event, recording, value * time_units[i].ns, want_end, why, size);
  }
  snprintf(why, size, "expected an event number, a time (12.5ms, 3s), @NAME or @step:N");
  return -1;
}
