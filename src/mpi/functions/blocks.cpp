// Scatter, Gather, Allgather and Alltoall with all their forms, taken over from the host.

#include "mpi/arguments/blocks.h"

#include "mpi/functions/interpose.h"
#include "mpi/functions/starts.h"
#include "mpi/requests/form.h"

namespace tutti::mpi {

namespace {

using Role = UserBlocks::Role;

// The collectives by the core: false if the call is the host's, else `code` is the result.
//
// Blocks of no bytes in a regular call are the host's on all ranks, since their size is equal on all. Arguments that
// are significant at the root only are not looked at elsewhere.
//
// A rank that sends itself more than it has room for has made a mistake. In a regular call the others will have sent as
// much: the blocks then go through private memory that has the room, and the error is raised at the end.

/// A rank sends from where it receives, which some hosts object to: theirs to say.
bool host_objects(const UserBlocks& send, std::size_t sent, const UserBlocks& receive, std::size_t received) {
#ifdef OPEN_MPI
  static_cast<void>(send), static_cast<void>(sent), static_cast<void>(receive), static_cast<void>(received);
  return false;
#else
  return send.bytes(sent) && send.core().at(sent) == receive.core().at(received);
#endif
}

/// To be held by auto&&.
template <class Form>
decltype(auto) blocks(Form& form, Role role, std::size_t count, MPI_Comm comm) {
  return form.template keep<UserBlocks>(role, count, form.lasting(comm),
                                        Form::is_pending ? UserBlocks::Memory::own : UserBlocks::Memory::lent);
}

/// Carries the call out, or starts it: what is to be sent is packed, and what has come is then unpacked. own: which block
/// of `receive` this rank sends; -1 if it is none.
template <class Form, class Arguments>
bool exchange(Form& form, MPI_Comm comm, Collectives& collectives, const Arguments& arguments, const Shown& shown,
              UserBlocks& send, UserBlocks& receive, bool too_long, std::ptrdiff_t own = -1) {
  send.for_each_type([&](MPI_Datatype type) { form.keep_type_to_send(type); });
  receive.for_each_type([&](MPI_Datatype type) { form.keep_type(type); });
  return form.run(
      comm, collectives, arguments, shown, too_long,
      [&send, &receive, own] { return own < 0 ? send.pack() : receive.pack(static_cast<std::size_t>(own)); },
      [&receive](int before) { return receive.unpack(before); });
}

template <class Form>
bool scatter_blocks(Form& form, const BlockList& list, const BlockList& own_list, int root, MPI_Comm comm) {
  Collectives* collectives = form.collectives(comm);
  if (!collectives) return false;
  if (root < 0 || root >= collectives->size()) return false;
  const bool is_root = collectives->rank() == root;
  const bool in_place = own_list.buffer == MPI_IN_PLACE;
  if (in_place && !is_root) return false;
  const auto own_index = static_cast<std::size_t>(root);

  auto&& send = blocks(form, Role::send, static_cast<std::size_t>(collectives->size()), comm);
  auto&& own = blocks(form, Role::receive, 1, comm);
  if (is_root && (list.buffer == MPI_IN_PLACE || !list.describe(send))) return false;
  if (!in_place && !own_list.describe(own)) return false;
  if (is_root && !in_place && host_objects(send, own_index, own, 0)) return false;
  const bool too_long = is_root && !in_place && send.bytes(own_index) > own.bytes(0);
  if (too_long) own.widen(send.bytes(own_index));

  ScatterArguments arguments;
  // Not the root's room, which may be more than it has to send.
  arguments.bytes = is_root ? send.bytes(own_index) : own.bytes(0);
  if (list.regular && arguments.bytes == 0) return refuse(Refusal::nothing);
  if (in_place) send.leave_out(own_index);
  if (is_root) arguments.send = send.core();
  arguments.receive = in_place ? nullptr : own.core().base;
  arguments.root = root;
  arguments.regular = list.regular;
  const Shown shown{is_root ? arguments.send.base : arguments.receive, arguments.bytes};
  return exchange(form, comm, *collectives, arguments, shown, send, own, too_long);
}

template <class Form>
bool gather_blocks(Form& form, const BlockList& own_list, const BlockList& list, int root, MPI_Comm comm) {
  Collectives* collectives = form.collectives(comm);
  if (!collectives) return false;
  if (root < 0 || root >= collectives->size()) return false;
  const bool is_root = collectives->rank() == root;
  const bool in_place = own_list.buffer == MPI_IN_PLACE;
  if (in_place && !is_root) return false;
  const auto own_index = static_cast<std::size_t>(root);

  auto&& own = blocks(form, Role::send, 1, comm);
  auto&& receive = blocks(form, Role::receive, static_cast<std::size_t>(collectives->size()), comm);
  if (is_root && (list.buffer == MPI_IN_PLACE || !list.describe(receive))) return false;
  if (!in_place && !own_list.describe(own)) return false;
  if (is_root && !in_place && host_objects(own, 0, receive, own_index)) return false;
  const bool too_long = is_root && !in_place && own.bytes(0) > receive.bytes(own_index);
  if (too_long && list.regular) receive.widen(own.bytes(0));

  GatherArguments arguments;
  arguments.bytes = in_place || too_long ? receive.bytes(own_index) : own.bytes(0);
  if (list.regular && arguments.bytes == 0) return refuse(Refusal::nothing);
  if (in_place) receive.leave_out(own_index);
  arguments.send = in_place ? nullptr : own.core().base;
  if (is_root) arguments.receive = receive.core();
  arguments.root = root;
  arguments.regular = list.regular;
  const Shown shown{in_place ? arguments.receive.base : arguments.send, arguments.bytes};
  return exchange(form, comm, *collectives, arguments, shown, own, receive, too_long);
}

template <class Form>
bool allgather_blocks(Form& form, const BlockList& own_list, const BlockList& list, MPI_Comm comm) {
  Collectives* collectives = form.collectives(comm);
  if (!collectives || list.buffer == MPI_IN_PLACE) return false;
  const bool in_place = own_list.buffer == MPI_IN_PLACE;
  const auto own_index = static_cast<std::size_t>(collectives->rank());

  auto&& own = blocks(form, Role::send, 1, comm);
  auto&& receive = blocks(form, Role::receive, static_cast<std::size_t>(collectives->size()), comm);
  if (!list.describe(receive)) return false;
  if (!in_place && (!own_list.describe(own) || host_objects(own, 0, receive, own_index))) return false;
  const bool too_long = !in_place && own.bytes(0) > receive.bytes(own_index);
  if (too_long && list.regular) receive.widen(own.bytes(0));

  AllgatherArguments arguments;
  arguments.bytes = in_place || too_long ? receive.bytes(own_index) : own.bytes(0);
  if (list.regular && arguments.bytes == 0) return refuse(Refusal::nothing);
  if (in_place) receive.leave_out(own_index);
  arguments.send = in_place ? nullptr : own.core().base;
  arguments.receive = receive.core();
  const Shown shown{in_place ? arguments.receive.at(own_index) : arguments.send, arguments.bytes};
  return exchange(form, comm, *collectives, arguments, shown, own, receive, too_long,
                  in_place ? static_cast<std::ptrdiff_t>(own_index) : -1);
}

template <class Form>
bool alltoall_blocks(Form& form, const BlockList& send_list, const BlockList& list, MPI_Comm comm) {
  Collectives* collectives = form.collectives(comm);
  if (!collectives || list.buffer == MPI_IN_PLACE) return false;
  const auto ranks = static_cast<std::size_t>(collectives->size());
  const auto own_index = static_cast<std::size_t>(collectives->rank());
  const bool in_place = send_list.buffer == MPI_IN_PLACE;

  auto&& send = blocks(form, in_place ? Role::copy : Role::send, ranks, comm);
  auto&& receive = blocks(form, Role::receive, ranks, comm);
  if (!(in_place ? list : send_list).describe(send) || !list.describe(receive)) return false;
  if (host_objects(send, own_index, receive, own_index)) return false;
  const bool too_long = send.bytes(own_index) > receive.bytes(own_index);
  if (too_long && list.regular) receive.widen(send.bytes(own_index));
  if (too_long && !list.regular) send.cut(own_index, receive.bytes(own_index));
  if (list.regular && send.bytes(0) == 0) return refuse(Refusal::nothing);

  AlltoallArguments arguments;
  arguments.send = send.core();
  arguments.receive = receive.core();
  arguments.regular = list.regular;
  const Shown shown{arguments.send.base, send.bytes(own_index)};
  return exchange(form, comm, *collectives, arguments, shown, send, receive, too_long);
}

// The same with the arguments of MPI's functions.

template <class Form, class Count>
bool scatter(const void* send, Count sent, MPI_Datatype send_type, void* receive, Count received,
             MPI_Datatype receive_type, int root, MPI_Comm comm, Form& form) {
  return scatter_blocks(form, EqualBlocks<Count>{send, sent, send_type},
                        EqualBlocks<Count>{receive, received, receive_type}, root, comm);
}

template <class Form, class Count, class Displacement>
bool scatterv(const void* send, const Count* sent, const Displacement* displacements, MPI_Datatype send_type,
              void* receive, Count received, MPI_Datatype receive_type, int root, MPI_Comm comm, Form& form) {
  return scatter_blocks(form, VaryingBlocks<Count, Displacement>{send, sent, displacements, send_type},
                        EqualBlocks<Count>{receive, received, receive_type}, root, comm);
}

template <class Form, class Count>
bool gather(const void* send, Count sent, MPI_Datatype send_type, void* receive, Count received,
            MPI_Datatype receive_type, int root, MPI_Comm comm, Form& form) {
  return gather_blocks(form, EqualBlocks<Count>{send, sent, send_type},
                       EqualBlocks<Count>{receive, received, receive_type}, root, comm);
}

template <class Form, class Count, class Displacement>
bool gatherv(const void* send, Count sent, MPI_Datatype send_type, void* receive, const Count* received,
             const Displacement* displacements, MPI_Datatype receive_type, int root, MPI_Comm comm, Form& form) {
  return gather_blocks(form, EqualBlocks<Count>{send, sent, send_type},
                       VaryingBlocks<Count, Displacement>{receive, received, displacements, receive_type}, root, comm);
}

template <class Form, class Count>
bool allgather(const void* send, Count sent, MPI_Datatype send_type, void* receive, Count received,
               MPI_Datatype receive_type, MPI_Comm comm, Form& form) {
  return allgather_blocks(form, EqualBlocks<Count>{send, sent, send_type},
                          EqualBlocks<Count>{receive, received, receive_type}, comm);
}

template <class Form, class Count, class Displacement>
bool allgatherv(const void* send, Count sent, MPI_Datatype send_type, void* receive, const Count* received,
                const Displacement* displacements, MPI_Datatype receive_type, MPI_Comm comm, Form& form) {
  return allgather_blocks(form, EqualBlocks<Count>{send, sent, send_type},
                          VaryingBlocks<Count, Displacement>{receive, received, displacements, receive_type}, comm);
}

template <class Form, class Count>
bool alltoall(const void* send, Count sent, MPI_Datatype send_type, void* receive, Count received,
              MPI_Datatype receive_type, MPI_Comm comm, Form& form) {
  return alltoall_blocks(form, EqualBlocks<Count>{send, sent, send_type},
                         EqualBlocks<Count>{receive, received, receive_type}, comm);
}

template <class Form, class Count, class Displacement>
bool alltoallv(const void* send, const Count* sent, const Displacement* send_displacements, MPI_Datatype send_type,
               void* receive, const Count* received, const Displacement* receive_displacements,
               MPI_Datatype receive_type, MPI_Comm comm, Form& form) {
  return alltoall_blocks(form, VaryingBlocks<Count, Displacement>{send, sent, send_displacements, send_type},
                         VaryingBlocks<Count, Displacement>{receive, received, receive_displacements, receive_type},
                         comm);
}

template <class Form, class Count, class Displacement>
bool alltoallw(const void* send, const Count* sent, const Displacement* send_displacements,
               const MPI_Datatype* send_types, void* receive, const Count* received,
               const Displacement* receive_displacements, const MPI_Datatype* receive_types, MPI_Comm comm,
               Form& form) {
  return alltoall_blocks(form, TypedBlocks<Count, Displacement>{send, sent, send_displacements, send_types},
                         TypedBlocks<Count, Displacement>{receive, received, receive_displacements, receive_types},
                         comm);
}

}  // namespace

void add_starts_of_blocks(Starts& starts) {
  TUTTI_START(Iscatter, Scatter_init, scatter, int);
  TUTTI_START(Iscatterv, Scatterv_init, scatterv, int, int);
  TUTTI_START(Igather, Gather_init, gather, int);
  TUTTI_START(Igatherv, Gatherv_init, gatherv, int, int);
  TUTTI_START(Iallgather, Allgather_init, allgather, int);
  TUTTI_START(Iallgatherv, Allgatherv_init, allgatherv, int, int);
  TUTTI_START(Ialltoall, Alltoall_init, alltoall, int);
  TUTTI_START(Ialltoallv, Alltoallv_init, alltoallv, int, int);
  TUTTI_START(Ialltoallw, Alltoallw_init, alltoallw, int, int);
  TUTTI_LARGE_START(Iscatter_c, Scatter_init_c, scatter, MPI_Count);
  TUTTI_LARGE_START(Iscatterv_c, Scatterv_init_c, scatterv, MPI_Count, MPI_Aint);
  TUTTI_LARGE_START(Igather_c, Gather_init_c, gather, MPI_Count);
  TUTTI_LARGE_START(Igatherv_c, Gatherv_init_c, gatherv, MPI_Count, MPI_Aint);
  TUTTI_LARGE_START(Iallgather_c, Allgather_init_c, allgather, MPI_Count);
  TUTTI_LARGE_START(Iallgatherv_c, Allgatherv_init_c, allgatherv, MPI_Count, MPI_Aint);
  TUTTI_LARGE_START(Ialltoall_c, Alltoall_init_c, alltoall, MPI_Count);
  TUTTI_LARGE_START(Ialltoallv_c, Alltoallv_init_c, alltoallv, MPI_Count, MPI_Aint);
  TUTTI_LARGE_START(Ialltoallw_c, Alltoallw_init_c, alltoallw, MPI_Count, MPI_Aint);
}

}  // namespace tutti::mpi

