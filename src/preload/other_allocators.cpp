#include "preload/other_allocators.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <initializer_list>

namespace tutti::memory {

namespace {

struct Sign {
  const char* text;
  Watched means;
};

/// What the runtimes of sanitizers export, also those that are linked into the program.
constexpr Sign functions[] = {
    {"__asan_init", {Watcher::guard, "AddressSanitizer"}},
    {"__hwasan_init", {Watcher::guard, "HWAddressSanitizer"}},
    {"__msan_init", {Watcher::values, "MemorySanitizer"}},
    {"__tsan_init", {Watcher::guard, "ThreadSanitizer"}},
    {"__lsan_do_leak_check", {Watcher::guard, "LeakSanitizer"}},
    {"__memprof_init", {Watcher::guard, "the memory profiler"}},
    {"__dfsan_init", {Watcher::values, "DataFlowSanitizer"}},
    {"EF_ALIGNMENT", {Watcher::guard, "Electric Fence"}},
    {"heaptrack_malloc", {Watcher::guard, "heaptrack"}},
};

/// How the names of their libraries begin.
constexpr Sign libraries[] = {
    {"vgpreload_", {Watcher::emulator, "valgrind"}},
    {"libasan.so", {Watcher::guard, "AddressSanitizer"}},
    {"libhwasan.so", {Watcher::guard, "HWAddressSanitizer"}},
    {"libtsan.so", {Watcher::guard, "ThreadSanitizer"}},
    {"liblsan.so", {Watcher::guard, "LeakSanitizer"}},
    {"libclang_rt.asan", {Watcher::guard, "AddressSanitizer"}},
    {"libclang_rt.hwasan", {Watcher::guard, "HWAddressSanitizer"}},
    {"libclang_rt.tsan", {Watcher::guard, "ThreadSanitizer"}},
    {"libclang_rt.scudo", {Watcher::guard, "Scudo"}},
    {"libscudo", {Watcher::guard, "Scudo"}},
    {"libefence.so", {Watcher::guard, "Electric Fence"}},
    {"libduma.so", {Watcher::guard, "DUMA"}},
    {"libdmalloc", {Watcher::guard, "dmalloc"}},
    {"libheaptrack_preload", {Watcher::guard, "heaptrack"}},
    {"libc_malloc_debug.so", {Watcher::guard, "the C library's malloc debugging"}},
};

int look_at_library(dl_phdr_info* info, std::size_t, void* result) {
  const char* const slash = std::strrchr(info->dlpi_name, '/');
  const char* const name = slash ? slash + 1 : info->dlpi_name;
  for (const Sign& sign : libraries) {
    if (std::strncmp(name, sign.text, std::strlen(sign.text)) != 0) continue;
    *static_cast<Watched*>(result) = sign.means;
    return 1;
  }
  return 0;
}

}  // namespace

Watched watcher_of_allocations() noexcept {
  Watched found;
  for (const Sign& sign : functions)
    if (dlsym(RTLD_DEFAULT, sign.text)) return sign.means;
  dl_iterate_phdr(look_at_library, &found);
  return found;
}

bool allocations_arrive_here() noexcept {
  Dl_info ours{}, theirs{};
  if (!dladdr(reinterpret_cast<void*>(&look_at_library), &ours)) return false;
  for (const char* name : {"malloc", "free", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
                           "posix_memalign", "valloc", "pvalloc", "malloc_usable_size"}) {
    void* const definition = dlsym(RTLD_DEFAULT, name);
    if (!definition || !dladdr(definition, &theirs) || theirs.dli_fbase != ours.dli_fbase) return false;
  }
  return true;
}

}  // namespace tutti::memory
