/* SPDX-License-Identifier: MIT */
/* A pretend CUDA runtime + driver: no GPU, device memory is address space only.
 * It lets PyTorch's own libc10_cuda.so run its caching allocator on a machine without a GPU,
 * so that the allocator's decisions can be recorded and compared with a model of it.
 *
 * No CUDA header is used, so that one source serves the 11.x, 12.x and 13.x sonames.
 *
 * Device memory: FAKE_TOTAL bytes (default 80 GiB). cudaMalloc: sizes rounded up to 2 MiB, first
 * fit at the lowest free address from FAKE_BASE (address space is not bounded, only the byte count
 * is); FAKE_PLACE=bump: ever rising addresses, none used twice. Driver VMM: address ranges first
 * fit from FAKE_BASE + 2^44, physical units counted in bytes. Events: complete at once (default),
 * or FAKE_EVENTS=manual: only by fake_complete(), by an event, stream or device synchronise call.
 * cudaFree completes nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef CUDART_VERSION
#define CUDART_VERSION 12080
#endif

#define GRAN   (2ull << 20)
#define EXPORT __attribute__((visibility("default")))
typedef int err; /* cudaError_t / CUresult / nvmlReturn_t */
enum { OK = 0, INVALID = 1, OOM = 2, NOT_READY = 600 };

typedef struct {
  uint64_t addr, size;
} range;
typedef struct {
  range *r;
  size_t n, cap;
  uint64_t base, top;
} space;
#define DEVICES 8
/* Device d has its memory from base + d * 2^46; capacity and what others hold are the same number
 * for each. */
#define STRIDE (1ull << 46)
static space mem[DEVICES], va[DEVICES];
static uint64_t used[DEVICES], total, ext_used;
static int manual_events, n_dev, bump;
static uint64_t clock_, all_done;
static struct {
  void *s;
  uint64_t done;
} sd[256];
static int nsd;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static err last_error;
static __thread int cur_dev;
static uint64_t capture_id;
/* log: kinds M malloc, F free, m failed malloc, P map, U unmap, p failed unit, V reserve, W range
 * freed */
typedef void (*log_fn)(int kind, uint64_t addr, uint64_t size);
static log_fn logger;
#define LOG(k, a, s)   \
  do {                 \
    if (logger)        \
      logger(k, a, s); \
  } while (0)
#define SET(e) (last_error = (e))

static uint64_t env_u64(const char *k, uint64_t d) {
  const char *v = getenv(k);
  return v && *v ? strtoull(v, NULL, 0) : d;
}
__attribute__((constructor)) static void setup(void) {
  total = env_u64("FAKE_TOTAL", 80ull << 30);
  for (int d = 0; d < DEVICES; d++) {
    mem[d].base = env_u64("FAKE_BASE", 0x7f4000000000ull) + d * STRIDE;
    va[d].base = mem[d].base + (1ull << 44);
  }
  n_dev = (int)env_u64("FAKE_DEVICES", 1);
  if (n_dev > DEVICES)
    n_dev = DEVICES;
  const char *e = getenv("FAKE_EVENTS");
  e = getenv("FAKE_PLACE");
  bump = e && !strcmp(e, "bump");
  e = getenv("FAKE_EVENTS");
  manual_events = e && !strcmp(e, "manual");
}

static uint64_t place(space *s, uint64_t size) {
  uint64_t at = s->base;
  size_t i = 0;
  if (bump) {
    if (s->top < s->base)
      s->top = s->base;
    at = s->top;
    s->top += size;
    i = s->n;
  } else
    for (; i < s->n; i++) {
      if (s->r[i].addr - at >= size)
        break;
      at = s->r[i].addr + s->r[i].size;
    }
  if (s->n == s->cap) {
    s->cap = s->cap ? 2 * s->cap : 1024;
    s->r = realloc(s->r, s->cap * sizeof *s->r);
  }
  memmove(s->r + i + 1, s->r + i, (s->n - i) * sizeof *s->r);
  s->r[i] = (range){at, size};
  s->n++;
  return at;
}
static uint64_t remove_(space *s, uint64_t addr) { /* size, 0 = unknown */
  size_t lo = 0, hi = s->n;
  while (lo < hi) {
    size_t m = (lo + hi) / 2;
    if (s->r[m].addr < addr)
      lo = m + 1;
    else
      hi = m;
  }
  if (lo == s->n || s->r[lo].addr != addr)
    return 0;
  uint64_t z = s->r[lo].size;
  memmove(s->r + lo, s->r + lo + 1, (s->n - lo - 1) * sizeof *s->r);
  s->n--;
  return z;
}

