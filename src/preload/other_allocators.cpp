#include "preload/other_allocators.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string_view>

#include "preload/loaded_object.h"

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

constexpr std::string_view family[] = {
    "malloc",        "free",   "calloc",         "realloc", "reallocarray",      "memalign",
    "aligned_alloc", "valloc", "posix_memalign", "pvalloc", "malloc_usable_size"};

/// Objects come in link order. A function that one merely takes the address of may have a value there, too, but is not
/// defined by it.
int look_for_allocator(dl_phdr_info* info, std::size_t, void* result) {
  const preload::LoadedObject object(*info);
  if (object.holds(reinterpret_cast<const void*>(&look_for_allocator))) return 1;
  auto& found = *static_cast<std::string*>(result);
  object.for_each_definition([&](const ElfW(Sym) & symbol) {
    if (std::find(std::begin(family), std::end(family), object.name_of(symbol)) == std::end(family)) return;
    if (!found.empty()) return;
    found = std::string(object.name_of(symbol)) + " is that of " + (*info->dlpi_name ? info->dlpi_name : "the program");
  });
  return found.empty() ? 0 : 1;
}

}  // namespace

Watched watcher_of_allocations() noexcept {
  Watched found;
  for (const Sign& sign : functions)
    if (dlsym(RTLD_DEFAULT, sign.text)) return sign.means;
  dl_iterate_phdr(look_at_library, &found);
  return found;
}

std::string allocator_before_ours() {
  std::string found;
  dl_iterate_phdr(look_for_allocator, &found);
  return found;
}

}  // namespace tutti::memory
