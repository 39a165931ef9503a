// The definition of an MPI function that comes after ours: mostly the host's own, or that of a tool which has been
// preloaded behind us.
//
// Where a tool stands behind us, a call passes us twice: by its first name, and then by its second one, with which the
// tool goes on to the host. The second time it is still the same call. So who passes one on to a tool leaves word of it,
// and who comes by the second name looks for that. Without a tool nothing of this is done: the host's functions come
// straight after ours, and both names lead to the same function of ours.
#pragma once

namespace tutti::mpi {

/// A call of a function that a tool behind us watches. They hang on one another: others may be made during a call.
class WatchedCall {
 public:
  enum class Name { first, second };

  /// function: the NextFunction of it.
  WatchedCall(const void* function, Name name) : function_(function), name_(name), outer_(innermost) {
    innermost = this;
  }
  ~WatchedCall() { innermost = outer_; }
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

  /// Of this thread; null if there is none.
  static WatchedCall* current() { return innermost; }

  bool is_of(const void* function) const { return function_ == function; }
  bool is_by(Name name) const { return name_ == name; }
  /// From when the tool gets the call until it goes on to the host.
  void set_with_tool(bool with_tool) { with_tool_ = with_tool; }
  bool is_with_tool() const { return with_tool_; }

 private:
  static constinit thread_local WatchedCall* innermost;
  const void* function_;
  Name name_;
  bool with_tool_ = false;
  WatchedCall* outer_;
};

template <class Signature>
class NextFunction;

template <class... Arguments>
class NextFunction<int(Arguments...)> {
 public:
  /// Goes on with a call: to the host if it has come by the function's second name, which tools use to get past
  /// themselves.
  int operator()(Arguments... arguments) const {
    WatchedCall* const call = watched_ ? WatchedCall::current() : nullptr;
    if (!call || !call->is_of(call_)) return next_(arguments...);
    if (call->is_by(WatchedCall::Name::second)) return host_(arguments...);
    call->set_with_tool(true);
    const int code = next_(arguments...);
    call->set_with_tool(false);
    return code;
  }
  int host(Arguments... arguments) const { return host_(arguments...); }
  /// `last` takes the place of the host's own, in calls that come out of a tool, too.
  void ends_in(int (*last)(Arguments...)) { host_ = last; }
  /// Goes on with a call to the tool, and from there to what the calls end in; without a tool straight to that.
  int to_its_end(Arguments... arguments) const { return watched_ ? (*this)(arguments...) : host_(arguments...); }

  /// "MPI_Wait".
  const char* const& name() const { return name_; }
  /// Whether the host, or a tool, has the function.
  bool is_there() const { return next_ != nullptr; }
  /// Whether a tool stands between.
  bool watched() const { return watched_; }
  /// What tells its calls apart; the same for functions of which tools call the one in place of the other.
  const void* call() const { return call_; }

  /// next: null if neither the host nor a tool has the function. host: the host's own.
  void set(const char* name, void* next, void* host, bool watched) {
    name_ = name;
    next_ = reinterpret_cast<int (*)(Arguments...)>(next);
    host_ = reinterpret_cast<int (*)(Arguments...)>(host);
    watched_ = watched;
  }
  /// Of two functions of which tools may call the one in place of the other, though they watch only one of them.
  template <class Other>
  void is_called_as(NextFunction<Other>& other) {
    call_ = other.call_;
    watched_ = other.watched_ = watched_ || other.watched_;
  }

 private:
  template <class Other>
  friend class NextFunction;

  int (*next_)(Arguments...) = nullptr;
  int (*host_)(Arguments...) = nullptr;
  const void* call_ = this;
  const char* name_ = "";
  bool watched_ = false;
};

}  // namespace tutti::mpi
