/* SPDX-License-Identifier: MIT */
/* Results as text for a terminal, or as JSON (docs/schema). Writers only format; what they print
 * comes from the results. */
#ifndef ULLAGE_REPORT_H
#define ULLAGE_REPORT_H

#include <stddef.h>

#include "ullage/api.h"
#include "ullage/error.h"
#include "ullage/replay.h"
#include "ullage/source.h"

/* Takes size bytes; returns 0, or anything else when it cannot: the report then ends with
 * UL_E_OUTPUT. */
typedef int ul_write(const void *bytes, size_t size, void *arg);

typedef enum ul_stack_style {
  UL_STACK_USER = 0, /* the innermost frame outside PyTorch and Python's own library */
  UL_STACK_FULL = 1,
  UL_STACK_NONE = 2,
} ul_stack_style;

typedef struct ul_report_options {
  size_t size;      /* sizeof(ul_report_options), as the caller knows it */
  unsigned columns; /* terminal width; 0: 80 */
  int colour;       /* escape sequences allowed */
  int unicode;      /* block characters allowed in the curve */
  int exact_bytes;  /* 1610612736 instead of 1.50 GiB */
  int verbosity;    /* -1 quiet, 0, 1 verbose */
  unsigned top;     /* holders shown; 0: 5 */
  int stack_style;  /* ul_stack_style */
} ul_report_options;

#ifdef __cplusplus
extern "C" {
#endif

UL_API ul_status ul_report_replay_text(const ul_replay *replay, const ul_report_options *options,
                                       ul_write *write, void *arg, ul_error *err) UL_MUST_USE;
UL_API ul_status ul_report_replay_json(const ul_replay *replay, const ul_report_options *options,
                                       ul_write *write, void *arg, ul_error *err) UL_MUST_USE;
UL_API ul_status ul_report_info_text(const ul_source *source, const ul_report_options *options,
                                     ul_write *write, void *arg, ul_error *err) UL_MUST_USE;
UL_API ul_status ul_report_info_json(const ul_source *source, const ul_report_options *options,
                                     ul_write *write, void *arg, ul_error *err) UL_MUST_USE;

/* Replaces what could control a terminal (escapes, control characters, marks that reorder text,
 * bytes that are not UTF-8) by '?', in place. Returns text. */
UL_API char *ul_clean_text(char *text);

/* "1.50 GiB" as PyTorch prints sizes, or plain digits if exact. Returns buffer. */
UL_API const char *ul_format_bytes(char *buffer, size_t size, uint64_t bytes, int exact);

/* "24GiB", "80G", "1.5GB", "4096": G and GiB are 2^30, GB is 10^9. */
UL_API ul_status ul_parse_bytes(uint64_t *out, const char *text, ul_error *err) UL_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
