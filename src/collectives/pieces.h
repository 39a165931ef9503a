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
#include "selection/algorithm.h"

namespace tutti {

/// Calls in turn what is to be one operation: piece `index` of those that `cut` makes.
template <class Arguments>
Arguments part_of(const Arguments& arguments, const Cut& cut, std::size_t index) {
  if (cut.operations() == 1 && !Kind<Arguments>::parts_one) return arguments;
  const std::size_t begin = index * cut.piece;
  return Kind<Arguments>::part(arguments, {begin, std::min(begin + cut.piece, cut.total)});
}

/// Where this rank does not need its data area, more operations may be in flight.
template <class Arguments>
std::uint64_t in_flight(const selection::Forms<Arguments>& forms, const Communicator& communicator,
                        const Arguments& arguments) {
  return forms.in_flight ? forms.in_flight(communicator, arguments) : data_areas;
}

/// How a call is to be carried out.
template <class Arguments>
struct Plan {
  const char* collective;
  std::uint16_t identity;  ///< of collective and algorithm
  std::size_t bytes;       ///< that ranks compare
  Arguments arguments;     ///< as the algorithm gets them
  const selection::Algorithm<Arguments>& algorithm;
  Cut cut;
  Moving moving;
  Lending lending;
  const Spanning* spanning;

  Call call() const {
    Call call(collective, identity, bytes, cut.operations() > 1);
    call.moving = moving;
    call.lending = lending;
    call.spanning = spanning;
    return call;
  }
};

/// A pending call. Its operations come one after the other, since what they need is as much as one rank should have at a time.
template <class Arguments>
class PendingCallInPieces final : public PendingCall {
 public:
  PendingCallInPieces(Communicator& communicator, const Plan<Arguments>& plan)
      : channel_(communicator.pending()), plan_(plan) {}

  void start() override {
    call_.emplace(plan_.call());
    call_->first = next_ = channel_.sequence() + 1;
    index_ = 0;
    prepare();
    // Now that there is the memory for it: peers wait for this rank in what has a number.
    channel_.reserve(plan_.cut.operations());
  }

  bool progress() override {
    while (operation_) {
      try {
        if (!begun_) {
          if (!operation_->try_to_begin()) return false;
          begun_ = true;
          operation_->start(forms().flags, forms().body(*operation_, part_));
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
  const selection::Forms<Arguments>& forms() const { return plan_.algorithm.forms; }
  /// The next operation, if there is one more.
  void prepare() {
    operation_.reset();
    begun_ = false;
    if (index_ >= plan_.cut.operations()) return;
    part_ = part_of(plan_.arguments, plan_.cut, index_);
    operation_.emplace(channel_, *call_, next_ + index_, in_flight(forms(), channel_.communicator(), part_));
  }

  Channel& channel_;
  const Plan<Arguments> plan_;
  std::uint64_t next_ = 0;  ///< number of its first operation
  std::size_t index_ = 0;   ///< of the operation that is under way
  std::optional<Call> call_;
  Arguments part_{};
  std::optional<PendingOperation> operation_;
  bool begun_ = false;
};

}  // namespace tutti
