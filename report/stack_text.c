/* SPDX-License-Identifier: MIT */
#include "report/stack_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "report/text.h"

/* C++ frames have line 0 and no file ("" or "??"), or name a source file of the interpreter. */
static int is_python(const ul_frame *frame) {
  static const char *const compiled[] = {".c", ".cc", ".cpp", ".cu", ".h", ".hpp", ".pyx"};
  const char *end = strrchr(frame->filename, '.');
  size_t i;

  for (i = 0; end && i < sizeof(compiled) / sizeof(compiled[0]); i++) {
    if (strcmp(end, compiled[i]) == 0)
      return 0;
  }
  return frame->line > 0 && frame->filename[0] && strcmp(frame->filename, "??") != 0;
}

/* Code without a file: typed into an interpreter it is the user's, generated it is not. */
static int is_typed(const char *path) {
  return strncmp(path, "<ipython", 8) == 0 || strcmp(path, "<stdin>") == 0;
}

/* One folder or file name of a path. Backslashes separate too: recordings come from Windows. */
typedef struct part {
  const char *text;
  size_t size;
} part;

static part next_part(const char **path) {
  part out = {*path, strcspn(*path, "/\\")};

  *path += out.size;
  if (**path)
    (*path)++;
  return out;
}

static int is(part p, const char *name) {
  return p.size == strlen(name) && strncasecmp(p.text, name, p.size) == 0;
}

static int begins(part p, const char *name) {
  return p.size >= strlen(name) && strncasecmp(p.text, name, strlen(name)) == 0;
}

static int is_in(part p, const char *const *names) {
  for (; *names; names++) {
    if (is(p, *names))
      return 1;
  }
  return 0;
}

int ul_frame_is_users(const ul_frame *frame) {
  /* What lies in PyTorch's own folder; a user's folder may be called torch as well. */
  static const char *const of_torch[] = {
      "nn",      "optim",         "autograd",   "utils",       "cuda", "amp",
      "fx",      "jit",           "func",       "distributed", "ao",   "sparse",
      "special", "functional.py", "library.py", "storage.py",  NULL};
  static const char *const site[] = {"site-packages", "dist-packages", NULL};
  static const char *const lib[] = {"lib", "lib64", NULL};
  const char *path = frame->filename;
  part before = {"", 0}, at = {"", 0}, after;
  int in_library = 0, in_site = 0;

  if (!is_python(frame) || (path[0] == '<' && !is_typed(path)))
    return 0;
  for (after = next_part(&path); after.size || *path; after = next_part(&path)) {
    if (is(at, "torch") && (is_in(before, site) || is_in(after, of_torch) || begins(after, "_")))
      return 0;
    in_site |= is_in(at, site);
    in_library |= is_in(at, lib) && (begins(before, "python") || begins(after, "python"));
    before = at;
    at = after;
  }
  return in_site || !in_library;
}

/* How much a frame tells about who asked; 0 nothing. */
static int telling(const ul_frame *frame) {
  /* How every allocation gets to the allocator and into the recording. */
  static const char *const plumbing[] = {
      "torch::unwind", "torch::CapturedTraceback", "torch::cuda::", "c10::", "at::Tensor",
      "at::detail::"};
  const char *name = frame->name;
  size_t i;

  if (ul_frame_is_users(frame))
    return 5;
  if (is_python(frame))
    return 4;
  /* The backward pass runs in threads without Python; its nodes are named after the forward call.
   */
  if (strstr(name, "Backward") && strstr(name, "::apply("))
    return 3;
  if (strncmp(name, "at::native::", 12) == 0 && strncmp(name + 12, "empty", 5) != 0)
    return 2;
  for (i = 0; i < sizeof(plumbing) / sizeof(plumbing[0]); i++) {
    if (strncmp(name, plumbing[i], strlen(plumbing[i])) == 0)
      return 0;
  }
  return 1;
}

int ul_stack_find_user_frame(const ul_source *source, uint32_t stack, ul_frame *out) {
  const uint32_t *ids;
  size_t count = source ? ul_source_stack(source, stack, &ids) : 0, i;
  int best = -1;

  for (i = 0; i < count && best < 5; i++) {
    ul_frame frame;
    if (ul_source_frame(source, ids[i], &frame) && telling(&frame) > best) {
      best = telling(&frame);
      *out = frame;
    }
  }
  return best >= 0;
}

/* A C++ name without its arguments and the folders everybody knows. */
static void shorten_name(char *out, size_t size, const char *name) {
  static const char generated[] = "torch::autograd::generated::";
  static const char nameless[] = "(anonymous namespace)";
  const char *at;

  if (strncmp(name, generated, sizeof(generated) - 1) == 0)
    name += sizeof(generated) - 1;
  for (at = name; (at = strchr(at, '(')) != NULL; at++) {
    if (strncmp(at, nameless, sizeof(nameless) - 1) != 0)
      break;
  }
  snprintf(out, size, "%.*s%s", at && at > name ? (int)(at - name) : (int)strlen(name), name,
           at && at > name ? "()" : "");
}

/* The longest tail of path that starts after a separator and fits in width columns. */
static const char *shorten_path(const char *path, size_t width) {
  const char *at = path;

  while (ul_text_width(at) > width) {
    const char *next = strpbrk(at, "/\\");
    if (!next || !next[1])
      break;
    at = next + 1;
  }
  return at;
}

const char *ul_frame_describe(const ul_frame *frame, char *buffer, size_t size, size_t width) {
  char line[24] = "", whole[1024];
  const char *path = frame->filename, *name = frame->name;
  size_t fixed;

  if (!is_python(frame)) { /* a C++ name says it all */
    shorten_name(whole, sizeof(whole), name[0] ? name : "unknown place");
  } else {
    snprintf(line, sizeof(line), ":%" PRId64, frame->line);
    fixed = strlen(line) + 1 + ul_text_width(name);
    path = shorten_path(path, width > fixed + 8 ? width - fixed : 8);
    snprintf(whole, sizeof(whole), "%s%s%s%s", path, line, name[0] ? " " : "", name);
  }
  if (ul_text_width(whole) > width && width > 3) {
    size_t keep = 0, columns = 0;
    while (whole[keep] && (columns < width - 3 || (whole[keep] & 0xC0) == 0x80)) {
      columns += (whole[keep] & 0xC0) != 0x80;
      keep++;
    }
    snprintf(whole + keep, sizeof(whole) - keep, "...");
  }
  snprintf(buffer, size, "%s", whole);
  return buffer;
}
