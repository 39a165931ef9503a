// Collectives in which each rank has one message of the size: Barrier (none), Bcast, Reduce, Allreduce, Scan, Exscan.
#pragma once

#include "collective.h"

namespace tutti::bench {

class Barrier final : public Collective {
 public:
  using Collective::Collective;
  std::size_t send_count(bool) const override { return 0; }
  std::size_t receive_count(bool) const override { return 0; }
  std::size_t incoming_count() const override { return 0; }
  void fill(const Call&) const override {}
  void perform(const Functions& mpi, const Call&) const override { mpi.Barrier(communicator()); }
  bool right(const Call&) const override { return true; }
  bool overwrites(int) const override { return false; }
};

class Bcast final : public Collective {
 public:
  using Collective::Collective;
  std::size_t send_count(bool) const override { return block(); }
  std::size_t receive_count(bool) const override { return 0; }
  std::size_t incoming_count() const override { return block(); }
  void fill(const Call& call) const override {
    if (rank() == call.root) bench::fill(call.send, stretch(0, block()), call.salt, rank());
  }
  void perform(const Functions& mpi, const Call& call) const override {
    mpi.Bcast(call.send, count(), datatype(), call.root, communicator());
  }
  bool right(const Call& call) const override {
    return holds_data_of(call.send, stretch(0, block()), call.salt, call.root);
  }
  bool overwrites(int) const override { return false; }
};

/// What the four reductions share: every rank sends one message, sums of those of some ranks come out.
class Reduction : public Collective {
 public:
  using Collective::Collective;
  std::size_t send_count(bool) const override { return block(); }
  std::size_t receive_count(bool) const override { return block(); }
  std::size_t incoming_count() const override { return block(); }
  void fill(const Call& call) const override {
    bench::fill(overwrites(call.root) ? call.receive : call.send, stretch(0, block()), call.salt, rank());
  }

 protected:
  bool sum_of(int first_ranks, const Call& call) const {
    return holds_sum(call.receive, stretch(0, block()), call.salt, first_ranks);
  }
};

class Reduce final : public Reduction {
 public:
  using Reduction::Reduction;
  std::size_t receive_count(bool root) const override { return root ? block() : 0; }
  void perform(const Functions& mpi, const Call& call) const override {
    mpi.Reduce(send_argument(call), rank() == call.root ? call.receive : nullptr, count(), datatype(), MPI_SUM,
               call.root, communicator());
  }
  bool right(const Call& call) const override { return rank() != call.root || sum_of(ranks(), call); }
  bool overwrites(int root) const override { return place_.in_place && rank() == root; }
};

class Allreduce final : public Reduction {
 public:
  using Reduction::Reduction;
  void perform(const Functions& mpi, const Call& call) const override {
    mpi.Allreduce(send_argument(call), call.receive, count(), datatype(), MPI_SUM, communicator());
  }
  bool right(const Call& call) const override { return sum_of(ranks(), call); }
};

class Scan final : public Reduction {
 public:
  using Reduction::Reduction;
  void perform(const Functions& mpi, const Call& call) const override {
    mpi.Scan(send_argument(call), call.receive, count(), datatype(), MPI_SUM, communicator());
  }
  bool right(const Call& call) const override { return sum_of(rank() + 1, call); }
};

class Exscan final : public Reduction {
 public:
  using Reduction::Reduction;
  void perform(const Functions& mpi, const Call& call) const override {
    mpi.Exscan(send_argument(call), call.receive, count(), datatype(), MPI_SUM, communicator());
  }
  /// What rank 0 receives is undefined.
  bool right(const Call& call) const override { return rank() == 0 || sum_of(rank(), call); }
};

}  // namespace tutti::bench
