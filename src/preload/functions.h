// The functions of MPI that libtutti.so takes over. One list: from it are made the stubs that programs call (stubs.S),
// the table that a part for an ABI hands over (src/mpi/part.cpp), and the part's pointers to the host's own
// (mpi/host.h). There is no C++ here, since the assembler reads it, too.
#pragma once

// clang-format off

// The collectives, each by the names of its blocking and its nonblocking function; FORM(X, name, nonblocking) says which of
// its functions are meant, and gives them to X. Those in the second list all have counts, and so functions with MPI_Count,
// too.
#define TUTTI_COLLECTIVE_FUNCTIONS(FORM, X) FORM(X, Barrier, Ibarrier) TUTTI_COUNTING_FUNCTIONS(FORM, X)
#define TUTTI_COUNTING_FUNCTIONS(FORM, X)                                                                         \
  FORM(X, Bcast, Ibcast) FORM(X, Reduce, Ireduce) FORM(X, Allreduce, Iallreduce)                                  \
  FORM(X, Reduce_scatter, Ireduce_scatter) FORM(X, Reduce_scatter_block, Ireduce_scatter_block)                   \
  FORM(X, Scan, Iscan) FORM(X, Exscan, Iexscan) FORM(X, Scatter, Iscatter) FORM(X, Scatterv, Iscatterv)           \
  FORM(X, Gather, Igather) FORM(X, Gatherv, Igatherv) FORM(X, Allgather, Iallgather)                              \
  FORM(X, Allgatherv, Iallgatherv) FORM(X, Alltoall, Ialltoall) FORM(X, Alltoallv, Ialltoallv)                    \
  FORM(X, Alltoallw, Ialltoallw) FORM(X, Neighbor_allgather, Ineighbor_allgather)                                 \
  FORM(X, Neighbor_allgatherv, Ineighbor_allgatherv) FORM(X, Neighbor_alltoall, Ineighbor_alltoall)               \
  FORM(X, Neighbor_alltoallv, Ineighbor_alltoallv) FORM(X, Neighbor_alltoallw, Ineighbor_alltoallw)

#define TUTTI_BOTH_OLD(X, name, nonblocking) X(name) X(nonblocking)
#define TUTTI_INIT(X, name, nonblocking) X(name##_init)
#define TUTTI_ALL_LARGE(X, name, nonblocking) X(name##_c) X(nonblocking##_c) X(name##_init_c)

// Persistent collectives, which hosts have since MPI 4. Open MPI had those without MPI_Count before, by names that begin
// with MPIX_.
#define TUTTI_INTERPOSED_INITS(X) TUTTI_COLLECTIVE_FUNCTIONS(TUTTI_INIT, X)
// Collectives with MPI_Count, which hosts have since MPI 4, too.
#define TUTTI_INTERPOSED_LARGE(X) TUTTI_COUNTING_FUNCTIONS(TUTTI_ALL_LARGE, X)
// All functions of collectives (mpi/functions/collective_function.h).
#define TUTTI_INTERPOSED_COLLECTIVES(X)                                                                           \
  TUTTI_COLLECTIVE_FUNCTIONS(TUTTI_BOTH_OLD, X) TUTTI_INTERPOSED_INITS(X) TUTTI_INTERPOSED_LARGE(X)

// Those that are the host's and something after it: they make communicators, or begin and end needs of the host.
#define TUTTI_INTERPOSED_AFTER_HOST(X)                                                                            \
  X(Comm_dup) X(Comm_dup_with_info) X(Comm_split) X(Comm_create) X(Comm_create_group) X(Cart_create) X(Cart_sub)  \
  X(Graph_create) X(Dist_graph_create) X(Dist_graph_create_adjacent) X(Intercomm_merge) X(Comm_idup)              \
  X(Buffer_attach) X(Buffer_detach) X(Win_create) X(Win_allocate) X(Win_allocate_shared) X(Win_create_dynamic)    \
  X(Win_free)
// The same, since MPI 4.
#define TUTTI_INTERPOSED_NEWER_AFTER_HOST(X)                                                                      \
  X(Comm_create_from_group) X(Comm_idup_with_info) X(Buffer_attach_c) X(Buffer_detach_c) X(Comm_attach_buffer)    \
  X(Comm_attach_buffer_c) X(Comm_detach_buffer) X(Comm_detach_buffer_c) X(Win_create_c) X(Win_allocate_c)         \
  X(Win_allocate_shared_c)

