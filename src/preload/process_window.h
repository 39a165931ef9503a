// The window of this process, from which the interposed malloc serves large requests (see
// malloc.cpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "memory/returned.h"
#include "memory/window.h"
#include "preload/shared.h"

namespace tutti::memory {

/// The window of this process, or nullptr: not started yet, switched off, impossible, or this is a forked
/// child of a rank. It lives until the process ends.
TUTTI_SHARED Window* process_window() noexcept;

/// Starts the window now, for instance at MPI_Init, unless it is there already (then it is returned as it is,
/// whatever the options). nullptr and the reason if it cannot be: the user switched it off (TUTTI_ENABLE=0,
/// TUTTI_WINDOW_SIZE=1), this is the child of a rank, or the system refuses. A reason together with a window
/// is a restriction worth a line, such as a program that brings its own malloc: then only MPI_Alloc_mem can
/// use the window.
TUTTI_SHARED Window* start_process_window(const WindowOptions& options, std::string& reason);

/// Options for this process's window: TUTTI_WINDOW_SIZE, and a size with which every local rank could map the
/// windows of all others. Nothing is printed about a bad value.
TUTTI_SHARED WindowOptions process_window_options() noexcept;

/// How many ranks share this node, as far as a launcher says; otherwise one a hardware thread.
TUTTI_SHARED std::size_t local_ranks() noexcept;

/// Whether a setting of this text is off.
bool says_no(const char* text) noexcept;

/// Whether the user wants nothing of the library (TUTTI_ENABLE=0).
bool switched_off_by_user() noexcept;

/// From now on no request is served from the window, whose memory would be of no use: the process's MPI is left alone.
/// What was allocated stays.
void serve_no_more() noexcept;

/// The program asks for huge pages for blocks of its own: from now on large ones are private, if they have none in the window.
void huge_pages_are_asked_for() noexcept;

/// Whether a launcher says that no other rank of the job shares this node: nobody would map a window.
TUTTI_SHARED bool alone_on_node() noexcept;

/// What the interposed functions look at in every call. Not for others.
namespace serving {

/// In one line of the caches, in the midst of a page: who stores to the first line of each page of many blocks has no
/// room in the nearest cache for other first lines.
struct alignas(4096) Served {
  std::byte before[2048] = {};
  std::atomic<std::size_t> from_bytes{std::size_t{2} * 1024};
  std::atomic<std::size_t> below_bytes{SIZE_MAX};
  std::atomic<std::uintptr_t> begin{std::uintptr_t{1} << 63};
  std::atomic<std::size_t> bytes{0};
  /// What lies between was perhaps taken over from a peer (given.h); it only grows.
  std::atomic<std::uintptr_t> taken_from{UINTPTR_MAX};
  std::atomic<std::uintptr_t> taken_to{0};
  /// Where peers return what they were given of the window; null before anything was.
  std::atomic<Returned*> returned{nullptr};
};
extern Served served;

/// Requests of at least this many bytes come from the window; SIZE_MAX: none.
inline constinit std::atomic<std::size_t>& from_bytes = served.from_bytes;
/// And of fewer than this: larger ones are private, for the sake of huge pages (HugePages::are_rather_private()).
inline constinit std::atomic<std::size_t>& below_bytes = served.below_bytes;
/// The range that is the window's now, also in a forked child; begins beyond all addresses before there is one.
inline constinit std::atomic<std::uintptr_t>& begin = served.begin;
inline constinit std::atomic<std::size_t>& bytes = served.bytes;

/// Whether a request of so many bytes is to come from the window.
inline bool serves(std::size_t requested) noexcept {
  return requested >= from_bytes.load(std::memory_order_relaxed) &&
         requested < below_bytes.load(std::memory_order_relaxed);
}

/// Whether the block came from the window. `begin` is read first: it is written last.
inline bool owns(const void* block) noexcept {
  const std::uintptr_t first = begin.load(std::memory_order_acquire);
  return reinterpret_cast<std::uintptr_t>(block) - first < bytes.load(std::memory_order_relaxed);
}

/// Whether the block may be one that a peer has given to this process.
inline bool may_be_taken(const void* block) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  return at >= served.taken_from.load(std::memory_order_relaxed) &&
         at < served.taken_to.load(std::memory_order_relaxed);
}
/// Whether peers have returned blocks of the window.
inline bool any_returned() noexcept {
  const Returned* const there = served.returned.load(std::memory_order_acquire);
  return there && there->any();
}

/// Sees to it that no handler in a forked child comes before the one that gives it its memory: those of other libraries
/// may use their static data.
void handle_forks() noexcept;

/// The window for a large request, started now if this process is a rank and it is the first one; or nullptr.
Window* window_for_request() noexcept;

/// The window that `owns` spoke of, in a child too.
TUTTI_SHARED Window* owner() noexcept;

}  // namespace serving

}  // namespace tutti::memory
