/* SPDX-License-Identifier: MIT */
/* The version of the library and of the program. CMake reads these three numbers. */
#ifndef ULLAGE_VERSION_H
#define ULLAGE_VERSION_H

#include "ullage/api.h"

#define UL_VERSION_MAJOR 0
#define UL_VERSION_MINOR 1
#define UL_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* "major.minor.patch" of the library that was linked. Static storage. */
UL_API const char *ul_version(void);

#ifdef __cplusplus
}
#endif
#endif
