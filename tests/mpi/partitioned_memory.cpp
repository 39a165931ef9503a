// MPI_Start of a partitioned message where this rank has no address space left for what its peer tells it by.
#include <mpi.h>
#include <sys/resource.h>

#include <cstdio>
#include <vector>

#include "partitioned.h"

namespace tutti::tests {

namespace {

constexpr int partitions = 8192, partition_bytes = 8, messages = 600;

/// While it lives no more than this process has got by now.
class NoMoreAddresses {
 public:
  NoMoreAddresses() {
    getrlimit(RLIMIT_AS, &before_);
    long pages = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
      if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(pages) * 4096 + (rlim_t{128} << 10);
    if (pages > 0) setrlimit(RLIMIT_AS, &limit);
  }
  ~NoMoreAddresses() { setrlimit(RLIMIT_AS, &before_); }
  NoMoreAddresses(const NoMoreAddresses&) = delete;
  NoMoreAddresses& operator=(const NoMoreAddresses&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

void a_start_without_memory_is_an_error_and_may_be_made_again(Context& context) {
  if (context.size() < 2 || !tutti_is_there()) return;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  std::vector<char> data(std::size_t{partitions} * partition_bytes, context.rank() == 0 ? 'x' : '-');
  std::vector<MPI_Request> requests;
  for (int i = 0; i < messages && context.rank() < 2; ++i) {
    MPI_Request& made = requests.emplace_back();
    if (context.rank() == 0)
      MPI_Psend_init(data.data(), partitions, partition_bytes, MPI_CHAR, 1, i, communicator, MPI_INFO_NULL, &made);
    else
      MPI_Precv_init(data.data(), partitions, partition_bytes, MPI_CHAR, 0, i, communicator, MPI_INFO_NULL, &made);
  }
  MPI_Barrier(communicator);
  if (context.rank() == 1) {
    int code = MPI_SUCCESS, error_class = MPI_SUCCESS;
    {
      const NoMoreAddresses limit;
      code = MPI_Start(&requests.back());
    }
    MPI_Error_class(code, &error_class);
    context.expect(error_class == MPI_ERR_NO_MEM, "the error is %d", code);
    MPI_Start(&requests.back());
  } else if (context.rank() == 0) {
    MPI_Start(&requests.back());
    MPI_Pready_range(0, partitions - 1, requests.back());
  }
  if (context.rank() < 2) MPI_Wait(&requests.back(), MPI_STATUS_IGNORE);
  context.expect(context.rank() > 1 || (data.front() == 'x' && data.back() == 'x'), "the data");
  for (MPI_Request& each : requests) MPI_Request_free(&each);
  MPI_Comm_free(&communicator);
}

}  // namespace tutti::tests
