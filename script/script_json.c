/* SPDX-License-Identifier: MIT */
/* Answers as one JSON document (docs/schema/script.schema.json), written as they come. */
#include <stdlib.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "script/answer.h"
#include "script/form.h"

enum { STATS = 256, VALUES = 12 };

typedef struct printer {
  unsigned sections;
  ul_json json;
} printer;

static int wants(const printer *p, unsigned section) {
  return (p->sections & section) != 0;
}

static int drop(const void *bytes, size_t size, void *arg) {
  (void)bytes, (void)size, (void)arg;
  return 0;
}

static void member_u64(ul_json *j, const char *key, uint64_t value) {
  ul_json_key(j, key);
  ul_json_u64(j, value);
}

static void member_hex(ul_json *j, const char *key, uint64_t value) {
  ul_json_key(j, key);
  ul_json_hex(j, value);
}

static void member_string(ul_json *j, const char *key, const char *value) {
  ul_json_key(j, key);
  ul_json_string(j, value);
}

/* ---- parts of an answer ---- */

static void write_calls(ul_json *j, const ul_answer *a) {
  uint32_t i, next;

  ul_json_key(j, "driver_calls");
  ul_json_begin_array(j);
  for (i = 0; i < a->call_count; i = next) {
    const ul_driver_call *c = &a->calls[i];
    uint64_t bytes = c->bytes;
    for (next = i + 1; next < a->call_count && ul_answer_joins(c, bytes, &a->calls[next]); next++)
      bytes += a->calls[next].bytes;
    ul_json_begin_object(j);
    member_string(j, "call", ul_answer_call_name(c));
    ul_json_key(j, "address");
    if (c->kind == UL_DRIVER_ALLOC_REFUSED || c->kind == UL_DRIVER_MAP_REFUSED)
      ul_json_null(j);
    else
      ul_json_hex(j, c->address);
    member_u64(j, "bytes", bytes);
    ul_json_end_object(j);
  }
  ul_json_end_array(j);
}

static void write_observed(ul_json *j, const ul_answer *a) {
  ul_json_key(j, "observer");
  ul_json_begin_object(j);
  member_u64(j, "segment_bytes", a->segment_bytes);
  member_u64(j, "limit_bytes", a->limit_bytes);
  member_u64(j, "free_bytes", a->free_bytes);
  ul_json_end_object(j);
}

static void write_pools(ul_json *j, const ul_model *model) {
  static const char *const names[VALUES] = {
      "all.current",        "all.peak",        "all.allocated",        "all.freed",
      "small_pool.current", "small_pool.peak", "small_pool.allocated", "small_pool.freed",
      "large_pool.current", "large_pool.peak", "large_pool.allocated", "large_pool.freed",
  };
  uint64_t values[VALUES];
  uint32_t pool;
  size_t i, v;

  ul_json_key(j, "reserved_bytes_by_private_pools");
  ul_json_begin_array(j);
  for (i = 0; ul_model_pool_reserved(model, i, &pool, values); i++) {
    ul_json_begin_object(j);
    member_u64(j, "pool", pool);
    for (v = 0; v < VALUES; v++)
      member_u64(j, names[v], values[v]);
    ul_json_end_object(j);
  }
  ul_json_end_array(j);
}

static void write_stats(ul_json *j, const ul_answer *a) {
  ul_stat stats[STATS];
  size_t count = ul_model_stats(a->model, stats, STATS), i;

  ul_json_key(j, "statistics");
  ul_json_begin_object(j);
  for (i = 0; i < count && i < STATS; i++) {
    ul_json_key(j, stats[i].name);
    ul_json_i64(j, (int64_t)stats[i].value);
  }
  ul_json_end_object(j);
}

static void write_block(ul_json *j, const ul_block *b) {
  static const char *const states[] = {
      [UL_BLOCK_INACTIVE] = "inactive",
      [UL_BLOCK_ACTIVE_ALLOCATED] = "active_allocated",
      [UL_BLOCK_ACTIVE_PENDING_FREE] = "active_pending_free",
  };

  ul_json_begin_object(j);
  member_hex(j, "address", b->address);
  member_u64(j, "bytes", b->bytes);
  member_u64(j, "requested_bytes", b->requested_bytes);
  member_string(j, "state", states[b->state]);
  member_u64(j, "gc_age", b->gc_age);
  ul_json_end_object(j);
}

static void write_state(ul_json *j, const ul_state *state) {
  uint32_t i, k;

  ul_json_key(j, "segments");
  ul_json_begin_array(j);
  for (i = 0; i < state->segment_count; i++) {
    const ul_segment *s = &state->segments[i];
    ul_json_begin_object(j);
    member_hex(j, "address", s->address);
    member_u64(j, "bytes", s->bytes);
    member_u64(j, "stream", s->stream);
    member_u64(j, "pool", s->pool);
    member_string(j, "type", s->is_small ? "small" : "large");
    ul_json_key(j, "expandable");
    ul_json_bool(j, s->is_expandable);
    ul_json_key(j, "blocks");
    ul_json_begin_array(j);
    for (k = 0; k < s->block_count; k++)
      write_block(j, &state->blocks[s->first_block + k]);
    ul_json_end_array(j);
    ul_json_end_object(j);
  }
  ul_json_end_array(j);
}

