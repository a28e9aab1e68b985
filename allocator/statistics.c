/* SPDX-License-Identifier: MIT */
#include "allocator/statistics.h"

#include <string.h>

/* One spelled-out key per number, so that names need no storage of their own. */
#define FOUR(prefix) prefix ".current", prefix ".peak", prefix ".allocated", prefix ".freed"

static const char *const array_names[UL_STAT_ARRAY_COUNT][UL_SLOT_COUNT * 4] = {
#define UL_STAT_ARRAY(id, name) \
  {FOUR(name ".all"), FOUR(name ".small_pool"), FOUR(name ".large_pool")},
#include "allocator/tables/statistics.def"
};

static const char *const single_names[UL_STAT_SINGLE_COUNT][4] = {
#define UL_STAT_SINGLE(id, name) {FOUR(name)},
#include "allocator/tables/statistics.def"
};

static const char *const counter_names[UL_STAT_COUNTER_COUNT] = {
#define UL_STAT_COUNTER(id, name) name,
#include "allocator/tables/statistics.def"
};

void ul_statistics_reset_peak(ul_statistics *s) {
  size_t i, slot;

  for (i = 0; i < UL_STAT_ARRAY_COUNT; i++) {
    for (slot = 0; slot < UL_SLOT_COUNT; slot++)
      s->arrays[i][slot].peak = s->arrays[i][slot].current;
  }
  for (i = 0; i < UL_STAT_SINGLE_COUNT; i++)
    s->singles[i].peak = s->singles[i].current;
}

static void forget(ul_stat_values *values) {
  values->allocated = 0;
  values->freed = 0;
}

void ul_statistics_reset_accumulated(ul_statistics *s) {
  size_t i, slot;

  for (i = 0; i < UL_STAT_ARRAY_COUNT; i++) {
    for (slot = 0; slot < UL_SLOT_COUNT; slot++)
      forget(&s->arrays[i][slot]);
  }
  for (i = 0; i < UL_STAT_SINGLE_COUNT; i++)
    forget(&s->singles[i]);
  memset(s->counters, 0, sizeof(s->counters));
}

struct list {
  ul_stat *out;
  size_t capacity, count;
};

static void add(struct list *list, const char *name, uint64_t value) {
  if (list->count < list->capacity) {
    list->out[list->count].name = name;
    list->out[list->count].value = value;
  }
  list->count++;
}

static void add_values(struct list *list, const char *const *names, const ul_stat_values *values) {
  add(list, names[0], values->current);
  add(list, names[1], values->peak);
  add(list, names[2], values->allocated);
  add(list, names[3], values->freed);
}

size_t ul_statistics_list(const ul_statistics *statistics, ul_stat *out, size_t capacity) {
  struct list list = {out, capacity, 0};
  size_t i, slot;

  for (i = 0; i < UL_STAT_ARRAY_COUNT; i++) {
    for (slot = 0; slot < UL_SLOT_COUNT; slot++)
      add_values(&list, &array_names[i][slot * 4], &statistics->arrays[i][slot]);
  }
  for (i = 0; i < UL_STAT_SINGLE_COUNT; i++)
    add_values(&list, single_names[i], &statistics->singles[i]);
  for (i = 0; i < UL_STAT_COUNTER_COUNT; i++)
    add(&list, counter_names[i], statistics->counters[i]);
  return list.count;
}
