// Windows of MPI's one-sided functions, and buffers of MPI_Bsend: as long as there are any, peers may need this rank to be
// in the host, or the host needs to be called to free what has been sent, though nobody waits in it.

#include "mpi/functions/interpose.h"
#include "mpi/host.h"
#include "mpi/wait/host_turns.h"

using tutti::mpi::host_turns;
using tutti::mpi::next;

namespace {

int begun(int code) {
  if (code == MPI_SUCCESS) host_turns.begin_need();
  return code;
}

int ended(int code) {
  if (code == MPI_SUCCESS) host_turns.end_need();
  return code;
}

}  // namespace

TUTTI_EXPORT int MPI_Buffer_attach(void* buffer, int size) {
  return begun(next.Buffer_attach(buffer, size));
}
TUTTI_EXPORT int MPI_Buffer_attach_c(void* buffer, MPI_Count size) {
  return begun(next.Buffer_attach_c(buffer, size));
}
TUTTI_EXPORT int MPI_Buffer_detach(void* buffer_addr, int* size) {
  return ended(next.Buffer_detach(buffer_addr, size));
}
TUTTI_EXPORT int MPI_Buffer_detach_c(void* buffer_addr, MPI_Count* size) {
  return ended(next.Buffer_detach_c(buffer_addr, size));
}
TUTTI_EXPORT int MPI_Comm_attach_buffer(MPI_Comm comm, void* buffer, int size) {
  return begun(next.Comm_attach_buffer(comm, buffer, size));
}
TUTTI_EXPORT int MPI_Comm_attach_buffer_c(MPI_Comm comm, void* buffer, MPI_Count size) {
  return begun(next.Comm_attach_buffer_c(comm, buffer, size));
}
TUTTI_EXPORT int MPI_Comm_detach_buffer(MPI_Comm comm, void* buffer_addr, int* size) {
  return ended(next.Comm_detach_buffer(comm, buffer_addr, size));
}
TUTTI_EXPORT int MPI_Comm_detach_buffer_c(MPI_Comm comm, void* buffer_addr, MPI_Count* size) {
  return ended(next.Comm_detach_buffer_c(comm, buffer_addr, size));
}

TUTTI_EXPORT int MPI_Win_create(void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return begun(next.Win_create(base, size, disp_unit, info, comm, win));
}
TUTTI_EXPORT int MPI_Win_create_c(void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                                  MPI_Win* win) {
  return begun(next.Win_create_c(base, size, disp_unit, info, comm, win));
}
TUTTI_EXPORT int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                                  MPI_Win* win) {
  return begun(next.Win_allocate(size, disp_unit, info, comm, baseptr, win));
}
TUTTI_EXPORT int MPI_Win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                                    MPI_Win* win) {
  return begun(next.Win_allocate_c(size, disp_unit, info, comm, baseptr, win));
}
TUTTI_EXPORT int MPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                                         MPI_Win* win) {
  return begun(next.Win_allocate_shared(size, disp_unit, info, comm, baseptr, win));
}
TUTTI_EXPORT int MPI_Win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                                           void* baseptr, MPI_Win* win) {
  return begun(next.Win_allocate_shared_c(size, disp_unit, info, comm, baseptr, win));
}
TUTTI_EXPORT int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return begun(next.Win_create_dynamic(info, comm, win));
}
TUTTI_EXPORT int MPI_Win_free(MPI_Win* win) {
  return ended(next.Win_free(win));
}

/// MPICH looks whether the origins have completed before it takes what has arrived. In a collective of its own it would
/// have taken it, and programs that met the origins in one rely on that.
TUTTI_EXPORT int MPI_Win_test(MPI_Win win, int* flag) {
  const int code = next.Win_test(win, flag);
  return code == MPI_SUCCESS && tutti::mpi::job() && flag && !*flag ? next.Win_test(win, flag) : code;
}
