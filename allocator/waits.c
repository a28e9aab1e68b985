/* SPDX-License-Identifier: MIT */
#include "allocator/waits.h"

#include <string.h>

#include "ullage/event.h"

/* A line is closed up once its stale entries outnumber this and the live ones. */
enum { STALE_FLOOR = 32 };

void ul_waits_init(ul_waits *waits, ul_stream_events mode, const ul_profile *profile) {
  memset(waits, 0, sizeof(*waits));
  waits->mode = mode;
  waits->profile = profile;
}

void ul_waits_release(ul_waits *waits) {
  size_t i;

  for (i = 0; i < waits->lines.count; i++)
    UL_VEC_RELEASE(&waits->lines.items[i].events);
  UL_VEC_RELEASE(&waits->lines);
  ul_hash_order_release(&waits->order);
  UL_VEC_RELEASE(&waits->blocks);
  UL_VEC_RELEASE(&waits->uses);
  UL_VEC_RELEASE(&waits->deferred);
  UL_VEC_RELEASE(&waits->done);
  UL_VEC_RELEASE(&waits->marks);
  ul_idmap_release(&waits->index);
  ul_idmap_release(&waits->marked);
}

/* Appends the items of one vec to an empty one. */
#define COPY_ITEMS(to, from)                                                               \
  (UL_VEC_RESERVE((to), (from)->count) &&                                                  \
   (!(from)->count ||                                                                      \
    memcpy((to)->items, (from)->items, (from)->count * sizeof(*(from)->items)) != NULL) && \
   ((to)->count = (from)->count, 1))

static int copy_lines(ul_waits *to, const ul_waits *from) {
  size_t i;

  for (i = 0; i < from->lines.count; i++) {
    ul_wait_line line = from->lines.items[i];
    memset(&line.events, 0, sizeof(line.events));
    if (!UL_VEC_PUSH(&to->lines, line) ||
        !COPY_ITEMS(&to->lines.items[i].events, &from->lines.items[i].events))
      return 0;
  }
  return 1;
}

int ul_waits_copy(ul_waits *to, const ul_waits *from) {
  *to = *from;
  memset(&to->blocks, 0, sizeof(to->blocks));
  memset(&to->uses, 0, sizeof(to->uses));
  memset(&to->lines, 0, sizeof(to->lines));
  memset(&to->deferred, 0, sizeof(to->deferred));
  memset(&to->done, 0, sizeof(to->done));
  memset(&to->marks, 0, sizeof(to->marks));
  memset(&to->index, 0, sizeof(to->index));
  memset(&to->marked, 0, sizeof(to->marked));
  memset(&to->order, 0, sizeof(to->order));
  if (COPY_ITEMS(&to->blocks, &from->blocks) && COPY_ITEMS(&to->uses, &from->uses) &&
      COPY_ITEMS(&to->deferred, &from->deferred) && COPY_ITEMS(&to->marks, &from->marks) &&
      copy_lines(to, from) && ul_idmap_copy(&to->marked, &from->marked) &&
      ul_idmap_copy(&to->index, &from->index) && ul_hash_order_copy(&to->order, &from->order))
    return 1;
  ul_waits_release(to);
  return 0;
}

/* ---- order of streams ---- */

#define CUDA_DEVICE_TYPE (UINT64_C(1) << 56)
#define FIRST_HANDLE     (UINT64_C(1) << 28)
#define HANDLE_STEP      256

/* What the real library hashes, and back. */
static uint64_t hashed(uint32_t stream) {
  return CUDA_DEVICE_TYPE | (stream ? FIRST_HANDLE + (uint64_t)HANDLE_STEP * stream : 0);
}

static uint32_t stream_of(uint64_t key) {
  const uint64_t handle = key & ~CUDA_DEVICE_TYPE;

  return handle ? (uint32_t)((handle - FIRST_HANDLE) / HANDLE_STEP) : 0;
}

/* ---- blocks and their uses ---- */