/* control, for the harness */
EXPORT void fake_set_log(log_fn f) {
  logger = f;
}
EXPORT void fake_device(int d) {
  cur_dev = d < 0 || d >= n_dev ? 0 : d;
}
EXPORT int fake_devices(void) {
  return n_dev;
}
EXPORT uint64_t fake_base(void) {
  return mem[cur_dev].base;
}
EXPORT uint64_t fake_used(void) {
  return used[cur_dev];
}
static int device_of(uint64_t address) {
  uint64_t d = (address - mem[0].base) / STRIDE;
  return d < DEVICES ? (int)d : 0;
}
EXPORT void fake_set_total(uint64_t t) {
  total = t;
}
EXPORT void fake_set_external(uint64_t b) {
  ext_used = b;
} /* memory of "other processes" */
EXPORT void fake_capture(uint64_t id) {
  capture_id = id;
} /* 0 = no capture */
static uint64_t *done_of(void *s) {
  for (int i = 0; i < nsd; i++)
    if (sd[i].s == s)
      return &sd[i].done;
  sd[nsd].s = s;
  sd[nsd].done = 0;
  return &sd[nsd++].done;
}
EXPORT void fake_complete_all(void) {
  all_done = clock_;
}
EXPORT void fake_complete(void *s) {
  *done_of(s) = clock_;
}

/* memory */
EXPORT err cudaMalloc(void **p, size_t n) {
  pthread_mutex_lock(&mu);
  uint64_t size = (n + GRAN - 1) / GRAN * GRAN;
  if (used[cur_dev] + ext_used + size > total) {
    pthread_mutex_unlock(&mu);
    *p = NULL;
    LOG('m', 0, n);
    return SET(OOM);
  }
  uint64_t a = place(&mem[cur_dev], size);
  used[cur_dev] += size;
  *p = (void *)a;
  pthread_mutex_unlock(&mu);
  LOG('M', a, n);
  return OK;
}
EXPORT err cudaFree(void *p) {
  if (!p)
    return OK;
  pthread_mutex_lock(&mu);
  int d = device_of((uint64_t)p);
  uint64_t z = remove_(&mem[d], (uint64_t)p);
  used[d] -= z;
  pthread_mutex_unlock(&mu);
  if (!z)
    return SET(INVALID);
  LOG('F', (uint64_t)p, z);
  return OK;
}
EXPORT err cudaMemGetInfo(size_t *f, size_t *t) {
  uint64_t u = used[cur_dev] + ext_used;
  *f = u > total ? 0 : total - u;
  *t = total;
  return OK;
}
EXPORT err cudaMallocAsync(void **p, size_t n, void *s) {
  (void)s;
  return cudaMalloc(p, n);
}
EXPORT err cudaFreeAsync(void *p, void *s) {
  (void)s;
  return cudaFree(p);
}
EXPORT err cudaMallocHost(void **p, size_t n) {
  *p = malloc(n);
  return OK;
}
EXPORT err cudaHostAlloc(void **p, size_t n, unsigned f) {
  (void)f;
  *p = malloc(n);
  return OK;
}
EXPORT err cudaFreeHost(void *p) {
  free(p);
  return OK;
}
EXPORT err cudaDeviceGetDefaultMemPool(void **p, int d) {
  *p = (void *)(uintptr_t)(0x100 + d);
  return OK;
}
EXPORT err cudaMemPoolGetAttribute(void *p, int a, void *v) {
  (void)p;
  (void)a;
  *(uint64_t *)v = used[cur_dev];
  return OK;
}
EXPORT err cudaMemPoolSetAttribute(void *p, int a, void *v) {
  (void)p;
  (void)a;
  (void)v;
  return OK;
}
EXPORT err cudaMemPoolSetAccess(void *p, const void *d, size_t c) {
  (void)p;
  (void)d;
  (void)c;
  return OK;
}
EXPORT err cudaMemPoolTrimTo(void *p, size_t k) {
  (void)p;
  (void)k;
  return OK;
}
EXPORT err cudaDeviceGetGraphMemAttribute(int d, int a, void *v) {
  (void)d;
  (void)a;
  *(uint64_t *)v = 0;
  return OK;
}
EXPORT err cudaDeviceSetGraphMemAttribute(int d, int a, void *v) {
  (void)d;
  (void)a;
  (void)v;
  return OK;
}
EXPORT err cudaMemcpy(void *d, const void *s, size_t n, int k) {
  (void)d;
  (void)s;
  (void)n;
  (void)k;
  return OK;
}
EXPORT err cudaMemcpyAsync(void *d, const void *s, size_t n, int k, void *st) {
  (void)d;
  (void)s;
  (void)n;
  (void)k;
  (void)st;
  return OK;
}
EXPORT err cudaMemcpyPeerAsync(void *d, int a, const void *s, int b, size_t n, void *st) {
  (void)d;
  (void)a;
  (void)s;
  (void)b;
  (void)n;
  (void)st;
  return OK;
}
EXPORT err cudaIpcCloseMemHandle(void *p) {
  (void)p;
  return OK;
}
EXPORT err cudaIpcOpenMemHandle(void **p, ...) {
  *p = 0;
  return SET(801);
}
EXPORT err cudaIpcGetMemHandle(void *h, void *p) {
  (void)h;
  (void)p;
  return SET(801);
}

