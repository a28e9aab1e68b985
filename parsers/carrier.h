/* SPDX-License-Identifier: MIT */
/* Compression around an input: a decoder that turns the bytes of the layer below into its own. One
 * file and one line in the table of bytes_in.c each. */
#ifndef UL_PARSERS_CARRIER_H
#define UL_PARSERS_CARRIER_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/error.h"

typedef struct ul_carrier_input {
  const uint8_t *at, *end; /* moved by the decoder */
  int at_eof;              /* the layer below has nothing after end */
} ul_carrier_input;

typedef struct ul_carrier {
  const char *name; /* "gzip" */
  /* Do these first bytes begin one? */
  int (*sniff)(const uint8_t *bytes, size_t size);
  /* The decoder's state, or NULL without memory. */
  void *(*create)(void);
  void (*destroy)(void *state);
  /* Decodes from input into out; *made bytes. Making nothing and eating nothing means that it needs
   * more input; with input->at_eof it must then set *finished or fail. */
  ul_status (*decode)(void *state, ul_carrier_input *input, uint8_t *out, size_t capacity,
                      size_t *made, int *finished, ul_error *err);
} ul_carrier;

extern const ul_carrier ul_carrier_gzip;
extern const ul_carrier ul_carrier_zstd;

#endif
