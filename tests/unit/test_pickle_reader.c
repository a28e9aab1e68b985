/* SPDX-License-Identifier: MIT */
#include "parsers/pickle_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>

#include "base/error.h"
#include "tests/support/byte_feed.h"

/* --- values as text, the way Python's repr has them --- */

struct text {
  char bytes[8192];
  size_t used;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *text, const char *format, ...) {
  va_list args;

  va_start(args, format);
  text->used +=
      (size_t)vsnprintf(text->bytes + text->used, sizeof(text->bytes) - text->used, format, args);
  va_end(args);
  cr_assert(text->used < sizeof(text->bytes));
}

static void render(struct text *text, const ul_heap *heap, ul_value value, int depth);

static void render_object(struct text *text, const ul_heap *heap, const ul_object *object,
                          int depth) {
  static const char *const brackets[] = {"", "[]", "()", "{}", "{}"};
  uint32_t i;

  put(text, "%c", brackets[object->kind][0]);
  for (i = 0; i < object->count; i++) {
    if (i)
      put(text, object->kind == UL_OBJECT_DICT && i % 2 ? ": " : ", ");
    render(text, heap, object->u.items[i], depth + 1);
  }
  put(text, "%c", brackets[object->kind][1]);
}

static void render(struct text *text, const ul_heap *heap, ul_value value, int depth) {
  uint64_t magnitude;
  size_t size;
  int negative;

  value = ul_heap_follow(heap, value);
  if (depth > 4)
    put(text, "...");
  else if (value == UL_VALUE_NONE)
    put(text, "None");
  else if (ul_value_tag(value) == UL_TAG_SPECIAL)
    put(text, "%s", value == UL_VALUE_TRUE ? "True" : "False");
  else if (ul_heap_int(heap, value, &magnitude, &negative))
    put(text, "%s%" PRIu64, negative ? "-" : "", magnitude);
  else if (ul_value_tag(value) == UL_TAG_FLOAT)
    put(text, "%.17g", heap->floats.items[ul_value_index(value)]);
  else if (ul_value_tag(value) == UL_TAG_STRING)
    put(text, "'%s'", ul_strtab_get(heap->strings, (uint32_t)ul_value_index(value), &size));
  else if (ul_value_tag(value) == UL_TAG_BYTES)
    put(text, "<%" PRIu64 " bytes>", ul_value_index(value));
  else if (ul_value_tag(value) == UL_TAG_PAIR)
    put(text, "(%" PRIu64 ", %" PRIu64 ")", heap->pairs.items[2 * ul_value_index(value)],
        heap->pairs.items[2 * ul_value_index(value) + 1]);
  else
    render_object(text, heap, ul_heap_object(heap, value), depth);
}

/* Reads bytes in pieces of `chunk`. */
static ul_status read_chunks(const void *bytes, size_t size, size_t chunk, struct text *text,
                             ul_error *err) {
  struct byte_feed feed = {bytes, size, 0, chunk};
  ul_bytes *in = NULL;
  ul_heap heap;
  ul_value value = UL_VALUE_UNSET;
  unsigned protocol;
  ul_status status;

  text->used = 0;
  text->bytes[0] = '\0';
  cr_assert(eq(int, ul_bytes_open_reader(&in, feed_bytes, &feed, size, err), UL_OK));
  cr_assert(eq(int, ul_heap_init(&heap, err), UL_OK));
  status = ul_pickle_read(in, &heap, &value, &protocol, err);
  if (status == UL_OK)
    render(text, &heap, value, 0);
  cr_expect(heap.held <= heap.limit);
  ul_heap_release(&heap);
  ul_bytes_close(in);
  return status;
}

static struct text text;

/* The same whole and byte by byte. */
static ul_status read_text(const void *bytes, size_t size, ul_error *err) {
  static struct text bits;
  ul_error second = {0};
  ul_status status;

  memset(err, 0, sizeof(*err));
  status = read_chunks(bytes, size, SIZE_MAX, &text, err);
  cr_expect(eq(int, read_chunks(bytes, size, 1, &bits, &second), status));
  cr_expect(eq(str, bits.bytes, text.bytes));
  cr_expect(eq(str, second.message, err->message));
  return status;
}

