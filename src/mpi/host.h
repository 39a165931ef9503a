// The host MPI, found at run time: the library is preloaded into processes that may have no MPI at all, or load it
// later (Python), so nothing of it is referred to at link time.
#pragma once

#include "mpi/mpi_header.h"

// Every function of the host that the library calls. PMPI_ is the host's own; for the interposed ones `next` is the
// definition that comes after ours, so that other tools still see the call.
// clang-format off
#define TUTTI_HOST_FUNCTIONS(X)                                                                                    \
  X(Abort) X(Allgather) X(Allreduce) X(Bcast) X(Comm_create_keyval) X(Comm_get_attr) X(Comm_rank)                  \
  X(Comm_set_attr) X(Comm_size) X(Comm_test_inter) X(Op_commutative) X(Pack) X(Unpack) X(Reduce_local)             \
  X(Type_get_envelope) X(Type_get_contents) X(Type_get_extent) X(Type_get_true_extent) X(Type_size) X(Type_free)   \
  X(Allgatherv) X(Cart_shift) X(Cartdim_get) X(Comm_call_errhandler) X(Dist_graph_neighbors)                       \
  X(Dist_graph_neighbors_count) X(Graph_neighbors) X(Graph_neighbors_count) X(Topo_test) X(Gather) X(Gatherv)      \
  X(Get_library_version) X(Comm_group) X(Group_free) X(Group_translate_ranks) X(Type_size_x) X(Grequest_start)     \
  X(Grequest_complete) X(Request_get_status) X(Status_set_cancelled) X(Status_set_elements) X(Wait)                \
  X(Comm_split) X(Sendrecv) X(Type_contiguous) X(Type_create_struct) X(Type_commit) X(Comm_free)                   \
  X(Comm_disconnect)
// clang-format on

/// Those that hosts have since MPI 4.
#if TUTTI_HAS_LARGE_COUNTS
#define TUTTI_HOST_LARGE(X) X(Pack_c) X(Unpack_c)
#else
#define TUTTI_HOST_LARGE(X)
#endif

// clang-format off
#define TUTTI_INTERPOSED_FUNCTIONS(X)                                                                             \
  X(Init) X(Init_thread) X(Finalize) X(Abort) X(Alloc_mem) X(Free_mem) X(Barrier) X(Bcast) X(Reduce) X(Allreduce)   \
  X(Comm_dup) X(Comm_dup_with_info) X(Comm_split) X(Comm_split_type) X(Comm_create) X(Comm_create_group)          \
  X(Cart_create) X(Cart_sub) X(Graph_create) X(Dist_graph_create) X(Dist_graph_create_adjacent) X(Intercomm_merge) \
  X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Exscan) X(Reduce_local) X(Win_test) X(Comm_idup)             \
  X(Comm_free) X(Comm_disconnect)
// clang-format on

/// Those of blocks (interpose_blocks.cpp, interpose_neighbors.cpp): each with a form with MPI_Count, if the host has
/// them.
// clang-format off
#define TUTTI_INTERPOSED_BLOCKS(X)                                                                                \
  X(Scatter) X(Scatterv) X(Gather) X(Gatherv) X(Allgather) X(Allgatherv) X(Alltoall) X(Alltoallv) X(Alltoallw)    \
  X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv) X(Neighbor_alltoallw)
// clang-format on

#if TUTTI_HAS_LARGE_COUNTS
// clang-format off
#define TUTTI_INTERPOSED_LARGE(X)                                                                                 \
  X(Bcast_c) X(Reduce_c) X(Allreduce_c) X(Comm_create_from_group) X(Reduce_scatter_c) X(Reduce_scatter_block_c)   \
  X(Scan_c) X(Exscan_c) X(Reduce_local_c) X(Comm_idup_with_info)
// clang-format on
#else
#define TUTTI_INTERPOSED_LARGE(X)
#endif

namespace tutti::mpi {

struct Host {
#define TUTTI_MEMBER(name) decltype(&::PMPI_##name) name = nullptr;
  TUTTI_HOST_FUNCTIONS(TUTTI_MEMBER)
  TUTTI_HOST_LARGE(TUTTI_MEMBER)
#undef TUTTI_MEMBER
};

struct Next {
#define TUTTI_MEMBER(name) decltype(&::MPI_##name) name = nullptr;
  TUTTI_INTERPOSED_FUNCTIONS(TUTTI_MEMBER)
  TUTTI_INTERPOSED_LARGE(TUTTI_MEMBER)
  TUTTI_INTERPOSED_BLOCKS(TUTTI_MEMBER)
#if TUTTI_HAS_LARGE_COUNTS
#define TUTTI_MEMBER_LARGE(name) TUTTI_MEMBER(name##_c)
  TUTTI_INTERPOSED_BLOCKS(TUTTI_MEMBER_LARGE)
#undef TUTTI_MEMBER_LARGE
#endif
#undef TUTTI_MEMBER
};

/// Filled by resolve(); the members of functions that this host lacks stay null.
extern Host host;
extern Next next;

/// An extension that not every host has, nor declares in mpi.h; null without it.
extern int (*comm_revoke)(MPI_Comm);

/// Finds the host MPI in this process. Called at the head of every interposed function that may come first. Ends the
/// process with a message if there is none, since the call could not go anywhere.
void resolve();
/// The address of a symbol of the host, or null: for handles that are objects (Open MPI).
void* host_symbol(const char* name);

}  // namespace tutti::mpi
