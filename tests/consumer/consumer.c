/* SPDX-License-Identifier: MIT */
/* A program of somebody else's: finds the installed library and needs nothing but its headers. */
#include <stdio.h>
#include <string.h>

#include <ullage/ullage.h>

int main(int argc, char **argv) {
  ul_model_options options = {0};
  ul_model *model;
  ul_source *source;
  ul_event request = {0};
  ul_outcome outcome;
  ul_error err;
  char size[32];

  if (argc != 2)
    return 2;
  printf("%s\n", ul_version());

  options.size = sizeof(options);
  options.torch = "2.9";
  if (ul_model_create(&model, &options, &err) != UL_OK)
    return fprintf(stderr, "%s\n", err.message), 1;
  request.kind = UL_EVENT_ALLOC;
  request.handle = 1;
  request.bytes = 1000;
  if (ul_model_apply(model, &request, NULL, &outcome, &err) != UL_OK)
    return fprintf(stderr, "%s\n", err.message), 1;
  /* 1000 bytes are served from a block of 2 x 512, cut from a segment of 2 MiB */
  printf("%s of %s\n", ul_format_bytes(size, sizeof(size), outcome.block_bytes, 1),
         ul_model_totals(model)->reserved_bytes == 2097152 ? "2 MiB" : "?");
  ul_model_destroy(model);

  if (ul_source_open(&source, argv[1], NULL, &err) != UL_OK)
    return fprintf(stderr, "%s\n", err.message), 1;
  printf("%s\n", ul_source_get_info(source)->format);
  ul_source_close(source);
  return 0;
}
