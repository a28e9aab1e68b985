/* SPDX-License-Identifier: MIT */
/* Answers as lines: a letter, the number of the event, and columns (docs/script.md). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "script/answer.h"
#include "script/form.h"

#define UNIT_BYTES (UINT64_C(2) << 20)

enum { BUFFER_BYTES = 64 * 1024, LONGEST_LINE = 2048, MESSAGE_BYTES = 900, STATS = 256 };

typedef struct printer {
  ul_write *write;
  void *write_arg;
  unsigned sections;
  int failed;
  size_t used;
  char buffer[BUFFER_BYTES];
} printer;

static void flush(printer *p) {
  if (p->used && !p->failed && p->write && p->write(p->buffer, p->used, p->write_arg) != 0)
    p->failed = 1;
  p->used = 0;
}

static void put(printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(printer *p, const char *format, ...) {
  va_list args;
  int size;

  if (BUFFER_BYTES - p->used < LONGEST_LINE)
    flush(p);
  va_start(args, format);
  size = vsnprintf(p->buffer + p->used, BUFFER_BYTES - p->used, format, args);
  va_end(args);
  if (size > 0)
    p->used += (size_t)size < BUFFER_BYTES - p->used ? (size_t)size : BUFFER_BYTES - p->used - 1;
}

static int wants(const printer *p, unsigned section) {
  return (p->sections & section) != 0;
}

/* ---- place, message ---- */

static void print_calls(printer *p, const ul_answer *a) {
  static const char letters[] = {
      [UL_DRIVER_SEGMENT_ALLOC] = 'M', [UL_DRIVER_SEGMENT_FREE] = 'F',
      [UL_DRIVER_SEGMENT_MAP] = 'P',   [UL_DRIVER_SEGMENT_UNMAP] = 'U',
      [UL_DRIVER_RANGE_RESERVE] = 'V', [UL_DRIVER_RANGE_RELEASE] = 'W',
      [UL_DRIVER_ALLOC_REFUSED] = 'm', [UL_DRIVER_MAP_REFUSED] = 'p',
  };
  const uint64_t away = ((uint64_t)a->device - a->seen_from) * UL_SCRIPT_STRIDE; /* may wrap */
  uint32_t i, next;

  for (i = 0; i < a->call_count; i = next) {
    const ul_driver_call *c = &a->calls[i];
    const char letter = c->kind < sizeof(letters) ? letters[c->kind] : '?';
    uint64_t bytes = c->bytes;
    for (next = i + 1; next < a->call_count && ul_answer_joins(c, bytes, &a->calls[next]); next++)
      bytes += a->calls[next].bytes;
    if (letter == 'F') /* asked for any size, the driver gives and takes whole units */
      bytes = (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
    if (letter == 'm' || letter == 'p')
      put(p, "D %" PRIu64 " %c - %" PRIu64 "\n", a->event, letter, bytes);
    else
      put(p, "D %" PRIu64 " %c %" PRIx64 " %" PRIu64 "\n", a->event, letter, c->address + away,
          bytes);
  }
}

static void print_observed(printer *p, const ul_answer *a) {
  if (a->observed && ul_script_has(a->release, UL_SCRIPT_FORM_HISTORY))
    put(p, "Q %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", a->event, a->segment_bytes,
        a->limit_bytes, a->free_bytes);
}

static void print_result(printer *p, const ul_answer *a) {
  const uint64_t n = a->event;

  switch (a->result) {
  case UL_ANSWER_DONE:
    break;
  case UL_ANSWER_SERVED:
    put(p, "A %" PRIu64 " %" PRIu64 " %" PRIx64 " %" PRIu64 "\n", n, a->command->id, a->address,
        a->bytes);
    break;
  case UL_ANSWER_EMPTY:
    if (a->command->kind == UL_SCRIPT_ALLOC_AT) /* shown as an offset, which it is not */
      put(p, "A %" PRIu64 " %" PRIu64 " %" PRIx64 " 0\n", n, a->command->id,
          0 - UL_SCRIPT_BASE - a->device * UL_SCRIPT_STRIDE);
    else
      put(p, "A %" PRIu64 " %" PRIu64 " null 0\n", n, a->command->id);
    break;
  case UL_ANSWER_OOM:
    put(p, "O %" PRIu64 " %" PRIu64 "\n", n, a->command->id);
    break;
  case UL_ANSWER_ERROR:
    put(p, "X %" PRIu64 " error\n", n);
    break;
  case UL_ANSWER_MISSING:
    put(p, "X %" PRIu64 " %s\n", n, a->message);
    break;
  case UL_ANSWER_BROKEN:
    put(p, "X %" PRIu64 " broken %s\n", n, a->message);
    break;
  }
}

/* On one line and cut, as the recorded answers have it. */
static void print_message(printer *p, const ul_answer *a) {
  char text[MESSAGE_BYTES + 1], *at;

  if (!a->message || (a->result != UL_ANSWER_OOM && a->result != UL_ANSWER_ERROR))
    return;
  snprintf(text, sizeof(text), "%s", a->message);
  for (at = text; (at = strchr(at, '\n')) != NULL;)
    *at = '|';
  put(p, "M %" PRIu64 " %s\n", a->event, text);
}

/* ---- stats ---- */

/* The values of one statistic, by PyTorch's names: "allocation.all.current" ... */
static void print_stat(printer *p, uint64_t event, const char *name, const ul_stat *stats,
                       size_t count) {
  const size_t size = strlen(name);
  size_t i;

  put(p, "S %" PRIu64 " %s", event, name);
  for (i = 0; i < count; i++) {
    if (strncmp(stats[i].name, name, size) == 0 && stats[i].name[size] == '.')
      put(p, " %" PRId64, (int64_t)stats[i].value);
  }
  put(p, "\n");
}

static int64_t counter(const char *name, const ul_stat *stats, size_t count, int64_t otherwise) {
  size_t i;

  for (i = 0; i < count; i++) {
    if (strcmp(stats[i].name, name) == 0)
      return (int64_t)stats[i].value;
  }
  return otherwise;
}

static void print_stats(printer *p, const ul_answer *a, const ul_stat *stats, size_t count) {
  static const char *const names[] = {
      "allocation",
      "segment",
      "active",
      "inactive_split",
      "allocated_bytes",
      "reserved_bytes",
      "active_bytes",
      "inactive_split_bytes",
      "requested_bytes",
      "oversize_allocations",
      "oversize_segments",
  };
  size_t i;

  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (strcmp(names[i], "requested_bytes") != 0 ||
        ul_script_has(a->release, UL_SCRIPT_FORM_REQUESTED_BYTES))
      print_stat(p, a->event, names[i], stats, count);
  }
  put(p,
      "C %" PRIu64 " num_alloc_retries %" PRId64 " num_ooms %" PRId64 " max_split_size %" PRId64
      "\n",
      a->event, counter("num_alloc_retries", stats, count, 0), counter("num_ooms", stats, count, 0),
      counter("max_split_size", stats, count, -1));
  if (ul_script_has(a->release, UL_SCRIPT_FORM_DEVICE_COUNTERS))
    put(p,
        "C %" PRIu64 " num_sync_all_streams %" PRId64 " num_device_alloc %" PRId64
        " num_device_free %" PRId64 "\n",
        a->event, counter("num_sync_all_streams", stats, count, 0),
        counter("num_device_alloc", stats, count, 0), counter("num_device_free", stats, count, 0));
}

