/* Communicators that follow the hardware, and teams of threads, for programs in C and C++.
 *
 * What stands here is of two kinds. The constants of MPI_Comm_split_type that the MPI's own header lacks: they mean
 * something where Tutti is loaded, and are refused by the MPI where it is not. And the functions of libtutti-comm, which
 * are made of MPI calls alone: a program that uses them runs with Tutti and without (docs/hardware.md).
 *
 * All functions return MPI_SUCCESS or the error class of what went wrong, after the error handler has been called.
 */
#ifndef TUTTI_H
#define TUTTI_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Split types, the same numbers for each MPI; each means what the type of MPI's with this name does (MPI 4.1,
 * MPI_COMM_SPLIT_TYPE). No MPI has types with such numbers. */
#define TUTTI_COMM_TYPE_HW_GUIDED 0x54555401
#define TUTTI_COMM_TYPE_HW_UNGUIDED 0x54555402
#define TUTTI_COMM_TYPE_RESOURCE_GUIDED 0x54555403

/* Open MPI has the first two as enumerators since 5.0, others as macros since MPI 4.0 and 4.1. */
#if defined(OPEN_MPI)
#if OMPI_MAJOR_VERSION < 5
#define MPI_COMM_TYPE_HW_GUIDED TUTTI_COMM_TYPE_HW_GUIDED
#define MPI_COMM_TYPE_HW_UNGUIDED TUTTI_COMM_TYPE_HW_UNGUIDED
#endif
#if MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION < 1)
#define MPI_COMM_TYPE_RESOURCE_GUIDED TUTTI_COMM_TYPE_RESOURCE_GUIDED
#endif
#elif MPI_VERSION < 5
#ifndef MPI_COMM_TYPE_HW_GUIDED
#define MPI_COMM_TYPE_HW_GUIDED TUTTI_COMM_TYPE_HW_GUIDED
#endif
#ifndef MPI_COMM_TYPE_HW_UNGUIDED
#define MPI_COMM_TYPE_HW_UNGUIDED TUTTI_COMM_TYPE_HW_UNGUIDED
#endif
#ifndef MPI_COMM_TYPE_RESOURCE_GUIDED
#define MPI_COMM_TYPE_RESOURCE_GUIDED TUTTI_COMM_TYPE_RESOURCE_GUIDED
#endif
#endif

/* Whether split types by hardware are served by Tutti in this process: 1 or 0. */
int TUTTI_Loaded(void);

/* MPI_Get_hw_resource_info of MPI 4.1, also with an MPI that has none. Where neither Tutti nor the MPI knows anything,
 * the info is empty. To be freed with MPI_Info_free. */
int TUTTI_Get_hw_resource_info(MPI_Info* hw_info);

/* The ranks of a communicator, cut by the machine, level upon level. Everything has `levels` entries, the outermost
 * level first. What belongs to it is freed by TUTTI_Comm_hierarchy_free. */
typedef struct TUTTI_Hierarchy {
  int levels;         /* at least 1, the same on all ranks */
  MPI_Comm* groups;   /* who shares an object of this level with this rank, within the group one level further out;
                         MPI_COMM_NULL if this rank may run in several of its objects. Its leader is its rank 0. */
  MPI_Comm* conduits; /* the leaders of this level's groups within the group one level further out (for level 0: within
                         the communicator), and those of its ranks that are in no group, each for itself; MPI_COMM_NULL
                         on all others. Whoever leads there is rank 0. */
  char** names;       /* what the levels are called; "" for those that were found unguided */
} TUTTI_Hierarchy;

/* Collective over `comm`, an intracommunicator. Makes the groups and conduits of each level (MPC, section 8).
 *
 * levels: values for mpi_hw_resource_type, separated by commas, the outermost first: "node,Package,L3Cache". NULL or
 *   "auto": all levels that part the ranks, by the unguided split; one group of all ranks if none does.
 * info: MPI_INFO_NULL, or with the key "tutti_leader": "lowest" (the default), the lowest rank leads; "network", the one
 *   nearest to a network card, of equals the lowest rank; or a rank of `comm`, which leads every group that it is in,
 *   beside which the lowest ranks lead. Who leads a group leads all its groups further in, too.
 *
 * levels and info must be the same on all ranks; otherwise the error is MPI_ERR_ARG on all of them.
 */