#define BYTES(literal) literal, sizeof(literal) - 1

/* --- what every opcode gives; expectations are what Python 3.11's pickle.loads printed --- */

struct reading {
  const char *bytes;
  size_t size;
  const char *expected;
};

static const struct reading readings[] = {
    {BYTES("N."), "None"},
    {BYTES("\x88."), "True"},
    {BYTES("\x89."), "False"},
    {BYTES("I01\n."), "True"},
    {BYTES("I00\n."), "False"},
    {BYTES("I1\n."), "1"},
    {BYTES("I-77\n."), "-77"},
    {BYTES("K\xff."), "255"},
    {BYTES("M\xff\xfe."), "65279"},
    {BYTES("J\xff\xff\xff\xff."), "-1"},
    {BYTES("J\xff\xff\xff\x7f."), "2147483647"},
    {BYTES("L123456789012L\n."), "123456789012"},
    {BYTES("L-5\n."), "-5"},
    {BYTES("\x8a\x00."), "0"},
    {BYTES("\x8a\x01\xff."), "-1"},
    {BYTES("\x8a\x02\xff\x00."), "255"},
    {BYTES("\x8a\x06\x00\x00\x00\x00\x00\x7f."), "139637976727552"},
    {BYTES("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."), "9223372036854775807"},
    {BYTES("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."), "-9223372036854775808"},
    {BYTES("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x08."), "576460752303423488"}, /* 2^59 */
    {BYTES("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."), "18446744073709551615"},
    {BYTES("\x8b\x02\x00\x00\x00\x00\x01."), "256"},
    {BYTES("F1.5\n."), "1.5"},
    {BYTES("F-1e3\n."), "-1000"},
    {BYTES("G?\xf8\x00\x00\x00\x00\x00\x00."), "1.5"},
    {BYTES("G?\xb9\x99\x99\x99\x99\x99\x9a."), "0.10000000000000001"},
    {BYTES("S'abc'\n."), "'abc'"},
    {BYTES("S\"it's\"\n."), "'it's'"},
    {BYTES("S'a\\n\\x41\\101\\\\\\''\n."), "'a\nAA\\''"},
    {BYTES("V\\u00e9\\U0001f600\xe9!\n."), "'\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9!'"},
    {BYTES("U\x03"
           "abc."),
     "'abc'"},
    {BYTES("T\x03\x00\x00\x00"
           "abc."),
     "'abc'"},
    {BYTES("X\x02\x00\x00\x00\xc3\xa9."), "'\xc3\xa9'"},
    {BYTES("\x8c\x00."), "''"},
    {BYTES("\x8d\x03\x00\x00\x00\x00\x00\x00\x00"
           "abc."),
     "'abc'"},
    {BYTES("C\x02"
           "ab."),
     "<2 bytes>"},
    {BYTES("B\x02\x00\x00\x00"
           "ab."),
     "<2 bytes>"},
    {BYTES("\x8e\x02\x00\x00\x00\x00\x00\x00\x00"
           "ab."),
     "<2 bytes>"},
    {BYTES("\x96\x02\x00\x00\x00\x00\x00\x00\x00"
           "ab."),
     "<2 bytes>"},
    {BYTES("]."), "[]"},
    {BYTES("}."), "{}"},
    {BYTES(")."), "()"},
    {BYTES("\x8f."), "{}"},
    {BYTES("(l."), "[]"},
    {BYTES("(d."), "{}"},
    {BYTES("(t."), "()"},
    {BYTES("(K\x01K\x02K\x03l."), "[1, 2, 3]"},
    {BYTES("(K\x01K\x02K\x03t."), "(1, 2, 3)"},
    {BYTES("(U\x01"
           "aK\x01U\x01"
           "bK\x02"
           "d."),
     "{'a': 1, 'b': 2}"},
    {BYTES("K\x01\x85."), "(1)"},
    {BYTES("K\x01K\x02\x86."), "(1, 2)"},
    {BYTES("NK\x02\x86."), "(None, 2)"},
    {BYTES("\x88K\x02\x86."), "(True, 2)"},
    {BYTES("K\x01K\x02K\x03\x87."), "(1, 2, 3)"},
    {BYTES("]K\x07"
           "a."),
     "[7]"},
    {BYTES("](K\x01K\x02"
           "e."),
     "[1, 2]"},
    {BYTES("](e."), "[]"},
    {BYTES("}(u."), "{}"},
    {BYTES("}U\x01"
           "aK\x01s."),
     "{'a': 1}"},
    {BYTES("}(U\x01"
           "aK\x01U\x01"
           "bK\x02u."),
     "{'a': 1, 'b': 2}"},
    {BYTES("\x8f(K\x01K\x02\x90."), "{1, 2}"},
    {BYTES("(K\x01K\x02\x91."), "{1, 2}"},
    {BYTES("K\x01K\x02"
           "0."),
     "1"},
    {BYTES("K\x01(0."), "1"},
    {BYTES("K\x01(K\x02K\x03"
           "1."),
     "1"},
    {BYTES("](K\x07"
           "2e."),
     "[7, 7]"},
    {BYTES("](U\x01xp0\n0g0\ng0\ne."), "['x', 'x']"},
    {BYTES("](U\x01xq\x05"
           "0h\x05h\x05"
           "e."),
     "['x', 'x']"},
    {BYTES("](U\x01xr\x05\x00\x00\x00"
           "0j\x05\x00\x00\x00h\x05"
           "e."),
     "['x', 'x']"},
    {BYTES("\x80\x04](U\x01x\x94h\x00h\x00"
           "e."),
     "['x', 'x', 'x']"},
    {BYTES("](]q\x00h\x00h\x00K\x01"
           "ae."),
     "[[1], [1], [1]]"}, /* one list three times, changed through the last */
    {BYTES("]\x94h\x00"
           "a."),
     "[[[[[...]]]]]"},
    {BYTES("}\x94(K\x01h\x00u."), "{1: {1: {1: {1: {...: ...}}}}}"},
    {BYTES("\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00N.rest"), "None"},
    {BYTES("\x80\x05N.\xff\xff"), "None"},
};