using namespace tutti;
using tutti::mpi::next;

TUTTI_EXPORT int MPI_Scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                             MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return mpi::ours_or(mpi::scatter<mpi::Blocking, int>, next.Scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                      recvtype, root, comm);
}

TUTTI_EXPORT int MPI_Scatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                              void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return mpi::ours_or(mpi::scatterv<mpi::Blocking, int, int>, next.Scatterv, sendbuf, sendcounts, displs, sendtype,
                      recvbuf, recvcount, recvtype, root, comm);
}

TUTTI_EXPORT int MPI_Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                            MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return mpi::ours_or(mpi::gather<mpi::Blocking, int>, next.Gather, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                      recvtype, root, comm);
}

TUTTI_EXPORT int MPI_Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                             const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                             MPI_Comm comm) {
  return mpi::ours_or(mpi::gatherv<mpi::Blocking, int, int>, next.Gatherv, sendbuf, sendcount, sendtype, recvbuf,
                      recvcounts, displs, recvtype, root, comm);
}

TUTTI_EXPORT int MPI_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                               MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::allgather<mpi::Blocking, int>, next.Allgather, sendbuf, sendcount, sendtype, recvbuf,
                      recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::allgatherv<mpi::Blocking, int, int>, next.Allgatherv, sendbuf, sendcount, sendtype, recvbuf,
                      recvcounts, displs, recvtype, comm);
}

