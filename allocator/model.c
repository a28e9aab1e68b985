/* SPDX-License-Identifier: MIT */
/* The public model interface over the table of backends. */
#include "allocator/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "allocator/device.h"
#include "allocator/oom_text.h"
#include "allocator/refusals.h"
#include "allocator/settings.h"
#include "base/error.h"
#include "ullage/models.h"

extern const ul_model_ops ul_model_native;
extern const ul_model_ops ul_model_direct;
extern const ul_model_ops ul_model_async;
extern const ul_model_ops ul_model_naive;

const ul_model_ops *const ul_model_table[] = {
    &ul_model_native, &ul_model_direct, &ul_model_async, &ul_model_naive, NULL,
};

enum { BACKENDS = sizeof(ul_model_table) / sizeof(ul_model_table[0]) - 1 };

static ul_backend backends[BACKENDS];
static once_flag backends_filled = ONCE_FLAG_INIT;

static void fill_backends(void) {
  size_t i;

  for (i = 0; i < BACKENDS; i++) {
    backends[i].name = ul_model_table[i]->name;
    backends[i].summary = ul_model_table[i]->summary;
    backends[i].approximate = ul_model_table[i]->approximate;
  }
}

const ul_backend *ul_backend_at(size_t index) {
  call_once(&backends_filled, fill_backends);
  return index < BACKENDS ? &backends[index] : NULL;
}

struct ul_model {
  const ul_model_ops *ops;
  void *state;
  int checked;
};

static ul_status find_backend(const ul_model_ops **out, const char *name, ul_error *err) {
  size_t i;

  for (i = 0; ul_model_table[i]; i++) {
    if (strcmp(name, ul_model_table[i]->name) == 0) {
      *out = ul_model_table[i];
      return UL_OK;
    }
  }
  return ul_fail(err, UL_E_SETTING, 0, "unknown allocator backend '%s'", name);
}

/* The settings may ask for a backend, too, and are then not read any further. */
static ul_status choose_backend(const ul_model_ops **out, const ul_model_options *options,
                                ul_error *err) {
  const char *name = options->backend ? options->backend : "native";
  const ul_profile *profile;
  const ul_settings_given given = ul_settings_of(options);
  ul_settings settings;
  int async;

  UL_TRY(ul_profile_find(&profile, options->torch, NULL, err));
  UL_TRY(ul_settings_ask_for_async(&async, &given, profile, err));
  if (async && options->backend && strcmp(options->backend, ul_model_async.name) != 0)
    return ul_fail(err, UL_E_SETTING, 0,
                   "the settings ask for cudaMallocAsync, and the backend %s was asked for as well",
                   options->backend);
  if (async)
    name = ul_model_async.name;
  else if (strcmp(name, ul_model_async.name) != 0)
    UL_TRY(ul_settings_start(&settings, &given, profile, err));
  return find_backend(out, name, err);
}

/* Options of an older caller are shorter; what it does not know is zero. */
static ul_model_options full_options(const ul_model_options *options) {
  ul_model_options full = {0};

  if (options)
    memcpy(&full, options, options->size < sizeof(full) ? options->size : sizeof(full));
  full.size = sizeof(full);
  return full;
}

static ul_status check_options(const ul_model_options *o, ul_error *err) {
  const char *wrong = NULL;

  if (o->device_bytes >= UL_DEVICE_MOST_BYTES)
    return ul_fail(err, UL_E_INVALID, 0,
                   "a device of %" PRIu64 " bytes: expected less than %" PRIu64 ", an exabyte",
                   o->device_bytes, UL_DEVICE_MOST_BYTES);
  if ((unsigned)o->address_policy > UL_ADDRESS_RISING_APART)
    wrong = "address_policy";
  else if ((unsigned)o->stream_events > UL_STREAM_EVENTS_ON_SYNC)
    wrong = "stream_events";
  else if ((unsigned)o->variable > UL_SETTINGS_ANY)
    wrong = "variable";
  return wrong
             ? ul_fail(err, UL_E_INVALID, 0, "ul_model_create: options.%s has no such value", wrong)
             : UL_OK;
}

