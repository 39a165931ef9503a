// A stand-in for a runtime of devices as the test programs use it: they load it as a program loads its runtime.
#pragma once

#include <cstddef>
#include <string>

namespace tutti::tests {

class StandIn {
 public:
  enum Kind : int { device, managed, pinned, pooled };

  /// Loads "cuda", "hip" or "level-zero", and initialises it if that is said. Ends the process if it is not there.
  explicit StandIn(const std::string& name, bool initialise = true);
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  char* allocate(std::size_t bytes, Kind kind = device) const;
  char* allocate_at(void* address, std::size_t bytes) const;
  void free(void* begin) const { free_(begin); }
  /// The program may touch what is of devices from now on, as its kernels may; or not.
  void set_open(bool open) const { set_open_(open); }
  void initialise() const { initialise_(0); }

  /// Copies fail from now on, or succeed again.
  void refuse(bool refuses) const { refuse_(refuses); }

  /// Copies and queries of this process so far.
  long copies() const { return copies_(); }
  long queries() const { return queries_(); }
  /// Nothing was left behind for this thread: no context, no error.
  bool is_clean() const { return is_clean_() != 0; }
  /// Copies several pieces of one length at once.
  bool has_rows() const { return has_rows_; }

 private:
  template <class Function>
  void look_up(const char* name, Function*& function) const;

  void* library_;
  bool has_rows_;
  void* (*allocate_)(std::size_t, int);
  void* (*allocate_at_)(void*, std::size_t);
  void (*free_)(void*);
  void (*set_open_)(int);
  void (*refuse_)(int);
  long (*copies_)();
  long (*queries_)();
  int (*is_clean_)();
  int (*initialise_)(unsigned);
};

}  // namespace tutti::tests
