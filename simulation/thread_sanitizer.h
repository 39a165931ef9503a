// What ThreadSanitizer is told of ranks that are fibres: each is a thread of its own, a switch puts nothing in order, and
// what a simulator does for itself is not a rank's. In other builds nothing of this does anything.
//
// What switches is compiled without the sanitizer (CMakeLists.txt): its frames begin on one fibre and end on another.
#pragma once

#if defined(TUTTI_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace tutti::simulated::sanitizer {

#if defined(TUTTI_THREAD_SANITIZER)

/// A fibre, or the thread that they run on.
class Thread {
 public:
  static Thread make() { return Thread(__tsan_create_fiber(0)); }
  static Thread current() { return Thread(__tsan_get_current_fiber()); }
  Thread() = default;
  void destroy() { __tsan_destroy_fiber(fiber_); }
  /// At once before the switch itself.
  void enter() const { __tsan_switch_to_fiber(fiber_, __tsan_switch_to_fiber_no_sync); }

 private:
  explicit Thread(void* fiber) : fiber_(fiber) {}
  void* fiber_ = nullptr;
};

/// What was done before release() has happened before what is done after acquire() of the same address.
inline void acquire(const void* address) {
  __tsan_acquire(const_cast<void*>(address));
}
inline void release(const void* address) {
  __tsan_release(const_cast<void*>(address));
}

inline void ignore(bool from_now_on) {
  if (from_now_on) {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  } else {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
}

#else

class Thread {
 public:
  static Thread make() { return {}; }
  static Thread current() { return {}; }
  void destroy() {}
  void enter() const {}
};
inline void acquire(const void*) {}
inline void release(const void*) {}
inline void ignore(bool) {}

#endif

/// While it lives accesses are the simulator's own.
class Unwatched {
 public:
  Unwatched() { ignore(true); }
  ~Unwatched() { ignore(false); }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
};
/// In there: while it lives they are the rank's.
class Watched {
 public:
  Watched() { ignore(false); }
  ~Watched() { ignore(true); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

}  // namespace tutti::simulated::sanitizer
