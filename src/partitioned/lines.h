// What each side of a partitioned message has in its arena.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/flag.h"

namespace tutti::partitioned {

/// The sender's; its flags follow, one a partition.
struct alignas(sync::line_bytes) SenderLine {
  std::atomic<std::uint64_t> region;  ///< of what the receiver is to copy; published by each flag
};

/// The receiver's. The sender looks at each line for another reason, and the second one changes more often.
struct ReceiverLines {
  alignas(sync::line_bytes) sync::Flag started;   ///< how often
  std::atomic<std::uint64_t> region;              ///< of the buffer; published by `started`
  alignas(sync::line_bytes) sync::Flag finished;  ///< in how many starts it has got all
  sync::Flag copied;                              ///< a stamp: the start, and how many partitions it has copied in it
};

}  // namespace tutti::partitioned
