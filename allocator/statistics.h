/* SPDX-License-Identifier: MIT */
/* PyTorch's statistics of one device (tables/statistics.def), updated as PyTorch updates them. */
#ifndef UL_ALLOCATOR_STATISTICS_H
#define UL_ALLOCATOR_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/model.h"

typedef enum ul_stat_array {
#define UL_STAT_ARRAY(id, name) UL_STAT_##id,
#include "allocator/tables/statistics.def"
  UL_STAT_ARRAY_COUNT
} ul_stat_array;

typedef enum ul_stat_single {
#define UL_STAT_SINGLE(id, name) UL_STAT_##id,
#include "allocator/tables/statistics.def"
  UL_STAT_SINGLE_COUNT
} ul_stat_single;

typedef enum ul_stat_counter {
#define UL_STAT_COUNTER(id, name) UL_STAT_##id,
#include "allocator/tables/statistics.def"
  UL_STAT_COUNTER_COUNT
} ul_stat_counter;

typedef struct ul_stat_values {
  uint64_t current, peak, allocated, freed;
} ul_stat_values;

enum { UL_SLOT_ALL = 0, UL_SLOT_SMALL = 1, UL_SLOT_LARGE = 2, UL_SLOT_COUNT = 3 };

typedef struct ul_statistics {
  ul_stat_values arrays[UL_STAT_ARRAY_COUNT][UL_SLOT_COUNT];
  ul_stat_values singles[UL_STAT_SINGLE_COUNT];
  uint64_t counters[UL_STAT_COUNTER_COUNT];
} ul_statistics;

/* Settings changed meanwhile can make a statistic negative, as they do in PyTorch's int64_t. */
static inline void ul_stat_increase_one(ul_stat_values *values, uint64_t by) {
  values->current += by;
  values->allocated += by;
  if ((int64_t)values->current > (int64_t)values->peak)
    values->peak = values->current;
}

static inline void ul_stat_decrease_one(ul_stat_values *values, uint64_t by) {
  values->current -= by;
  values->freed += by;
}

/* slot: UL_SLOT_SMALL or UL_SLOT_LARGE; "all" moves with it. */
static inline void ul_stat_increase(ul_statistics *s, ul_stat_array array, int slot, uint64_t by) {
  ul_stat_increase_one(&s->arrays[array][UL_SLOT_ALL], by);
  ul_stat_increase_one(&s->arrays[array][slot], by);
}

static inline void ul_stat_decrease(ul_statistics *s, ul_stat_array array, int slot, uint64_t by) {
  ul_stat_decrease_one(&s->arrays[array][UL_SLOT_ALL], by);
  ul_stat_decrease_one(&s->arrays[array][slot], by);
}

void ul_statistics_reset_peak(ul_statistics *statistics);
void ul_statistics_reset_accumulated(ul_statistics *statistics);

/* Fills up to capacity named values, in PyTorch's order; returns how many there are. */
size_t ul_statistics_list(const ul_statistics *statistics, ul_stat *out, size_t capacity);

#endif
