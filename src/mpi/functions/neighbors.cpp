// Neighbor_allgather(v) and Neighbor_alltoall(v,w), taken over from the host.

#include <algorithm>

#include "mpi/arguments/blocks.h"
#include "mpi/communicators.h"
#include "mpi/functions/interpose.h"

namespace tutti::mpi {

namespace {

using Role = UserBlocks::Role;

/// What the calls have in common: the neighbours, and the blocks that belong to them. False if the call is the host's.
///
/// Who has no neighbours cannot know whether the others have something to send, so that calls with blocks of no bytes
/// take part like all others.
class Exchange {
 public:
  Exchange(MPI_Comm communicator, int& code) : communicator_(communicator), code_(code) {
    collectives_ = collectives_of(communicator);
    if (!collectives_) return;
    neighborhood_ = &neighborhood_of(communicator);
    if (neighborhood_->exists) return;
    collectives_ = nullptr;
    refuse(Refusal::topology);
  }

  template <class List>
  bool alltoall(const List& send_list, const List& receive_list) {
    if (!collectives_ || send_list.buffer == MPI_IN_PLACE || receive_list.buffer == MPI_IN_PLACE) return false;
    UserBlocks send(Role::send, neighborhood_->destinations.size(), communicator_);
    UserBlocks receive(Role::receive, neighborhood_->sources.size(), communicator_);
    send.belong_to(neighborhood_->destinations);
    receive.belong_to(neighborhood_->sources);
    if (!send_list.describe(send) || !receive_list.describe(receive)) return false;
    code_ = send.pack();
    return run(send.core(), receive, List::regular);
  }

  template <class Count, class List>
  bool allgather(const EqualBlocks<Count>& own_block, const List& receive_list) {
    if (!collectives_ || own_block.buffer == MPI_IN_PLACE || receive_list.buffer == MPI_IN_PLACE) return false;
    const auto& destinations = neighborhood_->destinations;
    const bool sends = std::any_of(destinations.begin(), destinations.end(), [](int rank) { return rank >= 0; });
    UserBlocks send(Role::send, sends ? 1 : 0, communicator_);
    UserBlocks receive(Role::receive, neighborhood_->sources.size(), communicator_);
    receive.belong_to(neighborhood_->sources);
    if (!own_block.describe(send) || !receive_list.describe(receive)) return false;
    code_ = send.pack();
    Blocks same = send.core();
    same.stride = 0;
    return run(same, receive, List::regular);
  }

 private:
  bool run(const Blocks& send, UserBlocks& receive, bool regular) {
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
    if (!carried_out(collectives_->neighbor(arguments))) return false;
    remember(*collectives_, send.base, send.is_regular() ? send.bytes : 0);
    code_ = finish(collectives_->truncated(), communicator_, receive.unpack(code_));
    return true;
  }

  MPI_Comm communicator_;
  int& code_;
  Collectives* collectives_ = nullptr;
  const Neighborhood* neighborhood_ = nullptr;
};

template <class Count>
bool neighbor_allgather(const void* send, Count sent, MPI_Datatype send_type, void* receive, Count received,
                        MPI_Datatype receive_type, MPI_Comm comm, int& code) {
  return Exchange(comm, code)
      .allgather(EqualBlocks<Count>{send, sent, send_type}, EqualBlocks<Count>{receive, received, receive_type});
}

template <class Count, class Displacement>
bool neighbor_allgatherv(const void* send, Count sent, MPI_Datatype send_type, void* receive, const Count* received,
                         const Displacement* displacements, MPI_Datatype receive_type, MPI_Comm comm, int& code) {
  return Exchange(comm, code)
      .allgather(EqualBlocks<Count>{send, sent, send_type},
                 VaryingBlocks<Count, Displacement>{receive, received, displacements, receive_type});
}

template <class Count>
bool neighbor_alltoall(const void* send, Count sent, MPI_Datatype send_type, void* receive, Count received,
                       MPI_Datatype receive_type, MPI_Comm comm, int& code) {
  return Exchange(comm, code)
      .alltoall(EqualBlocks<Count>{send, sent, send_type}, EqualBlocks<Count>{receive, received, receive_type});
}

template <class Count, class Displacement>
bool neighbor_alltoallv(const void* send, const Count* sent, const Displacement* send_displacements,
                        MPI_Datatype send_type, void* receive, const Count* received,
                        const Displacement* receive_displacements, MPI_Datatype receive_type, MPI_Comm comm,
                        int& code) {
  return Exchange(comm, code)
      .alltoall(VaryingBlocks<Count, Displacement>{send, sent, send_displacements, send_type},
                VaryingBlocks<Count, Displacement>{receive, received, receive_displacements, receive_type});
}

template <class Count, class Displacement>
bool neighbor_alltoallw(const void* send, const Count* sent, const Displacement* send_displacements,
                        const MPI_Datatype* send_types, void* receive, const Count* received,
                        const Displacement* receive_displacements, const MPI_Datatype* receive_types, MPI_Comm comm,
                        int& code) {
  return Exchange(comm, code)
      .alltoall(TypedBlocks<Count, Displacement>{send, sent, send_displacements, send_types},
                TypedBlocks<Count, Displacement>{receive, received, receive_displacements, receive_types});
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti;
using tutti::mpi::next;

TUTTI_EXPORT int MPI_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_allgather<int>, next.Neighbor_allgather, sendbuf, sendcount, sendtype, recvbuf,
                      recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                         MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_allgatherv<int, int>, next.Neighbor_allgatherv, sendbuf, sendcount, sendtype,
                      recvbuf, recvcounts, displs, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                       int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoall<int>, next.Neighbor_alltoall, sendbuf, sendcount, sendtype, recvbuf,
                      recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                        MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                        const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoallv<int, int>, next.Neighbor_alltoallv, sendbuf, sendcounts, sdispls,
                      sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                        const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoallw<int, MPI_Aint>, next.Neighbor_alltoallw, sendbuf, sendcounts, sdispls,
                      sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
}

TUTTI_EXPORT int MPI_Neighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                          void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_allgather<MPI_Count>, next.Neighbor_allgather_c, sendbuf, sendcount, sendtype,
                      recvbuf, recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                           MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_allgatherv<MPI_Count, MPI_Aint>, next.Neighbor_allgatherv_c, sendbuf, sendcount,
                      sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoall<MPI_Count>, next.Neighbor_alltoall_c, sendbuf, sendcount, sendtype,
                      recvbuf, recvcount, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                          MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                          const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoallv<MPI_Count, MPI_Aint>, next.Neighbor_alltoallv_c, sendbuf, sendcounts,
                      sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
}

TUTTI_EXPORT int MPI_Neighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                          const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                          const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return mpi::ours_or(mpi::neighbor_alltoallw<MPI_Count, MPI_Aint>, next.Neighbor_alltoallw_c, sendbuf, sendcounts,
                      sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
}
