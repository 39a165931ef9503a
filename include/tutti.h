/* For programs in C and C++: communicators that follow the hardware, pointers to the memory of neighbours, blocks that are
 * handed over without a copy, and teams of threads.
 *
 * What stands here is of two kinds. The constants of MPI_Comm_split_type that the MPI's own header lacks: they mean
 * something where Tutti is loaded, and are refused by the MPI where it is not. And the functions of libtutti-comm: a
 * program that uses them runs with Tutti and without (docs/hardware.md).
 *
 * All functions return MPI_SUCCESS or the error class of what went wrong, after the error handler has been called.
 */
#ifndef TUTTI_H
#define TUTTI_H

#include <mpi.h>
#include <stdint.h>

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

/* ---- Memory of neighbours (docs/pointers.md) ----
 *
 * Ranks of one node that run with Tutti see each other's allocations. What follows gives a program pointers to them, in
 * the place of copies. Everywhere else the same functions work by copies, or say that there is no pointer. */

/* Memory that neighbours see where that is possible at all, at a multiple of 16; without Tutti that of malloc. `baseptr`
 * is the address of a pointer. MPI_ERR_NO_MEM if there is none. May be called before MPI_Init. */
int TUTTI_Alloc(MPI_Aint bytes, void* baseptr);

/* Frees what TUTTI_Alloc or TUTTI_Take has given, or malloc, by any thread. NULL is nothing. Where Tutti serves the
 * program's malloc, free() and realloc() do for all of them. */
int TUTTI_Free(void* base);

/* Where bytes of a rank lie, in the words of its node: to be told to others, as MPI_UINT64_T. */
typedef uint64_t TUTTI_Handle;

/* The handle of own memory: of a block of TUTTI_Alloc or malloc, of static data of the program, or of any part of them.
 * Every address has a handle; of other memory (the stack, small blocks of malloc, mmap, a device) it helps nobody else. */
int TUTTI_Peer_handle(const void* address, MPI_Aint bytes, TUTTI_Handle* handle);

/* Where `bytes` bytes that `rank` has told the handle of can be loaded and stored here. `pointer` is the address of a
 * pointer, which becomes NULL where that cannot be: without Tutti, on another node, for memory that has no more than an
 * address, for MPI_PROC_NULL, and of intercommunicators. So a program asks, and sends messages where it gets none. For
 * the own rank it is the address itself.
 *
 * It may be used until the owner frees the memory, or one of the two is in MPI_Finalize. What is stored is seen by others
 * after a message, or a barrier, as with memory of MPI_Win_allocate_shared.
 *
 * MPI_ERR_COMM, MPI_ERR_RANK or MPI_ERR_COUNT for arguments that are wrong. */
int TUTTI_Peer_pointer(MPI_Comm comm, int rank, TUTTI_Handle handle, MPI_Aint bytes, void* pointer);

/* ---- Handing over ---- */

/* What has been started and has not been waited for yet. */
typedef struct TUTTI_Request_s* TUTTI_Request;
#define TUTTI_REQUEST_NULL ((TUTTI_Request)0)

/* Waits for it, or asks whether it is over: then it becomes TUTTI_REQUEST_NULL, and `status` says what MPI says of a
 * message (MPI_STATUS_IGNORE is allowed). TUTTI_REQUEST_NULL is over, with an empty status. Of a
 * collective of a team: to be called by the thread that has started it, and the status stays as it is. */
int TUTTI_Wait(TUTTI_Request* request, MPI_Status* status);
int TUTTI_Test(TUTTI_Request* request, int* flag, MPI_Status* status);

/* Gives a block to a rank, which gets it by TUTTI_Take: from now on it is that rank's, with the contents that it has. It is
 * a whole block of TUTTI_Alloc or malloc, or one that was taken; the taker is told that it has `bytes` bytes. NULL can be
 * given, too.
 *
 * In a node with Tutti no byte is copied. Where the taker does not see the block it gets a copy, and the giver's is freed.
 * Blocks can be handed on; one that comes back to where it was allocated has the address that it had. Whoever has it frees
 * it (TUTTI_Free).
 *
 * Matched as a message of MPI_Send is, by communicator, rank and tag, in order, and by TUTTI_Take alone: a receive of MPI's
 * gets what it cannot use. It waits as MPI_Send may. To MPI_PROC_NULL: the block is freed. After an error the block is
 * still the caller's. */
int TUTTI_Give(void* block, MPI_Aint bytes, int rank, int tag, MPI_Comm comm);
int TUTTI_Igive(void* block, MPI_Aint bytes, int rank, int tag, MPI_Comm comm, TUTTI_Request* request);

/* Takes a block: `block` is the address of a pointer. bytes: those that the giver told; may be NULL. rank and tag may be
 * MPI_ANY_SOURCE and MPI_ANY_TAG. MPI_Get_count and MPI_Get_elements of the status with MPI_BYTE tell the bytes, too.
 * From MPI_PROC_NULL comes NULL. A child that is forked has no block that came from another rank.
 *
 * The nonblocking one is matched when it is waited for or tested, of several those first that were started first; `block`
 * and `bytes` are written then. */