static ul_wait_block *find(const ul_waits *w, uint64_t key, uint32_t *position) {
  *position = w->index.count ? ul_idmap_get(&w->index, key) : 0;
  return *position ? &w->blocks.items[*position - 1] : NULL;
}

/* The record of key, a new one if need be; NULL without memory. */
static ul_wait_block *record_of(ul_waits *w, uint64_t key) {
  const ul_wait_block fresh = {0};
  uint32_t position;
  ul_wait_block *block = find(w, key, &position);

  if (block)
    return block;
  position = w->free_block;
  if (!position) {
    if (!UL_VEC_PUSH(&w->blocks, fresh))
      return NULL;
    position = w->free_block = (uint32_t)w->blocks.count;
  }
  if (!ul_idmap_set(&w->index, key, position))
    return NULL;
  block = &w->blocks.items[position - 1];
  w->free_block = block->first_use;
  *block = fresh;
  block->key = key;
  block->ticket = ++w->ticket;
  return block;
}

static void drop_uses(ul_waits *w, ul_wait_block *block) {
  uint32_t use, next;

  for (use = block->first_use; use; use = next) {
    next = w->uses.items[use - 1].next;
    w->uses.items[use - 1].next = w->free_use;
    w->free_use = use;
  }
  block->first_use = 0;
}

/* The block is free: its record is unused from here on, and entries that name it are stale. */
static void forget(ul_waits *w, ul_wait_block *block) {
  drop_uses(w, block);
  ul_idmap_remove(&w->index, block->key);
  block->ticket = 0;
  block->events = 0;
  block->first_use = w->free_block;
  w->free_block = (uint32_t)(block - w->blocks.items) + 1;
}

int ul_waits_use(ul_waits *waits, uint64_t key, uint32_t stream, int suspended) {
  const ul_wait_use fresh = {stream, 0, 0};
  ul_wait_block *block;
  uint32_t use, *link;

  if (!waits->free_use) {
    if (!UL_VEC_PUSH(&waits->uses, fresh))
      return 0;
    waits->free_use = (uint32_t)waits->uses.count;
  }
  block = record_of(waits, key);
  if (!block)
    return 0;
  for (link = &block->first_use; *link; link = &waits->uses.items[*link - 1].next) {
    if (waits->uses.items[*link - 1].stream == stream)
      break;
  }
  use = *link;
  if (!use) {
    use = *link = waits->free_use;
    waits->free_use = waits->uses.items[use - 1].next;
    waits->uses.items[use - 1] = fresh;
  }
  waits->uses.items[use - 1].captured |= suspended != 0;
  return 1;
}

int ul_waits_has(const ul_waits *waits, uint64_t key) {
  return waits->index.count && ul_idmap_get(&waits->index, key);
}

int ul_waits_has_events(const ul_waits *waits, uint64_t key) {
  uint32_t position;
  const ul_wait_block *block = find(waits, key, &position);

  return block && block->events;
}

int ul_waits_pool_waits(const ul_waits *waits, uint32_t pool) {
  size_t i, j;

  for (i = 0; i < waits->deferred.count; i++) {
    if (waits->blocks.items[waits->deferred.items[i]].pool == pool)
      return 1;
  }
  for (i = 0; i < waits->lines.count; i++) {
    const ul_wait_line *line = &waits->lines.items[i];
    for (j = line->first; j < line->events.count; j++) {
      const ul_wait_block *block = &waits->blocks.items[line->events.items[j].block];
      if (block->ticket == line->events.items[j].ticket && block->pool == pool)
        return 1;
    }
  }
  return 0;
}

/* ---- lines ---- */

/* The line of stream, a new one if need be; NULL without memory. */
static ul_wait_line *line_of(ul_waits *w, uint32_t stream) {
  ul_wait_line fresh = {.stream = stream};
  size_t at = w->lines.count;

  while (at && w->lines.items[at - 1].stream >= stream)
    at--;
  if (at < w->lines.count && w->lines.items[at].stream == stream)
    return &w->lines.items[at];
  if (!UL_VEC_PUSH(&w->lines, fresh))
    return NULL;
  memmove(&w->lines.items[at + 1], &w->lines.items[at],
          (w->lines.count - 1 - at) * sizeof(ul_wait_line));
  w->lines.items[at] = fresh;
  return &w->lines.items[at];
}

