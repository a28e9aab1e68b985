/* SPDX-License-Identifier: MIT */
/* Reads a recording and prints "nanoseconds events peak_bytes": the wall time of opening and
 * closing it, how many events came out, and by how much reading raised the process's largest
 * memory. With
 * --warm it reads twice and times the second, as a peer in a long-lived process is timed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ullage/ullage.h"

static uint64_t now_ns(void) {
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* From /proc: what getrusage says may still be the parent's, from before exec. */
static uint64_t largest_bytes(void) {
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  uint64_t kib = 0;

  while (status && fgets(line, sizeof(line), status))
    if (sscanf(line, "VmHWM: %" SCNu64, &kib) == 1)
      break;
  if (status)
    fclose(status);
  return kib * 1024;
}

/* Nanoseconds of opening and closing path; 0 after saying why it failed. */
static uint64_t read_once(const char *path, uint64_t *events) {
  ul_source *source;
  ul_error err;
  uint64_t start = now_ns();

  if (ul_source_open(&source, path, NULL, &err) != UL_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 0;
  }
  *events = 0;
  for (size_t i = 0; i < ul_source_get_info(source)->device_count; i++)
    *events += ul_source_recording(source, i)->count;
  ul_source_close(source);
  return now_ns() - start;
}

int main(int argc, char **argv) {
  uint64_t before, took, events = 0;
  int warm = argc == 3 && !strcmp(argv[1], "--warm");

  if (argc != 2 + warm) {
    fprintf(stderr, "usage: bench_read [--warm] FILE\n");
    return 2;
  }
  before = largest_bytes();
  took = read_once(argv[1 + warm], &events);
  if (took && warm)
    took = read_once(argv[2], &events);
  if (!took)
    return 1;
  printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", took, events, largest_bytes() - before);
  return 0;
}
