#include "mpi/requests/request_list.h"

#include <utility>

#include "mpi/requests/request.h"

namespace tutti::mpi {

void RequestList::add(Request& request) {
  request.next_ = nullptr;
  request.previous_ = last_;
  (last_ ? last_->next_ : first_) = &request;
  last_ = &request;
  ++size_;
}

void RequestList::remove(Request& request) {
  (request.previous_ ? request.previous_->next_ : first_) = request.next_;
  (request.next_ ? request.next_->previous_ : last_) = request.previous_;
  --size_;
}

void RequestList::append(RequestList& other) {
  if (other.empty()) return;
  other.first_->previous_ = last_;
  (last_ ? last_->next_ : first_) = other.first_;
  last_ = other.last_;
  size_ += other.size_;
  other = {};
}

}  // namespace tutti::mpi
