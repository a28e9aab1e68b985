/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "parsers/parser.h"

static const ul_parser *const parsers[] = {&ul_parser_snapshot};

const ul_parser *ul_parser_find(const uint8_t *bytes, size_t size) {
  size_t i;

  for (i = 0; i < sizeof(parsers) / sizeof(parsers[0]); i++) {
    if (parsers[i]->sniff(bytes, size))
      return parsers[i];
  }
  return NULL;
}

/* --- what it is instead --- */

static const uint8_t *skip_space(const uint8_t *bytes, size_t size) {
  const uint8_t *at = bytes, *end = bytes + size;

  if (size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
    at += 3;
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
    at++;
  return at;
}

static int begins(const uint8_t *bytes, size_t size, const char *text) {
  const uint8_t *at = skip_space(bytes, size);
  size_t length = strlen(text);

  return (size_t)(bytes + size - at) >= length && strncasecmp((const char *)at, text, length) == 0;
}

static int holds(const uint8_t *bytes, size_t size, const char *text) {
  size_t length = strlen(text), i;

  for (i = 0; i + length <= size; i++) {
    if (memcmp(bytes + i, text, length) == 0)
      return 1;
  }
  return 0;
}

static int is_html(const uint8_t *bytes, size_t size) {
  return begins(bytes, size, "<!doctype") || begins(bytes, size, "<html") ||
         begins(bytes, size, "<script") || begins(bytes, size, "<head") ||
         begins(bytes, size, "<body");
}

static int is_xml(const uint8_t *bytes, size_t size) {
  return begins(bytes, size, "<");
}

static int is_kineto(const uint8_t *bytes, size_t size) {
  return (begins(bytes, size, "{") || begins(bytes, size, "[")) &&
         (holds(bytes, size, "\"traceEvents\"") || holds(bytes, size, "\"schemaVersion\"") ||
          holds(bytes, size, "\"ph\""));
}

static int is_json(const uint8_t *bytes, size_t size) {
  return begins(bytes, size, "{") || begins(bytes, size, "[");
}

static int is_zip(const uint8_t *bytes, size_t size) {
  return size >= 4 && memcmp(bytes, "PK\003\004", 4) == 0;
}

static int is_bzip2(const uint8_t *bytes, size_t size) {
  return size >= 4 && memcmp(bytes, "BZh", 3) == 0 && bytes[3] >= '1' && bytes[3] <= '9';
}

static int is_xz(const uint8_t *bytes, size_t size) {
  return size >= 6 && memcmp(bytes,
                             "\xfd"
                             "7zXZ\0",
                             6) == 0;
}

static int is_tar(const uint8_t *bytes, size_t size) {
  return size >= 262 && memcmp(bytes + 257, "ustar", 5) == 0;
}

static int is_sqlite(const uint8_t *bytes, size_t size) {
  return size >= 16 && memcmp(bytes, "SQLite format 3", 16) == 0;
}

static int is_oom_message(const uint8_t *bytes, size_t size) {
  return holds(bytes, size, "out of memory") || holds(bytes, size, "memory summary");
}

static int is_text(const uint8_t *bytes, size_t size) {
  size_t i;

  for (i = 0; i < size; i++) {
    if (bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\t' &&
        bytes[i] != '\f' && bytes[i] != 0x1b)
      return 0;
  }
  return 1;
}

/* First match. */
static const struct {
  int (*is)(const uint8_t *bytes, size_t size);
  const char *sentence;
} others[] = {
    {is_zip,
     "this is a zip archive (torch.save writes one); save the snapshot with pickle.dump, or "
     "with torch.cuda.memory._dump_snapshot"},
    {is_html, "this is an HTML page, not a snapshot; give the .pickle file that the page was made "
              "from"},
    {is_kineto, "this is a profiler trace (JSON), not a memory snapshot; make one with "
                "torch.cuda.memory._dump_snapshot"},
    {is_json, "this is JSON; memory snapshots are read as pickles, the form that "
              "torch.cuda.memory._dump_snapshot writes"},
    {is_xml, "this is XML, not a memory snapshot"},
    {is_tar, "this is a tar archive; unpack it and give the snapshot inside"},
    {is_bzip2, "this is compressed with bzip2; unpack it first (gzip and zstd open by themselves)"},
    {is_xz, "this is compressed with xz; unpack it first (gzip and zstd open by themselves)"},
    {is_sqlite, "this is an SQLite database, not a memory snapshot"},
    {is_oom_message, "this is the text of a memory message, not a memory snapshot"},
    {is_text, "this is plain text, not a memory snapshot"},
};

ul_status ul_parser_none(const uint8_t *bytes, size_t size, ul_error *err) {
  size_t i;

  if (!size)
    return ul_fail(err, UL_E_FORMAT, 0, "the input is empty");
  for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
    if (others[i].is(bytes, size))
      return ul_fail(err, UL_E_FORMAT, 0, "%s", others[i].sentence);
  }
  return ul_fail(err, UL_E_FORMAT, 0,
                 "not a memory snapshot: a pickle is expected, found bytes that begin with 0x%02x",
                 bytes[0]);
}
