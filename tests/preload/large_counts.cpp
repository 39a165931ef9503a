// A program of Open MPI's next release that calls functions with MPI_Count: sums and copies are right, and Tutti has
// carried them out.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "mpi/newer_functions.h"

namespace {

bool by_tutti() {
  using Function = int(char*, int, char*, int);
  auto* const last_choice = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, "tutti_last_choice"));
  char algorithm[64] = "", mechanism[64] = "";
  return last_choice && last_choice(algorithm, sizeof algorithm, mechanism, sizeof mechanism) == 0 &&
         std::strcmp(algorithm, "host") != 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int value = rank == 0 ? 42 : 0, own = rank + 1, sum = 0;
  MPI_Bcast_c(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  bool ours = by_tutti();
  MPI_Allreduce_c(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  ours = ours && by_tutti();
  // Two ranks: each sends one number to each.
  const MPI_Count counts[2] = {1, 1};
  const MPI_Aint places[2] = {0, 1};
  const int sent[2] = {10 * rank, 10 * rank + 1};
  int received[2] = {-1, -1};
  MPI_Alltoallv_c(sent, counts, places, MPI_INT, received, counts, places, MPI_INT, MPI_COMM_WORLD);
  ours = ours && by_tutti();
  const bool right = size == 2 && value == 42 && sum == 3 && received[0] == rank && received[1] == 10 + rank;
  std::printf("rank %d: %s, by %s\n", rank, right ? "right" : "wrong", ours ? "tutti" : "host");
  MPI_Finalize();
  return right ? 0 : 1;
}
