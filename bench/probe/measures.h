// What `tutti probe` measures. Each function runs a team of processes for about `seconds` and returns the samples of
// one figure in seconds a call, unless it says otherwise. Whoever owns data writes it anew before every copy of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "clock.h"
#include "memory/xpmem.h"

namespace tutti::bench {

/// A call of process_vm_readv or writev, by what it does (CMA-aware, Table III).
enum class KernelStep {
  empty,   ///< nothing to copy
  access,  ///< one byte: all that a call costs however long it is
  lock,    ///< one byte, but all pages are locked and pinned
  copy,    ///< all pages copied
};

/// A call that moves data between processes.
enum class Way { mapped, cma, staged, xpmem };

/// Of the pages that the kernel locks.
std::size_t page_bytes();

struct Probing {
  const Clock& clock;
  double seconds;  ///< to spend on one figure
};

/// Whether processes here may copy from each other by the kernel; if not, why.
bool kernel_copies_work(std::string& reason);

/// libxpmem where the library would use it, too: TUTTI_XPMEM_DEVICE names the device. Empty, with the reason, if not.
std::optional<memory::Xpmem> usable_xpmem(std::string& reason);

/// processors: of the caller and of the owner of the pages. What is read the owner has just written; what is written to
/// it has not touched since.
std::vector<double> kernel_step(const Probing& probing, const std::vector<int>& processors, KernelStep step,
                                std::size_t pages, bool write);

/// Who reads from whom at once.
enum class Readers {
  same,       ///< all the same pages of one process
  different,  ///< pages of their own in one process
  everybody,  ///< each from another process
};

/// All of `processors` read `bytes` by the kernel at once, the slowest counts. The owner for `same` and `different`
/// sleeps meanwhile on the first one. lock_only: as KernelStep::lock.
std::vector<double> concurrent_readers(const Probing& probing, const std::vector<int>& processors, Readers readers,
                                       std::size_t bytes, bool lock_only);

/// One flag hop between two processors: half a round trip.
std::vector<double> flag_hop(const Probing& probing, const std::vector<int>& processors);
/// Several processes a core, which sleep while they wait: all wait for one and that one for all. Of such a round, the
/// part of one process of a core. copied_bytes: each but the one copies so much of its own in its turn, which does not
/// count; what comes of it is that the next one finds less of its own in the caches.
std::vector<double> turn(const Probing& probing, const std::vector<int>& processors, int ranks_per_core,
                         std::size_t copied_bytes);

/// What is copied from where to where; the processor after the first copies, or does what is said.
enum class Copy {
  read,  ///< from what the first processor has just written into own memory
  own,   ///< what it has just written itself into own memory
  slot,  ///< own data into memory that the first processor has read
  line,  ///< own data into memory whose lines the first processor has taken over
};

/// Copies of `bytes` between two processors through mapped memory. streaming: past the caches.
std::vector<double> mapped_copy(const Probing& probing, const std::vector<int>& processors, Copy copy,
                                std::size_t bytes, bool streaming);

/// How data of the first processor come into a buffer of the second one.
enum class Move {
  none,         ///< they do not
  pull,         ///< the second one reads them
  push,         ///< the first one stores them, through its caches; the second one takes the lines over
  push_beyond,  ///< the same past the caches
};
/// What the program pays for it afterwards.
enum class Afterwards {
  owner_writes,   ///< the first processor writes its data anew
  receiver_uses,  ///< the second one adds up what has come
  reader_takes,   ///< the second one, who has read the data where they are, takes their lines over
};
/// The first processor writes its data anew, they come into the second one's buffer, that one uses them. Of such a round
/// the time of what is said.
std::vector<double> aftermath(const Probing& probing, const std::vector<int>& processors, Move move,
                              Afterwards afterwards, std::size_t bytes);

/// Copies of own data to own memory, both of which other data have pushed out of a private cache of `cache_bytes`.
std::vector<double> spilled_copy(const Probing& probing, int processor, std::size_t bytes, std::size_t cache_bytes);

/// The first processor writes its data anew, then all the others copy at once through mapped memory, each a part of its
/// own; the slowest counts.
std::vector<double> mapped_readers(const Probing& probing, const std::vector<int>& processors, std::size_t bytes);

/// All processors copy at once, each from what the next one has just written; the slowest counts.
std::vector<double> mapped_ring(const Probing& probing, const std::vector<int>& processors, std::size_t bytes);

/// Two processors copy from each other at once, each from what the other has just written; the slower one counts.
std::vector<double> mapped_exchange(const Probing& probing, const std::vector<int>& processors, std::size_t bytes);

/// All processors at once store own data past the caches into memory that the next one has read; the slowest counts.
std::vector<double> mapped_streams(const Probing& probing, const std::vector<int>& processors, std::size_t bytes);

/// Pairs of processors (owner, reader, owner, reader, ...) that copy at once, the slowest counts. cold: each copy
/// touches memory that has left the caches since it was last used.
std::vector<double> concurrent_pairs(const Probing& probing, const std::vector<int>& processors, Way way,
                                     std::size_t bytes, bool cold);

/// Seconds a call of the sum of `sources` arrays of doubles of `bytes` each, in own caches.
std::vector<double> reduction_sum(const Probing& probing, int processor, std::size_t sources, std::size_t bytes,
                                  int kernel);
/// Names of the kernels that reduction_sum takes by number; null after the last.
const char* reduction_kernel_name(int kernel);

/// Seconds to expose a buffer, post it and find the region of a peer: what the engine does, without another rank.
std::vector<double> exposure(const Probing& probing, int processor);

}  // namespace tutti::bench
