/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "script/form.h"
#include "script/runner.h"

/* ---- answers ---- */

static ul_answer answer_of(const ul_runner *r, unsigned device, const ul_script_command *c) {
  ul_answer a = {.command = c, .model = r->devices[device].model};

  a.event = r->result.events;
  a.line = r->lines.number;
  a.device = (uint16_t)device;
  a.seen_from = (uint16_t)r->current;
  a.release = r->release;
  return a;
}

static ul_status refuse(ul_answer *a, const char *why) {
  a->result = UL_ANSWER_ERROR;
  a->message = why;
  return UL_OK;
}

/* The number that PyTorch names in what it raises. */
static void format_number(char *out, size_t size, const ul_script_command *c) {
  if (c->kind == UL_SCRIPT_FRACTION)
    snprintf(out, size, "%g", c->fraction);
  else
    snprintf(out, size, "0x%" PRIx64, UL_SCRIPT_BASE + c->address);
}

/* An event that makes no sense: why, and what PyTorch raises for it. */
static ul_status reject(ul_runner *r, ul_answer *a, const char *why) {
  const char *raised = ul_model_raises(r->devices[a->device].model, why);
  const char *gap = strstr(raised, "{}");
  char number[32] = "";

  if (!raised[0])
    return refuse(a, why);
  if (gap)
    format_number(number, sizeof(number), a->command);
  snprintf(r->message, sizeof(r->message), "%s; PyTorch %s raises \"%.*s%s%s\"", why,
           r->release_name, gap ? (int)(gap - raised) : (int)strlen(raised), raised, number,
           gap ? gap + 2 : "");
  return refuse(a, r->message);
}

static ul_status missing(ul_answer *a, const char *which) {
  a->result = UL_ANSWER_MISSING;
  a->message = which;
  return UL_OK;
}

static void count(ul_runner *r, const ul_answer *a) {
  r->result.served += a->result == UL_ANSWER_SERVED;
  r->result.ooms += a->result == UL_ANSWER_OOM;
  r->result.errors += a->result == UL_ANSWER_ERROR || a->result == UL_ANSWER_MISSING;
  if (a->result == UL_ANSWER_BROKEN) {
    r->result.broken_line = a->line;
    r->result.broken_reason = a->message;
  }
}

/* The text of the exception; NULL from a backend that has none. */
static const char *message_of(ul_runner *r, const ul_model *model) {
  return ul_model_message(model, r->message, sizeof(r->message)) ? r->message : NULL;
}

static ul_status apply(ul_runner *r, ul_answer *a, ul_event *event, ul_error *err) {
  ul_model *model = r->devices[a->device].model;
  ul_outcome o;

  event->device = a->device;
  UL_TRY(ul_model_apply(model, event, NULL, &o, err));
  a->calls = o.calls;
  a->call_count = o.call_count;
  a->message = o.reason;
  switch ((ul_outcome_result)o.result) {
  case UL_OUTCOME_DONE:
    a->message = NULL;
    break;
  case UL_OUTCOME_SERVED:
    a->result = UL_ANSWER_SERVED;
    a->address = o.address;
    a->bytes = o.block_bytes;
    break;
  case UL_OUTCOME_OOM:
    if (a->device && ul_script_has(r->release, UL_SCRIPT_FORM_OBSERVERS_LOST) &&
        !ul_script_has(r->release, UL_SCRIPT_FORM_OBSERVERS_KEPT))
      return refuse(a, "the out-of-memory observer of this device is an empty function");
    a->result = UL_ANSWER_OOM;
    a->message = message_of(r, model);
    a->observed =
        !o.preempted && (!a->device || ul_script_has(r->release, UL_SCRIPT_FORM_HISTORY_OF_ALL));
    a->segment_bytes = o.segment_bytes;
    a->limit_bytes = o.limit_bytes;
    a->free_bytes = o.device_free_bytes;
    break;
  case UL_OUTCOME_REJECTED:
    r->result.rejected++;
    return reject(r, a, o.reason);
  case UL_OUTCOME_BROKEN:
    a->result = UL_ANSWER_BROKEN;
    break;
  }
  return UL_OK;
}

