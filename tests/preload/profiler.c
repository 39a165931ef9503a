/* A profiler for MPI in the manner that the standard describes: it counts calls and hands them to the second names of
   the functions. It also calls some for itself, and starts MPI by another function than it was asked by. Preloaded, or
   linked into the program. */
#include <mpi.h>
#include <stdio.h>

static int sums = 0, copies = 0, barriers = 0, frees = 0;

int MPI_Init_thread(int* count, char*** words, int required, int* provided) {
  (void)required;
  const int code = PMPI_Init(count, words);
  PMPI_Query_thread(provided);
  int own = 1, all = 0;
  PMPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  PMPI_Barrier(MPI_COMM_WORLD);
  return code;
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm) {
  ++sums;
  return PMPI_Allreduce(send, receive, count, type, operation, comm);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
  ++copies;
  return PMPI_Comm_dup(comm, copy);
}

int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}

int MPI_Comm_free(MPI_Comm* comm) {
  ++frees;
  return PMPI_Comm_free(comm);
}

int MPI_Finalize(void) {
  int all = 0;
  PMPI_Reduce(&sums, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  printf("profiler: %d sums, %d copies, %d barriers, %d frees\n", sums, copies, barriers, frees);
  fflush(stdout);
  return PMPI_Finalize();
}
