// SPDX-License-Identifier: MIT
// The script's lines on private pools; a part of harness.cpp.
#include <map>
#include <memory>

static void pool_begin(u64 k, long s, bool cap) {
#if TV < 20000
  CA::notifyCaptureBegin(dev, k, {0, k});
  fake_capture(k);
#elif TV < 20100
  CA::get()->notifyCaptureBegin(dev, k, {0, k});
  fake_capture(k);
#elif !defined HAS_ROUTE
  CA::get()->beginAllocateStreamToPool(dev, sh(s < 0 ? 0 : s), {0, k});
  if (cap)
    fake_capture(k);
#else
  CA::get()->beginAllocateToPool(dev, {0, k}, [s](cudaStream_t q) { return s < 0 || q == sh(s); });
  if (cap) {
    fake_capture(k);
#ifdef HAS_MARK
    CA::get()->markCaptureBegin(dev);
#endif
  }
#endif
}
static void pool_end(u64 k, long s, bool cap) {
#if TV < 20000
  fake_capture(0);
  CA::notifyCaptureEnd(dev, k);
#elif TV < 20100
  CA::get()->notifyCaptureAboutToEnd(dev, k);
  fake_capture(0);
  CA::get()->notifyCaptureEnded(dev, k);
#elif !defined HAS_ROUTE
  if (cap)
    fake_capture(0);
  CA::get()->endAllocateStreamToPool(dev, sh(s < 0 ? 0 : s));
#else
  if (cap) {
    fake_capture(0);
#ifdef HAS_MARK
    CA::get()->markCaptureEnd(dev);
#endif
  }
  CA::get()->endAllocateToPool(dev, {0, k});
#endif
}
static void pool_release(u64 k) {
#if TV < 20000
  CA::notifyCaptureDestroy(dev, {0, k});
#elif TV < 20100
  CA::get()->notifyCaptureDestroy(dev, {0, k});
#else
  CA::get()->releasePool(dev, {0, k});
#endif
}

#ifdef HAS_CREATE
// An allocator of a pool's own. Nothing but raw_alloc and raw_delete is ever called of it, so an
// object with a table of functions in their places will do: what else a release's class declares
// differs from release to release.
static void *own_alloc(void *, size_t bytes) {
  void *p = nullptr;
  return cudaMalloc(&p, bytes) == 0 ? p : (cudaGetLastError(), nullptr);
}
static void own_delete(void *, void *p) {
  cudaFree(p);
}
static void own_other() {
  printf("X %ld a function of the pool's own allocator that nobody expected\n", ev);
}
template <class F> static size_t place_in_table(F function) {
  union {
    F function;
    ptrdiff_t words[2];
  } u{function};
  return (size_t)(u.words[0] - 1) / sizeof(void *);
}
static CA::CUDAAllocator *own_allocator() {
  static void *table[128];
  static void *object[64] = {table};
  for (void *&each : table)
    each = (void *)own_other;
  table[place_in_table((void *(CA::CUDAAllocator::*)(size_t)) & CA::CUDAAllocator::raw_alloc)] =
      (void *)own_alloc;
  table[place_in_table((void(CA::CUDAAllocator::*)(void *)) & CA::CUDAAllocator::raw_delete)] =
      (void *)own_delete;
  return (CA::CUDAAllocator *)object;
}
static void pool_custom(u64 k) {
#if TV >= 21100
  CA::get()->createOrIncrefPool(
      dev, {0, k}, std::shared_ptr<CA::CUDAAllocator>(own_allocator(), [](CA::CUDAAllocator *) {}));
#else
  CA::get()->createOrIncrefPool(dev, {0, k}, own_allocator());
#endif
}
#endif

// False: the release has no such thing.
static bool pool_verb(const std::string &verb, u64 k, long s, bool cap) {
  if (verb == "begin")
    return pool_begin(k, s, cap), true;
  if (verb == "end")
    return pool_end(k, s, cap), true;
  if (verb == "release")
    return pool_release(k), true;
#ifdef HAS_CREATE
  if (verb == "create")
    return CA::get()->createOrIncrefPool(dev, {0, k}), true;
  if (verb == "custom")
    return pool_custom(k), true;
#elif defined HAS_ENSURE
  if (verb == "create")
    return CA::get()->ensureExistsAndIncrefPool(dev, {0, k}), true;
#endif
#ifdef HAS_OOMPOOL3
  if (verb == "oom")
    return CA::get()->setUseOnOOM(dev, {0, k}, true), true;
  if (verb == "notoom")
    return CA::get()->setUseOnOOM(dev, {0, k}, false), true;
#elif defined HAS_OOMPOOL
  if (verb == "oom")
    return CA::get()->setUseOnOOM(dev, {0, k}), true;
#endif
#ifdef HAS_NOSPLIT
  if (verb == "nosplit")
    return CA::get()->setNoSplit(dev, {0, k}), true;
#endif
  return false;
}

// ---- checkpoints of a pool
#if TV >= 20100
struct Checkpoint {
  std::shared_ptr<CA::AllocatorState> state;
  std::unordered_map<u64, void *> held; // what the script held then
};
static std::map<u64, Checkpoint> checkpoints;

static void checkpoint(u64 k, u64 n) {
  checkpoints[n] = {CA::get()->getCheckpointState(dev, {0, k}), ptr};
}
// As the graph trees do: what the pool held and the state does not is gone without a free of its
// own, and what the state held is held again, under the number that it had.
static void restore(u64, u64 n) {
  auto found = checkpoints.find(n);
  if (found == checkpoints.end())
    return;
  auto delta = CA::get()->setCheckpointPoolState(dev, found->second.state);
  for (void *freed : delta.ptrs_freed)
    for (auto it = ptr.begin(); it != ptr.end();)
      it = it->second == freed ? ptr.erase(it) : std::next(it);
  for (auto &each : delta.dataptrs_allocd) {
    void *p = each.release_context();
    for (auto &held : found->second.held)
      if (held.second == p)
        ptr[held.first] = p;
  }
}
#endif
