// The host MPI, found at run time (src/preload/): nothing of it is referred to at link time.
#pragma once

#include "mpi/mpi_header.h"
#include "mpi/next_function.h"
#include "preload/functions.h"

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
  X(Request_free) X(Op_free) X(Query_thread) X(Recv_init) X(Send) X(Start)                                         \
  X(Info_create) X(Info_get) X(Info_set) X(Status_set_elements_x) X(Isend) X(Irecv) X(Testall) X(Cancel)           \
  X(Comm_set_errhandler) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testany) X(Testsome) X(Pack_c) X(Unpack_c)    \
  X(Comm_get_errhandler) X(Errhandler_free) X(Publish_name) X(Lookup_name) X(Unpublish_name) X(Error_string)       \
  X(Comm_create) X(Error_class) X(Get_elements_x) X(Issend) X(Is_thread_main) X(Recv)   \
  X(Comm_get_name) X(Type_get_envelope_c) X(Type_get_contents_c)
// clang-format on

namespace tutti::mpi {

struct Host {
#define TUTTI_MEMBER(name) decltype(&::PMPI_##name) name = nullptr;
  TUTTI_HOST_FUNCTIONS(TUTTI_MEMBER)
#undef TUTTI_MEMBER
};

struct Next {
#define TUTTI_MEMBER(name) NextFunction<decltype(::MPI_##name)> name;
  TUTTI_INTERPOSED(TUTTI_MEMBER)
#undef TUTTI_MEMBER
  // Extensions that not every host has, nor declares in mpi.h.
  NextFunction<int(MPI_Comm)> Comm_revoke;
  NextFunction<int(MPI_Request)> Request_is_complete;
  // MPIX_Barrier_init and so on, of an Open MPI that does not have MPI_Barrier_init yet.
#define TUTTI_MEMBER(name) NextFunction<decltype(::MPI_##name)> X_##name;
  TUTTI_INTERPOSED_INITS(TUTTI_MEMBER)
#undef TUTTI_MEMBER
};

/// There before any of our functions is called; the members of functions that this host lacks stay null.
extern Host host;
extern Next next;

/// Fills them. Called once, when this part is loaded for the process's MPI.
void resolve();
/// The address of a symbol of the host, or null: for handles that are objects (Open MPI).
void* host_symbol(const char* name);

}  // namespace tutti::mpi
