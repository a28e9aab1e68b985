/* SPDX-License-Identifier: MIT */
/* The words of a memory snapshot. They are interned first and in this order, so a word's string id
 * is its number here and a key is recognised by comparing numbers. */
#ifndef UL_PARSERS_SNAPSHOT_NAMES_H
#define UL_PARSERS_SNAPSHOT_NAMES_H

/* Keys of dicts, at most 63. */
#define UL_SNAPSHOT_KEYS(X)                       \
  X(ACTION, "action")                             \
  X(ADDR, "addr")                                 \
  X(SIZE, "size")                                 \
  X(STREAM, "stream")                             \
  X(TIME_US, "time_us")                           \
  X(FRAMES, "frames")                             \
  X(COMPILE_CONTEXT, "compile_context")           \
  X(USER_METADATA, "user_metadata")               \
  X(POOL_ID, "pool_id")                           \
  X(DEVICE_FREE, "device_free")                   \
  X(CPP_FRAMES, "cpp_frames")                     \
  X(CATEGORY, "category")                         \
  X(NAME, "name")                                 \
  X(FILENAME, "filename")                         \
  X(LINE, "line")                                 \
  X(ADDRESS, "address")                           \
  X(TOTAL_SIZE, "total_size")                     \
  X(ALLOCATED_SIZE, "allocated_size")             \
  X(ACTIVE_SIZE, "active_size")                   \
  X(REQUESTED_SIZE, "requested_size")             \
  X(SEGMENT_TYPE, "segment_type")                 \
  X(SEGMENT_POOL_ID, "segment_pool_id")           \
  X(IS_EXPANDABLE, "is_expandable")               \
  X(BLOCKS, "blocks")                             \
  X(DEVICE, "device")                             \
  X(REGISTRATION_COUNTER, "registration_counter") \
  X(STATE, "state")                               \
  X(HISTORY, "history")                           \
  X(REAL_SIZE, "real_size")                       \
  X(STAGE, "stage")

/* Values of "action", in the order of ul_action from UL_ACTION_ALLOC. */
#define UL_SNAPSHOT_ACTIONS(X)        \
  X(ALLOC, "alloc")                   \
  X(FREE_REQUESTED, "free_requested") \
  X(FREE_COMPLETED, "free_completed") \
  X(SEGMENT_ALLOC, "segment_alloc")   \
  X(SEGMENT_FREE, "segment_free")     \
  X(SEGMENT_MAP, "segment_map")       \
  X(SEGMENT_UNMAP, "segment_unmap")   \
  X(OOM, "oom")                       \
  X(SNAPSHOT, "snapshot")             \
  X(WORKSPACE_SNAPSHOT, "workspace_snapshot")

#define UL_SNAPSHOT_WORDS(X)                      \
  X(INACTIVE, "inactive")                         \
  X(ACTIVE_ALLOCATED, "active_allocated")         \
  X(ACTIVE_PENDING_FREE, "active_pending_free")   \
  X(ACTIVE_AWAITING_FREE, "active_awaiting_free") \
  X(SMALL, "small")                               \
  X(LARGE, "large")                               \
  X(START, "START")                               \
  X(END, "END")                                   \
  X(NOT_APPLICABLE, "N/A")                        \
  X(EMPTY, "")

enum {
  UL_KEY_NONE,
#define X(id, text) UL_KEY_##id,
  UL_SNAPSHOT_KEYS(X)
#undef X
      UL_KEY_END,
  UL_WORD_BEFORE_ACTIONS = UL_KEY_END - 1,
#define X(id, text) UL_WORD_ACTION_##id,
  UL_SNAPSHOT_ACTIONS(X)
#undef X
#define X(id, text) UL_WORD_##id,
      UL_SNAPSHOT_WORDS(X)
#undef X
          UL_WORDS_END
};

_Static_assert(UL_KEY_END <= 64, "a set of keys is one 64-bit word");

#define UL_KEY_BIT(key) (UINT64_C(1) << UL_KEY_##key)

#endif