Test(pickle_reader, every_opcode_gives_what_python_gives) {
  ul_error err;
  size_t i;

  for (i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
    cr_expect(eq(int, read_text(readings[i].bytes, readings[i].size, &err), UL_OK), "%s: %s",
              readings[i].expected, err.message);
    cr_expect(eq(str, text.bytes, (char *)readings[i].expected));
  }
}

Test(pickle_reader, a_pickle_cut_anywhere_is_an_error) {
  ul_error err;
  size_t i, size;

  for (i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
    for (size = 0; size < readings[i].size; size++) {
      if (memchr(readings[i].bytes, '.', size) && readings[i].expected[0] == 'N')
        continue; /* bytes after STOP */
      if (read_text(readings[i].bytes, size, &err) == UL_OK)
        /* A '.' inside an operand: only if the whole begins with a smaller pickle. */
        cr_expect(memchr(readings[i].bytes, '.', size) != NULL, "%s cut at %zu",
                  readings[i].expected, size);
      else
        cr_expect(err.message[0] != '\0');
    }
  }
}

/* --- refused, malformed, too much --- */

struct failing {
  const char *bytes;
  size_t size;
  ul_status status;
  uint64_t offset;
  const char *says;
};

static const struct failing failures[] = {
    /* would run code */
    {BYTES("cos\nsystem\n(S'ls'\ntR."), UL_E_REFUSED, 0, "GLOBAL at byte 0 would import os.system"},
    {BYTES("(S'ls'\nios\nsystem\n."), UL_E_REFUSED, 7, "INST at byte 7 would import os.system"},
    {BYTES("\x80\x04\x8c\x02os\x8c\x06system\x93."), UL_E_REFUSED, 14,
     "STACK_GLOBAL at byte 14 would import os.system"},
    {BYTES("\x93."), UL_E_REFUSED, 0, "STACK_GLOBAL at byte 0 would import ?.?"},
    {BYTES("NN\x93."), UL_E_REFUSED, 2, "import ?.?"},
    {BYTES("N)R."), UL_E_REFUSED, 2, "REDUCE at byte 2 would call a function"},
    {BYTES("NNb."), UL_E_REFUSED, 2, "BUILD at byte 2"},
    {BYTES("(No."), UL_E_REFUSED, 2, "OBJ at byte 2"},
    {BYTES("N)\x81."), UL_E_REFUSED, 2, "NEWOBJ at byte 2"},
    {BYTES("N)}\x92."), UL_E_REFUSED, 3, "NEWOBJ_EX at byte 3"},
    {BYTES("Pabc\n."), UL_E_REFUSED, 0,
     "PERSID at byte 0 would ask the program for the object 'abc'"},
    {BYTES("NQ."), UL_E_REFUSED, 1, "BINPERSID at byte 1"},
    {BYTES("\x82\x01."), UL_E_REFUSED, 0, "EXT1 at byte 0"},
    {BYTES("\x83\x01\x00."), UL_E_REFUSED, 0, "EXT2 at byte 0"},
    {BYTES("\x84\x01\x00\x00\x00."), UL_E_REFUSED, 0, "EXT4 at byte 0"},
    {BYTES("\x97."), UL_E_REFUSED, 0, "NEXT_BUFFER at byte 0"},
    {BYTES("N\x98."), UL_E_REFUSED, 1, "READONLY_BUFFER at byte 1"},
    {BYTES("c\x01\x02\xff\n\x1b[31m\n."), UL_E_REFUSED, 0, "import ???.?[31m"},
    /* the machine's own rules */
    {BYTES(""), UL_E_MALFORMED, 0, "ends after 0 bytes without its STOP"},
    {BYTES("\x80\x06N."), UL_E_FORMAT, 0, "protocol 6; this program reads 0 to 5"},
    {BYTES("\xff"), UL_E_MALFORMED, 0, "byte 0 is 0xff, which is no pickle opcode"},
    {BYTES("NA."), UL_E_MALFORMED, 1, "byte 1 is 0x41, which is no pickle opcode"},
    {BYTES("."), UL_E_MALFORMED, 0, "STOP at byte 0 needs 1 value on the stack, found 0"},
    {BYTES("0."), UL_E_MALFORMED, 0, "POP at byte 0 finds an empty stack"},
    {BYTES("1."), UL_E_MALFORMED, 0, "POP_MARK at byte 0 needs a MARK"},
    {BYTES("2."), UL_E_MALFORMED, 0, "DUP at byte 0 needs 1 value"},
    {BYTES("N(2."), UL_E_MALFORMED, 2, "DUP at byte 2 needs 1 value"}, /* not through the mark */
    {BYTES("t."), UL_E_MALFORMED, 0, "TUPLE at byte 0 needs a MARK"},
    {BYTES("N(\x85."), UL_E_MALFORMED, 2, "TUPLE1 at byte 2 needs 1 value"},
    {BYTES("N\x86."), UL_E_MALFORMED, 1, "TUPLE2 at byte 1 needs 2 values on the stack, found 1"},
    {BYTES("NN\x87."), UL_E_MALFORMED, 2, "TUPLE3 at byte 2 needs 3 values on the stack, found 2"},
    {BYTES("Na."), UL_E_MALFORMED, 1, "APPEND at byte 1 needs 2 values"},
    {BYTES("NNa."), UL_E_MALFORMED, 2, "a list is needed where there is a value of type NoneType"},
    {BYTES("}Na."), UL_E_MALFORMED, 2, "a list is needed where there is a value of type dict"},
    {BYTES(")Na."), UL_E_MALFORMED, 2, "a list is needed where there is a value of type tuple"},
    {BYTES("e."), UL_E_MALFORMED, 0, "APPENDS at byte 0 needs a MARK"},
    {BYTES("(e."), UL_E_MALFORMED, 1, "APPENDS at byte 1 finds nothing below its MARK"},
    {BYTES("N((e."), UL_E_MALFORMED, 3, "APPENDS at byte 3 finds nothing below its MARK"},
    {BYTES("K\x01(Ne."), UL_E_MALFORMED, 4, "a list is needed where there is a value of type int"},
    {BYTES("]NNs."), UL_E_MALFORMED, 3, "a dict is needed where there is a value of type list"},
    {BYTES("}(Nu."), UL_E_MALFORMED, 3, "a key without a value"},
    {BYTES("(Nd."), UL_E_MALFORMED, 2, "a key without a value"},
    {BYTES("(u."), UL_E_MALFORMED, 1, "SETITEMS at byte 1 finds nothing below its MARK"},
    {BYTES("}Ns."), UL_E_MALFORMED, 2, "SETITEM at byte 2 needs 3 values"},
    {BYTES("h\x00."), UL_E_MALFORMED, 0, "memo entry 0 is used but was never stored"},
    {BYTES("j\xff\xff\xff\xff."), UL_E_MALFORMED, 0, "memo entry 4294967295 is used"},
    {BYTES("Nq\x02h\x01."), UL_E_MALFORMED, 3, "memo entry 1 is used but was never stored"},
    {BYTES("g7\n."), UL_E_MALFORMED, 0, "memo entry 7 is used"},
    {BYTES("gx\n."), UL_E_MALFORMED, 0, "GET at byte 0 has a line that is no memo number"},
    {BYTES("g-1\n."), UL_E_MALFORMED, 0, "no memo number"},
    {BYTES("Npx\n."), UL_E_MALFORMED, 1, "PUT at byte 1 has a line that is no memo number"},
    {BYTES("p0\n."), UL_E_MALFORMED, 0, "PUT at byte 0 needs 1 value"},
    {BYTES("\x94."), UL_E_MALFORMED, 0, "MEMOIZE at byte 0 needs 1 value"},
    {BYTES("q\x00."), UL_E_MALFORMED, 0, "BINPUT at byte 0 needs 1 value"},
    {BYTES("Nr\xff\xff\xff\xff."), UL_E_MALFORMED, 1, "memo entry 4294967295, more than"},
    {BYTES("Np99999999999999999999\n."), UL_E_MALFORMED, 1, "more than the file can have used"},
    {BYTES("I\n."), UL_E_MALFORMED, 0, "INT at byte 0 has a line that is no integer"},
    {BYTES("I1x\n."), UL_E_MALFORMED, 0, "no integer"},
    {BYTES("I-\n."), UL_E_MALFORMED, 0, "no integer"},
    {BYTES("LL\n."), UL_E_MALFORMED, 0, "LONG at byte 0 has a line that is no integer"},
    {BYTES("F1.5x\n."), UL_E_MALFORMED, 0, "FLOAT at byte 0 has a line that is no number"},
    {BYTES("F\n."), UL_E_MALFORMED, 0, "no number"},
    {BYTES("Sabc\n."), UL_E_MALFORMED, 0, "STRING at byte 0 has a string without its quotes"},
    {BYTES("S'\n."), UL_E_MALFORMED, 0, "without its quotes"},
    {BYTES("S'abc\"\n."), UL_E_MALFORMED, 0, "without its quotes"},
    {BYTES("S'\\x4'\n."), UL_E_MALFORMED, 0, "broken escape"},
    {BYTES("S'\\'\n."), UL_E_MALFORMED, 0, "broken escape"},
    {BYTES("V\\u12\n."), UL_E_MALFORMED, 0, "UNICODE at byte 0 has a string with a broken escape"},
    {BYTES("V\\U00110000\n."), UL_E_MALFORMED, 0, "broken escape"},
    {BYTES("\x8b\xff\xff\xff\xff."), UL_E_MALFORMED, 0, "LONG4 at byte 0 has a negative length"},
    {BYTES("\x8b\xff\xff\xff\x7f."), UL_E_LIMIT, 0, "at most"},
    {BYTES("\x8d\xff\xff\xff\xff\xff\xff\xff\xff."), UL_E_LIMIT, 0, "at most"},
    {BYTES("X\xff\xff\xff\xff."), UL_E_LIMIT, 0, "string of 4294967295 bytes"},
    {BYTES("X\x00\x00\x10\x00"
           "abc"),
     UL_E_MALFORMED, 8, "inside opcode BINUNICODE at byte 0: the file is cut short"},
    {BYTES("B\xff\xff\xff\xff"
           "abc"),
     UL_E_MALFORMED, 8, "inside opcode BINBYTES"},
    {BYTES("\x8e\xff\xff\xff\xff\xff\xff\xff\xff"
           "abc"),
     UL_E_MALFORMED, 12, "inside opcode BINBYTES8"},
};