/* devices */
EXPORT err cudaGetDeviceCount(int *n) {
  *n = n_dev;
  return OK;
}
EXPORT err cudaGetDevice(int *d) {
  *d = cur_dev;
  return OK;
}
EXPORT err cudaSetDevice(int d) {
  cur_dev = d;
  return OK;
}
EXPORT err cudaGetLastError(void) {
  err e = last_error;
  last_error = OK;
  return e;
}
EXPORT err cudaPeekAtLastError(void) {
  return last_error;
}
EXPORT const char *cudaGetErrorString(err e) {
  return e == OK ? "no error" : e == OOM ? "out of memory" : "fake error";
}
EXPORT const char *cudaGetErrorName(err e) {
  return e == OK ? "cudaSuccess" : "cudaErrorFake";
}
EXPORT err cudaDriverGetVersion(int *v) {
  *v = 13020;
  return OK;
}
EXPORT err cudaRuntimeGetVersion(int *v) {
  *v = CUDART_VERSION;
  return OK;
}
EXPORT err cudaDeviceSynchronize(void) {
  all_done = clock_;
  return OK;
}
EXPORT err cudaDeviceGetStreamPriorityRange(int *lo, int *hi) {
  *lo = 0;
  *hi = -5;
  return OK;
}
EXPORT err cudaDeviceCanAccessPeer(int *ok, int a, int b) {
  *ok = a != b;
  return OK;
}
EXPORT err cudaDeviceEnablePeerAccess(int d, unsigned f) {
  (void)d;
  (void)f;
  return OK;
}
EXPORT err cudaDeviceGetAttribute(int *v, int a, int d) {
  (void)a;
  (void)d;
  *v = 0;
  return OK;
}
EXPORT err cudaGetDeviceProperties(void *p,
                                   int d) { /* only the fields with the same place in 11, 12, 13 */
  (void)d;
  memset(p, 0, 700);
  strcpy((char *)p, "Fake");
  *(uint64_t *)((char *)p + 288) = total;
  return OK;
}
EXPORT err cudaGetDeviceProperties_v2(void *p, int d) {
  return cudaGetDeviceProperties(p, d);
}
EXPORT err cudaThreadExchangeStreamCaptureMode(int *m) {
  (void)m;
  return OK;
}

