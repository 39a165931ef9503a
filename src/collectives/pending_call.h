// A call that was started and goes on while its rank does something else: what nonblocking and persistent calls are.
#pragma once

namespace tutti {

class PendingCall {
 public:
  virtual ~PendingCall() = default;
  /// Starts it, for the first time or, once it was over, again. Does not wait. Calls of a communicator are started in the
  /// same order on all its ranks. If it throws, it has not been started, and its peers know nothing of it.
  virtual void start() = 0;
  /// Does what can be done by now, without waiting. True once it is over on this rank.
  /// Throws Disagreement when ranks turn out to be in different calls: then it is over, and the communicator closed for
  /// pending ones.
  virtual bool progress() = 0;
  /// Which rank of the communicator it waits for, as far as is known; -1 if it is not.
  virtual int waits_for() const = 0;
  /// Once it is over: bytes were left out that a peer sent, for want of room.
  virtual bool truncated() const = 0;
};

}  // namespace tutti
