#include "mpi/spanning_state.h"

#include <algorithm>

#include "mpi/communicators.h"
#include "mpi/host.h"
#include "mpi/requests/inside_host.h"

namespace tutti::mpi {

namespace {

int largest_tag() {
  int* value = nullptr;
  int there = 0;
  constexpr int least = 32767;  // that MPI guarantees
  return host.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &there) == MPI_SUCCESS && there ? *value : least;
}

/// Asks the host about messages wherever pending calls go on.
int test_all(int count, MPI_Request* requests, int* all_over, MPI_Status* statuses) {
  if (is_inside_host()) {
    const auto may_be_tested = [](MPI_Request request) {
      return request == MPI_REQUEST_NULL || may_be_tested_inside_host(request);
    };
    *all_over = 0;
    if (!std::all_of(requests, requests + count, may_be_tested)) return MPI_SUCCESS;
  }
  return host.Testall(count, requests, all_over, statuses);
}

/// For a receive that was cancelled. The host is not to be waited for out of its own progress.
int end_receive(MPI_Request* request, MPI_Status* status) {
  return is_inside_host() ? host.Request_free(request) : host.Wait(request, status);
}

PointToPoint calls() {
  return {host.Isend, host.Irecv, test_all, host.Cancel, host.Request_free, end_receive};
}

}  // namespace

/// By a split, since a duplicate would have the program's attributes copied, which it would see.
MessageCommunicator::MessageCommunicator(MPI_Comm communicator, int rank) {
  if (host.Comm_split(communicator, 0, rank, &made_) != MPI_SUCCESS) made_ = MPI_COMM_NULL;
  if (is_there()) host.Comm_set_errhandler(made_, MPI_ERRORS_RETURN);
}

void MessageCommunicator::end() {
  if (is_there() && job()) host.Comm_free(&made_);
}

bool MessageCommunicator::take(Tags& tags) {
  constexpr long long of_call = 512;
  if (taken_ + of_call > largest_tag() + 1ll) return false;
  tags = {taken_, 1, of_call};
  taken_ += of_call;
  return true;
}

SpanningState::SpanningState(MPI_Comm communicator, const std::vector<int>& node_of_rank, int rank)
    : nodes_(std::make_shared<network::Nodes>(node_of_rank)),
      rank_(rank),
      messages_(std::make_shared<MessageCommunicator>(communicator, rank)),
      tags_(Tags::all(largest_tag())) {}

SpanningState::SpanningState(MPI_Comm communicator, SpanningState& of) : nodes_(of.nodes_), rank_(of.rank_) {
  if (!of.of_persistent_calls_ || !of.of_persistent_calls_->take(tags_)) {
    of.of_persistent_calls_ = std::make_shared<MessageCommunicator>(communicator, rank_);
    of.of_persistent_calls_->take(tags_);
  }
  messages_ = of.of_persistent_calls_;
}

void SpanningState::set_inside(Communicator& inside) {
  const int lanes = nodes_->most_places();
  const auto unasked = static_cast<std::size_t>(job()->knowledge.network.unasked_bytes);
  blocking_channel_.emplace(messages_->get(), calls(), lanes, tags_, unasked);
  blocking_.emplace(Spanning{inside, *nodes_, *blocking_channel_, rank_});
  pending_channel_.emplace(messages_->get(), calls(), lanes, tags_, unasked);
  pending_.emplace(Spanning{inside, *nodes_, *pending_channel_, rank_});
}

}  // namespace tutti::mpi
