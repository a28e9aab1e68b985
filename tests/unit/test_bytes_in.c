/* SPDX-License-Identifier: MIT */
#include "parsers/bytes_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/support/byte_feed.h"
#include "tests/support/held.h"

TestSuite(bytes_in, .fini = release_held);

enum { PLAIN_BYTES = 3 * UL_BYTES_WINDOW + 17 }; /* several windows, and an odd rest */

struct buffer {
  uint8_t *data;
  size_t size;
};

/* Text that compresses, but is nowhere the same. */
static struct buffer make_plain(size_t size) {
  struct buffer plain = {hold(size + 32), size};
  size_t at = 0;
  unsigned n = 0;

  while (at < size)
    at += (size_t)sprintf((char *)plain.data + at, "line %u\n", n++);
  return plain;
}

static struct buffer gzip(struct buffer from) {
  struct buffer to = {hold(from.size + 1024), 0};
  z_stream z = {0};

  cr_assert(eq(int, deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK));
  z.next_in = from.data;
  z.avail_in = (uInt)from.size;
  z.next_out = to.data;
  z.avail_out = (uInt)(from.size + 1024);
  cr_assert(eq(int, deflate(&z, Z_FINISH), Z_STREAM_END));
  to.size = z.total_out;
  deflateEnd(&z);
  return to;
}

static struct buffer zstd(struct buffer from) {
  struct buffer to = {hold(ZSTD_compressBound(from.size)), 0};

  /* with a checksum, as the command line tool writes it */
  ZSTD_CCtx *context = ZSTD_createCCtx();

  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  to.size = ZSTD_compress2(context, to.data, ZSTD_compressBound(from.size), from.data, from.size);
  cr_assert(eq(int, (int)ZSTD_isError(to.size), 0));
  ZSTD_freeCCtx(context);
  return to;
}

static struct buffer join(struct buffer a, struct buffer b) {
  struct buffer both = {hold(a.size + b.size), a.size + b.size};

  memcpy(both.data, a.data, a.size);
  memcpy(both.data + a.size, b.data, b.size);
  return both;
}

/* Reads everything in steps and compares it with plain. */
static void expect_content(ul_bytes *bytes, struct buffer plain, size_t step) {
  size_t at = 0, here;
  ul_error err = {0};

  for (;;) {
    cr_assert(eq(int, ul_bytes_need(bytes, step, &err), UL_OK), "%s", err.message);
    here = (size_t)(bytes->end - bytes->at);
    cr_assert(here >= step || bytes->at_eof);
    if (here > step)
      here = step;
    if (!here)
      break;
    cr_assert(eq(u64, ul_bytes_offset(bytes, bytes->at), at));
    cr_assert(at + here <= plain.size);
    cr_assert(memcmp(bytes->at, plain.data + at, here) == 0);
    bytes->at += here;
    at += here;
  }
  cr_assert(eq(sz, at, plain.size));
}

static void expect_carriers(struct buffer packed, struct buffer plain, const char *carriers) {
  static const size_t chunks[] = {SIZE_MAX, 4096, 1000, 7, 1};
  struct byte_feed feed;
  ul_bytes *bytes = NULL;
  ul_error err = {0};
  size_t i;

  for (i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
    feed = (struct byte_feed){packed.data, packed.size, 0, chunks[i]};
    cr_assert(eq(int, ul_bytes_open_reader(&bytes, feed_bytes, &feed, packed.size, &err), UL_OK),
              "%s", err.message);
    cr_expect(eq(str, bytes->carriers, (char *)carriers));
    expect_content(bytes, plain, i % 2 ? 13 : 70000);
    cr_expect(le(u64, bytes->input_bytes, packed.size));
    ul_bytes_close(bytes);
  }
}

Test(bytes_in, plain_bytes_in_every_piece) {
  struct buffer plain = make_plain(PLAIN_BYTES);

  ul_bytes *bytes = NULL;

  expect_carriers(plain, plain, "");
  cr_assert(eq(int, ul_bytes_open_memory(&bytes, plain.data, plain.size, NULL), UL_OK));
  cr_assert(eq(int, ul_bytes_drain(bytes, NULL), UL_OK));
  cr_expect(eq(u64, bytes->input_bytes, PLAIN_BYTES));
  ul_bytes_close(bytes);
}

Test(bytes_in, gzip_and_zstd_open_by_themselves) {
  struct buffer plain = make_plain(PLAIN_BYTES);

  expect_carriers(gzip(plain), plain, "gzip");
  expect_carriers(zstd(plain), plain, "zstd");
}

