/* SPDX-License-Identifier: MIT */
/* What a source promises of any file that opens (include/ullage/source.h, state.h, event.h). */
#include <stdlib.h>
#include <string.h>

#include "ullage/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds) {
  if (!holds)
    abort();
}

static void check_stack(const ul_source *source, uint32_t stack) {
  const uint32_t *frames;
  ul_frame frame;
  size_t count = ul_source_stack(source, stack, &frames), i;

  require(!stack || count);
  for (i = 0; i < count; i++)
    require(ul_source_frame(source, frames[i], &frame) && frame.name && frame.filename &&
            frame.line >= -1);
}

static void check_ids(const ul_source *source, uint32_t stream, uint32_t pool) {
  uint64_t pair[2];

  require(stream < ul_source_get_info(source)->stream_count);
  require(ul_source_pool(source, pool, pair));
}

static void check_state(const ul_source *source, const ul_recording *recording) {
  const ul_state *state = &recording->final_state;
  const ul_segment *segment;
  const ul_block *block;
  uint64_t at, end = 0;
  uint32_t i, b, next = 0;

  for (i = 0; i < state->segment_count; i++) {
    segment = &state->segments[i];
    require(segment->address >= end && segment->bytes);
    at = segment->address;
    end = segment->address + segment->bytes;
    require(end > at && segment->first_block == next);
    check_ids(source, segment->stream, segment->pool);
    check_stack(source, segment->stack);
    next += segment->block_count;
    require(next <= state->block_count);
    for (b = segment->first_block; b < next; b++) {
      block = &state->blocks[b];
      require(block->address == at && block->bytes && block->bytes <= end - at);
      require(block->state <= UL_BLOCK_ACTIVE_PENDING_FREE && !block->flags);
      require(block->handle <= recording->handle_count);
      check_stack(source, block->stack);
      at += block->bytes;
    }
    require(at == end);
  }
  require(next == state->block_count);
}

static void check_events(const ul_source *source, const ul_recording *recording) {
  const ul_event *event;
  uint64_t i, sum = 0, highest = 0;

  for (i = 0; i < recording->count; i++) {
    event = &recording->events[i];
    require(event->kind < UL_EVENT_KIND_COUNT && event->device == recording->device);
    require(recording->actions[i] > UL_ACTION_NONE && recording->actions[i] < UL_ACTION_COUNT);
    require(event->bytes <= UINT64_C(1) << 60);
    require((event->kind == UL_EVENT_ALLOC || event->kind == UL_EVENT_FREE ||
             event->kind == UL_EVENT_COMPLETE) == (event->handle != 0));
    /* Handles appear in order: a new one is one more than all before. */
    require(event->handle <= highest + 1);
    if (event->handle > highest)
      highest = event->handle;
    check_ids(source, event->stream, event->pool);
    check_stack(source, event->stack);
  }
  require(highest == recording->handle_count);
  for (i = 0; i < UL_ACTION_COUNT; i++)
    sum += recording->action_counts[i];
  require(sum == recording->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ul_source *source = NULL;
  const ul_source_info *info;
  const ul_recording *recording;
  ul_error err = {0};
  size_t i;

  if (ul_source_open_bytes(&source, data, size, "input", NULL, &err) != UL_OK) {
    require(err.message[0] && !source);
    return 0;
  }
  info = ul_source_get_info(source);
  require(info->device_count && info->format && info->era && info->backend && info->carriers);
  for (i = 0; i < info->device_count; i++) {
    recording = ul_source_recording(source, i);
    require(!i || recording->device > recording[-1].device);
    check_state(source, recording);
    check_events(source, recording);
  }
  for (i = 0; i < info->mark_count; i++)
    require(info->marks[i].name && info->marks[i].kind <= UL_MARK_SNAPSHOT);
  for (i = 1; i < info->stream_count; i++)
    require(ul_source_stream(source, (uint32_t)i) > ul_source_stream(source, (uint32_t)i - 1));
  ul_source_close(source);
  return 0;
}
