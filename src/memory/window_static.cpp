// Pages of the window at addresses that are not its own: static data of the program. The reasons are in
// docs/decisions/static-data.md.
//
// The file's part for them is a block of the window like any other, which is never given back. What is here calls the
// kernel itself: the functions of the C library may be the program's.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "memory/pages.h"
#include "memory/window.h"
#include "memory/window_state.h"

namespace tutti::memory {

namespace {

bool advise(std::uintptr_t begin, std::size_t bytes, int advice) {
  return syscall(SYS_madvise, begin, bytes, advice) == 0;
}

}  // namespace

bool Window::take_over(const TakenOver& pages) noexcept {
  if (child_ != Child::owner || !is_ours(descriptor_) || !spans_.has_room()) return false;
  const std::size_t bytes = pages.end - pages.begin;
  // As pages of 2 MiB lie in the file, so that there can be some.
  const std::size_t before = bytes >= huge_page_bytes ? pages.begin % huge_page_bytes : 0;
  void* const block = allocate(before + bytes, bytes >= huge_page_bytes ? huge_page_bytes : page_bytes());
  if (!block) return false;
  const std::size_t offset = offset_of(block) + before;
  forget_contents(offset, bytes);
  // Not before the program's addresses are the window's.
  huge_pages_->given_back(offset, offset + bytes);
  // Filled elsewhere, and then moved with all its properties: nothing that can fail comes after the old pages are gone.
  const long made = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_,
                            static_cast<off_t>(offset));
  const auto copy = static_cast<std::uintptr_t>(made);
  if (made == -1 || !advise(copy, bytes, MADV_DONTFORK)) {
    if (made != -1) syscall(SYS_munmap, copy, bytes);
    release(block);
    return false;
  }
  if (huge_pages_->advice() == MADV_HUGEPAGE) advise(copy, bytes, MADV_HUGEPAGE);
  std::uintptr_t begin = pages.begin, end = pages.begin;
  while (pages.next_touched(begin, end, pages.context)) {
    std::memcpy(reinterpret_cast<void*>(copy + (begin - pages.begin)), reinterpret_cast<const void*>(begin),
                end - begin);
    begin = end;
  }
  if (syscall(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, pages.begin) == -1) {
    syscall(SYS_munmap, copy, bytes);
    release(block);
    return false;
  }
  spans_.add({pages.begin, pages.end, offset, pages.library});
  if (huge_pages_->wants(bytes)) huge_pages_->handed_out(offset, offset + bytes);
  leave_out_of_dumps(pages);
  // Once is enough.
  advise(reinterpret_cast<std::uintptr_t>(base_ + offset), bytes, MADV_DONTDUMP);
  return true;
}

/// To write a core dump the kernel makes memory of every page that was never touched. Where that would be much of what
/// the machine has left, large stretches stay out of it.
void Window::leave_out_of_dumps(const TakenOver& pages) noexcept {
  constexpr std::size_t large = std::size_t{64} << 20;
  if (pages.end - pages.begin <= std::max(large, fork_->available() / 16)) return;
  std::uintptr_t begin = pages.begin, end = pages.begin;
  for (std::uintptr_t at = pages.begin; at < pages.end; begin = at = end) {
    if (!pages.next_touched(begin, end, pages.context)) begin = end = pages.end;
    if (begin - at >= large) advise(at, begin - at, MADV_DONTDUMP);
  }
}

void Window::after_unloading(bool (*is_there)(const WindowSpans::Span& span, void* context), void* context) noexcept {
  spans_.resume([&](const WindowSpans::Span& span) {
    if (is_there(span, context)) return true;
    forget_contents(span.offset, span.end - span.begin);
    return false;
  });
}

}  // namespace tutti::memory
