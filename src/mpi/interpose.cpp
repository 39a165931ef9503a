// The MPI functions that the library takes over. What it does not do itself goes on to the next definition.

#include "mpi/interpose.h"

#include <cstring>
#include <memory>
#include <string>

#include "mpi/alloc_mem.h"
#include "mpi/communicators.h"
#include "mpi/datatypes.h"
#include "mpi/host.h"
#include "mpi/peer_watch.h"
#include "mpi/reductions.h"

namespace tutti::mpi {

namespace {

/// What ran last in this thread, for benchmarks and curious users. Put into words only when somebody asks.
struct LastCall {
  const char* algorithm = "";
  const Node* node = nullptr;
  const void* buffer = nullptr;
  std::size_t bytes = 0;
};
thread_local LastCall last_call;

const char* mechanism_of(const LastCall& call) {
  if (!call.node) return "";
  if (call.bytes <= Post::inline_bytes) return "inline";
  const memory::Kind kind = call.node->reach(call.buffer);
  if (std::strcmp(call.algorithm, "eager") == 0) return "slot";
  if (!memory::always_mapped(kind) && call.bytes <= call.node->settings.eager_max) return "slot";
  return kind == memory::Kind::none ? "staged" : memory::name_of(kind);
}

}  // namespace

void remember(Collectives& collectives, const void* buffer, std::size_t bytes) {
  last_call = {collectives.last_algorithm(), &collectives.communicator().node(), buffer, bytes};
}
void remember_host() {
  last_call = {selection::host_algorithm, nullptr, nullptr, 0};
}

namespace {

/// Bcast by the core. False: the call is the host's.
bool bcast(void* buffer, std::size_t count, MPI_Datatype datatype, int root, MPI_Comm communicator, int& code) {
  Collectives* collectives = collectives_of(communicator);
  if (!collectives || root < 0 || root >= collectives->communicator().size()) return false;
  const TypeInfo* info = type_info(datatype);
  if (!info || count == 0 || info->bytes == 0) return false;
  const std::size_t bytes = count * info->bytes;
  code = MPI_SUCCESS;
  if (info->contiguous) {
    if (!buffer) return false;
    if (!collectives->bcast({static_cast<std::byte*>(buffer) + info->offset, bytes, root})) return false;
    remember(*collectives, buffer, bytes);
    return true;
  }
  const std::unique_ptr<std::byte[]> packed(new std::byte[bytes]);
  const bool is_root = collectives->communicator().rank() == root;
  if (is_root) code = pack(buffer, count, datatype, *info, packed.get(), communicator);
  if (!collectives->bcast({packed.get(), bytes, root})) return false;
  remember(*collectives, packed.get(), bytes);
  if (!is_root) code = unpack(packed.get(), buffer, count, datatype, *info, communicator);
  return true;
}

// The same for int and MPI_Count: the core's collective, or what comes after us. `forward` is read after resolve(), which
// a call before MPI_Init needs.

template <class Count, class Function>
int bcast_or(void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm, Function& forward) {
  int code = MPI_SUCCESS;
  if (count > 0 &&
      guarded(comm, code, [&] { return bcast(buffer, static_cast<std::size_t>(count), datatype, root, comm, code); }))
    return code;
  resolve();
  remember_host();
  return forward(buffer, count, datatype, root, comm);
}

template <class Count, class Function>
int reduce_or(const void* send, void* receive, Count count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
              Function& forward) {
  int code = MPI_SUCCESS;
  Collectives* collectives = count > 0 ? collectives_of(comm) : nullptr;
  const ReductionCall call{send, receive, static_cast<std::size_t>(count), datatype, op, comm};
  if (collectives && guarded(comm, code, [&] { return reduce(*collectives, call, root, code); })) {
    remember(*collectives, send == MPI_IN_PLACE ? receive : send, call.count * type_info(datatype)->bytes);
    return code;
  }
  resolve();
  remember_host();
  return forward(send, receive, count, datatype, op, root, comm);
}

template <class Count, class Function>
int allreduce_or(const void* send, void* receive, Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                 Function& forward) {
  int code = MPI_SUCCESS;
  Collectives* collectives = count > 0 ? collectives_of(comm) : nullptr;
  const ReductionCall call{send, receive, static_cast<std::size_t>(count), datatype, op, comm};
  if (collectives && guarded(comm, code, [&] { return allreduce(*collectives, call, code); })) {
    remember(*collectives, receive, call.count * type_info(datatype)->bytes);
    return code;
  }
  resolve();
  remember_host();
  return forward(send, receive, count, datatype, op, comm);
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti;
using tutti::mpi::host;
using tutti::mpi::next;

TUTTI_EXPORT int MPI_Init(int* argc, char*** argv) {
  mpi::resolve();
  const int code = next.Init(argc, argv);
  if (code == MPI_SUCCESS) mpi::start();
  return code;
}

TUTTI_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  mpi::resolve();
  const int code = next.Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) mpi::start();
  return code;
}

TUTTI_EXPORT int MPI_Finalize() {
  mpi::resolve();
  mpi::stop();
  return next.Finalize();
}

TUTTI_EXPORT int MPI_Abort(MPI_Comm comm, int code) {
  mpi::PeerWatch::leave();
  mpi::resolve();
  return next.Abort(comm, code);
}

TUTTI_EXPORT int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  if (mpi::allocate_from_window(size, info, static_cast<void**>(baseptr))) return MPI_SUCCESS;
  mpi::resolve();
  return next.Alloc_mem(size, info, baseptr);
}

