// What the ranks of a communicator share about a choice that is made by trying (selection/online_choice.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sync/flag.h"

namespace tutti {

/// Of one choice and one rank. Zero as long as nothing is tried.
struct alignas(sync::line_bytes) TriedLine {
  static constexpr std::size_t records = 4;
  /// When this rank left the call before and when it left this one, in ticks (base/ticks.h): one clock for the cores of
  /// a node.
  struct Record {
    std::atomic<std::uint64_t> sequence;  ///< of the call's first operation; 0 while the others are written
    std::atomic<std::uint64_t> begin, end;
  };
  sync::Flag decision[2];  ///< of rank 0; the others' are not used. No stamps: see selection::Decision
  Record record[records];
};
static_assert(sizeof(TriedLine) == sync::line_bytes);

/// Choices that may be made so on a communicator: of each collective and class of sizes, for buffers that peers map and for
/// others; then which of the two the calls of each collective are.
inline constexpr int tried_collectives = 11, tried_classes = 14;
inline constexpr int tried_choices = tried_collectives * tried_classes;
inline constexpr int tried_lines = 2 * tried_choices + tried_collectives;

}  // namespace tutti
