// Windows of MPI's one-sided functions, and buffers of MPI_Bsend: as long as there are any, peers may need this rank to be
// in the host, or the host needs to be called to free what has been sent, though nobody waits in it.

#include "mpi/functions/interpose.h"
#include "mpi/host.h"
#include "mpi/wait/host_turns.h"

namespace tutti::mpi {

namespace {

constexpr auto need_begins = [](int code, auto...) {
  if (code == MPI_SUCCESS) host_turns.begin_need();
  return code;
};
constexpr auto need_ends = [](int code, auto...) {
  if (code == MPI_SUCCESS) host_turns.end_need();
  return code;
};

}  // namespace

void add_host_needs(OurFunctions& functions) {
  TUTTI_AFTER_HOST(Buffer_attach, need_begins);
  TUTTI_AFTER_HOST(Buffer_attach_c, need_begins);
  TUTTI_AFTER_HOST(Comm_attach_buffer, need_begins);
  TUTTI_AFTER_HOST(Comm_attach_buffer_c, need_begins);
  TUTTI_AFTER_HOST(Win_create, need_begins);
  TUTTI_AFTER_HOST(Win_create_c, need_begins);
  TUTTI_AFTER_HOST(Win_allocate, need_begins);
  TUTTI_AFTER_HOST(Win_allocate_c, need_begins);
  TUTTI_AFTER_HOST(Win_allocate_shared, need_begins);
  TUTTI_AFTER_HOST(Win_allocate_shared_c, need_begins);
  TUTTI_AFTER_HOST(Win_create_dynamic, need_begins);
  TUTTI_AFTER_HOST(Buffer_detach, need_ends);
  TUTTI_AFTER_HOST(Buffer_detach_c, need_ends);
  TUTTI_AFTER_HOST(Comm_detach_buffer, need_ends);
  TUTTI_AFTER_HOST(Comm_detach_buffer_c, need_ends);
  TUTTI_AFTER_HOST(Win_free, need_ends);
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

/// MPICH looks whether the origins have completed before it takes what has arrived. In a collective of its own it would
/// have taken it, and programs that met the origins in one rely on that.
TUTTI_EXPORT int MPI_Win_test(MPI_Win win, int* flag) {
  const int code = next.Win_test(win, flag);
  return code == MPI_SUCCESS && job() && flag && !*flag ? next.Win_test(win, flag) : code;
}
