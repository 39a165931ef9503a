// A stand-in for libxpmem where all ranks are threads of one process: counts what is made and given back, refuses when
// it is told to, and maps memory of a TwiceMapped a second time, so that what was attached stays what it was when its
// owner maps something else, as pinned pages do. Other memory is "attached" at its own address.
//
// The stand-in for processes is xpmem_stand_in.cpp.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>

#include "memory/xpmem.h"

namespace tutti::test {

/// Counts of one run; all are zero when everything was given back.
struct XpmemBalance {
  int segments = 0;
  int grants = 0;
  int attachments = 0;
  int mistakes = 0;  ///< something was given back that was not there
  bool operator==(const XpmemBalance&) const = default;
};

class XpmemStandIn {
 public:
  static memory::Xpmem calls() { return {&make, &remove, &get, &release, &attach, &detach}; }
  static XpmemBalance balance() {
    const std::lock_guard lock(mutex_);
    XpmemBalance now = balance_;
    now.attachments = static_cast<int>(attached_.size());
    return now;
  }
  /// The next so many calls of xpmem_get or xpmem_attach fail.
  static inline std::atomic<int> refuse_get{0};
  static inline std::atomic<int> refuse_attach{0};

  static void share(std::byte* begin, std::size_t bytes, int descriptor) {
    const std::lock_guard lock(mutex_);
    shared_[begin] = {bytes, descriptor};
  }
  static void forget(std::byte* begin) {
    const std::lock_guard lock(mutex_);
    shared_.erase(begin);
  }

 private:
  struct Shared {
    std::size_t bytes;
    int descriptor;
  };
  struct Attached {
    int count;
    std::size_t bytes;  ///< 0: nothing is mapped
  };

  static std::int64_t make(void*, std::size_t, int, void*) {
    const std::lock_guard lock(mutex_);
    ++balance_.segments;
    return 7;
  }
  static int remove(std::int64_t) {
    const std::lock_guard lock(mutex_);
    --balance_.segments;
    return 0;
  }
  static bool refused(std::atomic<int>& count, int error) {
    if (count.load() <= 0) return false;
    --count;
    errno = error;
    return true;
  }
  static std::int64_t get(std::int64_t, int, int, void*) {
    if (refused(refuse_get, EACCES)) return -1;
    const std::lock_guard lock(mutex_);
    ++balance_.grants;
    return 8;
  }
  static int release(std::int64_t) {
    const std::lock_guard lock(mutex_);
    --balance_.grants;
    return 0;
  }
  static void* attach(memory::XpmemAddress address, std::size_t bytes, void*) {
    void* const failed = reinterpret_cast<void*>(std::intptr_t{-1});
    if (refused(refuse_attach, ENOMEM)) return failed;
    const std::lock_guard lock(mutex_);
    auto* const at = reinterpret_cast<std::byte*>(address.offset);
    auto found = shared_.upper_bound(at);
    if (found != shared_.begin() && at + bytes <= std::prev(found)->first + std::prev(found)->second.bytes) {
      --found;
      void* const mapped =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, found->second.descriptor, at - found->first);
      if (mapped == MAP_FAILED) return failed;
      attached_[mapped] = {1, bytes};
      return mapped;
    }
    ++attached_.try_emplace(at, Attached{0, 0}).first->second.count;
    return at;
  }
  static int detach(void* at) {
    const std::lock_guard lock(mutex_);
    const auto found = attached_.find(at);
    if (found == attached_.end()) {
      ++balance_.mistakes;
      return -1;
    }
    if (found->second.bytes) munmap(at, found->second.bytes);
    if (--found->second.count == 0) attached_.erase(found);
    return 0;
  }

  static inline std::mutex mutex_;
  static inline XpmemBalance balance_;
  static inline std::map<std::byte*, Shared> shared_;
  static inline std::map<void*, Attached> attached_;
};

/// Memory that the stand-in attaches by a second mapping; no two are neighbours.
class TwiceMapped {
 public:
  explicit TwiceMapped(std::size_t bytes) : bytes_(bytes) {
    void* const reserved = mmap(nullptr, bytes + guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) throw std::runtime_error("mmap");
    map(reserved);
  }
  ~TwiceMapped() {
    XpmemStandIn::forget(begin_);
    munmap(begin_, bytes_ + guard);
    close(descriptor_);
  }
  TwiceMapped(const TwiceMapped&) = delete;
  TwiceMapped& operator=(const TwiceMapped&) = delete;
  std::byte* begin() { return begin_; }
  std::size_t bytes() const { return bytes_; }
  /// Unmaps, and maps new zeroes at the same address.
  void map_anew() {
    const int old = descriptor_;
    map(begin_);
    close(old);
  }

 private:
  static constexpr std::size_t guard = 4096;
  void map(void* at) {
    descriptor_ = memfd_create("tutti-test", MFD_CLOEXEC);
    if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(bytes_)) != 0) throw std::runtime_error("memfd");
    void* const mapped = mmap(at, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor_, 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("mmap");
    begin_ = static_cast<std::byte*>(mapped);
    XpmemStandIn::share(begin_, bytes_, descriptor_);
  }
  std::size_t bytes_;
  int descriptor_ = -1;
  std::byte* begin_ = nullptr;
};

}  // namespace tutti::test