TUTTI_EXPORT int MPI_Free_mem(void* base) {
  if (mpi::release_to_window(base)) return MPI_SUCCESS;
  mpi::resolve();
  return next.Free_mem(base);
}

TUTTI_EXPORT int MPI_Comm_free(MPI_Comm* comm) {
  mpi::resolve();
  if (comm) mpi::before_free(*comm);
  return next.Comm_free(comm);
}

TUTTI_EXPORT int MPI_Comm_disconnect(MPI_Comm* comm) {
  mpi::resolve();
  if (comm) mpi::before_free(*comm);
  return next.Comm_disconnect(comm);
}

TUTTI_EXPORT int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Comm_dup(comm, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Comm_dup_with_info(comm, info, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Comm_split(comm, color, key, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Comm_split_type(comm, split_type, key, info, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Comm_create(comm, group, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Comm_create_group(comm, group, tag, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder,
                                 MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Cart_create(comm, ndims, dims, periods, reorder, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Cart_sub(comm, remain_dims, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Graph_create(MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder,
                                  MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Graph_create(comm, nnodes, index, edges, reorder, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Dist_graph_create(MPI_Comm comm, int n, const int sources[], const int degrees[],
                                       const int destinations[], const int weights[], MPI_Info info, int reorder,
                                       MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Dist_graph_create(comm, n, sources, degrees, destinations, weights, info, reorder, newcomm),
                   newcomm);
}

TUTTI_EXPORT int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                                const int sourceweights[], int outdegree, const int destinations[],
                                                const int destweights[], MPI_Info info, int reorder,
                                                MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Dist_graph_create_adjacent(comm, indegree, sources, sourceweights, outdegree, destinations,
                                                   destweights, info, reorder, newcomm),
                   newcomm);
}

TUTTI_EXPORT int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Intercomm_merge(comm, high, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Barrier(MPI_Comm comm) {
  int code = MPI_SUCCESS;
  Collectives* collectives = mpi::collectives_of(comm);
  if (collectives && mpi::guarded(comm, code, [&] { return collectives->barrier(); })) {
    mpi::remember(*collectives, nullptr, 0);
    return code;
  }
  mpi::resolve();
  mpi::remember_host();
  return next.Barrier(comm);
}

TUTTI_EXPORT int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return mpi::bcast_or(buffer, count, datatype, root, comm, next.Bcast);
}

TUTTI_EXPORT int MPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                            MPI_Comm comm) {
  return mpi::reduce_or(sendbuf, recvbuf, count, datatype, op, root, comm, next.Reduce);
}

TUTTI_EXPORT int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm) {
  return mpi::allreduce_or(sendbuf, recvbuf, count, datatype, op, comm, next.Allreduce);
}

#if TUTTI_HAS_LARGE_COUNTS
TUTTI_EXPORT int MPI_Comm_create_from_group(MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler handler,
                                            MPI_Comm* newcomm) {
  mpi::resolve();
  return mpi::made(next.Comm_create_from_group(group, tag, info, handler, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return mpi::bcast_or(buffer, count, datatype, root, comm, next.Bcast_c);
}

TUTTI_EXPORT int MPI_Reduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                              int root, MPI_Comm comm) {
  return mpi::reduce_or(sendbuf, recvbuf, count, datatype, op, root, comm, next.Reduce_c);
}

TUTTI_EXPORT int MPI_Allreduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                 MPI_Comm comm) {
  return mpi::allreduce_or(sendbuf, recvbuf, count, datatype, op, comm, next.Allreduce_c);
}
#endif

/// Names of the algorithm and the mechanism of this thread's last collective, cut to the sizes given. Returns 0.
TUTTI_EXPORT int tutti_last_choice(char* algorithm, int algorithm_bytes, char* mechanism, int mechanism_bytes) {
  const auto put = [](char* to, int bytes, const char* from) {
    if (!to || bytes <= 0) return;
    std::strncpy(to, from, static_cast<std::size_t>(bytes) - 1);
    to[bytes - 1] = '\0';
  };
  put(algorithm, algorithm_bytes, mpi::last_call.algorithm);
  put(mechanism, mechanism_bytes, mpi::mechanism_of(mpi::last_call));
  return 0;
}
