// One choice of a communicator that is made by trying: what its ranks share, and on rank 0 what is known.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/ticks.h"
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
  /// Whether that call is timed.
  bool is_timed() const { return timed_; }
  /// When this rank came to the call and left it.
  void took(std::uint64_t begin, std::uint64_t end);

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
  std::uint64_t sequence_ = 0;  ///< of the call
  int candidate_ = -1;          ///< that it took
  bool timed_ = false;
  std::optional<selection::OnlineChoice> choice_ = {};  ///< on rank 0
  bool second_ = false;                                 ///< which word is next
  std::array<Call, TriedLine::records> open_{};         ///< calls that were not looked at; sequence 0: none
};

/// A call that is timed if it has to be. One that ends by an exception leaves nothing.
class TimedCall {
 public:
  /// attempts: null where nothing is tried, or for what continues a call.
  explicit TimedCall(Attempts* attempts) : attempts_(attempts && attempts->is_timed() ? attempts : nullptr) {
    if (attempts_) begin_ = ticks();
  }
  void ends() const {
    if (attempts_) attempts_->took(begin_, ticks());
  }

 private:
  Attempts* attempts_;
  std::uint64_t begin_ = 0;
};

}  // namespace tutti
