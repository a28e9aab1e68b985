/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "ullage/device.h"

Test(device_table, names_are_read_generously) {
  /* 79.18 GiB in whole MiB: 79.18 * 1024 = 81080.32 */
  const uint64_t h100 = UINT64_C(81080) * 1024 * 1024;

  cr_assert(ne(ptr, (void *)ul_gpu_find("H100-80GB"), NULL));
  cr_expect(eq(u64, ul_gpu_find("H100-80GB")->memory_bytes, h100));
  cr_expect(eq(ptr, (void *)ul_gpu_find("nvidia h100 80gb"), (void *)ul_gpu_find("H100-80GB")));
  cr_expect(eq(ptr, (void *)ul_gpu_find("GeForce RTX 4090"), (void *)ul_gpu_find("RTX-4090")));
}

Test(device_table, an_amount_that_has_to_be_said_is_asked_for) {
  cr_expect(eq(ptr, (void *)ul_gpu_find("A100"), NULL)); /* 40 or 80 GB */
  cr_expect(eq(ptr, (void *)ul_gpu_find(""), NULL));
  cr_expect(eq(ptr, (void *)ul_gpu_find(NULL), NULL));
}

Test(device_table, every_row_finds_itself) {
  const ul_gpu *gpu;
  size_t i;

  for (i = 0; (gpu = ul_gpu_at(i)) != NULL; i++) {
    cr_expect(eq(ptr, (void *)ul_gpu_find(gpu->name), (void *)gpu), "%s", gpu->name);
    cr_expect(gt(u64, gpu->memory_bytes, UINT64_C(8) << 30), "%s", gpu->name);
  }
  cr_expect(gt(sz, i, 10));
}