TUTTI_EXPORT int MPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                              MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::alltoall<mpi::Blocking, int>, next.Alltoall, sendbuf, sendcount, sendtype, recvbuf,
                      recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                               void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                               MPI_Comm comm) {
  return mpi::ours_or(mpi::alltoallv<mpi::Blocking, int, int>, next.Alltoallv, sendbuf, sendcounts, sdispls, sendtype,
                      recvbuf, recvcounts, rdispls, recvtype, comm);
}

TUTTI_EXPORT int MPI_Alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                               const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                               const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return mpi::ours_or(mpi::alltoallw<mpi::Blocking, int, int>, next.Alltoallw, sendbuf, sendcounts, sdispls, sendtypes,
                      recvbuf, recvcounts, rdispls, recvtypes, comm);
}

TUTTI_EXPORT int MPI_Scatter_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                               MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return mpi::ours_or(mpi::scatter<mpi::Blocking, MPI_Count>, next.Scatter_c, sendbuf, sendcount, sendtype, recvbuf,
                      recvcount, recvtype, root, comm);
}

TUTTI_EXPORT int MPI_Scatterv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                                MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                int root, MPI_Comm comm) {
  return mpi::ours_or(mpi::scatterv<mpi::Blocking, MPI_Count, MPI_Aint>, next.Scatterv_c, sendbuf, sendcounts, displs,
                      sendtype, recvbuf, recvcount, recvtype, root, comm);
}

