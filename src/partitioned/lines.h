// What each side of a partitioned message has in its arena.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/flag.h"

namespace tutti::partitioned {

/// The sender's; its flags follow, one a partition. A receiver that waits looks at this line alone most of the time, which
/// changes when there is something for it to do: the flags' lines stay with the threads that mark. What counts are the
/// flags.
struct alignas(sync::line_bytes) SenderLine {
  sync::Flag started;     ///< how often
  sync::Flag all_marked;  ///< in how many starts all were marked, as the sender has noticed
  /// Partitions that were left to the receiver, in all starts together. A hint in a start, from several threads, until all are
  /// marked: then the number.
  std::atomic<std::uint64_t> left;
  std::atomic<std::uint64_t> region;  ///< of what the receiver is to copy; published by each flag
};

/// The receiver's. The sender looks at each line for another reason, and the second one changes more often.
struct ReceiverLines {
  alignas(sync::line_bytes) sync::Flag started;  ///< how often
  std::atomic<std::uint64_t> region;             ///< of the buffer; published by `started`
  alignas(sync::line_bytes) sync::Flag copied;   ///< partitions that it has copied, in all starts together
};

}  // namespace tutti::partitioned
