/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "ullage/device.h"

#include "base/units.h"

/* PyTorch rounds to the nearest hundredth; a whole MiB less is never more than the card has. */
#define CAPACITY(hundredths) (UINT64_C(hundredths) * 1024 / 100 * UL_MIB)

static const ul_gpu gpus[] = {
#define UL_GPU(name, hundredths) {name, CAPACITY(hundredths)},
#include "base/device_table.def"
#undef UL_GPU
};

enum { GPU_COUNT = sizeof(gpus) / sizeof(gpus[0]), KEY = 64 };

/* Lower-case letters and digits of name, without makers' words. */
static void make_key(char key[KEY], const char *name) {
  static const char *const words[] = {"nvidia", "amd",  "geforce", "instinct", "tesla", "pcie",
                                      "sxm4",   "sxm5", "sxm2",    "hbm3e",    "hbm3",  "hbm2e"};
  size_t used = 0, i;

  while (*name && used + 1 < KEY) {
    size_t skip = 0;
    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
      if (strncasecmp(name, words[i], strlen(words[i])) == 0)
        skip = strlen(words[i]);
    }
    if (skip) {
      name += skip;
      continue;
    }
    if (isalnum((unsigned char)*name))
      key[used++] = (char)tolower((unsigned char)*name);
    name++;
  }
  key[used] = '\0';
}

const ul_gpu *ul_gpu_find(const char *name) {
  char wanted[KEY], key[KEY];
  size_t i;

  if (!name)
    return NULL;
  make_key(wanted, name);
  for (i = 0; i < GPU_COUNT; i++) {
    make_key(key, gpus[i].name);
    if (strcmp(wanted, key) == 0)
      return &gpus[i];
  }
  return NULL;
}

const ul_gpu *ul_gpu_at(size_t index) {
  return index < GPU_COUNT ? &gpus[index] : NULL;
}
