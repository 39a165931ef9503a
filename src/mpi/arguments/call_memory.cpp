#include "mpi/arguments/call_memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "memory/available.h"
#include "mpi/communicators.h"
#include "mpi/start/node_setup.h"

namespace tutti::mpi {

namespace {

/// What may be kept whatever else there is: as much as the C library's malloc keeps.
constexpr std::size_t always_kept = std::size_t{64} << 20;

/// So much of what the machine has left, each rank of it its part.
std::size_t affordable_bytes() {
  const Job* const job = mpi::job();
  return job ? memory::available_memory() / 16 / static_cast<std::size_t>(job->node.size) : 0;
}

/// Blocks that no call has, in classes of size: four to a doubling. The first bytes of each lead to the next.
class Kept {
 public:
  /// Less than a page is left to the allocator.
  static constexpr std::size_t least_bytes = 4096;

  static std::size_t class_of(std::size_t bytes) {
    const auto doublings = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;
    const std::size_t quarter = (bytes - 1) >> (doublings - 2);  // 4 to 7
    return (doublings - first_doubling) * 4 + quarter - 3;
  }
  /// Of the largest block in a class.
  static std::size_t bytes_of(std::size_t size_class) {
    const std::size_t quarters = size_class + 3;
    return (quarters % 4 + 5) << (quarters / 4 + first_doubling - 3);
  }

  /// Null if there is none. bytes: of its class; is set to what the block has.
  std::byte* take(std::size_t& bytes) {
    const std::lock_guard lock(mutex_);
    if (++taken_ == period) give_up_unused();
    const std::size_t exact = class_of(bytes);
    const std::size_t last = std::min(exact + 4, classes - 1);
    for (std::size_t i = exact; i <= last; ++i) {
      Class& of = classes_[i];
      if (!of.first) continue;
      bytes = bytes_of(i);
      return remove(of, bytes);
    }
    return nullptr;
  }
  /// False if it is too much to be kept.
  bool put(std::byte* memory, std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    if (bytes_ + bytes > always_kept && bytes_ + bytes > affordable_bytes()) return false;
    Class& of = classes_[class_of(bytes)];
    of.first = new (memory) Free{of.first};
    ++of.count;
    bytes_ += bytes;
    return true;
  }
  void give_back() noexcept {
    const std::lock_guard lock(mutex_);
    for (Class& of : classes_) of.least = of.count;
    give_up_unused();
  }

 private:
  /// So many blocks are taken before those are given up that nobody has needed meanwhile.
  static constexpr int period = 256;
  static constexpr std::size_t first_doubling = 11;
  static constexpr std::size_t classes = (64 - first_doubling) * 4;

  struct Free {
    Free* next;
  };
  struct Class {
    Free* first = nullptr;
    std::size_t count = 0;
    std::size_t least = 0;  ///< of count, in this period
  };

  std::byte* remove(Class& of, std::size_t bytes) noexcept {
    Free* const block = of.first;
    of.first = block->next;
    of.least = std::min(of.least, --of.count);
    bytes_ -= bytes;
    return reinterpret_cast<std::byte*>(block);
  }
  void give_up_unused() noexcept {
    taken_ = 0;
    for (std::size_t i = 0; i < classes; ++i) {
      Class& of = classes_[i];
      for (std::size_t unused = of.least; unused > 0; --unused) ::operator delete(remove(of, bytes_of(i)));
      of.least = of.count;
    }
  }

  std::mutex mutex_;
  std::array<Class, classes> classes_{};
  int taken_ = 0;
  std::size_t bytes_ = 0;
};

/// Of the process: calls of one thread may end on another, and threads come and go.
constinit Kept kept;

}  // namespace

CallMemory::CallMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes < Kept::least_bytes || bytes > SIZE_MAX / 2) {
    memory_ = static_cast<std::byte*>(::operator new(bytes));
    return;
  }
  bytes_ = Kept::bytes_of(Kept::class_of(bytes));
  memory_ = kept.take(bytes_);
  if (!memory_) memory_ = static_cast<std::byte*>(::operator new(bytes_));
}

void CallMemory::give_back() noexcept {
  std::byte* const memory = std::exchange(memory_, nullptr);
  const std::size_t bytes = std::exchange(bytes_, 0);
  if (!memory) return;
  if (bytes < Kept::least_bytes || !kept.put(memory, bytes)) ::operator delete(memory);
}

void give_back_kept_memory() noexcept {
  kept.give_back();
}

}  // namespace tutti::mpi
