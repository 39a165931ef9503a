// Requests one behind the other. They hang on each other, so that nothing is allocated.
#pragma once

#include <cstddef>

namespace tutti::mpi {

class Request;

class RequestList {
 public:
  bool empty() const { return !first_; }
  Request* first() const { return first_; }
  std::size_t size() const { return size_; }
  void add(Request& request);
  void remove(Request& request);
  /// Takes all of `other`.
  void append(RequestList& other);

 private:
  Request* first_ = nullptr;
  Request* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tutti::mpi
