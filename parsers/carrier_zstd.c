/* SPDX-License-Identifier: MIT */
#include "parsers/carrier.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/error.h"

struct zstd {
  ZSTD_DStream *stream;
  int inside_frame;
};

/* Memory of the decoder is its window: what zstd itself accepts without being asked, 128 MiB. */
enum { WINDOW_LOG_MAX = 27 };

static int sniff(const uint8_t *bytes, size_t size) {
  static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
  static const uint8_t skippable[] = {0x2a, 0x4d, 0x18}; /* after a first byte 50 ... 5f */

  return size >= 4 && (memcmp(bytes, magic, 4) == 0 ||
                       ((bytes[0] & 0xf0) == 0x50 && memcmp(bytes + 1, skippable, 3) == 0));
}

static void *create(void) {
  struct zstd *zstd = calloc(1, sizeof(*zstd));

  if (!zstd)
    return NULL;
  zstd->stream = ZSTD_createDStream();
  if (!zstd->stream) {
    free(zstd);
    return NULL;
  }
  ZSTD_DCtx_setParameter(zstd->stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
  return zstd;
}

static void destroy(void *state) {
  struct zstd *zstd = state;

  ZSTD_freeDStream(zstd->stream);
  free(zstd);
}

static ul_status decode(void *state, ul_carrier_input *input, uint8_t *out, size_t capacity,
                        size_t *made, int *finished, ul_error *err) {
  struct zstd *zstd = state;
  ZSTD_inBuffer in = {input->at, (size_t)(input->end - input->at), 0};
  ZSTD_outBuffer to = {out, capacity, 0};
  size_t left;

  *made = 0;
  if (!in.size && !zstd->inside_frame) {
    *finished = input->at_eof;
    return UL_OK;
  }
  left = ZSTD_decompressStream(zstd->stream, &to, &in);
  if (ZSTD_isError(left))
    return ul_fail(err, UL_E_MALFORMED, 0, "the zstd data is damaged: %s", ZSTD_getErrorName(left));
  input->at += in.pos;
  *made = to.pos;
  zstd->inside_frame = left != 0;
  if (!to.pos && !in.pos && input->at_eof && zstd->inside_frame)
    return ul_fail(err, UL_E_MALFORMED, 0, "the zstd data ends too early: the file is cut short");
  return UL_OK;
}

const ul_carrier ul_carrier_zstd = {"zstd", sniff, create, destroy, decode};
