#include "memory/window.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/processor.h"
#include "memory/pages.h"
#include "memory/window_file.h"
#include "memory/window_state.h"

namespace tutti::memory {

namespace {

constexpr std::size_t unit = TUTTI_WINDOW_HEAP_UNIT;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Blocks without a class would all begin at the same place of a page. A cache keeps a line in a set that follows from the
/// place, and a set holds 8 or 12 lines: arrays that are read side by side would drive each other out. So each block begins
/// at another place, far from those of the last ones.
constexpr std::size_t place_span = 4096, place_step = 25 * processor::cache_line_bytes;
static_assert(place_span % processor::cache_line_bytes == 0 && place_step % place_span != 0);

/// The functions that programs call in place of malloc's must not change errno when they succeed or free.
class KeepErrno {
 public:
  KeepErrno() : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }

 private:
  int saved_;
};

std::size_t physical_memory() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return limit.rlim_cur;
}

/// The most that the limits of the process leave for a window. Setting the size of a file beyond RLIMIT_FSIZE
/// would be answered with a signal that ends the program; and most of the address space is the program's.
std::size_t allowed_by_limits(std::size_t windows) {
  const std::size_t addresses = limit_of(RLIMIT_AS);
  return std::min(limit_of(RLIMIT_FSIZE), addresses == SIZE_MAX ? SIZE_MAX : addresses / 4 / windows);
}

/// Gives pages back; false if the system refuses.
bool punch(void* address, std::size_t bytes) noexcept {
  return bytes == 0 || (system_removes_pages() && madvise(address, bytes, MADV_REMOVE) == 0);
}

std::string in_mebibytes(std::size_t bytes) {
  return std::to_string(bytes / mebibyte) + " MiB";
}

}  // namespace

std::unique_ptr<Window> Window::create(const WindowOptions& options, std::string& reason) {
  const KeepErrno keep;
  const std::size_t asked = options.bytes ? options.bytes : physical_memory();
  std::size_t bytes = (std::min(asked, SIZE_MAX / 4) + unit - 1) / unit * unit;
  const std::size_t least = std::min(bytes, std::max(options.least_bytes, unit));
  bytes = std::min(bytes, allowed_by_limits(options.windows) / unit * unit);
  if (bytes < least) {
    reason = "the limits of the process (ulimit -v, ulimit -f) leave " + in_mebibytes(bytes) +
             " for a window, less than " + in_mebibytes(least);
    return nullptr;
  }
  const SystemsHugePages system = systems_huge_pages();
  const WindowFile file = make_window_file(options.huge, system);
  const int descriptor = file.descriptor;
  if (descriptor < 0) {
    reason = std::string("memfd_create failed: ") + std::strerror(errno);
    if (file.helper) has_ended(file.helper, true);
    return nullptr;
  }
  HugePages::Options huge{
      file.kind,       system.private_ones,   system.private_asked, system.collapse, options.sparse_bytes,
      options.windows, options.slow_huge_page};
  std::unique_ptr<GrowingMapping> mapping;
  for (; bytes >= least; bytes = bytes / 2 / unit * unit) {
    if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) continue;
    mapping = GrowingMapping::create(descriptor, {bytes, unit, true, huge.advice(), options.extent, true});
    if (mapping) break;
  }
  if (!mapping) {
    reason = "no window of " + in_mebibytes(least) + " or more could be mapped: " + std::strerror(errno);
    close(descriptor);
    if (file.helper) has_ended(file.helper, true);
    return nullptr;
  }
  // A peer's SIGBUS, if anybody could shrink it. Only memfds have seals.
  fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  std::unique_ptr<Window> window(new Window(descriptor, std::move(mapping), options.retain_bytes));
  window->huge_pages_ = std::make_unique<HugePages>(window->base_, bytes, descriptor, huge, window->spans_);
  window->why_not_better_ = file.why_not;
  window->helper_.store(file.helper, std::memory_order_relaxed);
  if (options.available) window->fork_->available = options.available;
  tutti_window_heap_memory memory{};
  memory.open = [](void* address, std::size_t size, void* self) {
    auto& there = *static_cast<Window*>(self);
    there.forget_helper();
    // In steps of huge pages, so that each becomes accessible as a whole.
    constexpr std::size_t step = huge_page_bytes;
    const std::size_t begin = there.offset_of(address) / step * step;
    const std::size_t end = std::min((there.offset_of(address) + size + step - 1) / step * step, there.capacity());
    // But for what the program has mapped or protected in the same step.
    const auto base = reinterpret_cast<std::uintptr_t>(there.base_);
    const auto open = [&](std::uintptr_t from, std::uintptr_t to, const PageRanges::Range* range) {
      return range || there.mapping_->open(from - base, to - base);
    };
    if (!there.foreign_.for_each_piece(base + begin, base + end, open)) return false;
    if (!there.foreign_.touches(there.base_ + begin, end - begin))
      there.huge_pages_->opened(begin, end, there.heap_->asked, there.heap_->high_water);
    return true;
  };
  memory.purge = [](void* address, std::size_t size, void* self) {
    auto& there = *static_cast<Window*>(self);
    if (punch(address, size)) there.huge_pages_->given_back(there.offset_of(address), there.offset_of(address) + size);
  };
  memory.close = [](void* address, std::size_t size, void* self) {
    static_cast<Window*>(self)->purge_and_close(static_cast<std::byte*>(address), size);
  };
  memory.context = window.get();
  window->heap_->blocks = tutti_window_heap_create(window->base_, bytes, memory);
  if (!window->heap_->blocks) {
    reason = "there is no memory for the allocator's bookkeeping, or there are 64 windows already";
    return nullptr;
  }
  return window;
}