static int is_stale(const ul_waits *w, const ul_wait_event *event) {
  return w->blocks.items[event->block].ticket != event->ticket;
}

/* Gives the room of what is gone back, where it is most of the line. */
static void close_up(ul_waits *w, ul_wait_line *line) {
  size_t i, kept = 0;

  if (line->first + line->stale <= STALE_FLOOR + line->events.count / 2)
    return;
  for (i = line->first; i < line->events.count; i++) {
    if (!is_stale(w, &line->events.items[i]))
      line->events.items[kept++] = line->events.items[i];
  }
  line->events.count = kept;
  line->first = line->stale = 0;
}

/* Puts the uses of a block in the order in which a hash table lists them that took them one by one.
 */
static int sort_uses(ul_waits *w, ul_wait_block *block) {
  ul_hash_order order = {0};
  uint32_t use, *link = &block->first_use, *after;
  uint64_t key;
  size_t at = 0;
  int done = 1;

  if (!*link || !w->uses.items[*link - 1].next)
    return 1;
  for (use = *link; use && done; use = w->uses.items[use - 1].next)
    done = ul_hash_order_add(&order, hashed(w->uses.items[use - 1].stream));
  while (done && ul_hash_order_next(&order, &at, &key)) {
    after = link;
    while (w->uses.items[*after - 1].stream != stream_of(key))
      after = &w->uses.items[*after - 1].next;
    use = *after;
    *after = w->uses.items[use - 1].next;
    w->uses.items[use - 1].next = *link;
    *link = use;
    link = &w->uses.items[use - 1].next;
  }
  ul_hash_order_release(&order);
  return done;
}

/* Records an event on each stream that used the block. */
static int record_events(ul_waits *w, uint32_t position) {
  uint32_t use;

  if (!sort_uses(w, &w->blocks.items[position]))
    return 0;
  for (use = w->blocks.items[position].first_use; use; use = w->uses.items[use - 1].next) {
    const uint32_t stream = w->uses.items[use - 1].stream;
    ul_wait_line *line = line_of(w, stream);
    ul_wait_event event = {++w->tick, w->blocks.items[position].ticket, position};
    if (!line)
      return 0;
    close_up(w, line);
    if (!UL_VEC_PUSH(&line->events, event) || !ul_hash_order_add(&w->order, hashed(stream)))
      return 0;
    w->blocks.items[position].events++;
  }
  return 1;
}

/* ---- marks ---- */

static int is_marked(const ul_waits *w, uint64_t object, uint32_t stream) {
  uint32_t mark = w->marked.count ? ul_idmap_get(&w->marked, object) : 0;

  while (mark && w->marks.items[mark - 1].stream != stream)
    mark = w->marks.items[mark - 1].next;
  return mark != 0;
}

static int add_mark(ul_waits *w, uint64_t object, uint32_t stream) {
  const ul_wait_mark fresh = {0, 0};
  const uint32_t first = w->marked.count ? ul_idmap_get(&w->marked, object) : 0;
  uint32_t mark = w->free_mark;

  if (is_marked(w, object, stream))
    return 1;
  if (!mark) {
    if (!UL_VEC_PUSH(&w->marks, fresh))
      return 0;
    mark = w->free_mark = (uint32_t)w->marks.count;
  }
  if (!ul_idmap_set(&w->marked, object, mark))
    return 0;
  w->free_mark = w->marks.items[mark - 1].next;
  w->marks.items[mark - 1] = (ul_wait_mark){stream, first};
  return 1;
}

