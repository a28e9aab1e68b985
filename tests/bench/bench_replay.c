/* SPDX-License-Identifier: MIT */
/* The bare model over a script of requests.
 *   bench_replay script FILE              prints a recording as such a script (tests/oracle)
 *   bench_replay run REPS TORCH [SETTINGS [BYTES]] < script
 *                                         applies it REPS times and prints
 *                                         "events best_nanoseconds reserved_bytes"
 * What stands before the last line "mark" is set-up and applied once. The rest leaves nothing
 * allocated, so that every repetition meets the same cached memory; the first one, which meets
 * none, is not timed if there are more. Allocations older than a recording are left out of its
 * script, and so are their frees. BYTES is the size of the device, 80 GiB by default. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ullage/ullage.h"

static int fail(const ul_error *err) {
  fprintf(stderr, "bench_replay: %s\n", err->message);
  return 1;
}

static int print_script(const char *path) {
  const ul_recording *recording;
  ul_source *source;
  ul_error err;
  unsigned char *live;

  if (ul_source_open(&source, path, NULL, &err) != UL_OK)
    return fail(&err);
  recording = ul_source_recording(source, 0);
  live = recording ? calloc(recording->handle_count + 1, 1) : NULL;
  for (uint64_t i = 0; live && i < recording->count; i++) {
    const ul_event *event = &recording->events[i];

    if (event->kind == UL_EVENT_ALLOC && !(event->flags & UL_EVENT_OOM)) {
      printf("a %" PRIu64 " %" PRIu64 " %" PRIu32 "\n", event->handle, event->bytes, event->stream);
      live[event->handle] = 1;
    } else if (event->kind == UL_EVENT_FREE && live[event->handle]) {
      printf("f %" PRIu64 "\n", event->handle);
      live[event->handle] = 0;
    }
  }
  for (uint64_t handle = 1; live && handle <= recording->handle_count; handle++)
    if (live[handle])
      printf("f %" PRIu64 "\n", handle);
  free(live);
  ul_source_close(source);
  return 0;
}

/* *mark is the event behind the last mark. */
static size_t read_script(ul_event **out, size_t *mark) {
  static const struct {
    char letter;
    ul_event_kind kind;
  } kinds[] = {{'a', UL_EVENT_ALLOC},
               {'f', UL_EVENT_FREE},
               {'r', UL_EVENT_STREAM_USE},
               {'e', UL_EVENT_EMPTY_CACHE},
               {'s', UL_EVENT_SYNC}};
  size_t count = 0, capacity = 0;
  ul_event *events = NULL;
  char line[128];

  while (fgets(line, sizeof(line), stdin)) {
    unsigned long long numbers[3] = {0, 0, 0};
    ul_event event = {0};

    if (strncmp(line, "mark", 4) == 0) {
      *mark = count;
      continue;
    }
    sscanf(line + 1, "%llu %llu %llu", &numbers[0], &numbers[1], &numbers[2]);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
      if (line[0] == kinds[k].letter)
        event.kind = (uint8_t)kinds[k].kind;
    if (!event.kind)
      continue;
    event.handle = numbers[0] + 1; /* handles begin at 1, ids may begin at 0 */
    if (event.kind == UL_EVENT_ALLOC) {
      event.bytes = numbers[1];
      event.stream = (uint32_t)numbers[2];
    } else if (event.kind == UL_EVENT_STREAM_USE) {
      event.stream = (uint32_t)numbers[1];
    }
    if (count == capacity) {
      capacity = capacity ? 2 * capacity : 4096;
      events = realloc(events, capacity * sizeof(*events));
      if (!events)
        return 0;
    }
    events[count++] = event;
  }
  *out = events;
  return count;
}

static uint64_t now_ns(void) {
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Every event must be served: what is timed is what a program does that fits. */
static int apply(ul_model *model, const ul_event *events, size_t count) {
  static ul_placement placements[4096];
  ul_error err;
  size_t i, n, k;

  for (i = 0; i < count; i += n) {
    n = count - i < 4096 ? count - i : 4096;
    if (ul_model_apply_batch(model, &events[i], n, placements, NULL, &err) != UL_OK)
      return fail(&err);
    for (k = 0; k < n; k++) {
      if (placements[k].result > UL_OUTCOME_SERVED) {
        fprintf(stderr, "bench_replay: event %zu was not served\n", i + k);
        return 1;
      }
    }
  }
  return 0;
}

static int run(int repetitions, const char *torch, const char *settings, uint64_t bytes) {
  ul_model_options options = {0};
  ul_model *model;
  ul_event *events = NULL;
  ul_error err;
  size_t mark = 0, count = read_script(&events, &mark);
  uint64_t best = UINT64_MAX;

  options.size = sizeof(options);
  options.torch = torch;
  options.settings = settings;
  options.device_bytes = bytes;
  options.address_policy = UL_ADDRESS_FIRST_FIT;
  if (ul_model_create(&model, &options, &err) != UL_OK)
    return fail(&err);
  if (apply(model, events, mark))
    return 1;
  for (int r = 0; r < repetitions; r++) {
    uint64_t start = now_ns(), took;

    if (apply(model, events + mark, count - mark))
      return 1;
    took = now_ns() - start;
    if (took < best && (r || repetitions == 1))
      best = took;
  }
  printf("%zu %" PRIu64 " %" PRIu64 "\n", count - mark, best,
         ul_model_totals(model)->reserved_bytes);
  ul_model_destroy(model);
  free(events);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "script"))
    return print_script(argv[2]);
  if (argc >= 4 && argc <= 6 && !strcmp(argv[1], "run"))
    return run(atoi(argv[2]), argv[3], argc > 4 ? argv[4] : NULL,
               argc > 5 ? strtoull(argv[5], NULL, 10) : UINT64_C(80) << 30);
  fprintf(stderr, "usage: bench_replay script FILE | bench_replay run REPS TORCH < script\n");
  return 2;
}
