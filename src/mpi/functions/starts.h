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

/// `describe` is a description with the form: its arguments are those of the host's function up to the communicator, and
/// then the form. What comes after the communicator is an MPI_Info, if the call is persistent, and the request.
template <class Form, auto member, auto describe, class... Arguments>
struct Start {
  static int call(Arguments... arguments) {
    const auto all = std::tie(arguments...);
    return with(all, std::make_index_sequence<sizeof...(arguments) - behind>());
  }

 private:
  static constexpr bool is_persistent = std::is_same_v<Form, Persistent>;
  static constexpr std::size_t behind = is_persistent ? 2 : 1;

  template <class All, std::size_t... described>
  static int with(const All& all, std::index_sequence<described...>) {
    const auto& forward = next.*member;
    const MPI_Comm communicator = std::get<sizeof...(described) - 1>(all);
    MPI_Request* const request = std::get<sizeof...(Arguments) - 1>(all);
    const std::uint64_t begin = explain::counting ? explain::begin_call() : 0;
    int code = MPI_SUCCESS;
    CommunicatorState* const state = request ? state_to_start_on(communicator, is_persistent) : nullptr;
    bool ours = false;
    if (state)
      ours = guarded(communicator, forward.name(), code, [&] {
        Form form(communicator, *state);
        if (!describe(std::get<described>(all)..., form)) return false;
        code = form.hand_over(request);
        return true;
      });
    if (!ours) code = std::apply([&](auto... given) { return started_by_host(forward, given...); }, all);
    if (begin) [[unlikely]]
      explain::end_call(communicator, &forward, begin, code);
    if (!ours) refusal = Refusal::arguments;
    return code;
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
