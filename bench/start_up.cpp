// Prints what MPI_Init takes and what memory a rank has after it: one JSON object, by rank 0. The script `start-up`
// runs this with and without the preload.
#include <mpi.h>
#include <time.h>

#include <cstdio>

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

}  // namespace

int main(int argc, char** argv) {
  const double start = now_seconds();
  MPI_Init(&argc, &argv);
  double seconds = now_seconds() - start;
  double kib = own_kib();
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  PMPI_Allreduce(MPI_IN_PLACE, &kib, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("{\"init_ms\": %.3f, \"kib_per_rank\": %.1f}\n", seconds * 1e3, kib / ranks);
  MPI_Finalize();
  return 0;
}