Test(pickle_reader, says_why_it_stops) {
  ul_error err;
  size_t i;

  for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
    cr_expect(eq(int, read_text(failures[i].bytes, failures[i].size, &err), failures[i].status),
              "%s: %s", failures[i].says, err.message);
    cr_expect(strstr(err.message, failures[i].says) != NULL, "'%s' in '%s'", failures[i].says,
              err.message);
    cr_expect(eq(u64, err.offset, failures[i].offset), "%s", err.message);
  }
}

/* Every byte as an opcode, with nothing, with rubbish and with a full stack before and behind it:
 * never a crash, always an answer. */
Test(pickle_reader, every_byte_as_opcode) {
  static const char *const before[] = {"", "N", "](", "}(NN", "(((", "]q\x01}q\x02K\x01"};
  static const char *const behind[] = {"", ".", "\xff\xff\xff\xff\xff\xff\xff\xff\xff.",
                                       "\x01\x01\x01\x01\x01\x01\x01\x01\x01.", "x\ny\n."};
  char bytes[64];
  size_t b, c, size;
  ul_error err;
  int op;

  for (op = 0; op < 256; op++) {
    for (b = 0; b < sizeof(before) / sizeof(before[0]); b++) {
      for (c = 0; c < sizeof(behind) / sizeof(behind[0]); c++) {
        size = (size_t)snprintf(bytes, sizeof(bytes), "%s", before[b]);
        bytes[size++] = (char)op;
        size += (size_t)snprintf(bytes + size, sizeof(bytes) - size, "%s", behind[c]);
        if (read_text(bytes, size, &err) != UL_OK)
          cr_assert(err.message[0] && err.status >= UL_E_OPEN && err.status < UL_E_NOMEM);
      }
    }
  }
}

