// The contributions of several ranks to a small reduction, all combined in one pass.
#pragma once

#include "collectives/arguments.h"
#include "collectives/common/eager.h"

namespace tutti::eager {

/// Those of the ranks from 0 to `count` - 1, in rank order.
class Contributions {
 public:
  /// own: this rank's, for which nobody waits. Each has sent `bytes`, of which those from `begin` to `end` are combined.
  Contributions(const OperationView& operation, int count, const std::byte* own, std::size_t bytes, std::size_t begin,
                std::size_t end)
      : operation_(operation), count_(count), own_(own), bytes_(bytes), begin_(begin), end_(end) {}
  Contributions(const OperationView& operation, int count, const std::byte* own, std::size_t bytes)
      : Contributions(operation, count, own, bytes, 0, bytes) {}

  bool next(Wanted& wanted) {
    if (rank_ == operation_.communicator().rank() && rank_ < count_) sources_[rank_++] = own_ + begin_;
    if (rank_ >= count_) return false;
    wanted = eager::wanted(rank_, bytes_, end_);
    return true;
  }
  void take(const Wanted& wanted) { sources_[rank_++] = payload_of(operation_, wanted.rank, bytes_) + begin_; }
  /// destination: may be the own contribution.
  void combine(const Combiner& combiner, std::byte* destination, std::size_t elements) const {
    combiner(destination, sources_, static_cast<std::size_t>(count_), elements);
  }

 private:
  OperationView operation_;
  int count_;
  const std::byte* own_;
  std::size_t bytes_, begin_, end_;
  int rank_ = 0;
  const void** sources_ = operation_.sources();
};

}  // namespace tutti::eager
