// A call of each collective, of any size and root, and what its buffers hold at the end.
#pragma once

#include <cstddef>
#include <new>
#include <random>
#include <vector>

#include "collectives/kinds.h"
#include "collectives/own_memory.h"

namespace tutti::test {

/// Memory that begins 16 bytes behind a line, in each run: what is done about lines is the same then.
template <class T>
struct BehindLine {
  using value_type = T;
  BehindLine() = default;
  template <class Of>
  BehindLine(const BehindLine<Of>&) {}  // NOLINT(google-explicit-constructor)
  static constexpr std::align_val_t line{64};
  static constexpr std::size_t behind = 16;
  T* allocate(std::size_t count) {
    auto* const memory = static_cast<std::byte*>(::operator new(count * sizeof(T) + behind, line));
    return reinterpret_cast<T*>(memory + behind);
  }
  void deallocate(T* at, std::size_t) { ::operator delete(reinterpret_cast<std::byte*>(at) - behind, line); }
  friend bool operator==(BehindLine, BehindLine) { return true; }
};
using Bytes = std::vector<std::byte, BehindLine<std::byte>>;

/// What `from` sends, to `to` if each gets something else, in round `salt`: a part of a table, and a number of the
/// rank's.
inline const std::byte* content(int to, int salt) {
  constexpr std::size_t longest = std::size_t{1} << 17, places = std::size_t{1} << 16;
  static const auto table = [] {
    std::vector<std::byte> made(longest + places);
    std::mt19937 random(1);
    for (std::byte& each : made) each = static_cast<std::byte>(random());
    return made;
  }();
  return table.data() + static_cast<std::size_t>(to * 4099 + salt * 257) % places;
}
constexpr unsigned of_rank = 97;
inline void fill(std::byte* block, std::size_t bytes, int from, int to, int salt) {
  const std::byte* const table = content(to, salt);
  const unsigned more = of_rank * static_cast<unsigned>(from);
  for (std::size_t i = 0; i < bytes; ++i) block[i] = static_cast<std::byte>(std::to_integer<unsigned>(table[i]) + more);
}
/// The sum of what the ranks [0, end) send, from byte `begin` on.
inline void fill_sum(std::byte* block, std::size_t bytes, int end, int salt, std::size_t begin = 0) {
  const std::byte* const table = content(0, salt) + begin;
  const auto count = static_cast<unsigned>(end);
  const unsigned more = of_rank * (count * (count - 1) / 2);
  for (std::size_t i = 0; i < bytes; ++i)
    block[i] = static_cast<std::byte>(count * std::to_integer<unsigned>(table[i]) + more);
}

inline void add(void* destination, const void* const* sources, std::size_t count, std::size_t elements,
                reduction::Order /*order*/) {
  combine_copies(destination, sources, count, elements, add_to);
}
inline const Combiner& sum() {
  static const Combiner combiner = [] {
    Combiner made;
    made.kernel = add;
    return made;
  }();
  return combiner;
}

/// One rank's buffers for one call, and what they hold at the end.
struct Example {
  int rank, ranks, root;
  std::size_t bytes;
  Bytes send = {}, receive = {}, expected = {};
  bool irregular = false;  ///< blocks of any size, `bytes` at most, where a collective has such
  std::vector<std::size_t> counts = {};
  std::vector<std::size_t> sizes[2] = {};  ///< of irregular blocks that are sent and received, and where they begin
  std::vector<std::ptrdiff_t> offsets = {};
  int neighbors[2] = {};  ///< before and after this rank