/* --- bombs --- */

static ul_status read_repeated(const char *unit, size_t unit_size, size_t times, const char *end,
                               ul_error *err) {
  size_t size = unit_size * times + strlen(end), i;
  char *bytes = malloc(size);
  ul_status status;

  for (i = 0; i < times; i++)
    memcpy(bytes + i * unit_size, unit, unit_size);
  memcpy(bytes + i * unit_size, end, strlen(end));
  status = read_chunks(bytes, size, SIZE_MAX, &text, err);
  free(bytes);
  return status;
}

/* A value costs 8 bytes of stack, a container 32: 16 MiB of either are within 256 MiB + 2 * 16 MiB
 * or not (16 Mi * (8 + 32) = 640 MiB), and both end quickly. */
Test(pickle_reader, bombs_end_at_the_budget) {
  ul_error err;

  cr_expect(eq(int, read_repeated(BYTES("]"), 16 << 20, ".", &err), UL_E_LIMIT));
  cr_expect(strstr(err.message, "memory") != NULL, "%s", err.message);
  cr_expect(eq(int, read_repeated(BYTES("("), 16 << 20, ".", &err), UL_E_MALFORMED));
  cr_expect(eq(int, read_repeated(BYTES("N"), 16 << 20, ".", &err), UL_OK));
  cr_expect(eq(int, read_repeated(BYTES("}\x94"), 16 << 20, ".", &err), UL_E_LIMIT));
  cr_expect(eq(int, read_repeated(BYTES("N0"), 4 << 20, "N.", &err), UL_OK));
  cr_expect(eq(int, read_repeated(BYTES("]0"), 4 << 20, "N.", &err), UL_OK));
}

