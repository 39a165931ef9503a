// Small blocks whose sizes their readers need not know beforehand: each travels as a letter, its size ahead of its bytes,
// through the sender's post or, if longer, its data area. The ring frees the sender at once. For irregular collectives.
//
// A letter lies where its reader finds it without having read anything but the flag: a size or a distance that had to be
// looked up first would cost one more transfer of a cache line.
#pragma once

#include <algorithm>
#include <cstring>

#include "collectives/common/blocks.h"
#include "reduction/copy.h"

namespace tutti {

/// Waits until `rank` has set the flag of its post. collective: for messages.
inline void wait_for_post(Communicator& communicator, std::uint64_t sequence, int rank, const char* collective) {
  const Post& post = communicator.slot(rank, sequence).post;
  const sync::Stamp target = sync::stamp(sequence);
  if (!post.flag.has(target)) {
    const sync::WaitReason reason{collective, &communicator, sequence, communicator.node_rank(rank)};
    sync::wait(*communicator.node().waiter, reason, [&] { return post.flag.has(target); });
  }
  communicator.check(rank, sequence);
}

/// What a rank sends in one operation: `count` letters, each in an equal share of the post, or all of the data area.
class Letters {
 public:
  /// Where they are: progress of the post's flag. none: the post says where the blocks are (blocks.h). delivered: the
  /// sender has put its bytes where they belong; how many there were is in the post, as the size of a block.
  enum class Place : std::uint64_t { none = 0, post = 1, area = 2, delivered = 3 };

  Letters(Communicator& communicator, std::size_t count)
      : communicator_(communicator),
        count_(std::max<std::size_t>(1, count)),
        post_share_(Post::inline_bytes / count_),
        area_share_(communicator.slot_bytes() / count_ & ~std::size_t{15}) {}

  /// Where letters of at most `longest` bytes go that are at `source` now; none if they should not be letters.
  Place place_of(std::size_t longest, const std::byte* source) const {
    if (longest < post_share_) return Place::post;
    return longest + sizeof(AreaSize) <= area_share_ && longest <= most(source) ? Place::area : Place::none;
  }

  /// Starts an operation in which this rank uses its data area for nothing but letters.
  static std::uint64_t begin(Communicator& communicator, Place place) {
    return communicator.begin(place == Place::area ? data_areas : ring_slots);
  }

  /// Writes letter `i`, for send().
  void write(std::uint64_t sequence, Place place, std::size_t i, const std::byte* source, std::size_t bytes) {
    const int self = communicator_.rank();
    if (place == Place::post) {
      std::byte* const letter = communicator_.slot(self, sequence).post.payload + i * post_share_;
      *letter = static_cast<std::byte>(bytes);
      reduction::copy(letter + 1, source, bytes);
    } else {
      std::byte* const letter = communicator_.slot_data(self, sequence) + i * area_share_;
      const AreaSize size = bytes;
      std::memcpy(letter, &size, sizeof size);
      reduction::copy(letter + sizeof size, source, bytes);
    }
  }
  /// All letters are written, the longest of them `longest` bytes.
  void send(std::uint64_t sequence, Place place, std::size_t longest) {
    communicator_.slot(communicator_.rank(), sequence)
        .post.flag.set(sync::stamp(sequence, static_cast<std::uint64_t>(place)));
    communicator_.published();
    if (place == Place::area) expect(sequence, longest);
  }

  /// A whole operation: one letter, or false and nothing has begun.
  bool send_alone(const std::byte* source, std::size_t bytes) {
    const Place place = place_of(bytes, source);
    if (place == Place::none) return false;
    const std::uint64_t sequence = begin(communicator_, place);
    write(sequence, place, 0, source, bytes);
    send(sequence, place, bytes);
    communicator_.complete(sequence);
    return true;
  }

  /// Copies letter `i` of `rank`, at most `bytes`, after its post was seen. False if the post has no letters.
  bool open(std::uint64_t sequence, int rank, std::size_t i, std::byte* destination, std::size_t bytes) {
    const Post& post = communicator_.slot(rank, sequence).post;
    switch (static_cast<Place>(post.flag.get() & sync::progress_max)) {
      case Place::post: {
        const std::byte* const letter = post.payload + i * post_share_;
        copy_out(letter + 1, static_cast<std::size_t>(*letter), destination, bytes);
        return true;
      }
      case Place::area: {
        const std::byte* const letter = communicator_.slot_data(rank, sequence) + i * area_share_;
        AreaSize size = 0;
        std::memcpy(&size, letter, sizeof size);
        copy_out(letter + sizeof size, size, destination, bytes);
        return true;
      }
      default:
        return false;
    }
  }

 private:
  using AreaSize = std::uint64_t;

  /// Above this a block that peers can load is faster read where it is, though its owner has to wait for that. Between
  /// two cores without a cache in common two copies took half the time of one of 1 KiB, and 1.4 times that of 4 KiB.
  static constexpr std::size_t single_copy_bytes = 2048;

  std::size_t most(const std::byte* source) const {
    const Node& node = communicator_.node();
    const std::size_t most = node.settings.eager_max;
    // Where ranks take turns, waiting for a reader costs a turn.
    return node.oversubscribed || !memory::always_mapped(node.reach(source)) ? most : std::min(most, single_copy_bytes);
  }

  void copy_out(const std::byte* letter, std::size_t size, std::byte* destination, std::size_t bytes) {
    if (size == bytes) [[likely]]  // a branch: the processor copies before it knows the size
      reduction::copy(destination, letter, bytes);
    else
      reduction::copy(destination, letter, fitting(communicator_, size, bytes));
  }

  /// As Communicator::expect_data, for each letter.
  void expect(std::uint64_t sequence, std::size_t longest) {
    const std::size_t end = std::min(longest + sizeof(AreaSize), expected_bytes_max / count_);
    const std::byte* letter = communicator_.slot_data(communicator_.rank(), sequence + 1);
    for (std::size_t i = 0; i < count_; ++i, letter += area_share_)
      for (std::size_t at = 0; at < end; at += cache_line_bytes) sync::prefetch_to_write(letter + at);
  }

  Communicator& communicator_;
  std::size_t count_;
  std::size_t post_share_, area_share_;
};

}  // namespace tutti
