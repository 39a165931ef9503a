#include "mpi/start/watch.h"

#include "base/no_signals.h"

namespace tutti::mpi {

StartWatch::StartWatch(double seconds, const Log& log) : patience_(seconds), log_(log) {
  log_.set_quiet(false);
  const NoSignals none;
  thread_ = std::thread([this] { wait_and_tell(); });
}

StartWatch::~StartWatch() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void StartWatch::wait_and_tell() {
  std::unique_lock lock(mutex_);
  if (ended_.wait_for(lock, patience_, [this] { return has_ended_; })) return;
  log_.warn(
      "rank %d has waited %g s in MPI_Init for the other ranks of MPI_COMM_WORLD: Tutti starts when all of them have "
      "called MPI_Init through it. One that is not preloaded, switched off, linked statically or written in Fortran "
      "never does; then "
      "start all ranks without Tutti",
      log_.rank(), patience_.count());
}

}  // namespace tutti::mpi