Window::Window(int descriptor, std::unique_ptr<GrowingMapping> mapping, std::size_t retain_bytes)
    : descriptor_(descriptor),
      mapping_(std::move(mapping)),
      base_(mapping_->base()),
      heap_(std::make_unique<Heap>()),
      fork_(std::make_unique<ForkState>()) {
  struct stat status {};
  fstat(descriptor, &status);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  heap_->retain_at_most = retain_bytes;
}

Window::~Window() {
  heap_.reset();
  if (is_ours(descriptor_)) close(descriptor_);
  forget_helper(true);
}

/// Now and then, until the helper has ended; wait: it has on return.
void Window::forget_helper(bool wait) const noexcept {
  pid_t helper = helper_.load(std::memory_order_relaxed);
  if (helper > 0 && child_ == Child::owner && has_ended(helper, wait))
    helper_.compare_exchange_strong(helper, 0, std::memory_order_relaxed);
}

bool Window::is_ours(int descriptor) const noexcept {
  struct stat status {};
  return descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

int Window::descriptor() const noexcept {
  const KeepErrno keep;
  forget_helper();
  return is_ours(descriptor_) ? descriptor_ : -1;
}

void Window::purge_and_close(std::byte* begin, std::size_t bytes) noexcept {
  const std::size_t from = offset_of(begin);
  const std::size_t to = std::min(from + bytes, extent().load(std::memory_order_relaxed));
  if (from >= to) return;
  if (!punch(begin, to - from)) {
    // Kernels before 6.6 want to see it accessible.
    if (!mapping_->open(from, std::min(to, capacity()))) return;
    if (!system_removes_pages())
      std::memset(begin, 0, std::min(to, capacity()) - from);
    else if (!punch(begin, to - from))
      return;
  }
  huge_pages_->given_back(from, to);
  mapping_->close(from, to);
}

void Window::give_back_addresses() noexcept {
  const std::size_t used = tutti_window_heap_end_of_use(heap_->blocks);
  heap_->high_water = std::min(heap_->high_water, used);
  mapping_->give_back(used);
}

/// Where the room of a block begins, which may itself begin behind that.
std::size_t Window::room_of(const void* block) const noexcept {
  return offset_of(block) - tutti_window_heap_moved_by(block);
}

/// What of a block may hold pages: one that was moved to a huge page has room for that, which nobody knows of, around it.
std::size_t Window::touched_of(const void* block, std::size_t usable) const noexcept {
  const std::size_t room = huge_pages_->wants(usable) ? usable + tutti_window_heap_moved_by(block) : 0;
  return room > huge_page_bytes ? std::min(usable, room - huge_page_bytes) : usable;
}

void* Window::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (child_ != Child::owner) return nullptr;
  const KeepErrno keep;
  const std::lock_guard guard(heap_->lock);
  const bool large = huge_pages_->wants(bytes);
  heap_->asked = bytes;
  std::size_t place = 0;
  if (class_of(bytes) < 0 && alignment <= processor::cache_line_bytes) {
    alignment = place_span;
    place = std::exchange(heap_->next_place, (heap_->next_place + place_step) % place_span);
  }
  void* block = nullptr;
  if (large) block = tutti_window_heap_allocate(heap_->blocks, bytes, std::max(alignment, huge_page_bytes), place);
  if (!block) block = tutti_window_heap_allocate(heap_->blocks, bytes, alignment, place);
  if (!block) {
    heap_->statistics.refusals++;
    return nullptr;
  }
  heap_->statistics.allocations++;
  const std::size_t usable = tutti_window_heap_usable_size(block);
  heap_->high_water = std::max(heap_->high_water, offset_of(block) + usable);
  heap_->retained -= std::min(heap_->retained, touched_of(block, usable));
  if (large) huge_pages_->handed_out(room_of(block), offset_of(block) + bytes);
  return block;
}

