// A small reduction: contributions of several ranks, all combined in one pass (see eager.h).
#pragma once

#include "collectives/algorithm.h"
#include "collectives/common/eager.h"

namespace tutti::eager {

/// What one rank does in it.
struct Part {
  bool sends;                ///< its contribution, for others
  int count;                 ///< it combines those of the ranks from 0 to `count` - 1, in rank order
  topology::Range elements;  ///< of each
  const std::byte* own;      ///< its contribution, for which nobody waits; may be where the result goes
  reduction::Order order = reduction::Order::in_pairs;
};

/// part_of(operation, arguments): the part of this rank.
template <class Arguments, Part (*part_of)(const OperationView&, const Arguments&)>
class Reduction {
 public:
  Reduction(const OperationView& operation, const Arguments& arguments)
      : operation_(operation),
        arguments_(arguments),
        part_(part_of(operation, arguments)),
        bytes_(arguments.bytes()),
        begin_(part_.elements.begin * arguments.combiner->element_bytes),
        end_(part_.elements.end * arguments.combiner->element_bytes) {}
  static std::size_t payload(const Communicator&, const Arguments& arguments) { return arguments.bytes(); }

  void send() {
    if (part_.sends) eager::send(operation_, arguments_.send, bytes_);
  }
  bool next(Wanted& wanted) {
    if (rank_ == operation_.communicator().rank() && rank_ < part_.count) sources_[rank_++] = part_.own + begin_;
    if (rank_ >= part_.count) return false;
    wanted = eager::wanted(rank_, bytes_, end_);
    return true;
  }
  void take(const Wanted& wanted) { sources_[rank_++] = payload_of(operation_, wanted.rank, bytes_) + begin_; }
  void end() {
    if (part_.count == 0) return;
    if (part_.count == operation_.communicator().size()) operation_.seen_all();
    (*arguments_.combiner)(arguments_.receive, sources_, static_cast<std::size_t>(part_.count), part_.elements.length(),
                           part_.order);
  }

 private:
  OperationView operation_;
  const Arguments& arguments_;
  Part part_;
  std::size_t bytes_, begin_, end_;
  int rank_ = 0;
  const void** sources_ = operation_.sources();
};

/// The forms of such an algorithm.
template <class Arguments, Part (*part_of)(const OperationView&, const Arguments&)>
constexpr selection::Forms<Arguments> reduction_forms() {
  return forms<Reduction<Arguments, part_of>, Arguments>();
}

}  // namespace tutti::eager