void ul_waits_forget_object(ul_waits *waits, uint64_t object) {
  uint32_t mark = waits->marked.count ? ul_idmap_remove(&waits->marked, object) : 0, next;

  for (; mark; mark = next) {
    next = waits->marks.items[mark - 1].next;
    waits->marks.items[mark - 1].next = waits->free_mark;
    waits->free_mark = mark;
  }
}

/* What was noted while suspended stays noted of the object, though it was not deferred. */
static int mark_captured(ul_waits *w, const ul_wait_block *block, uint64_t *object) {
  uint32_t use;

  if (!w->profile->captured_uses_vanish)
    return 1;
  for (use = block->first_use; use; use = w->uses.items[use - 1].next) {
    if (!w->uses.items[use - 1].captured)
      continue;
    if (!*object)
      *object = ++w->last_object;
    if (!add_mark(w, *object, w->uses.items[use - 1].stream))
      return 0;
  }
  return 1;
}

int ul_waits_free(ul_waits *waits, uint64_t key, uint64_t *object, uint32_t pool, int suspended) {
  ul_wait_block *block = record_of(waits, key);
  uint32_t position;

  if (!block || (object && !suspended && !mark_captured(waits, block, object)))
    return 0;
  position = (uint32_t)(block - waits->blocks.items);
  block->pool = pool;
  block->object = object ? *object : 0;
  waits->waiting++;
  if (suspended) {
    waits->ready = 1;
    return UL_VEC_PUSH(&waits->deferred, position);
  }
  waits->ready |= waits->mode == UL_STREAM_EVENTS_AT_ONCE;
  return record_events(waits, position);
}

int ul_waits_hold(ul_waits *waits, uint64_t key, uint32_t pool) {
  /* Only a wait for every stream reaches this one. */
  return ul_waits_use(waits, key, UL_STREAM_ALL, 0) && ul_waits_free(waits, key, NULL, pool, 0);
}

/* ---- what passes ---- */

/* One entry of the stream's line, passed or not, is of a block that waits no more. */
static void mark_stale(ul_waits *w, uint32_t stream) {
  size_t i;

  for (i = 0; i < w->lines.count; i++)
    w->lines.items[i].stale += w->lines.items[i].stream == stream;
}

int ul_waits_complete(ul_waits *waits, uint64_t key) {
  uint32_t position;
  ul_wait_block *block = find(waits, key, &position);
  size_t i, kept = 0;
  uint32_t use;

  if (!block)
    return 0;
  if (!block->events) { /* deferred */
    for (i = 0; i < waits->deferred.count; i++) {
      if (waits->deferred.items[i] != position - 1)
        waits->deferred.items[kept++] = waits->deferred.items[i];
    }
    if (kept == waits->deferred.count)
      return 0; /* in use still */
    waits->deferred.count = kept;
  }
  for (use = block->events ? block->first_use : 0; use; use = waits->uses.items[use - 1].next)
    mark_stale(waits, waits->uses.items[use - 1].stream);
  forget(waits, block);
  waits->waiting--;
  return 1;
}

void ul_waits_sync(ul_waits *waits, uint32_t stream) {
  size_t i;

  waits->ready |= waits->waiting != 0;
  if (stream == UL_STREAM_ALL) {
    waits->passed = waits->tick;
    return;
  }
  for (i = 0; i < waits->lines.count; i++) {
    if (waits->lines.items[i].stream == stream)
      waits->lines.items[i].passed = waits->tick;
  }
}

void ul_waits_unmapped(ul_waits *waits, uint32_t stream) {
  if (waits->mode == UL_STREAM_EVENTS_ON_SYNC && waits->waiting)
    ul_waits_sync(waits, stream);
}

/* One event is over, and with its last one the block. */
static int pass(ul_waits *w, const ul_wait_event *event) {
  ul_wait_block *block = &w->blocks.items[event->block];

  if (--block->events)
    return 1;
  if (!UL_VEC_PUSH(&w->done, block->key))
    return 0;
  w->waiting--;
  forget(w, block);
  return 1;
}

