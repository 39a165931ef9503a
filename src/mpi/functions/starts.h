// MPI's nonblocking and persistent collectives, made from the descriptions of the blocking ones. Their arguments are those
// of the host's function, so that no prototype has to be written out again: what is handed over to libtutti.so are pointers.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "mpi/communicators.h"
#include "mpi/functions/interpose.h"
#include "mpi/host.h"
#include "mpi/requests/form.h"
#include "mpi/requests/requests.h"
#include "preload/functions.h"

namespace tutti::mpi {

/// Our functions that start something, by their names without MPI_.
struct Starts {
#define TUTTI_MEMBER(name) decltype(&::MPI_##name) name;
  TUTTI_INTERPOSED_STARTS(TUTTI_MEMBER)
#undef TUTTI_MEMBER
#define TUTTI_MEMBER(name) decltype(&::MPI_##name) X_##name;
  TUTTI_INTERPOSED_INITS(TUTTI_MEMBER)
#undef TUTTI_MEMBER
};

// Each sets some of them.
void add_starts_of_messages(Starts& starts);
void add_starts_of_scans(Starts& starts);
void add_starts_of_blocks(Starts& starts);
void add_starts_of_neighbors(Starts& starts);

/// A call of a function that starts something, whatever its arguments are.
template <class Form>
struct StartCall {
  const void* function;  ///< its NextFunction
  const char* const& name;
  MPI_Comm communicator;
  MPI_Request* request;
  const void* arguments;
  bool (*describe)(const void* arguments, Form& form);
  int (*by_host)(const void* arguments);

  [[gnu::noinline]] int run() const {
    const std::uint64_t begin = explain::counting ? explain::begin_call() : 0;
    int code = MPI_SUCCESS;
    CommunicatorState* const state =
        request ? state_to_start_on(communicator, std::is_same_v<Form, Persistent>) : nullptr;
    bool ours = false;
    if (state)
      ours = guarded(communicator, name, code, [&] {
        Form form(communicator, *state);
        if (!describe(arguments, form)) return false;
        code = form.hand_over(request);
        return true;
      });
    if (!ours) code = by_host(arguments);
    if (begin) [[unlikely]]
      explain::end_call(communicator, function, begin, code);
    if (!ours) refusal = Refusal::arguments;
    return code;
  }
};

/// Calls `describe` with the first of the arguments and the form.
template <class Form, auto describe, class All, std::size_t... place>
bool described_by(const void* arguments, Form& form, std::index_sequence<place...>) {
  return describe(std::get<place>(*static_cast<const All*>(arguments))..., form);
}
template <class Form, auto describe, class All, std::size_t count>
bool described_by_first(const void* arguments, Form& form) {
  return described_by<Form, describe, All>(arguments, form, std::make_index_sequence<count>());
}

/// `describe` is a description with the form: its arguments are those of the host's function up to the communicator, and
/// then the form. What comes after the communicator is an MPI_Info, if the call is persistent, and the request.
template <class Form, auto member, auto describe, class... Arguments>
struct Start {
  static int call(Arguments... arguments) {
    const All all(arguments...);
    return StartCall<Form>{&(next.*member),
                           (next.*member).name(),
                           std::get<sizeof...(Arguments) - behind - 1>(all),
                           std::get<sizeof...(Arguments) - 1>(all),
                           &all,
                           described_by_first<Form, describe, All, sizeof...(Arguments) - behind>,
                           by_host}
        .run();
  }

 private:
  using All = std::tuple<Arguments...>;
  static constexpr std::size_t behind = std::is_same_v<Form, Persistent> ? 2 : 1;

  static int by_host(const void* arguments) {
    return std::apply([](auto... given) { return started_by_host(next.*member, given...); },
                      *static_cast<const All*>(arguments));
  }
};

template <class Form, auto member, auto describe, class... Arguments>
constexpr auto start_for(const NextFunction<int(Arguments...)>&) -> int (*)(Arguments...) {
  return &Start<Form, member, describe, Arguments...>::call;
}

// In a function that is given `starts`: both forms of what is described by a template over the form and more. One of these
// for functions with MPI_Count, which have no third name.
#define TUTTI_SET_START(Form, name, described, ...) \
  starts.name = start_for<Form, &Next::name, &described<Form __VA_OPT__(, ) __VA_ARGS__>>(next.name)
#define TUTTI_LARGE_START(nonblocking, persistent, ...)   \
  TUTTI_SET_START(Nonblocking, nonblocking, __VA_ARGS__); \
  TUTTI_SET_START(Persistent, persistent, __VA_ARGS__)
#define TUTTI_START(nonblocking, persistent, ...)          \
  TUTTI_LARGE_START(nonblocking, persistent, __VA_ARGS__); \
  TUTTI_SET_START(Persistent, X_##persistent, __VA_ARGS__)

}  // namespace tutti::mpi
