// Whether the buffers that a collective is called with are ones that peers map, or such as they reach by the kernel or by
// copies that are lent: other algorithms are fast then. Rank 0 looks at its own, and all find the same without a message,
// as they do of what is tried (selection/online_choice.h). Where it is wrong, results are right all the same.
#pragma once

#include <cstdint>

#include "engine/communicator.h"
#include "selection/online_choice.h"

namespace tutti {

class MemoryOfCalls {
 public:
  /// number: of a TriedLine; equal on all ranks, and of nothing else.
  MemoryOfCalls(Communicator& communicator, int number) : communicator_(communicator), number_(number) {}

  /// Whether the call that begins now is to be taken as one whose buffers are mapped. To be called before its first
  /// operation, once. mapped: this one's are; asked on rank 0 only.
  template <class Mapped>
  bool are_mapped(const Mapped& mapped) {
    const std::uint64_t sequence = communicator_.blocking().sequence() + 1;
    TriedLine& line = communicator_.blocking().tried_line(0, number_);
    if (communicator_.rank() == 0) learn(line, sequence, mapped());
    return selection::decision_at({line.decision[0].get(), line.decision[1].get()}, sequence).candidate == mapped_ones;
  }

 private:
  static constexpr int mapped_ones = 0, others = 1;
  /// As many of the one kind have to follow upon many of the other before that is left.
  static constexpr int calls_remembered = 8;

  void learn(TriedLine& line, std::uint64_t sequence, bool mapped);

  Communicator& communicator_;
  int number_;
  // On rank 0.
  int others_more_often_ = 0;  ///< by so many calls
  selection::Decision decision_;
  bool second_ = false;  ///< which word is next
};

}  // namespace tutti