/* ---- allocations ---- */

static ul_status allocate(ul_runner *r, ul_answer *a, const ul_script_command *c, ul_error *err) {
  ul_script_device *d = &r->devices[a->device];
  ul_event event = {.kind = UL_EVENT_ALLOC, .bytes = c->bytes};

  if (ul_script_ids_find(&r->ids, c->id))
    return ul_script_fail(err, &r->lines, UL_E_MALFORMED,
                          "expected an id that is not allocated, found %" PRIu64, c->id);
  if (d->last_handle + 1 == UL_EVENT_HANDLES)
    return ul_script_fail(err, &r->lines, UL_E_LIMIT,
                          "expected at most %" PRIu64 " allocations, found one more",
                          UL_EVENT_HANDLES - 1);
  event.handle = d->last_handle + 1;
  event.stream = c->stream == UL_STREAM_ALL ? 0 : c->stream;
  if (!c->bytes) {
    a->result = UL_ANSWER_EMPTY;
    return UL_OK;
  }
  if (c->kind == UL_SCRIPT_ALLOC_AT) {
    event.kind = UL_EVENT_ALLOC_AT;
    event.time_ns = c->address;
  }
  UL_TRY(apply(r, a, &event, err));
  if (a->result != UL_ANSWER_SERVED)
    return UL_OK;
  d->last_handle++;
  if (!ul_script_ids_add(&r->ids, c->id, a->device, d->last_handle))
    return ul_fail_nomem(err, "the ids of the script");
  return UL_OK;
}

static ul_status allocate_at(ul_runner *r, ul_answer *a, const ul_script_command *c,
                             ul_error *err) {
  if (ul_script_has(r->release, UL_SCRIPT_FORM_ALLOCATE_AT))
    return allocate(r, a, c, err);
  return missing(a, "unknown at");
}

/* Nothing where the allocation had failed. It may be on another device than the lines are about. */
static ul_status use(ul_runner *r, ul_answer *a, const ul_script_command *c, ul_error *err) {
  const ul_script_id *named = ul_script_ids_find(&r->ids, c->id);
  ul_event event = {.kind = UL_EVENT_FREE};

  if (!named)
    return UL_OK;
  a->device = (uint16_t)named->device;
  a->model = r->devices[a->device].model;
  event.handle = named->handle;
  if (c->kind == UL_SCRIPT_STREAM_USE) {
    event.kind = UL_EVENT_STREAM_USE;
    event.stream = c->stream == UL_STREAM_ALL ? 0 : c->stream;
  } else {
    ul_script_ids_remove(&r->ids, c->id);
  }
  return apply(r, a, &event, err);
}

/* ---- private pools ---- */

/* Up to 2.0 a private pool is a capture of every stream; up to 2.2 one stream is routed. */
static void route(const ul_runner *r, const ul_script_command *c, ul_event *event) {
  event->stream = c->stream;
  if (!ul_script_has(r->release, UL_SCRIPT_FORM_POOL_WITHOUT_CAPTURE)) {
    event->stream = UL_STREAM_ALL;
    if (event->kind == UL_EVENT_POOL_BEGIN)
      event->kind = UL_EVENT_CAPTURE_BEGIN;
    if (event->kind == UL_EVENT_POOL_END)
      event->kind = UL_EVENT_CAPTURE_END;
  } else if (!ul_script_has(r->release, UL_SCRIPT_FORM_POOL_FILTER) &&
             event->stream == UL_STREAM_ALL) {
    event->stream = 0;
  }
}

