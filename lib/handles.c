/* The same for Fortran and Python: communicators are the integers that Fortran has for them, of a status the source and the
 * tag are all that is told. */
#include "tutti.h"

/* The standard's ABI knows no Fortran, but the same integers. */
#ifdef MPI_ABI_VERSION
#define MPI_Comm_f2c MPI_Comm_fromint
#endif

static void tell(const MPI_Status* status, int code, int where[2]) {
  if (!where || code != MPI_SUCCESS) return;
  where[0] = status->MPI_SOURCE;
  where[1] = status->MPI_TAG;
}

int TUTTI_Peer_pointer_f(int comm, int rank, TUTTI_Handle handle, MPI_Aint bytes, void* pointer) {
  return TUTTI_Peer_pointer(MPI_Comm_f2c(comm), rank, handle, bytes, pointer);
}

int TUTTI_Give_f(void* block, MPI_Aint bytes, int rank, int tag, int comm) {
  return TUTTI_Give(block, bytes, rank, tag, MPI_Comm_f2c(comm));
}

int TUTTI_Igive_f(void* block, MPI_Aint bytes, int rank, int tag, int comm, TUTTI_Request* request) {
  return TUTTI_Igive(block, bytes, rank, tag, MPI_Comm_f2c(comm), request);
}

int TUTTI_Take_f(void* block, MPI_Aint* bytes, int rank, int tag, int comm, int where[2]) {
  MPI_Status status;
  const int code = TUTTI_Take(block, bytes, rank, tag, MPI_Comm_f2c(comm), &status);
  tell(&status, code, where);
  return code;
}

int TUTTI_Itake_f(void* block, MPI_Aint* bytes, int rank, int tag, int comm, TUTTI_Request* request) {
  return TUTTI_Itake(block, bytes, rank, tag, MPI_Comm_f2c(comm), request);
}

int TUTTI_Wait_f(TUTTI_Request* request, int where[2]) {
  MPI_Status status;
  const int code = TUTTI_Wait(request, &status);
  tell(&status, code, where);
  return code;
}

int TUTTI_Test_f(TUTTI_Request* request, int* flag, int where[2]) {
  MPI_Status status;
  const int code = TUTTI_Test(request, flag, &status);
  if (*flag) tell(&status, code, where);
  return code;
}
