// What the stand-ins for runtimes of devices have in common: memory that the processor cannot touch where the program has
// it, since it is mapped there without any access. The stand-in reaches the same pages at another address, as a device's own
// copies would.
//
// Included by one source of each stand-in, which adds the functions of its runtime.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace stand_in {

enum Kind : int {
  device_memory,
  managed,  ///< the processor reaches it, too
  pinned,   ///< the processor's, which the device reaches
  pooled,   ///< of a device, and of no context
};

struct Block {
  char* begin = nullptr;
  std::size_t bytes = 0;
  char* inside = nullptr;  ///< where the stand-in reaches it
  Kind kind = device_memory;
  int device = 0;

  bool is_closed() const { return kind == device_memory || kind == pooled; }
};

class Pool {
 public:
  /// at: null, or where it is to be, which is free.
  char* allocate(std::size_t bytes, Kind kind, char* at = nullptr) {
    const std::lock_guard lock(mutex_);
    Block block;
    block.kind = kind;
    block.bytes = (bytes + 4095) / 4096 * 4096;
    block.device = static_cast<int>(made_++ % 2);
    const int file = memfd_create("device", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(block.bytes)) != 0) std::abort();
    block.begin = map(at, block.bytes, block.is_closed() && !open_ ? PROT_NONE : PROT_READ | PROT_WRITE, file);
    block.inside = map(nullptr, block.bytes, PROT_READ | PROT_WRITE, file);
    close(file);
    blocks_[block.begin] = block;
    return block.begin;
  }
  bool free(void* begin) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<char*>(begin));
    if (found == blocks_.end()) return false;
    munmap(found->second.begin, found->second.bytes);
    munmap(found->second.inside, found->second.bytes);
    blocks_.erase(found);
    return true;
  }
  /// The block with these bytes; its begin is null if there is none.
  Block find(const void* address, std::size_t bytes = 1) const {
    const std::lock_guard lock(mutex_);
    auto* const at = const_cast<char*>(static_cast<const char*>(address));
    auto next = blocks_.upper_bound(at);
    if (next == blocks_.begin()) return {};
    const Block& block = std::prev(next)->second;
    return at + bytes <= block.begin + block.bytes ? block : Block{};
  }
  /// Whether the program may touch what is of devices: in place of its kernels.
  void set_open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    for (const auto& [begin, block] : blocks_)
      if (block.is_closed()) mprotect(begin, block.bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
  }

 private:
  static char* map(char* at, std::size_t bytes, int protection, int file) {
    void* const mapped = mmap(at, bytes, protection, MAP_SHARED | (at ? MAP_FIXED_NOREPLACE : 0), file, 0);
    if (mapped == MAP_FAILED || (at && mapped != at)) std::abort();
    return static_cast<char*>(mapped);
  }

  mutable std::mutex mutex_;
  std::map<char*, Block> blocks_;
  bool open_ = false;
  unsigned made_ = 0;
};

inline Pool& pool() {
  static Pool& made = *new Pool;
  return made;
}
inline std::atomic<long> copies{0}, queries{0};
inline std::atomic<bool> refuses{false};

/// Where the stand-in reaches bytes that are of a device, or of the host.
inline char* inside(const void* address, std::size_t bytes) {
  const Block block = pool().find(address, bytes);
  auto* const at = const_cast<char*>(static_cast<const char*>(address));
  return block.begin ? block.inside + (at - block.begin) : at;
}

/// Whether a copy of these bytes of a device may be made: they are of one block.
inline bool is_of_device(const void* address, std::size_t bytes) {
  const Block block = pool().find(address, bytes);
  return !refuses && block.begin && block.is_closed();
}

}  // namespace stand_in

// For tests.

EXPORT void* stand_in_allocate(std::size_t bytes, int kind) {
  return stand_in::pool().allocate(bytes, static_cast<stand_in::Kind>(kind));
}
EXPORT void* stand_in_allocate_at(void* address, std::size_t bytes) {
  return stand_in::pool().allocate(bytes, stand_in::device_memory, static_cast<char*>(address));
}
EXPORT void stand_in_free(void* begin) {
  if (!stand_in::pool().free(begin)) std::abort();
}
EXPORT void stand_in_set_open(int open) {
  stand_in::pool().set_open(open != 0);
}
EXPORT long stand_in_copies() {
  return stand_in::copies;
}
/// From now on no copy is made.
EXPORT void stand_in_refuse(int refuse) {
  stand_in::refuses = refuse != 0;
}
EXPORT long stand_in_queries() {
  return stand_in::queries;
}
