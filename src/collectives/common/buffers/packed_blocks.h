// Small blocks whose sizes their readers need not know beforehand: each travels packed, through its sender's post or,
// if longer, its data area. The ring frees the sender at once. For irregular collectives and neighbourhoods.
//
// Where a packed block lies follows from the flag of the post and from which of them it is. A reader that knows no more
// than that (how many its sender has written, and how long the others are, it does not) needs nothing else: a size or a
// distance that had to be looked up first would cost one more transfer of a cache line.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "collectives/common/buffers/blocks.h"
#include "reduction/copy.h"

namespace tutti {

/// What a rank sends in one operation: packed blocks, counted from 0, all of them in the post or all in the data area.
class PackedBlocks {
 public:
  /// Where they are. none: the post says where the blocks are (blocks.h). delivered: the sender has put its bytes where
  /// they belong; how many there were is in the post, as the size of a block.
  enum class Place : std::uint64_t { none = 0, post = 1, area = 2, delivered = 3 };

  /// How long they are. told: each begins with its size. even: all are of one size. same: there is but one, for all
  /// readers.
  enum class Sizes : std::uint64_t { told = 0, even = 1, same = 2 };

  /// What the sender decides, and the progress of its post's flag says.
  struct Form {
    Place place = Place::none;
    Sizes sizes = Sizes::told;
    std::size_t bytes = 0;  ///< of each block, its size included if told; then that of the longest

    static constexpr int bytes_shift = 4;
    static constexpr std::size_t bytes_max = progress_max >> bytes_shift;

    constexpr std::uint64_t progress() const {
      return static_cast<std::uint64_t>(place) | static_cast<std::uint64_t>(sizes) << 2 | bytes << bytes_shift;
    }
    static constexpr Form of(std::uint64_t progress) {
      return {static_cast<Place>(progress & 3), static_cast<Sizes>(progress >> 2 & 3), progress >> bytes_shift};
    }
    /// From one block to the next.
    constexpr std::size_t distance() const {
      if (sizes == Sizes::same) return 0;
      return place == Place::area ? (bytes + 15) & ~std::size_t{15} : bytes;
    }
  };

  /// What has to be known of the blocks of a sender before their form is chosen.
  struct Lengths {
    std::size_t count = 0;  ///< one more than the highest index
    std::size_t longest = 0;
    std::size_t shortest = std::numeric_limits<std::size_t>::max();
    const std::byte* source = nullptr;  ///< where one of the longest is now

    void add(std::size_t i, std::size_t bytes, const std::byte* from) {
      count = std::max(count, i + 1);
      shortest = std::min(shortest, bytes);
      if (bytes < longest) return;
      longest = bytes;
      source = from;
    }
    bool even() const { return shortest >= longest; }
  };

  explicit PackedBlocks(const OperationView& operation) : operation_(operation) {}

  /// The block of `rank` among those of a sender that has one for every other rank.
  static std::size_t index_of(int rank, int sender) {
    return static_cast<std::size_t>(rank < sender ? rank : rank - 1);
  }

  /// Place::none if they should not be packed.
  static Form form_for(const Communicator& communicator, const Lengths& of) {
    const bool even = of.even();
    const Sizes sizes = even ? Sizes::even : Sizes::told;
    const Form in_post{Place::post, sizes, of.longest + (even ? 0 : sizeof(PostSize))};
    if (of.longest <= Post::inline_bytes && of.count * in_post.bytes <= Post::inline_bytes) return in_post;
    const Form in_area{Place::area, sizes, of.longest + (even ? 0 : sizeof(AreaSize))};
    const bool fit = pays_to_copy(communicator, of) && in_area.bytes <= Form::bytes_max &&
                     of.count * in_area.distance() <= communicator.slot_bytes();
    return fit ? in_area : Form{};
  }
  /// Whether blocks are better copied to where their sender need not wait for the readers, than read where they are.
  static bool pays_to_copy(const Communicator& communicator, const Lengths& of) {
    const Node& node = communicator.node();
    if (of.longest > node.settings.eager_max) return false;
    // Where ranks take turns, waiting for a reader costs a turn.
    return of.longest <= single_copy_bytes || node.oversubscribed ||
           !memory::always_mapped(node.reach(of.source, of.longest));
  }

