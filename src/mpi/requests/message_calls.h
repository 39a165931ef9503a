// Messages between two ranks of a node as MPI has them: elements of a type, a status, requests. What the core does is in
// src/messages/, and which functions begin one in functions/messages.cpp.
#pragma once

#include <cstddef>
#include <optional>

#include "collectives/pending_call.h"
#include "messages/messages.h"
#include "mpi/arguments/datatypes.h"
#include "mpi/communicators.h"
#include "mpi/host.h"
#include "mpi/report/explain.h"
#include "mpi/requests/partitioned_calls.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

/// Bytes of the message of which a function of the host tells, as long as they are few.
inline std::size_t bytes_told_by(const MPI_Status& status) {
#if defined(OPEN_MPI)
  return status._ucount;
#elif defined(MPICH_VERSION)
  return static_cast<unsigned>(status.count_lo) |
         (static_cast<std::size_t>(static_cast<unsigned>(status.count_hi_and_cancelled) >> 1) << 32);
#else
  MPI_Count bytes = 0;
  return host.Get_elements_x(&status, MPI_BYTE, &bytes) == MPI_SUCCESS ? static_cast<std::size_t>(bytes) : 0;
#endif
}
inline bool is_as_long_as_an_envelope(const MPI_Status& status) {
  return bytes_told_by(status) == messages::Envelope::bytes;
}

/// MessageBuffer in the program's memory.
struct MessageBuffer {
  void* buffer = nullptr;
  std::size_t count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  TypeInfo info;

  std::size_t bytes() const { return count * info.bytes; }
};

/// Nothing if the host is to say what is wrong with the arguments.
inline std::optional<MessageBuffer> message_buffer(const void* buffer, MPI_Count count, MPI_Datatype datatype) {
  TypeInfo room;
  const TypeInfo* const info = count >= 0 ? type_info(datatype, room) : nullptr;
  if (!info) return std::nullopt;
  return MessageBuffer{const_cast<void*>(buffer), static_cast<std::size_t>(count), datatype, *info};
}

/// Where a message goes, as the sender knows it. peer: node rank.
struct Destination {
  MPI_Comm communicator;
  int rank, tag;
  int peer;
  std::uint64_t identity;  ///< of the communicator
};

/// A message that goes as an envelope.
class SendPart {
 public:
  /// Throws ArenaFull, as long as nobody knows of it. is_copied: the elements are changed before it is over.
  SendPart(const MessageBuffer& elements, const Destination& to, bool is_synchronous, bool is_copied = false);
  SendPart(const SendPart&) = delete;
  SendPart& operator=(const SendPart&) = delete;

  /// Sends the envelope. Returns a code of the host; once. Throws ArenaFull: nobody knows of it.
  int begin();
  /// Does what can be done without waiting; true once it is over.
  bool progress();
  bool calls_host() const { return request_ != MPI_REQUEST_NULL; }
  int peer() const { return to_.peer; }

 private:
  const Destination to_;
  const bool is_synchronous_;
  int packed_ = MPI_SUCCESS;
  std::optional<messages::Outgoing> outgoing_;
  explain::MessageTally* tally_ = nullptr;  ///< where its way is to be counted
  MPI_Request request_ = MPI_REQUEST_NULL;
  alignas(16) std::byte letter_[messages::Envelope::bytes];
};

/// What may be an envelope, and then the message that it stands for.
class ReceivePart {
 public:
  ReceivePart(const MessageBuffer& elements, MPI_Comm communicator)
      : elements_(elements), communicator_(communicator) {}
  ReceivePart(const ReceivePart&) = delete;
  ReceivePart& operator=(const ReceivePart&) = delete;