static ul_status pool(ul_runner *r, ul_answer *a, const ul_script_command *c, ul_error *err) {
  static const struct {
    uint8_t event;
    int routes;
    ul_script_form first; /* COUNT: every release */
    const char *missing;
  } kinds[] = {
      [UL_SCRIPT_POOL_BEGIN] = {UL_EVENT_POOL_BEGIN, 1, UL_SCRIPT_FORM_COUNT, NULL},
      [UL_SCRIPT_POOL_END] = {UL_EVENT_POOL_END, 1, UL_SCRIPT_FORM_COUNT, NULL},
      [UL_SCRIPT_CAPTURE_BEGIN] = {UL_EVENT_CAPTURE_BEGIN, 1, UL_SCRIPT_FORM_COUNT, NULL},
      [UL_SCRIPT_CAPTURE_END] = {UL_EVENT_CAPTURE_END, 1, UL_SCRIPT_FORM_COUNT, NULL},
      [UL_SCRIPT_POOL_RELEASE] = {UL_EVENT_POOL_RELEASE, 0, UL_SCRIPT_FORM_COUNT, NULL},
      [UL_SCRIPT_POOL_CREATE] = {UL_EVENT_POOL_CREATE, 0, UL_SCRIPT_FORM_POOL_CREATE,
                                 "unsupported create"},
      [UL_SCRIPT_POOL_USE_ON_OOM] = {UL_EVENT_POOL_USE_ON_OOM, 0, UL_SCRIPT_FORM_POOL_USE_ON_OOM,
                                     "unsupported oom"},
      [UL_SCRIPT_POOL_NO_SPLIT] = {UL_EVENT_POOL_NO_SPLIT, 0, UL_SCRIPT_FORM_POOL_NO_SPLIT,
                                   "unsupported nosplit"},
      [UL_SCRIPT_POOL_CUSTOM] = {UL_EVENT_POOL_CUSTOM, 0, UL_SCRIPT_FORM_POOL_CUSTOM,
                                 "unsupported custom"},
      [UL_SCRIPT_POOL_NOT_ON_OOM] = {UL_EVENT_POOL_NOT_ON_OOM, 0, UL_SCRIPT_FORM_POOL_NOT_ON_OOM,
                                     "unsupported notoom"},
  };
  ul_event event = {.kind = kinds[c->kind].event, .pool = c->pool, .handle = c->number};

  if (kinds[c->kind].missing && !ul_script_has(r->release, kinds[c->kind].first))
    return missing(a, kinds[c->kind].missing);
  if (kinds[c->kind].routes)
    route(r, c, &event);
  return apply(r, a, &event, err);
}

static ul_status checkpoint(ul_runner *r, ul_answer *a, const ul_script_command *c, ul_error *err) {
  ul_event event = {.kind = UL_EVENT_POOL_CHECKPOINT, .pool = c->pool, .handle = c->number};

  if (!ul_script_has(r->release, UL_SCRIPT_FORM_CHECKPOINT))
    return missing(a, "unknown ckpt");
  UL_TRY(apply(r, a, &event, err));
  return a->result == UL_ANSWER_DONE
             ? ul_script_ids_keep(&r->ids, c->number, c->pool, a->device, err)
             : UL_OK;
}

/* Nothing where no state was kept under the number. The state says of which pool it is. */
static ul_status restore(ul_runner *r, ul_answer *a, const ul_script_command *c, ul_error *err) {
  const ul_script_checkpoint *kept = ul_script_ids_kept(&r->ids, c->number);
  ul_event event = {.kind = UL_EVENT_POOL_RESTORE, .handle = c->number};

  if (!ul_script_has(r->release, UL_SCRIPT_FORM_CHECKPOINT))
    return missing(a, "unknown restore");
  if (!kept)
    return UL_OK;
  if (kept->device != a->device)
    return refuse(a, "a checkpoint of another device");
  event.pool = kept->pool;
  UL_TRY(apply(r, a, &event, err));
  if (a->result != UL_ANSWER_DONE)
    return UL_OK;
  UL_TRY(ul_model_state(r->devices[a->device].model, &r->state, err));
  return ul_script_ids_restore(&r->ids, kept, &r->state)
             ? UL_OK
             : ul_fail_nomem(err, "the ids of the script");
}

/* ---- settings and the environment ---- */

