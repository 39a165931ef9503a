#include "memory/pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tutti::memory {

namespace {

/// Past those who watch these functions.
bool try_to_remove() noexcept {
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

bool system_removes_pages() noexcept {
  static const bool removes = try_to_remove();
  return removes;
}

}  // namespace tutti::memory
