#include "mpi/start/message_communicator.h"

#include "mpi/host.h"
#include "mpi/start/errors_returned.h"

namespace tutti::mpi {

namespace {

int largest_tag() {
  int* value = nullptr;
  int there = 0;
  constexpr int least = 32767;  // that MPI guarantees
  return host.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &there) == MPI_SUCCESS && there ? *value : least;
}

}  // namespace

/// By a split, since a duplicate would have attributes copied by functions of others.
MessageCommunicator::MessageCommunicator(int world_rank, const std::vector<Entry>& world) : tags_(largest_tag()) {
  for (std::size_t rank = 0; rank < world.size(); ++rank)
    ranks_on_node_[world[rank].node].push_back(static_cast<int>(rank));
  tags_.take();  // MPI_COMM_WORLD's
  const ErrorsReturned returned(MPI_COMM_WORLD);
  if (host.Comm_split(MPI_COMM_WORLD, 0, world_rank, &made_) != MPI_SUCCESS) made_ = MPI_COMM_NULL;
  if (is_there()) host.Comm_set_errhandler(made_, MPI_ERRORS_RETURN);
}

void MessageCommunicator::end() {
  if (is_there()) host.Comm_free(&made_);
}

}  // namespace tutti::mpi
