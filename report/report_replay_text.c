/* SPDX-License-Identifier: MIT */
/* One screen that says where the memory went: the proof, what was read, the peak, who holds it,
 * what is lost, the curve, what else happened. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "report/curve_text.h"
#include "report/report_replay.h"
#include "report/words.h"

enum { CURVE_ROWS = 8, WARNINGS_SHOWN = 3, REFUTED_SHOWN = 3, OTHER_DEVICES_SHOWN = 15 };

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');

  return slash && slash[1] ? slash + 1 : path;
}

static void file_text(ul_text *text, const ul_replay_view *view, const ul_device_result *device) {
  const ul_source_info *info = view->info;
  const ul_recording *recording = ul_view_recording(view, device->device);
  char size[UL_WORD], count[UL_WORD];
  ul_line line;

  ul_line_clear(&line);
  ul_line_add(&line, " %s: %s in %s%s%s, %s", base_name(info->path), info->format, info->encoding,
              info->carriers[0] ? ", " : "", info->carriers,
              ul_word_bytes(size, info->input_bytes, 0));
  if (strcmp(info->backend, "cuda") != 0)
    ul_line_add(&line, ", %s", info->backend);
  ul_line_add(&line, ", %s", info->era);
  ul_line_add(&line, "; device %u", device->device);
  if (device->has_trace)
    ul_line_add(&line, ", %s", ul_word_count(count, device->entries, "entry", "entries"));
  if (device->has_trace && recording && recording->last_time_ns > recording->first_time_ns)
    ul_line_add(&line, " over %s",
                ul_word_duration(size, recording->last_time_ns - recording->first_time_ns));
  if (device->has_trace)
    ul_line_add(&line, device->starts_empty ? " from an empty allocator" : " from mid-run");
  ul_text_heading(text, "File", line.text);
}

static void model_text(ul_text *text, const ul_device_result *device) {
  ul_line line;
  size_t i, shown = text->options.verbosity > 0 ? SIZE_MAX : REFUTED_SHOWN;

  ul_line_clear(&line);
  ul_line_add(&line, " torch %s, settings %s", device->torch ? device->torch : "unknown",
              device->settings && device->settings[0] ? device->settings : "default");
  if (device->why && device->why[0])
    ul_line_add(&line, ": %s", device->why);
  for (i = 0; i < device->alike_count; i++)
    ul_line_add(&line, "%s%s", i ? ", " : "; ", device->alike[i]);
  if (device->alike_count)
    ul_line_add(&line, " alike");
  for (i = 0; i < device->refuted_count && i < shown; i++)
    ul_line_add(&line, "; %s refuted at entry %" PRIu64, device->refuted[i].torch,
                device->refuted[i].event);
  if (i < device->refuted_count)
    ul_line_add(&line, "; %zu more refuted", device->refuted_count - i);
  ul_text_heading(text, "Model", line.text);
}

/* "after event 12034 of 23105 (52.1 %), 3.412 s in". */
static void add_instant(ul_line *line, const ul_replay_view *view, const ul_device_result *device,
                        uint64_t event, uint64_t time_ns) {
  char share[UL_WORD], duration[UL_WORD];
  uint64_t since;

  if (event == UINT64_MAX) {
    ul_line_add(line, " before the first entry");
    return;
  }
  ul_line_add(line, " after event %" PRIu64 " of %" PRIu64 " (%s)", event, device->entries,
              ul_word_share(share, event + 1, device->entries));
  if (ul_view_since_start(view, device->device, time_ns, &since) && since)
    ul_line_add(line, ", %s in", ul_word_duration(duration, since));
}

static void peak_text(ul_text *text, const ul_replay_view *view, const ul_device_result *device) {
  const ul_peak *p = &device->peak;
  int exact = text->options.exact_bytes;
  char size[UL_WORD];
  ul_line line;

  ul_line_clear(&line);
  ul_line_add(&line, "%s%s reserved", device->has_trace ? "   " : "  ",
              ul_word_bytes(size, p->reserved_bytes, exact));
  if (device->has_trace)
    add_instant(&line, view, device, p->event, p->time_ns);
  if (device->has_window)
    ul_line_add(&line, ", of events %" PRIu64 " to %" PRIu64 " only", device->window_from,
                device->window_to);
  ul_text_heading(text, device->has_trace ? "Peak" : "State", line.text);

  ul_line_clear(&line);
  ul_line_add(&line, "       %s allocated", ul_word_bytes(size, p->allocated_bytes, exact));
  if (p->active_bytes != p->allocated_bytes)
    ul_line_add(&line, ", %s active", ul_word_bytes(size, p->active_bytes, exact));
  if (view->info->has_requested_sizes)
    ul_line_add(&line, ", %s requested", ul_word_bytes(size, p->requested_bytes, exact));
  ul_line_add(&line, device->has_trace ? " at that moment" : " when the snapshot was taken");
  ul_text_wrap(text, 0, 7, line.text);

  if (!device->has_trace || text->options.verbosity < 0)
    return;
  ul_line_clear(&line);
  ul_line_add(&line, "      ");
  if (p->max_allocated_event != p->event)
    ul_line_add(&line, " %s allocated at most (event %" PRIu64 ")%s",
                ul_word_bytes(size, p->max_allocated_bytes, exact), p->max_allocated_event,
                view->info->has_requested_sizes ? "," : "");
  if (view->info->has_requested_sizes)
    ul_line_add(&line, " %s live at most (event %" PRIu64 "): no allocator can reserve less",
                ul_word_bytes(size, p->max_live_bytes, exact), p->max_live_event);
  if (line.used > 6)
    ul_text_wrap(text, 0, 7, line.text);
}

