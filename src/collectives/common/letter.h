// A small block whose size its reader need not know: the size goes ahead of the bytes, in the flag's own line; the
// bytes follow there if they fit, else they lie in the data area. For irregular collectives.
#pragma once

#include <limits>

#include "base/copy.h"
#include "collectives/common/blocks.h"

namespace tutti::letter {

inline constexpr std::size_t inline_bytes = Post::inline_bytes - sizeof(std::uint64_t);

/// Said instead of a size, which follows: the sender has put its bytes where they belong, nothing is to be copied.
inline constexpr std::uint64_t delivered = std::numeric_limits<std::uint64_t>::max();

/// Progress of the flag; 0 would be seen before the letter is there.
inline constexpr std::uint64_t sent = 1;

/// Sends at most slot_bytes. The ring frees the sender at once.
inline void send(Operation& operation, const std::byte* source, std::size_t bytes) {
  Communicator& communicator = operation.communicator();
  Post& post = operation.own().post;
  const std::uint64_t size = bytes;
  copy_bytes(post.payload, &size, sizeof size);
  std::byte* data = bytes <= inline_bytes ? post.payload + sizeof size
                                          : communicator.slot_data(communicator.rank(), operation.sequence());
  if (bytes) copy_bytes(data, source, bytes);
  operation.publish(post.flag, sent);
}

/// bytes: what there was to send, whether or not there was room for it.
inline void say_delivered(Operation& operation, std::size_t bytes) {
  Post& post = operation.own().post;
  const std::uint64_t words[2] = {delivered, bytes};
  copy_bytes(post.payload, words, sizeof words);
  operation.publish(post.flag, sent);
}

/// Copies what `rank` has sent, at most `bytes`; after its flag was seen to have `sent`. False if there was no letter:
/// the bytes are delivered.
inline bool open(Operation& operation, int rank, std::byte* destination, std::size_t bytes) {
  const Post& post = operation.slot(rank).post;
  std::uint64_t size = 0;
  copy_bytes(&size, post.payload, sizeof size);
  if (size == delivered) {
    copy_bytes(&size, post.payload + sizeof size, sizeof size);
    fitting(operation.communicator(), size, bytes);
    return false;
  }
  const std::byte* data = size <= inline_bytes ? post.payload + sizeof size
                                               : operation.communicator().slot_data(rank, operation.sequence());
  if (const std::size_t common = fitting(operation.communicator(), size, bytes)) copy_bytes(destination, data, common);
  return true;
}

}  // namespace tutti::letter
