// A known number of known collectives or messages, for TUTTI_EXPLAIN to tell of (explain.py has the same numbers):
//
//     messages  of every kind between two ranks, by the library and by the host
//     calls     of every kind, by the library and by the host, on communicators that live and that are gone
//     late      rank 1 says "PID 1 pid" and comes a minute late to MPI_Finalize
//     threads   three threads of each rank, each on a communicator of its own; rank 0 says if the MPI has none
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "inits.h"

namespace {

constexpr int mebibyte = 1 << 20;

void broadcast(void* buffer, int bytes, int calls, MPI_Comm communicator) {
  for (int call = 0; call < calls; ++call) MPI_Bcast(buffer, bytes, MPI_BYTE, 0, communicator);
}

void calls(int rank, int size) {
  std::vector<char> large(mebibyte);
  int small = 0;
  for (int call = 0; call < 10; ++call) MPI_Barrier(MPI_COMM_WORLD);
  broadcast(&small, 4, 7, MPI_COMM_WORLD);
  broadcast(large.data(), mebibyte, 5, MPI_COMM_WORLD);
  broadcast(&small, 0, 2, MPI_COMM_WORLD);

  const std::vector<double> values(1000, rank);
  std::vector<double> sums(values.size());
  for (int call = 0; call < 3; ++call)
    MPI_Allreduce(values.data(), sums.data(), 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const long double one = 1;
  long double sum = 0;
  for (int call = 0; call < 2; ++call) MPI_Allreduce(&one, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

  std::vector<int> blocks(static_cast<std::size_t>(16 * size));
  for (int call = 0; call < 4; ++call)
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, blocks.data(), 16, MPI_INT, MPI_COMM_WORLD);

  std::vector<int> kept(100, 1);
  MPI_Request request = MPI_REQUEST_NULL;
  tutti::tests::inits.Allreduce(MPI_IN_PLACE, kept.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &request);
  for (int call = 0; call < 7; ++call) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);

  std::vector<int> counts, offsets;
  for (int i = 0; i < size; ++i) {
    counts.push_back(i + 1);
    offsets.push_back(16 * i);
  }
  std::vector<int> mine(static_cast<std::size_t>(size));
  for (int call = 0; call < 6; ++call)
    MPI_Scatterv(blocks.data(), counts.data(), offsets.data(), MPI_INT, mine.data(),
                 counts[static_cast<std::size_t>(rank)], MPI_INT, 0, MPI_COMM_WORLD);

  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  broadcast(&small, 4, 6, copy);
  MPI_Comm_free(&copy);
  for (int call = 0; call < 2; ++call) MPI_Barrier(MPI_COMM_SELF);

  MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &between);
  for (int call = 0; call < 3; ++call) MPI_Barrier(between);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

/// Of two ranks.
void messages(int rank, int size) {
  constexpr int tag = 3, from_kibibyte = 64 << 10;
  const int other = 1 - rank;
  if (size != 2) return;
  std::vector<char> here(mebibyte), there(mebibyte);
  for (const int bytes : {mebibyte, 8})
    for (int call = 0; call < 5; ++call)
      if (rank == 0)
        MPI_Send(here.data(), bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD);
      else
        MPI_Recv(there.data(), bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int call = 0; call < 3; ++call) {
    MPI_Request both[2];
    MPI_Irecv(there.data(), from_kibibyte, MPI_BYTE, other, tag, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(here.data(), from_kibibyte, MPI_BYTE, other, tag, MPI_COMM_WORLD, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
  for (int call = 0; call < 2; ++call)
    MPI_Sendrecv(here.data(), mebibyte, MPI_BYTE, other, tag, there.data(), mebibyte, MPI_BYTE, other, tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(here.data(), mebibyte, MPI_BYTE, rank, tag, there.data(), mebibyte, MPI_BYTE, rank, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int call = 0; call < 4; ++call) MPI_Send(here.data(), mebibyte, MPI_BYTE, MPI_PROC_NULL, tag, MPI_COMM_WORLD);

  // A list of blocks: what Tutti knows no layout of is packed.
  std::vector<int> begins(mebibyte / 2);
  for (std::size_t i = 0; i < begins.size(); ++i) begins[i] = 2 * static_cast<int>(i);
  MPI_Datatype every_second = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(mebibyte / 2, 1, begins.data(), MPI_BYTE, &every_second);
  MPI_Type_commit(&every_second);
  if (rank == 0)
    MPI_Ssend(here.data(), 1, every_second, other, tag, MPI_COMM_WORLD);
  else
    MPI_Recv(there.data(), 1, every_second, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&every_second);

  std::vector<char> room(mebibyte + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(there.data(), mebibyte, MPI_BYTE, other, tag, MPI_COMM_WORLD, &request);
  MPI_Bsend(here.data(), mebibyte, MPI_BYTE, other, tag, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  void* detached = nullptr;
  int detached_bytes = 0;
  MPI_Buffer_detach(static_cast<void*>(&detached), &detached_bytes);

  if (rank == 0)
    MPI_Send_init(here.data(), mebibyte, MPI_BYTE, other, tag, MPI_COMM_WORLD, &request);
  else
    MPI_Recv_init(there.data(), mebibyte, MPI_BYTE, other, tag, MPI_COMM_WORLD, &request);
  for (int call = 0; call < 6; ++call) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
}

void late(int rank) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 1) return;
  std::printf("PID %d %d\n", rank, static_cast<int>(getpid()));
  std::fflush(stdout);
  sleep(60);
}

void threads() {
  std::vector<std::thread> running;
  for (int thread = 0; thread < 3; ++thread) {
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    running.emplace_back([communicator] {
      int value = 0, zero = 0;
      MPI_Comm mine = communicator;
      broadcast(&value, 4, 200, mine);
      broadcast(&zero, 0, 50, mine);
      MPI_Comm_free(&mine);
    });
  }
  for (std::thread& thread : running) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "calls";
  const bool threaded = mode == "threads";
  int provided = 0, rank = 0, size = 1;
  MPI_Init_thread(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (mode == "late")
    late(rank);
  else if (mode == "messages")
    messages(rank, size);
  else if (!threaded)
    calls(rank, size);
  else if (provided == MPI_THREAD_MULTIPLE)
    threads();
  else if (rank == 0)
    std::printf("no MPI_THREAD_MULTIPLE\n");
  MPI_Finalize();
  return 0;
}
