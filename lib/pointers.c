/* Memory of neighbours: what a program allocates for them, and where it finds theirs. */
#include <stdlib.h>

#include "common.h"
#include "library.h"

/* A handle of an address alone, which helps its own rank only: the kind in the high byte, as the library has it. */
static const uint64_t direct = (uint64_t)4 << 56;
static const uint64_t address_mask = ((uint64_t)1 << 56) - 1;

int TUTTI_Alloc(MPI_Aint bytes, void* baseptr) {
  void** const base = baseptr;
  if (bytes < 0 || !base) return failed_alone("TUTTI_Alloc", MPI_ERR_ARG, "bytes or baseptr is wrong");
  const size_t room = bytes ? (size_t)bytes : 1;
  if (!tutti_library_allocate(room, base)) *base = malloc(room);
  return *base ? MPI_SUCCESS : failed_alone("TUTTI_Alloc", MPI_ERR_NO_MEM, "there is no memory");
}

int TUTTI_Free(void* base) {
  if (base && !tutti_library_release(base)) free(base);
  return MPI_SUCCESS;
}

int TUTTI_Peer_handle(const void* address, MPI_Aint bytes, TUTTI_Handle* handle) {
  if (bytes < 0 || !handle) return failed_alone("TUTTI_Peer_handle", MPI_ERR_ARG, "bytes or handle is wrong");
  if (!tutti_library_handle_of(address, (size_t)bytes, handle)) *handle = direct | ((uintptr_t)address & address_mask);
  return MPI_SUCCESS;
}

/* Whether it is this rank's number among those that `comm` sends to; an error if it is none of them. */
static int is_own(MPI_Comm comm, int rank, int* is) {
  int between = 0, own = 0, ranks = 0;
  MPI_Comm_test_inter(comm, &between);
  MPI_Comm_rank(comm, &own);
  if (between)
    MPI_Comm_remote_size(comm, &ranks);
  else
    MPI_Comm_size(comm, &ranks);
  *is = !between && rank == own;
  return rank >= 0 && rank < ranks ? MPI_SUCCESS : MPI_ERR_RANK;
}

int TUTTI_Peer_pointer(MPI_Comm comm, int rank, TUTTI_Handle handle, MPI_Aint bytes, void* pointer) {
  static const char name[] = "TUTTI_Peer_pointer";
  void** const found = pointer;
  int own = 0;
  if (!found) return failed_alone(name, MPI_ERR_ARG, "there is no room for the pointer");
  *found = NULL;
  if (comm == MPI_COMM_NULL) return failed_on(comm, name, MPI_ERR_COMM, "");
  if (bytes < 0) return failed_on(comm, name, MPI_ERR_COUNT, "bytes are less than 0");
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (is_own(comm, rank, &own) != MPI_SUCCESS) return failed_on(comm, name, MPI_ERR_RANK, "there is no such rank");
  if (handle >> 56 == direct >> 56) {
    if (own) *found = (void*)(uintptr_t)(handle & address_mask);
    return MPI_SUCCESS;
  }
  if (!tutti_library_pointer_to(comm, rank, handle, (size_t)bytes, found)) *found = NULL;
  return MPI_SUCCESS;
}
