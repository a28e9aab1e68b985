/* SPDX-License-Identifier: MIT */
/* Threads with handles of their own are independent, and an open source may be read by several.
 * Says nothing and returns 0 if every thread gets what one alone gets; built with ThreadSanitizer
 * it also shows that nothing is shared. */
#include <pthread.h>
#include <stdio.h>

#include "ullage/ullage.h"

enum { THREADS = 4 };

typedef struct job {
  const char *path;
  const ul_source *shared; /* NULL: open path */
  uint64_t exact, peak_bytes, peak_event;
  ul_error err;
} job;

static void *work(void *arg) {
  job *mine = arg;
  ul_source *own = NULL;
  ul_replay *replay = NULL;
  const ul_device_result *result;

  if (!mine->shared && ul_source_open(&own, mine->path, NULL, &mine->err) != UL_OK)
    return NULL;
  if (ul_replay_run(&replay, own ? own : mine->shared, NULL, &mine->err) == UL_OK) {
    result = ul_replay_main_device(replay);
    mine->exact = result->proof.exact;
    mine->peak_bytes = result->peak.reserved_bytes;
    mine->peak_event = result->peak.event;
  }
  ul_replay_free(replay);
  ul_source_close(own);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  job jobs[THREADS] = {0}, alone = {0};
  ul_source *source;
  ul_error err;
  int failed = 0;

  if (argc != 2)
    return 2;
  alone.path = argv[1];
  work(&alone);
  if (ul_source_open(&source, argv[1], NULL, &err) != UL_OK || !alone.exact) {
    fprintf(stderr, "%s\n", alone.exact ? err.message : alone.err.message);
    return 1;
  }
  for (int i = 0; i < THREADS; i++) {
    jobs[i].path = argv[1];
    jobs[i].shared = i % 2 ? source : NULL;
    if (pthread_create(&threads[i], NULL, work, &jobs[i]))
      return 1;
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    if (jobs[i].exact != alone.exact || jobs[i].peak_bytes != alone.peak_bytes ||
        jobs[i].peak_event != alone.peak_event) {
      fprintf(stderr, "thread %d differs: %s\n", i, jobs[i].err.message);
      failed = 1;
    }
  }
  ul_source_close(source);
  return failed;
}
