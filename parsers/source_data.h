/* SPDX-License-Identifier: MIT */
/* What is behind a ul_source: the columns that a parser fills and the public functions hand out. */
#ifndef UL_PARSERS_SOURCE_DATA_H
#define UL_PARSERS_SOURCE_DATA_H

#include "base/strtab.h"
#include "base/vec.h"
#include "parsers/bytes_in.h"
#include "parsers/stack_table.h"
#include "ullage/source.h"

struct ul_source {
  ul_source_info info; /* strings in it: static, in `strings`, or in `texts` */
  ul_strtab *strings;
  ul_stack_table stacks;
  uint64_t *streams; /* raw handle of each id */
  uint64_t *pools;   /* pairs */
  ul_recording *recordings;

  /* Storage of the recordings' columns, all devices one after the other. */
  ul_event *events;
  uint64_t *addresses;
  uint8_t *actions;
  ul_segment *segments;
  ul_block *blocks;

  UL_VEC(ul_mark) marks;
  UL_VEC(ul_warning) warnings;
  UL_VEC(char *) texts; /* owned strings */

  size_t next_recording; /* cursor of ul_source_next */
  uint64_t next_event;
};

/* An owned copy; NULL without memory. */
const char *ul_source_keep(ul_source *source, const char *text);

/* Adds one warning about `count` things, the first of them at `first`. The text is a sentence. */
ul_status ul_source_warn(ul_source *source, uint64_t count, uint64_t first, ul_error *err,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Reads everything from bytes, which stay the caller's. name: for messages and info.path. */
ul_status ul_source_read(ul_source **out, ul_bytes *bytes, const char *name,
                         ul_error *err) UL_MUST_USE;

#endif
