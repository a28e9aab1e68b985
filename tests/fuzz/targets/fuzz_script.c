/* SPDX-License-Identifier: MIT */
/* Any bytes are a script, or are refused with one sentence. What is a script is answered by the
 * model and by its slow twin, both checking every invariant after each event, in the same words;
 * and as a document. A first line "# torch RELEASE" chooses the release. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ullage/ullage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Longer scripts teach nothing new, and the twin's time grows with the square. */
enum { MOST_BYTES = 8192, MOST_ANSWER = 1 << 20, RELEASE_BYTES = 16 };

typedef struct answer {
  char text[MOST_ANSWER + 1];
  size_t used;
  ul_status status;
  ul_script_result result;
  ul_error err;
} answer;

static int take(const void *bytes, size_t size, void *arg) {
  answer *a = arg;

  if (size > MOST_ANSWER - a->used)
    return 1;
  memcpy(a->text + a->used, bytes, size);
  a->used += size;
  a->text[a->used] = '\0';
  return 0;
}

static void run(answer *a, const uint8_t *data, size_t size, const char *torch, const char *backend,
                int json) {
  ul_script_options o = {.size = sizeof(o), .checked = 1, .write = take, .write_arg = a};

  memset(a, 0, sizeof(*a));
  a->result.size = sizeof(a->result);
  o.name = "fuzz";
  o.torch = torch;
  o.backend = backend;
  o.json = json;
  a->status = ul_script_run(data, size, &o, &a->result, &a->err);
  if (a->status == UL_E_STATE || a->status == UL_E_INVALID || (a->status && !a->err.message[0])) {
    fprintf(stderr, "%s on %s: %s\n", backend, torch, a->err.message);
    abort();
  }
}

/* The fast model does not have every rule of its twin yet. Once it has, this is 1 for good. */
enum { NATIVE_IS_COMPLETE = 0 };

/* Words of a model that has a part of the rules only. */
static int is_incomplete(const answer *a) {
  return a->status == UL_E_UNSUPPORTED || strstr(a->text, "that this model does not know");
}

static void compare(const answer *a, const answer *b, const char *torch) {
  size_t i, line = 0;

  if (a->status == b->status && strcmp(a->text, b->text) == 0 &&
      memcmp(&a->result, &b->result, offsetof(ul_script_result, broken_reason)) == 0)
    return;
  for (i = 0; a->text[i] && a->text[i] == b->text[i]; i++)
    line = a->text[i] == '\n' ? i + 1 : line;
  fprintf(stderr, "on %s native and naive differ: %d %s\n%.400s\n--- %d %s\n%.400s\n", torch,
          (int)a->status, a->err.message, a->text + line, (int)b->status, b->err.message,
          b->text + line);
  abort();
}

static void read_release(char *torch, const uint8_t *data, size_t size) {
  static const char head[] = "# torch ";
  const size_t skip = sizeof(head) - 1;
  size_t n = 0;

  strcpy(torch, "2.9");
  if (size < skip || memcmp(data, head, skip) != 0)
    return;
  while (n < RELEASE_BYTES - 1 && skip + n < size && data[skip + n] > ' ' && data[skip + n] < 127)
    n++;
  memcpy(torch, data + skip, n);
  torch[n] = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static answer native, naive;
  char torch[RELEASE_BYTES];

  if (size > MOST_BYTES)
    return 0;
  read_release(torch, data, size);
  run(&native, data, size, torch, "native", 0);
  run(&naive, data, size, torch, "naive", 0);
  if (NATIVE_IS_COMPLETE && !is_incomplete(&native) && !is_incomplete(&naive))
    compare(&native, &naive, torch);
  run(&native, data, size, torch, "native", 1);
  return 0;
}
