#include "mpi/spanning_state.h"

#include <algorithm>
#include <map>

#include "mpi/communicators.h"
#include "mpi/host.h"
#include "mpi/requests/inside_host.h"

namespace tutti::mpi {

namespace {

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

/// Of each rank a number that is its node's.
std::vector<int> nodes_of(const std::vector<Entry>& all) {
  std::map<std::uint64_t, int> numbers;
  std::vector<int> nodes;
  for (const Entry& entry : all) nodes.push_back(numbers.emplace(entry.node, numbers.size()).first->second);
  return nodes;
}

}  // namespace

SpanningState::SpanningState(const MessageCommunicator& messages, const std::vector<Entry>& all, int rank)
    : nodes_(nodes_of(all)), rank_(rank), communicator_(messages.get()) {
  for (const Entry& entry : all) ends_.push_back({messages.rank_of(entry), entry.first_tag});
}

/// Where an operation has ended early, messages may still come that nobody waits for: who had the tags next would take them
/// for its own.
void SpanningState::end() {
  const auto is_clean = [](const NetworkChannel& messages, const tutti::Channel& inside) {
    return !messages.has_lost() && !(messages.is_used() && inside.closed());
  };
  const bool was_used = blocking_channel_.has_value();
  if (was_used && (!is_clean(*blocking_channel_, blocking_->inside.blocking()) ||
                   !is_clean(*pending_channel_, pending_->inside.pending())))
    return;
  if (job() && job()->messages) job()->messages->tags().give_back(ends_[static_cast<std::size_t>(rank_)].first_tag);
}

void SpanningState::set_inside(Communicator& inside) {
  const auto unasked = static_cast<std::size_t>(job()->knowledge.network.unasked_bytes);
  blocking_channel_.emplace(communicator_, calls(), ends_, rank_, unasked);
  blocking_.emplace(Spanning{inside, nodes_, *blocking_channel_, rank_});
  pending_channel_.emplace(communicator_, calls(), ends_, rank_, unasked);
  pending_.emplace(Spanning{inside, nodes_, *pending_channel_, rank_});
}

}  // namespace tutti::mpi