Test(bytes_in, layers_are_named_from_outside) {
  struct buffer plain = make_plain(5000);

  expect_carriers(gzip(zstd(plain)), plain, "gzip+zstd");
  expect_carriers(zstd(gzip(plain)), plain, "zstd+gzip");
  expect_carriers(gzip(gzip(gzip(gzip(plain)))), plain, "gzip+gzip+gzip+gzip");
}

Test(bytes_in, members_follow_each_other) {
  struct buffer a = make_plain(1000), b = make_plain(70000);

  expect_carriers(join(gzip(a), gzip(b)), join(a, b), "gzip");
  expect_carriers(join(zstd(a), zstd(b)), join(a, b), "zstd");
}

Test(bytes_in, what_follows_a_gzip_member_is_ignored_as_gzip_does) {
  struct buffer plain = make_plain(1000);
  uint8_t zeros[600] = {0};

  expect_carriers(join(gzip(plain), (struct buffer){zeros, sizeof(zeros)}), plain, "gzip");
  expect_carriers(join(gzip(plain), (struct buffer){(uint8_t *)"rest", 4}), plain, "gzip");
}

static ul_status read_all(struct buffer packed, ul_error *err) {
  ul_bytes *bytes = NULL;
  ul_status status = ul_bytes_open_memory(&bytes, packed.data, packed.size, err);

  if (status == UL_OK)
    status = ul_bytes_drain(bytes, err);
  ul_bytes_close(bytes);
  return status;
}

Test(bytes_in, a_file_cut_anywhere_is_an_error) {
  struct buffer packed[] = {gzip(make_plain(900)), zstd(make_plain(900))};
  size_t i, size;
  ul_error err;

  for (i = 0; i < 2; i++) {
    cr_assert(eq(int, read_all(packed[i], &err), UL_OK));
    /* Fewer bytes than the magic number are not recognised as compressed. */
    for (size = 4; size < packed[i].size; size++) {
      memset(&err, 0, sizeof(err));
      cr_assert(eq(int, read_all((struct buffer){packed[i].data, size}, &err), UL_E_MALFORMED),
                "%zu", size);
      cr_assert(strstr(err.message, "cut short") != NULL, "%s", err.message);
    }
  }
}

Test(bytes_in, damage_is_an_error) {
  struct buffer packed[] = {gzip(make_plain(90000)), zstd(make_plain(90000))};
  ul_error err = {0};

  packed[0].data[packed[0].size - 6] ^= 1; /* the checksum of gzip */
  packed[1].data[packed[1].size / 2] ^= 255;
  cr_expect(eq(int, read_all(packed[0], &err), UL_E_MALFORMED));
  cr_expect(strstr(err.message, "damaged") != NULL, "%s", err.message);
  cr_expect(eq(int, read_all(packed[1], &err), UL_E_MALFORMED));
  cr_expect(strstr(err.message, "damaged") != NULL, "%s", err.message);
}

Test(bytes_in, five_layers_are_too_many) {
  struct buffer packed = gzip(gzip(gzip(gzip(gzip(make_plain(100))))));
  ul_error err = {0};

  cr_expect(eq(int, read_all(packed, &err), UL_E_LIMIT));
  cr_expect(strstr(err.message, "gzip+gzip+gzip+gzip") != NULL, "%s", err.message);
}

/* 600 MiB of zeros in two layers of gzip are a few kilobytes: far over 1000 to 1. */
Test(bytes_in, a_bomb_is_stopped) {
  enum { PIECE = 1 << 20, PIECES = 600 };
  struct buffer inner = {hold(2 << 20), 0};
  uint8_t *zeros = hold(PIECE);
  z_stream z = {0};
  ul_error err = {0};
  int i;

  cr_assert(eq(int, deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK));
  z.next_out = inner.data;
  z.avail_out = 2 << 20;
  for (i = 0; i < PIECES; i++) {
    z.next_in = zeros;
    z.avail_in = PIECE;
    deflate(&z, i == PIECES - 1 ? Z_FINISH : Z_NO_FLUSH);
  }
  inner.size = z.total_out;
  deflateEnd(&z);
  cr_expect(eq(int, read_all(gzip(inner), &err), UL_E_LIMIT));
  cr_expect(strstr(err.message, "1000") != NULL, "%s", err.message);
}

