#include "elsewhere.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace tutti::tests {

namespace {

constexpr int kMessage = 1 << 18;  // ints: more than any MPI sends eagerly

void in_receive(Context& context, bool first, MPI_Comm) {
  int value = 0;
  if (first) {
    for (int rank = 1; rank < context.size(); ++rank)
      MPI_Recv(&value, 1, MPI_INT, rank, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(&value, 1, MPI_INT, 0, 31, MPI_COMM_WORLD);
  }
}
void in_long_send(Context& context, bool first, MPI_Comm) {
  std::vector<int> message(kMessage, 1);
  if (first) {
    for (int rank = 1; rank < context.size(); ++rank)
      MPI_Send(message.data(), kMessage, MPI_INT, rank, 32, MPI_COMM_WORLD);
  } else {
    MPI_Recv(message.data(), kMessage, MPI_INT, 0, 32, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
void in_probe(Context& context, bool first, MPI_Comm) {
  int value = 0;
  for (int rank = 1; first && rank < context.size(); ++rank) {
    MPI_Probe(rank, 33, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, rank, 33, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!first) MPI_Send(&value, 1, MPI_INT, 0, 33, MPI_COMM_WORLD);
}
void in_wait_for_message(Context& context, bool first, MPI_Comm) {
  int value = 0;
  if (first) {
    std::vector<MPI_Request> all(static_cast<std::size_t>(context.size() - 1));
    for (int rank = 1; rank < context.size(); ++rank)
      MPI_Irecv(&value, 0, MPI_INT, rank, 34, MPI_COMM_WORLD, &all[static_cast<std::size_t>(rank - 1)]);
    MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
  } else {
    MPI_Send(&value, 0, MPI_INT, 0, 34, MPI_COMM_WORLD);
  }
}
void in_barrier(Context&, bool, MPI_Comm other) {
  MPI_Barrier(other);
}
void in_barrier_of_host(Context&, bool, MPI_Comm other) {
  PMPI_Barrier(other);
}
void in_duplicate(Context&, bool, MPI_Comm other) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(other, &made);
  MPI_Comm_free(&made);
}
void in_fence(Context&, bool, MPI_Comm other) {
  static int memory[4];
  static MPI_Win window = MPI_WIN_NULL;
  MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
  if (MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, other, &window) != MPI_SUCCESS) return;
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}
void in_file(Context&, bool, MPI_Comm other) {
  // Another job would take the file away between two ranks that open it; on nodes of namespaces processes have equal numbers.
  auto job = std::chrono::system_clock::now().time_since_epoch().count();
  PMPI_Bcast(&job, sizeof job, MPI_BYTE, 0, other);
  // Each node has a /tmp of its own; all see the program.
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").string() + "-file-" + std::to_string(job);
  MPI_File file = MPI_FILE_NULL;
  if (MPI_File_open(other, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                    &file) != MPI_SUCCESS)
    return;
  const std::vector<int> data(1000, 7);
  MPI_File_write_all(file, data.data(), 1000, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}
void in_computing(Context&, bool first, MPI_Comm) {
  if (first) usleep(100'000);
}

}  // namespace

const std::vector<Elsewhere>& places_to_wait_in() {
  static const std::vector<Elsewhere> places{{"a receive", in_receive},
                                             {"a long send", in_long_send},
                                             {"a probe", in_probe},
                                             {"a wait for messages", in_wait_for_message},
                                             {"a barrier", in_barrier},
                                             {"a barrier of the host", in_barrier_of_host},
                                             {"a duplication", in_duplicate},
                                             {"a fence", in_fence},
                                             {"a file", in_file},
                                             {"computing", in_computing}};
  return places;
}

}  // namespace tutti::tests