static void curve_text(ul_text *text, const ul_device_result *device) {
  int unicode = text->options.unicode != 0;

  if (!device->curve_count || text->options.verbosity < 0)
    return;
  ul_text_heading(text, "Curve",
                  unicode ? " \u2591 reserved  \u2588 allocated  \u2593 between its extremes"
                          : " . reserved  # allocated  + between its extremes");
  ul_curve_draw(text, device->curve, device->curve_count, device->entries, device->peak.event,
                CURVE_ROWS);
}

static void driver_text(ul_text *text, const ul_replay_view *view, const ul_device_result *device) {
  char word[UL_WORD], size[UL_WORD];
  ul_line line;
  uint64_t i;

  if (!device->has_trace || text->options.verbosity < 0)
    return;
  ul_line_clear(&line);
  if (device->driver_calls) {
    ul_line_add(&line, " %s:", ul_word_count(word, device->driver_calls, "call", "calls"));
    ul_line_add(&line, " %s", ul_word_count(word, device->segment_allocs, "segment", "segments"));
    ul_line_add(&line, " allocated, %" PRIu64 " freed", device->segment_frees);
  } else {
    ul_line_add(&line, " no calls");
  }
  if (device->segment_maps || device->segment_unmaps)
    ul_line_add(&line, ", %s mapped, %" PRIu64 " unmapped",
                ul_word_count(word, device->segment_maps, "range", "ranges"),
                device->segment_unmaps);
  ul_line_add(&line, "; %s",
              ul_word_count(word, device->alloc_retries, "alloc retry", "alloc retries"));
  if (device->oom_count)
    ul_line_add(&line, "; %s refused",
                ul_word_count(word, device->oom_count, "request", "requests"));
  else
    ul_line_add(&line, "; no request refused");
  for (i = 0; i < device->oom_count && (i == 0 || text->options.verbosity > 0); i++) {
    const ul_oom *oom = &device->ooms[i];
    ul_line_add(&line, "%s %s", i ? "," : ":",
                ul_word_bytes(size, oom->rounded_bytes, text->options.exact_bytes));
    ul_line_add(&line, " at event %" PRIu64, oom->event);
    if (oom->device_free_known)
      ul_line_add(&line, " with %s free on the device",
                  ul_word_bytes(size, oom->device_free_bytes, text->options.exact_bytes));
  }
  (void)view;
  ul_text_heading(text, "Driver", line.text);
}

static void free_mode_text(ul_text *text, const ul_device_result *device) {
  const ul_interval *free_mode = &device->free_mode_reserved_peak;
  int exact = text->options.exact_bytes;
  char low[UL_WORD], high[UL_WORD];
  ul_line line;

  if (!free_mode->max || (free_mode->min == device->peak.reserved_bytes &&
                          free_mode->max == device->peak.reserved_bytes))
    return;
  ul_line_clear(&line);
  ul_line_add(&line, " %s to %s: where the driver puts segments decides ties, and so the peak",
              ul_word_bytes(low, free_mode->min, exact),
              ul_word_bytes(high, free_mode->max, exact));
  ul_text_heading(text, "Elsewhere", line.text);
}

static void warnings_text(ul_text *text, const ul_warning *warnings, size_t count) {
  size_t shown = text->options.verbosity > 0 ? count : WARNINGS_SHOWN, i;
  ul_line line;

  if (text->options.verbosity < 0)
    return;
  for (i = 0; i < count && i < shown; i++) {
    ul_line_clear(&line);
    ul_line_add(&line, " %s", warnings[i].text);
    if (warnings[i].count > 1)
      ul_line_add(&line, " (%" PRIu64 " times)", warnings[i].count);
    ul_text_heading(text, "Note:", line.text);
  }
  if (i < count)
    ul_text_printf(text, "and %zu more notes (-v)\n", count - i);
}

