#include "mpi/spanning_state.h"

#include <algorithm>
#include <atomic>

#include "mpi/communicators.h"
#include "mpi/errors_returned.h"
#include "mpi/host.h"
#include "mpi/requests/host_hook.h"

namespace tutti::mpi {

namespace {

/// Of MessageCommunicator.
std::atomic<int> alive{0};

/// Asks the host about a message wherever pending calls go on.
int test(MPI_Request* request, int* over, MPI_Status* status) {
  *over = 0;
  return is_inside_host() && !may_be_tested_inside_host(*request) ? MPI_SUCCESS : host.Test(request, over, status);
}

/// For a receive that was cancelled. The host is not to be waited for out of its own progress.
int end_receive(MPI_Request* request, MPI_Status* status) {
  return is_inside_host() ? host.Request_free(request) : host.Wait(request, status);
}

}  // namespace

PointToPoint calls_of_host() {
  return {host.Isend, host.Irecv, test, host.Cancel, host.Request_free, end_receive, host.Error_class};
}

/// Of its group: a duplicate would have the program's attributes copied, which it would
/// see, and for a split the ranks have to tell each other where they belong. But MPICH 5.0 leaves a message at a rank that is
/// left out of a grid when another is made of the group of that, and a later collective of that rank takes it for its own.
int make_another(MPI_Comm communicator, MPI_Comm& made) {
  int topology = MPI_UNDEFINED;
  host.Topo_test(communicator, &topology);
  if (topology != MPI_UNDEFINED) return host.Comm_split(communicator, 0, 0, &made);
  MPI_Group all = MPI_GROUP_NULL;
  host.Comm_group(communicator, &all);
  const int error = host.Comm_create(communicator, all, &made);
  host.Group_free(&all);
  return error;
}

int largest_tag() {
  int* value = nullptr;
  int there = 0;
  constexpr int least = 32767;  // that MPI guarantees
  return host.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &there) == MPI_SUCCESS && there ? *value : least;
}

MessageCommunicator::MessageCommunicator(MPI_Comm communicator) {
  ++alive;
  // Hosts have so many communicators, and no more.
  const ErrorsReturned none(communicator);
  if (make_another(communicator, made_) != MPI_SUCCESS) made_ = MPI_COMM_NULL;
  if (is_there()) host.Comm_set_errhandler(made_, MPI_ERRORS_RETURN);
}

MessageCommunicator::~MessageCommunicator() {
  end();
  --alive;
}

bool MessageCommunicator::may_be_made() {
  constexpr int alive_max = 128;
  return alive < alive_max;
}

void MessageCommunicator::end() {
  if (is_there() && job()) host.Comm_free(&made_);
}

/// Where a host has many tags a call has more of them, rather than a communicator more calls: MPI's users make few.
bool MessageCommunicator::take(Tags& tags) {
  constexpr long long least_of_call = 512, most_calls = 256;
  const long long all = largest_tag() + 1ll;
  const long long of_call = std::max(least_of_call, all / most_calls);
  if (taken_ + of_call > all) return false;
  tags = {taken_, 1, of_call};
  taken_ += of_call;
  return true;
}

SpanningState::SpanningState(MPI_Comm communicator, const std::vector<int>& node_of_rank, int rank)
    : nodes_(std::make_shared<network::Nodes>(node_of_rank)),
      rank_(rank),
      messages_(std::make_shared<MessageCommunicator>(communicator)),
      tags_(Tags::all(largest_tag())) {}

SpanningState::SpanningState(MPI_Comm communicator, SpanningState& of) : nodes_(of.nodes_), rank_(of.rank_) {
  if (!of.of_persistent_calls_ || !of.of_persistent_calls_->take(tags_)) {
    of.of_persistent_calls_ = std::make_shared<MessageCommunicator>(communicator);
    of.of_persistent_calls_->take(tags_);
  }
  messages_ = of.of_persistent_calls_;
}

void SpanningState::set_inside(Communicator& inside) {
  if (!blocking_channel_) {
    const int lanes = nodes_->most_places();
    const Unasked unasked = unasked_of(job()->knowledge.network, lanes);
    for (std::unique_ptr<network::Channel>* const each : {&blocking_channel_, &pending_channel_})
      *each = std::make_unique<NetworkChannel>(messages_->get(), calls_of_host(), lanes, tags_, unasked);
  }
  blocking_.emplace(Spanning{inside, *nodes_, *blocking_channel_, rank_});
  pending_.emplace(Spanning{inside, *nodes_, *pending_channel_, rank_});
}

}  // namespace tutti::mpi
