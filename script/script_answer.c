/* SPDX-License-Identifier: MIT */
#include "script/answer.h"

int ul_answer_joins(const ul_driver_call *first, uint64_t first_bytes, const ul_driver_call *next) {
  return (first->kind == UL_DRIVER_SEGMENT_MAP || first->kind == UL_DRIVER_SEGMENT_UNMAP) &&
         next->kind == first->kind && first->address + first_bytes == next->address;
}

const char *ul_answer_call_name(const ul_driver_call *call) {
  switch (call->kind) {
  case UL_DRIVER_RANGE_RESERVE:
    return "range_reserve";
  case UL_DRIVER_RANGE_RELEASE:
    return "range_release";
  case UL_DRIVER_ALLOC_REFUSED:
    return "segment_alloc_refused";
  case UL_DRIVER_MAP_REFUSED:
    return "segment_map_refused";
  default:
    return ul_action_name((ul_action)call->kind);
  }
}
