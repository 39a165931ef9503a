// The seam for simulators, which are builds of their own (-DTUTTI_SIMULATED=ON, as those with a sanitizer are): there the
// core tells each access to what ranks share, and asks for the time. Whoever runs ranks as fibres of one thread defines
// these functions (simulation/), and lets another rank go on in any of them.
//
// In an ordinary build nothing of this is there, to the byte: `if constexpr (simulated::on)` stands in front of each call,
// in the same statement (tests/python/test_seam.py).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

struct iovec;

namespace tutti::simulated {

#if defined(TUTTI_SIMULATED)
inline constexpr bool on = true;
#else
inline constexpr bool on = false;
#endif

/// How bytes are stored: through the caches, or past them, so that only fence() orders the stores.
enum class Move { cached, streaming };

/// A word is loaded next. Returns the value, of `bytes`: the newest, or an older one that this rank may find.
std::uint64_t load(const void* word, std::size_t bytes, std::memory_order order);
/// A word is stored next, and has been (sync::Word).
void stores(const void* word, std::size_t bytes);
void stored(const void* word, std::size_t bytes, std::memory_order order);
/// The same of a value that follows from the one before. is_changed: or it was not the one before that was expected.
void updated(const void* word, std::size_t bytes, bool is_changed, std::memory_order order);
/// A word was made, of value zero.
void made(const void* word, std::size_t bytes);
/// std::atomic_thread_fence, sequentially consistent.
void thread_fence();
/// Copies as memmove, in as many steps as it likes.
void copy(void* destination, const void* source, std::size_t bytes, Move how);
void fence();
/// The same between parts of memory, as process_vm_readv (reads) and process_vm_writev do. Returns how many bytes.
std::size_t copy_by_kernel(bool reads, const iovec* here, const iovec* there, std::size_t count);
/// Stores what is there already (memory::take_lines).
void take(void* begin, std::size_t bytes);
/// The line is stored to soon: it is asked for ahead.
void expects(const void* line);
/// `bytes` of each source are combined next.
void reduces(const void* destination, const void* const* sources, std::size_t source_count, std::size_t bytes);
/// Grows; in about nanoseconds.
std::uint64_t ticks();
/// Nothing that this rank has looked at was as it wishes: others are to go on.
void pause();

}  // namespace tutti::simulated
