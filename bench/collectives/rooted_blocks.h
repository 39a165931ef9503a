// Collectives in which the root has a block for each rank: Scatter and Gather, and their forms with unequal counts.
#pragma once

#include "collective.h"
#include "layout.h"

namespace tutti::bench {

/// The root's buffer holds one block for each rank.
class RootedBlocks : public Collective {
 public:
  RootedBlocks(const Place& place, bool even)
      : Collective(place),
        layout_(Layout::of(place.ranks, [&](int i) { return even ? block() : uneven(block(), i); })),
        even_(even) {}
  std::size_t incoming_count() const override { return own(); }

 protected:
  std::size_t own() const { return layout_.count(rank()); }

  const Layout layout_;
  const bool even_;
};

class Scatter final : public RootedBlocks {
 public:
  using RootedBlocks::RootedBlocks;
  std::size_t send_count(bool root) const override { return root ? layout_.total : 0; }
  std::size_t receive_count(bool) const override { return own(); }
  void fill(const Call& call) const override {
    if (rank() == call.root) bench::fill(call.send, stretch(0, layout_.total), call.salt, rank());
  }
  void perform(const Functions& mpi, const Call& call) const override {
    void* receive = stays(call) ? MPI_IN_PLACE : call.receive;
    const int own_count = static_cast<int>(own());
    if (even_)
      mpi.Scatter(call.send, count(), datatype(), receive, own_count, datatype(), call.root, communicator());
    else
      mpi.Scatterv(call.send, layout_.counts.data(), layout_.offsets.data(), datatype(), receive, own_count, datatype(),
                   call.root, communicator());
  }
  bool right(const Call& call) const override {
    const std::byte* block = stays(call) ? at(call.send, layout_.offset(rank())) : call.receive;
    return holds_data_of(block, stretch(layout_.offset(rank()), own()), call.salt, call.root);
  }
  bool overwrites(int) const override { return false; }

 private:
  bool stays(const Call& call) const { return place_.in_place && rank() == call.root; }
};

class Gather final : public RootedBlocks {
 public:
  using RootedBlocks::RootedBlocks;
  std::size_t send_count(bool) const override { return own(); }
  std::size_t receive_count(bool root) const override { return root ? layout_.total : 0; }
  void fill(const Call& call) const override {
    std::byte* block = overwrites(call.root) ? at(call.receive, layout_.offset(rank())) : call.send;
    bench::fill(block, stretch(0, own()), call.salt, rank());
  }
  void perform(const Functions& mpi, const Call& call) const override {
    const int own_count = static_cast<int>(own());
    if (even_)
      mpi.Gather(send_argument(call), own_count, datatype(), call.receive, count(), datatype(), call.root,
                 communicator());
    else
      mpi.Gatherv(send_argument(call), own_count, datatype(), call.receive, layout_.counts.data(),
                  layout_.offsets.data(), datatype(), call.root, communicator());
  }
  bool right(const Call& call) const override {
    bool right = true;
    for (int i = 0; rank() == call.root && i < ranks(); ++i)
      right &= holds_data_of(at(call.receive, layout_.offset(i)), stretch(0, layout_.count(i)), call.salt, i);
    return right;
  }
  bool overwrites(int root) const override { return place_.in_place && rank() == root; }
};

}  // namespace tutti::bench