static ul_status fraction(ul_runner *r, ul_answer *a, const ul_script_command *c, ul_error *err) {
  ul_event event = {.kind = UL_EVENT_SET_FRACTION};

  if (!(c->fraction >= 0.0 && c->fraction <= 1.0))
    return reject(r, a, "a memory fraction is from 0 to 1");
  event.bytes = ul_model_fraction_limit(r->devices[a->device].model, c->fraction);
  return apply(r, a, &event, err);
}

static ul_status environment(ul_runner *r, ul_answer *a, const ul_script_command *c,
                             ul_error *err) {
  ul_event event = {.bytes = c->bytes, .stream = c->stream};

  switch (c->kind) {
  case UL_SCRIPT_EXTERNAL:
    r->external_bytes = c->bytes;
    event.kind = UL_EVENT_EXTERNAL_BYTES;
    break;
  case UL_SCRIPT_TOTAL:
    r->device_bytes = c->bytes;
    event.kind = UL_EVENT_DEVICE_BYTES;
    break;
  case UL_SCRIPT_SYNC:
    event.kind = UL_EVENT_SYNC;
    break;
  default: /* UL_SCRIPT_EMPTY_CACHE */
    event.kind = UL_EVENT_EMPTY_CACHE;
    event.stream = 0;
    event.pool = ul_script_has(r->release, UL_SCRIPT_FORM_EMPTY_POOL) ? c->pool : 0;
    break;
  }
  return apply(r, a, &event, err);
}

static ul_status configure(ul_runner *r, ul_answer *a, const ul_script_command *c, ul_error *err) {
  ul_error why;
  ul_status status = ul_model_configure(r->devices[a->device].model, c->text, &why);

  r->configured = 1;
  if (status == UL_E_SETTING) {
    memcpy(r->message, why.message, sizeof(why.message));
    return refuse(a, r->message);
  }
  if (status != UL_OK && err)
    *err = why;
  return status;
}

/* ---- history ---- */

/* It is kept where it will be shown, and changes nothing else. */
static int wants_history(const ul_runner *r) {
  return (r->options->sections & UL_SCRIPT_TRACE) &&
         ul_script_has(r->release, UL_SCRIPT_FORM_HISTORY);
}

static ul_status record_history(ul_runner *r, ul_answer *a, const ul_script_command *c,
                                ul_error *err) {
  const uint64_t unlimited = 1000000000;
  unsigned device;
  ul_error why;
  ul_status status;

  if (!wants_history(r))
    return UL_OK;
  r->records_history = c->kind == UL_SCRIPT_HISTORY_ON;
  r->history_entries = c->number != UL_SCRIPT_NO_NUMBER ? c->number : unlimited;
  for (device = 0; device < UL_SCRIPT_DEVICES; device++)
    r->devices[device].shown_entries = 0;
  status = ul_model_record_history(r->devices[a->device].model, r->records_history,
                                   r->history_entries, &why);
  if (status == UL_E_STATE) { /* the real library writes past its ring from here on */
    memcpy(r->message, why.message, sizeof(why.message));
    a->result = UL_ANSWER_BROKEN;
    a->message = r->message;
    return UL_OK;
  }
  if (status != UL_OK && err)
    *err = why;
  return status;
}

/* A snapshot is one of every device, and each history notes it. That of the device shown is taken
 * last: it stays in r->state. */
static ul_status take_snapshot(ul_runner *r, unsigned shown, ul_error *err) {
  unsigned device;

  for (device = 0; device < UL_SCRIPT_DEVICES; device++) {
    if (device != shown && r->devices[device].model)
      UL_TRY(ul_model_snapshot(r->devices[device].model, &r->state, err));
  }
  return ul_model_snapshot(r->devices[shown].model, &r->state, err);
}

