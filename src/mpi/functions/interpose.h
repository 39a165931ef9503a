// What the files of interposed functions share.
#pragma once

#include <cstdint>
#include <exception>
#include <tuple>
#include <utility>

#include "collectives/collectives.h"
#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/host.h"
#include "mpi/report/explain.h"
#include "mpi/report/last_call.h"
#include "mpi/requests/form.h"
#include "mpi/requests/requests.h"
#include "mpi/wait/end_job.h"
#include "mpi/wait/host_turns.h"

#define TUTTI_EXPORT extern "C" __attribute__((visibility("default")))

namespace tutti::mpi {

/// For the handler of whatever a collective of the core has thrown: what guarded() returns, and the code. Exceptions of the
/// program go on.
bool ended_by_exception(MPI_Comm communicator, const char* const& function, int& code);

/// Runs a collective of the core that sets `code`. function: of MPI. If the ranks turn out to be in different calls, the error
/// handler of the communicator is called as the host would for too little room. If it is because the program has revoked the
/// communicator, the call becomes the host's, which has an error of its own for it. An error of the host in a message
/// between nodes is that of the call, and of all later ones. What else goes wrong, before others wait for this rank or when
/// they do so no more, is an error of this rank's.
template <class Call>
bool guarded(MPI_Comm communicator, const char* const& function, int& code, Call&& call) {
  try {
    return call();
  } catch (...) {
    return ended_by_exception(communicator, function, code);
  }
}

/// The call by the host. It is no operation of ours, whether the host carries it out or refuses it; that there was one
/// is remembered.
template <class Forward, class... Arguments>
int by_host(MPI_Comm communicator, Forward& forward, Arguments... arguments) {
  given_to_host(communicator);
  // Functions of the program that it runs may call us again.
  const Refusal why = std::exchange(refusal, Refusal::arguments);
  const int code = forward(arguments...);
  remember_host();
  refusal = why;
  if (code != MPI_SUCCESS) [[unlikely]]
    refused_by_host(communicator);
  return code;
}

/// The same of what is started only: it is no operation among the blocking ones.
template <class Forward, class... Arguments>
int started_by_host(Forward& forward, Arguments... arguments) {
  const Refusal why = std::exchange(refusal, Refusal::arguments);
  const int code = forward(arguments...);
  remember_host();
  refusal = why;
  return code;
}

/// `ours` describes the call (mpi/requests/form.h), and returns false if it is the host's. It takes the same arguments as
/// the host's function, of which the last is the communicator, and the form.
template <class Ours, class Forward, class... Arguments>
int ours_or(Ours ours, Forward& forward, Arguments... arguments) {
  const MPI_Comm communicator = std::get<sizeof...(arguments) - 1>(std::tie(arguments...));
  const std::uint64_t begin = explain::counting ? explain::begin_call() : 0;
  requests.drive();
  int code = MPI_SUCCESS;
  Blocking form(code);
  const bool done = guarded(communicator, forward.name(), code, [&] { return ours(arguments..., form); });
  if (!done) code = by_host(communicator, forward, arguments...);
  if (begin) [[unlikely]]
    explain::end_call(communicator, &forward, begin, code);
  if (done)
    host_turns.after_call();
  else
    refusal = Refusal::arguments;
  return code;
}

}  // namespace tutti::mpi
