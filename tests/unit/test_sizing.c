/* SPDX-License-Identifier: MIT */
/* Sizes by the worked values of PyTorch's rules, each confirmed on the compiled library (2.9.1
 * unless a release is named). MiB = 2^20. */
#include <inttypes.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "allocator/sizing.h"

#define MIB ((uint64_t)1 << 20)

struct size_case {
  char settings[64];
  char torch[8];
  uint64_t requested, rounded, segment;
};

static const struct size_case cases[] = {
    {"", "2.9", 1, 512, 2 * MIB},
    {"", "2.9", 512, 512, 2 * MIB},
    {"", "2.9", 513, 1024, 2 * MIB},
    {"", "2.9", MIB, MIB, 2 * MIB},
    {"", "2.9", MIB + 1, 1049088, 20 * MIB},
    {"", "2.9", 10 * MIB - 512, 10 * MIB - 512, 20 * MIB},
    {"", "2.9", 10 * MIB - 1, 10 * MIB, 10 * MIB},
    {"", "2.9", 10 * MIB, 10 * MIB, 10 * MIB},
    {"", "2.9", 19 * MIB, 19 * MIB, 20 * MIB},
    {"", "2.9", 21 * MIB + 1, 22020608, 22 * MIB},
    {"roundup_power2_divisions:4", "2.9", 1200, 1536, 2 * MIB},
    {"roundup_power2_divisions:4", "2.9", 2048, 2048, 2 * MIB},
    {"roundup_power2_divisions:4", "2.9", 2049, 2560, 2 * MIB},
    {"roundup_power2_divisions:4", "2.9", 3000, 3072, 2 * MIB},
    {"roundup_power2_divisions:8", "2.9", 600, 1024, 2 * MIB},
    {"roundup_power2_divisions:8", "2.9", 4097, 4608, 2 * MIB},
    {"roundup_power2_divisions:4", "2.9", MIB - 100, MIB, 2 * MIB},
    {"roundup_power2_divisions:4", "2.9", MIB + 1, 1310720, 20 * MIB},
    {"roundup_power2_divisions:8", "2.9", MIB + 1, 1179648, 20 * MIB},
    {"roundup_power2_divisions:4", "2.9", 5 * MIB + 1, 6291456, 20 * MIB},
    {"roundup_power2_divisions:4", "2.9", 9 * MIB + 1, 10 * MIB, 10 * MIB},
    {"roundup_power2_divisions:8", "2.9", 84 * MIB, 88 * MIB, 88 * MIB},
    {"roundup_power2_divisions:2", "2.9", 400 * MIB, 512 * MIB, 512 * MIB},
    {"roundup_power2_divisions:2", "2.9", 514 * MIB, 768 * MIB, 768 * MIB},
    {"roundup_power2_divisions:1", "2.9", 514 * MIB, 514 * MIB, 514 * MIB},
    {"roundup_power2_divisions:1", "2.1", 1000, 1000, 2 * MIB}, /* unrounded through 2.1 */
    {"roundup_power2_divisions:1", "2.4", 1000, 1024, 2 * MIB},
    /* ">" overwrites the last named interval through 2.9, starts one later from 2.10 */
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "2.9", 400 * MIB, 400 * MIB, 400 * MIB},
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "2.9", 600 * MIB, 768 * MIB, 768 * MIB},
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "2.9", 1100 * MIB, 1152 * MIB,
     1152 * MIB},
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "2.11", 1100 * MIB, 1280 * MIB,
     1280 * MIB},
    {"large_segment_size_mb:64", "2.11", 3 * MIB, 3 * MIB, 64 * MIB},
};

ParameterizedTestParameters(sizing, worked_values) {
  return cr_make_param_array(const struct size_case, (void *)cases,
                             sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(const struct size_case *c, sizing, worked_values) {
  const ul_profile *profile;
  const ul_settings_given given = {c->settings, UL_SETTINGS_CUDA, NULL};
  ul_settings settings;
  ul_error err = {0};

  cr_assert_eq(ul_profile_find(&profile, c->torch, NULL, &err), UL_OK);
  cr_assert_eq(ul_settings_start(&settings, &given, profile, &err), UL_OK, "%s", err.message);
  cr_expect_eq(ul_round_request(c->requested, &settings, profile), c->rounded, "%s on %s: %" PRIu64,
               c->settings, c->torch, c->requested);
  cr_expect_eq(ul_segment_size(c->rounded, &settings), c->segment, "%s on %s: %" PRIu64,
               c->settings, c->torch, c->requested);
}
