/* The same for Fortran and Python: communicators are the integers that Fortran has for them, of a status the source and the
 * tag are all that is told. */
#include "tutti.h"

/* The standard's ABI knows no Fortran, but the same integers. */
#ifdef MPI_ABI_VERSION
#define MPI_Comm_f2c MPI_Comm_fromint
#define MPI_Type_f2c MPI_Type_fromint
#define MPI_Op_f2c MPI_Op_fromint
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

/* Of teams. */
#define TYPE MPI_Type_f2c
#define OP MPI_Op_f2c

int TUTTI_Team_create_f(int comm, int threads, TUTTI_Team* team) {
  return TUTTI_Team_create(MPI_Comm_f2c(comm), threads, team);
}

void* TUTTI_In_place_f(void) {
  return MPI_IN_PLACE;
}

#define LIST(...) __VA_ARGS__
#define COLLECTIVE(name, parameters, arguments)                                          \
  int TUTTI_Team_##name##_f(LIST parameters, TUTTI_Team team) {                          \
    return TUTTI_Team_##name(LIST arguments, team);                                      \
  }                                                                                      \
  int TUTTI_Team_i##name##_f(LIST parameters, TUTTI_Team team, TUTTI_Request* request) { \
    return TUTTI_Team_i##name(LIST arguments, team, request);                            \
  }

COLLECTIVE(bcast, (void* buffer, MPI_Count count, int datatype, int root), (buffer, count, TYPE(datatype), root))
COLLECTIVE(reduce, (const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op, int root),
           (sendbuf, recvbuf, count, TYPE(datatype), OP(op), root))
COLLECTIVE(allreduce, (const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op),
           (sendbuf, recvbuf, count, TYPE(datatype), OP(op)))
COLLECTIVE(reduce_scatter_block, (const void* sendbuf, void* recvbuf, MPI_Count recvcount, int datatype, int op),
           (sendbuf, recvbuf, recvcount, TYPE(datatype), OP(op)))
COLLECTIVE(scan, (const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op),
           (sendbuf, recvbuf, count, TYPE(datatype), OP(op)))
COLLECTIVE(exscan, (const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op),
           (sendbuf, recvbuf, count, TYPE(datatype), OP(op)))
COLLECTIVE(gather,
           (const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount, int recvtype,
            int root),
           (sendbuf, sendcount, TYPE(sendtype), recvbuf, recvcount, TYPE(recvtype), root))
COLLECTIVE(gatherv,
           (const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, const int recvcounts[],
            const int displs[], int recvtype, int root),
           (sendbuf, sendcount, TYPE(sendtype), recvbuf, recvcounts, displs, TYPE(recvtype), root))
COLLECTIVE(scatter,
           (const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount, int recvtype,
            int root),
           (sendbuf, sendcount, TYPE(sendtype), recvbuf, recvcount, TYPE(recvtype), root))
COLLECTIVE(scatterv,
           (const void* sendbuf, const int sendcounts[], const int displs[], int sendtype, void* recvbuf,
            MPI_Count recvcount, int recvtype, int root),
           (sendbuf, sendcounts, displs, TYPE(sendtype), recvbuf, recvcount, TYPE(recvtype), root))
COLLECTIVE(allgather,
           (const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount, int recvtype),
           (sendbuf, sendcount, TYPE(sendtype), recvbuf, recvcount, TYPE(recvtype)))
COLLECTIVE(allgatherv,
           (const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, const int recvcounts[],
            const int displs[], int recvtype),
           (sendbuf, sendcount, TYPE(sendtype), recvbuf, recvcounts, displs, TYPE(recvtype)))
COLLECTIVE(alltoall,
           (const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount, int recvtype),
           (sendbuf, sendcount, TYPE(sendtype), recvbuf, recvcount, TYPE(recvtype)))
COLLECTIVE(alltoallv,
           (const void* sendbuf, const int sendcounts[], const int sdispls[], int sendtype, void* recvbuf,
            const int recvcounts[], const int rdispls[], int recvtype),
           (sendbuf, sendcounts, sdispls, TYPE(sendtype), recvbuf, recvcounts, rdispls, TYPE(recvtype)))
