/* SPDX-License-Identifier: MIT */
/* ullage replay TRACE...: each trace read, replayed, reported. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ullage/device.h"
#include "ullage/model.h"
#include "ullage/replay.h"
#include "ullage/report.h"
#include "ullage/source.h"

#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/moment.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "ullage/nearest.h"

enum { JSON_TOP = 20 };

/* ---- sizes ---- */

static const char *next_gpu(size_t *index, void *arg) {
  const ul_gpu *gpu = ul_gpu_at((*index)++);

  (void)arg;
  return gpu ? gpu->name : NULL;
}

/* A size that was typed is repeated as it was understood: GB and GiB differ by 7 %. */
static void say_understood(const ul_settings *s, const char *option, const char *typed,
                           uint64_t bytes) {
  char size[32];

  if (typed && !s->json && s->verbosity >= 0)
    ul_say("--%s %s is %s (%" PRIu64 " bytes)", option, typed,
           ul_format_bytes(size, sizeof(size), bytes, 0), bytes);
}

static int read_size(const char *option, const char *text, uint64_t *out) {
  ul_error err;

  if (ul_parse_bytes(out, text, &err) != UL_OK)
    return ul_misuse("replay", "--%s: %s", option, err.message);
  return 0;
}

/* How many known GPUs have names that begin so; they go into names. */
static int starting_with(const char *typed, char *names, size_t size) {
  const ul_gpu *gpu;
  size_t i, used = 0;
  int matches = 0;

  names[0] = '\0';
  for (i = 0; *typed && (gpu = ul_gpu_at(i)) != NULL && used < size; i++) {
    if (strncasecmp(gpu->name, typed, strlen(typed)) != 0)
      continue;
    used += (size_t)snprintf(names + used, size - used, "%s%s", used ? ", " : "", gpu->name);
    matches++;
  }
  return matches;
}

static int read_memory(ul_settings *s) {
  const ul_gpu *gpu;
  const char *near;
  char names[256];
  int matches;

  if (s->memory && s->gpu)
    return ul_misuse("replay", "--memory and --gpu say the same thing; give one of them");
  if (s->reserve && !s->memory && !s->gpu)
    return ul_misuse("replay", "--reserve is a part of --memory or --gpu; give one of them too");
  if (s->memory) {
    if (read_size("memory", s->memory, &s->memory_bytes))
      return 2;
    if (!s->memory_bytes)
      return ul_misuse("replay", "--memory 0 leaves nothing to allocate");
  }
  if (s->gpu) {
    gpu = ul_gpu_find(s->gpu);
    near = gpu ? NULL : ul_nearest(s->gpu, next_gpu, NULL);
    matches = gpu ? 0 : starting_with(s->gpu, names, sizeof(names));
    if (matches == 1)
      near = names;
    if (matches > 1)
      return ul_misuse("replay", "GPU '%s' comes in several sizes: %s", s->gpu, names);
    if (near)
      return ul_misuse("replay", "unknown GPU '%s'; did you mean '%s'?", s->gpu, near);
    if (!gpu)
      return ul_misuse("replay", "unknown GPU '%s'; its size can be given as --memory", s->gpu);
    s->memory_bytes = gpu->memory_bytes;
  }
  if (s->reserve) {
    if (read_size("reserve", s->reserve, &s->reserve_bytes))
      return 2;
    if (s->reserve_bytes >= s->memory_bytes)
      return ul_misuse("replay", "--reserve %s leaves nothing of the memory", s->reserve);
  }
  say_understood(s, "memory", s->memory, s->memory_bytes);
  say_understood(s, "gpu", s->gpu, s->memory_bytes);
  say_understood(s, "reserve", s->reserve, s->reserve_bytes);
  return 0;
}

/* ---- one trace ---- */

static int fail(const char *path, const ul_error *err) {
  /* The reader names the path itself. */
  int named = strncmp(err->message, path, strlen(path)) == 0;

  ul_say("%s%s%s", named ? "" : path, named ? "" : ": ", err->message);
  return ul_status_exit_code(err->status);
}

static ul_replay_options replay_options(const ul_settings *s, const ul_conf *conf, ul_bar *bar) {
  ul_replay_options o = {.size = sizeof(o)};

  o.what_if_torch = s->torch;
  o.settings = conf->text;
  o.settings_variable = conf->variable;
  o.memory_bytes = s->memory_bytes;
  o.external_bytes = s->reserve_bytes;
  o.has_device = ul_opt_given(s, "device");
  o.device = (uint16_t)s->device;
  /* Text counts stacks of one line together, so it wants all of them. */
  o.top = !s->json ? 0 : ul_opt_given(s, "top") ? s->top : JSON_TOP;
  o.progress = ul_bar_progress;
  o.progress_arg = bar;
  return o;
}

/* --from and --to as event numbers of the device they are meant for: the one given, or the one with
 * most entries. Returns 0 or an exit code. */
