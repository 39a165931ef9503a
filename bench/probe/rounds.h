// What all measures of `tutti probe` are made of: memory, rounds of a team, a stopwatch.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "clock.h"
#include "probe/team.h"
#include "statistics.h"

namespace tutti::bench {

inline constexpr int least_samples = 7;
inline constexpr int warm_ups = 3;
inline constexpr double patience_seconds = 20;  ///< beyond what is planned; then something hangs

/// Memory that is not shared: mapped before the fork, so that it lies at the same address in each process.
class OwnMemory {
 public:
  explicit OwnMemory(std::size_t bytes) : bytes_(bytes) {
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw std::runtime_error(std::string("no memory: ") + std::strerror(errno));
    base_ = static_cast<std::byte*>(base);
  }
  ~OwnMemory() { munmap(base_, bytes_); }
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
  std::byte* base() const { return base_; }

 private:
  std::byte* base_;
  std::size_t bytes_;
};

inline void keep_memory() {
  asm volatile("" ::: "memory");
}

/// New data: as a program does before a collective.
inline void change(std::byte* data, std::size_t bytes, int round) {
  std::memset(data, round & 0xff, bytes);
  keep_memory();
}

inline void look_at(const std::byte* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof sum <= bytes; at += 64) {
    std::uint64_t word;
    std::memcpy(&word, data + at, sizeof word);
    sum += word;
  }
  asm volatile("" : : "r"(sum) : "memory");
}

/// Every word of it, as a program that uses what has come.
inline void add_up(const std::byte* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof sum <= bytes; at += sizeof sum) {
    std::uint64_t word;
    std::memcpy(&word, data + at, sizeof word);
    sum += word;
  }
  asm volatile("" : : "r"(sum) : "memory");
}

/// Runs rounds until the time is over. round(i, counts): one of them; not all count.
template <class Round>
void repeat(Member& member, double seconds, Round&& round) {
  const std::uint64_t begin = shared_now_ns();
  for (int i = 0;; ++i) {
    round(i, i >= warm_ups);
    const double taken = static_cast<double>(shared_now_ns() - begin) * 1e-9;
    if (!member.agree(i < warm_ups + least_samples || (taken < seconds && i < static_cast<int>(samples_max)))) break;
  }
}

class Stopwatch {
 public:
  explicit Stopwatch(const Clock& clock) : clock_(clock), start_(Clock::ticks()) {}
  double seconds() const { return 1e-9 * clock_.nanoseconds_between(start_, Clock::ticks()); }

 private:
  const Clock& clock_;
  std::uint64_t start_;
};

}  // namespace tutti::bench
