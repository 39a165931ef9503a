#include "topology/cpu_set.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

namespace tutti::topology {

namespace {

constexpr int word_bits = 64;

std::size_t word_of(int os_index) {
  return static_cast<std::size_t>(os_index / word_bits);
}

std::uint64_t bit_of(int os_index) {
  return std::uint64_t{1} << (os_index % word_bits);
}

}  // namespace

CpuSet CpuSet::from_words(std::vector<std::uint64_t> words) {
  CpuSet set;
  set.words_ = std::move(words);
  set.trim();
  return set;
}

void CpuSet::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

void CpuSet::insert(int os_index) {
  if (os_index < 0) return;
  if (word_of(os_index) >= words_.size()) words_.resize(word_of(os_index) + 1);
  words_[word_of(os_index)] |= bit_of(os_index);
}

void CpuSet::insert(const CpuSet& other) {
  if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
  for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
}

bool CpuSet::contains(int os_index) const {
  return os_index >= 0 && word_of(os_index) < words_.size() && (words_[word_of(os_index)] & bit_of(os_index));
}

int CpuSet::count() const {
  int total = 0;
  for (const std::uint64_t word : words_) total += std::popcount(word);
  return total;
}

int CpuSet::first() const {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (words_[i]) return static_cast<int>(i) * word_bits + std::countr_zero(words_[i]);
  return -1;
}

std::vector<int> CpuSet::members() const {
  std::vector<int> out;
  out.reserve(static_cast<std::size_t>(count()));
  for (std::size_t i = 0; i < words_.size(); ++i)
    for (std::uint64_t rest = words_[i]; rest; rest &= rest - 1)
      out.push_back(static_cast<int>(i) * word_bits + std::countr_zero(rest));
  return out;
}

bool CpuSet::is_subset_of(const CpuSet& other) const {
  if (words_.size() > other.words_.size()) return false;
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (words_[i] & ~other.words_[i]) return false;
  return true;
}

bool CpuSet::intersects(const CpuSet& other) const {
  for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
    if (words_[i] & other.words_[i]) return true;
  return false;
}

CpuSet affinity_of_this_thread() {
  // The kernel refuses masks shorter than its own, whose length nothing tells: double until it fits.
  for (std::size_t units = 1024; units <= (std::size_t{1} << 20); units *= 2) {
    std::vector<std::uint64_t> words(units / word_bits);
    if (sched_getaffinity(0, units / 8, reinterpret_cast<cpu_set_t*>(words.data())) == 0)
      return CpuSet::from_words(std::move(words));
    if (errno != EINVAL) break;
  }
  return {};
}

}  // namespace tutti::topology