static void print_newstats(printer *p, const ul_answer *a, const ul_stat *stats, size_t count) {
  uint64_t values[12];
  uint32_t pool;
  size_t i, v;

  if (ul_script_has(a->release, UL_SCRIPT_FORM_OOM_REJECTIONS))
    put(p, "N %" PRIu64 " num_oom_rejections %" PRId64 "\n", a->event,
        counter("num_oom_rejections", stats, count, 0));
  if (!ul_script_has(a->release, UL_SCRIPT_FORM_POOL_RESERVED))
    return;
  for (i = 0; ul_model_pool_reserved(a->model, i, &pool, values); i++) {
    put(p, "N %" PRIu64 " reserved_bytes_by_private_pools (0,%" PRIu32 ")", a->event, pool);
    for (v = 0; v < 12; v++)
      put(p, " %" PRId64, (int64_t)values[v]);
    put(p, "\n");
  }
}

/* ---- snap ---- */

static void print_segment(printer *p, const ul_answer *a, const ul_segment *s) {
  const ul_block *blocks = a->state->blocks + s->first_block;
  const int has_requested = ul_script_has(a->release, UL_SCRIPT_FORM_REQUESTED_BYTES);
  uint64_t allocated = 0, active = 0, requested = 0;
  uint32_t i;

  for (i = 0; i < s->block_count; i++) {
    allocated += blocks[i].state == UL_BLOCK_ACTIVE_ALLOCATED ? blocks[i].bytes : 0;
    active += blocks[i].state != UL_BLOCK_INACTIVE ? blocks[i].bytes : 0;
    requested += blocks[i].state != UL_BLOCK_INACTIVE ? blocks[i].requested_bytes : 0;
  }
  put(p, "G %" PRIu64 " %" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ", a->event, s->address,
      s->bytes, allocated, active);
  if (has_requested)
    put(p, "%" PRIu64 " ", requested);
  else
    put(p, "- ");
  put(p, "%" PRIu32 " %s ", s->stream, s->is_small ? "small" : "large");
  if (ul_script_has(a->release, UL_SCRIPT_FORM_SEGMENT_POOLS))
    put(p, "0,%" PRIu32 " %d\n", s->pool, s->is_expandable);
  else
    put(p, "- -\n");
  if (ul_script_has(a->release, UL_SCRIPT_FORM_REGISTRATION))
    put(p, "Y %" PRIu64 " %" PRIx64 " %" PRIu32 "\n", a->event, s->address, s->registration);
}

