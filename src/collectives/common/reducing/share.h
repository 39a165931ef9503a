// The shared half of Reduce and Allreduce by shares: each rank reduces one index range of all buffers.
#pragma once

#include <algorithm>

#include "collectives/common/buffers/exposure.h"
#include "collectives/kinds.h"
#include "selection/model.h"
#include "topology/partition.h"

namespace tutti {

/// A rank whose buffer takes part.
struct RemoteBuffer {
  int rank = 0;
  memory::Region region;
  std::ptrdiff_t shift = 0;  ///< bytes from the region's beginning to element 0, where they are not the same

  /// In the region, of what is `offset` bytes from element 0.
  std::size_t place(std::size_t offset) const { return offset + static_cast<std::size_t>(shift); }
};

/// Several, in the caller's array, or one of his own.
struct RemoteBuffers {
  template <class Number>
  RemoteBuffers(const RemoteBuffer* all, Number number) : first(all), count(static_cast<std::size_t>(number)) {}
  RemoteBuffers(const RemoteBuffer& one) : first(&one), count(1) {}  // NOLINT(google-explicit-constructor)
  RemoteBuffers(RemoteBuffer&&) = delete;

  const RemoteBuffer& operator[](std::size_t i) const { return first[i]; }

  const RemoteBuffer* first;
  std::size_t count;
};

/// Memory of this rank as it sees it itself, whatever mechanism peers would need.
inline memory::Region own_memory(const std::byte* address) {
  return {memory::Kind::direct, reinterpret_cast<std::uintptr_t>(address)};
}

/// One rank's view of the buffers of a reduction.
struct ReductionBuffers {
  const Combiner* combiner = nullptr;
  std::size_t count = 0;
  Exposure source;       ///< this rank's contribution
  Exposure destination;  ///< where this rank wants results; region kind none if it wants none
  std::byte* user_destination = nullptr;
};

/// What the arguments of all collectives that reduce have in common.
struct Reduction {
  template <class Arguments>
  requires requires(const Arguments& arguments) { arguments.combiner; }
  Reduction(const Arguments& arguments)  // NOLINT(google-explicit-constructor): it is a part of them
      : send(arguments.send), receive(arguments.receive), count(arguments.count), combiner(*arguments.combiner) {}

  const std::byte* send;
  std::byte* receive;
  std::size_t count;
  const Combiner& combiner;
  std::size_t bytes() const { return count * combiner.element_bytes; }
};

/// Exposes both buffers. In place, and where both are copied, source and destination are the same memory.
/// `wants_result`: this rank gets results.
ReductionBuffers expose_reduction(Operation& operation, const Reduction& of, bool wants_result,
                                  bool prefer_slot = false);

/// Posts both buffers, and copies the contribution if it has to go through a slot or a staging buffer. Of the
/// latter others may begin to read before all is copied. unread: elements that no peer wants.
void post_filling(Operation& operation, ReductionBuffers& buffers, const std::byte* send, topology::Range unread = {});

/// co_await Contributions(operation, own): waits until all have posted. Where the contributions of all ranks are, in rank
/// order, one entry a rank; `own`: this rank's.
class [[nodiscard]] Contributions : public Operation::OthersHave {
 public:
  Contributions(Operation& operation, const Exposure& own)
      : OthersHave(operation.others_posted()), operation_(operation), own_(own.region) {}
  RemoteBuffer* await_resume() const {
    const Communicator& communicator = operation_.communicator();
    auto* const sources = operation_.array<RemoteBuffer>(static_cast<std::size_t>(communicator.size()));
    for (int rank = 0; rank < communicator.size(); ++rank)
      sources[rank] = {rank, rank == communicator.rank() ? own_ : posted_source(operation_, rank)};
    operation_.seen_all();
    return sources;
  }

