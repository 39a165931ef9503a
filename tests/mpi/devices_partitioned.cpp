// Partitioned messages whose buffers are in memory of devices, of a stand-in for CUDA, on both sides or on one.
#include <mpi.h>

#include <memory>
#include <vector>

#include "devices/stand_in.h"
#include "partitioned.h"

using namespace tutti::tests;

namespace {

std::unique_ptr<const StandIn> runtime;

void partitions_reach_and_leave_devices(Context& context) {
  constexpr int partitions = 4;
  for (const bool has_gaps : {false, true}) {
    for (const int ints : {2 * partitions, 2000 * partitions, 40'000 * partitions}) {
      for (const int sides : {1, 2, 3}) {
        runtime->set_open(true);
        PartitionedSide sent(context, sides & 1 ? Place::kDevice : Place::kHeap, has_gaps, partitions, ints);
        PartitionedSide received(context, sides & 2 ? Place::kDevice : Place::kHeap, has_gaps, partitions, ints);
        MPI_Request requests[2];
        sent.make(true, next_of(context), 0, MPI_COMM_WORLD, requests[0]);
        received.make(false, before(context), 0, MPI_COMM_WORLD, requests[1]);
        for (int start = 0; start < 3; ++start) {
          sent.fill(start * 100 + context.rank());
          runtime->set_open(false);
          MPI_Startall(2, requests);
          for (int i = partitions - 1; i >= 0; --i) MPI_Pready(i, requests[0]);
          int has_arrived = 0;
          while (!has_arrived) MPI_Parrived(requests[1], 1, &has_arrived);
          runtime->set_open(true);
          const int each = ints / partitions;
          context.expect(received.wrong(start * 100 + before(context), each, each) == 0, "one of %d ints", ints);
          runtime->set_open(false);
          MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
          runtime->set_open(true);
          const int wrong = received.wrong(start * 100 + before(context), 0, ints);
          context.expect(wrong == 0, "%d of %d ints are wrong, gaps %d, sides %d", wrong, ints, has_gaps, sides);
        }
        MPI_Request_free(&requests[0]), MPI_Request_free(&requests[1]);
      }
    }
  }
}

}  // namespace

int main(int, char** argv) {
  MPI_Init(nullptr, nullptr);
  runtime = std::make_unique<StandIn>("cuda");
  lend_devices({[](std::size_t bytes) { return runtime->allocate(bytes); }, [](void* begin) { runtime->free(begin); }});
  int status = 0;
  {
    Context context(nullptr, 0);
    status = run_tests(context, {{"partitions_reach_and_leave_devices", &partitions_reach_and_leave_devices}}, 1, argv);
  }
  MPI_Finalize();
  return status;
}
