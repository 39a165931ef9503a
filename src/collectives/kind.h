// What the arguments of collectives are made of, as the core sees them: contiguous bytes, roots and counts that MPI
// guarantees to be equal on all ranks, operators as functions. And what Collectives asks of a kind of collective: its
// Kind<Arguments>, which stands beside its arguments in src/collectives/<collective>/arguments.h.
//
// `store` and `parameter` are set by Collectives: how large results are stored, and the k or j of algorithms that have
// one (k readers at a time, ring-neighbor-j), as the user or the model says; it is never 0 there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/simulated.h"
#include "engine/call.h"
#include "engine/communicator.h"
#include "memory/layout.h"
#include "memory/stream.h"
#include "reduction/reduction.h"
#include "topology/partition.h"

namespace tutti {

/// One block of a buffer.
struct Block {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
};

/// Blocks of one buffer, one for each rank (or neighbour): block i has size(i) bytes at offset(i) from `base`.
/// Regular ones are equal in size and distance; MPI makes that size equal on all ranks.
struct Blocks {
  std::byte* base = nullptr;
  std::size_t bytes = 0;                    ///< of each block
  std::size_t stride = 0;                   ///< from one block to the next; 0: all are the same bytes, to be read only
  const std::size_t* sizes = nullptr;       ///< if given, the blocks are irregular
  const std::ptrdiff_t* offsets = nullptr;  ///< given with `sizes`

  static Blocks regular(const std::byte* base, std::size_t bytes) {
    return {const_cast<std::byte*>(base), bytes, bytes, nullptr, nullptr};
  }
  static Blocks irregular(const std::byte* base, const std::size_t* sizes, const std::ptrdiff_t* offsets) {
    return {const_cast<std::byte*>(base), 0, 0, sizes, offsets};
  }
  bool is_regular() const { return sizes == nullptr; }
  std::size_t size(std::size_t i) const { return sizes ? sizes[i] : bytes; }
  std::ptrdiff_t offset(std::size_t i) const { return offsets ? offsets[i] : static_cast<std::ptrdiff_t>(i * stride); }
  std::byte* at(std::size_t i) const { return base + offset(i); }
  /// That of a rank or neighbour.
  Block operator[](int rank) const {
    const auto i = static_cast<std::size_t>(rank);
    return {at(i), size(i)};
  }
  /// Of the first blocks, `count` of them.
  std::size_t total_bytes(int count) const {
    if (is_regular()) return bytes * static_cast<std::size_t>(count);
    std::size_t total = 0;
    for (int i = 0; i < count; ++i) total += sizes[i];
    return total;
  }
};

/// Of blocks whose elements have gaps where these are, one for each block, null for others. The block itself is memory for
/// it without gaps. Of what is received an algorithm may use either, and says so (is_there). Of what is sent it has to put
/// what it has not taken from here into the block.
struct Spreads {
  memory::Spread* const* first = nullptr;

  explicit operator bool() const { return first; }
  memory::Spread* operator[](std::size_t i) const { return first ? first[i] : nullptr; }
  memory::Spread* operator[](int rank) const { return (*this)[static_cast<std::size_t>(rank)]; }
};
/// Puts what is sent into the blocks, but for block `skip`.
inline void pack(const Spreads& spreads, const Blocks& blocks, std::size_t count, std::ptrdiff_t skip = -1) {
  for (std::size_t i = 0; spreads && i < count; ++i)
    if (spreads[i] && static_cast<std::ptrdiff_t>(i) != skip) spreads[i]->get(0, blocks.at(i), blocks.size(i));
}

/// How elements are combined. A kernel where there is one, otherwise a function with a context (a user's operator).
struct Combiner {
  /// destination = sources[0] op sources[1] op sources[2] op ..., in the order of a kernel, strictly. `destination` may be
  /// one of the sources.
  using Function = void (*)(void* context, void* destination, const void* const* sources, std::size_t source_count,
                            std::size_t element_count, reduction::Order order);
  std::size_t element_bytes = 1;
  bool commutative = true;
  reduction::Kernel kernel = nullptr;
  Function function = nullptr;
  void* context = nullptr;

  /// In sequence where prefixes are made: algorithms that combine all of one at once, and those that go from prefix to
  /// prefix, give the same bits so.
  void operator()(void* destination, const void* const* sources, std::size_t source_count, std::size_t element_count,
                  reduction::Order order = reduction::Order::in_pairs) const {
    if constexpr (simulated::on) simulated::reduces(destination, sources, source_count, element_count * element_bytes);
    if (kernel)
      kernel(destination, sources, source_count, element_count, order);
    else
      function(context, destination, sources, source_count, element_count, order);
  }
};

/// What a block is taken to have where its size differs between ranks and only some know it.
inline constexpr std::size_t irregular_block_bytes = std::size_t{64} * 1024;

/// What a choice is made by, which ranks agree on.
struct CallKey {
  std::size_t bytes = 0;
  bool commutative = true;  ///< the operator
};

/// What is to be known of a call, besides its arguments, where it is not carried out straight.
struct CallSizes {
  /// What decides how it stores: bytes of a block or message, of irregular blocks about; what a rank's buffers hold.
  std::size_t block = 0, held = 0;
  bool small = false;  ///< one operation, and no decision about how to store or what to lend
  Cut cut = {};        ///< into operations, if the algorithm does not say
};

/// What these follow from, of a communicator.
struct SizeLimits {
  const Communicator& communicator;  ///< of several nodes, the ranks of this one
  int rank;                          ///< this and the next: of all nodes
  int ranks;
  int places;           ///< of several nodes, ranks of the one that has most of them; otherwise 0
  std::size_t small;    ///< the longest message that is small
  std::size_t segment;  ///< the longest that one operation carries

