// SPDX-License-Identifier: MIT
// Drives PyTorch's own caching allocator (libc10_cuda) on the pretend CUDA runtime.
// Script on stdin, results on stdout; both described in README.md next to this file.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#if __has_include(<c10/cuda/PeerToPeerAccess.h>)
#include <c10/cuda/PeerToPeerAccess.h>
#define HAS_P2P
#endif
#if TV >= 20100
namespace c10::cuda::_internal {
C10_CUDA_API void setHasPrimaryContext(bool (*)(
#if TV < 20200
    signed char
#else
    c10::DeviceIndex
#endif
    ));
} // namespace c10::cuda::_internal
#endif
#ifdef HAS_CONF_H
#include <c10/cuda/CUDAAllocatorConfig.h>
#endif
#include <algorithm>
#include <c10/cuda/impl/CUDAGuardImpl.h>
#include <c10/util/Exception.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

extern "C" {
typedef void (*fake_log)(int, uint64_t, uint64_t);
void fake_set_log(fake_log);
uint64_t fake_base(void); // of the device in use
void fake_device(int);
int fake_devices(void);
uint64_t fake_used(void);
void fake_set_total(uint64_t);
void fake_set_external(uint64_t);
void fake_capture(uint64_t);
void fake_complete_all(void);
void fake_complete(void *);
}
namespace CA = c10::cuda::CUDACachingAllocator;
using u64 = uint64_t;
static c10::impl::DeviceGuardImplRegistrar
    guard_reg(c10::DeviceType::CUDA,
              new c10::cuda::impl::CUDAGuardImpl()); // normally done by libtorch_cuda
static u64 base;
static long ev; // number of the current script event
static bool quiet;
static int dev; // that the script's lines are about
static u64 off(u64 a) {
  return a - base;
}
static constexpr u64 SBASE = 0x10000000;
static cudaStream_t sh(long k) {
  return k ? (cudaStream_t)(SBASE + 0x100 * (u64)k) : nullptr;
}
static long si(const void *s) {
  return s ? (long)(((u64)s - SBASE) / 0x100) : 0;
}

// ---- driver calls, contiguous unit maps joined
static int pk;
static u64 pa, ps;
static void flushlog() {
  if (pk) {
    printf("D %ld %c %llx %llu\n", ev, pk, (unsigned long long)off(pa), (unsigned long long)ps);
    pk = 0;
  }
}
static void onlog(int k, u64 a, u64 s) {
  if (quiet)
    return;
  if ((k == 'P' || k == 'U') && pk == k && pa + ps == a) {
    ps += s;
    return;
  }
  flushlog();
  if (k == 'P' || k == 'U') {
    pk = k;
    pa = a;
    ps = s;
    return;
  }
  if (k == 'm' || k == 'p')
    printf("D %ld %c - %llu\n", ev, k, (unsigned long long)s);
  else
    printf("D %ld %c %llx %llu\n", ev, k, (unsigned long long)off(a), (unsigned long long)s);
}

