/* A profiler of the functions that complete several requests: how often they were called. Preloaded. */
#include <mpi.h>
#include <stdio.h>

static int waits = 0, tests = 0;

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++waits;
  return PMPI_Wait(request, status);
}

int MPI_Waitall(int count, MPI_Request all[], MPI_Status statuses[]) {
  ++waits;
  return PMPI_Waitall(count, all, statuses);
}

int MPI_Waitany(int count, MPI_Request all[], int* index, MPI_Status* status) {
  ++waits;
  return PMPI_Waitany(count, all, index, status);
}

/* Some ask by another function than they were asked by. */
int MPI_Waitsome(int count, MPI_Request all[], int* done, int indices[], MPI_Status statuses[]) {
  int code = MPI_SUCCESS;
  ++waits;
  do code = PMPI_Testsome(count, all, done, indices, statuses);
  while (code == MPI_SUCCESS && *done == 0);
  return code;
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  ++tests;
  return PMPI_Test(request, flag, status);
}

int MPI_Testall(int count, MPI_Request all[], int* flag, MPI_Status statuses[]) {
  ++tests;
  return PMPI_Testall(count, all, flag, statuses);
}

int MPI_Testany(int count, MPI_Request all[], int* index, int* flag, MPI_Status* status) {
  ++tests;
  return PMPI_Testany(count, all, index, flag, status);
}

int MPI_Testsome(int count, MPI_Request all[], int* done, int indices[], MPI_Status statuses[]) {
  ++tests;
  return PMPI_Testsome(count, all, done, indices, statuses);
}

int MPI_Finalize(void) {
  printf("profiler: %d waits, %d tests\n", waits, tests);
  fflush(stdout);
  return PMPI_Finalize();
}