/* streams */
static uint64_t next_stream = 0x5600000000;
EXPORT err cudaStreamCreateWithPriority(void **s, unsigned f, int p) {
  (void)f;
  (void)p;
  next_stream += 0x100;
  *s = (void *)next_stream;
  return OK;
}
EXPORT err cudaStreamCreateWithFlags(void **s, unsigned f) {
  return cudaStreamCreateWithPriority(s, f, 0);
}
EXPORT err cudaStreamCreate(void **s) {
  return cudaStreamCreateWithPriority(s, 0, 0);
}
EXPORT err cudaStreamQuery(void *s) {
  (void)s;
  return OK;
}
EXPORT err cudaStreamSynchronize(void *s) {
  *done_of(s) = clock_;
  return OK;
}
EXPORT err cudaStreamWaitEvent(void *s, void *e, unsigned f) {
  (void)s;
  (void)e;
  (void)f;
  return OK;
}
EXPORT err cudaStreamIsCapturing(void *s, int *c) {
  (void)s;
  *c = capture_id ? 1 : 0;
  return OK;
}
EXPORT err cudaStreamGetCaptureInfo(void *s, int *c, unsigned long long *id) {
  (void)s;
  *c = capture_id ? 1 : 0;
  if (id)
    *id = capture_id;
  return OK;
}
EXPORT err cudaStreamGetCaptureInfo_v2(void *s, int *c, unsigned long long *id) {
  return cudaStreamGetCaptureInfo(s, c, id);
}
EXPORT err cudaStreamUpdateCaptureDependencies(void) {
  return OK;
}
EXPORT err cudaGraphAddEmptyNode(void) {
  return SET(801);
}
EXPORT err cudaGraphNodeGetDependencies(void) {
  return SET(801);
}
EXPORT err cudaGraphNodeGetType(void) {
  return SET(801);
}

/* events */
typedef struct {
  uint64_t tick;
  void *s;
} fake_event;
EXPORT err cudaEventCreateWithFlags(void **e, unsigned f) {
  (void)f;
  *e = calloc(1, sizeof(fake_event));
  return OK;
}
EXPORT err cudaEventCreate(void **e) {
  return cudaEventCreateWithFlags(e, 0);
}
EXPORT err cudaEventDestroy(void *e) {
  free(e);
  return OK;
}
EXPORT err cudaEventRecord(void *e, void *s) {
  fake_event *x = e;
  x->tick = ++clock_;
  x->s = s;
  return OK;
}
EXPORT err cudaEventQuery(void *e) {
  fake_event *x = e;
  return !manual_events || x->tick <= all_done || x->tick <= *done_of(x->s) ? OK : SET(NOT_READY);
}
EXPORT err cudaEventSynchronize(void *e) {
  fake_event *x = e;
  uint64_t *d = done_of(x->s);
  if (x->tick > *d)
    *d = x->tick;
  return OK;
}
EXPORT err cudaEventElapsedTime(float *ms, void *a, void *b) {
  (void)a;
  (void)b;
  *ms = 0;
  return OK;
}

/* driver VMM, for expandable segments */
typedef struct {
  uint64_t size;
  int device;
} fake_handle;
EXPORT err cuMemGetAllocationGranularity(size_t *g, const void *p, int o) {
  (void)p;
  (void)o;
  *g = GRAN;
  return OK;
}
EXPORT err cuMemAddressReserve(uint64_t *p, size_t n, size_t al, uint64_t a, unsigned long long f) {
  (void)al;
  (void)a;
  (void)f;
  pthread_mutex_lock(&mu);
  *p = place(&va[cur_dev], (n + GRAN - 1) / GRAN * GRAN);
  pthread_mutex_unlock(&mu);
  LOG('V', *p, n);
  return OK;
}
EXPORT err cuMemAddressFree(uint64_t p, size_t n) {
  pthread_mutex_lock(&mu);
  remove_(&va[device_of(p)], p);
  pthread_mutex_unlock(&mu);
  LOG('W', p, n);
  return OK;
}
EXPORT err cuMemCreate(unsigned long long *h, size_t n, const void *p, unsigned long long f) {
  (void)f;
  int d = ((const int *)p)[3]; /* type, handle types, location: type, id */
  if (d < 0 || d >= n_dev)
    d = 0;
  if (used[d] + ext_used + n > total) {
    LOG('p', 0, n);
    return OOM;
  }
  used[d] += n;
  fake_handle *x = malloc(sizeof *x);
  x->size = n;
  x->device = d;
  *h = (uintptr_t)x;
  return OK;
}
EXPORT err cuMemRelease(unsigned long long h) {
  fake_handle *x = (fake_handle *)(uintptr_t)h;
  used[x->device] -= x->size;
  free(x);
  return OK;
}
EXPORT err cuMemMap(uint64_t p, size_t n, size_t o, unsigned long long h, unsigned long long f) {
  (void)o;
  (void)h;
  (void)f;
  LOG('P', p, n);
  return OK;
}
EXPORT err cuMemUnmap(uint64_t p, size_t n) {
  LOG('U', p, n);
  return OK;
}
EXPORT err cuMemSetAccess(uint64_t p, size_t n, const void *d, size_t c) {
  (void)p;
  (void)n;
  (void)d;
  (void)c;
  return OK;
}
EXPORT err cuMemExportToShareableHandle(void *o, unsigned long long h, int t,
                                        unsigned long long f) {
  (void)h;
  (void)t;
  (void)f;
  memset(o, 0, 4);
  return OK;
}
EXPORT err cuGetErrorString(err r, const char **s) {
  *s = r ? "fake driver error" : "no error";
  return OK;
}
EXPORT err cuGetErrorName(err r, const char **s) {
  *s = r ? "CUDA_ERROR_FAKE" : "CUDA_SUCCESS";
  return OK;
}
EXPORT err cuInit(unsigned f) {
  (void)f;
  return OK;
}
EXPORT err cuDriverGetVersion(int *v) {
  *v = 13020;
  return OK;
}
EXPORT err cuDeviceGetAttribute(int *v, int a, int d) {
  (void)d;
  *v = a == 102 || a == 103;
  return OK;
}
EXPORT err cuDeviceGet(int *d, int i) {
  *d = i;
  return OK;
}
EXPORT err cuCtxGetCurrent(void **c) {
  *c = (void *)1;
  return OK;
}
EXPORT err cuCtxSetCurrent(void *c) {
  (void)c;
  return OK;
}
EXPORT err cuDevicePrimaryCtxGetState(int d, unsigned *f, int *a) {
  (void)d;
  *f = 0;
  *a = 1;
  return OK;
}

