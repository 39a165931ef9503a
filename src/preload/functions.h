// The functions of MPI that libtutti.so takes over. One list: from it are made the stubs that programs call (stubs.S),
// the table that a part for an ABI hands over (src/mpi/part.cpp), and the part's pointers to the host's own
// (mpi/host.h). There is no C++ here, since the assembler reads it, too.
#pragma once

// clang-format off
#define TUTTI_INTERPOSED_FUNCTIONS(X)                                                                             \
  X(Init) X(Init_thread) X(Finalize) X(Abort) X(Alloc_mem) X(Free_mem) X(Barrier) X(Bcast) X(Reduce) X(Allreduce)   \
  X(Comm_dup) X(Comm_dup_with_info) X(Comm_split) X(Comm_split_type) X(Comm_create) X(Comm_create_group)          \
  X(Cart_create) X(Cart_sub) X(Graph_create) X(Dist_graph_create) X(Dist_graph_create_adjacent) X(Intercomm_merge) \
  X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Exscan) X(Reduce_local) X(Win_test) X(Comm_idup)             \
  X(Comm_free) X(Comm_disconnect) X(Buffer_attach) X(Buffer_detach) X(Win_create) X(Win_allocate)                 \
  X(Win_allocate_shared) X(Win_create_dynamic) X(Win_free)                                                        \
  X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) X(Testany) X(Testsome) X(Request_get_status)        \
  X(Request_free) X(Type_free) X(Op_free) X(Start) X(Startall) X(Cancel)

// Those of blocks (mpi/functions/blocks.cpp, mpi/functions/neighbors.cpp).
#define TUTTI_INTERPOSED_BLOCKS(X)                                                                                \
  X(Scatter) X(Scatterv) X(Gather) X(Gatherv) X(Allgather) X(Allgatherv) X(Alltoall) X(Alltoallv) X(Alltoallw)    \
  X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv) X(Neighbor_alltoallw)

// Those that hosts have since MPI 4: from sessions, of partitioned messages (mpi/functions/partitioned.cpp), and with
// MPI_Count.
#define TUTTI_INTERPOSED_NEWER(X)                                                                                 \
  X(Comm_create_from_group) X(Comm_idup_with_info) X(Get_hw_resource_info)                                                             \
  X(Request_get_status_all) X(Request_get_status_any) X(Request_get_status_some)                                  \
  X(Buffer_attach_c) X(Buffer_detach_c) X(Comm_attach_buffer) X(Comm_attach_buffer_c) X(Comm_detach_buffer)       \
  X(Comm_detach_buffer_c) X(Win_create_c) X(Win_allocate_c) X(Win_allocate_shared_c)                              \
  X(Psend_init) X(Precv_init) X(Pready) X(Pready_range) X(Pready_list) X(Parrived)                                \
  X(Bcast_c) X(Reduce_c) X(Allreduce_c) X(Reduce_scatter_c) X(Reduce_scatter_block_c) X(Scan_c) X(Exscan_c)       \
  X(Reduce_local_c) X(Scatter_c) X(Scatterv_c) X(Gather_c) X(Gatherv_c) X(Allgather_c) X(Allgatherv_c)            \
  X(Alltoall_c) X(Alltoallv_c) X(Alltoallw_c) X(Neighbor_allgather_c) X(Neighbor_allgatherv_c)                    \
  X(Neighbor_alltoall_c) X(Neighbor_alltoallv_c) X(Neighbor_alltoallw_c)

// Nonblocking collectives (mpi/functions/starts.h), and those that hosts have since MPI 4.
#define TUTTI_INTERPOSED_OLD_STARTS(X)                                                                            \
  X(Ibarrier) X(Ibcast) X(Ireduce) X(Iallreduce) X(Ireduce_scatter) X(Ireduce_scatter_block) X(Iscan) X(Iexscan)  \
  X(Iscatter) X(Iscatterv) X(Igather) X(Igatherv) X(Iallgather) X(Iallgatherv)                                    \
  X(Ialltoall) X(Ialltoallv) X(Ialltoallw) X(Ineighbor_allgather) X(Ineighbor_allgatherv)                         \
  X(Ineighbor_alltoall) X(Ineighbor_alltoallv) X(Ineighbor_alltoallw)