// ---- 1.13: the CUDA runtime is linked into libc10_cuda.so; redirect its entry points to ours
static void patch_static_runtime() {
#if TV < 20000
  std::string path;
  u64 at = 0;
  struct Ctx {
    std::string *p;
    u64 *a;
  } c{&path, &at};
  dl_iterate_phdr(
      [](dl_phdr_info *i, size_t, void *d) {
        auto *c = (Ctx *)d;
        if (strstr(i->dlpi_name, "libc10_cuda.so")) {
          *c->p = i->dlpi_name;
          *c->a = i->dlpi_addr;
        }
        return 0;
      },
      &c);
  int fd = open(path.c_str(), O_RDONLY);
  struct stat st;
  fstat(fd, &st);
  char *m = (char *)mmap(0, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  auto *eh = (Elf64_Ehdr *)m;
  auto *sec = (Elf64_Shdr *)(m + eh->e_shoff);
  for (int i = 0; i < eh->e_shnum; i++)
    if (sec[i].sh_type == SHT_SYMTAB) {
      auto *sy = (Elf64_Sym *)(m + sec[i].sh_offset);
      const char *str = m + sec[sec[i].sh_link].sh_offset;
      for (size_t j = 0; j < sec[i].sh_size / sizeof *sy; j++) {
        const char *n = str + sy[j].st_name;
        if (ELF64_ST_TYPE(sy[j].st_info) != STT_FUNC || strncmp(n, "cuda", 4) || !sy[j].st_value)
          continue;
        void *f = dlsym(RTLD_DEFAULT, n);
        if (!f)
          continue;
        unsigned char *t = (unsigned char *)(at + sy[j].st_value);
        if ((void *)t == f)
          continue;
        u64 pg = (u64)t & ~4095ull;
        mprotect((void *)pg, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
        t[0] = 0x48;
        t[1] = 0xb8;
        memcpy(t + 2, &f, 8);
        t[10] = 0xff;
        t[11] = 0xe0;
      }
    }
#endif
}

static CA::DeviceStats *dst() {
  static CA::DeviceStats s;
  s = CA::
#if TV < 20000
      getDeviceStats(dev);
#else
          get()
              ->getDeviceStats(dev);
#endif
  return &s;
}

template <class A> static void pstat(const char *n, const A &a) {
  printf("S %ld %s", ev, n);
  for (int i = 0; i < 3; i++)
    printf(" %lld %lld %lld %lld", (long long)a[i].current, (long long)a[i].peak,
           (long long)a[i].allocated, (long long)a[i].freed);
  printf("\n");
}
template <class B> static void pstat1(const char *n, const B &b) {
  printf("S %ld %s %lld %lld %lld %lld\n", ev, n, (long long)b.current, (long long)b.peak,
         (long long)b.allocated, (long long)b.freed);
}
static void stats() {
  auto &s = *dst();
  pstat("allocation", s.allocation);
  pstat("segment", s.segment);
  pstat("active", s.active);
  pstat("inactive_split", s.inactive_split);
  pstat("allocated_bytes", s.allocated_bytes);
  pstat("reserved_bytes", s.reserved_bytes);
  pstat("active_bytes", s.active_bytes);
  pstat("inactive_split_bytes", s.inactive_split_bytes);
#ifdef HAS_REQ
  pstat("requested_bytes", s.requested_bytes);
#endif
  pstat1("oversize_allocations", s.oversize_allocations);
  pstat1("oversize_segments", s.oversize_segments);
  printf("C %ld num_alloc_retries %lld num_ooms %lld max_split_size %lld\n", ev,
         (long long)s.num_alloc_retries, (long long)s.num_ooms, (long long)s.max_split_size);
#ifdef HAS_SYNC
  printf("C %ld num_sync_all_streams %lld num_device_alloc %lld num_device_free %lld\n", ev,
         (long long)s.num_sync_all_streams, (long long)s.num_device_alloc,
         (long long)s.num_device_free);
#endif
#ifdef HAS_NREJ
  printf("N %ld num_oom_rejections %lld\n", ev, (long long)s.num_oom_rejections);
#endif
#ifdef HAS_PRIV
  std::vector<std::pair<u64, u64>> ks;
  for (auto &e : s.reserved_bytes_by_private_pools)
    ks.push_back({e.first.first, e.first.second});
  std::sort(ks.begin(), ks.end());
  for (auto &k : ks) {
    auto &a = s.reserved_bytes_by_private_pools.find({k.first, k.second})->second;
    printf("N %ld reserved_bytes_by_private_pools (%llu,%llu)", ev, (unsigned long long)k.first,
           (unsigned long long)k.second);
    for (int i = 0; i < 3; i++)
      printf(" %lld %lld %lld %lld", (long long)a[i].current, (long long)a[i].peak,
             (long long)a[i].allocated, (long long)a[i].freed);
    printf("\n");
  }
#endif
}

static std::unordered_map<int, u64> printed; // trace entries already printed, by device
static const char *actions[] = {"alloc",        "free_requested", "free_completed", "segment_alloc",
                                "segment_free", "segment_map",    "segment_unmap",  "snapshot",
                                "oom",          "annotate"};
template <class E> static void ptrace(const E &t) {
#if TV >= 20100
  const char *an = actions[(int)t.action_];
#elif TV >= 20000
  static const char *old[] = {
      "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "snapshot",
      "oom"};
  const char *an = old[(int)t.action_];
#else
  const char *an = "";
#endif
  bool raw = !strcmp(an, "oom") || !strcmp(an, "snapshot");
  if (raw)
    printf("T %ld %s %llu %llu %ld\n", ev, an, (unsigned long long)t.addr_,
           (unsigned long long)t.size_, si(t.stream_));
  else
    printf("T %ld %s %llx %llu %ld\n", ev, an, (unsigned long long)off(t.addr_),
           (unsigned long long)t.size_, si(t.stream_));
}
static void snap(bool segs, bool trace) {
#if TV < 20000
  auto v = CA::snapshot();
#else
  auto info = CA::get()->snapshot();
  auto &v = info.segments;
#endif
  if (segs)
    for (auto &s : v) {
      if (s.device != dev)
        continue;
      printf("G %ld %llx %llu %llu %llu ", ev, (unsigned long long)off(s.address),
             (unsigned long long)s.total_size, (unsigned long long)s.allocated_size,
             (unsigned long long)s.active_size);
#if TV >= 20000
      printf("%llu ", (unsigned long long)s.requested_size);
#else
      printf("- ");
#endif
      printf("%ld %s ", si(s.stream), s.is_large ? "large" : "small");
#if TV >= 20100
      printf("%llu,%llu %d\n", (unsigned long long)s.owner_private_pool_id.first,
             (unsigned long long)s.owner_private_pool_id.second, (int)s.is_expandable);
#else
      printf("- -\n");
#endif
#if TV >= 21100
      printf("Y %ld %llx %d\n", ev, (unsigned long long)off(s.address),
             (int)s.registration_counter);
#endif
      u64 a = s.address;
      for (auto &b : s.blocks) {
        printf("B %ld %llx %llu ", ev, (unsigned long long)off(a), (unsigned long long)b.size);
#if TV >= 20000
        printf("%llu ", (unsigned long long)b.requested_size);
#else
        printf("- ");
#endif
        printf("%s %d\n",
               b.allocated ? "active_allocated"
               : b.active  ? "active_pending_free"
                           : "inactive",
               (int)b.gc_counter);
        a += b.size;
      }
    }
#if TV >= 20000
  if (trace) {
    auto &t = info.device_traces[dev];
    for (u64 &i = printed[dev]; i < t.size(); i++)
      ptrace(t[i]);
  }
#endif
}
static void hist(bool on, u64 max) {
#if TV >= 20000
  printed.clear();
#if TV < 20100
  CA::get()->recordHistory(on, nullptr, max, false);
#elif defined HAS_SKIP
  CA::get()->recordHistory(on, nullptr, max, CA::RecordContext::NEVER, false, {});
#elif defined HAS_CLEAR
  CA::get()->recordHistory(on, nullptr, max, CA::RecordContext::NEVER, false);
#else
  CA::get()->recordHistory(on, nullptr, max, CA::RecordContext::NEVER);
#endif
#endif
}

static std::string oneline(const char *w) {
  std::string s(w);
  for (auto &c : s)
    if (c == '\n')
      c = '|';
  if (s.size() > 900)
    s.resize(900);
  return s;
}

static std::unordered_map<u64, void *> ptr;
#include "harness_pools.h"

struct Op {
  char k;
  u64 id, n;
  long s;
  std::string str;
};

static void rec(void *p, long s) {
  auto del =
#if TV < 20000
      CA::get()->raw_deleter();
#else
      CA::get()->raw_deleter();
#endif
  c10::DataPtr d(p, p, del, c10::Device(c10::DeviceType::CUDA, dev));
  auto st = c10::cuda::getStreamFromExternal(sh(s), dev);
#if TV < 20000
  CA::recordStream(d, st);
#else
  CA::get()->recordStream(d, st);
#endif
  d.release_context();
}

static void run_line(char *line) {
  char cmd[32];
  int used = 0;
  if (sscanf(line, "%31s%n", cmd, &used) != 1)
    return;
  char *a = line + used;
  char *e;
  auto num = [&]() -> u64 {
    u64 v = strtoull(a, &e, 0);
    a = e;
    return v;
  };
  auto opt = [&](long d) -> long {
    while (*a == ' ')
      a++;
    if (!*a || *a == '\n')
      return d;
    return strtol(a, &a, 0);
  };
  std::string c(cmd);
  if (c == "a") {
    u64 id = num(), n = num();
    long s = opt(0);
    u64 before = dst()->allocated_bytes[0].current;
    void *p = CA::
#if TV >= 20000
                  get()
                      ->
#endif
              raw_alloc_with_stream(n, sh(s));
    flushlog();
    if (!p) {
      printf("A %ld %llu null 0\n", ev, (unsigned long long)id);
      return;
    }
    ptr[id] = p;
    printf("A %ld %llu %llx %llu\n", ev, (unsigned long long)id, (unsigned long long)off((u64)p),
           (unsigned long long)(dst()->allocated_bytes[0].current - before));
  } else if (c == "f") {
    u64 id = num();
    auto it = ptr.find(id);
    if (it == ptr.end())
      return; // freeing what never came to be: nothing
    void *p = it->second;
    ptr.erase(it);
    CA::raw_delete(p);
  } else if (c == "r") {
    u64 id = num();
    long s = opt(0);
    auto it = ptr.find(id);
    if (it == ptr.end())
      return;
    rec(it->second, s);
  } else if (c == "s") {
    long s = opt(-1);
    if (s < 0)
      fake_complete_all();
    else
      fake_complete(sh(s));
  } else if (c == "e") {
    long k = opt(-1);
#ifdef HAS_EC_ID
    if (k >= 0) {
      CA::get()->emptyCache({0, (u64)k});
      return;
    }
#endif
    CA::emptyCache();
  } else if (c == "frac") {
    CA::setMemoryFraction(atof(a), dev);
  } else if (c == "total") {
    fake_set_total(num());
  } else if (c == "ext") {
    fake_set_external(num());
  } else if (c == "pool" || c == "cap") {
    char sub[16];
    int u = 0;
    sscanf(a, "%15s%n", sub, &u);
    a += u;
    u64 k = num();
    long s = opt(-1);
    if (!pool_verb(sub, k, s, c == "cap"))
      printf("X %ld unsupported %s\n", ev, sub);
  } else if (c == "reset_peak") {
    CA::resetPeakStats(dev);
  } else if (c == "reset_acc") {
    CA::resetAccumulatedStats(dev);
  } else if (c == "stats")
    stats();
  else if (c == "snap")
    snap(true, false);
  else if (c == "trace")
    snap(false, true);
  else if (c == "hist") {
    char sub[16] = "";
    int u = 0;
    sscanf(a, "%15s%n", sub, &u);
    a += u;
    hist(!strcmp(sub, "on"), (u64)opt(1000000000));
  } else if (c == "conf") {
    while (*a == ' ')
      a++;
    std::string s(a);
    while (!s.empty() && (s.back() == '\n' || s.back() == ' '))
      s.pop_back();
    CA::setAllocatorSettings(s);
  } else if (c == "dev") {
    dev = (int)num();
    fake_device(dev);
    base = fake_base();
  }
#if TV >= 20100
  else if (c == "ckpt") {
    u64 k = num();
    checkpoint(k, num());
  } else if (c == "restore") {
    u64 k = num();
    restore(k, num());
  }
#endif
#ifdef HAS_ADDR
  else if (c == "at") {
    u64 id = num(), n = num();
    u64 o = strtoull(a, &a, 16);
    u64 before = dst()->allocated_bytes[0].current;
    auto d = CA::allocateWithAddress(n, (void *)(base + o));
    flushlog();
    void *p = d.release_context();
    ptr[id] = p;
    printf("A %ld %llu %llx %llu\n", ev, (unsigned long long)id, (unsigned long long)off((u64)p),
           (unsigned long long)(dst()->allocated_bytes[0].current - before));
  }
#endif
  else if (c == "used")
    printf("U %ld %llu\n", ev, (unsigned long long)fake_used());
  else
    printf("X %ld unknown %s\n", ev, cmd);
}

static int bench(int reps, bool h) {
  quiet = true;
  std::vector<Op> ops;
  char line[4096];
  u64 maxid = 0;
  while (fgets(line, sizeof line, stdin)) {
    Op o{0, 0, 0, 0, ""};
    unsigned long long id = 0, n = 0;
    long s = 0;
    char k[32];
    if (sscanf(line, "%31s", k) != 1 || k[0] == '#')
      continue;
    if (!strcmp(k, "mark"))
      o.k = 'm';
    else if (!strcmp(k, "a")) {
      sscanf(line, "a %llu %llu %ld", &id, &n, &s);
      o.k = 'a';
    } else if (!strcmp(k, "f")) {
      sscanf(line, "f %llu", &id);
      o.k = 'f';
    } else if (!strcmp(k, "r")) {
      sscanf(line, "r %llu %ld", &id, &s);
      o.k = 'r';
    } else if (!strcmp(k, "e"))
      o.k = 'e';
    else if (!strcmp(k, "s"))
      o.k = 's';
    else
      continue;
    o.id = id;
    o.n = n;
    o.s = s;
    if (id > maxid)
      maxid = id;
    ops.push_back(o);
  }
  std::vector<void *> p(maxid + 1, nullptr);
  hist(h, 1ull << 40 >> 20);
  double best = 1e9;
  u64 cnt = 0;
  size_t start = 0;
  for (size_t i = 0; i < ops.size(); i++)
    if (ops[i].k == 'm')
      start = i + 1; // everything before the last mark is set-up, run once
  auto go = [&](size_t from, size_t to) {
    u64 c = 0;
    for (size_t i = from; i < to; i++) {
      auto &o = ops[i];
      switch (o.k) {
      case 'a':
        p[o.id] = CA::raw_alloc_with_stream(o.n, sh(o.s));
        c++;
        break;
      case 'f':
        CA::raw_delete(p[o.id]);
        p[o.id] = nullptr;
        c++;
        break;
      case 'r':
        rec(p[o.id], o.s);
        break;
      case 'e':
        CA::emptyCache();
        break;
      case 's':
        fake_complete_all();
        break;
      }
    }
    return c;
  };
  go(0, start);
  for (int r = 0; r < reps; r++) {
    auto t0 = std::chrono::steady_clock::now();
    cnt = go(start, ops.size());
    double d = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
    if (d < best)
      best = d;
  }
  printf("%llu events, best of %d: %.6f s, %.3f M events/s, %.1f ns/event\n",
         (unsigned long long)cnt, reps, best, cnt / best / 1e6, best / cnt * 1e9);
  return 0;
}

#include <csignal>
static void crash(int sig) {
  printf("X %ld crash signal %d\n", ev, sig);
  fflush(stdout);
  _exit(128 + sig);
}
int main(int argc, char **argv) {
  for (int s : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE})
    signal(s, crash);
  patch_static_runtime();
#if TV >= 20100
  c10::cuda::_internal::setHasPrimaryContext(
      [](signed char) { return true; }); // normally done by libtorch_cuda
#endif
#ifdef HAS_P2P
  c10::cuda::detail::init_p2p_access_cache(fake_devices()); // normally done by libtorch_cuda
#endif
  base = fake_base();
  static char buf[1 << 20];
  setvbuf(stdout, buf, _IOFBF, sizeof buf);
  try {
    CA::init(fake_devices());
  } catch (const std::exception &e) {
    printf("X 0 %s\n", oneline(e.what()).c_str());
    return 3;
  }
  fake_set_log(onlog);
  if (argc > 1 && !strcmp(argv[1], "--bench"))
    return bench(argc > 2 ? atoi(argv[2]) : 5, argc > 3 && !strcmp(argv[3], "hist"));
#if TV >= 20000
  try {
    CA::get()->attachOutOfMemoryObserver([](int64_t d, size_t a, size_t t, size_t f) {
      flushlog();
      printf("Q %ld %zu %zu %zu\n", ev, a, t, f);
    });
  } catch (const std::exception &e) {
    printf("X 0 %s\n", oneline(e.what()).c_str());
  }
#endif
#ifdef HAS_REJECT // called on another thread, at any later time: only on demand
  if (getenv("HARNESS_REJECT"))
    try {
      CA::get()->attachOomRejectionObserver([](int64_t d, size_t a, size_t t, size_t f) {
        flushlog();
        printf("R %ld %zu %zu %zu\n", ev, a, t, f);
      });
    } catch (const std::exception &e) {
      printf("X 0 %s\n", oneline(e.what()).c_str());
    }
#endif
  char line[4096];
  while (fgets(line, sizeof line, stdin)) {
    if (line[0] == '#' || line[0] == '\n')
      continue;
    ev++;
    try {
      run_line(line);
      flushlog();
    } catch (const c10::OutOfMemoryError &e) {
      flushlog();
      unsigned long long id = 0;
      sscanf(line, "a %llu", &id);
      printf("O %ld %llu\nM %ld %s\n", ev, id, ev, oneline(e.what_without_backtrace()).c_str());
    } catch (const c10::Error &e) {
      flushlog();
      printf("X %ld error\nM %ld %s\n", ev, ev, oneline(e.what_without_backtrace()).c_str());
    } catch (const std::exception &e) {
      flushlog();
      printf("X %ld error\nM %ld %s\n", ev, ev, oneline(e.what()).c_str());
    }
  }
  fflush(stdout);
  _exit(0);
}
