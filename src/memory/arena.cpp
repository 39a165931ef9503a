#include "memory/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

namespace tutti::memory {

namespace {
constexpr std::size_t page_bytes = 4096;
}

std::unique_ptr<Arena> Arena::create(std::size_t capacity, std::string& reason) {
  capacity = (capacity + page_bytes - 1) & ~(page_bytes - 1);
  // Beyond it, setting the file's size would be answered with a signal that ends the program.
  rlimit most{};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < capacity) {
    reason = "the limit of the size of files (ulimit -f) is less than the arena's " + std::to_string(capacity >> 20) +
             " MiB";
    return nullptr;
  }
  const int descriptor = memfd_create("tutti-arena", MFD_CLOEXEC);
  if (descriptor < 0) {
    reason = std::string("memfd_create: ") + std::strerror(errno);
    return nullptr;
  }
  if (ftruncate(descriptor, static_cast<off_t>(capacity)) != 0) {
    reason = std::string("ftruncate of the arena: ") + std::strerror(errno);
    close(descriptor);
    return nullptr;
  }
  auto mapping = GrowingMapping::create(descriptor, {capacity, std::size_t{1} << 20, false, false, nullptr, false});
  if (!mapping) {
    reason = std::string("mmap of the arena: ") + std::strerror(errno);
    close(descriptor);
    return nullptr;
  }
  return std::unique_ptr<Arena>(new Arena(descriptor, std::move(mapping)));
}

Arena::Arena(int descriptor, std::unique_ptr<GrowingMapping> mapping)
    : descriptor_(descriptor), mapping_(std::move(mapping)) {
  free_[0] = capacity();
}

Arena::~Arena() {
  close(descriptor_);
}

std::optional<std::size_t> Arena::allocate(std::size_t bytes) {
  bytes = (bytes + page_bytes - 1) & ~(page_bytes - 1);
  const std::lock_guard lock(mutex_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < bytes) continue;
    const std::size_t offset = it->first;
    if (!mapping_->open(offset, offset + bytes)) return std::nullopt;
    const std::size_t rest = it->second - bytes;
    free_.erase(it);
    if (rest) free_[offset + bytes] = rest;
    used_[offset] = bytes;
    return offset;
  }
  return std::nullopt;
}

void Arena::release(std::size_t offset) {
  const std::lock_guard lock(mutex_);
  const auto it = used_.find(offset);
  if (it == used_.end()) return;
  const std::size_t bytes = it->second;
  used_.erase(it);
  // Holes read as zero, which is what `allocate` promises, and give the memory back. By address: the descriptor's
  // number may mean a file of the program's, if it has closed what it had not opened.
  if (madvise(base() + offset, bytes, MADV_REMOVE) != 0) std::memset(base() + offset, 0, bytes);
  mapping_->close(offset, offset + bytes);
  auto at = free_.emplace(offset, bytes).first;
  if (at != free_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second == at->first) {
      before->second += at->second;
      free_.erase(at);
      at = before;
    }
  }
  const auto after = std::next(at);
  if (after != free_.end() && at->first + at->second == after->first) {
    at->second += after->second;
    free_.erase(after);
  }
}

}  // namespace tutti::memory