  bool spans_nodes() const { return places > 0; }
  /// Never between nodes.
  bool is_small(std::size_t bytes) const { return bytes <= small && !spans_nodes(); }
  CallSizes whole(std::size_t block, std::size_t held) const {
    return {.block = block, .held = held, .small = is_small(held)};
  }
  /// Blocks of one size, cut if they may have to be staged. at_once: so many may have to be in shared memory together.
  CallSizes of_blocks(std::size_t bytes, std::size_t held, std::size_t at_once) const {
    CallSizes sizes = whole(bytes, held);
    sizes.cut = {bytes, block_piece(bytes, at_once)};
    return sizes;
  }
  /// Between nodes, what one operation carries of each of so many messages, so that the memory which a node's ranks share
  /// holds about two segments.
  std::size_t shared_piece(std::size_t at_once) const {
    return std::max(cache_line_bytes, segment / at_once / cache_line_bytes * cache_line_bytes);
  }

 private:
  std::size_t block_piece(std::size_t bytes, std::size_t at_once) const {
    if (spans_nodes()) return shared_piece(at_once);
    const Node& node = communicator.node();
    if (node.exposures || node.cma || (node.window_shared && node.ranks_are_threads)) return bytes;
    const std::size_t piece = node.settings.segment / at_once;
    return std::max(grain_bytes, piece & ~(grain_bytes - 1));
  }
};

/// In which collectives of a kind sizes differ between ranks and only some know them: none, the one that stands with ALSO
/// in the list (kinds.h), all.
enum class SizesDiffer { never, in_second, always };

/// The arguments' own:
///   static CallKey key(const Arguments& arguments, int ranks);
///   static CallSizes sizes(const Arguments& arguments, const SizeLimits& limits);
///   static Arguments part(Arguments arguments, topology::Range piece);   of a call that is cut, one operation's
template <class Arguments>
struct Kind;

/// What most kinds have in common.
struct AnyKind {
  static constexpr SizesDiffer sizes_differ = SizesDiffer::never;
  static constexpr bool makes_results = false;  ///< what it stores are results, which are read soon
  static constexpr bool parts_one = false;      ///< an operation is told its piece also where it carries all
  /// Whether a call is one of what stands with ALSO in the list (kinds.h).
  template <class Arguments>
  static bool is_second(const Arguments&) {
    return false;
  }
  static bool is_exclusive(std::string_view /*collective*/) { return false; }
  /// What the buffers of a rank hold, in multiples of the size that the choice is made by: the mean over the ranks.
  static double buffers(double /*ranks*/) { return 2; }
  /// What the signature of a call has as its size.
  static std::size_t announced(std::size_t bytes) { return bytes; }
};

template <class Arguments>
struct ReductionKind : AnyKind {
  static constexpr bool makes_results = true;

  static CallKey key(const Arguments& arguments, int) { return {arguments.bytes(), arguments.combiner->commutative}; }
  static CallSizes sizes(const Arguments& arguments, const SizeLimits& limits) {
    const std::size_t bytes = arguments.bytes();
    CallSizes sizes{.block = bytes, .held = 2 * bytes, .small = limits.is_small(bytes)};
    if (!sizes.small)
      sizes.cut = {arguments.count, std::max<std::size_t>(1, limits.segment / arguments.combiner->element_bytes)};
    return sizes;
  }
  static Arguments part(Arguments arguments, topology::Range piece) {
    arguments.send += piece.begin * arguments.combiner->element_bytes;
    if (arguments.receive) arguments.receive += piece.begin * arguments.combiner->element_bytes;
    arguments.count = piece.length();
    return arguments;
  }
};

/// Scatter and Gather, whose other ranks know the size of their own block only.
template <class Arguments>
struct RootedBlocksKind : AnyKind {
  static constexpr SizesDiffer sizes_differ = SizesDiffer::in_second;

  static bool is_second(const Arguments& arguments) { return !arguments.regular; }
  static CallKey key(const Arguments& arguments, int) {
    return {arguments.regular ? arguments.bytes : irregular_block_bytes};
  }

 protected:
  /// blocks: of all ranks, on the root. Of irregular ones it is the mean.
  static CallSizes sizes_of(const Arguments& arguments, const Blocks& blocks, const SizeLimits& limits) {
    const auto ranks = static_cast<std::size_t>(limits.ranks);
    if (arguments.regular) return limits.of_blocks(arguments.bytes, arguments.bytes, ranks);
    const bool is_root = limits.rank == arguments.root;
    const std::size_t mean = is_root ? blocks.total_bytes(limits.ranks) / ranks : arguments.bytes;
    return limits.whole(mean, mean);
  }
};

}  // namespace tutti
