// Our functions of MPI, as they are handed over to libtutti.so, and what the files that have them share.
#pragma once

#include <utility>

#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/host.h"
#include "mpi/report/explain.h"
#include "mpi/report/last_call.h"
#include "mpi/report/profile.h"
#include "mpi/requests/requests.h"
#include "mpi/wait/end_job.h"
#include "mpi/wait/host_turns.h"
#include "preload/functions.h"

#define TUTTI_EXPORT extern "C" __attribute__((visibility("default")))

namespace tutti::mpi {

/// Our functions, by their names without MPI_ and MPIX_; X_Bcast_init is MPIX_Bcast_init.
struct OurFunctions {
#define TUTTI_MEMBER(name) decltype(&::MPI_##name) name;
  TUTTI_INTERPOSED(TUTTI_MEMBER)
#undef TUTTI_MEMBER
#define TUTTI_MEMBER(name) decltype(&::MPI_##name) X_##name;
  TUTTI_INTERPOSED_INITS(TUTTI_MEMBER)
#undef TUTTI_MEMBER
};

// Each sets some of them. The others are written out (preload/functions.h).
void add_bcast(OurFunctions& functions);
void add_reductions(OurFunctions& functions);
void add_blocks(OurFunctions& functions);
void add_communicators(OurFunctions& functions);
void add_host_needs(OurFunctions& functions);

/// The host's function, and something after it: after(code, arguments...) returns the code.
template <auto member, auto after, class... Arguments>
struct AfterHost {
  static int call(Arguments... arguments) { return after((next.*member)(arguments...), arguments...); }
};

template <auto member, auto after, class... Arguments>
void set_after_host(int (*&function)(Arguments...)) {
  function = &AfterHost<member, after, Arguments...>::call;
}
// Where there are `functions`.
#define TUTTI_AFTER_HOST(name, after) set_after_host<&Next::name, after>(functions.name)

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
