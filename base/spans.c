/* SPDX-License-Identifier: MIT */
#include "base/spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { CHUNK_SPANS = 128 };

struct ul_span_chunk {
  uint32_t count;
  ul_span spans[CHUNK_SPANS];
};

/* Ends are compared without adding: the last byte of a span always fits 64 bits. */
static int ends_above(const ul_span *span, uint64_t address) {
  return span->address + (span->bytes - 1) >= address;
}

static size_t find_chunk(const ul_spans *spans, uint64_t address) {
  size_t low = 0, high = spans->chunk_count, middle;

  while (low < high) {
    middle = low + (high - low) / 2;
    if (ends_above(&spans->chunks[middle]->spans[spans->chunks[middle]->count - 1], address))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static uint32_t find_span(const struct ul_span_chunk *chunk, uint64_t address) {
  uint32_t low = 0, high = chunk->count, middle;

  while (low < high) {
    middle = low + (high - low) / 2;
    if (ends_above(&chunk->spans[middle], address))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

ul_span *ul_spans_above(const ul_spans *spans, uint64_t address, ul_span_at *at) {
  if (!spans->count)
    return NULL;
  at->chunk = find_chunk(spans, address);
  if (at->chunk == spans->chunk_count)
    return NULL;
  at->index = find_span(spans->chunks[at->chunk], address);
  return &spans->chunks[at->chunk]->spans[at->index];
}

ul_span *ul_spans_first(const ul_spans *spans, ul_span_at *at) {
  at->chunk = at->index = 0;
  return spans->count ? &spans->chunks[0]->spans[0] : NULL;
}

ul_span *ul_spans_next(const ul_spans *spans, ul_span_at *at) {
  if (++at->index == spans->chunks[at->chunk]->count) {
    at->chunk++;
    at->index = 0;
  }
  return at->chunk < spans->chunk_count ? &spans->chunks[at->chunk]->spans[at->index] : NULL;
}

static int insert_chunk(ul_spans *spans, size_t at) {
  struct ul_span_chunk *chunk;

  if (!ul_vec_grow((void **)&spans->chunks, &spans->chunk_capacity, spans->chunk_count + 1,
                   sizeof(struct ul_span_chunk *)))
    return 0;
  chunk = malloc(sizeof(*chunk));
  if (!chunk)
    return 0;
  chunk->count = 0;
  memmove(&spans->chunks[at + 1], &spans->chunks[at],
          (spans->chunk_count - at) * sizeof(struct ul_span_chunk *));
  spans->chunks[at] = chunk;
  spans->chunk_count++;
  return 1;
}

int ul_spans_insert(ul_spans *spans, ul_span span) {
  struct ul_span_chunk *chunk, *right;
  size_t c;
  uint32_t i;

  if (!spans->chunk_count && !insert_chunk(spans, 0))
    return 0;
  c = spans->count ? find_chunk(spans, span.address) : 0;
  if (c == spans->chunk_count)
    c--;
  chunk = spans->chunks[c];
  if (chunk->count == CHUNK_SPANS) {
    if (!insert_chunk(spans, c + 1))
      return 0;
    right = spans->chunks[c + 1];
    right->count = CHUNK_SPANS / 2;
    chunk->count -= right->count;
    memcpy(right->spans, &chunk->spans[chunk->count], right->count * sizeof(ul_span));
    if (!ends_above(&chunk->spans[chunk->count - 1], span.address))
      chunk = right;
  }
  i = find_span(chunk, span.address);
  memmove(&chunk->spans[i + 1], &chunk->spans[i], (chunk->count - i) * sizeof(ul_span));
  chunk->spans[i] = span;
  chunk->count++;
  spans->count++;
  return 1;
}

void ul_spans_remove(ul_spans *spans, ul_span_at at) {
  struct ul_span_chunk *chunk = spans->chunks[at.chunk];

  chunk->count--;
  spans->count--;
  memmove(&chunk->spans[at.index], &chunk->spans[at.index + 1],
          (chunk->count - at.index) * sizeof(ul_span));
  if (chunk->count)
    return;
  free(chunk);
  spans->chunk_count--;
  memmove(&spans->chunks[at.chunk], &spans->chunks[at.chunk + 1],
          (spans->chunk_count - at.chunk) * sizeof(struct ul_span_chunk *));
}

void ul_spans_release(ul_spans *spans) {
  size_t i;

  for (i = 0; i < spans->chunk_count; i++)
    free(spans->chunks[i]);
  free(spans->chunks);
  memset(spans, 0, sizeof(*spans));
}

int ul_spans_copy(ul_spans *to, const ul_spans *from) {
  size_t i;

  memset(to, 0, sizeof(*to));
  for (i = 0; i < from->chunk_count; i++) {
    if (!insert_chunk(to, i)) {
      ul_spans_release(to);
      return 0;
    }
    *to->chunks[i] = *from->chunks[i];
  }
  to->count = from->count;
  return 1;
}
