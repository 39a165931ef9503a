/* What the functions of tutti.h share. All of it is hidden in the archive. */
#ifndef TUTTI_COMMON_H
#define TUTTI_COMMON_H

#include <dlfcn.h>
#include <stdio.h>

#include "tutti.h"

/* Of libtutti.so; NULL without it. */
static inline void* of_tutti(const char* name) {
  return dlsym(RTLD_DEFAULT, name);
}

/* An error that there is no communicator for. MPI before its version 4 raised such errors on MPI_COMM_WORLD. */
static inline int failed_alone(const char* function, int code, const char* why) {
  int there_is_mpi = 0;
  fprintf(stderr, "%s: %s\n", function, why);
  MPI_Initialized(&there_is_mpi);
  if (there_is_mpi) MPI_Comm_call_errhandler(MPI_VERSION >= 4 ? MPI_COMM_SELF : MPI_COMM_WORLD, code);
  return code;
}

/* An error of this rank alone. */
static inline int failed_on(MPI_Comm comm, const char* function, int code, const char* why) {
  if (comm == MPI_COMM_NULL) return failed_alone(function, MPI_ERR_COMM, "MPI_COMM_NULL is no communicator");
  fprintf(stderr, "%s: %s\n", function, why);
  MPI_Comm_call_errhandler(comm, code);
  return code;
}

#endif
