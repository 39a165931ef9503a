// What the tests of Scatter and Gather share: every algorithm with its parameters, blocks of all sorts, bytes to
// expect.
#pragma once

#include <string>
#include <vector>

#include "collectives/block_patterns.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {

/// Zero-sized calls with equal blocks never reach the core. Around the inline limit, grain and eager limit.
inline const std::vector<std::size_t> block_sizes{
    1,     7,     Post::inline_bytes / 2, Post::inline_bytes, Post::inline_bytes + 1, 1000, 4095, 4096, 4097, 16 * 1024,
    16385, 100001};

struct Tried {
  const char* name;
  std::string choice;  ///< as in TUTTI_ALGORITHM, without the collective
};

/// Every algorithm, those with a parameter with 1, 2, 3 and the number of ranks.
template <class Arguments>
std::vector<Tried> tried_algorithms(int ranks) {
  std::vector<Tried> tried;
  for (const auto* algorithm : algorithms_of<Arguments>()) {
    if (!algorithm->parameter.name) {
      tried.push_back({algorithm->name, algorithm->name});
      continue;
    }
    for (const int value : {1, 2, 3, ranks})
      tried.push_back({algorithm->name,
                       std::string(algorithm->name) + "," + algorithm->parameter.name + "=" + std::to_string(value)});
  }
  return tried;
}

inline World blocks_world(int ranks, Reach reach, const std::string& algorithm) {
  World world;
  world.ranks = ranks;
  world.reach = reach;
  world.algorithm = algorithm;
  world.settings.hierarchy = "l3+numa+socket";
  world.settings.segment = 64 * 1024;
  world.settings.flat_max = 64;
  return world;
}

/// All ranks' blocks in one buffer with guard bytes around each; irregular ones in falling order, some of them empty.
struct RootedBlocks {
  std::vector<std::size_t> sizes;
  std::vector<std::ptrdiff_t> offsets;
  std::vector<std::byte> bytes;
  bool regular;

  RootedBlocks(int ranks, std::size_t size, bool is_regular, int salt) : regular(is_regular) {
    std::ptrdiff_t next = 3;
    for (int i = 0; i < ranks; ++i) {
      sizes.push_back(regular ? size : size_of(i, size, salt));
      offsets.push_back(next);
      next += static_cast<std::ptrdiff_t>(sizes.back()) + (regular ? 0 : 5);
    }
    bytes.assign(static_cast<std::size_t>(next) + 3, guard);
    if (!regular) {  // the last rank's block first
      next = 3;
      for (std::size_t i = sizes.size(); i-- > 0;) {
        offsets[i] = next;
        next += static_cast<std::ptrdiff_t>(sizes[i]) + 5;
      }
    }
  }
  static std::size_t size_of(int rank, std::size_t size, int salt) {
    const int kind = (rank + salt) % 4;
    return kind == 0 ? 0 : kind == 1 ? size : kind == 2 ? size / 2 : size / 3 + static_cast<std::size_t>(rank);
  }
  Blocks blocks() {
    return regular ? Blocks::regular(bytes.data() + 3, sizes[0])
                   : Blocks::irregular(bytes.data(), sizes.data(), offsets.data());
  }
  void fill(int rank, int salt) {
    const auto r = static_cast<std::size_t>(rank);
    fill_block(bytes.data() + offsets[r], sizes[r], rank, 0, salt);
  }
  void fill_all(int salt) {
    for (int rank = 0; rank < static_cast<int>(sizes.size()); ++rank) fill(rank, salt);
  }
};

/// One rank's block, with a guard byte behind it.
inline std::vector<std::byte> guarded_block(std::size_t bytes, int rank, int salt) {
  std::vector<std::byte> block(bytes + 1, guard);
  fill_block(block.data(), bytes, rank, 0, salt);
  return block;
}

}  // namespace tutti::test
