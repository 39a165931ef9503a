// Functions of one host alone that look at requests; compiled for each host by its own header.
#include <mpi.h>

#include <vector>

#include "semantics.h"

namespace tutti::tests {

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000

// The others of MPICH that are given requests, MPIX_Wait_enqueue and MPIX_Waitall_enqueue, take those of streams alone. Intel
// MPI and Open MPI have none.
void extensions_of_the_host_see_what_is_under_way(Context& context) {
  std::vector<int> values(1000);
  for (int round = 0; round < 20; ++round) {
    values.assign(values.size(), context.rank() + round);
    MPI_Request request = MPI_REQUEST_NULL;
    if (context.rank() == context.size() - 1) dawdle(static_cast<unsigned>(round), 2000);
    MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                   &request);
    MPI_Status status;
    for (int flag = 0; !MPIX_Request_is_complete(request);)
      MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, &status);
    const int sum = context.size() * (context.size() - 1) / 2 + context.size() * round;
    context.expect(values.front() == sum && values.back() == sum, "round %d: %d", round, values.back());
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    context.expect(MPIX_Request_is_complete(request), "no request is complete");
  }
}

#else

void extensions_of_the_host_see_what_is_under_way(Context&) {}

#endif

}  // namespace tutti::tests