#define TUTTI_INTERPOSED_NEWER_STARTS(X)                                                                          \
  X(Ibcast_c) X(Ireduce_c) X(Iallreduce_c) X(Ireduce_scatter_c) X(Ireduce_scatter_block_c) X(Iscan_c)             \
  X(Iexscan_c) X(Iscatter_c) X(Iscatterv_c) X(Igather_c) X(Igatherv_c) X(Iallgather_c) X(Iallgatherv_c)           \
  X(Ialltoall_c) X(Ialltoallv_c) X(Ialltoallw_c) X(Ineighbor_allgather_c) X(Ineighbor_allgatherv_c)               \
  X(Ineighbor_alltoall_c) X(Ineighbor_alltoallv_c) X(Ineighbor_alltoallw_c)

// Persistent collectives, which hosts have since MPI 4. Open MPI had those without MPI_Count before, by names that begin
// with MPIX_.
#define TUTTI_INTERPOSED_INITS(X)                                                                                 \
  X(Barrier_init) X(Bcast_init) X(Reduce_init) X(Allreduce_init) X(Reduce_scatter_init)                           \
  X(Reduce_scatter_block_init) X(Scan_init) X(Exscan_init) X(Scatter_init) X(Scatterv_init) X(Gather_init)        \
  X(Gatherv_init) X(Allgather_init) X(Allgatherv_init) X(Alltoall_init) X(Alltoallv_init) X(Alltoallw_init)       \
  X(Neighbor_allgather_init) X(Neighbor_allgatherv_init) X(Neighbor_alltoall_init) X(Neighbor_alltoallv_init)     \
  X(Neighbor_alltoallw_init)
#define TUTTI_INTERPOSED_LARGE_INITS(X)                                                                           \
  X(Bcast_init_c) X(Reduce_init_c) X(Allreduce_init_c) X(Reduce_scatter_init_c) X(Reduce_scatter_block_init_c)    \
  X(Scan_init_c) X(Exscan_init_c) X(Scatter_init_c) X(Scatterv_init_c) X(Gather_init_c) X(Gatherv_init_c)         \
  X(Allgather_init_c) X(Allgatherv_init_c) X(Alltoall_init_c) X(Alltoallv_init_c) X(Alltoallw_init_c)             \
  X(Neighbor_allgather_init_c) X(Neighbor_allgatherv_init_c) X(Neighbor_alltoall_init_c)                          \
  X(Neighbor_alltoallv_init_c) X(Neighbor_alltoallw_init_c)

#define TUTTI_INTERPOSED_STARTS(X)                                                                                \
  TUTTI_INTERPOSED_OLD_STARTS(X) TUTTI_INTERPOSED_NEWER_STARTS(X) TUTTI_INTERPOSED_INITS(X) TUTTI_INTERPOSED_LARGE_INITS(X)

// Those that some MPIs lack. The loader finds ours only where the MPI has them (offered_names.h).
#define TUTTI_INTERPOSED_BY_SOME(X)                                                                               \
  TUTTI_INTERPOSED_NEWER(X) TUTTI_INTERPOSED_NEWER_STARTS(X) TUTTI_INTERPOSED_INITS(X) TUTTI_INTERPOSED_LARGE_INITS(X)

// All others whose names begin with MPI_.
#define TUTTI_INTERPOSED_CALLS(X) TUTTI_INTERPOSED_FUNCTIONS(X) TUTTI_INTERPOSED_BLOCKS(X) TUTTI_INTERPOSED_NEWER(X)

// All whose names begin with MPI_, and their second names, by which bindings of other languages and profilers call
// them, with PMPI_. Which of them a host has is seen at run time.
#define TUTTI_INTERPOSED(X) TUTTI_INTERPOSED_CALLS(X) TUTTI_INTERPOSED_STARTS(X)

// Those whose names begin with MPIX_ and PMPIX_.
#define TUTTI_INTERPOSED_EXTENSIONS(X) X(Comm_revoke) X(Request_is_complete)

// Our own, whose names begin with tutti_: for the benchmark, the tests and libtutti-comm.
#define TUTTI_OWN_FUNCTIONS(X) X(last_choice) X(set_choice) X(predict) X(origin)                                  \
  X(splits_by_hardware) X(hw_resource_info) X(network_distance)
// clang-format on
