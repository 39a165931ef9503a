// A set of processing units by their OS index: the affinity mask of a rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tutti::topology {

/// A growing bit set of OS indices. Two sets with the same members compare equal, however they came about.
class CpuSet {
 public:
  CpuSet() = default;
  CpuSet(std::initializer_list<int> os_indices) {
    for (const int os_index : os_indices) insert(os_index);
  }
  /// From 64-bit words, lowest indices first, as words() gives them (to send a mask to another process).
  static CpuSet from_words(std::vector<std::uint64_t> words);

  /// Negative indices are ignored.
  void insert(int os_index);
  void insert(const CpuSet& other);
  bool contains(int os_index) const;
  bool empty() const { return words_.empty(); }
  /// How many units are in the set.
  int count() const;
  /// The lowest index; -1 if the set is empty.
  int first() const;
  /// Every member in rising order.
  std::vector<int> members() const;
  /// Whether all our members are in `other`; true for the empty set.
  bool is_subset_of(const CpuSet& other) const;
  bool intersects(const CpuSet& other) const;
  /// The bits, 64 units a word; the last word is never zero.
  const std::vector<std::uint64_t>& words() const { return words_; }

  friend bool operator==(const CpuSet&, const CpuSet&) = default;
  friend auto operator<=>(const CpuSet&, const CpuSet&) = default;

 private:
  void trim();
  std::vector<std::uint64_t> words_;
};

/// The affinity mask of the calling thread, as the kernel gives it; empty if the kernel refuses.
CpuSet affinity_of_this_thread();

}  // namespace tutti::topology
