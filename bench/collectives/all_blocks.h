// Collectives in which every rank has a block for each rank: Allgather, Alltoall, Reduce_scatter, in all their forms.
#pragma once

#include "collective.h"
#include "layout.h"

namespace tutti::bench {

class Allgather final : public Collective {
 public:
  Allgather(const Place& place, bool even)
      : Collective(place),
        layout_(Layout::of(place.ranks, [&](int i) { return even ? block() : uneven(block(), i); })),
        even_(even) {}
  std::size_t send_count(bool) const override { return own(); }
  std::size_t receive_count(bool) const override { return layout_.total; }
  std::size_t incoming_count() const override { return layout_.total - own(); }
  void fill(const Call& call) const override {
    std::byte* block = overwrites(call.root) ? at(call.receive, layout_.offset(rank())) : call.send;
    bench::fill(block, stretch(0, own()), call.salt, rank());
  }
  void perform(const Functions& mpi, const Call& call) const override {
    const int own_count = static_cast<int>(own());
    if (even_)
      mpi.Allgather(send_argument(call), own_count, datatype(), call.receive, count(), datatype(), communicator());
    else
      mpi.Allgatherv(send_argument(call), own_count, datatype(), call.receive, layout_.counts.data(),
                     layout_.offsets.data(), datatype(), communicator());
  }
  bool right(const Call& call) const override {
    bool right = true;
    for (int i = 0; i < ranks(); ++i)
      right &= holds_data_of(at(call.receive, layout_.offset(i)), stretch(0, layout_.count(i)), call.salt, i);
    return right;
  }

 private:
  std::size_t own() const { return layout_.count(rank()); }

  const Layout layout_;
  const bool even_;
};

/// The three forms of Alltoall. Unequal counts are the same from a to b as from b to a, as MPI_IN_PLACE asks for.
class Alltoall final : public Collective {
 public:
  enum class Form { kEven, kCounts, kTypes };

  Alltoall(const Place& place, Form form) : Collective(place), layout_(layout_of(place.rank, form)), form_(form) {
    types_.assign(layout_.counts.size(), datatype());
    for (const int offset : layout_.offsets)
      byte_offsets_.push_back(static_cast<int>(bytes_of(static_cast<std::size_t>(offset))));
    for (int i = 0; i < ranks(); ++i) offset_at_.push_back(layout_of(i, form).offset(rank()));
  }
  std::size_t send_count(bool) const override { return layout_.total; }
  std::size_t receive_count(bool) const override { return layout_.total; }
  std::size_t incoming_count() const override { return layout_.total - layout_.count(rank()); }
  void fill(const Call& call) const override {
    bench::fill(overwrites(call.root) ? call.receive : call.send, stretch(0, layout_.total), call.salt, rank());
  }
  void perform(const Functions& mpi, const Call& call) const override {
    const int* counts = layout_.counts.data();
    const int* offsets = layout_.offsets.data();
    const void* send = send_argument(call);
    if (form_ == Form::kEven)
      mpi.Alltoall(send, count(), datatype(), call.receive, count(), datatype(), communicator());
    else if (form_ == Form::kCounts)
      mpi.Alltoallv(send, counts, offsets, datatype(), call.receive, counts, offsets, datatype(), communicator());
    else
      mpi.Alltoallw(send, counts, byte_offsets_.data(), types_.data(), call.receive, counts, byte_offsets_.data(),
                    types_.data(), communicator());
  }
  bool right(const Call& call) const override {
    bool right = true;
    for (int i = 0; i < ranks(); ++i)
      right &= holds_data_of(at(call.receive, layout_.offset(i)),
                             stretch(offset_at_[static_cast<std::size_t>(i)], layout_.count(i)), call.salt, i);
    return right;
  }

 private:
  Layout layout_of(int of_rank, Form form) const {
    return Layout::of(ranks(), [&](int i) { return form == Form::kEven ? block() : uneven(block(), of_rank + i); });
  }

  const Layout layout_;
  const Form form_;
  std::vector<MPI_Datatype> types_;
  std::vector<int> byte_offsets_;
  std::vector<std::size_t> offset_at_;  ///< where this rank's block begins in what each rank sends
};

class ReduceScatter final : public Collective {
 public:
  ReduceScatter(const Place& place, bool even)
      : Collective(place),
        layout_(Layout::of(place.ranks, [&](int i) { return even ? block() : uneven(block(), i); })),
        even_(even) {}
  std::size_t send_count(bool) const override { return layout_.total; }
  std::size_t receive_count(bool) const override { return place_.in_place ? layout_.total : own(); }
  std::size_t incoming_count() const override { return own() * static_cast<std::size_t>(ranks() - 1); }
  void fill(const Call& call) const override {
    bench::fill(overwrites(call.root) ? call.receive : call.send, stretch(0, layout_.total), call.salt, rank());
  }
  void perform(const Functions& mpi, const Call& call) const override {
    if (even_)
      mpi.Reduce_scatter_block(send_argument(call), call.receive, count(), datatype(), MPI_SUM, communicator());
    else
      mpi.Reduce_scatter(send_argument(call), call.receive, layout_.counts.data(), datatype(), MPI_SUM, communicator());
  }
  bool right(const Call& call) const override {
    return holds_sum(call.receive, stretch(layout_.offset(rank()), own()), call.salt, ranks());
  }

 private:
  std::size_t own() const { return layout_.count(rank()); }

  const Layout layout_;
  const bool even_;
};

}  // namespace tutti::bench