static void stats_text(ul_text *text, const ul_device_result *device) {
  size_t i;

  if (text->options.verbosity < 1)
    return;
  ul_text_heading(text, "Statistics", " under PyTorch's names; ? where the file does not tell");
  for (i = 0; i < device->stat_count; i++) {
    if (device->stats[i].known)
      ul_text_printf(text, "%20" PRIu64 "  %s\n", device->stats[i].value, device->stats[i].name);
    else
      ul_text_printf(text, "%20s  %s\n", "?", device->stats[i].name);
  }
}

/* A device in full. */
/* Where holders were looked for elsewhere, the peak is named by its event. */
static const char *lost_when(const ul_device_result *device) {
  if (!device->has_trace)
    return "then";
  return device->holders_event == device->peak.event ? "at the peak"
                                                     : "at the peak, the first event";
}

static ul_status device_text(ul_text *text, const ul_replay_view *view,
                             const ul_device_result *device, ul_error *err) {
  const ul_lost *lost = device->has_trace ? &device->lost_at_peak : &device->lost_at_end;

  if (text->options.verbosity >= 0) {
    file_text(text, view, device);
    if (device->has_trace)
      model_text(text, device);
  }
  peak_text(text, view, device);
  if (text->options.verbosity >= 0)
    UL_TRY(ul_holders_text(text, view, device, text->options.top, err));
  if (text->options.verbosity >= 0)
    ul_lost_text(text, view, device, lost, lost_when(device));
  if (device->has_asker && text->options.verbosity >= 0)
    ul_asker_text(text, &device->asker_at_peak);
  if (text->options.verbosity > 0 && device->has_trace)
    ul_lost_text(text, view, device, &device->lost_at_end, "at the end");
  curve_text(text, device);
  driver_text(text, view, device);
  free_mode_text(text, device);
  if (device->has_what_if)
    ul_what_if_text(text, device);
  warnings_text(text, device->warnings, device->warning_count);
  stats_text(text, device);
  return UL_OK;
}

/* A further device on few lines. */
static ul_status other_device_text(ul_text *text, const ul_replay_view *view,
                                   const ul_device_result *device, ul_error *err) {
  const ul_lost *lost = device->has_trace ? &device->lost_at_peak : &device->lost_at_end;
  char size[UL_WORD], share[UL_WORD], heading[UL_WORD];
  uint64_t total = lost->reserved_bytes - lost->live_bytes;
  ul_line line;

  ul_line_clear(&line);
  snprintf(heading, sizeof(heading), "Device %u", device->device);
  ul_line_add(&line, "  %s reserved",
              ul_word_bytes(size, device->peak.reserved_bytes, text->options.exact_bytes));
  if (device->has_trace)
    add_instant(&line, view, device, device->peak.event, device->peak.time_ns);
  ul_line_add(&line, ", %s allocated",
              ul_word_bytes(size, device->peak.allocated_bytes, text->options.exact_bytes));
  ul_line_add(&line, ", %s (%s) lost", ul_word_bytes(size, total, text->options.exact_bytes),
              ul_word_share(share, total, lost->reserved_bytes));
  if (device->has_trace)
    ul_line_add(&line, "; %" PRIu64 " of %" PRIu64 " placements exact", device->proof.exact,
                device->proof.placements);
  ul_text_heading(text, heading, line.text);
  if (text->options.verbosity >= 0)
    UL_TRY(ul_holders_text(text, view, device,
                           text->options.top == UL_TEXT_DEFAULT_TOP ? 1 : text->options.top, err));
  if (device->has_what_if)
    ul_what_if_text(text, device);
  return UL_OK;
}

ul_status ul_replay_view_text(const ul_replay_view *view, const ul_report_options *options,
                              ul_write *write, void *arg, ul_error *err) {
  ul_text text;
  size_t shown = 0, i;

  ul_text_init(&text, options, write, arg);
  ul_proof_text(&text, view);
  if (!view->count) {
    ul_text_put(&text, "The file holds no device's memory: no segments, no entries.\n");
  } else {
    UL_TRY(device_text(&text, view, view->devices[view->main], err));
    for (i = 0; i < view->count; i++) {
      if (i == view->main)
        continue;
      if (shown++ < OTHER_DEVICES_SHOWN || text.options.verbosity > 0)
        UL_TRY(other_device_text(&text, view, view->devices[i], err));
    }
    if (shown > OTHER_DEVICES_SHOWN && text.options.verbosity <= 0)
      ul_text_printf(&text, "and %zu more devices (-v)\n", shown - OTHER_DEVICES_SHOWN);
  }
  warnings_text(&text, view->info->warnings, view->info->warning_count);
  return ul_text_finish(&text, err);
}

ul_status ul_report_replay_text(const ul_replay *replay, const ul_report_options *options,
                                ul_write *write, void *arg, ul_error *err) {
  return ul_replay_view_report(replay, ul_replay_view_text, options, write, arg, err);
}