ul_status ul_model_create(ul_model **out, const ul_model_options *options, ul_error *err) {
  const ul_model_options full = full_options(options);
  const ul_model_ops *ops = NULL;
  ul_model *model;
  ul_status status;

  if (!out || (options && options->size < sizeof(options->size)))
    return ul_fail(err, UL_E_INVALID, 0, "ul_model_create: %s",
                   out ? "options.size is not set" : "out is NULL");
  UL_TRY(check_options(&full, err));
  UL_TRY(choose_backend(&ops, &full, err));
  model = malloc(sizeof(*model));
  if (!model)
    return ul_fail_nomem(err, "the allocator model");
  model->ops = ops;
  model->checked = full.checked;
  status = ops->create(&model->state, &full, err);
  if (status != UL_OK) {
    free(model);
    return status;
  }
  *out = model;
  return UL_OK;
}

int ul_model_is_approximate(const ul_model *model) {
  return model && model->ops->approximate;
}

void ul_model_destroy(ul_model *model) {
  if (!model)
    return;
  model->ops->destroy(model->state);
  free(model);
}

ul_status ul_model_load(ul_model *model, const ul_state *state, ul_error *err) {
  uint32_t i;

  if (!model || !state)
    return ul_fail(err, UL_E_INVALID, 0, "ul_model_load: NULL argument");
  for (i = 0; i < state->segment_count; i++) {
    if (state->segments[i].bytes >= UL_DEVICE_MOST_BYTES)
      return ul_fail(err, UL_E_INVALID, 0,
                     "segment %u has %" PRIu64 " bytes, and no device so much", i,
                     state->segments[i].bytes);
  }
  return model->ops->load(model->state, state, err);
}

ul_status ul_model_apply(ul_model *model, const ul_event *event, const ul_grants *grants,
                         ul_outcome *outcome, ul_error *err) {
  if (!model || !event || !outcome || (grants && grants->count && !grants->calls))
    return ul_fail(err, UL_E_INVALID, 0, "ul_model_apply: NULL argument");
  UL_TRY(model->ops->apply(model->state, event, grants, outcome, err));
  return model->checked ? model->ops->check(model->state, err) : UL_OK;
}

static ul_status apply_each(ul_model *model, const ul_event *events, size_t count,
                            ul_placement *placements, size_t *done, ul_error *err) {
  ul_outcome outcome;

  for (; *done < count; ++*done) {
    UL_TRY(ul_model_apply(model, &events[*done], NULL, &outcome, err));
    if (placements) {
      placements[*done].address = outcome.address;
      placements[*done].block_bytes = outcome.block_bytes;
      placements[*done].result = outcome.result;
    }
  }
  return UL_OK;
}

ul_status ul_model_apply_batch(ul_model *model, const ul_event *events, size_t count,
                               ul_placement *placements, size_t *done, ul_error *err) {
  size_t local = 0, *applied = done ? done : &local;

  *applied = 0;
  if (!model || (count && !events))
    return ul_fail(err, UL_E_INVALID, 0, "ul_model_apply_batch: NULL argument");
  if (!model->ops->apply_batch || model->checked)
    return apply_each(model, events, count, placements, applied, err);
  return model->ops->apply_batch(model->state, events, count, placements, applied, err);
}

static ul_status unsupported(const ul_model *model, const char *what, ul_error *err) {
  return ul_fail(err, UL_E_UNSUPPORTED, 0, "the %s backend %s", model->ops->name, what);
}

ul_status ul_model_configure(ul_model *model, const char *settings, ul_error *err) {
  if (!model)
    return ul_fail(err, UL_E_INVALID, 0, "ul_model_configure: NULL argument");
  if (!model->ops->configure)
    return unsupported(model, "takes no settings at run time", err);
  return model->ops->configure(model->state, settings, err);
}

