// Collectives with neighbours, on the periodic ring of the ranks: each has one on the left (0) and one on the right
// (1).
#pragma once

#include <array>

#include "collective.h"
#include "layout.h"

namespace tutti::bench {

/// What the neighbours' collectives share: two blocks come in, each of a size that its sender determines.
class Neighbors : public Collective {
 public:
  enum class Form { kEven, kCounts, kTypes };

  Neighbors(const Place& place, Form form)
      : Collective(place),
        form_(form),
        incoming_(Layout::of(2, [&](int side) { return elements_of(neighbor(side)); })) {}
  std::size_t receive_count(bool) const override { return incoming_.total; }
  std::size_t incoming_count() const override { return incoming_.total; }
  bool overwrites(int) const override { return false; }

 protected:
  int neighbor(int side) const { return (rank() + (side == 0 ? ranks() - 1 : 1)) % ranks(); }
  /// Elements of each block that a rank sends.
  std::size_t elements_of(int sender) const { return form_ == Form::kEven ? block() : uneven(block(), sender); }

  const Form form_;
  const Layout incoming_;
};

class NeighborAllgather final : public Neighbors {
 public:
  using Neighbors::Neighbors;
  std::size_t send_count(bool) const override { return elements_of(rank()); }
  void fill(const Call& call) const override {
    bench::fill(call.send, stretch(0, elements_of(rank())), call.salt, rank());
  }
  void perform(const Functions& mpi, const Call& call) const override {
    const int own_count = static_cast<int>(elements_of(rank()));
    if (form_ == Form::kEven)
      mpi.Neighbor_allgather(call.send, own_count, datatype(), call.receive, count(), datatype(), communicator());
    else
      mpi.Neighbor_allgatherv(call.send, own_count, datatype(), call.receive, incoming_.counts.data(),
                              incoming_.offsets.data(), datatype(), communicator());
  }
  bool right(const Call& call) const override {
    bool right = true;
    for (int side = 0; side < 2; ++side)
      right &= holds_data_of(at(call.receive, incoming_.offset(side)), stretch(0, incoming_.count(side)), call.salt,
                             neighbor(side));
    return right;
  }
};

class NeighborAlltoall final : public Neighbors {
 public:
  NeighborAlltoall(const Place& place, Form form)
      : Neighbors(place, form), outgoing_(Layout::of(2, [&](int) { return elements_of(rank()); })) {
    types_.fill(datatype());
    for (int side = 0; side < 2; ++side) {
      send_bytes_[static_cast<std::size_t>(side)] = static_cast<MPI_Aint>(bytes_of(outgoing_.offset(side)));
      receive_bytes_[static_cast<std::size_t>(side)] = static_cast<MPI_Aint>(bytes_of(incoming_.offset(side)));
    }
  }
  std::size_t send_count(bool) const override { return outgoing_.total; }
  void fill(const Call& call) const override { bench::fill(call.send, stretch(0, outgoing_.total), call.salt, rank()); }
  void perform(const Functions& mpi, const Call& call) const override {
    const int* counts = outgoing_.counts.data();
    const int* incoming = incoming_.counts.data();
    if (form_ == Form::kEven)
      mpi.Neighbor_alltoall(call.send, count(), datatype(), call.receive, count(), datatype(), communicator());
    else if (form_ == Form::kCounts)
      mpi.Neighbor_alltoallv(call.send, counts, outgoing_.offsets.data(), datatype(), call.receive, incoming,
                             incoming_.offsets.data(), datatype(), communicator());
    else
      mpi.Neighbor_alltoallw(call.send, counts, send_bytes_.data(), types_.data(), call.receive, incoming,
                             receive_bytes_.data(), types_.data(), communicator());
  }
  /// With fewer than three ranks both neighbours are one rank, and MPIs differ in which of its two blocks comes first.
  bool right(const Call& call) const override {
    return blocks_right(call, 1) || (ranks() < 3 && blocks_right(call, 0));
  }

 private:
  /// from_left: which of its blocks the neighbour on the left sent here.
  bool blocks_right(const Call& call, int from_left) const {
    bool right = true;
    for (int side = 0; side < 2; ++side) {
      const std::size_t elements = incoming_.count(side);
      const auto sent_as = static_cast<std::size_t>(side == 0 ? from_left : 1 - from_left);
      right &= holds_data_of(at(call.receive, incoming_.offset(side)), stretch(sent_as * elements, elements), call.salt,
                             neighbor(side));
    }
    return right;
  }

  const Layout outgoing_;
  std::array<MPI_Datatype, 2> types_;
  std::array<MPI_Aint, 2> send_bytes_{};
  std::array<MPI_Aint, 2> receive_bytes_{};
};

}  // namespace tutti::bench