/* Each level mentions the one below twice: 2^60 leaves if anyone copied. */
Test(pickle_reader, billion_laughs_stay_shared) {
  char bytes[1024];
  size_t size = 0;
  ul_error err;
  int i;

  size += (size_t)sprintf(bytes, "]");
  bytes[size++] = '\x94';
  for (i = 0; i < 60; i++) {
    bytes[size++] = ']';
    bytes[size++] = '\x94';
    bytes[size++] = '(';
    bytes[size++] = 'h';
    bytes[size++] = (char)i;
    bytes[size++] = 'h';
    bytes[size++] = (char)i;
    bytes[size++] = 'e';
  }
  bytes[size++] = '.';
  cr_expect(eq(int, read_text(bytes, size, &err), UL_OK), "%s", err.message);
}

Test(pickle_reader, long_strings_and_containers_cross_windows) {
  enum { LENGTH = 600000, ITEMS = 300000 };
  char *bytes = malloc(LENGTH + 16 + 2 * ITEMS), *at = bytes;
  struct byte_feed feed;
  ul_bytes *in = NULL;
  ul_heap heap;
  ul_value value = 0, item;
  ul_error err = {0};
  unsigned protocol;
  size_t count, i;

  at += sprintf(at, "](X");
  *at++ = (char)(LENGTH & 255);
  *at++ = (char)(LENGTH >> 8 & 255);
  *at++ = (char)(LENGTH >> 16);
  *at++ = 0;
  memset(at, 'x', LENGTH);
  at += LENGTH;
  for (i = 0; i < ITEMS; i++) {
    *at++ = 'K';
    *at++ = (char)i;
  }
  *at++ = 'e';
  *at++ = '.';
  feed = (struct byte_feed){(uint8_t *)bytes, (size_t)(at - bytes), 0, 1000};
  cr_assert(eq(int, ul_bytes_open_reader(&in, feed_bytes, &feed, 0, &err), UL_OK));
  cr_assert(eq(int, ul_heap_init(&heap, &err), UL_OK));
  cr_assert(eq(int, ul_pickle_read(in, &heap, &value, &protocol, &err), UL_OK), "%s", err.message);
  cr_assert(ul_heap_is_list(&heap, value, &count));
  cr_assert(eq(sz, count, ITEMS + 1));
  item = ul_heap_item(&heap, value, 0);
  ul_strtab_get(heap.strings, (uint32_t)ul_value_index(item), &i);
  cr_expect(eq(sz, i, LENGTH));
  cr_expect(eq(u64, ul_value_index(ul_heap_item(&heap, value, ITEMS)), (ITEMS - 1) & 255));
  ul_heap_release(&heap);
  ul_bytes_close(in);
  free(bytes);
}

Test(pickle_reader, sniffs_pickles_and_nothing_else) {
  static const char *const yes[] = {"\x80\x02", "\x80\x04}", "(dp0\n",       "(lp0\n",
                                    "]q",       "}q",        "cos\nsystem\n"};
  static const char *const no[] = {"{\"a\"",           "[1]",   "<html", "PK\x03\x04",
                                   "computer says no", "cos\n", "N."};
  size_t i;

  for (i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
    cr_expect(ul_pickle_sniff((const uint8_t *)yes[i], strlen(yes[i])), "%s", yes[i]);
  for (i = 0; i < sizeof(no) / sizeof(no[0]); i++)
    cr_expect(not(ul_pickle_sniff((const uint8_t *)no[i], strlen(no[i]))), "%s", no[i]);
  cr_expect(not(ul_pickle_sniff(NULL, 0)));
}
