/* SPDX-License-Identifier: MIT */
/* Event scripts: allocator calls written by hand or by a program, one a line, and what a modelled
 * device answers to each. The language and the lines of the answer: docs/script.md. They are those
 * in which the answers of PyTorch's own compiled allocator are recorded, so that the two can be
 * compared with diff.
 *
 * A script is read and answered line by line; what stays in memory is the model. The first line
 * that is not of the language ends the run with UL_E_MALFORMED and "NAME:LINE: expected ...,
 * found ...". */
#ifndef ULLAGE_SCRIPT_H
#define ULLAGE_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/api.h"
#include "ullage/error.h"
#include "ullage/model.h"
#include "ullage/report.h"
#include "ullage/settings.h"
#include "ullage/source.h"

/* Parts of the answer, as bits. */
enum {
  UL_SCRIPT_PLACE = 1u << 0,    /* A O X D U: placements, refusals, driver calls */
  UL_SCRIPT_MESSAGE = 1u << 1,  /* M: texts of exceptions */
  UL_SCRIPT_STATS = 1u << 2,    /* S C: statistics that every release has */
  UL_SCRIPT_NEWSTATS = 1u << 3, /* N: those of newer releases */
  UL_SCRIPT_SNAP = 1u << 4,     /* G Y B: segments and blocks */
  UL_SCRIPT_TRACE = 1u << 5,    /* T Q: history, and what out-of-memory observers are told */
  UL_SCRIPT_ALL = (1u << 6) - 1,
};

/* Zero is "as the script says" in every field, and the harness's own defaults where the script says
 * nothing: 80 GiB, addresses first fit, stream events over at once. */
typedef struct ul_script_options {
  size_t size;          /* sizeof(ul_script_options), as the caller knows it */
  const char *name;     /* of the script, for messages; NULL: "script" */
  const char *torch;    /* as in ul_model_options; scripts do not name a release */
  const char *settings; /* NULL: as the script says */
  ul_settings_variable settings_variable; /* that settings are given in */
  const char *backend;                    /* as in ul_model_options */
  uint64_t device_bytes;                  /* 0: as the script says */
  int has_address_policy;                 /* address_policy is given */
  ul_address_policy address_policy;
  uint64_t seed;     /* of UL_ADDRESS_RANDOM */
  int checked;       /* check every invariant after each event: UL_E_STATE */
  unsigned sections; /* UL_SCRIPT_*; 0: all */
  int json;          /* one document of docs/schema/script.schema.json instead of lines */
  ul_write *write;   /* NULL: only the counts are wanted */
  void *write_arg;
  ul_progress *progress; /* while reading; NULL: none */
  void *progress_arg;
} ul_script_options;

/* How a run went. */
typedef struct ul_script_result {
  size_t size;          /* sizeof(ul_script_result), as the caller knows it */
  uint64_t events;      /* lines that are neither empty nor a comment */
  uint64_t served;      /* allocations that got a block */
  uint64_t ooms;        /* out-of-memory exceptions */
  uint64_t errors;      /* other exceptions, those of rejected events included */
  uint64_t rejected;    /* events that make no sense in the state they met; each changed nothing */
  uint64_t broken_line; /* the line at which the real allocator itself would break; 0: none. The
                           run ends there */
  const char *broken_reason;      /* a phrase, static storage */
  char warning[UL_WARNING_BYTES]; /* what the settings in its head do not do as they look; "":
                                     nothing */
} ul_script_result;

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the script in bytes, which may be compressed. options and result may be NULL. result is
 * filled as far as the run went, whatever is returned; its field size is the caller's to set. */
UL_API ul_status ul_script_run(const void *bytes, size_t size, const ul_script_options *options,
                               ul_script_result *result, ul_error *err) UL_MUST_USE;

/* Runs the script in the file at path ("-": standard input), which may be compressed. Without a
 * name in the options, path is it. */
UL_API ul_status ul_script_run_file(const char *path, const ul_script_options *options,
                                    ul_script_result *result, ul_error *err) UL_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
