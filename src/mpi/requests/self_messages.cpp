#include "mpi/requests/self_messages.h"

namespace tutti::mpi {

namespace {

/// What every host allows (MPI 4.1, section 9.1.2).
constexpr int tags_max = 32767;

}  // namespace

int SelfMessages::receive(SelfMessage& message, MPI_Request* handle) {
  const std::lock_guard lock(mutex_);
  if (!unused_.empty()) {
    message = unused_.back();
    unused_.pop_back();
  } else {
    if (communicators_.empty() || next_tag_ > tags_max) {
      MPI_Comm made = MPI_COMM_NULL;
      if (const int code = host.Comm_dup(MPI_COMM_SELF, &made); code != MPI_SUCCESS) return code;
      communicators_.push_back(made);
      next_tag_ = 0;
    }
    message = {communicators_.back(), next_tag_++};
  }
  return host.Recv_init(nullptr, 0, MPI_BYTE, 0, message.tag, message.communicator, handle);
}

void SelfMessages::give_back(const SelfMessage& message) {
  const std::lock_guard lock(mutex_);
  unused_.push_back(message);
}

void SelfMessages::end() {
  for (MPI_Comm& each : communicators_) host.Comm_free(&each);
  communicators_.clear();
}

}  // namespace tutti::mpi
