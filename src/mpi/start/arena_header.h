// What stands at the beginning of every rank's arena.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpi/wait/peer_watch.h"
#include "sync/waiter.h"

namespace tutti::mpi {

/// Of the arena, for the header; behind it lie the areas of memory::CopyRequests and of
/// partitioned::Announcements, and messages::Messages.
constexpr std::size_t header_bytes = std::size_t{1} << 20;
/// By which ranks recognise each other's memory.
constexpr std::uint64_t magic_value = 0x7475747469212121;

/// At the beginning of every arena.
struct ArenaHeader {
  sync::Doorbell doorbell;
  LifeLine life;
  sync::Word<std::uint64_t> warnings;  ///< on the first rank of the node: of all of them (Node::warnings)
  alignas(64) std::atomic<std::uint32_t> round_trip;  ///< while caches are judged (shared_caches.h)
  alignas(64) std::uint64_t magic;
  std::uint64_t machine_bytes;  ///< on the first rank of the node: the serialised machine that follows
  std::uint8_t machine[1];
};

}  // namespace tutti::mpi