// Messages between two ranks (mpi/functions/messages.cpp).
#define TUTTI_INTERPOSED_MESSAGES(X)                                                                              \
  X(Send) X(Ssend) X(Rsend) X(Bsend) X(Isend) X(Issend) X(Irsend) X(Ibsend) X(Recv) X(Irecv) X(Recv_init)         \
  X(Sendrecv) X(Sendrecv_replace) X(Probe) X(Iprobe) X(Mprobe) X(Improbe) X(Mrecv) X(Imrecv)                      \
  X(Send_init) X(Ssend_init) X(Rsend_init) X(Bsend_init)
// The same, since MPI 4.
#define TUTTI_INTERPOSED_NEWER_MESSAGES(X)                                                                        \
  X(Send_c) X(Ssend_c) X(Rsend_c) X(Bsend_c) X(Isend_c) X(Issend_c) X(Irsend_c) X(Ibsend_c) X(Recv_c) X(Irecv_c)  \
  X(Recv_init_c) X(Sendrecv_c) X(Sendrecv_replace_c) X(Mrecv_c) X(Imrecv_c) X(Isendrecv) X(Isendrecv_c)           \
  X(Isendrecv_replace) X(Isendrecv_replace_c) X(Send_init_c) X(Ssend_init_c) X(Rsend_init_c) X(Bsend_init_c)

// Those that are written out, each with its own name.
#define TUTTI_INTERPOSED_WRITTEN_OUT(X)                                                                           \
  X(Init) X(Init_thread) X(Finalize) X(Abort) X(Alloc_mem) X(Free_mem) X(Reduce_local) X(Win_test)                \
  X(Comm_split_type) X(Comm_free) X(Comm_disconnect)                                                              \
  X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) X(Testany) X(Testsome) X(Request_get_status)       \
  X(Request_free) X(Type_free) X(Op_free) X(Start) X(Startall) X(Cancel)                                          \
  TUTTI_INTERPOSED_MESSAGES(X)
// The same, since MPI 4: partitioned messages (mpi/functions/partitioned.cpp) and others.
#define TUTTI_INTERPOSED_NEWER_WRITTEN_OUT(X)                                                                     \
  X(Get_hw_resource_info) X(Request_get_status_all) X(Request_get_status_any) X(Request_get_status_some)          \
  X(Reduce_local_c) X(Psend_init) X(Precv_init) X(Pready) X(Pready_range) X(Pready_list) X(Parrived)              \
  TUTTI_INTERPOSED_NEWER_MESSAGES(X)

// Those that some MPIs lack. The loader finds ours only where the MPI has them (offered_names.h).
#define TUTTI_INTERPOSED_BY_SOME(X)                                                                               \
  TUTTI_INTERPOSED_NEWER_AFTER_HOST(X) TUTTI_INTERPOSED_NEWER_WRITTEN_OUT(X) TUTTI_INTERPOSED_INITS(X)            \
  TUTTI_INTERPOSED_LARGE(X)

// All whose names begin with MPI_, and their second names, by which bindings of other languages and profilers call
// them, with PMPI_. Which of them a host has is seen at run time.
#define TUTTI_INTERPOSED(X)                                                                                       \
  TUTTI_INTERPOSED_WRITTEN_OUT(X) TUTTI_INTERPOSED_NEWER_WRITTEN_OUT(X) TUTTI_INTERPOSED_AFTER_HOST(X)            \
  TUTTI_INTERPOSED_NEWER_AFTER_HOST(X) TUTTI_INTERPOSED_COLLECTIVES(X)

// Those whose names begin with MPIX_ and PMPIX_.
#define TUTTI_INTERPOSED_EXTENSIONS(X) X(Comm_revoke) X(Request_is_complete)

// Our own, whose names begin with tutti_: for the benchmark, the tests and libtutti-comm.
#define TUTTI_OWN_FUNCTIONS(X) X(last_choice) X(set_choice) X(predict) X(origin)                                  \
  X(splits_by_hardware) X(hw_resource_info) X(network_distance)                                                   \
  X(allocate) X(release) X(handle_of) X(pointer_to) X(give) X(give_not) X(take) X(teams)
// clang-format on