int TUTTI_Take(void* block, MPI_Aint* bytes, int rank, int tag, MPI_Comm comm, MPI_Status* status);
int TUTTI_Itake(void* block, MPI_Aint* bytes, int rank, int tag, MPI_Comm comm, TUTTI_Request* request);

/* For other languages (tutti.f90, tutti/mpi.py): communicators as Fortran's integers; `where` gets source and tag, may be
 * NULL. */
int TUTTI_Peer_pointer_f(int comm, int rank, TUTTI_Handle handle, MPI_Aint bytes, void* pointer);
int TUTTI_Give_f(void* block, MPI_Aint bytes, int rank, int tag, int comm);
int TUTTI_Igive_f(void* block, MPI_Aint bytes, int rank, int tag, int comm, TUTTI_Request* request);
int TUTTI_Take_f(void* block, MPI_Aint* bytes, int rank, int tag, int comm, int where[2]);
int TUTTI_Itake_f(void* block, MPI_Aint* bytes, int rank, int tag, int comm, TUTTI_Request* request);
int TUTTI_Wait_f(TUTTI_Request* request, int where[2]);
int TUTTI_Test_f(TUTTI_Request* request, int* flag, int where[2]);

/* ---- Teams: threads as ranks (docs/teams.md) ----
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

/* A thread that ends without it ends the team: all calls of others return MPI_ERR_OTHER from then on. Where the team's
 * processes are on several nodes it ends the job. */
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

/* Teams, with communicators, types and operators as Fortran's integers. Counts are MPI_Count, those in lists are int. */
int TUTTI_Team_create_f(int comm, int threads, TUTTI_Team* team);
/* MPI_IN_PLACE. */
void* TUTTI_In_place_f(void);
int TUTTI_Team_bcast_f(void* buffer, MPI_Count count, int datatype, int root, TUTTI_Team team);
int TUTTI_Team_reduce_f(const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op, int root,
                        TUTTI_Team team);
int TUTTI_Team_allreduce_f(const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op, TUTTI_Team team);
int TUTTI_Team_reduce_scatter_block_f(const void* sendbuf, void* recvbuf, MPI_Count recvcount, int datatype, int op,
                                      TUTTI_Team team);
int TUTTI_Team_scan_f(const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op, TUTTI_Team team);
int TUTTI_Team_exscan_f(const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op, TUTTI_Team team);
int TUTTI_Team_gather_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount,
                        int recvtype, int root, TUTTI_Team team);
int TUTTI_Team_gatherv_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, const int recvcounts[],
                         const int displs[], int recvtype, int root, TUTTI_Team team);
int TUTTI_Team_scatter_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount,
                         int recvtype, int root, TUTTI_Team team);
int TUTTI_Team_scatterv_f(const void* sendbuf, const int sendcounts[], const int displs[], int sendtype, void* recvbuf,
                          MPI_Count recvcount, int recvtype, int root, TUTTI_Team team);
int TUTTI_Team_allgather_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount,
                           int recvtype, TUTTI_Team team);
int TUTTI_Team_allgatherv_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf,
                            const int recvcounts[], const int displs[], int recvtype, TUTTI_Team team);
int TUTTI_Team_alltoall_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount,
                          int recvtype, TUTTI_Team team);
int TUTTI_Team_alltoallv_f(const void* sendbuf, const int sendcounts[], const int sdispls[], int sendtype,
                           void* recvbuf, const int recvcounts[], const int rdispls[], int recvtype, TUTTI_Team team);
int TUTTI_Team_ibcast_f(void* buffer, MPI_Count count, int datatype, int root, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_ireduce_f(const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op, int root,
                         TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iallreduce_f(const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op, TUTTI_Team team,
                            TUTTI_Request* request);
int TUTTI_Team_ireduce_scatter_block_f(const void* sendbuf, void* recvbuf, MPI_Count recvcount, int datatype, int op,
                                       TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iscan_f(const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op, TUTTI_Team team,
                       TUTTI_Request* request);
int TUTTI_Team_iexscan_f(const void* sendbuf, void* recvbuf, MPI_Count count, int datatype, int op, TUTTI_Team team,
                         TUTTI_Request* request);
int TUTTI_Team_igather_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount,
                         int recvtype, int root, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_igatherv_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, const int recvcounts[],
                          const int displs[], int recvtype, int root, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iscatter_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount,
                          int recvtype, int root, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iscatterv_f(const void* sendbuf, const int sendcounts[], const int displs[], int sendtype, void* recvbuf,
                           MPI_Count recvcount, int recvtype, int root, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iallgather_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount,
                            int recvtype, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_iallgatherv_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf,
                             const int recvcounts[], const int displs[], int recvtype, TUTTI_Team team,
                             TUTTI_Request* request);
int TUTTI_Team_ialltoall_f(const void* sendbuf, MPI_Count sendcount, int sendtype, void* recvbuf, MPI_Count recvcount,
                           int recvtype, TUTTI_Team team, TUTTI_Request* request);
int TUTTI_Team_ialltoallv_f(const void* sendbuf, const int sendcounts[], const int sdispls[], int sendtype,
                            void* recvbuf, const int recvcounts[], const int rdispls[], int recvtype, TUTTI_Team team,
                            TUTTI_Request* request);

#ifdef __cplusplus
}
#endif

#endif
