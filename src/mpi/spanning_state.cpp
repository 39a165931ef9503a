#include "mpi/spanning_state.h"

#include "mpi/communicators.h"
#include "mpi/host.h"

namespace tutti::mpi {

namespace {

/// By a split, since a duplicate would have the program's attributes copied, which it would see.
MPI_Comm made_for_messages(MPI_Comm communicator, int rank) {
  MPI_Comm made = MPI_COMM_NULL;
  if (host.Comm_split(communicator, 0, rank, &made) != MPI_SUCCESS) return MPI_COMM_NULL;
  host.Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

int largest_tag() {
  int* value = nullptr;
  int there = 0;
  constexpr int least = 32767;  // that MPI guarantees
  return host.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &there) == MPI_SUCCESS && there ? *value : least;
}

}  // namespace

SpanningState::SpanningState(MPI_Comm communicator, const std::vector<int>& node_of_rank, int rank)
    : nodes_(node_of_rank), rank_(rank), messages_(made_for_messages(communicator, rank)) {
  const PointToPoint calls{host.Isend, host.Irecv, host.Testall, host.Cancel, host.Request_free, host.Wait};
  if (is_there()) channel_.emplace(messages_, calls, nodes_.most_places(), largest_tag());
}

void SpanningState::end_messages() {
  if (is_there() && job()) host.Comm_free(&messages_);
}

const Spanning& SpanningState::with(Communicator& inside) {
  return spanning_.emplace(Spanning{inside, nodes_, *channel_, rank_});
}

}  // namespace tutti::mpi
