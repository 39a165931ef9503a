#define _GNU_SOURCE
#include "sum.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static const char* carried_out_by(void) {
  int (*last_choice)(char*, int, char*, int) = NULL;
  char algorithm[64] = "", mechanism[64] = "";
  void* found = dlsym(RTLD_DEFAULT, "tutti_last_choice");
  memcpy(&last_choice, &found, sizeof found);
  if (!last_choice || last_choice(algorithm, sizeof algorithm, mechanism, sizeof mechanism) != 0) return "nobody";
  return strcmp(algorithm, "host") == 0 ? "host" : "tutti";
}

int sum_of_ranks(const char* name) {
  int rank = 0, size = 0, own = 0, sum = 0, provided = 0, initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  own = rank + 1;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const char* by = carried_out_by();
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Barrier(copy);
  MPI_Comm_free(&copy);
  printf("%s: rank %d of %d, sum %d, by %s\n", name, rank, size, sum, by);
  fflush(stdout);
  return sum == size * (size + 1) / 2 ? 0 : 1;
}

int finish(void) {
  return MPI_Finalize();
}
