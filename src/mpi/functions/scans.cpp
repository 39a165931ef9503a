// The reductions that leave each rank something of its own: Reduce_scatter, Scan, Exscan; and Reduce_local.

#include <numeric>
#include <type_traits>
#include <vector>

#include "mpi/arguments/loan.h"
#include "mpi/arguments/reductions.h"
#include "mpi/functions/interpose.h"
#include "mpi/functions/starts.h"
#include "mpi/requests/form.h"

namespace tutti::mpi {

namespace {

/// Counts of elements, lent where calls come one after the other.
class OwnCounts {
 public:
  std::vector<std::size_t>& operator*() { return counts_; }

 private:
  std::vector<std::size_t> counts_;
};
template <class Form>
using CountsOf = std::conditional_t<Form::is_pending, OwnCounts, Loan<std::vector<std::size_t>>>;

template <class Form>
bool reduce_scatter_of(Form& form, Collectives& collectives, ReductionCall call,
                       const std::vector<std::size_t>& counts) {
  call.count = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  if (call.count == 0) return refuse(Refusal::nothing);
  return reduce_scatter(collectives, call, counts.data(), form);
}

// The same for int and MPI_Count. Each returns false if the call is the host's.

template <class Form, class Count>
bool reduce_scatter_ours(const void* send, void* receive, const Count* receive_counts, MPI_Datatype datatype,
                         MPI_Op operation, MPI_Comm comm, Form& form) {
  Collectives* collectives = form.collectives(comm);
  if (!collectives || !receive_counts) return false;
  auto&& kept = form.template keep<CountsOf<Form>>();
  std::vector<std::size_t>& counts = *kept;
  counts.clear();
  for (int rank = 0; rank < collectives->size(); ++rank) {
    if (receive_counts[rank] < 0) return false;
    counts.push_back(static_cast<std::size_t>(receive_counts[rank]));
  }
  return reduce_scatter_of(form, *collectives, {send, receive, 0, datatype, operation, comm}, counts);
}

template <class Form, class Count>
bool reduce_scatter_block_ours(const void* send, void* receive, Count receive_count, MPI_Datatype datatype,
                               MPI_Op operation, MPI_Comm comm, Form& form) {
  if (receive_count <= 0) return form.refuse_count(receive_count, comm);
  Collectives* collectives = form.collectives(comm);
  if (!collectives) return false;
  auto&& kept = form.template keep<CountsOf<Form>>();
  std::vector<std::size_t>& counts = *kept;
  counts.assign(static_cast<std::size_t>(collectives->size()), static_cast<std::size_t>(receive_count));
  return reduce_scatter_of(form, *collectives, {send, receive, 0, datatype, operation, comm}, counts);
}

template <class Form, bool exclusive, class Count>
bool scan_ours(const void* send, void* receive, Count count, MPI_Datatype datatype, MPI_Op operation, MPI_Comm comm,
               Form& form) {
  if (count <= 0) return form.refuse_count(count, comm);
  Collectives* collectives = form.collectives(comm);
  ReductionCall call{send, receive, static_cast<std::size_t>(count), datatype, operation, comm};
  return collectives && scan(*collectives, call, exclusive, form);
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

void add_starts_of_scans(Starts& starts) {
  TUTTI_START(Ireduce_scatter, Reduce_scatter_init, reduce_scatter_ours, int);
  TUTTI_START(Ireduce_scatter_block, Reduce_scatter_block_init, reduce_scatter_block_ours, int);
  TUTTI_START(Iscan, Scan_init, scan_ours, false, int);
  TUTTI_START(Iexscan, Exscan_init, scan_ours, true, int);
  TUTTI_LARGE_START(Ireduce_scatter_c, Reduce_scatter_init_c, reduce_scatter_ours, MPI_Count);
  TUTTI_LARGE_START(Ireduce_scatter_block_c, Reduce_scatter_block_init_c, reduce_scatter_block_ours, MPI_Count);
  TUTTI_LARGE_START(Iscan_c, Scan_init_c, scan_ours, false, MPI_Count);
  TUTTI_LARGE_START(Iexscan_c, Exscan_init_c, scan_ours, true, MPI_Count);
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_EXPORT int MPI_Reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                                    MPI_Op op, MPI_Comm comm) {
  return ours_or(reduce_scatter_ours<Blocking, int>, next.Reduce_scatter, sendbuf, recvbuf, recvcounts, datatype, op,
                 comm);
}

TUTTI_EXPORT int MPI_Reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                                          MPI_Op op, MPI_Comm comm) {
  return ours_or(reduce_scatter_block_ours<Blocking, int>, next.Reduce_scatter_block, sendbuf, recvbuf, recvcount,
                 datatype, op, comm);
}

TUTTI_EXPORT int MPI_Scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm) {
  return ours_or(scan_ours<Blocking, false, int>, next.Scan, sendbuf, recvbuf, count, datatype, op, comm);
}

TUTTI_EXPORT int MPI_Exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                            MPI_Comm comm) {
  return ours_or(scan_ours<Blocking, true, int>, next.Exscan, sendbuf, recvbuf, count, datatype, op, comm);
}

TUTTI_EXPORT int MPI_Reduce_local(const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op) {
  return reduce_local_or(inbuf, inoutbuf, count, datatype, op, next.Reduce_local);
}

TUTTI_EXPORT int MPI_Reduce_scatter_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return ours_or(reduce_scatter_ours<Blocking, MPI_Count>, next.Reduce_scatter_c, sendbuf, recvbuf, recvcounts,
                 datatype, op, comm);
}

TUTTI_EXPORT int MPI_Reduce_scatter_block_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return ours_or(reduce_scatter_block_ours<Blocking, MPI_Count>, next.Reduce_scatter_block_c, sendbuf, recvbuf,
                 recvcount, datatype, op, comm);
}

TUTTI_EXPORT int MPI_Scan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                            MPI_Comm comm) {
  return ours_or(scan_ours<Blocking, false, MPI_Count>, next.Scan_c, sendbuf, recvbuf, count, datatype, op, comm);
}

TUTTI_EXPORT int MPI_Exscan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                              MPI_Comm comm) {
  return ours_or(scan_ours<Blocking, true, MPI_Count>, next.Exscan_c, sendbuf, recvbuf, count, datatype, op, comm);
}

TUTTI_EXPORT int MPI_Reduce_local_c(const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype,
                                    MPI_Op op) {
  return reduce_local_or(inbuf, inoutbuf, count, datatype, op, next.Reduce_local_c);
}
