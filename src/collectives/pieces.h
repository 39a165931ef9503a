// A call as the operations that it takes: what of its arguments each of them carries; and a pending call made of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "collectives/kind.h"
#include "collectives/pending_call.h"
#include "engine/operation.h"
#include "network/channel.h"

namespace tutti {

/// Calls in turn what is to be one operation: piece `index` of those that `cut` makes.
template <class Arguments>
Arguments part_of(const Arguments& arguments, const Cut& cut, std::size_t index) {
  constexpr bool is_told_its_piece = requires {
    arguments.piece;
  };
  if (cut.operations() == 1 && !is_told_its_piece) return arguments;
  const std::size_t begin = index * cut.piece;
  return Kind<Arguments>::part(arguments, {begin, std::min(begin + cut.piece, cut.total)});
}

/// A pending call. Its operations come one after the other, since what they need is as much as one rank should have at a time.
/// Carrier: flags(), body(operation, part) and in_flight(communicator, part), see Operation; part_of(arguments, cut, index) if it has
/// parts of its own.
template <class Arguments, class Carrier>
class PendingCallInPieces final : public PendingCall {
 public:
  PendingCallInPieces(Communicator& communicator, const char* collective, std::uint16_t identity, std::size_t bytes,
                      const Carrier& carrier, const Arguments& arguments, Cut cut)
      : channel_(communicator.pending()),
        collective_(collective),
        identity_(identity),
        bytes_(bytes),
        carrier_(carrier),
        arguments_(arguments),
        cut_(cut) {}

  void start() override {
    call_.emplace(collective_, identity_, bytes_, cut_.operations() > 1);
    if constexpr (requires { carrier_.moving; }) call_->moving = carrier_.moving, call_->lending = carrier_.lending;
    call_->first = next_ = channel_.sequence() + 1;
    index_ = 0;
    prepare();
    // Now that there is the memory for it: peers wait for this rank in what has a number.
    channel_.reserve(cut_.operations());
  }

  bool progress() override {
    while (operation_) {
      try {
        if (!begun_) {
          if (!operation_->try_to_begin()) return false;
          begun_ = true;
          operation_->start(carrier_.flags(), carrier_.body(*operation_, part_));
        }
        if (!operation_->progress()) return false;
      } catch (const network::Failure& failure) {
        operation_.reset();
        channel_.communicator().fail(failure.kind);
        throw;
      } catch (...) {
        operation_.reset();
        throw;
      }
      ++index_;
      prepare();
    }
    return true;
  }

  int waits_for() const override { return operation_ ? operation_->waits_for() : -1; }
  bool truncated() const override { return call_ && call_->truncated; }

 private:
  /// The next operation, if there is one more.
  void prepare() {
    operation_.reset();
    begun_ = false;
    if (index_ >= cut_.operations()) return;
    if constexpr (requires { carrier_.part_of(arguments_, cut_, index_); })
      part_ = carrier_.part_of(arguments_, cut_, index_);
    else
      part_ = part_of(arguments_, cut_, index_);
    operation_.emplace(channel_, *call_, next_ + index_, carrier_.in_flight(channel_.communicator(), part_));
  }

  Channel& channel_;
  const char* collective_;
  std::uint16_t identity_;
  std::size_t bytes_;
  Carrier carrier_;
  const Arguments arguments_;
  const Cut cut_;
  std::uint64_t next_ = 0;  ///< number of its first operation
  std::size_t index_ = 0;   ///< of the operation that is under way
  std::optional<Call> call_;
  Arguments part_{};
  std::optional<PendingOperation> operation_;
  bool begun_ = false;
};

}  // namespace tutti
