// The MPI functions that the library takes over. What it does not do itself goes on to the next definition.

#include "mpi/functions/interpose.h"

#include "mpi/arguments/call_memory.h"
#include "mpi/arguments/datatypes.h"
#include "mpi/arguments/device_memory.h"
#include "mpi/arguments/reductions.h"
#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/functions/alloc_mem.h"
#include "mpi/functions/starts.h"
#include "mpi/host.h"
#include "mpi/requests/form.h"
#include "mpi/start/launcher_names.h"
#include "mpi/wait/peer_watch.h"

namespace tutti::mpi {

bool ended_by_exception(MPI_Comm communicator, const char* const& function, int& code) {
  try {
    throw;
  } catch (const OfProgram& exception) {
    std::rethrow_exception(exception.thrown);
  } catch (const TooLittleRoom&) {
    code = MPI_ERR_TRUNCATE;
  } catch (const Disagreement&) {
    if (found_revoked(communicator)) return refuse(Refusal::revoked);
    code = error_after_leaving(communicator);
  } catch (const network::Failure& problem) {
    network_failed(communicator, problem.kind);
    code = problem.code;
  } catch (const std::exception& problem) {
    code = class_of(problem, function);
  }
  raise(communicator, code, function);
  return true;
}

namespace {

/// bcast() of elements that have gaps, or are in memory of a device, through private memory. Apart, so that the others need no stack for it.
template <class Form>
[[gnu::noinline]] bool bcast_packed(Form& form, Collectives& collectives, void* buffer, std::size_t count,
                                    MPI_Datatype datatype, const TypeInfo& info, int root, MPI_Comm communicator) {
  const std::size_t bytes = count * info.bytes;
  auto&& packed = form.template keep<CallMemory>(bytes);
  const bool is_root = collectives.rank() == root;
  if (is_root)
    form.keep_type_to_send(datatype);
  else
    form.keep_type(datatype);
  std::byte* const between = packed.get();
  const MPI_Comm on = form.lasting(communicator);
  return form.run(
      communicator, collectives, BcastArguments{between, bytes, root}, Shown{between, bytes}, false,
      [=] { return is_root ? pack(buffer, count, datatype, info, between, on) : static_cast<int>(MPI_SUCCESS); },
      [=](int before) { return is_root ? before : unpack(between, buffer, count, datatype, info, on); });
}

/// Bcast by the core. False: the call is the host's.
template <class Form>
bool bcast(Form& form, void* buffer, std::size_t count, MPI_Datatype datatype, int root, MPI_Comm communicator) {
  Collectives* collectives = form.collectives(communicator);
  if (!collectives || root < 0 || root >= collectives->size()) return false;
  TypeInfo room;
  const TypeInfo* info = type_info(datatype, room);
  if (!info) return refuse(Refusal::datatype);
  if (count == 0 || info->bytes == 0) return refuse(Refusal::nothing);
  if (info->contiguous && !buffer) return false;
  if (!info->contiguous || device_of(static_cast<std::byte*>(buffer) + info->offset)) [[unlikely]]
    return bcast_packed(form, *collectives, buffer, count, datatype, *info, root, communicator);
  const std::size_t bytes = count * info->bytes;
  return form.run(communicator, *collectives,
                  BcastArguments{static_cast<std::byte*>(buffer) + info->offset, bytes, root}, Shown{buffer, bytes},
                  false, nothing_before, nothing_after);
}

// The same for int and MPI_Count: false if the call is the host's.

template <class Form, class Count>
bool bcast_ours(void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm, Form& form) {
  // Nothing may also be elements of an empty type on other ranks: the communicator's state is built on all alike.
  if (count < 0) return form.refuse_count(count, comm);
  return bcast(form, buffer, static_cast<std::size_t>(count), datatype, root, comm);
}

template <class Form, class Count>
bool reduce_ours(const void* send, void* receive, Count count, MPI_Datatype datatype, MPI_Op op, int root,
                 MPI_Comm comm, Form& form) {
  if (count <= 0) return form.refuse_count(count, comm);
  Collectives* collectives = form.collectives(comm);
  ReductionCall call{send, receive, static_cast<std::size_t>(count), datatype, op, comm};
  return collectives && reduce(*collectives, call, root, form);
}

template <class Form, class Count>
bool allreduce_ours(const void* send, void* receive, Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    Form& form) {
  if (count <= 0) return form.refuse_count(count, comm);
  Collectives* collectives = form.collectives(comm);
  ReductionCall call{send, receive, static_cast<std::size_t>(count), datatype, op, comm};
  return collectives && allreduce(*collectives, call, form);
}

template <class Form>
bool barrier_ours(MPI_Comm comm, Form& form) {
  Collectives* collectives = form.collectives(comm);
  return collectives &&
         form.run(comm, *collectives, BarrierArguments{}, Shown{nullptr, 0}, false, nothing_before, nothing_after);
}

}  // namespace

void add_starts_of_messages(Starts& starts) {
  TUTTI_START(Ibarrier, Barrier_init, barrier_ours);
  TUTTI_START(Ibcast, Bcast_init, bcast_ours, int);
  TUTTI_START(Ireduce, Reduce_init, reduce_ours, int);
  TUTTI_START(Iallreduce, Allreduce_init, allreduce_ours, int);
  TUTTI_LARGE_START(Ibcast_c, Bcast_init_c, bcast_ours, MPI_Count);
  TUTTI_LARGE_START(Ireduce_c, Reduce_init_c, reduce_ours, MPI_Count);
  TUTTI_LARGE_START(Iallreduce_c, Allreduce_init_c, allreduce_ours, MPI_Count);
}

}  // namespace tutti::mpi

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

TUTTI_EXPORT int MPI_Barrier(MPI_Comm comm) {
  return mpi::ours_or(mpi::barrier_ours<mpi::Blocking>, next.Barrier, comm);
}

TUTTI_EXPORT int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return mpi::ours_or(mpi::bcast_ours<mpi::Blocking, int>, next.Bcast, buffer, count, datatype, root, comm);
}

TUTTI_EXPORT int MPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                            MPI_Comm comm) {
  return mpi::ours_or(mpi::reduce_ours<mpi::Blocking, int>, next.Reduce, sendbuf, recvbuf, count, datatype, op, root,
                      comm);
}

TUTTI_EXPORT int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm) {
  return mpi::ours_or(mpi::allreduce_ours<mpi::Blocking, int>, next.Allreduce, sendbuf, recvbuf, count, datatype, op,
                      comm);
}

TUTTI_EXPORT int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  return mpi::being_made(next.Comm_idup_with_info(comm, info, newcomm, request), newcomm);
}

TUTTI_EXPORT int MPI_Comm_create_from_group(MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler handler,
                                            MPI_Comm* newcomm) {
  return mpi::made(next.Comm_create_from_group(group, tag, info, handler, newcomm), newcomm);
}

TUTTI_EXPORT int MPI_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return mpi::ours_or(mpi::bcast_ours<mpi::Blocking, MPI_Count>, next.Bcast_c, buffer, count, datatype, root, comm);
}

TUTTI_EXPORT int MPI_Reduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                              int root, MPI_Comm comm) {
  return mpi::ours_or(mpi::reduce_ours<mpi::Blocking, MPI_Count>, next.Reduce_c, sendbuf, recvbuf, count, datatype, op,
                      root, comm);
}

TUTTI_EXPORT int MPI_Allreduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                 MPI_Comm comm) {
  return mpi::ours_or(mpi::allreduce_ours<mpi::Blocking, MPI_Count>, next.Allreduce_c, sendbuf, recvbuf, count,
                      datatype, op, comm);
}
