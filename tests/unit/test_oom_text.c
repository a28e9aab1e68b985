/* SPDX-License-Identifier: MIT */
/* Texts of out-of-memory exceptions: what the golden scripts do not reach. Every text is one that
 * the release's compiled library gave on a device of 1 GiB. */
#include <string.h>

#include <criterion/criterion.h>

#include "allocator/oom_text.h"

enum { MIB = 1 << 20 };

/* Nothing is allocated, and a request of 954 MiB is refused: all that a range of
 * expandable_segments_reserve:0.3 allows is 307.2 MiB. */
static ul_oom_facts facts(void) {
  return (ul_oom_facts){
      .requested_bytes = 1000000000,
      .segment_bytes = UINT64_C(954) * MIB,
      .device_bytes = UINT64_C(1024) * MIB,
      .property_bytes = UINT64_C(1024) * MIB,
      .free_bytes = UINT64_C(70) * MIB + MIB / 4,
      .limit_bytes = UINT64_MAX,
      .reserve_bytes = UINT64_C(1152) * MIB,
  };
}

static const char *text(const char *torch, const ul_oom_facts *f) {
  static char out[2048];
  const ul_profile *profile;
  ul_error err;

  cr_assert_eq(ul_profile_find(&profile, torch, NULL, &err), UL_OK);
  cr_expect_eq(ul_oom_text(out, sizeof(out), profile, f), strlen(out), "%s", torch);
  return out;
}

Test(oom_text, names_the_limit_in_a_list) {
  ul_oom_facts f = facts();

  f.limit_bytes = UINT64_C(512) * MIB;
  f.allocated_bytes = 1024;
  f.reserved_bytes = UINT64_C(2) * MIB;
  cr_expect_str_eq(
      text("2.0", &f),
      "CUDA out of memory. Tried to allocate 954.00 MiB (GPU 0; 1024.00 MiB total capacity; 1024 "
      "bytes already allocated; 70.25 MiB free; 512.00 MiB allowed; 2.00 MiB reserved in total by "
      "PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid "
      "fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF");
}

/* Its device index is a character, and a C string ends at the first. */
Test(oom_text, is_cut_off_by_2_3) {
  ul_oom_facts f = facts();

  cr_expect_str_eq(text("2.3", &f), "CUDA out of memory. Tried to allocate 954.00 MiB. GPU ");
  f.device = 1; /* not run: the same line of PyTorch's source */
  cr_expect(strncmp(text("2.3", &f),
                    "CUDA out of memory. Tried to allocate 954.00 MiB. GPU \x01 has a total "
                    "capacity of 1024.00 MiB of which 70.25 MiB is free. Of the allocated",
                    120) == 0,
            "%s", text("2.3", &f));
}

Test(oom_text, gives_advice_on_ranges) {
  ul_oom_facts f = facts();

  f.expandable = 1;
  cr_expect(strstr(text("2.13", &f), "try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments"));
  cr_expect_str_eq(text("2.14", &f),
                   "CUDA out of memory. Tried to allocate 954.00 MiB. GPU 0 has a total capacity "
                   "of 1024.00 MiB of which 70.25 MiB is free. Of the allocated memory 0 bytes is "
                   "allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.");
  cr_expect(strstr(text("2.15", &f), " unallocated. expandable_segments is enabled. If instead"));
  f.reserve_bytes = 322122547; /* 0.3 of the device */
  cr_expect(strstr(text("2.15", &f),
                   " unallocated. This allocation exceeds the expandable-segment reserve of 307.20 "
                   "MiB for this stream, and a single allocation cannot span expandable segments. "
                   "Raise PYTORCH_CUDA_ALLOC_CONF expandable_segments_reserve or "
                   "expandable_segments_reserve_by_class (or unset it) so that a segment is at "
                   "least 954.00 MiB."));
  f.segment_bytes = UINT64_C(1024) * MIB;
  cr_expect(strstr(text("2.15", &f), "exceeds the expandable-segment reserve"));
  f.segment_bytes = UINT64_C(1026) * MIB; /* larger than the device */
  cr_expect(strstr(text("2.15", &f), " expandable_segments is enabled. If instead"));
}

/* What the program asked for, not the segment. */
Test(oom_text, tells_of_a_rejection) {
  ul_oom_facts f = facts();

  f.preempted = 1;
  f.requested_bytes = 700;
  cr_expect_str_eq(text("2.12", &f),
                   "CUDA out of memory. Allocation was preemptively rejected because it would "
                   "exceed per_process_memory_fraction limit. Requested size: 700 bytes");
}

/* As a double printed with two places: ties go to even. */
Test(oom_text, rounds_sizes) {
  static const struct {
    uint64_t bytes;
    const char *says;
  } rows[] = {
      {1024, "size: 1024 bytes"},
      {1025, "size: 1.00 KiB"},
      {1048576, "size: 1024.00 KiB"},
      {1024 + 128, "size: 1.12 KiB"},       /* 1.125 */
      {1024 + 256 + 128, "size: 1.38 KiB"}, /* 1.375 */
      {1048577, "size: 1.00 MiB"},
      {UINT64_C(1) << 30, "size: 1024.00 MiB"},
      {(UINT64_C(2) << 30) - 1, "size: 2.00 GiB"},
      {UINT64_C(1) << 60, "size: 1073741824.00 GiB"},
  };
  ul_oom_facts f = facts();

  f.preempted = 1;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    f.requested_bytes = rows[i].bytes;
    cr_expect(strstr(text("2.15", &f), rows[i].says), "%s: %s", rows[i].says, text("2.15", &f));
  }
}

Test(oom_text, fills_what_there_is_room_for) {
  const ul_oom_facts f = facts();
  const ul_profile *profile;
  const size_t whole = strlen(text("2.9", &f));
  char out[8];
  ul_error err;

  cr_assert_eq(ul_profile_find(&profile, "2.9", NULL, &err), UL_OK);
  cr_expect_eq(ul_oom_text(NULL, 0, profile, &f), whole);
  cr_expect_eq(ul_oom_text(out, sizeof(out), profile, &f), whole);
  cr_expect_str_eq(out, "CUDA ou");
  cr_expect_eq(ul_oom_text(out, 1, profile, &f), whole);
  cr_expect_str_eq(out, "");
}