/* NVML: present, knows no process */
EXPORT err nvmlInit_v2(void) {
  return OK;
}
EXPORT err nvmlDeviceGetHandleByPciBusId_v2(const char *b, void **d) {
  (void)b;
  *d = (void *)1;
  return OK;
}
EXPORT err nvmlDeviceGetComputeRunningProcesses(void *d, unsigned *n, void *i) {
  (void)d;
  (void)i;
  *n = 0;
  return OK;
}
EXPORT err nvmlSystemGetCudaDriverVersion_v2(int *v) {
  *v = 13020;
  return OK;
}
EXPORT err nvmlDeviceGetGpuFabricInfoV(void *d, void *i) {
  (void)d;
  memset((char *)i + 4, 0, 25);
  return OK;
} /* state: not supported */
EXPORT err nvmlDeviceGetNvLinkRemoteDeviceType(void *d, unsigned l, int *t) {
  (void)d;
  (void)l;
  (void)t;
  return 3;
}
EXPORT err nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned l, void *t) {
  (void)d;
  (void)l;
  (void)t;
  return 3;
}

static err unimplemented(void) {
  return 801;
}
#define UNIMPLEMENTED(name) \
  EXPORT err name(void) {   \
    return 801;             \
  }
/* clang-format off */
UNIMPLEMENTED(cuMemImportFromShareableHandle)
UNIMPLEMENTED(cuMemsetD32Async)
UNIMPLEMENTED(cuStreamWriteValue32)
UNIMPLEMENTED(cuMulticastAddDevice)
UNIMPLEMENTED(cuMulticastBindMem)
UNIMPLEMENTED(cuMulticastCreate)
UNIMPLEMENTED(cuMulticastUnbind)
UNIMPLEMENTED(cuMemRetainAllocationHandle)
UNIMPLEMENTED(cuMemGetAllocationPropertiesFromHandle)
UNIMPLEMENTED(cuMemGetAddressRange)
/* clang-format on */
EXPORT err cudaGetDriverEntryPointByVersion(const char *name, void **f, unsigned v,
                                            unsigned long long fl, int *q) {
  (void)v;
  (void)fl;
  *f = dlsym(RTLD_DEFAULT, name);
  if (!*f)
    *f = (void *)unimplemented;
  if (q)
    *q = 0;
  return OK;
}
EXPORT err cudaGetDriverEntryPoint(const char *name, void **f, unsigned long long fl, int *q) {
  return cudaGetDriverEntryPointByVersion(name, f, 0, fl, q);
}
EXPORT err cuGetProcAddress(const char *name, void **f, int v, uint64_t fl) {
  (void)v;
  (void)fl;
  return cudaGetDriverEntryPoint(name, f, 0, NULL);
}
