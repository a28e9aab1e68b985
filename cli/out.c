/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "cli/out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/say.h"

static int complain(const char *path, const char *what) {
  ul_say("%s: %s", path, what);
  return 4;
}

/* Whether one of the inputs is the file that st describes. */
static int is_input(const ul_settings *settings, const struct stat *st) {
  struct stat input;
  int i;

  for (i = 0; i < settings->operand_count; i++) {
    if (strcmp(settings->operands[i], "-") != 0 && stat(settings->operands[i], &input) == 0 &&
        input.st_dev == st->st_dev && input.st_ino == st->st_ino)
      return 1;
  }
  return 0;
}

/* A file of a new name in the target's folder, with the mode that any new file would get. */
static int open_temporary(ul_out *out) {
  size_t size = strlen(out->target) + sizeof(".XXXXXX");
  mode_t mask = umask(0);

  umask(mask);
  out->temporary = malloc(size);
  if (!out->temporary)
    return complain(out->path, "not enough memory");
  snprintf(out->temporary, size, "%s.XXXXXX", out->target);
  out->fd = mkstemp(out->temporary);
  if (out->fd < 0) {
    free(out->temporary);
    out->temporary = NULL;
    return complain(out->path, strerror(errno));
  }
  (void)fchmod(out->fd, 0666 & ~mask);
  return 0;
}

static int open_path(ul_out *out, const char *command, const ul_settings *settings) {
  struct stat st;
  int exists = stat(out->path, &st) == 0;

  if (!*out->path)
    return ul_misuse(command, "--output names no file");
  if (exists && S_ISDIR(st.st_mode))
    return complain(out->path, "is a directory, not a file to write to");
  if (exists && !S_ISREG(st.st_mode)) { /* a device or a pipe: there is nothing to replace */
    out->fd = open(out->path, O_WRONLY | O_CLOEXEC);
    return out->fd < 0 ? complain(out->path, strerror(errno)) : 0;
  }
  if (exists && is_input(settings, &st))
    return ul_misuse(command, "the output '%s' is one of the inputs", out->path);
  if (exists && !settings->force)
    return ul_misuse(command, "the output '%s' exists; --force replaces it", out->path);
  /* A link stays a link: what it leads to is replaced. */
  out->target = exists ? realpath(out->path, NULL) : strdup(out->path);
  if (!out->target)
    return complain(out->path, strerror(errno));
  return open_temporary(out);
}

int ul_out_open(ul_out *out, const char *command, const ul_settings *settings) {
  int code;

  memset(out, 0, sizeof(*out));
  out->fd = STDOUT_FILENO;
  out->path = settings->output && strcmp(settings->output, "-") != 0 ? settings->output : NULL;
  out->force = settings->force;
  if (!out->path)
    return 0;
  code = open_path(out, command, settings);
  if (code)
    free(out->target);
  return code;
}

int ul_out_write(const void *bytes, size_t size, void *arg) {
  ul_out *out = arg;
  const char *at = bytes;

  while (size > 0 && !out->error && !out->closed) {
    ssize_t wrote = write(out->fd, at, size);
    if (wrote >= 0) {
      at += wrote;
      size -= (size_t)wrote;
    } else if (errno == EPIPE) {
      out->closed = 1;
    } else if (errno != EINTR) {
      out->error = errno;
    }
  }
  return out->error || out->closed;
}

void ul_out_printf(ul_out *out, const char *format, ...) {
  char text[2048];
  va_list args;
  int size;

  va_start(args, format);
  size = vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (size > 0)
    (void)ul_out_write(text, (size_t)size < sizeof(text) ? (size_t)size : sizeof(text) - 1, out);
}

void ul_out_json_string(ul_out *out, const char *text) {
  ul_out_printf(out, "\"");
  for (; *text; text++) {
    if (*text == '"' || *text == '\\')
      ul_out_printf(out, "\\");
    ul_out_printf(out, "%c", *text);
  }
  ul_out_printf(out, "\"");
}

/* Gives the finished file its name. Without --force a file that appeared meanwhile stays. */
static int publish(const ul_out *out) {
  if (out->force)
    return rename(out->temporary, out->target);
  if (link(out->temporary, out->target) == 0)
    return unlink(out->temporary);
  if (errno == EEXIST || access(out->target, F_OK) == 0)
    return -1;
  return rename(out->temporary, out->target); /* a file system without links */
}

int ul_out_finish(ul_out *out, int keep, int code) {
  if (out->path) {
    if (close(out->fd) != 0 && !out->error)
      out->error = errno;
    if (out->temporary && keep && !out->error && publish(out) != 0)
      out->error = errno;
    if (out->temporary && (!keep || out->error))
      unlink(out->temporary);
  }
  if (out->error) {
    complain(out->path ? out->path : "standard output", strerror(out->error));
    code = 4;
  }
  free(out->temporary);
  free(out->target);
  return code;
}