Test(bytes_in, a_long_piece_grows_the_window_and_not_beyond_its_bound) {
  struct buffer plain = make_plain(3 << 20);
  ul_bytes *bytes = NULL;
  ul_error err = {0};

  cr_assert(eq(int, ul_bytes_open_memory(&bytes, plain.data, plain.size, &err), UL_OK));
  bytes->at += 100;
  cr_assert(eq(int, ul_bytes_need(bytes, 2 << 20, &err), UL_OK));
  cr_assert(ge(sz, (size_t)(bytes->end - bytes->at), (size_t)2 << 20));
  cr_assert(memcmp(bytes->at, plain.data + 100, 2 << 20) == 0);
  cr_expect(eq(u64, ul_bytes_offset(bytes, bytes->at), 100));
  cr_expect(eq(int, ul_bytes_need(bytes, UL_BYTES_LONGEST, &err), UL_OK), "all there is");
  cr_expect(eq(sz, (size_t)(bytes->end - bytes->at), plain.size - 100));
  cr_expect(bytes->window_size <= 2 * plain.size);
  cr_expect(eq(int, ul_bytes_need(bytes, (size_t)UL_BYTES_LONGEST + 1, &err), UL_E_LIMIT));
  ul_bytes_close(bytes);
}

Test(bytes_in, empty_input_opens_and_holds_nothing) {
  ul_bytes *bytes = NULL;
  ul_error err;

  cr_assert(eq(int, ul_bytes_open_memory(&bytes, NULL, 0, &err), UL_OK));
  cr_expect(bytes->at == bytes->end && bytes->at_eof);
  cr_expect(eq(str, bytes->carriers, (char *)""));
  ul_bytes_close(bytes);
}

static char folder[] = "/tmp/ul_bytes_in_XXXXXX";

static void make_folder(void) {
  cr_assert(mkdtemp(folder) != NULL);
}

static void remove_folder(void) {
  char path[64];

  snprintf(path, sizeof(path), "%s/file", folder);
  unlink(path);
  rmdir(folder);
  release_held();
}

Test(bytes_in, files, .init = make_folder, .fini = remove_folder) {
  struct buffer plain = make_plain(100000);
  ul_bytes *bytes = NULL;
  ul_error err = {0};
  char path[64];
  FILE *file;

  snprintf(path, sizeof(path), "%s/file", folder);
  cr_expect(eq(int, ul_bytes_open_file(&bytes, path, &err), UL_E_OPEN));
  cr_expect(strstr(err.message, "No such file") != NULL, "%s", err.message);
  cr_expect(eq(int, ul_bytes_open_file(&bytes, folder, &err), UL_E_OPEN));
  cr_expect(eq(str, err.message, (char *)"is a directory, not a file"));
  file = fopen(path, "wb");
  fwrite(plain.data, 1, plain.size, file);
  fclose(file);
  cr_assert(eq(int, ul_bytes_open_file(&bytes, path, &err), UL_OK), "%s", err.message);
  cr_expect(eq(u64, bytes->input_total, plain.size));
  expect_content(bytes, plain, 999);
  ul_bytes_close(bytes);
  cr_assert(freopen(path, "rb", stdin) != NULL);
  cr_assert(eq(int, ul_bytes_open_file(&bytes, "-", &err), UL_OK), "%s", err.message);
  expect_content(bytes, plain, 999);
  ul_bytes_close(bytes);
}

static ul_status failing(void *arg, uint8_t *buffer, size_t capacity, size_t *got, ul_error *err) {
  (void)buffer;
  (void)capacity;
  (void)got;
  (void)err;
  return *(ul_status *)arg;
}

Test(bytes_in, a_failing_input_is_passed_on) {
  ul_status status = UL_E_OPEN;
  ul_bytes *bytes = NULL;

  cr_expect(eq(int, ul_bytes_open_reader(&bytes, failing, &status, 0, NULL), UL_E_OPEN));
  cr_expect(eq(ptr, bytes, NULL));
}

static int stop_later(uint64_t done, uint64_t total, void *arg) {
  int *calls = arg;

  cr_assert(done <= total);
  return --*calls == 0;
}

Test(bytes_in, progress_counts_and_stops) {
  struct buffer plain = make_plain(PLAIN_BYTES);
  ul_bytes *bytes = NULL;
  ul_error err;
  int calls = 2;

  cr_assert(eq(int, ul_bytes_open_memory(&bytes, plain.data, plain.size, &err), UL_OK));
  bytes->progress = stop_later;
  bytes->progress_arg = &calls;
  cr_expect(eq(int, ul_bytes_drain(bytes, &err), UL_E_STATE));
  ul_bytes_close(bytes);
}
