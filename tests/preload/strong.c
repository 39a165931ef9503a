/* A library that needs a function which its MPI lacks, and calls it if the variable CALL is set. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "sum.h"

extern int lacking(void) __asm__(LACKING);

int sum_of_ranks(const char* name) {
  int provided = 0;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided);
  if (getenv("CALL")) return lacking();
  printf("%s: not called\n", name);
  return 0;
}

int finish(void) {
  return MPI_Finalize();
}
