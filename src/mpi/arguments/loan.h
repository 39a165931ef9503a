// What a thread keeps from call to call, so that no call allocates it for itself.
//
// It is lent to one call at a time. While a call waits the host may run operators and other functions of the program, and
// these may call us: such a call gets something of its own.
#pragma once

#include <utility>

namespace tutti::mpi {

template <class Kept>
class Loan {
 public:
  Loan() : node_(free_) {
    if (node_) [[likely]]
      free_ = node_->next;
    else
      node_ = make();
  }
  ~Loan() {
    node_->next = free_;
    free_ = node_;
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  Kept& operator*() const { return node_->kept; }
  Kept* operator->() const { return &node_->kept; }

 private:
  struct Node {
    Kept kept{};
    Node* next = nullptr;
  };
  struct AtThreadExit {
    ~AtThreadExit() {
      while (free_) delete std::exchange(free_, free_->next);
    }
  };
  [[gnu::noinline]] static Node* make() {
    static thread_local AtThreadExit at_thread_exit;
    return new Node;
  }

  /// As many as were lent at once.
  static constinit inline thread_local Node* free_ = nullptr;
  Node* node_;
};

}  // namespace tutti::mpi
