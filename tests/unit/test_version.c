/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "ullage/ullage.h"

Test(version, is_the_one_of_the_header) {
  char expected[32];

  snprintf(expected, sizeof(expected), "%d.%d.%d", UL_VERSION_MAJOR, UL_VERSION_MINOR,
           UL_VERSION_PATCH);
  cr_assert(eq(str, (char *)ul_version(), expected));
}
