// Neighbor_allgather(v) and Neighbor_alltoall(v,w), taken over from the host.

#include <algorithm>

#include "mpi/arguments/blocks.h"
#include "mpi/functions/interpose.h"
#include "mpi/functions/starts.h"
#include "mpi/requests/form.h"

namespace tutti::mpi {

namespace {

using Role = UserBlocks::Role;

/// What the calls have in common: the neighbours, and the blocks that belong to them. False if the call is the host's.
///
/// Who has no neighbours cannot know whether the others have something to send, so that calls with blocks of no bytes
/// take part like all others.
template <class Form>
class Exchange {
 public:
  Exchange(Form& form, MPI_Comm communicator) : form_(form), communicator_(communicator) {
    collectives_ = form.collectives(communicator);
    if (!collectives_) return;
    neighborhood_ = form.neighborhood(communicator);
    if (neighborhood_ && neighborhood_->exists) return;
    collectives_ = nullptr;
    refuse(Refusal::topology);
  }

  bool alltoall(const BlockList& send_list, const BlockList& receive_list) {
    if (!collectives_ || send_list.buffer == MPI_IN_PLACE || receive_list.buffer == MPI_IN_PLACE) return false;
    auto&& send = blocks(Role::send, neighborhood_->destinations.size());
    auto&& receive = blocks(Role::receive, neighborhood_->sources.size());
    send.belong_to(neighborhood_->destinations);
    receive.belong_to(neighborhood_->sources);
    if (!send_list.describe(send) || !receive_list.describe(receive)) return false;
    return run(send, send.core(), receive, receive_list.regular);
  }

  bool allgather(const BlockList& own_block, const BlockList& receive_list) {
    if (!collectives_ || own_block.buffer == MPI_IN_PLACE || receive_list.buffer == MPI_IN_PLACE) return false;
    const auto& destinations = neighborhood_->destinations;
    const bool sends = std::any_of(destinations.begin(), destinations.end(), [](int rank) { return rank >= 0; });
    auto&& send = blocks(Role::send, sends ? 1 : 0);
    auto&& receive = blocks(Role::receive, neighborhood_->sources.size());
    receive.belong_to(neighborhood_->sources);
    if (!own_block.describe(send) || !receive_list.describe(receive)) return false;
    Blocks same = send.core();
    same.stride = 0;
    return run(send, same, receive, receive_list.regular);
  }

 private:
  decltype(auto) blocks(Role role, std::size_t count) {
    return form_.template keep<UserBlocks>(role, count, form_.lasting(communicator_),
                                           Form::is_pending ? UserBlocks::Memory::own : UserBlocks::Memory::lent);
  }

  bool run(UserBlocks& sent, const Blocks& send, UserBlocks& receive, bool regular) {
    NeighborArguments arguments;
    arguments.sources = neighborhood_->sources.data();
    arguments.source_blocks = neighborhood_->source_blocks.data();
    arguments.source_count = static_cast<int>(neighborhood_->sources.size());
    arguments.destinations = neighborhood_->destinations.data();
    arguments.destination_blocks = neighborhood_->destination_blocks.data();
    arguments.destination_count = static_cast<int>(neighborhood_->destinations.size());
    arguments.send = send;
    arguments.receive = receive.core();
    arguments.regular = regular;
    if (regular) arguments.bytes = std::max(send.bytes, arguments.receive.bytes);
    sent.for_each_type([&](MPI_Datatype type) { form_.keep_type_to_send(type); });
    receive.for_each_type([&](MPI_Datatype type) { form_.keep_type(type); });
    return form_.run(
        communicator_, *collectives_, arguments, Shown{send.base, send.is_regular() ? send.bytes : 0}, false,
        [&sent] { return sent.pack(); }, [&receive](int before) { return receive.unpack(before); });
  }

