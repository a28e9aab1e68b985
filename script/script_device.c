/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "script/form.h"
#include "script/runner.h"

#include "base/error.h"
#include "ullage/models.h"
#include "ullage/settings.h"

static void add_warning(ul_script_result *result, const char *text) {
  const size_t used = strlen(result->warning);

  snprintf(result->warning + used, sizeof(result->warning) - used, "%s%s", used ? "; " : "", text);
}

/* What the release makes of the settings in the head; it is told once, of all devices. */
static void warn(ul_runner *r, const ul_settings_choice *choice) {
  char warning[UL_WARNING_BYTES] = "";
  ul_error refused; /* said when the model is made */

  if (r->warned)
    return;
  r->warned = 1;
  if (choice->warning[0])
    add_warning(&r->result, choice->warning);
  if (ul_settings_check(choice->text, choice->variable, r->options->torch, warning, sizeof(warning),
                        &refused) == UL_OK &&
      warning[0])
    add_warning(&r->result, warning);
}

/* What the release obeys of the variables in the head, unless the caller has settings. */
static ul_status give_settings(ul_runner *r, ul_model_options *out, ul_error *err) {
  const ul_script_options *o = r->options;
  char *const *given = r->header.settings;
  ul_settings_choice choice;

  out->settings = o->settings;
  out->variable = o->settings_variable;
  if (o->settings)
    return UL_OK;
  UL_TRY(ul_settings_choose(&choice, o->torch, given[UL_SETTINGS_CUDA], given[UL_SETTINGS_HIP],
                            given[UL_SETTINGS_ANY], err));
  out->settings = choice.text;
  out->variable = choice.variable;
  out->cuda_settings = choice.cuda_text;
  warn(r, &choice);
  return UL_OK;
}

/* A refusal is about the line where the settings stand. */
static void blame(ul_runner *r, const ul_model_options *options) {
  if (!r->options->settings && r->header.settings[options->variable])
    r->lines.number = r->header.settings_line[options->variable];
}

static ul_status open_device(ul_runner *r, unsigned device, ul_error *err) {
  const ul_script_options *o = r->options;
  const ul_script_header *h = &r->header;
  ul_script_device *d = &r->devices[device];
  ul_model_options options = {.size = sizeof(options)};
  ul_status status;

  if (d->model)
    return UL_OK;
  options.backend = o->backend;
  options.torch = o->torch;
  UL_TRY(give_settings(r, &options, err));
  options.device_bytes = r->device_bytes;
  options.external_bytes = r->external_bytes;
  options.address_policy = o->has_address_policy ? o->address_policy : h->address_policy;
  options.seed = o->seed;
  options.stream_events = h->stream_events;
  options.every_call = 1;
  options.checked = o->checked;
  status = ul_model_create(&d->model, &options, err);
  if (status == UL_E_SETTING)
    blame(r, &options);
  if (status == UL_OK && r->records_history &&
      ul_script_has(r->release, UL_SCRIPT_FORM_HISTORY_OF_ALL))
    status = ul_model_record_history(d->model, 1, r->history_entries, err);
  return status;
}

ul_status ul_runner_open(ul_runner *r, ul_error *err) {
  ul_release_choice choice;
  unsigned device;

  if (!r->opened) {
    UL_TRY(ul_release_choose(&choice, r->options->torch, err));
    r->release = choice.release->number;
    r->release_name = choice.release->name;
    r->device_bytes = r->options->device_bytes ? r->options->device_bytes : r->header.device_bytes;
    for (device = 0; device < r->header.devices; device++)
      UL_TRY(open_device(r, device, err));
    r->opened = 1;
  }
  return open_device(r, r->current, err);
}

void ul_runner_release(ul_runner *r) {
  size_t i;

  for (i = 0; i < UL_SCRIPT_DEVICES; i++)
    ul_model_destroy(r->devices[i].model);
  ul_script_ids_release(&r->ids);
  ul_script_header_release(&r->header);
  UL_VEC_RELEASE(&r->history);
}
