// The reductions that leave each rank something of its own: Reduce_scatter, Scan, Exscan; and Reduce_local.

#include <vector>

#include "mpi/arguments/loan.h"
#include "mpi/arguments/reductions.h"
#include "mpi/communicators.h"
#include "mpi/functions/interpose.h"

namespace tutti::mpi {

namespace {

void remember_call(Collectives& collectives, const ReductionCall& call) {
  remember(collectives, call.send == MPI_IN_PLACE ? call.receive : call.send, call.bytes());
}

bool reduce_scatter_of(Collectives& collectives, ReductionCall call, const std::size_t* counts, int& code) {
  for (int rank = 0; rank < collectives.communicator().size(); ++rank) call.count += counts[rank];
  if (call.count == 0) return refuse(Refusal::nothing);
  if (!reduce_scatter(collectives, call, counts, code)) return false;
  remember_call(collectives, call);
  return true;
}

// The same for int and MPI_Count. Each returns false if the call is the host's.

template <class Count>
bool reduce_scatter_ours(const void* send, void* receive, const Count* receive_counts, MPI_Datatype datatype,
                         MPI_Op operation, MPI_Comm comm, int& code) {
  Collectives* collectives = collectives_of(comm);
  if (!collectives || !receive_counts) return false;
  const Loan<std::vector<std::size_t>> counts;
  counts->clear();
  for (int rank = 0; rank < collectives->communicator().size(); ++rank) {
    if (receive_counts[rank] < 0) return false;
    counts->push_back(static_cast<std::size_t>(receive_counts[rank]));
  }
  return reduce_scatter_of(*collectives, {send, receive, 0, datatype, operation, comm}, counts->data(), code);
}

template <class Count>
bool reduce_scatter_block_ours(const void* send, void* receive, Count receive_count, MPI_Datatype datatype,
                               MPI_Op operation, MPI_Comm comm, int& code) {
  if (receive_count <= 0) return refuse_count(receive_count, comm);
  Collectives* collectives = collectives_of(comm);
  if (!collectives) return false;
  const Loan<std::vector<std::size_t>> counts;
  counts->assign(static_cast<std::size_t>(collectives->communicator().size()), static_cast<std::size_t>(receive_count));
  return reduce_scatter_of(*collectives, {send, receive, 0, datatype, operation, comm}, counts->data(), code);
}

template <bool exclusive, class Count>
bool scan_ours(const void* send, void* receive, Count count, MPI_Datatype datatype, MPI_Op operation, MPI_Comm comm,
               int& code) {
  if (count <= 0) return refuse_count(count, comm);
  Collectives* collectives = collectives_of(comm);
  ReductionCall call{send, receive, static_cast<std::size_t>(count), datatype, operation, comm};
  if (!collectives || !scan(*collectives, call, exclusive, code)) return false;
  remember_call(*collectives, call);
  return true;
}

/// No collective: what ran last stays what it was.
template <class Count, class Function>
int reduce_local_or(const void* in, void* inout, Count count, MPI_Datatype datatype, MPI_Op operation,
                    Function& forward) {
  if (count > 0 && job() &&
      reduce_local({in, inout, static_cast<std::size_t>(count), datatype, operation, MPI_COMM_NULL}))
    return MPI_SUCCESS;
  return forward(in, inout, count, datatype, operation);
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_EXPORT int MPI_Reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                                    MPI_Op op, MPI_Comm comm) {
  return ours_or(reduce_scatter_ours<int>, next.Reduce_scatter, sendbuf, recvbuf, recvcounts, datatype, op, comm);
}

TUTTI_EXPORT int MPI_Reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                                          MPI_Op op, MPI_Comm comm) {
  return ours_or(reduce_scatter_block_ours<int>, next.Reduce_scatter_block, sendbuf, recvbuf, recvcount, datatype, op,
                 comm);
}

TUTTI_EXPORT int MPI_Scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm) {
  return ours_or(scan_ours<false, int>, next.Scan, sendbuf, recvbuf, count, datatype, op, comm);
}

TUTTI_EXPORT int MPI_Exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                            MPI_Comm comm) {
  return ours_or(scan_ours<true, int>, next.Exscan, sendbuf, recvbuf, count, datatype, op, comm);
}

TUTTI_EXPORT int MPI_Reduce_local(const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op) {
  return reduce_local_or(inbuf, inoutbuf, count, datatype, op, next.Reduce_local);
}

TUTTI_EXPORT int MPI_Reduce_scatter_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return ours_or(reduce_scatter_ours<MPI_Count>, next.Reduce_scatter_c, sendbuf, recvbuf, recvcounts, datatype, op,
                 comm);
}

TUTTI_EXPORT int MPI_Reduce_scatter_block_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return ours_or(reduce_scatter_block_ours<MPI_Count>, next.Reduce_scatter_block_c, sendbuf, recvbuf, recvcount,
                 datatype, op, comm);
}

TUTTI_EXPORT int MPI_Scan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                            MPI_Comm comm) {
  return ours_or(scan_ours<false, MPI_Count>, next.Scan_c, sendbuf, recvbuf, count, datatype, op, comm);
}

TUTTI_EXPORT int MPI_Exscan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                              MPI_Comm comm) {
  return ours_or(scan_ours<true, MPI_Count>, next.Exscan_c, sendbuf, recvbuf, count, datatype, op, comm);
}

TUTTI_EXPORT int MPI_Reduce_local_c(const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype,
                                    MPI_Op op) {
  return reduce_local_or(inbuf, inoutbuf, count, datatype, op, next.Reduce_local_c);
}
