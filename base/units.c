/* SPDX-License-Identifier: MIT */
#include "base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ullage/report.h"

#include "base/error.h"

const char *ul_format_bytes(char *buffer, size_t size, uint64_t bytes, int exact) {
  /* PyTorch's format_size compares with <=, so exactly 1 MiB prints as 1024.00 KiB. */
  if (exact)
    snprintf(buffer, size, "%" PRIu64, bytes);
  else if (bytes <= UL_KIB)
    snprintf(buffer, size, "%" PRIu64 " bytes", bytes);
  else if (bytes <= UL_MIB)
    snprintf(buffer, size, "%.2f KiB", (double)bytes / (double)UL_KIB);
  else if (bytes <= UL_GIB)
    snprintf(buffer, size, "%.2f MiB", (double)bytes / (double)UL_MIB);
  else
    snprintf(buffer, size, "%.2f GiB", (double)bytes / (double)UL_GIB);
  return buffer;
}

static const struct {
  const char *name;
  uint64_t bytes;
} suffixes[] = {
    {"", 1},
    {"B", 1},
    {"bytes", 1},
    {"K", UL_KIB},
    {"KiB", UL_KIB},
    {"KB", 1000},
    {"M", UL_MIB},
    {"MiB", UL_MIB},
    {"MB", 1000000},
    {"G", UL_GIB},
    {"GiB", UL_GIB},
    {"GB", 1000000000},
    {"T", UL_GIB << 10},
    {"TiB", UL_GIB << 10},
    {"TB", UINT64_C(1000000000000)},
};

ul_status ul_parse_bytes(uint64_t *out, const char *text, ul_error *err) {
  const char *at = text;
  uint64_t whole = 0, scale = 1, fraction = 0, unit = 0, high;
  size_t i;

  if (!text || !isdigit((unsigned char)*at))
    return ul_fail(err, UL_E_SETTING, 0, "'%s' is not a size: write 24GiB, 80G or 1.5GB",
                   text ? text : "");
  for (; isdigit((unsigned char)*at); at++) {
    if (whole > (UINT64_MAX - (uint64_t)(*at - '0')) / 10)
      return ul_fail(err, UL_E_SETTING, 0, "'%s' is larger than any memory", text);
    whole = whole * 10 + (uint64_t)(*at - '0');
  }
  if (*at == '.') {
    for (at++; isdigit((unsigned char)*at); at++) {
      if (scale < 1000000) { /* six digits say more than a byte count needs */
        fraction = fraction * 10 + (uint64_t)(*at - '0');
        scale *= 10;
      }
    }
  }
  while (*at == ' ')
    at++;
  for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
    if (strcasecmp(at, suffixes[i].name) == 0)
      unit = suffixes[i].bytes;
  }
  if (!unit)
    return ul_fail(err, UL_E_SETTING, 0,
                   "'%s' is not a size: unknown unit '%s' (K, M, G, T are powers of 1024, KB ... "
                   "powers of 1000)",
                   text, at);
  if (whole > UINT64_MAX / unit)
    return ul_fail(err, UL_E_SETTING, 0, "'%s' is larger than any memory", text);
  high = fraction * (unit / scale) + fraction * (unit % scale) / scale;
  if (whole * unit > UINT64_MAX - high)
    return ul_fail(err, UL_E_SETTING, 0, "'%s' is larger than any memory", text);
  *out = whole * unit + high;
  return UL_OK;
}
