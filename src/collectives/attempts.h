// One choice of a communicator that is made by trying: what its ranks share, and on rank 0 what is known.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/communicator.h"
#include "selection/online_choice.h"

namespace tutti {

class Attempts {
 public:
  /// number: of the TriedLine; equal on all ranks, and of no other choice.
  Attempts(Communicator& communicator, int number, int candidates);

  /// The candidate for the call that begins now, on all ranks alike. To be called before its first operation, once.
  int next();
  /// The same for what continues that call.
  int current() const { return candidate_; }
  /// To be called when that call ends; not if it ends by an exception.
  void ends();

 private:
  struct Call {
    std::uint64_t sequence;
    int candidate;
  };
  TriedLine& line(int rank) const { return communicator_.blocking().tried_line(rank, number_); }
  /// On rank 0: looks what calls took, and publishes what follows.
  void learn(std::uint64_t sequence);
  /// Looks at the records of a call; false as long as there may be some later.
  bool look_at(const Call& call);

  Communicator& communicator_;
  int number_;
  std::uint64_t sequence_ = 0;                          ///< of the call
  int candidate_ = -1;                                  ///< that it took
  bool tried_ = false;                                  ///< the call is one of those that are compared
  bool timed_ = false;                                  ///< so was the one before, by the same candidate
  std::uint64_t end_ = 0;                               ///< of the last one that was tried
  std::optional<selection::OnlineChoice> choice_ = {};  ///< on rank 0
  bool second_ = false;                                 ///< which word is next
  std::array<Call, TriedLine::records> open_{};         ///< calls that were not looked at; sequence 0: none
};

}  // namespace tutti