static int read_window(const ul_settings *s, const ul_source *source, ul_replay_options *o) {
  const ul_recording *r = NULL, *candidate;
  char why[256];
  size_t i;

  if (!s->from && !s->to)
    return 0;
  for (i = 0; (candidate = ul_source_recording(source, i)) != NULL; i++) {
    if (o->has_device ? candidate->device == o->device : !r || candidate->count > r->count)
      r = candidate;
  }
  if (!r)
    return 0; /* the replay says what is wrong */
  o->has_device = 1;
  o->device = r->device;
  o->has_window = 1;
  o->to_event = UINT64_MAX;
  if (s->from && ul_moment_find(&o->from_event, source, r, s->from, 0, why, sizeof(why)))
    return ul_misuse("replay", "--from %s: %s", s->from, why);
  if (s->to && ul_moment_find(&o->to_event, source, r, s->to, 1, why, sizeof(why)))
    return ul_misuse("replay", "--to %s: %s", s->to, why);
  return 0;
}

/* 1 where a question that was asked is answered with no. */
static int answer(const ul_settings *s, const ul_replay *replay) {
  size_t count = ul_replay_device_count(replay), i;
  int code = s->strict && !count;

  for (i = 0; i < count; i++) {
    const ul_device_result *d = ul_replay_device(replay, i);
    if (s->strict && (!d->has_trace || !d->proof.holds))
      code = 1;
    if (s->memory_bytes && d->has_what_if && !d->what_if.fits)
      code = 1;
  }
  return code;
}

/* --torch asks for what the proof has told already: said, since nothing else shows it. */
static void say_alike(const ul_settings *s, const ul_replay *replay) {
  size_t i, count = ul_replay_device_count(replay);

  for (i = 0; s->torch && s->verbosity >= 0 && i < count; i++) {
    const ul_device_result *d = ul_replay_device(replay, i);
    if (!d->has_what_if)
      ul_say("device %u: PyTorch %s has the rules of the proof, so there is no what-if",
             (unsigned)d->device, s->torch);
  }
}

/* Writes what belongs between the reports of several traces. */
static void separate(const ul_settings *s, ul_out *out, const char *path, int first) {
  if (s->operand_count < 2)
    return;
  if (s->json)
    ul_out_printf(out, first ? "{\"schema\":\"ullage.replay_list/1\",\"replays\":[" : ",");
  else
    ul_out_printf(out, "%s==> %s <==\n", first ? "" : "\n", path);
}

static int report(const ul_settings *s, ul_out *out, const ul_replay *replay, const char *path) {
  const ul_report_options options = ul_terminal_report_options(s, out);
  ul_error err;
  ul_status status;

  status = s->json ? ul_report_replay_json(replay, &options, ul_out_write, out, &err)
                   : ul_report_replay_text(replay, &options, ul_out_write, out, &err);
  if (status == UL_OK || out->error || out->closed) /* ul_out_finish says what went wrong */
    return 0;
  return fail(path, &err);
}

static int replay_one(const ul_settings *s, const ul_conf *conf, ul_out *out, const char *path,
                      int *written) {
  ul_source_options source_options = {.size = sizeof(source_options)};
  ul_replay_options options;
  ul_source *source = NULL;
  ul_replay *replay = NULL;
  ul_status status;
  ul_error err;
  ul_bar bar;
  int code;

  ul_bar_begin(&bar, "reading", s);
  source_options.progress = ul_bar_progress;
  source_options.progress_arg = &bar;
  status = ul_source_open(&source, path, &source_options, &err);
  ul_bar_end(&bar);
  if (status != UL_OK)
    return fail(path, &err);

  options = replay_options(s, conf, &bar);
  code = read_window(s, source, &options);
  if (code) {
    ul_source_close(source);
    return code;
  }
  ul_bar_begin(&bar, "replaying", s);
  status = ul_replay_run(&replay, source, &options, &err);
  ul_bar_end(&bar);
  if (status == UL_OK) {
    separate(s, out, path, !*written);
    *written = 1;
    say_alike(s, replay);
    code = report(s, out, replay, path);
    if (!code)
      code = answer(s, replay);
  } else {
    code = fail(path, &err);
  }
  ul_replay_free(replay);
  ul_source_close(source);
  return code;
}

int ul_cmd_replay(const ul_settings *settings, ul_out *out) {
  ul_settings s = *settings;
  int code = read_memory(&s), written = 0, i;
  ul_conf conf;

  if (!code)
    code = ul_check_torch("replay", &s);
  if (!code)
    code = ul_read_conf(&conf, "replay", &s);
  if (code)
    return code;
  if (s.device > UINT16_MAX)
    return ul_misuse("replay", "there is no device %u", s.device);
  for (i = 0; i < s.operand_count && !out->error && !out->closed; i++) {
    int one = replay_one(&s, &conf, out, s.operands[i], &written);
    if (one == 2) /* misuse: it would be the same for every trace */
      return one;
    code = one > code ? one : code;
  }
  if (s.json && s.operand_count > 1)
    ul_out_printf(out, "%s]}\n",
                  written ? "" : "{\"schema\":\"ullage.replay_list/1\",\"replays\":[");
  return code;
}
