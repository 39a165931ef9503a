// Functions that begin and end the use of MPI, allocate memory and make communicators. What the library does not do itself
// goes on to the next definition.

#include "mpi/functions/interpose.h"

#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/functions/alloc_mem.h"
#include "mpi/host.h"
#include "mpi/start/launcher_names.h"
#include "mpi/wait/peer_watch.h"

using namespace tutti;
using tutti::mpi::next;

namespace {

/// Around the host's MPI_Init and MPI_Init_thread.
template <class Init>
int init(const char* function, const Init& by_host) {
  bool failed = false;
  mpi::code_of(function, failed, [] {
    mpi::announce();
    return MPI_SUCCESS;
  });
  if (const int code = by_host(); code != MPI_SUCCESS) return code;
  return mpi::guard(MPI_COMM_WORLD, function, [] {
    mpi::start();
    return MPI_SUCCESS;
  });
}

}  // namespace

TUTTI_EXPORT int MPI_Init(int* argc, char*** argv) {
  return init(next.Init.name(), [=] { return next.Init(argc, argv); });
}

TUTTI_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return init(next.Init_thread.name(), [=] { return next.Init_thread(argc, argv, required, provided); });
}

TUTTI_EXPORT int MPI_Finalize() {
  bool failed = false;
  mpi::code_of(next.Finalize.name(), failed, [] {
    mpi::stop();
    mpi::forget_job_call();
    return MPI_SUCCESS;
  });
  return next.Finalize();
}

TUTTI_EXPORT int MPI_Abort(MPI_Comm comm, int code) {
  mpi::PeerWatch::leave(mpi::LifeLine::with_job);
  return next.Abort(comm, code);
}

TUTTI_EXPORT int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  if (mpi::allocate_from_window(size, info, static_cast<void**>(baseptr))) return MPI_SUCCESS;
  return next.Alloc_mem(size, info, baseptr);
}

TUTTI_EXPORT int MPI_Free_mem(void* base) {
  if (mpi::release_to_window(base)) return MPI_SUCCESS;
  return next.Free_mem(base);
}

TUTTI_EXPORT int MPIX_Comm_revoke(MPI_Comm comm) {
  const int code = next.Comm_revoke(comm);
  if (code == MPI_SUCCESS) mpi::revoke(comm);
  return code;
}

TUTTI_EXPORT int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  return mpi::made_duplicate(next.Comm_dup(comm, newcomm), newcomm, comm);
}

TUTTI_EXPORT int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  return mpi::being_made(next.Comm_idup(comm, newcomm, request), newcomm);
}

TUTTI_EXPORT int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  return mpi::made_duplicate(next.Comm_dup_with_info(comm, info, newcomm), newcomm, comm);
}

TUTTI_EXPORT int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  return mpi::made(next.Comm_split(comm, color, key, newcomm), newcomm, comm);
}

TUTTI_EXPORT int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  return mpi::made(next.Comm_create(comm, group, newcomm), newcomm, comm);
}

TUTTI_EXPORT int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  // Others may do the same with this parent at the same time.
  return mpi::made(next.Comm_create_group(comm, group, tag, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder,
                                 MPI_Comm* newcomm) {
  return mpi::made(next.Cart_create(comm, ndims, dims, periods, reorder, newcomm), newcomm, comm);
}

TUTTI_EXPORT int MPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm) {
  return mpi::made(next.Cart_sub(comm, remain_dims, newcomm), newcomm, comm);
}

TUTTI_EXPORT int MPI_Graph_create(MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder,
                                  MPI_Comm* newcomm) {
  return mpi::made(next.Graph_create(comm, nnodes, index, edges, reorder, newcomm), newcomm, comm);
}

TUTTI_EXPORT int MPI_Dist_graph_create(MPI_Comm comm, int n, const int sources[], const int degrees[],
                                       const int destinations[], const int weights[], MPI_Info info, int reorder,
                                       MPI_Comm* newcomm) {
  return mpi::made_graph(
      next.Dist_graph_create(comm, n, sources, degrees, destinations, weights, info, reorder, newcomm), newcomm, comm);
}

TUTTI_EXPORT int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                                const int sourceweights[], int outdegree, const int destinations[],
                                                const int destweights[], MPI_Info info, int reorder,
                                                MPI_Comm* newcomm) {
  return mpi::made_graph(next.Dist_graph_create_adjacent(comm, indegree, sources, sourceweights, outdegree,
                                                         destinations, destweights, info, reorder, newcomm),
                         newcomm, comm);
}

TUTTI_EXPORT int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* newcomm) {
  return mpi::made(next.Intercomm_merge(comm, high, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  return mpi::being_made(next.Comm_idup_with_info(comm, info, newcomm, request), newcomm);
}

TUTTI_EXPORT int MPI_Comm_create_from_group(MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler handler,
                                            MPI_Comm* newcomm) {
  return mpi::made(next.Comm_create_from_group(group, tag, info, handler, newcomm), newcomm);
}
