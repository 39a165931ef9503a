// In place of Open MPI's next release, which is no package yet: libmpi.so.0 with the objects of Open MPI's ABI, and
// with the functions of MPI 4. Behind it stands Open MPI 5, as libopen_mpi.so.0 does behind the real one.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "mpi/newer_functions.h"

#define SHOWN extern "C" __attribute__((visibility("default")))

namespace {

template <class Function>
Function* behind(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (!found) std::abort();
  Function* function = nullptr;
  std::memcpy(&function, &found, sizeof found);
  return function;
}

/// One number for each rank.
template <class Number>
std::vector<int> ints(const Number* numbers, MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  std::vector<int> all;
  for (int i = 0; i < size; ++i) all.push_back(static_cast<int>(numbers[i]));
  return all;
}

}  // namespace

SHOWN int PMPI_Init(int* argc, char*** argv) {
  return behind<int(int*, char***)>("PMPI_Init")(argc, argv);
}
SHOWN int MPI_Init(int* argc, char*** argv) {
  return PMPI_Init(argc, argv);
}

SHOWN int MPI_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  return PMPI_Bcast(buffer, static_cast<int>(count), type, root, comm);
}
SHOWN int MPI_Allreduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op operation,
                          MPI_Comm comm) {
  return PMPI_Allreduce(send, receive, static_cast<int>(count), type, operation, comm);
}
SHOWN int MPI_Alltoallv_c(const void* send, const MPI_Count sent[], const MPI_Aint from[], MPI_Datatype send_type,
                          void* receive, const MPI_Count received[], const MPI_Aint to[], MPI_Datatype type,
                          MPI_Comm comm) {
  return PMPI_Alltoallv(send, ints(sent, comm).data(), ints(from, comm).data(), send_type, receive,
                        ints(received, comm).data(), ints(to, comm).data(), type, comm);
}
