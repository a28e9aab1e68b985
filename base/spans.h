/* SPDX-License-Identifier: MIT */
/* Disjoint spans of address space in order, each with a number of the caller's: a sorted list of
 * short sorted chunks, so that a million spans coming and going in any order stay cheap. */
#ifndef UL_BASE_SPANS_H
#define UL_BASE_SPANS_H

#include <stddef.h>
#include <stdint.h>

typedef struct ul_span {
  uint64_t address, bytes; /* bytes > 0; the end may be 2^64 at most */
  uint32_t value;
} ul_span;

typedef struct ul_spans {
  struct ul_span_chunk **chunks; /* none is empty */
  size_t chunk_count, chunk_capacity;
  size_t count;
} ul_spans;

/* A position; valid until the list changes. */
typedef struct ul_span_at {
  size_t chunk;
  uint32_t index;
} ul_span_at;

/* The first span that ends above address; NULL if there is none. It holds address if it also begins
 * at or below it. */
ul_span *ul_spans_above(const ul_spans *spans, uint64_t address, ul_span_at *at);

/* The first span, and the one after *at, which moves; NULL past the last. */
ul_span *ul_spans_first(const ul_spans *spans, ul_span_at *at);
ul_span *ul_spans_next(const ul_spans *spans, ul_span_at *at);

/* Adds a span that overlaps no other. Returns 0 without memory. */
int ul_spans_insert(ul_spans *spans, ul_span span);

/* Takes the span at a position out. */
void ul_spans_remove(ul_spans *spans, ul_span_at at);

void ul_spans_release(ul_spans *spans);

/* Copies *from into *to, which is overwritten. Returns 0 without memory. */
int ul_spans_copy(ul_spans *to, const ul_spans *from);

#endif
