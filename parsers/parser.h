/* SPDX-License-Identifier: MIT */
/* A format: how to recognise it and how to read it into a source. One file and one line in
 * parser_table.c each. */
#ifndef UL_PARSERS_PARSER_H
#define UL_PARSERS_PARSER_H

#include <stddef.h>
#include <stdint.h>

#include "parsers/bytes_in.h"
#include "ullage/source.h"

enum { UL_PARSER_SNIFF_BYTES = 4096 };

typedef struct ul_parser {
  const char *format; /* ul_source_info.format */
  /* Do these first bytes (all of a shorter input) look like it? */
  int (*sniff)(const uint8_t *bytes, size_t size);
  /* Fills the empty *source: recordings, stacks, info but for path, carriers and byte counts. On
   * failure the caller closes it. */
  ul_status (*read)(ul_source *source, ul_bytes *bytes, ul_error *err);
} ul_parser;

/* NULL if no format takes them. */
const ul_parser *ul_parser_find(const uint8_t *bytes, size_t size);

/* UL_E_FORMAT, saying what the bytes look like and what to do. */
ul_status ul_parser_none(const uint8_t *bytes, size_t size, ul_error *err);

extern const ul_parser ul_parser_snapshot;

#endif
