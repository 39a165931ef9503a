// Scatter, Gather, Allgather and Alltoall with all their forms, and those of neighbours.

#include "mpi/arguments/blocks.h"

#include <algorithm>

#include "mpi/functions/collective_function.h"
#include "mpi/teams/team_function.h"

namespace tutti::mpi {

namespace {

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

/// The list of blocks with which the arguments begin, and the rest of them: then(list, rest...).
template <class Then, class Count, class... Rest>
bool with_list(const Then& then, const void* buffer, Count elements, MPI_Datatype type, Rest... rest) {
  return then(BlockList(buffer, elements, type), rest...);
}
template <class Then, class Count, class Displacement, class Types, class... Rest>
bool with_list(const Then& then, const void* buffer, const Count* elements, const Displacement* displacements,
               Types types, Rest... rest) {
  return then(BlockList(buffer, elements, displacements, types), rest...);
}

/// Describes a call with two lists of blocks, of whichever kind they are: Call<Form>(form, communicator) and then
/// run(send, receive, root).
template <template <class> class Call>
struct OfBlocks {
  template <class Form, class... Arguments>
  static bool describe(Form& form, Arguments... arguments) {
    return with_list(
        [&](const BlockList& send, auto... behind) {
          return with_list(
              [&](const BlockList& receive, auto... rest) {
                Call<Form> call(form, std::get<sizeof...(rest) - 1>(std::tie(rest...)));
                if (!call.collectives) return false;
                if constexpr (sizeof...(rest) == 1)
                  return call.run(send, receive);
                else
                  return call.run(send, receive, std::get<0>(std::tie(rest...)));
              },
              behind...);
        },
        arguments...);
  }
};

/// What these calls have in common.
template <class Form>
struct BlocksCall {
  Form& form;
  MPI_Comm communicator;
  Collectives* collectives;  ///< null if the call is the host's

  BlocksCall(Form& in, MPI_Comm on) : form(in), communicator(on), collectives(in.collectives(on)) {}

  std::size_t ranks() const { return static_cast<std::size_t>(collectives->size()); }
  std::size_t rank() const { return static_cast<std::size_t>(collectives->rank()); }

  /// To be held by auto&&.
  decltype(auto) blocks(std::size_t count) const {
    return form.template keep<UserBlocks>(count, form.lasting(communicator),
                                          Form::is_pending ? UserBlocks::Memory::own : UserBlocks::Memory::lent);
  }

  /// Carries the call out, or starts it: what is to be sent is packed, and what has come is then unpacked. own: which block
  /// of `receive` this rank sends; -1 if it is none.
  template <class Arguments>
  bool carry_out(const Arguments& arguments, const Shown& shown, UserBlocks& send, UserBlocks& receive,
                 bool too_long = false, std::ptrdiff_t own = -1) const {
    send.for_each_type([&](MPI_Datatype type) { form.keep_type_to_send(type); });
    receive.for_each_type([&](MPI_Datatype type) { form.keep_type(type); });
    return form.run(
        communicator, *collectives, arguments, shown, too_long,
        [&send, &receive, own] { return own < 0 ? send.pack() : receive.pack(static_cast<std::size_t>(own)); },
        [&receive](int before) { return receive.unpack(before); });
  }
};

template <class Form>
struct ScatterCall : BlocksCall<Form> {
  using BlocksCall<Form>::BlocksCall;

  bool run(const BlockList& list, const BlockList& own_list, int root) const {
    if (root < 0 || root >= this->collectives->size()) return false;
    const bool is_root = this->collectives->rank() == root;
    const bool in_place = own_list.is_in_place();
    if (in_place && !is_root) return false;
    const auto own_index = static_cast<std::size_t>(root);

    auto&& send = this->blocks(this->ranks());
    auto&& own = this->blocks(1);
    if (is_root && (list.is_in_place() || !send.describe(list))) return false;
    if (!in_place && !own.describe(own_list)) return false;
    if (is_root && !in_place && host_objects(send, own_index, own, 0)) return false;
    const bool too_long = is_root && !in_place && send.bytes(own_index) > own.bytes(0);
    if (too_long) own.widen(send.bytes(own_index));

    ScatterArguments arguments;
    // Not the root's room, which may be more than it has to send.
    arguments.bytes = is_root ? send.bytes(own_index) : own.bytes(0);
    if (list.is_regular && arguments.bytes == 0) return refuse(Refusal::nothing);
    if (in_place) send.leave_out(own_index);
    if (is_root) arguments.send = send.core();
    arguments.receive = in_place ? nullptr : own.core().base;
    arguments.root = root;
    arguments.regular = list.is_regular;
    const Shown shown{is_root ? arguments.send.base : arguments.receive, arguments.bytes};
    return this->carry_out(arguments, shown, send, own, too_long);
  }
};

template <class Form>
struct GatherCall : BlocksCall<Form> {
  using BlocksCall<Form>::BlocksCall;

