// Calls whose cost is known, for TUTTI_PROFILE to tell of (profiling.py). Rank 0 says "NAME LINE" for each place of calls.
// The argument: by how many times more ranks come late, where processors are emulated.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int mebibyte = 1 << 20;
unsigned slowness = 1;

void say(const char* name, int line) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("%s %d\n", name, line);
}

/// The last rank comes 4 ms later than the others.
void late(int rank, int size) {
  for (int call = 0; call < 40; ++call) {
    if (rank == size - 1) usleep(4000 * slowness);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  say("late", __LINE__ - 2);
}

void often() {
  std::vector<int> values(1024);
  for (int call = 0; call < 1000; ++call) MPI_Bcast(values.data(), 1024, MPI_INT, 0, MPI_COMM_WORLD);
  say("often", __LINE__ - 1);
  double mine = 1, sum = 0;
  for (int call = 0; call < 600; ++call) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  say("sums", __LINE__ - 1);
}

/// Rank 0 sends 3 ms after rank 1 has begun to wait.
void messages(int rank) {
  std::vector<char> bytes(mebibyte);
  for (int call = 0; call < 20; ++call) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      usleep(3000 * slowness);
      MPI_Send(bytes.data(), mebibyte, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
      MPI_Recv(bytes.data(), mebibyte, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  say("received", __LINE__ - 3);
}

/// On communicators that come and go, one of them with a name.
void apart(int rank) {
  for (int i = 0; i < 3; ++i) {
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &communicator);
    if (i == 2) MPI_Comm_set_name(communicator, "turned round");
    int value = 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, communicator);
    say("apart", __LINE__ - 1);
    MPI_Comm_free(&communicator);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1) slowness = static_cast<unsigned>(std::atoi(argv[1]));
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  late(rank, size);
  often();
  messages(rank);
  apart(rank);
  MPI_Finalize();
  return 0;
}
