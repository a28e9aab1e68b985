/* SPDX-License-Identifier: MIT */
#include "ullage/version.h"

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const char *ul_version(void) {
  return TEXT(UL_VERSION_MAJOR) "." TEXT(UL_VERSION_MINOR) "." TEXT(UL_VERSION_PATCH);
}
