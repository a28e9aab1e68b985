/* SPDX-License-Identifier: MIT */
/* GPUs by name, and the memory that PyTorch sees on them. The figure is what its out-of-memory
 * messages call total capacity, to a hundredth of a GiB; drivers differ by up to one percent, error
 * correction included. Where that matters, give the size itself. */
#ifndef ULLAGE_DEVICE_H
#define ULLAGE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/api.h"

typedef struct ul_gpu {
  const char *name; /* "H100-80GB" */
  uint64_t memory_bytes;
} ul_gpu;

#ifdef __cplusplus
extern "C" {
#endif

/* The GPU of that name, in any case, with or without dashes, spaces, "NVIDIA", "AMD", "GeForce";
 * NULL if there is none. Static storage. */
UL_API const ul_gpu *ul_gpu_find(const char *name);

/* All of them in order, from index 0; NULL past the last. Static storage. */
UL_API const ul_gpu *ul_gpu_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
