// Prints what MPI_Init takes, what memory a rank has after it, and what it takes to make communicators of all ranks: one
// JSON object, by rank 0. The script `start-up` runs this with and without the preload. All ranks have one clock, as on the
// nodes of tests/nodes, too.
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Memory of this process that is no file's, in KiB.
double own_kib() {
  std::size_t anonymous = 0;
  std::size_t shared = 0;
  char line[256];
  std::FILE* status = std::fopen("/proc/self/status", "r");
  if (!status) return 0;
  while (std::fgets(line, sizeof line, status)) {
    std::sscanf(line, "RssAnon: %zu", &anonymous);
    std::sscanf(line, "RssShmem: %zu", &shared);
  }
  std::fclose(status);
  return static_cast<double>(anonymous + shared);
}

/// Over all ranks, by the host's own function.
double of_all(double own, MPI_Op operation) {
  PMPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD);
  return own;
}

/// From when all ranks have come to a point until the last of them has done something.
class Span {
 public:
  void begins() { begin_ = now_seconds(); }
  void ends() { end_ = now_seconds(); }
  double milliseconds() const { return 1e3 * (of_all(end_, MPI_MAX) - of_all(begin_, MPI_MAX)); }

 private:
  double begin_ = 0, end_ = 0;
};

struct Times {
  double median, least;
};

/// make(made): makes a communicator. The first time is left out, in which hosts set up more.
template <class Make>
Times times_of(Make make) {
  constexpr int rounds = 11;
  std::vector<double> all;
  for (int round = 0; round <= rounds; ++round) {
    MPI_Comm made = MPI_COMM_NULL;
    PMPI_Barrier(MPI_COMM_WORLD);
    Span span;
    span.begins();
    make(&made);
    span.ends();
    if (round > 0) all.push_back(span.milliseconds());
    MPI_Comm_free(&made);
  }
  std::sort(all.begin(), all.end());
  return {all[rounds / 2], all.front()};
}

}  // namespace

int main(int argc, char** argv) {
  Span init;
  init.begins();
  MPI_Init(&argc, &argv);
  init.ends();
  const double kib = of_all(own_kib(), MPI_SUM);
  const double init_ms = init.milliseconds();
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Times dup = times_of([](MPI_Comm* made) { MPI_Comm_dup(MPI_COMM_WORLD, made); });
  const Times split = times_of([rank](MPI_Comm* made) { MPI_Comm_split(MPI_COMM_WORLD, 0, rank, made); });
  if (rank == 0)
    std::printf(
        "{\"init_ms\": %.3f, \"kib_per_rank\": %.1f, \"dup_ms\": %.4f, \"least_dup_ms\": %.4f, \"split_ms\": %.4f, "
        "\"least_split_ms\": %.4f}\n",
        init_ms, kib / ranks, dup.median, dup.least, split.median, split.least);
  MPI_Finalize();
  return 0;
}