  bool run(const BlockList& own_list, const BlockList& list, int root) const {
    if (root < 0 || root >= this->collectives->size()) return false;
    const bool is_root = this->collectives->rank() == root;
    if (own_list.is_in_place() && !is_root) return false;
    GatherArguments arguments;
    arguments.root = root;
    arguments.regular = list.is_regular;
    return gather(arguments, own_list, list, static_cast<std::size_t>(root), is_root);
  }

 protected:
  /// Gather and Allgather. receives: this rank does, and its own block is `own_index`.
  template <class Arguments>
  bool gather(Arguments& arguments, const BlockList& own_list, const BlockList& list, std::size_t own_index,
              bool receives) const {
    const bool in_place = own_list.is_in_place();
    auto&& own = this->blocks(1);
    auto&& receive = this->blocks(this->ranks());
    if (receives && (list.is_in_place() || !receive.describe(list))) return false;
    if (!in_place && !own.describe(own_list)) return false;
    if (receives && !in_place && host_objects(own, 0, receive, own_index)) return false;
    const bool too_long = receives && !in_place && own.bytes(0) > receive.bytes(own_index);
    if (too_long && list.is_regular) receive.widen(own.bytes(0));

    arguments.bytes = in_place || too_long ? receive.bytes(own_index) : own.bytes(0);
    if (list.is_regular && arguments.bytes == 0) return refuse(Refusal::nothing);
    if (in_place) receive.leave_out(own_index);
    arguments.send = in_place ? nullptr : own.core().base;
    if (receives) arguments.receive = receive.core();
    constexpr bool sends_to_all = std::is_same_v<Arguments, AllgatherArguments>;
    const Shown shown{!in_place      ? arguments.send
                      : sends_to_all ? arguments.receive.at(own_index)
                                     : arguments.receive.base,
                      arguments.bytes};
    return this->carry_out(arguments, shown, own, receive, too_long,
                           in_place && sends_to_all ? static_cast<std::ptrdiff_t>(own_index) : -1);
  }
};

template <class Form>
struct AllgatherCall : GatherCall<Form> {
  using GatherCall<Form>::GatherCall;

  bool run(const BlockList& own_list, const BlockList& list) const {
    AllgatherArguments arguments;
    return this->gather(arguments, own_list, list, this->rank(), true);
  }
};

template <class Form>
struct AlltoallCall : BlocksCall<Form> {
  using BlocksCall<Form>::BlocksCall;

  bool run(const BlockList& send_list, const BlockList& list) const {
    if (list.is_in_place()) return false;
    const std::size_t own_index = this->rank();
    const bool in_place = send_list.is_in_place();

    auto&& send = this->blocks(this->ranks());
    auto&& receive = this->blocks(this->ranks());
    if (in_place) send.copy();
    if (!send.describe(in_place ? list : send_list) || !receive.describe(list)) return false;
    if (host_objects(send, own_index, receive, own_index)) return false;
    const bool too_long = send.bytes(own_index) > receive.bytes(own_index);
    if (too_long && list.is_regular) receive.widen(send.bytes(own_index));
    if (too_long && !list.is_regular) send.cut(own_index, receive.bytes(own_index));
    if (list.is_regular && send.bytes(0) == 0) return refuse(Refusal::nothing);

    AlltoallArguments arguments;
    arguments.send = send.core();
    arguments.receive = receive.core();
    arguments.received = receive.spreads();
    // A pending call is told when it starts, and packs then.
    if (!Form::is_pending) arguments.sent = send.spreads();
    arguments.regular = list.is_regular;
    return this->carry_out(arguments, Shown{arguments.send.base, send.bytes(own_index)}, send, receive, too_long);
  }
};

/// Who has no neighbours cannot know whether the others have something to send, so that calls with blocks of no bytes
/// take part like all others.
template <class Form, bool sends_same>
struct NeighborCall : BlocksCall<Form> {
  const Neighborhood* neighborhood = nullptr;

  NeighborCall(Form& in, MPI_Comm on) : BlocksCall<Form>(in, on) {
    if (!this->collectives) return;
    neighborhood = in.neighborhood(on);
    if (neighborhood && neighborhood->exists) return;
    this->collectives = nullptr;
    refuse(Refusal::topology);
  }