  /// The host has received what `status` tells of. True if it was an envelope: then the message comes. is_known: look_ahead()
  /// has said so.
  bool look(const MPI_Status& status, bool is_known = false);
  /// The same of what will be looked at later, so that a probe does not take it for what it has found. False if there is no need to
  /// look.
  bool look_ahead(const MPI_Status& status) { return open(status, false).has_value(); }
  /// Does what can be done without waiting; true once it is over.
  bool progress() { return !incoming_ || incoming_->progress(); }
  /// Once it is over: what the program is to find in its buffer, and in its status. Returns a code of MPI.
  int end(MPI_Status& status);
  int peer() const { return incoming_ ? incoming_->peer() : -1; }

 private:
  /// What has come, if it is an envelope. If not, it is what the sender has told of it.
  std::optional<messages::Envelope> open(const MPI_Status& status, bool is_known);

  MessageBuffer elements_;
  MPI_Comm communicator_;
  std::optional<memory::Spread> spread_;  ///< of elements that have gaps, if it is known where
  std::optional<PartitionedBuffer> packed_;
  bool is_spread_ = false;  ///< what comes is put there at once, and not into packed_
  std::optional<messages::Incoming> incoming_;
};

/// A status that tells of a message of so many bytes. Source, tag and error stay.
void set_bytes(MPI_Status& status, std::size_t bytes);

/// Waits until over() is true; meanwhile all that is under way goes on. function: of MPI.
template <class Over>
void wait_for_message(const char* function, int peer, const Over& over) {
  sync::wait(*job()->node.waiter, {function, nullptr, 0, peer}, [&] {
    if (over()) return true;
    requests.drive();
    return false;
  });
}

/// The messages of this process, for who cannot take the time to ask for the job.
struct OurMessages {
  messages::Messages* all = nullptr;  ///< null: all are the host's
  /// From so many bytes on a message goes as an envelope: to ranks with which this one has a cache in common, and to others.
  std::size_t near_min = 0, far_min = 0;
  std::size_t least() const { return near_min < far_min ? near_min : far_min; }
  /// From so many bytes on a message that is sent is looked at: all are where they are counted.
  std::size_t looked_at_min = 0;

  OurMessages() = default;
  explicit OurMessages(const Job& job);
};
extern constinit OurMessages our;
/// From how many bytes on messages to a node rank go as envelopes.
std::size_t envelope_min(int peer);

inline messages::Messages* our_messages() {
  return our.all;
}

/// A nonblocking or persistent call: a receive of the host's in which an envelope may come, a message that goes as one, or
/// both.
class TwoSidedCall final : public MessageCall {
 public:
  TwoSidedCall() = default;
  ~TwoSidedCall();

  /// inner: of the host. It is active, unless the call is persistent.
  void receive(const MessageBuffer& elements, const Matching& matching, MPI_Request inner, bool is_persistent);
  SendPart& send(const MessageBuffer& elements, const Destination& to, bool is_synchronous, bool is_copied) {
    return send_.emplace(elements, to, is_synchronous, is_copied);
  }
  /// A persistent send. inner: of the host, which sends what does not go as an envelope.
  void send_again(const MessageBuffer& elements, const Destination& to, bool is_synchronous, bool by_envelope,
                  MPI_Request inner);

  void start() override;
  bool progress() override;
  bool calls_host() const override { return has_inner_ || (send_ && send_->calls_host()); }
  /// A receiver gets by itself what is there, and what is not is the host's matter.
  bool needs_driving() const override { return false; }
  int after(int code) override;
  void tell(MPI_Status& status) const override;
  void cancel() override;
  bool may_have(const Matching& message) const override {
    return has_inner_ && is_receive_ && matching_.may_have(message);
  }

 private:
  MessageBuffer elements_;
  Matching matching_;
  MPI_Request inner_ = MPI_REQUEST_NULL;
  bool has_inner_ = false;  ///< it has not ended
  bool is_persistent_ = false, is_receive_ = false;
  int code_ = MPI_SUCCESS;
  MPI_Status status_{};
  std::optional<ReceivePart> receive_;
  std::optional<SendPart> send_;
  void start_again();

  std::optional<Destination> to_;  ///< of a persistent send
  bool is_synchronous_ = false, by_envelope_ = false;
};

}  // namespace tutti::mpi