static ul_status show_history(ul_runner *r, ul_answer *a, const ul_script_command *c,
                              ul_error *err) {
  ul_script_device *d = &r->devices[a->device];
  const size_t entries = ul_model_history(d->model, NULL, 0);

  (void)c;
  if (!wants_history(r))
    return UL_OK;
  r->history.count = 0;
  if (!UL_VEC_RESERVE(&r->history, entries + 1))
    return ul_fail_nomem(err, "the history of the model");
  r->history.count = ul_model_history(d->model, r->history.items, r->history.capacity);
  a->history = r->history.items;
  if (entries > d->shown_entries) {
    a->history += d->shown_entries;
    a->history_count = entries - d->shown_entries;
  }
  d->shown_entries = entries;
  return take_snapshot(r, a->device, err);
}

static ul_status show_snapshot(ul_runner *r, ul_answer *a, const ul_script_command *c,
                               ul_error *err) {
  (void)c;
  if (!(r->options->sections & (UL_SCRIPT_SNAP | UL_SCRIPT_TRACE)))
    return UL_OK;
  UL_TRY(take_snapshot(r, a->device, err));
  a->state = &r->state;
  return UL_OK;
}

/* ---- one line ---- */

static ul_status select_device(ul_runner *r, const ul_script_command *c, ul_error *err) {
  const uint64_t count = r->header.devices ? r->header.devices : UL_SCRIPT_DEVICES;

  if (c->number >= count)
    return ul_script_fail(err, &r->lines, UL_E_MALFORMED,
                          "expected a device from 0 to %" PRIu64 ", found %" PRIu64, count - 1,
                          c->number);
  r->current = (unsigned)c->number;
  if (r->configured && !r->devices[r->current].model)
    return ul_script_fail(err, &r->lines, UL_E_MALFORMED,
                          "expected device %u before the first conf, or '# env FAKE_DEVICES=%u' "
                          "before the first event",
                          r->current, r->current + 1);
  return ul_runner_open(r, err);
}

static ul_status reset_peak(ul_runner *r, ul_answer *a, const ul_script_command *c, ul_error *err) {
  (void)c, (void)err;
  ul_model_reset_peak(r->devices[a->device].model);
  return UL_OK;
}

static ul_status reset_accumulated(ul_runner *r, ul_answer *a, const ul_script_command *c,
                                   ul_error *err) {
  (void)c, (void)err;
  ul_model_reset_accumulated(r->devices[a->device].model);
  return UL_OK;
}

static ul_status show_stats(ul_runner *r, ul_answer *a, const ul_script_command *c, ul_error *err) {
  (void)r, (void)c, (void)err;
  a->shows_stats = 1;
  return UL_OK;
}

/* The driver gives memory out in whole units; a release's segments need not be. Units of expandable
 * segments are counted as they are. */
static ul_status show_used(ul_runner *r, ul_answer *a, const ul_script_command *c, ul_error *err) {
  const uint64_t unit = UINT64_C(2) << 20;
  uint32_t i;

  (void)c;
  UL_TRY(ul_model_state(r->devices[a->device].model, &r->state, err));
  a->shows_used = 1;
  for (i = 0; i < r->state.segment_count; i++) {
    const ul_segment *s = &r->state.segments[i];
    a->used_bytes += s->is_expandable ? s->bytes : (s->bytes + unit - 1) / unit * unit;
  }
  return UL_OK;
}

typedef ul_status take_step(ul_runner *r, ul_answer *a, const ul_script_command *c, ul_error *err);

typedef enum reach {
  ONE,         /* asked of a device */
  HISTORY,     /* of one device through 2.0, of the process from then on */
  EACH,        /* asked of the process, and so of every device; an error is raised once */
  UNTIL_ERROR, /* the same, and an error ends it */
} reach;

