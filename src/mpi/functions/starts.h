// MPI's nonblocking collectives, made from the descriptions of the blocking ones. Their arguments are those of the host's
// function, so that no prototype has to be written out again: what is handed over to libtutti.so are pointers.
#pragma once

#include <cstddef>
#include <tuple>
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
};

// Each sets some of them.
void add_starts_of_messages(Starts& starts);
void add_starts_of_scans(Starts& starts);
void add_starts_of_blocks(Starts& starts);
void add_starts_of_neighbors(Starts& starts);

/// `describe` is a description with the form Nonblocking: its arguments are those of the host's function but for the last,
/// the request, in whose place it gets the form.
template <auto member, auto describe, class... Arguments>
struct Start {
  static int call(Arguments... arguments) {
    const auto all = std::tie(arguments...);
    return with(all, std::make_index_sequence<sizeof...(arguments) - 1>());
  }

 private:
  template <class All, std::size_t... described>
  static int with(const All& all, std::index_sequence<described...>) {
    const auto& forward = next.*member;
    const MPI_Comm communicator = std::get<sizeof...(described) - 1>(all);
    MPI_Request* const request = std::get<sizeof...(described)>(all);
    const std::uint64_t begin = explain::counting ? explain::begin_call() : 0;
    int code = MPI_SUCCESS;
    CommunicatorState* const state = request ? state_to_start_on(communicator) : nullptr;
    bool ours = false;
    if (state) {
      Nonblocking form(communicator, *state);
      ours = guarded(communicator, code, [&] { return describe(std::get<described>(all)..., form); });
      if (ours) code = requests.start(form.take_request(), request);
    }
    if (!ours) code = started_by_host(forward, std::get<described>(all)..., request);
    if (begin) [[unlikely]]
      explain::end_call(communicator, &forward, begin, code);
    if (!ours) refusal = Refusal::arguments;
    return code;
  }
};

template <auto member, auto describe, class... Arguments>
constexpr auto start_for(const NextFunction<int(Arguments...)>&) -> int (*)(Arguments...) {
  return &Start<member, describe, Arguments...>::call;
}

/// In a function that is given `starts`.
#define TUTTI_START(name, ...) starts.name = start_for<&Next::name, &__VA_ARGS__>(next.name)

}  // namespace tutti::mpi
