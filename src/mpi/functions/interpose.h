// What the files of interposed functions share.
#pragma once

#include <utility>

#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/host.h"
#include "mpi/report/explain.h"
#include "mpi/report/last_call.h"
#include "mpi/requests/requests.h"
#include "mpi/wait/end_job.h"
#include "mpi/wait/host_turns.h"

#define TUTTI_EXPORT extern "C" __attribute__((visibility("default")))

namespace tutti::mpi {

/// The call by the host, of a function that starts something. It is no operation of ours; that there was one is remembered.
template <class Forward, class... Arguments>
int started_by_host(Forward& forward, Arguments... arguments) {
  // Functions of the program that it runs may call us again.
  const Refusal why = std::exchange(refusal, Refusal::arguments);
  const int code = forward(arguments...);
  remember_host();
  refusal = why;
  return code;
}

}  // namespace tutti::mpi
