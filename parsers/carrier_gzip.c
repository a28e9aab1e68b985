/* SPDX-License-Identifier: MIT */
#include "parsers/carrier.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/error.h"

struct gzip {
  z_stream z;
  int between_members; /* a member has ended; another may follow */
  int any_member;      /* ... at least one has */
};

enum { GZIP_WINDOW = 15 + 16 /* the format's largest, with a gzip header */ };

static int sniff(const uint8_t *bytes, size_t size) {
  return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

static void *create(void) {
  struct gzip *gzip = calloc(1, sizeof(*gzip));

  if (gzip && inflateInit2(&gzip->z, GZIP_WINDOW) != Z_OK) {
    free(gzip);
    gzip = NULL;
  }
  return gzip;
}

static void destroy(void *state) {
  struct gzip *gzip = state;

  inflateEnd(&gzip->z);
  free(gzip);
}

/* Between members: another one, padding with zeros, or something that gzip ignores as well. */
static int next_member(struct gzip *gzip, ul_carrier_input *input, int *finished) {
  while (input->at < input->end && *input->at == 0)
    input->at++;
  if (input->end - input->at < 2 && !input->at_eof)
    return 0;
  if (!sniff(input->at, (size_t)(input->end - input->at))) {
    *finished = 1;
    input->at = input->end;
    return 0;
  }
  inflateReset(&gzip->z);
  gzip->between_members = 0;
  return 1;
}

static ul_status decode(void *state, ul_carrier_input *input, uint8_t *out, size_t capacity,
                        size_t *made, int *finished, ul_error *err) {
  struct gzip *gzip = state;
  size_t offered = (size_t)(input->end - input->at);
  int result;

  *made = 0;
  if (gzip->between_members && !next_member(gzip, input, finished))
    return UL_OK;
  offered = (size_t)(input->end - input->at);
  gzip->z.next_in = (Bytef *)(uintptr_t)input->at; /* zlib's own type lacks the const */
  gzip->z.avail_in = offered > UINT_MAX ? UINT_MAX : (uInt)offered;
  gzip->z.next_out = out;
  gzip->z.avail_out = capacity > UINT_MAX ? UINT_MAX : (uInt)capacity;
  result = inflate(&gzip->z, Z_NO_FLUSH);
  input->at = gzip->z.next_in;
  *made = (size_t)(gzip->z.next_out - out);
  if (result == Z_STREAM_END) {
    gzip->between_members = gzip->any_member = 1;
    return UL_OK;
  }
  if (result == Z_MEM_ERROR)
    return ul_fail_nomem(err, "the gzip decoder");
  if (result != Z_OK && result != Z_BUF_ERROR)
    return ul_fail(err, UL_E_MALFORMED, 0, "the gzip data is damaged: %s",
                   gzip->z.msg ? gzip->z.msg : "unexpected data");
  if (!*made && input->at == input->end && input->at_eof)
    return ul_fail(err, UL_E_MALFORMED, 0, "the gzip data ends too early: the file is cut short");
  return UL_OK;
}

const ul_carrier ul_carrier_gzip = {"gzip", sniff, create, destroy, decode};
