#include "memory/pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace tutti::memory {

namespace {

/// Past those who watch these functions.
bool system_removes_pages() noexcept {
  const std::size_t bytes = page_bytes();
  const long mapped = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0L);
  if (mapped == -1) return true;
  auto* const page = reinterpret_cast<volatile char*>(mapped);
  *page = 1;
  const bool refused = syscall(SYS_madvise, mapped, bytes, MADV_REMOVE) != 0;
  const bool removed = refused || *page == 0;
  syscall(SYS_munmap, mapped, bytes);
  return removed;
}

}  // namespace

void be_zero(void* address, std::size_t bytes) noexcept {
  static const bool removes = system_removes_pages();
  if (!removes) [[unlikely]]
    std::memset(address, 0, bytes);
}

}  // namespace tutti::memory