  std::size_t count() const { return static_cast<std::size_t>(ranks); }
  std::byte* block(Bytes& buffer, int i) const { return buffer.data() + static_cast<std::size_t>(i) * bytes; }
  /// Of what one rank sends to another; where it sends the same to all, that is the first.
  std::size_t sent(int from, int to) const {
    return irregular ? bytes * static_cast<std::size_t>((from * 3 + to * 5 + root) % 4) / 3 : bytes;
  }
  /// which: 0 of `send`, 1 of `receive`; size(i): of the block of rank i.
  template <class Size>
  Blocks blocks(int which, Size size) {
    Bytes& buffer = which == 0 ? send : receive;
    if (!irregular) return Blocks::regular(buffer.data(), bytes);
    sizes[which].clear();
    offsets.clear();
    for (int i = 0; i < ranks; ++i) {
      sizes[which].push_back(size(i));
      offsets.push_back(static_cast<std::ptrdiff_t>(bytes) * i);
    }
    return Blocks::irregular(buffer.data(), sizes[which].data(), offsets.data());
  }
};

inline BarrierArguments arguments_of(Example&, const BarrierArguments*) {
  return {};
}
inline void refill(Example&, const BarrierArguments*, int) {}

inline BcastArguments arguments_of(Example& of, const BcastArguments*) {
  of.receive.resize(of.bytes);
  return {of.receive.data(), of.bytes, of.root};
}
inline void refill(Example& of, const BcastArguments*, int salt) {
  fill(of.receive.data(), of.bytes, of.rank, 0, salt);
  of.expected.resize(of.bytes);
  fill(of.expected.data(), of.bytes, of.root, 0, salt);
}

/// It gets the sum of what the ranks before `end` send.
inline void refill_sum(Example& of, int end, int salt) {
  fill(of.send.data(), of.bytes, of.rank, 0, salt);
  of.receive.assign(of.receive.size(), std::byte{0x5a});
  of.expected = of.receive;
  if (end > 0) fill_sum(of.expected.data(), of.expected.size(), end, salt);
}
inline ReduceArguments arguments_of(Example& of, const ReduceArguments*) {
  of.send.resize(of.bytes);
  of.receive.resize(of.rank == of.root ? of.bytes : 0);
  return {of.send.data(), of.rank == of.root ? of.receive.data() : nullptr, of.bytes, &sum(), of.root};
}
inline void refill(Example& of, const ReduceArguments*, int salt) {
  refill_sum(of, of.ranks, salt);
}
inline AllreduceArguments arguments_of(Example& of, const AllreduceArguments*) {
  of.send.resize(of.bytes);
  of.receive.resize(of.bytes);
  return {of.send.data(), of.receive.data(), of.bytes, &sum()};
}
inline void refill(Example& of, const AllreduceArguments*, int salt) {
  refill_sum(of, of.ranks, salt);
}
/// Exscan where the root is odd.
inline ScanArguments arguments_of(Example& of, const ScanArguments*) {
  of.send.resize(of.bytes);
  of.receive.resize(of.bytes);
  return {of.send.data(), of.receive.data(), of.bytes, &sum(), of.root % 2 == 1};
}
inline void refill(Example& of, const ScanArguments*, int salt) {
  refill_sum(of, of.root % 2 == 1 ? of.rank : of.rank + 1, salt);
}

inline ReduceScatterArguments arguments_of(Example& of, const ReduceScatterArguments*) {
  of.send.resize(of.bytes);
  // The first rank has what the others leave.
  of.counts.assign(of.count(), of.bytes / of.count());
  of.counts.front() += of.bytes % of.count();
  of.receive.resize(of.counts[static_cast<std::size_t>(of.rank)]);
  return {of.send.data(), of.receive.data(), of.counts.data(), of.bytes, &sum()};
}
inline void refill(Example& of, const ReduceScatterArguments*, int salt) {
  fill(of.send.data(), of.bytes, of.rank, 0, salt);
  of.receive.assign(of.receive.size(), std::byte{0x5a});
  of.expected = of.receive;
  const std::size_t each = of.bytes / of.count();
  const std::size_t before = of.rank == 0 ? 0 : of.bytes % of.count() + static_cast<std::size_t>(of.rank) * each;
  fill_sum(of.expected.data(), of.expected.size(), of.ranks, salt, before);
}

inline ScatterArguments arguments_of(Example& of, const ScatterArguments*) {
  of.receive.resize(of.sent(of.root, of.rank));
  of.send.resize(of.rank == of.root ? of.bytes * of.count() : 0);
  const Blocks blocks = of.blocks(0, [&](int to) { return of.sent(of.root, to); });
  return {blocks, of.receive.data(), of.receive.size(), of.root, !of.irregular};
}
inline void refill(Example& of, const ScatterArguments*, int salt) {
  for (int rank = 0; !of.send.empty() && rank < of.ranks; ++rank)
    fill(of.block(of.send, rank), of.bytes, of.root, rank, salt);
  of.receive.assign(of.receive.size(), std::byte{0x5a});
  of.expected.resize(of.receive.size());
  fill(of.expected.data(), of.expected.size(), of.root, of.rank, salt);
}
/// From each rank one; between the blocks nothing may change. to: for whom each is, or 0 where each is for all.
inline void expect_blocks(Example& of, int salt, int to) {
  of.receive.assign(of.receive.size(), std::byte{0x5a});
  of.expected = of.receive;
  for (int rank = 0; !of.receive.empty() && rank < of.ranks; ++rank)
    fill(of.block(of.expected, rank), of.irregular ? of.sizes[1][static_cast<std::size_t>(rank)] : of.bytes, rank, to,
         salt);
}
inline GatherArguments arguments_of(Example& of, const GatherArguments*) {
  of.send.resize(of.sent(of.rank, of.root));
  of.receive.resize(of.rank == of.root ? of.bytes * of.count() : 0);
  const Blocks blocks = of.blocks(1, [&](int from) { return of.sent(from, of.root); });
  return {of.send.data(), of.send.size(), blocks, of.root, !of.irregular};
}
inline void refill(Example& of, const GatherArguments*, int salt) {
  fill(of.send.data(), of.send.size(), of.rank, 0, salt);
  expect_blocks(of, salt, 0);
}
inline AllgatherArguments arguments_of(Example& of, const AllgatherArguments*) {
  of.send.resize(of.sent(of.rank, 0));
  of.receive.resize(of.bytes * of.count());
  return {of.send.data(), of.send.size(), of.blocks(1, [&](int from) { return of.sent(from, 0); })};
}
inline void refill(Example& of, const AllgatherArguments*, int salt) {
  fill(of.send.data(), of.send.size(), of.rank, 0, salt);
  expect_blocks(of, salt, 0);
}
inline AlltoallArguments arguments_of(Example& of, const AlltoallArguments*) {
  of.send.resize(of.bytes * of.count());
  of.receive.resize(of.bytes * of.count());
  const Blocks send = of.blocks(0, [&](int to) { return of.sent(of.rank, to); });
  return {send, of.blocks(1, [&](int from) { return of.sent(from, of.rank); }), !of.irregular};
}
inline void refill(Example& of, const AlltoallArguments*, int salt) {
  for (int rank = 0; rank < of.ranks; ++rank) fill(of.block(of.send, rank), of.bytes, of.rank, rank, salt);
  expect_blocks(of, salt, of.rank);
}
/// Everybody sends to the next rank.
inline NeighborArguments arguments_of(Example& of, const NeighborArguments*) {
  static const int first = 0;
  of.neighbors[0] = (of.rank + of.ranks - 1) % of.ranks;
  of.neighbors[1] = (of.rank + 1) % of.ranks;
  of.send.resize(of.sent(of.rank, of.neighbors[1]));
  of.receive.resize(of.sent(of.neighbors[0], of.rank));
  NeighborArguments arguments;
  arguments.sources = of.neighbors;
  arguments.destinations = of.neighbors + 1;
  arguments.source_blocks = arguments.destination_blocks = &first;
  arguments.source_count = arguments.destination_count = 1;
  arguments.send = of.blocks(0, [&](int) { return of.send.size(); });
  arguments.receive = of.blocks(1, [&](int) { return of.receive.size(); });
  arguments.regular = !of.irregular;
  arguments.bytes = of.bytes;
  return arguments;
}
inline void refill(Example& of, const NeighborArguments*, int salt) {
  fill(of.send.data(), of.send.size(), of.rank, 0, salt);
  of.receive.assign(of.receive.size(), std::byte{0x5a});
  of.expected.resize(of.receive.size());
  fill(of.expected.data(), of.expected.size(), of.neighbors[0], 0, salt);
}

}  // namespace tutti::test