ul_status ul_model_record_history(ul_model *model, int enabled, uint64_t max_entries,
                                  ul_error *err) {
  if (!model)
    return ul_fail(err, UL_E_INVALID, 0, "ul_model_record_history: NULL argument");
  if (!model->ops->record_history)
    return unsupported(model, "records no history", err);
  return model->ops->record_history(model->state, enabled, max_entries, err);
}

size_t ul_model_history(const ul_model *model, ul_history_entry *out, size_t capacity) {
  return model && model->ops->history ? model->ops->history(model->state, out, out ? capacity : 0)
                                      : 0;
}

ul_status ul_model_snapshot(ul_model *model, ul_state *out, ul_error *err) {
  UL_TRY(ul_model_state(model, out, err));
  return model->ops->note_snapshot ? model->ops->note_snapshot(model->state, err) : UL_OK;
}

int ul_model_pool_reserved(const ul_model *model, size_t index, uint32_t *pool,
                           uint64_t values[12]) {
  return model && model->ops->pool_reserved
             ? model->ops->pool_reserved(model->state, index, pool, values)
             : 0;
}

size_t ul_model_message(const ul_model *model, char *out, size_t capacity) {
  ul_oom_facts facts;

  if (capacity && out)
    out[0] = '\0';
  if (!model || !model->ops->oom || !model->ops->oom(model->state, &facts))
    return 0;
  return ul_oom_text(out, out ? capacity : 0, model->ops->profile(model->state), &facts);
}

const char *ul_model_raises(const ul_model *model, const char *reason) {
  return model ? ul_refusal_text(model->ops->profile(model->state), reason) : "";
}

void ul_model_reset_accumulated(ul_model *model) {
  if (model && model->ops->reset_accumulated)
    model->ops->reset_accumulated(model->state);
}

ul_status ul_model_clone(ul_model **out, const ul_model *model, ul_error *err) {
  ul_model *copy;
  ul_status status;

  if (!out || !model)
    return ul_fail(err, UL_E_INVALID, 0, "ul_model_clone: NULL argument");
  copy = malloc(sizeof(*copy));
  if (!copy)
    return ul_fail_nomem(err, "a copy of the allocator model");
  copy->ops = model->ops;
  status = model->ops->clone(&copy->state, model->state, err);
  if (status != UL_OK) {
    free(copy);
    return status;
  }
  *out = copy;
  return UL_OK;
}

const ul_totals *ul_model_totals(const ul_model *model) {
  return model ? model->ops->totals(model->state) : NULL;
}

size_t ul_model_stats(const ul_model *model, ul_stat *out, size_t capacity) {
  return model ? model->ops->stats(model->state, out, out ? capacity : 0) : 0;
}

void ul_model_reset_peak(ul_model *model) {
  if (model)
    model->ops->reset_peak(model->state);
}

ul_status ul_model_state(ul_model *model, ul_state *out, ul_error *err) {
  if (!model || !out)
    return ul_fail(err, UL_E_INVALID, 0, "ul_model_state: NULL argument");
  return model->ops->visit(model->state, out, err);
}

ul_status ul_model_check(const ul_model *model, ul_error *err) {
  if (!model)
    return ul_fail(err, UL_E_INVALID, 0, "ul_model_check: NULL argument");
  return model->ops->check(model->state, err);
}

uint64_t ul_model_round(const ul_model *model, uint64_t requested_bytes) {
  return model ? model->ops->round(model->state, requested_bytes) : 0;
}

uint64_t ul_model_fraction_limit(const ul_model *model, double fraction) {
  if (!model)
    return UINT64_MAX;
  return model->ops->fraction_limit(model->state, fraction > 0 ? fraction : 0); /* NaN: nothing */
}

ul_status ul_model_asker(const ul_model *model, const ul_event *event, ul_asker_view *out,
                         ul_error *err) {
  return model->ops->asker(model->state, event, out, err);
}

uint64_t ul_model_unsplit_limit(const ul_model *model, int is_small, uint64_t rounded_bytes) {
  return model->ops->unsplit_limit(model->state, is_small, rounded_bytes);
}
