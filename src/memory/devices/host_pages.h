// Pages that no runtime of devices knows, so that calls need not ask about them again: the host's own memory.
//
// A page becomes memory of a device only after the process has unmapped it. Who counts what is unmapped passes the count:
// what was remembered at another count is forgotten.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::memory {

class HostPages {
 public:
  constexpr HostPages() = default;

  /// Whether the page with the address was added since what was counted has changed.
  bool holds(const void* address, std::uint64_t changes) const {
    return period_.load(std::memory_order_relaxed) == period_of(changes) &&
           place(address).load(std::memory_order_relaxed) == word(address, changes);
  }
  /// changes: as counted before anybody was asked about the page.
  void add(const void* address, std::uint64_t changes) {
    // A word has the low bits of the count. In two periods these repeat, so that nothing stays from one to the next.
    if (period_.exchange(period_of(changes), std::memory_order_relaxed) != period_of(changes))
      for (auto& each : words_) each.store(0, std::memory_order_relaxed);
    place(address).store(word(address, changes), std::memory_order_relaxed);
  }

 private:
  static constexpr int page_bits = 12, place_bits = 10;
  static constexpr int count_bits = 19;  ///< the page's number has 45
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;

  static std::uint64_t period_of(std::uint64_t changes) { return changes >> (count_bits - 1); }
  static std::uint64_t page_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address) >> page_bits; }
  static std::uint64_t word(const void* address, std::uint64_t changes) {
    return page_of(address) << count_bits | (changes & count_mask);
  }
  static std::size_t index_of(const void* address) {
    return page_of(address) * 0x9e3779b97f4a7c15u >> (64 - place_bits);
  }
  const std::atomic<std::uint64_t>& place(const void* address) const { return words_[index_of(address)]; }
  std::atomic<std::uint64_t>& place(const void* address) { return words_[index_of(address)]; }

  std::array<std::atomic<std::uint64_t>, std::size_t{1} << place_bits> words_{};
  std::atomic<std::uint64_t> period_{0};
};

}  // namespace tutti::memory