static void write_history(ul_json *j, const ul_answer *a) {
  size_t i;

  ul_json_key(j, "entries");
  ul_json_begin_array(j);
  for (i = 0; i < a->history_count; i++) {
    const ul_history_entry *e = &a->history[i];
    const int has_address = e->action != UL_ACTION_OOM && e->action != UL_ACTION_SNAPSHOT;
    ul_json_begin_object(j);
    member_string(j, "action", ul_action_name((ul_action)e->action));
    ul_json_key(j, "address");
    if (has_address)
      ul_json_hex(j, e->address);
    else
      ul_json_null(j);
    member_u64(j, "bytes", e->bytes);
    member_u64(j, "stream", e->stream);
    if (e->action == UL_ACTION_OOM)
      member_u64(j, "device_free_bytes", e->address);
    ul_json_end_object(j);
  }
  ul_json_end_array(j);
}

static void write_placement(ul_json *j, const ul_answer *a) {
  static const char *const results[] = {
      [UL_ANSWER_DONE] = "done",     [UL_ANSWER_SERVED] = "served", [UL_ANSWER_EMPTY] = "empty",
      [UL_ANSWER_OOM] = "oom",       [UL_ANSWER_ERROR] = "error",   [UL_ANSWER_MISSING] = "missing",
      [UL_ANSWER_BROKEN] = "broken",
  };

  member_string(j, "result", results[a->result]);
  if (a->result == UL_ANSWER_SERVED) {
    member_hex(j, "address", a->address);
    member_u64(j, "bytes", a->bytes);
  }
  if (a->call_count)
    write_calls(j, a);
}

/* ---- the table ---- */

static ul_status json_create(void **state, const ul_script_options *options, ul_error *err) {
  printer *p = malloc(sizeof(*p));
  ul_json *j;

  if (!p)
    return ul_fail_nomem(err, "the answers of the script");
  p->sections = options->sections;
  j = &p->json;
  ul_json_init(j, options->write ? options->write : drop, options->write_arg, 0);
  ul_json_begin_object(j);
  member_string(j, "schema", "ullage.script/1");
  member_string(j, "script", options->name);
  member_string(j, "torch", options->torch);
  ul_json_key(j, "answers");
  ul_json_begin_array(j);
  *state = p;
  return UL_OK;
}

static int has_id(const ul_answer *a) {
  return a->command->kind == UL_SCRIPT_ALLOC || a->command->kind == UL_SCRIPT_ALLOC_AT ||
         a->command->kind == UL_SCRIPT_FREE || a->command->kind == UL_SCRIPT_STREAM_USE;
}

static void json_answer(void *state, const ul_answer *a) {
  printer *p = state;
  ul_json *j = &p->json;
  const int place = wants(p, UL_SCRIPT_PLACE) && (a->result != UL_ANSWER_DONE || a->call_count);
  const int message = wants(p, UL_SCRIPT_MESSAGE) && a->message;
  const int observed =
      wants(p, UL_SCRIPT_TRACE) && a->observed && ul_script_has(a->release, UL_SCRIPT_FORM_HISTORY);
  const int stats = wants(p, UL_SCRIPT_STATS) && a->shows_stats;
  const int pools = wants(p, UL_SCRIPT_NEWSTATS) && a->shows_stats &&
                    ul_script_has(a->release, UL_SCRIPT_FORM_POOL_RESERVED);
  const int snap = wants(p, UL_SCRIPT_SNAP) && a->state;
  const int trace = wants(p, UL_SCRIPT_TRACE) && a->history;
  const int used = wants(p, UL_SCRIPT_PLACE) && a->shows_used;

  if (!place && !message && !observed && !stats && !pools && !snap && !trace && !used)
    return;
  ul_json_begin_object(j);
  member_u64(j, "event", a->event);
  member_u64(j, "line", a->line);
  member_u64(j, "device", a->device);
  member_string(j, "command", a->command->word);
  if (has_id(a))
    member_u64(j, "id", a->command->id);
  if (place)
    write_placement(j, a);
  if (observed)
    write_observed(j, a);
  if (message)
    member_string(j, "message", a->message);
  if (stats)
    write_stats(j, a);
  if (pools)
    write_pools(j, a->model);
  if (snap)
    write_state(j, a->state);
  if (trace)
    write_history(j, a);
  if (used)
    member_u64(j, "used_bytes", a->used_bytes);
  ul_json_end_object(j);
}

static int json_failed(const void *state) {
  return ((const printer *)state)->json.failed;
}

static ul_status json_finish(void *state, const ul_script_result *result, int complete,
                             ul_error *err) {
  ul_json *j = &((printer *)state)->json;

  ul_json_end_array(j);
  ul_json_key(j, "complete");
  ul_json_bool(j, complete);
  member_u64(j, "events", result->events);
  member_u64(j, "served", result->served);
  member_u64(j, "ooms", result->ooms);
  member_u64(j, "errors", result->errors);
  member_u64(j, "rejected", result->rejected);
  ul_json_key(j, "broken");
  if (result->broken_line) {
    ul_json_begin_object(j);
    member_u64(j, "line", result->broken_line);
    member_string(j, "reason", result->broken_reason);
    ul_json_end_object(j);
  } else {
    ul_json_null(j);
  }
  ul_json_end_object(j);
  return ul_json_finish(j, err);
}

static void json_destroy(void *state) {
  free(state);
}

const ul_printer_ops ul_printer_json = {
    .create = json_create,
    .answer = json_answer,
    .failed = json_failed,
    .finish = json_finish,
    .destroy = json_destroy,
};
