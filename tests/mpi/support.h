// What the MPI test programs share: counting checks, talking about failures, memory of every kind.
//
// The programs are ordinary MPI programs: without the preload they test the host, and must pass there too.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::tests {

/// One test's view of the job, and its record of what was wrong.
class Context {
 public:
  /// early_memory: bytes that were allocated before MPI_Init.
  Context(void* early_memory, std::size_t early_bytes);

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// More ranks than processors: a host that polls needs milliseconds for each call then, so tests do less.
  bool crowded() const { return crowded_; }
  void* early_memory() const { return early_memory_; }
  std::size_t early_bytes() const { return early_bytes_; }

  /// Counts a check; if it failed, says so on standard error (the first few times of each test).
  bool expect(bool holds, const char* format, ...) __attribute__((format(printf, 3, 4)));

  /// Collective: ends a test. True if no rank saw a failure; `checks` becomes the number of all ranks' checks.
  bool finish_test(long& checks);

  /// Printed in front of failures.
  void set_test(std::string name) { test_ = std::move(name); }

 private:
  int rank_ = 0;
  int size_ = 1;
  bool crowded_ = false;
  void* early_memory_;
  std::size_t early_bytes_;
  long checks_ = 0;
  long failures_ = 0;
  std::string test_;
};

struct Test {
  const char* name;
  void (*run)(Context&);
};

/// Runs the tests named on the command line, or all, without those that stand there as -NAME; prints "RUN name" and "PASS name" or "FAIL name" on rank 0.
/// Returns the exit status. MPI must be initialised.
int run_tests(Context& context, const std::vector<Test>& tests, int argc, char** argv);

/// Where a buffer may be. The order is that of kPlaceNames.
enum class Place {
  kHeapSmall,   ///< malloc; only for sizes of a few KiB in the window's sense
  kHeap,        ///< malloc, large enough to come from Tutti's window whatever the buffer's size
  kInsideHeap,  ///< somewhere inside a large allocation, not at a cache line
  kNew,         ///< operator new
  kRealloc,     ///< grown by realloc from a small allocation
  kMemalign,    ///< posix_memalign, page-aligned
  kStack,
  kStatic,
  kMmap,        ///< anonymous private pages
  kMmapShared,  ///< anonymous shared pages
  kAllocMem,    ///< MPI_Alloc_mem
  kEarly,       ///< malloc'ed before MPI_Init
  kDevice,      ///< of whoever lends memory of devices; never drawn otherwise
};
constexpr int kPlaces = 12;  ///< all but the last
const char* name_of(Place place);

/// Memory of a kind, with its lifetime. Stack and static memory and early memory are lent by whoever owns them, from
/// fixed regions: at most kLentBytes, and one buffer of each kind and slot at a time.
class Memory {
 public:
  static constexpr std::size_t kLentBytes = 256 << 10;
  /// slot: 0 or 1, so that a send and a receive buffer can be of one kind. If the kind cannot hold that much, plain
  /// malloc is used.
  Memory(Context& context, Place place, std::size_t bytes, int slot);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  char* data() const { return data_; }

 private:
  Place place_;
  std::size_t bytes_;
  char* block_ = nullptr;
  char* data_ = nullptr;
};

/// Gives Memory its stack region: call once at the outermost level, and keep `region` alive.
void lend_stack(char* region, std::size_t bytes);

/// Gives Memory what is of devices: call once, and keep the functions' memory alive.
struct DeviceLender {
  char* (*allocate)(std::size_t bytes);
  void (*free)(void* begin);
};
void lend_devices(const DeviceLender& lender);

/// Barrier, Bcast, Reduce and Allreduce on a communicator, with results known beforehand.
void exercise(Context& context, MPI_Comm communicator, const char* what, int count = 100);

/// Whether collectives of MPI_COMM_WORLD are Tutti's: the preload is there, and run_tests() has found all ranks on one
/// node, or nodes are to be spanned (TUTTI_INTERNODE). If not, they are the host's own.
bool tutti_is_there();

/// Resident memory of this process in bytes, without what it shares with files. 0 where AddressSanitizer keeps what is
/// freed for a while.
std::size_t resident_bytes();

/// Sleeps or stays busy for a while, or not at all: what makes ranks arrive at different times.
void dawdle(unsigned long draw, unsigned maximum_us);

}  // namespace tutti::tests
