/* Teams as libtutti.so has them (src/mpi/teams/), and as programs call them (team.c): a table of functions. */
#ifndef TUTTI_LIB_TEAM_H
#define TUTTI_LIB_TEAM_H

#include "request.h"

/* X(name, (parameters), (arguments)), behind which come the team and, where the call is nonblocking, the request. */
#define TUTTI_TEAM_COLLECTIVES(X)                                                                                      \
  X(bcast, (void* buffer, MPI_Count count, MPI_Datatype datatype, int root), (buffer, count, datatype, root))          \
  X(reduce, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root),         \
    (sendbuf, recvbuf, count, datatype, op, root))                                                                     \
  X(allreduce, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op),                \
    (sendbuf, recvbuf, count, datatype, op))                                                                           \
  X(reduce_scatter, (const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op),    \
    (sendbuf, recvbuf, recvcounts, datatype, op))                                                                      \
  X(reduce_scatter_c,                                                                                                  \
    (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op),              \
    (sendbuf, recvbuf, recvcounts, datatype, op))                                                                      \
  X(reduce_scatter_block, (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op), \
    (sendbuf, recvbuf, recvcount, datatype, op))                                                                       \
  X(scan, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op),                     \
    (sendbuf, recvbuf, count, datatype, op))                                                                           \
  X(exscan, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op),                   \
    (sendbuf, recvbuf, count, datatype, op))                                                                           \
  X(gather,                                                                                                            \
    (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,              \
     MPI_Datatype recvtype, int root),                                                                                 \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))                                                \
  X(gatherv,                                                                                                           \
    (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],           \
     const int displs[], MPI_Datatype recvtype, int root),                                                             \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root))                                       \
  X(gatherv_c,                                                                                                         \
    (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],     \
     const MPI_Aint displs[], MPI_Datatype recvtype, int root),                                                        \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root))                                       \
  X(scatter,                                                                                                           \
    (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,              \
     MPI_Datatype recvtype, int root),                                                                                 \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))                                                \
  X(scatterv,                                                                                                          \
    (const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void* recvbuf,            \
     MPI_Count recvcount, MPI_Datatype recvtype, int root),                                                            \
    (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root))                                       \
  X(scatterv_c,                                                                                                        \
    (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype, void* recvbuf, \
     MPI_Count recvcount, MPI_Datatype recvtype, int root),                                                            \
    (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root))                                       \
  X(allgather,                                                                                                         \
    (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,              \
     MPI_Datatype recvtype),                                                                                           \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))                                                      \
  X(allgatherv,                                                                                                        \
    (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],           \
     const int displs[], MPI_Datatype recvtype),                                                                       \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype))                                             \
  X(allgatherv_c,                                                                                                      \
    (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],     \
     const MPI_Aint displs[], MPI_Datatype recvtype),                                                                  \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype))                                             \
  X(alltoall,                                                                                                          \
    (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,              \
     MPI_Datatype recvtype),                                                                                           \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))                                                      \
  X(alltoallv,                                                                                                         \
    (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,           \
     const int recvcounts[], const int rdispls[], MPI_Datatype recvtype),                                              \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype))                                  \
  X(alltoallv_c,                                                                                                       \
    (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,               \
     void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype),                    \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype))                                  \
  X(alltoallw,                                                                                                         \
    (const void* sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,  \
     const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[]),                                     \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes))                                \
  X(alltoallw_c,                                                                                                       \
    (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],      \
     void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]),           \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes))
#define TUTTI_TEAM_LIST(...) __VA_ARGS__

#ifdef __cplusplus
extern "C" {
#endif

/* Each is what TUTTI_Team_ and its name is in tutti.h, but that create() cannot say that Tutti is not there. */
struct TUTTI_Team_functions {
  int (*create)(MPI_Comm comm, int threads, TUTTI_Team* team);
  int (*free)(TUTTI_Team* team);
  int (*attach)(TUTTI_Team team, int thread);
  int (*detach)(TUTTI_Team team);
  int (*rank)(TUTTI_Team team, int* rank);
  int (*size)(TUTTI_Team team, int* size);
  int (*place)(TUTTI_Team team, int rank, TUTTI_Place* place);
  int (*barrier)(TUTTI_Team team);
  int (*ibarrier)(TUTTI_Team team, TUTTI_Request* request);
#define TUTTI_MEMBER(name, parameters, arguments)           \
  int (*name)(TUTTI_TEAM_LIST parameters, TUTTI_Team team); \
  int (*i##name)(TUTTI_TEAM_LIST parameters, TUTTI_Team team, TUTTI_Request * request);
  TUTTI_TEAM_COLLECTIVES(TUTTI_MEMBER)
#undef TUTTI_MEMBER
};

#ifdef __cplusplus
}
#endif

#endif
