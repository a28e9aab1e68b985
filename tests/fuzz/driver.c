/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target over files and folders of files, for builds without libFuzzer. Fails if there
 * was nothing to run. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int inputs_run;

static int run_file(const char *path, FILE *file) {
  uint8_t *data = NULL, *grown;
  size_t size = 0, capacity = 0, got;

  do {
    if (size == capacity) {
      capacity = capacity ? 2 * capacity : 4096;
      grown = realloc(data, capacity);
      if (!grown)
        return perror(path), free(data), 1;
      data = grown;
    }
    got = fread(data + size, 1, capacity - size, file);
    size += got;
  } while (got);
  if (ferror(file))
    return perror(path), free(data), 1;
  /* exactly as large as the input, so that a sanitizer sees one byte too many */
  grown = malloc(size ? size : 1);
  if (!grown)
    return perror(path), free(data), 1;
  memcpy(grown, data, size);
  free(data);
  fprintf(stderr, "%s\n", path);
  LLVMFuzzerTestOneInput(grown, size);
  free(grown);
  inputs_run++;
  return 0;
}

static int run(const char *path) {
  DIR *folder = opendir(path);
  FILE *file;
  int failed = 0;

  if (folder) {
    for (struct dirent *entry; (entry = readdir(folder));) {
      char inner[4096];

      if (entry->d_name[0] == '.')
        continue;
      snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
      failed |= run(inner);
    }
    closedir(folder);
    return failed;
  }
  file = fopen(path, "rb");
  if (!file)
    return perror(path), 1;
  failed = run_file(path, file);
  fclose(file);
  return failed;
}

int main(int argc, char **argv) {
  int failed = 0;

  for (int i = 1; i < argc; i++)
    failed |= run(argv[i]);
  if (!inputs_run)
    fprintf(stderr, "no input to run\n");
  return failed || !inputs_run;
}