/// Makes it zero. Pages that the file does not have are zero, and stay away: they may never be touched.
void Window::clear(std::size_t begin, std::size_t end) noexcept {
  // Asking where data ends would take a look at each page of it. Instead more is cleared at once the longer there is
  // data, to the end of a huge page at most.
  constexpr std::size_t least = mebibyte / 16, most = mebibyte;
  std::size_t at_once = least;
  while (begin < end) {
    const off_t data = lseek(descriptor_, static_cast<off_t>(begin), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return;
    if (data > static_cast<off_t>(begin)) {
      begin = static_cast<std::size_t>(data);
      at_once = least;
      if (begin >= end) return;
    }
    const std::size_t behind = std::min((begin + at_once) / at_once * at_once, end);
    std::memset(base_ + begin, 0, behind - begin);
    begin = behind;
    at_once = std::min(4 * at_once, most);
  }
}

void* Window::allocate_zeroed(std::size_t bytes, std::size_t alignment) noexcept {
  // Below it, asking takes longer than it saves.
  constexpr std::size_t worth_asking = 4 * mebibyte;
  auto* const block = static_cast<std::byte*>(allocate(bytes, alignment));
  if (!block) return nullptr;
  const KeepErrno keep;
  if (bytes >= worth_asking && is_ours(descriptor_))
    clear(offset_of(block), offset_of(block) + bytes);
  else
    std::memset(block, 0, bytes);
  return block;
}

void Window::release(void* block) noexcept {
  if (!block) return;
  const KeepErrno keep;
  if (child_ != Child::owner) return release_in_child(block);
  const std::size_t usable = tutti_window_heap_usable_size(block);
  // A block that cannot be made the window's again is not used again.
  if (foreign_.touches(block, usable) && !take_back(block, usable)) return;
  const std::size_t touched = touched_of(block, usable), end = offset_of(block) + usable;
  const bool keep_pages = touched <= heap_->retain_at_most / 2 || !system_removes_pages();
  if (!keep_pages) {
    // While the block is still ours, and outside the lock: it may take long.
    const std::size_t first = round_up(room_of(block), page_bytes()), last = end / page_bytes() * page_bytes();
    if (first < last) punch(base_ + first, last - first);
  }
  const std::lock_guard guard(heap_->lock);
  heap_->statistics.releases++;
  if (!keep_pages)
    huge_pages_->given_back(room_of(block), end);
  else if (huge_pages_->is_waiting())
    huge_pages_->taken_back(room_of(block), end);
  tutti_window_heap_release(heap_->blocks, block, keep_pages);
  if (!keep_pages) return give_back_addresses();
  heap_->retained += touched;
  if (heap_->retained > heap_->retain_at_most) trim_locked();
}

void Window::trim_locked() noexcept {
  heap_->retained = 0;
  tutti_window_heap_trim(heap_->blocks);
  give_back_addresses();
}

std::size_t Window::usable_size(const void* block) const noexcept {
  return child_ == Child::nothing ? 0 : tutti_window_heap_usable_size(block);
}

static_assert(Window::classes == TUTTI_WINDOW_HEAP_CLASSES);

int Window::class_of(std::size_t bytes) noexcept {
  return tutti_window_heap_class_of(bytes);
}

int Window::class_of_block(const void* block) noexcept {
  return tutti_window_heap_class_of_block(block);
}

void* Window::reallocate(void* block, std::size_t bytes) noexcept {
  if (child_ != Child::owner) return nullptr;
  const std::size_t usable = usable_size(block);
  if (bytes <= usable && bytes >= usable / 2) return block;
  // A block that has grown large will grow again: address space for that costs nothing until it is touched.
  const bool grows = bytes > usable;
  constexpr std::size_t large = std::size_t{128} * 1024;
  // No block is larger than half of what a size can say, so that half as much again does not wrap.
  if (bytes > SIZE_MAX / 2) return nullptr;
  void* moved = grows && usable >= large ? allocate(bytes + bytes / 2) : nullptr;
  if (!moved) moved = allocate(bytes);
  if (!moved) return grows ? nullptr : block;
  std::memcpy(moved, block, std::min(bytes, usable));
  release(block);
  return moved;
}

void Window::trim() noexcept {
  if (child_ != Child::owner) return;
  const KeepErrno keep;
  const std::lock_guard guard(heap_->lock);
  trim_locked();
}

WindowStatistics Window::statistics() const noexcept {
  const KeepErrno keep;
  WindowStatistics statistics;
  if (child_ == Child::owner) {
    const std::lock_guard guard(heap_->lock);
    statistics = heap_->statistics;
  }
  struct stat status {};
  if (is_ours(descriptor_) && fstat(descriptor_, &status) == 0)
    statistics.resident_bytes = static_cast<std::size_t>(status.st_blocks) * 512;
  return statistics;
}

}  // namespace tutti::memory
