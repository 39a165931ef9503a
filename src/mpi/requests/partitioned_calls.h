// The two sides of a partitioned message as MPI has them: elements of a type, a status, and requests that are started
// again. What the core does is in src/partitioned/.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "collectives/pending_call.h"
#include "mpi/arguments/call_memory.h"
#include "mpi/arguments/datatypes.h"
#include "mpi/host.h"
#include "mpi/requests/matching.h"
#include "mpi/start/node_setup.h"
#include "partitioned/sides.h"

namespace tutti::mpi {

/// A buffer of partitions, and its other form where its elements have gaps or are in memory of a device: packed, which is
/// what the core moves.
class PartitionedBuffer {
 public:
  /// count: elements of each partition.
  PartitionedBuffer(const void* buffer, int partitions, std::size_t count, MPI_Datatype datatype, const TypeInfo& info);

  /// For the core.
  std::byte* bytes() const { return is_packed() ? packed_.get() : static_cast<std::byte*>(buffer_); }
  partitioned::Partitions partitions() const { return {partitions_, count_ * info_.bytes}; }
  bool is_packed() const { return packed_.get() != nullptr; }

  // Of one partition. They return a code of the host.
  int pack(int partition) const;
  /// Of a message of so many bytes, which may be fewer than there is room for.
  int unpack(int partition, std::size_t bytes) const;

 private:
  void* at(int partition) const;

  void* buffer_;
  int partitions_;
  std::size_t count_;
  MPI_Datatype datatype_;
  TypeInfo info_;
  MPI_Aint extent_ = 0;
  CallMemory packed_;  ///< and behind it room for one element
};

class PartitionedCall;

/// A call that is a message.
class MessageCall : public PendingCall {
 public:
  void start() override {}
  bool truncated() const override { return false; }
  int waits_for() const override { return -1; }

  /// Of one that is complete: what MPI_Wait tells.
  virtual void tell(MPI_Status& status) const = 0;
  /// Whether it goes on by calls of the host.
  virtual bool calls_host() const { return false; }
  /// Whether it has to go on while its rank computes, or waits in the host: its peer cannot do without.
  virtual bool needs_driving() const { return true; }
  virtual void cancel() {}
  /// Whether it is a receive of the host's that has not ended, and that such a message could have been matched with.
  virtual bool may_have(const Matching& /*message*/) const { return false; }
  /// What is to be done at each start on a thread of the program, and at its end. Each returns a code of the host.
  virtual int before() { return MPI_SUCCESS; }
  virtual int after(int code) { return code; }
  /// Null if it is no partitioned one.
  virtual PartitionedCall* as_partitioned() { return nullptr; }
};

/// Either side, as its request knows it: one of a message to or from MPI_PROC_NULL, which is over as soon as it was started, if
/// it is none of those below.
class PartitionedCall : public MessageCall {
 public:
  PartitionedCall(PartitionedBuffer buffer, bool is_sender) : buffer_(std::move(buffer)), is_sender_(is_sender) {}
  bool progress() override { return true; }
  PartitionedCall* as_partitioned() override { return this; }

  int partitions() const { return buffer_.partitions().count; }
  std::size_t bytes() const { return buffer_.partitions().all(); }
  bool is_sender() const { return is_sender_; }
  /// The other side is to count this one from now on: the last thing to be done when the request is made, since it cannot be
  /// undone. Throws std::runtime_error if there is no memory for it.
  virtual void introduce() {}
  /// Of a sender that was started. Returns a code of the host: a partition is marked once.
  virtual int mark(int /*partition*/) { return MPI_SUCCESS; }
  /// Of a receiver that was started.
  virtual bool has_arrived(int /*partition*/) const { return true; }
  /// The program is to find it in its buffer. After it has arrived. Returns a code of the host.
  virtual int hand_over(int /*partition*/) { return MPI_SUCCESS; }
  void tell(MPI_Status& status) const override {
    if (!is_sender_) status.MPI_SOURCE = MPI_PROC_NULL;
  }

 protected:
  PartitionedBuffer buffer_;

 private:
  const bool is_sender_;
};

class PartitionedSend final : public PartitionedCall {
 public:
  PartitionedSend(PartitionedBuffer buffer, Job& job, int peer, const partitioned::Envelope& envelope,
                  const partitioned::Policy& policy)
      : PartitionedCall(std::move(buffer), true),
        side_(job.node, *job.announcements, {peer, envelope, buffer_.partitions(), policy}, buffer_.bytes()) {}
  void start() override { side_.start(); }
  bool progress() override { return side_.progress(); }
  void introduce() override { side_.introduce(); }
  int mark(int partition) override {
    if (side_.is_marked(partition)) return MPI_ERR_ARG;
    if (buffer_.is_packed())
      if (const int code = buffer_.pack(partition); code != MPI_SUCCESS) return code;
    side_.mark(partition);
    return MPI_SUCCESS;
  }

 private:
  partitioned::Sender side_;
};

class PartitionedReceive final : public PartitionedCall {
 public:
  PartitionedReceive(PartitionedBuffer buffer, Job& job, int peer, const partitioned::Envelope& envelope,
                     const partitioned::Policy& policy)
      : PartitionedCall(std::move(buffer), false),
        side_(job.node, *job.announcements, {peer, envelope, buffer_.partitions(), policy}, buffer_.bytes()),
        source_(envelope.source),
        tag_(envelope.tag) {}
  void start() override { side_.start(); }
  bool progress() override { return side_.progress(); }
  bool truncated() const override { return side_.sent_bytes() > buffer_.partitions().all(); }
  void introduce() override { side_.introduce(); }
  int before() override;
  int after(int code) override;
  void tell(MPI_Status& status) const override;
  bool has_arrived(int partition) const override { return side_.has_arrived(partition); }
  int hand_over(int partition) override;

 private:
  partitioned::Receiver side_;
  int source_, tag_;
  std::mutex mutex_;               ///< of the next
  std::vector<bool> is_unpacked_;  ///< by partition; empty where nothing is packed
};

}  // namespace tutti::mpi
