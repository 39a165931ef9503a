#include "endings.h"

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace tutti::tests {

void end_in(const std::string& way) {
  const auto dash = way.rfind('-');
  const std::string verb = way.substr(0, dash);
  const char* const argument = dash == std::string::npos ? "0" : way.c_str() + dash + 1;
  const int number = std::atoi(argument);
  if (verb == "exit") std::exit(number);
  if (verb == "_exit") _exit(number);
  if (verb == "quick_exit") std::quick_exit(number);
  if (verb == "abort") std::abort();
  if (verb == "mpi-abort") MPI_Abort(MPI_COMM_WORLD, number);
  if (verb == "exec") execl("/bin/sleep", "sleep", argument, static_cast<char*>(nullptr));
  if (verb == "signal") {
    signal(number, SIG_DFL);  // hosts have handlers for some
    kill(getpid(), number);
    pause();
  }
}

int ends(const std::string& way, const std::string& others, unsigned delay) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::printf("PID %d %d\n", rank, static_cast<int>(getpid()));
  std::fflush(stdout);
  for (int i = 0; i < 3; ++i) MPI_Barrier(MPI_COMM_WORLD);
  std::vector<int> numbers(others == "nonblocking" ? 200'000 : 0), sums(numbers.size());
  MPI_Request started[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const auto start = [&](MPI_Request& request) {
    MPI_Iallreduce(numbers.data(), sums.data(), static_cast<int>(numbers.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                   &request);
  };
  if (others == "nonblocking") start(started[0]);
  if (rank == 1 || others == "same") {
    usleep(200'000 + delay * 1'000'000);  // the others wait by now
    std::printf("ENDS %d\n", rank);
    std::fflush(stdout);
    end_in(way);
  }
  int value = 0;
  if (others == "collective") MPI_Barrier(MPI_COMM_WORLD);
  if (others == "receive") MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (others == "nonblocking") {
    MPI_Wait(&started[0], MPI_STATUS_IGNORE);
    start(started[1]);
    MPI_Wait(&started[1], MPI_STATUS_IGNORE);
  }
  if (others == "compute") sleep(2);
  MPI_Finalize();
  return 0;
}

int goes_on() {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm rest = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == ranks - 1 ? 1 : 0, 0, &rest);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == ranks - 1) _exit(0);
  if (rank == 0) sleep(7);
  MPI_Barrier(rest);
  if (rank == 0) std::printf("DONE\n");
  std::fflush(stdout);
  _exit(0);
}

}  // namespace tutti::tests