  Form& form_;
  MPI_Comm communicator_;
  Collectives* collectives_ = nullptr;
  const Neighborhood* neighborhood_ = nullptr;
};

template <class Form, class Count>
bool neighbor_allgather(const void* send, Count sent, MPI_Datatype send_type, void* receive, Count received,
                        MPI_Datatype receive_type, MPI_Comm comm, Form& form) {
  return Exchange(form, comm)
      .allgather(EqualBlocks<Count>{send, sent, send_type}, EqualBlocks<Count>{receive, received, receive_type});
}

template <class Form, class Count, class Displacement>
bool neighbor_allgatherv(const void* send, Count sent, MPI_Datatype send_type, void* receive, const Count* received,
                         const Displacement* displacements, MPI_Datatype receive_type, MPI_Comm comm, Form& form) {
  return Exchange(form, comm)
      .allgather(EqualBlocks<Count>{send, sent, send_type},
                 VaryingBlocks<Count, Displacement>{receive, received, displacements, receive_type});
}

template <class Form, class Count>
bool neighbor_alltoall(const void* send, Count sent, MPI_Datatype send_type, void* receive, Count received,
                       MPI_Datatype receive_type, MPI_Comm comm, Form& form) {
  return Exchange(form, comm)
      .alltoall(EqualBlocks<Count>{send, sent, send_type}, EqualBlocks<Count>{receive, received, receive_type});
}

template <class Form, class Count, class Displacement>
bool neighbor_alltoallv(const void* send, const Count* sent, const Displacement* send_displacements,
                        MPI_Datatype send_type, void* receive, const Count* received,
                        const Displacement* receive_displacements, MPI_Datatype receive_type, MPI_Comm comm,
                        Form& form) {
  return Exchange(form, comm)
      .alltoall(VaryingBlocks<Count, Displacement>{send, sent, send_displacements, send_type},
                VaryingBlocks<Count, Displacement>{receive, received, receive_displacements, receive_type});
}

template <class Form, class Count, class Displacement>
bool neighbor_alltoallw(const void* send, const Count* sent, const Displacement* send_displacements,
                        const MPI_Datatype* send_types, void* receive, const Count* received,
                        const Displacement* receive_displacements, const MPI_Datatype* receive_types, MPI_Comm comm,
                        Form& form) {
  return Exchange(form, comm)
      .alltoall(TypedBlocks<Count, Displacement>{send, sent, send_displacements, send_types},
                TypedBlocks<Count, Displacement>{receive, received, receive_displacements, receive_types});
}

}  // namespace

void add_starts_of_neighbors(Starts& starts) {
  TUTTI_START(Ineighbor_allgather, Neighbor_allgather_init, neighbor_allgather, int);
  TUTTI_START(Ineighbor_allgatherv, Neighbor_allgatherv_init, neighbor_allgatherv, int, int);
  TUTTI_START(Ineighbor_alltoall, Neighbor_alltoall_init, neighbor_alltoall, int);
  TUTTI_START(Ineighbor_alltoallv, Neighbor_alltoallv_init, neighbor_alltoallv, int, int);
  TUTTI_START(Ineighbor_alltoallw, Neighbor_alltoallw_init, neighbor_alltoallw, int, MPI_Aint);
  TUTTI_LARGE_START(Ineighbor_allgather_c, Neighbor_allgather_init_c, neighbor_allgather, MPI_Count);
  TUTTI_LARGE_START(Ineighbor_allgatherv_c, Neighbor_allgatherv_init_c, neighbor_allgatherv, MPI_Count, MPI_Aint);
  TUTTI_LARGE_START(Ineighbor_alltoall_c, Neighbor_alltoall_init_c, neighbor_alltoall, MPI_Count);
  TUTTI_LARGE_START(Ineighbor_alltoallv_c, Neighbor_alltoallv_init_c, neighbor_alltoallv, MPI_Count, MPI_Aint);
  TUTTI_LARGE_START(Ineighbor_alltoallw_c, Neighbor_alltoallw_init_c, neighbor_alltoallw, MPI_Count, MPI_Aint);
}

}  // namespace tutti::mpi

using namespace tutti;
using tutti::mpi::next;

TUTTI_EXPORT int MPI_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_allgather<mpi::Blocking, int>, next.Neighbor_allgather, sendbuf, sendcount,
                      sendtype, recvbuf, recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                         MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_allgatherv<mpi::Blocking, int, int>, next.Neighbor_allgatherv, sendbuf, sendcount,
                      sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                       int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoall<mpi::Blocking, int>, next.Neighbor_alltoall, sendbuf, sendcount, sendtype,
                      recvbuf, recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                        MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                        const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoallv<mpi::Blocking, int, int>, next.Neighbor_alltoallv, sendbuf, sendcounts,
                      sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                        const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoallw<mpi::Blocking, int, MPI_Aint>, next.Neighbor_alltoallw, sendbuf,
                      sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
}

TUTTI_EXPORT int MPI_Neighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                          void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_allgather<mpi::Blocking, MPI_Count>, next.Neighbor_allgather_c, sendbuf, sendcount,
                      sendtype, recvbuf, recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                           MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_allgatherv<mpi::Blocking, MPI_Count, MPI_Aint>, next.Neighbor_allgatherv_c, sendbuf,
                      sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoall<mpi::Blocking, MPI_Count>, next.Neighbor_alltoall_c, sendbuf, sendcount,
                      sendtype, recvbuf, recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                          MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                          const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoallv<mpi::Blocking, MPI_Count, MPI_Aint>, next.Neighbor_alltoallv_c, sendbuf,
                      sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                          const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                          const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoallw<mpi::Blocking, MPI_Count, MPI_Aint>, next.Neighbor_alltoallw_c, sendbuf,
                      sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
}