int TUTTI_Comm_hierarchy(MPI_Comm comm, const char* levels, MPI_Info info, TUTTI_Hierarchy* hierarchy);

/* Collective over the communicator that it was made of: frees the communicators and all that belongs to it. */
int TUTTI_Comm_hierarchy_free(TUTTI_Hierarchy* hierarchy);

/* --- Teams: threads as ranks (docs/teams.md) ---
 *
 * The ranks of a team are threads of all processes of a communicator: those of its rank 0 first, then those of its rank 1,
 * and so on, each in the order of their numbers. Processes may have different numbers of threads. A thread that has
 * attached calls the team's collectives as a process calls MPI's: with MPI's types and operators, each thread with its own
 * arguments, and all of them the same collectives in the same order. Several threads of a process call at the same time.
 *
 * Which calls of MPI a thread may make is another matter. Teams need no more than MPI_THREAD_FUNNELED inside a node. Only
 * types and operators that the program has made, and nonblocking collectives of a team whose processes are on several
 * nodes, need MPI_THREAD_MULTIPLE.
 *
 * Errors are raised on a communicator of the team's own, which has the error handler that `comm` had. */

typedef struct TUTTI_Team_state* TUTTI_Team;
#define TUTTI_TEAM_NULL ((TUTTI_Team)0)

/* Something that was started and is not over. */
typedef struct TUTTI_Request_s* TUTTI_Request;
#define TUTTI_REQUEST_NULL ((TUTTI_Request)0)

/* Collective over `comm`, an intracommunicator, which may be freed afterwards; one thread of each process calls it, in
 * FUNNELED programs the main thread.
 *
 * threads: how many threads this process brings, at least 1; they need not exist yet.
 *
 * MPI_ERR_OTHER if Tutti is not in the process, MPI_ERR_NO_MEM if there is no room for what threads share,
 * on all processes alike. */
int TUTTI_Team_create(MPI_Comm comm, int threads, TUTTI_Team* team);

/* The calling thread becomes thread number `thread` of its process in the team, or, for -1, the first number that nobody
 * has. Where a thread may run (its affinity) is looked at when its number is taken for the first time, for which all
 * threads of the node wait for each other. A thread may detach, and attach again, and another one may take its number:
 * that waits for nobody.
 *
 * MPI_ERR_ARG if the number is taken, or the thread is attached already. MPI_ERR_NO_MEM if another thread could not attach. */
int TUTTI_Team_attach(TUTTI_Team team, int thread);

/* A thread that ends without it ends the team: all calls of others return MPI_ERR_OTHER from then on. */
int TUTTI_Team_detach(TUTTI_Team team);

/* Collective over the processes; one thread of each calls it when all have detached. *team becomes TUTTI_TEAM_NULL, and to
 * free that is an error (MPI_ERR_ARG). */
int TUTTI_Team_free(TUTTI_Team* team);

/* Of the calling thread, which has attached, and of any thread. */
int TUTTI_Team_rank(TUTTI_Team team, int* rank);
int TUTTI_Team_size(TUTTI_Team team, int* size);

/* Where a rank of a team sits. Numbers are those of `tutti topo`; -1: it may run in several, there is no such level, or it is
 * on another node. */
typedef struct TUTTI_Place {
  int process; /* rank in the communicator that the team was made of */
  int thread;  /* number in that process */
  int package, numa, l3, core, unit;
} TUTTI_Place;
/* To be called by a thread that has attached. */
int TUTTI_Team_place(TUTTI_Team team, int rank, TUTTI_Place* place);

/* As MPI's collectives with these names, with the team in the place of the communicator, and MPI_IN_PLACE where those have it
 * (MPI 4.1, chapter 6). The functions with _c have counts and displacements of MPI's large types. A call that has not
 * attached returns MPI_ERR_ARG. */
