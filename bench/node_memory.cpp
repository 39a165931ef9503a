#include "node_memory.h"

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "statistics.h"

namespace tutti::bench {

namespace {

constexpr int kExtraFlags = 4;

bool everyone(bool mine) {
  int value = mine;
  PMPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return value != 0;
}

bool on_one_machine(int ranks) {
  MPI_Comm node = MPI_COMM_NULL;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int local = 0;
  PMPI_Comm_size(node, &local);
  PMPI_Comm_free(&node);
  return everyone(local == ranks);
}

int count_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  std::vector<unsigned char> bits(sizeof mask);
  std::memcpy(bits.data(), &mask, sizeof mask);
  PMPI_Allreduce(MPI_IN_PLACE, bits.data(), static_cast<int>(bits.size()), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  std::memcpy(&mask, bits.data(), sizeof mask);
  return CPU_COUNT(&mask);
}

/// Rank 0 makes the memory, the others open it through /proc. Returns null where that failed.
void* map_together(int rank, std::size_t bytes) {
  int place[2] = {-1, -1};
  if (rank == 0) {
    place[0] = static_cast<int>(getpid());
    place[1] = memfd_create("tutti-bench", MFD_CLOEXEC);
    if (place[1] >= 0 && ftruncate(place[1], static_cast<off_t>(bytes)) != 0) place[1] = -1;
  }
  PMPI_Bcast(place, 2, MPI_INT, 0, MPI_COMM_WORLD);
  int descriptor = place[1];
  if (rank != 0 && descriptor >= 0) {
    const std::string path = "/proc/" + std::to_string(place[0]) + "/fd/" + std::to_string(place[1]);
    descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  void* memory = MAP_FAILED;
  if (descriptor >= 0) memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  PMPI_Barrier(MPI_COMM_WORLD);  // rank 0 keeps its descriptor until everybody has opened it
  if (descriptor >= 0) close(descriptor);
  return memory == MAP_FAILED ? nullptr : memory;
}

/// Polls until `came`. Whoever does not come within some microseconds may be in a call of the MPI that cannot end
/// without this rank.
template <class Came>
void wait_until(const Came& came) {
  constexpr int polls_before_progress = 200;
  for (int polls = 0; !came();) {
    relax();
    if (polls < polls_before_progress) {
      ++polls;
      continue;
    }
    int flag = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
}

}  // namespace

std::unique_ptr<NodeMemory> NodeMemory::create(std::size_t payload_bytes) {
  std::unique_ptr<NodeMemory> self(new NodeMemory());
  PMPI_Comm_rank(MPI_COMM_WORLD, &self->rank_);
  PMPI_Comm_size(MPI_COMM_WORLD, &self->ranks_);
  if (!on_one_machine(self->ranks_)) return nullptr;
  const std::size_t flag_bytes = sizeof(Flag) * static_cast<std::size_t>(self->ranks_ + kExtraFlags);
  const std::size_t payload_at = (flag_bytes + 4095) / 4096 * 4096;
  self->payload_bytes_ = payload_bytes;
  self->mapped_bytes_ = payload_at + payload_bytes;
  void* memory = map_together(self->rank_, self->mapped_bytes_);
  if (memory) {
    self->flags_ = static_cast<Flag*>(memory);
    self->payload_ = static_cast<char*>(memory) + payload_at;
  }
  if (!everyone(memory != nullptr)) return nullptr;
  self->processors_ = count_processors();
  return self;
}

NodeMemory::~NodeMemory() {
  if (flags_) munmap(flags_, mapped_bytes_);
}

StartLine::StartLine(NodeMemory* memory, const Clock& clock)
    : memory_(memory), clock_(clock), by_ticks_(everyone(ticks_are_shared())) {
  if (memory_ && memory_->ranks() > memory_->processors()) memory_ = nullptr;
}

void StartLine::wait() {
  if (!memory_) {
    PMPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  ++call_;
  // Every rank says that it is here; then rank 0 names a moment that is far enough ahead for all to read it in time.
  memory_->flag(memory_->rank()).value.store(call_, std::memory_order_release);
  auto& deadline = memory_->flag(memory_->ranks()).value;
  if (memory_->rank() == 0) {
    for (int rank = 1; rank < memory_->ranks(); ++rank)
      wait_until([&] { return memory_->flag(rank).value.load(std::memory_order_acquire) >= call_; });
    const double ahead_ns = 1000 + 20.0 * memory_->ranks();
    deadline_ =
        by_ticks_ ? Clock::ticks() + clock_.ticks_in(ahead_ns) : shared_now_ns() + static_cast<std::uint64_t>(ahead_ns);
    deadline.store(deadline_, std::memory_order_release);
  } else {
    const std::uint64_t last = deadline_;
    wait_until([&] { return (deadline_ = deadline.load(std::memory_order_acquire)) != last; });
  }
  if (!by_ticks_) return spin_until_ns(deadline_);
  while (Clock::ticks() < deadline_) {
  }
}

Floor::Floor(NodeMemory* memory, const Clock& clock) : memory_(memory), clock_(clock) {}

bool Floor::possible() const {
  return memory_ && memory_->ranks() >= 2 && memory_->processors() >= 2;
}

/// The ranks that take no part sleep rather than poll, because they may share a processor with those that do.
double Floor::everybodys(double mine) {
  auto& finished = memory_->flag(memory_->ranks() + 3).value;
  ++sequence_;
  if (memory_->rank() == 1) finished.store(sequence_, std::memory_order_release);
  while (finished.load(std::memory_order_acquire) < sequence_) usleep(500);
  PMPI_Bcast(&mine, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  return mine;
}

double Floor::flag_us(int batches) {
  if (!possible()) return -1;
  PMPI_Barrier(MPI_COMM_WORLD);
  return everybodys(memory_->rank() <= 1 ? ping_pong_us(batches) : 0);
}

double Floor::copy_us(std::size_t bytes) {
  if (!possible() || bytes > memory_->payload_bytes()) return -1;
  PMPI_Barrier(MPI_COMM_WORLD);
  return everybodys(memory_->rank() <= 1 ? copies_us(bytes) : 0);
}

double Floor::ping_pong_us(int batches) {
  constexpr std::uint64_t kRounds = 200;
  auto& ping = memory_->flag(memory_->ranks() + 1).value;
  auto& pong = memory_->flag(memory_->ranks() + 2).value;
  std::uint64_t round = pong.load(std::memory_order_relaxed);
  std::vector<double> samples;
  for (int batch = 0; batch < batches; ++batch) {
    const std::uint64_t start = Clock::ticks();
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      ++round;
      if (memory_->rank() == 0) {
        ping.store(round, std::memory_order_release);
        while (pong.load(std::memory_order_acquire) < round) relax();
      } else {
        while (ping.load(std::memory_order_acquire) < round) relax();
        pong.store(round, std::memory_order_release);
      }
    }
    samples.push_back(clock_.nanoseconds_between(start, Clock::ticks()) / 1000 / (2 * kRounds));
  }
  return median_of(samples).value;
}

double Floor::copies_us(std::size_t bytes) {
  const std::uint64_t rounds = bytes <= 65536 ? 501 : bytes <= 1 << 20 ? 101 : 21;
  auto& written = memory_->flag(memory_->ranks() + 1).value;
  auto& copied = memory_->flag(memory_->ranks() + 2).value;
  std::uint64_t round = copied.load(std::memory_order_relaxed);
  std::unique_ptr<char, decltype(&std::free)> own(static_cast<char*>(std::calloc(1, bytes)), &std::free);
  if (!own) throw std::bad_alloc();
  std::memset(own.get(), 1, bytes);
  std::vector<double> samples;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    ++round;
    if (memory_->rank() == 0) {
      std::memset(memory_->payload(), static_cast<int>(round & 127), bytes);
      written.store(round, std::memory_order_release);
      while (copied.load(std::memory_order_acquire) < round) relax();
    } else {
      while (written.load(std::memory_order_acquire) < round) relax();
      const std::uint64_t start = Clock::ticks();
      std::memcpy(own.get(), memory_->payload(), bytes);
      samples.push_back(clock_.nanoseconds_between(start, Clock::ticks()) / 1000);
      // The copy must be used, or it may be left out.
      if (own.get()[bytes - 1] != static_cast<char>(round & 127)) std::abort();
      copied.store(round, std::memory_order_release);
    }
  }
  return median_of(samples).value;
}

}  // namespace tutti::bench
