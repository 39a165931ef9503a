#include "mpi/requests/handles.h"

#include "mpi/arguments/recent.h"

namespace tutti::mpi {

namespace {

/// What every host allows (MPI 4.1, section 9.1.2).
constexpr int tags_max = 32767;

}  // namespace

void Handles::set_up(bool among_threads) {
  shared_ = among_threads;
  // Later another thread might be in a collective on MPI_COMM_SELF.
  if (shared_) make_communicator();
}

int Handles::make_communicator() {
  MPI_Comm made = MPI_COMM_NULL;
  // A duplicate would run the program's functions that copy attributes.
  if (const int code = host.Comm_split(MPI_COMM_SELF, 0, 0, &made); code != MPI_SUCCESS) return code;
  communicators_.push_back(made);
  next_tag_ = 0;
  return MPI_SUCCESS;
}

int Handles::make() {
  if (communicators_.empty() || next_tag_ > tags_max)
    if (const int code = make_communicator(); code != MPI_SUCCESS) return code;
  const FirstRequest left_to_the_program;
  Handle handle{.communicator = communicators_.back(), .tag = next_tag_};
  const int code = host.Recv_init(nullptr, 0, MPI_BYTE, 0, handle.tag, handle.communicator, &handle.request);
  if (code != MPI_SUCCESS) return code;
  ++next_tag_;
  all_.push_back(handle);
  known_.add(key_of(handle.request), &all_.back());
  unused_.reserve(all_.size());  // so that all can be given back
  unused_.push_back(&all_.back());
  return MPI_SUCCESS;
}

int Handles::take(Request& of, Handle*& taken) {
  const auto lock = this->lock();
  if (unused_.empty())
    if (const int code = make(); code != MPI_SUCCESS) return code;
  taken = unused_.back();
  unused_.pop_back();
  taken->of = &of;
  given_.store(given_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return MPI_SUCCESS;
}

void Handles::give_back(Handle& handle) {
  const auto lock = this->lock();
  handle.of = nullptr;
  unused_.push_back(&handle);
  given_.store(given_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

Request* Handles::find(MPI_Request request) const {
  const auto lock = this->lock();
  const Handle* const found = known_.find(key_of(request));
  return found ? found->of : nullptr;
}

void Handles::end() {
  // What the program has not completed by now stays: it may be under way.
  for (Handle* const each : unused_) host.Request_free(&each->request);
  for (MPI_Comm& each : communicators_) host.Comm_free(&each);
  unused_.clear();
  communicators_.clear();
}

}  // namespace tutti::mpi