int TUTTI_Team_barrier(TUTTI_Team team);
int TUTTI_Team_bcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, TUTTI_Team team);
int TUTTI_Team_reduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                      TUTTI_Team team);
int TUTTI_Team_allreduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                         TUTTI_Team team);
int TUTTI_Team_reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                              MPI_Op op, TUTTI_Team team);
int TUTTI_Team_reduce_scatter_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                                MPI_Op op, TUTTI_Team team);
int TUTTI_Team_reduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                    MPI_Op op, TUTTI_Team team);
int TUTTI_Team_scan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                    TUTTI_Team team);
int TUTTI_Team_exscan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                      TUTTI_Team team);
int TUTTI_Team_gather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, int root, TUTTI_Team team);
int TUTTI_Team_gatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, TUTTI_Team team);
int TUTTI_Team_gatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                         TUTTI_Team team);
int TUTTI_Team_scatter(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, int root, TUTTI_Team team);
int TUTTI_Team_scatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                        void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, TUTTI_Team team);
int TUTTI_Team_scatterv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                          MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                          TUTTI_Team team);
int TUTTI_Team_allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         MPI_Count recvcount, MPI_Datatype recvtype, TUTTI_Team team);
int TUTTI_Team_allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          const int recvcounts[], const int displs[], MPI_Datatype recvtype, TUTTI_Team team);
int TUTTI_Team_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                            const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                            TUTTI_Team team);
int TUTTI_Team_alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        MPI_Count recvcount, MPI_Datatype recvtype, TUTTI_Team team);
int TUTTI_Team_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                         void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                         TUTTI_Team team);
int TUTTI_Team_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                           MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                           MPI_Datatype recvtype, TUTTI_Team team);
int TUTTI_Team_alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                         const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[], const int rdispls[],
                         const MPI_Datatype recvtypes[], TUTTI_Team team);
int TUTTI_Team_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                           const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], TUTTI_Team team);

/* The same, nonblocking: as MPI_Ibcast and so on. Calls of one thread go on in its calls of TUTTI_Wait and TUTTI_Test, and
 * while it waits in another call of the team. */
int TUTTI_Team_ibarrier(TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_ibcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, TUTTI_Team team,
                      TUTTI_Request* request);
int TUTTI_Team_ireduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                       TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iallreduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                          TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_ireduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                               MPI_Op op, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_ireduce_scatter_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                                 MPI_Datatype datatype, MPI_Op op, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_ireduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                     MPI_Op op, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iscan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                     TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iexscan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                       TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_igather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, int root, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_igatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, TUTTI_Team team,
                        TUTTI_Request* request);
int TUTTI_Team_igatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                          TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iscatter(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        MPI_Count recvcount, MPI_Datatype recvtype, int root, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iscatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                         void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, TUTTI_Team team,
                         TUTTI_Request* request);
int TUTTI_Team_iscatterv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                           MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                           TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iallgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          MPI_Count recvcount, MPI_Datatype recvtype, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iallgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                           const int recvcounts[], const int displs[], MPI_Datatype recvtype, TUTTI_Team team,
                           TUTTI_Request* request);
int TUTTI_Team_iallgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                             const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                             TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_ialltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         MPI_Count recvcount, MPI_Datatype recvtype, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                          void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                          TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_ialltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                            MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                            const MPI_Aint rdispls[], MPI_Datatype recvtype, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_ialltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                          const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[], const int rdispls[],
                          const MPI_Datatype recvtypes[], TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_ialltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], TUTTI_Team team,
                            TUTTI_Request* request);

/* Waits for it, or asks whether it is over: then it becomes TUTTI_REQUEST_NULL, and `status` says what MPI says of a
 * message (MPI_STATUS_IGNORE is allowed). TUTTI_REQUEST_NULL is over, with an empty status. Of a collective of a team: to be
 * called by the thread that has started it; the status stays as it is. */
int TUTTI_Wait(TUTTI_Request* request, MPI_Status* status);
int TUTTI_Test(TUTTI_Request* request, int* flag, MPI_Status* status);

#ifdef __cplusplus
}
#endif

#endif