  bool run(const BlockList& send_list, const BlockList& receive_list) const {
    if (send_list.is_in_place() || receive_list.is_in_place()) return false;
    const auto& [exists, sources, destinations, source_blocks, destination_blocks] = *neighborhood;
    const bool sends = std::any_of(destinations.begin(), destinations.end(), [](int rank) { return rank >= 0; });
    auto&& send = this->blocks(!sends_same ? destinations.size() : sends ? 1 : 0);
    auto&& receive = this->blocks(sources.size());
    if (!sends_same) send.belong_to(destinations);
    receive.belong_to(sources);
    if (!send.describe(send_list) || !receive.describe(receive_list)) return false;

    NeighborArguments arguments;
    arguments.sources = sources.data();
    arguments.source_blocks = source_blocks.data();
    arguments.source_count = static_cast<int>(sources.size());
    arguments.destinations = destinations.data();
    arguments.destination_blocks = destination_blocks.data();
    arguments.destination_count = static_cast<int>(destinations.size());
    arguments.send = send.core();
    if (sends_same) arguments.send.stride = 0;
    arguments.receive = receive.core();
    arguments.received = receive.spreads();
    arguments.regular = receive_list.is_regular;
    if (arguments.regular) arguments.bytes = std::max(arguments.send.bytes, arguments.receive.bytes);
    const Shown shown{arguments.send.base, arguments.send.is_regular() ? arguments.send.bytes : 0};
    return this->carry_out(arguments, shown, send, receive);
  }
};
template <class Form>
using NeighborAllgatherCall = NeighborCall<Form, true>;
template <class Form>
using NeighborAlltoallCall = NeighborCall<Form, false>;

}  // namespace

void add_blocks(OurFunctions& functions) {
  TUTTI_COLLECTIVE(Scatter, Iscatter, OfBlocks<ScatterCall>);
  TUTTI_COLLECTIVE(Scatterv, Iscatterv, OfBlocks<ScatterCall>);
  TUTTI_COLLECTIVE(Gather, Igather, OfBlocks<GatherCall>);
  TUTTI_COLLECTIVE(Gatherv, Igatherv, OfBlocks<GatherCall>);
  TUTTI_COLLECTIVE(Allgather, Iallgather, OfBlocks<AllgatherCall>);
  TUTTI_COLLECTIVE(Allgatherv, Iallgatherv, OfBlocks<AllgatherCall>);
  TUTTI_COLLECTIVE(Alltoall, Ialltoall, OfBlocks<AlltoallCall>);
  TUTTI_COLLECTIVE(Alltoallv, Ialltoallv, OfBlocks<AlltoallCall>);
  TUTTI_COLLECTIVE(Alltoallw, Ialltoallw, OfBlocks<AlltoallCall>);
  TUTTI_COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, OfBlocks<NeighborAllgatherCall>);
  TUTTI_COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, OfBlocks<NeighborAllgatherCall>);
  TUTTI_COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, OfBlocks<NeighborAlltoallCall>);
  TUTTI_COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, OfBlocks<NeighborAlltoallCall>);
  TUTTI_COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, OfBlocks<NeighborAlltoallCall>);
}

void add_blocks(TUTTI_Team_functions& functions) {
  TUTTI_TEAM_COLLECTIVE(scatter, Scatter, OfBlocks<ScatterCall>);
  TUTTI_TEAM_COLLECTIVE(scatterv, Scatterv, OfBlocks<ScatterCall>);
  TUTTI_TEAM_COLLECTIVE(scatterv_c, Scatterv, OfBlocks<ScatterCall>);
  TUTTI_TEAM_COLLECTIVE(gather, Gather, OfBlocks<GatherCall>);
  TUTTI_TEAM_COLLECTIVE(gatherv, Gatherv, OfBlocks<GatherCall>);
  TUTTI_TEAM_COLLECTIVE(gatherv_c, Gatherv, OfBlocks<GatherCall>);
  TUTTI_TEAM_COLLECTIVE(allgather, Allgather, OfBlocks<AllgatherCall>);
  TUTTI_TEAM_COLLECTIVE(allgatherv, Allgatherv, OfBlocks<AllgatherCall>);
  TUTTI_TEAM_COLLECTIVE(allgatherv_c, Allgatherv, OfBlocks<AllgatherCall>);
  TUTTI_TEAM_COLLECTIVE(alltoall, Alltoall, OfBlocks<AlltoallCall>);
  TUTTI_TEAM_COLLECTIVE(alltoallv, Alltoallv, OfBlocks<AlltoallCall>);
  TUTTI_TEAM_COLLECTIVE(alltoallv_c, Alltoallv, OfBlocks<AlltoallCall>);
  TUTTI_TEAM_COLLECTIVE(alltoallw, Alltoallw, OfBlocks<AlltoallCall>);
  TUTTI_TEAM_COLLECTIVE(alltoallw_c, Alltoallw, OfBlocks<AlltoallCall>);
}

}  // namespace tutti::mpi