/* Uses that were noted while suspended need no event. */
static int drop_captured(ul_waits *w, ul_wait_block *block) {
  uint32_t *link = &block->first_use, use;

  if (!w->profile->captured_uses_vanish)
    return 1;
  if (!sort_uses(w, block))
    return 0;
  while ((use = *link) != 0) {
    ul_wait_use *u = &w->uses.items[use - 1];
    if (!u->captured && !is_marked(w, block->object, u->stream)) {
      link = &u->next;
      continue;
    }
    *link = u->next;
    u->next = w->free_use;
    w->free_use = use;
  }
  ul_waits_forget_object(w, block->object);
  return 1;
}

/* Deferred blocks get their events, or are free at once where no use is left that needs one. */
static int settle_deferred(ul_waits *w) {
  size_t i;

  for (i = 0; i < w->deferred.count; i++) {
    ul_wait_block *block = &w->blocks.items[w->deferred.items[i]];
    if (!drop_captured(w, block))
      return 0;
    if (block->first_use) {
      if (!record_events(w, w->deferred.items[i]))
        return 0;
      continue;
    }
    if (!UL_VEC_PUSH(&w->done, block->key))
      return 0;
    w->waiting--;
    forget(w, block);
  }
  w->deferred.count = 0;
  return 1;
}

int ul_waits_settle(ul_waits *waits) {
  waits->done.count = 0;
  return settle_deferred(waits);
}

/* A line without events leaves the table, and another key may take its slot, before *at. */
static void forget_line(ul_waits *w, const ul_wait_line *line, size_t *at) {
  if (line->first < line->events.count)
    return;
  ul_hash_order_remove(&w->order, hashed(line->stream));
  --*at;
}

int ul_waits_poll(ul_waits *waits) {
  ul_wait_line *line;
  uint64_t passed, key;
  size_t at = 0;

  waits->done.count = 0;
  waits->ready = 0;
  if (!settle_deferred(waits))
    return 0;
  while (ul_hash_order_next(&waits->order, &at, &key)) {
    line = line_of(waits, stream_of(key));
    if (!line)
      return 0;
    passed = line->passed > waits->passed ? line->passed : waits->passed;
    if (waits->mode == UL_STREAM_EVENTS_AT_ONCE)
      passed = UINT64_MAX;
    for (; line->first < line->events.count; line->first++) {
      const ul_wait_event event = line->events.items[line->first];
      if (event.tick > passed)
        break;
      if (is_stale(waits, &event))
        line->stale--;
      else if (!pass(waits, &event))
        return 0;
    }
    close_up(waits, line);
    forget_line(waits, line, &at);
  }
  return 1;
}

/* Waits for the events of one line. Those of other pools stay, though the stream has passed them:
 * the next poll sees it. */
static int wait_line(ul_waits *w, ul_wait_line *line, uint32_t pool) {
  size_t i, kept = line->first;

  for (i = line->first; i < line->events.count; i++) {
    const ul_wait_event event = line->events.items[i];
    if (is_stale(w, &event))
      continue;
    if (pool != UL_WAITS_EVERY_POOL && w->blocks.items[event.block].pool != pool) {
      line->events.items[kept++] = event;
      continue;
    }
    if (w->mode == UL_STREAM_EVENTS_ON_SYNC && event.tick > line->passed) {
      line->passed = event.tick;
      w->ready = 1;
    }
    if (!pass(w, &event))
      return 0;
  }
  line->events.count = kept;
  line->stale = 0;
  close_up(w, line);
  return 1;
}

int ul_waits_wait(ul_waits *waits, uint32_t pool) {
  ul_wait_line *line;
  uint64_t key;
  size_t at = 0;

  waits->done.count = 0;
  if (!waits->waiting)
    return 1;
  if (!settle_deferred(waits))
    return 0;
  while (ul_hash_order_next(&waits->order, &at, &key)) {
    line = line_of(waits, stream_of(key));
    if (!line || !wait_line(waits, line, pool))
      return 0;
    forget_line(waits, line, &at);
  }
  return 1;
}
