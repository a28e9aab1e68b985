/* SPDX-License-Identifier: MIT */
/* What a file holds, on one screen. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "report/info.h"
#include "report/text.h"
#include "report/words.h"

enum { SHARES_SHOWN = 6, WARNINGS_SHOWN = 5 };

static void file_text(ul_text *text, const ul_info *info) {
  const ul_source_info *f = info->facts;
  char size[UL_WORD], release[UL_WORD];
  ul_line line;

  ul_line_clear(&line);
  ul_line_add(&line, "%s: %s in %s (protocol %u), %s", f->path, f->format, f->encoding,
              f->pickle_protocol, ul_word_bytes(size, f->input_bytes, text->options.exact_bytes));
  if (f->carriers[0])
    ul_line_add(&line, " of %s, %s inside", f->carriers,
                ul_word_bytes(size, f->content_bytes, text->options.exact_bytes));
  ul_text_wrap(text, 0, 2, line.text);

  ul_line_clear(&line);
  ul_line_add(&line, "     %s", f->era);
  if (f->releases.oldest && f->releases.newest)
    ul_line_add(&line, " (keys of releases %s to", ul_word_release(release, f->releases.oldest));
  if (f->releases.oldest && f->releases.newest)
    ul_line_add(&line, " %s)", ul_word_release(release, f->releases.newest));
  else if (f->releases.oldest)
    ul_line_add(&line, " (keys of release %s or later)",
                ul_word_release(release, f->releases.oldest));
  ul_line_add(&line, "; back end %s", f->backend);
  ul_text_heading(text, "Writer", line.text);

  ul_line_clear(&line);
  if (f->settings_recorded)
    ul_line_add(&line, "   PYTORCH_CUDA_ALLOC_CONF=\"%s\"", f->settings_recorded);
  if (f->settings && (!f->settings_recorded || strcmp(f->settings, f->settings_recorded) != 0))
    ul_line_add(&line, "%s%s", f->settings_recorded ? ", in force: " : "   in force: ",
                f->settings[0] ? f->settings : "defaults");
  if (!f->settings && !f->settings_recorded)
    ul_line_add(&line, "   not recorded");
  ul_text_heading(text, "Settings", line.text);
}

static void state_text(ul_text *text, const ul_info_device *d) {
  static const char *const states[] = {"inactive", "active_allocated", "active_pending_free"};
  char size[UL_WORD], count[UL_WORD];
  int exact = text->options.exact_bytes;
  ul_line line;
  size_t i;

  ul_line_clear(&line);
  ul_line_add(&line, "  Segments  %s,",
              ul_word_count(count, d->segments.count, "segment", "segments"));
  ul_line_add(&line, " %s: %" PRIu64 " small", ul_word_bytes(size, d->segments.bytes, exact),
              d->small_segments.count);
  ul_line_add(&line, " (%s), %" PRIu64 " large",
              ul_word_bytes(size, d->small_segments.bytes, exact), d->large_segments.count);
  ul_line_add(&line, " (%s)", ul_word_bytes(size, d->large_segments.bytes, exact));
  if (d->expandable_segments.count)
    ul_line_add(&line, "; %" PRIu64 " expandable", d->expandable_segments.count);
  ul_text_wrap(text, 0, 12, line.text);

  ul_line_clear(&line);
  ul_line_add(&line, "  Blocks   ");
  for (i = 0; i < UL_INFO_BLOCK_STATES; i++) {
    if (d->blocks[i].count)
      ul_line_add(&line, " %" PRIu64 " %s (%s)%s", d->blocks[i].count, states[i],
                  ul_word_bytes(size, d->blocks[i].bytes, exact),
                  i + 1 < UL_INFO_BLOCK_STATES && d->blocks[i + 1].count ? "," : "");
  }
  ul_line_add(&line, "; %s requested", ul_word_bytes(size, d->requested_bytes, exact));
  ul_text_wrap(text, 0, 12, line.text);
}

static void entries_text(ul_text *text, const ul_info_device *d) {
  const ul_recording *r = d->recording;
  char count[UL_WORD], span[UL_WORD];
  int first = 1;
  ul_line line;
  int a;

  ul_line_clear(&line);
  ul_line_add(&line, "  Entries   %" PRIu64, r->count);
  for (a = 0; a < UL_ACTION_COUNT; a++) {
    if (r->action_counts[a]) {
      ul_line_add(&line, "%s %" PRIu64 " %s", first ? ":" : ",", r->action_counts[a],
                  ul_action_name((ul_action)a));
      first = 0;
    }
  }
  ul_text_wrap(text, 0, 12, line.text);
  if (r->last_time_ns > r->first_time_ns)
    ul_text_printf(text, "  Time      %s\n",
                   ul_word_duration(span, r->last_time_ns - r->first_time_ns));
  if (!r->has_trace)
    return;

  ul_line_clear(&line);
  ul_line_add(&line, "  History   ");
  if (d->is_complete) {
    ul_line_add(&line, "complete: it begins with an empty allocator and explains all memory");
  } else {
    ul_line_add(&line, "begins mid-run");
    if (d->older_blocks)
      ul_line_add(&line, ": older than it are %s that stay live",
                  ul_word_count(count, d->older_blocks, "block", "blocks"));
    if (d->older_frees)
      ul_line_add(&line, "%s %s freed in it", d->older_blocks ? " and" : ": older than it are",
                  ul_word_count(count, d->older_frees, "block", "blocks"));
    if (d->older_bytes)
      ul_line_add(&line, ", with %s reserved when it begins",
                  ul_word_bytes(count, d->older_bytes, text->options.exact_bytes));
  }
  ul_text_wrap(text, 0, 12, line.text);
  if (d->last_oom != UINT64_MAX)
    ul_text_printf(text, "  OOM       last at event %" PRIu64 "%s\n", d->last_oom,
                   d->ends_in_oom ? ", where the recording ends" : "");
}

static void add_share(ul_line *line, const ul_info_share *share, const char *name, int exact,
                      int first, int requests_known) {
  char size[UL_WORD], count[UL_WORD], requests[UL_WORD];

  ul_line_add(line, "%s%s: %s, %s", first ? "" : "; ", name,
              ul_word_count(count, share->segments.count, "segment", "segments"),
              ul_word_bytes(size, share->segments.bytes, exact));
  if (share->requests.count && requests_known)
    ul_line_add(line, ", %s",
                ul_word_count(requests, share->requests.count, "request", "requests"));
}

static void shares_text(ul_text *text, const ul_info *info, const ul_info_device *d, int pools) {
  const ul_info_share *shares = pools ? d->pools : d->streams;
  size_t count = pools ? info->facts->pool_count : info->facts->stream_count, i;
  size_t shown = 0, limit = text->options.verbosity > 0 ? SIZE_MAX : SHARES_SHOWN, left = 0;
  ul_line line;

  ul_line_clear(&line);
  ul_line_add(&line, pools ? "  Pools     " : "  Streams   ");
  for (i = 0; i < count; i++) {
    char name[64];
    uint64_t pair[2] = {0, 0};
    if (!shares[i].segments.count && !shares[i].requests.count)
      continue;
    if (shown >= limit) {
      left++;
      continue;
    }
    if (pools && ul_source_pool(info->source, (uint32_t)i, pair))
      snprintf(name, sizeof(name), "(%" PRIu64 ", %" PRIu64 ")", pair[0], pair[1]);
    else if (pools)
      snprintf(name, sizeof(name), "pool %zu", i);
    else
      snprintf(name, sizeof(name), "0x%" PRIx64, ul_source_stream(info->source, (uint32_t)i));
    add_share(&line, &shares[i], name, text->options.exact_bytes, shown == 0,
              !pools || info->facts->has_pool_ids || info->facts->pool_count == 1);
    shown++;
  }
  if (left)
    ul_line_add(&line, "; and %zu more (-v)", left);
  if (shown)
    ul_text_wrap(text, 0, 12, line.text);
}

static void stacks_text(ul_text *text, const ul_info *info) {
  const ul_source_info *f = info->facts;
  char count[UL_WORD], more[UL_WORD];
  ul_line line;

  if (!f->has_frames)
    return;
  ul_line_clear(&line);
  ul_line_add(&line, "     %s", ul_word_count(count, f->stack_count, "stack", "stacks"));
  ul_line_add(&line, " of %s",
              ul_word_count(more, f->frame_count, "distinct frame", "distinct frames"));
  if (f->stack_count && f->frame_count)
    ul_line_add(&line, ", used %.1f and %.1f times each",
                (double)info->stack_references / (double)f->stack_count,
                (double)info->frame_references / (double)f->frame_count);
  ul_text_heading(text, "Stacks", line.text);
}

static void marks_text(ul_text *text, const ul_info *info) {
  char count[UL_WORD];
  ul_line line;
  size_t i;

  if (!info->facts->mark_count)
    return;
  ul_line_clear(&line);
  ul_line_add(&line, "      %s", ul_word_count(count, info->facts->mark_count, "mark", "marks"));
  for (i = 0; i < info->name_count; i++)
    ul_line_add(&line, "%s%s x%" PRIu64, i ? ", " : ": ", info->names[i].name,
                info->names[i].count);
  ul_text_heading(text, "Marks", line.text);
}

static void notes_text(ul_text *text, const ul_info *info) {
  const ul_source_info *f = info->facts;
  size_t shown = text->options.verbosity > 0 ? SIZE_MAX : WARNINGS_SHOWN, i;
  ul_line line;

  if (info->lack_count) {
    ul_line_clear(&line);
    ul_line_add(&line, "    ");
    for (i = 0; i < info->lack_count; i++)
      ul_line_add(&line, "%s %s", i ? ";" : "", info->lacks[i]);
    ul_text_heading(text, "Missing", line.text);
  }
  for (i = 0; i < f->warning_count && i < shown; i++) {
    ul_line_clear(&line);
    ul_line_add(&line, " %s", f->warnings[i].text);
    if (f->warnings[i].count > 1)
      ul_line_add(&line, " (%" PRIu64 " times)", f->warnings[i].count);
    ul_text_heading(text, "Note:", line.text);
  }
  if (i < f->warning_count)
    ul_text_printf(text, "and %zu more notes (-v)\n", f->warning_count - i);
}

ul_status ul_report_info_text(const ul_source *source, const ul_report_options *options,
                              ul_write *write, void *arg, ul_error *err) {
  ul_text text;
  ul_info info;
  size_t i;

  if (!source || !write)
    return ul_fail(err, UL_E_INVALID, 0, "a report needs a source and somewhere to write to");
  UL_TRY(ul_info_collect(&info, source, err));
  ul_text_init(&text, options, write, arg);
  file_text(&text, &info);
  for (i = 0; i < info.facts->device_count; i++) {
    const ul_info_device *d = &info.devices[i];
    char heading[UL_WORD];
    snprintf(heading, sizeof(heading), "Device %u", d->recording->device);
    ul_text_heading(&text, heading, "");
    state_text(&text, d);
    entries_text(&text, d);
    if (text.options.verbosity >= 0) {
      shares_text(&text, &info, d, 0);
      shares_text(&text, &info, d, 1);
    }
  }
  if (!info.facts->device_count)
    ul_text_put(&text, "No device has segments or entries in this file.\n");
  stacks_text(&text, &info);
  marks_text(&text, &info);
  if (text.options.verbosity >= 0)
    notes_text(&text, &info);
  ul_info_release(&info);
  return ul_text_finish(&text, err);
}
