// Small payloads: copied into the sender's slot and out of it again (copy-in/copy-out, XHC section III.D). The smallest
// travel in the flag's own line. The ring of slots frees the sender at once, so nobody acknowledges.
#pragma once

#include <cstddef>

#include "base/copy.h"
#include "engine/communicator.h"
#include "reduction/copy.h"

namespace tutti::eager {

/// What of a payload lies in the line of the flag; the rest is in the next one.
inline constexpr std::size_t first_line_bytes = cache_line_bytes - offsetof(Post, payload);

inline bool fits_inline(std::size_t bytes) {
  return bytes <= Post::inline_bytes;
}

/// Starts an operation that sends `bytes` through the slot.
inline std::uint64_t begin(Communicator& communicator, std::size_t bytes) {
  return communicator.begin(fits_inline(bytes) ? ring_slots : data_areas);
}

/// Sends `bytes` (1 .. slot_bytes) of this rank to whoever reads its slot, grain by grain so that copying in overlaps
/// with copying out. The flag's progress is grains + 1, so that it also tells arrival (0) from data.
inline void send(Communicator& communicator, std::uint64_t sequence, const void* source, std::size_t bytes) {
  Post& post = communicator.slot(communicator.rank(), sequence).post;
  if (fits_inline(bytes)) {
    if (bytes > first_line_bytes) sync::prefetch_to_write(post.payload + first_line_bytes);
    reduction::copy(post.payload, source, bytes);
    post.flag.set(sync::stamp(sequence, 1));
    communicator.published();
    return;
  }
  std::byte* data = communicator.slot_data(communicator.rank(), sequence);
  for (std::size_t at = 0; at < bytes; at += grain_bytes) {
    const std::size_t end = at + grain_bytes < bytes ? at + grain_bytes : bytes;
    copy_bytes(data + at, static_cast<const std::byte*>(source) + at, end - at);
    post.flag.set(sync::stamp(sequence, grains_complete(end, bytes)));
  }
  communicator.published();
  communicator.expect_data(sequence, bytes);
}

/// Waits until `rank` has sent the bytes up to `end`, and returns where its payload begins.
inline const std::byte* receive(Communicator& communicator, std::uint64_t sequence, int rank, std::size_t bytes,
                                std::size_t end, const char* collective) {
  const Post& post = communicator.slot(rank, sequence).post;
  const sync::Stamp target = sync::stamp(sequence, fits_inline(bytes) ? 1 : grains_needed(end));
  // Both lines are fetched at once, not the second one when the flag in the first has come.
  const bool two_lines = fits_inline(bytes) && bytes > first_line_bytes;
  const auto has_come = [&] {
    if (two_lines) __builtin_prefetch(post.payload + first_line_bytes);
    return post.flag.has(target);
  };
  if (!has_come()) {
    const sync::WaitReason reason{collective, &communicator, sequence, communicator.node_rank(rank)};
    sync::wait(*communicator.node().waiter, reason, has_come);
  }
  communicator.check(rank, sequence);
  return fits_inline(bytes) ? post.payload : communicator.slot_data(rank, sequence);
}

}  // namespace tutti::eager
