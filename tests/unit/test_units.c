/* SPDX-License-Identifier: MIT */
#include "base/units.h"

#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>

#include "ullage/report.h"

struct printed {
  uint64_t bytes;
  char text[32]; /* what torch.cuda.memory's format_size gives */
};

ParameterizedTestParameters(units, prints_like_pytorch) {
  static struct printed cases[] = {
      {0, "0 bytes"},
      {1, "1 bytes"},
      {1024, "1024 bytes"},
      {1025, "1.00 KiB"},
      {1536, "1.50 KiB"},
      {1 << 20, "1024.00 KiB"},
      {(1 << 20) + 1, "1.00 MiB"},
      {UINT64_C(1) << 30, "1024.00 MiB"},
      {UINT64_C(1610612736), "1.50 GiB"},
      {UINT64_C(80) << 30, "80.00 GiB"},
  };
  return cr_make_param_array(struct printed, cases, sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(struct printed *c, units, prints_like_pytorch) {
  char buffer[64];

  cr_expect(eq(str, (char *)ul_format_bytes(buffer, sizeof(buffer), c->bytes, 0), c->text));
}

Test(units, prints_exact_digits_on_request) {
  char buffer[64];

  cr_expect(eq(str, (char *)ul_format_bytes(buffer, sizeof(buffer), UINT64_MAX, 1),
               (char *)"18446744073709551615"));
}

struct parsed {
  char text[32];
  ul_status status;
  uint64_t bytes;
};

ParameterizedTestParameters(units, reads_sizes) {
  static struct parsed cases[] = {
      {"0", UL_OK, 0},
      {"4096", UL_OK, 4096},
      {"4096B", UL_OK, 4096},
      {"24GiB", UL_OK, UINT64_C(24) << 30},
      {"80G", UL_OK, UINT64_C(80) << 30},
      {"80g", UL_OK, UINT64_C(80) << 30},
      {"1.5GB", UL_OK, UINT64_C(1500000000)},
      {"1.5GiB", UL_OK, UINT64_C(3) << 29},
      {"1.2 GiB", UL_OK, UINT64_C(1288490188)}, /* 1.2 * 2^30 = 1288490188.8 */
      {"0.5K", UL_OK, 512},
      {"16EiB", UL_E_SETTING, 0},
      {"18446744073709551615", UL_OK, UINT64_MAX},
      {"18446744073709551616", UL_E_SETTING, 0},
      {"17179869184G", UL_E_SETTING, 0}, /* 2^34 * 2^30 = 2^64 */
      {"", UL_E_SETTING, 0},
      {"-1", UL_E_SETTING, 0},
      {"GiB", UL_E_SETTING, 0},
      {"1x", UL_E_SETTING, 0},
      {"1.5.5G", UL_E_SETTING, 0},
  };
  return cr_make_param_array(struct parsed, cases, sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(struct parsed *c, units, reads_sizes) {
  uint64_t bytes = 77;
  ul_error err = {0};

  cr_expect(eq(int, ul_parse_bytes(&bytes, c->text, &err), c->status), "'%s'", c->text);
  cr_expect(eq(u64, bytes, c->status == UL_OK ? c->bytes : 77), "'%s'", c->text);
  cr_expect(eq(int, err.message[0] == '\0', c->status == UL_OK), "'%s'", c->text);
}

Test(units, rounds_up_and_saturates) {
  cr_expect(eq(u64, ul_round_up(0, 512), 0));
  cr_expect(eq(u64, ul_round_up(1, 512), 512));
  cr_expect(eq(u64, ul_round_up(512, 512), 512));
  cr_expect(eq(u64, ul_round_up(513, 512), 1024));
  cr_expect(eq(u64, ul_round_up(10, 3), 12));
  cr_expect(eq(u64, ul_round_up(UINT64_MAX - 5, 512), UINT64_MAX));
}
