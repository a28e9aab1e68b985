/* SPDX-License-Identifier: MIT */
/* The record that every layer shares: one thing a program asked of its device allocator, or one
 * thing the environment did to it. What the recorded allocator decided is never in an event; it is
 * an observation (below), compared with the model and not fed to it.
 *
 * An event's number is its position in its device's recorded list, from 0. Entries that only
 * observe (segment_alloc ...) keep their position as UL_EVENT_OBSERVED, so numbers always agree
 * with the file. */
#ifndef ULLAGE_EVENT_H
#define ULLAGE_EVENT_H

#include <stdint.h>

#include "ullage/api.h"

/* Values are stable. */
typedef enum ul_event_kind {
  UL_EVENT_OBSERVED = 0,   /* asks nothing: the entry is an observation of its own */
  UL_EVENT_ALLOC = 1,      /* bytes on stream from pool; handle names the allocation from now on */
  UL_EVENT_FREE = 2,       /* the program let go of handle */
  UL_EVENT_COMPLETE = 3,   /* environment: the streams that used handle have passed its free */
  UL_EVENT_STREAM_USE = 4, /* record_stream: handle is used on stream, other than its own */
  UL_EVENT_SYNC = 5, /* environment: stream (UL_STREAM_ALL: every one) has passed all its work */
  UL_EVENT_EMPTY_CACHE = 6,    /* torch.cuda.empty_cache() */
  UL_EVENT_POOL_BEGIN = 7,     /* requests on stream (or UL_STREAM_ALL) go to pool from now on */
  UL_EVENT_POOL_END = 8,       /* end of that */
  UL_EVENT_POOL_RELEASE = 9,   /* one use of pool given up; at none its memory may be released */
  UL_EVENT_CAPTURE_BEGIN = 10, /* as POOL_BEGIN, and a graph is captured meanwhile */
  UL_EVENT_CAPTURE_END = 11,
  UL_EVENT_SET_CONF = 12, /* settings changed; handle is the index of the settings string. Models
                             take the string itself: ul_model_configure */
  UL_EVENT_SET_FRACTION = 13,    /* per-process limit set to bytes */
  UL_EVENT_EXTERNAL_BYTES = 14,  /* environment: others hold bytes of the device from now on */
  UL_EVENT_MARK = 15,            /* a name given to this moment; see ul_mark */
  UL_EVENT_POOL_CREATE = 16,     /* pool comes to be with one use, or gains one */
  UL_EVENT_POOL_USE_ON_OOM = 17, /* MemPool(use_on_oom=True): a last resort for other requests */
  UL_EVENT_POOL_NO_SPLIT = 18,   /* MemPool(no_split=True): one request to a segment */
  UL_EVENT_POOL_CUSTOM = 19,     /* MemPool(allocator): the pool has an allocator of its own */
  UL_EVENT_ALLOC_AT = 20,        /* allocateWithAddress: bytes at the address in time_ns */
  UL_EVENT_POOL_CHECKPOINT = 21, /* the state of pool is kept under the number in handle */
  UL_EVENT_POOL_RESTORE = 22,    /* and brought back */
  UL_EVENT_DEVICE_BYTES = 23,    /* environment: the device has bytes from now on */
  UL_EVENT_POOL_NOT_ON_OOM = 24, /* the last resort is none any more */
  UL_EVENT_KIND_COUNT
} ul_event_kind;

enum {
  UL_EVENT_INFERRED = 1u << 0,         /* not recorded; concluded from observations */
  UL_EVENT_AMBIGUOUS = 1u << 1,        /* inferred, and other values fit the recording as well */
  UL_EVENT_BEFORE_RECORDING = 1u << 2, /* the allocation is older than the recording */
  UL_EVENT_OOM = 1u << 3,      /* ALLOC that the recorded allocator refused; bytes are rounded */
  UL_EVENT_DEFERRED = 1u << 4, /* FREE whose completion was recorded later, or never */
};

/* In ul_event.stream, where the kind allows it: every stream. */
#define UL_STREAM_ALL UINT32_MAX

/* Handles are below it: models keep them in a table. */
#define UL_EVENT_HANDLES (UINT64_C(1) << 28)

typedef struct ul_event {
  uint64_t time_ns; /* since the epoch; 0 where the file has no time */
  uint64_t handle;  /* serial number of the allocation, from 1 in each device and below
                       UL_EVENT_HANDLES; never an address */
  uint64_t bytes;   /* requested bytes, unrounded (ALLOC; repeated on FREE and COMPLETE) */
  uint32_t stack;   /* ul_source_stack; 0 none */
  uint32_t stream;  /* ids ascend with the raw handle, the default stream is 0: ul_source_stream */
  uint32_t pool;    /* 0 the default pool: ul_source_pool */
  uint16_t device;
  uint8_t kind;  /* ul_event_kind */
  uint8_t flags; /* UL_EVENT_* bits */
} ul_event;

/* What the recorded allocator or its driver did. Values are stable. */
typedef enum ul_action {
  UL_ACTION_NONE = 0,
  UL_ACTION_ALLOC = 1,
  UL_ACTION_FREE_REQUESTED = 2,
  UL_ACTION_FREE_COMPLETED = 3,
  UL_ACTION_SEGMENT_ALLOC = 4,
  UL_ACTION_SEGMENT_FREE = 5,
  UL_ACTION_SEGMENT_MAP = 6,
  UL_ACTION_SEGMENT_UNMAP = 7,
  UL_ACTION_OOM = 8,
  UL_ACTION_SNAPSHOT = 9,
  UL_ACTION_WORKSPACE_SNAPSHOT = 10, /* torch_npu */
  UL_ACTION_UNKNOWN = 11,
  UL_ACTION_COUNT
} ul_action;

typedef struct ul_observation {
  uint64_t event;   /* the entry's own position in the recorded list */
  uint64_t address; /* block, segment or range start; free bytes of the device for OOM */
  uint64_t bytes;   /* as recorded: requested bytes for blocks, real bytes for segments */
  uint32_t stream;
  uint8_t kind; /* ul_action */
} ul_observation;

/* A name for a moment: record_function scopes, user metadata, compiled regions, snapshots. */
typedef enum ul_mark_kind {
  UL_MARK_START = 0, /* external annotation, stage START */
  UL_MARK_END = 1,   /* external annotation, stage END */
  UL_MARK_USER_METADATA = 2,
  UL_MARK_COMPILE_CONTEXT = 3,
  UL_MARK_SNAPSHOT = 4, /* an earlier snapshot was taken here; value is its active bytes */
} ul_mark_kind;

typedef struct ul_mark {
  uint64_t time_ns;
  uint64_t event; /* the first event at or after it */
  uint64_t value;
  const char *name; /* owned by the source */
  uint16_t device;
  uint8_t kind; /* ul_mark_kind */
} ul_mark;

#ifdef __cplusplus
extern "C" {
#endif

/* "alloc", "free_requested" ... as PyTorch writes them. Static storage; "unknown" if out of range.
 */
UL_API const char *ul_action_name(ul_action action);

#ifdef __cplusplus
}
#endif
#endif