static const struct {
  take_step *take;
  reach reach;
} steps[] = {
    [UL_SCRIPT_ALLOC] = {allocate, ONE},
    [UL_SCRIPT_ALLOC_AT] = {allocate_at, ONE},
    [UL_SCRIPT_FREE] = {use, ONE},
    [UL_SCRIPT_STREAM_USE] = {use, ONE},
    [UL_SCRIPT_SYNC] = {environment, EACH},
    [UL_SCRIPT_EMPTY_CACHE] = {environment, UNTIL_ERROR},
    [UL_SCRIPT_FRACTION] = {fraction, ONE},
    [UL_SCRIPT_EXTERNAL] = {environment, EACH},
    [UL_SCRIPT_TOTAL] = {environment, EACH},
    [UL_SCRIPT_POOL_BEGIN] = {pool, ONE},
    [UL_SCRIPT_POOL_END] = {pool, ONE},
    [UL_SCRIPT_CAPTURE_BEGIN] = {pool, ONE},
    [UL_SCRIPT_CAPTURE_END] = {pool, ONE},
    [UL_SCRIPT_POOL_RELEASE] = {pool, ONE},
    [UL_SCRIPT_POOL_CREATE] = {pool, ONE},
    [UL_SCRIPT_POOL_USE_ON_OOM] = {pool, ONE},
    [UL_SCRIPT_POOL_NOT_ON_OOM] = {pool, ONE},
    [UL_SCRIPT_POOL_NO_SPLIT] = {pool, ONE},
    [UL_SCRIPT_POOL_CUSTOM] = {pool, ONE},
    [UL_SCRIPT_CHECKPOINT] = {checkpoint, ONE},
    [UL_SCRIPT_RESTORE] = {restore, ONE},
    [UL_SCRIPT_DEVICE] = {NULL, ONE}, /* nothing is asked of the device */
    [UL_SCRIPT_CONFIGURE] = {configure, EACH},
    [UL_SCRIPT_HISTORY_ON] = {record_history, HISTORY},
    [UL_SCRIPT_HISTORY_OFF] = {record_history, HISTORY},
    [UL_SCRIPT_RESET_PEAK] = {reset_peak, ONE},
    [UL_SCRIPT_RESET_ACCUMULATED] = {reset_accumulated, ONE},
    [UL_SCRIPT_SHOW_STATS] = {show_stats, ONE},
    [UL_SCRIPT_SHOW_SNAPSHOT] = {show_snapshot, ONE},
    [UL_SCRIPT_SHOW_TRACE] = {show_history, ONE},
    [UL_SCRIPT_SHOW_USED] = {show_used, ONE},
};

/* silent: an error was shown already. */
static ul_status step_device(ul_runner *r, unsigned device, const ul_script_command *c, int silent,
                             ul_answer_result *result, ul_error *err) {
  ul_answer a = answer_of(r, device, c);

  UL_TRY(steps[c->kind].take(r, &a, c, err));
  *result = a.result;
  if (silent && a.result == UL_ANSWER_ERROR) {
    a.result = UL_ANSWER_DONE;
    a.message = NULL;
  }
  count(r, &a);
  r->printer->answer(r->printer_state, &a);
  return UL_OK;
}

static ul_status step(ul_runner *r, const ul_script_command *c, ul_error *err) {
  ul_answer_result result;
  unsigned device;
  int failed = 0;

  if (c->kind == UL_SCRIPT_DEVICE)
    return select_device(r, c, err);
  UL_TRY(ul_runner_open(r, err));
  if (steps[c->kind].reach == ONE || (steps[c->kind].reach == HISTORY &&
                                      !ul_script_has(r->release, UL_SCRIPT_FORM_HISTORY_OF_ALL)))
    return step_device(r, r->current, c, 0, &result, err);
  for (device = 0; device < UL_SCRIPT_DEVICES && !r->result.broken_line; device++) {
    if (!r->devices[device].model)
      continue;
    UL_TRY(step_device(r, device, c, failed, &result, err));
    failed |= result == UL_ANSWER_ERROR;
    if (failed && steps[c->kind].reach == UNTIL_ERROR)
      break;
  }
  return UL_OK;
}

ul_status ul_runner_step(ul_runner *r, const ul_script_command *c, ul_error *err) {
  ul_status status;

  r->result.events++;
  status = step(r, c, err);
  /* The model does not know of lines; our own sentences have theirs. */
  if (status != UL_OK && status != UL_E_MALFORMED && status != UL_E_LIMIT)
    ul_script_locate(err, &r->lines);
  return status;
}