static void print_block(printer *p, const ul_answer *a, const ul_block *b) {
  static const char *const states[] = {
      [UL_BLOCK_INACTIVE] = "inactive",
      [UL_BLOCK_ACTIVE_ALLOCATED] = "active_allocated",
      [UL_BLOCK_ACTIVE_PENDING_FREE] = "active_pending_free",
  };

  put(p, "B %" PRIu64 " %" PRIx64 " %" PRIu64 " ", a->event, b->address, b->bytes);
  if (ul_script_has(a->release, UL_SCRIPT_FORM_REQUESTED_BYTES))
    put(p, "%" PRIu64 " ", b->requested_bytes);
  else
    put(p, "- ");
  put(p, "%s %" PRIu32 "\n", states[b->state], b->gc_age);
}

static void print_state(printer *p, const ul_answer *a) {
  uint32_t i, j;

  for (i = 0; i < a->state->segment_count; i++) {
    const ul_segment *s = &a->state->segments[i];
    print_segment(p, a, s);
    for (j = 0; j < s->block_count; j++)
      print_block(p, a, &a->state->blocks[s->first_block + j]);
  }
}

/* ---- trace ---- */

static void print_history(printer *p, const ul_answer *a) {
  size_t i;

  for (i = 0; i < a->history_count; i++) {
    const ul_history_entry *e = &a->history[i];
    const char *name = ul_action_name((ul_action)e->action);
    if (e->action == UL_ACTION_OOM || e->action == UL_ACTION_SNAPSHOT)
      put(p, "T %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %" PRIu32 "\n", a->event, name, e->address,
          e->bytes, e->stream);
    else
      put(p, "T %" PRIu64 " %s %" PRIx64 " %" PRIu64 " %" PRIu32 "\n", a->event, name, e->address,
          e->bytes, e->stream);
  }
}

/* ---- the table ---- */

static ul_status text_create(void **state, const ul_script_options *options, ul_error *err) {
  printer *p = malloc(sizeof(*p));

  if (!p)
    return ul_fail_nomem(err, "the answers of the script");
  p->write = options->write;
  p->write_arg = options->write_arg;
  p->sections = options->sections;
  p->failed = 0;
  p->used = 0;
  *state = p;
  return UL_OK;
}

static void text_answer(void *state, const ul_answer *a) {
  printer *p = state;
  ul_stat stats[STATS];
  size_t count;

  if (wants(p, UL_SCRIPT_PLACE))
    print_calls(p, a);
  if (wants(p, UL_SCRIPT_TRACE))
    print_observed(p, a);
  if (wants(p, UL_SCRIPT_PLACE))
    print_result(p, a);
  if (wants(p, UL_SCRIPT_MESSAGE))
    print_message(p, a);
  if (a->shows_stats) {
    count = ul_model_stats(a->model, stats, STATS);
    count = count > STATS ? STATS : count;
    if (wants(p, UL_SCRIPT_STATS))
      print_stats(p, a, stats, count);
    if (wants(p, UL_SCRIPT_NEWSTATS))
      print_newstats(p, a, stats, count);
  }
  if (a->state && wants(p, UL_SCRIPT_SNAP))
    print_state(p, a);
  if (a->history && wants(p, UL_SCRIPT_TRACE))
    print_history(p, a);
  if (a->shows_used && wants(p, UL_SCRIPT_PLACE))
    put(p, "U %" PRIu64 " %" PRIu64 "\n", a->event, a->used_bytes);
}

static int text_failed(const void *state) {
  return ((const printer *)state)->failed;
}

static ul_status text_finish(void *state, const ul_script_result *result, int complete,
                             ul_error *err) {
  printer *p = state;

  (void)result, (void)complete;
  flush(p);
  return p->failed ? ul_fail(err, UL_E_OUTPUT, 0, "the answers could not be written") : UL_OK;
}

static void text_destroy(void *state) {
  free(state);
}

const ul_printer_ops ul_printer_text = {
    .create = text_create,
    .answer = text_answer,
    .failed = text_failed,
    .finish = text_finish,
    .destroy = text_destroy,
};
