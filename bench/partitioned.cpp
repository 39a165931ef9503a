// Partitioned messages of Tutti against those of the host, called in turn in one run: rank 0 sends to rank 1, starts, marks all
// its partitions one after the other, and waits; rank 1 starts and waits, and then looks at what has come. Before each
// start rank 0 writes all data anew. A time is from when both were ready until the last of them is done.
//
// Prints a table; ratios are host / tutti. Start it with `tutti run mpirun -n 2`.
#include <mpi.h>
#include <sys/mman.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "clock.h"
#include "node_memory.h"
#include "statistics.h"

namespace {

using namespace tutti::bench;

struct Options {
  int partitions = 64;
  int receive_partitions = 0;  ///< 0: as many
  std::size_t least_bytes = 1024, most_bytes = 65536;
  int repeats = 300;
  bool is_mapped = false;  ///< buffers that peers cannot map
};

/// Of one side of the comparison.
struct Functions {
  const char* name;
  decltype(&MPI_Psend_init) psend_init;
  decltype(&MPI_Precv_init) precv_init;
  decltype(&MPI_Start) start;
  decltype(&MPI_Pready) pready;
  decltype(&MPI_Wait) wait;
  decltype(&MPI_Request_free) free;
};
constexpr Functions functions[] = {
    {"host", PMPI_Psend_init, PMPI_Precv_init, PMPI_Start, PMPI_Pready, PMPI_Wait, PMPI_Request_free},
    {"tutti", MPI_Psend_init, MPI_Precv_init, MPI_Start, MPI_Pready, MPI_Wait, MPI_Request_free}};

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const long value = i + 1 < argc ? std::atol(argv[i + 1]) : 0;
    if (word == "--partitions")
      options.partitions = static_cast<int>(value);
    else if (word == "--receive-partitions")
      options.receive_partitions = static_cast<int>(value);
    else if (word == "--least")
      options.least_bytes = static_cast<std::size_t>(value);
    else if (word == "--most")
      options.most_bytes = static_cast<std::size_t>(value);
    else if (word == "--repeats")
      options.repeats = static_cast<int>(value);
    else if (word == "--mmap")
      options.is_mapped = true;
  }
  if (options.receive_partitions == 0) options.receive_partitions = options.partitions;
  return options;
}

/// One message of one side.
class Message {
 public:
  Message(const Functions& with, char* buffer, int rank, int partitions, std::size_t all)
      : with_(with), partitions_(partitions), is_sender_(rank == 0) {
    const auto bytes = static_cast<MPI_Count>(all / static_cast<std::size_t>(partitions));
    if (is_sender_)
      with.psend_init(buffer, partitions, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request_);
    else
      with.precv_init(buffer, partitions, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request_);
  }
  ~Message() { with_.free(&request_); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  void run() {
    with_.start(&request_);
    for (int i = 0; is_sender_ && i < partitions_; ++i) with_.pready(i, request_);
    with_.wait(&request_, MPI_STATUS_IGNORE);
  }

 private:
  const Functions& with_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  int partitions_;
  bool is_sender_;
};

void measure(const Options& options, std::size_t partition_bytes, int rank, StartLine& line, const Clock& clock) {
  const std::size_t all = partition_bytes * static_cast<std::size_t>(options.partitions);
  void* const memory = options.is_mapped
                           ? mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                           : std::malloc(all);
  if (!memory || memory == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  auto* const buffer = static_cast<char*>(memory);
  std::memset(buffer, 1, all);
  std::array<std::vector<double>, 2> microseconds;
  long wrong = 0;
  {
    std::vector<std::unique_ptr<Message>> messages;
    for (const Functions& each : functions)
      messages.push_back(std::make_unique<Message>(each, buffer, rank,
                                                   rank == 0 ? options.partitions : options.receive_partitions, all));
    constexpr int warm_up = 20;
    for (int repeat = 0; repeat < options.repeats + warm_up; ++repeat) {
      for (std::size_t turn = 0; turn < 2; ++turn) {
        const std::size_t side = (turn + static_cast<std::size_t>(repeat)) % 2;
        const int value = 1 + (2 * repeat + static_cast<int>(turn)) % 100;
        if (rank == 0) std::memset(buffer, value, all);
        PMPI_Barrier(MPI_COMM_WORLD);
        line.wait();
        const std::uint64_t begin = Clock::ticks();
        messages[side]->run();
        double took = clock.nanoseconds_between(begin, Clock::ticks()) * 1e-3;
        PMPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (repeat >= warm_up) microseconds[side].push_back(took);
        for (std::size_t i = 0; rank == 1 && i < all; ++i) wrong += buffer[i] != value;
      }
    }
    PMPI_Barrier(MPI_COMM_WORLD);
  }
  options.is_mapped ? static_cast<void>(munmap(memory, all)) : std::free(memory);
  PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank != 0) return;
  const Median host = median_of(microseconds[0]), tutti = median_of(microseconds[1]);
  std::printf("%8zu %10.2f [%.2f, %.2f] %10.2f [%.2f, %.2f] %7.2f +-%.0f %%%s\n", partition_bytes, host.value,
              host.lower, host.upper, tutti.value, tutti.lower, tutti.upper, host.value / tutti.value,
              ratio_spread_percent(host, tutti), wrong ? "  WRONG DATA" : "");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    if (rank == 0)
      std::fprintf(stderr, "tutti-partitioned measures 2 ranks, and there are %d; start it with -n 2\n", ranks);
    MPI_Finalize();
    return 2;
  }
  const Options options = options_of(argc, argv);
  const Clock clock;
  const auto memory = NodeMemory::create(0);
  StartLine line(memory.get(), clock);
  if (rank == 0)
    std::printf("%d partitions, received as %d; medians of %d, us, with their 95 %% intervals\n%8s %10s %22s %16s\n",
                options.partitions, options.receive_partitions, options.repeats, "bytes", "host", "tutti",
                "host/tutti");
  for (std::size_t bytes = options.least_bytes; bytes <= options.most_bytes; bytes *= 2)
    measure(options, bytes, rank, line, clock);
  MPI_Finalize();
  return 0;
}
