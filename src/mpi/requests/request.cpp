#include "mpi/requests/request.h"

#include "engine/operation.h"
#include "mpi/wait/end_job.h"

namespace tutti::mpi {

Request::Request(MPI_Comm communicator, CommunicatorState& state)
    : communicator_(communicator), of_(state), collective_("") {
  hold(of_);
}

Request::~Request() {
  release(of_);
}

MPI_Comm Request::communicator_for_errors() const {
  return of_.freed.load(std::memory_order_relaxed) ? MPI_COMM_WORLD : communicator_;
}

void Request::set_up(std::unique_ptr<PendingCall> call, int code, bool too_long) {
  call_ = std::move(call);
  collective_ = of_.communicator->current_collective;
  code_ = code;
  too_long_ = too_long;
}

bool Request::goes_on(bool may_call_host) {
  if (runs_operators_ && !may_call_host) return false;
  try {
    if (call_->progress()) return true;
    const int rank = call_->waits_for();
    peer_.store(rank < 0 ? -1 : of_.communicator->node_rank(rank), std::memory_order_relaxed);
    return false;
  } catch (const Disagreement&) {
    disagreed_ = true;
    return true;
  } catch (const std::exception& problem) {
    end_job(communicator_for_errors(), problem);
  }
}

void Request::finish() {
  if (!disagreed_) code_ = finish_(after_, code_);
  if (disagreed_ || too_long_ || call_->truncated()) code_ = MPI_ERR_TRUNCATE;
  call_.reset();
  kept_.reset();
  handles_.give_back();
}

}  // namespace tutti::mpi