  /// How many operations may be in flight where this rank uses its data area for nothing but packed blocks
  /// (Channel::has_room).
  static std::uint64_t in_flight(const Form& form) { return form.place == Place::post ? ring_slots : data_areas; }

  /// Writes block `i`, for send().
  void write(const Form& form, std::size_t i, const std::byte* source, std::size_t bytes) {
    std::byte* packed = place(operation_.communicator().rank(), form.place) + i * form.distance();
    if (form.sizes == Sizes::told)
      packed = form.place == Place::post ? tell<PostSize>(packed, bytes) : tell<AreaSize>(packed, bytes);
    reduction::copy(packed, source, bytes);
  }
  /// All blocks are written, `count` of them.
  void send(const Form& form, std::size_t count) {
    operation_.publish(operation_.own().post.flag, form.progress());
    if (form.place == Place::area)
      operation_.expect_data(form.sizes == Sizes::same ? form.bytes : count * form.distance());
  }

  /// The form of a block for every other rank.
  static Form form_of_all(const Communicator& communicator, const Blocks& blocks) {
    Lengths lengths;
    const int self = communicator.rank();
    for (int rank = 0; rank < communicator.size(); ++rank)
      if (rank != self) lengths.add(index_of(rank, self), blocks[rank].bytes, blocks[rank].at);
    return form_for(communicator, lengths);
  }
  void send_all(const Form& form, const Blocks& blocks) {
    const int self = operation_.communicator().rank(), ranks = operation_.communicator().size();
    for (int rank = 0; rank < ranks; ++rank)
      if (rank != self) write(form, index_of(rank, self), blocks[rank].at, blocks[rank].bytes);
    send(form, static_cast<std::size_t>(ranks - 1));
  }

  /// The form of one block alone.
  static Form form_of_one(const Communicator& communicator, const std::byte* source, std::size_t bytes) {
    return form_for(communicator, {1, bytes, bytes, source});
  }
  static std::uint64_t in_flight_of_one(const Communicator& communicator, const std::byte* source, std::size_t bytes) {
    return in_flight(form_of_one(communicator, source, bytes));
  }
  /// Sends one block; false if it should not be packed.
  bool send_one(const std::byte* source, std::size_t bytes) {
    const Form form = form_of_one(operation_.communicator(), source, bytes);
    if (form.place == Place::none) return false;
    write(form, 0, source, bytes);
    send(form, 1);
    return true;
  }

  /// Copies block `i` of `rank`, at most `room` bytes, after its post was seen. False if the post has no packed blocks.
  bool open(int rank, std::size_t i, std::byte* destination, std::size_t room) {
    const Form form = Form::of(operation_.progress_of(operation_.slot(rank).post.flag));
    if (form.place == Place::none || form.place == Place::delivered) return false;
    const std::byte* packed = place(rank, form.place) + i * form.distance();
    std::size_t size = form.bytes;
    if (form.sizes == Sizes::told)
      packed = form.place == Place::post ? told<PostSize>(packed, size) : told<AreaSize>(packed, size);
    if (size == room) [[likely]]  // a branch: the processor copies before it knows the size
      reduction::copy(destination, packed, room);
    else
      reduction::copy(destination, packed, operation_.fitting(size, room));
    return true;
  }

 private:
  using PostSize = std::uint8_t;
  using AreaSize = std::uint64_t;
  static_assert(Post::inline_bytes <= std::numeric_limits<PostSize>::max());

  /// Above this a block that peers can load is faster read where it is, though its owner has to wait for that. Between
  /// two cores without a cache in common two copies took half the time of one of 1 KiB, and 1.4 times that of 4 KiB.
  static constexpr std::size_t single_copy_bytes = 2048;

  std::byte* place(int rank, Place place) const {
    return place == Place::post ? operation_.slot(rank).post.payload : operation_.data(rank);
  }
  /// Writes and reads the size that a packed block begins with; what follows it.
  template <class Size>
  static std::byte* tell(std::byte* packed, std::size_t bytes) {
    const auto size = static_cast<Size>(bytes);
    std::memcpy(packed, &size, sizeof size);
    return packed + sizeof size;
  }
  template <class Size>
  static const std::byte* told(const std::byte* packed, std::size_t& bytes) {
    Size size = 0;
    std::memcpy(&size, packed, sizeof size);
    bytes = size;
    return packed + sizeof size;
  }

  OperationView operation_;
};

}  // namespace tutti