 private:
  Operation& operation_;
  const memory::Region own_;
};

/// The same by shares, where of a copy that is lent the own share is not made: that is read in the user's buffer. In place
/// its result goes there by the same address, since one buffer may be mapped at several; true then.
inline bool own_source(const ReductionBuffers& buffers, const std::byte* send, RemoteBuffer& source) {
  if (!buffers.source.copied) return false;
  source.region = own_memory(send);
  return send == buffers.user_destination && buffers.destination.local == send;
}

/// The elements that `rank` reduces.
inline topology::Range share_of_rank(const Communicator& communicator, int rank, const ReductionBuffers& buffers) {
  return topology::share_of({0, buffers.count}, static_cast<std::size_t>(rank),
                            static_cast<std::size_t>(communicator.size()),
                            topology::elements_in_line(buffers.combiner->element_bytes));
}

/// How to store into `buffer`, its owner's caches considered.
inline memory::Store store_at(const Communicator& communicator, const RemoteBuffer& buffer, memory::Store store) {
  const bool own = buffer.rank == communicator.rank();
  return own && store == memory::Store::streaming_to_peers ? memory::Store::cached : store;
}

/// TUTTI_BLOCK unless the user says otherwise, for costs: what is not mapped is read in pieces of it.
inline constexpr double usual_block_bytes = 16 * 1024;

/// For costs, of `readers` who reduce at once, each its own part: how many read from one rank. All take the sources in
/// the order of ranks. So all copy from the same one where the kernel copies, block by block; loads come from all.
inline double readers_of_one(const selection::Shape& shape, double readers) {
  return shape.reach == selection::Reach::kernel ? readers : 1.0;
}

/// After others have stored all results but those of `mine` where this rank wants them (take_stored()).
inline void take_results(const ReductionBuffers& buffers, topology::Range mine, memory::Store store) {
  if (!buffers.destination.local || buffers.destination.local != buffers.user_destination) return;
  const std::size_t element = buffers.combiner->element_bytes;
  std::byte* const result = buffers.user_destination;
  take_stored(result, mine.begin * element, store);
  take_stored(result + mine.end * element, (buffers.count - mine.end) * element, store);
}

/// Copies results out if they arrived elsewhere than in the user's buffer: all, or those of a range.
void collect_result(const ReductionBuffers& buffers);
void collect_result(const ReductionBuffers& buffers, topology::Range range);

/// See reduce_range(). It goes on with the block at which it has stopped because an owner has something to do first.
class RangeReduction {
 public:
  RangeReduction(Operation& operation, const Combiner& combiner, topology::Range range, const RemoteBuffers& sources,
                 const RemoteBuffers& destinations, memory::Store store, reduction::Order order);
  bool operator()();

 private:
  bool load();
  bool may_store() const;
  void combine();
  void take_over();
  std::size_t elements() const { return std::min(block_, range_.end - range_.begin); }
  /// Private memory, used only for what cannot be loaded from or stored to: a block a source, then the result.
  std::byte* scratch(std::size_t i) const {
    const std::size_t bytes = block_ * combiner_.element_bytes;
    return operation_.scratch((sources_.count + 1) * bytes) + i * bytes;
  }
  memory::Store how(std::size_t i) const { return store_at(operation_.communicator(), destinations_[i], store_); }

  Operation& operation_;
  const Combiner& combiner_;
  topology::Range range_;  ///< what is left
  const RemoteBuffers sources_, destinations_;
  const memory::Store store_;
  const reduction::Order order_;
  std::size_t block_;           ///< elements
  std::size_t first_ = 0;       ///< of the destinations: results are made there if it can be loaded and stored
  std::size_t loaded_ = 0;      ///< sources of which the block is there or comes
  bool to_be_ordered_ = false;  ///< something was stored past the caches
};

/// co_await reduce_range(...): combines `sources` (as they follow each other) over the elements of `range`, block by block, and
/// stores each block at every one of `destinations` while it is in the cache.
/// Sources that can only be copied come through private memory; so do results that are stored past the caches.
inline auto reduce_range(Operation& operation, const Combiner& combiner, topology::Range range,
                         const RemoteBuffers& sources, const RemoteBuffers& destinations, memory::Store store,
                         reduction::Order order = reduction::Order::in_pairs) {
  return operation.carried(RangeReduction(operation, combiner, range, sources, destinations, store, order));
}

}  // namespace tutti