TUTTI_EXPORT int MPI_Gather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                              MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return mpi::ours_or(mpi::gather<mpi::Blocking, MPI_Count>, next.Gather_c, sendbuf, sendcount, sendtype, recvbuf,
                      recvcount, recvtype, root, comm);
}

TUTTI_EXPORT int MPI_Gatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                               const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                               MPI_Comm comm) {
  return mpi::ours_or(mpi::gatherv<mpi::Blocking, MPI_Count, MPI_Aint>, next.Gatherv_c, sendbuf, sendcount, sendtype,
                      recvbuf, recvcounts, displs, recvtype, root, comm);
}

TUTTI_EXPORT int MPI_Allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::allgather<mpi::Blocking, MPI_Count>, next.Allgather_c, sendbuf, sendcount, sendtype, recvbuf,
                      recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                  MPI_Comm comm) {
  return mpi::ours_or(mpi::allgatherv<mpi::Blocking, MPI_Count, MPI_Aint>, next.Allgatherv_c, sendbuf, sendcount,
                      sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}

TUTTI_EXPORT int MPI_Alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::alltoall<mpi::Blocking, MPI_Count>, next.Alltoall_c, sendbuf, sendcount, sendtype, recvbuf,
                      recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                 const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::alltoallv<mpi::Blocking, MPI_Count, MPI_Aint>, next.Alltoallv_c, sendbuf, sendcounts,
                      sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
}

TUTTI_EXPORT int MPI_Alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                 const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                 const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return mpi::ours_or(mpi::alltoallw<mpi::Blocking, MPI_Count, MPI_Aint>, next.Alltoallw_c, sendbuf, sendcounts,
                      sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
}
