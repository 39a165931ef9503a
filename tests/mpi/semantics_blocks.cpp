// Scatter, Gather, Allgather and Alltoall: every result is compared with the host's own, byte for byte, gaps included.
#include <algorithm>
#include <functional>
#include <vector>

#include "block_buffers.h"
#include "semantics.h"

namespace tutti::tests {

namespace {

/// A communicator and what varies from call to call.
struct Setting {
  Context& context;
  const BlockTypes& types;
  MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0;
  int size = 1;
  int round = 0;
  int ints = 4;  ///< of a block, or the size that irregular ones vary around

  const BlockTypes::Kind& send_kind() const { return send_kind_of(rank); }
  const BlockTypes::Kind& receive_kind() const { return receive_kind_of(rank); }
  const BlockTypes::Kind& send_kind_of(int r) const { return types[round == 0 ? 0 : r + round]; }
  const BlockTypes::Kind& receive_kind_of(int r) const { return types[round == 0 ? 0 : 2 * r + round + 1]; }
  /// Ints that a sends to b where they are not all equal: none now and then.
  int between(int a, int b) const { return ints / 4 * ((a * 3 + b * 5 + round) % 5) / 2 * 2; }
  /// Of the block of `a`.
  int of(int a) const { return between(a, 7); }
  std::vector<int> blocks(const std::function<int(int)>& size_of) const {
    std::vector<int> sizes;
    for (int r = 0; r < size; ++r) sizes.push_back(size_of(r));
    return sizes;
  }
  /// Where rank r receives from all: blocks of `ints`, or of sizes that differ.
  BlockBuffer equal_of(int r) const { return BlockBuffer::regular(receive_kind_of(r), size, ints); }
  BlockBuffer varying_of(int r) const {
    return BlockBuffer::irregular(receive_kind_of(r), blocks([&](int each) { return of(each); }));
  }
  std::vector<const BlockTypes::Kind*> kinds(int from) const {
    std::vector<const BlockTypes::Kind*> kinds;
    for (int r = 0; r < size; ++r) kinds.push_back(&types[round == 0 ? 0 : from + r]);
    return kinds;
  }
};

/// Calls ours and the host's with receive buffers of equal contents, and compares these and the codes.
void compare(const Setting& setting, const char* what, int root, BlockBuffer& receive,
             const std::function<int(void*)>& ours, const std::function<int(void*)>& hosts) {
  receive.fill(9);
  const std::vector<int> before = receive.memory;
  const int own_code = ours(receive.data());
  const std::vector<int> result = receive.memory;
  receive.memory = before;
  const int host_code = hosts(receive.data());
  const auto wrong = std::mismatch(result.begin(), result.end(), receive.memory.begin());
  setting.context.expect(wrong.first == result.end() && own_code == host_code,
                         "%s of around %d ints, root %d, round %d, %d ranks: differs from the host's at %td of %zu, "
                         "codes %d and %d",
                         what, setting.ints, root, setting.round, setting.size, wrong.first - result.begin(),
                         result.size(), own_code, host_code);
}

#define BOTH(call) [&](void* buffer) { return MPI_##call; }, [&](void* buffer) { return PMPI_##call; }

/// The root's receive argument, or its send argument, where the root works in place.
void rooted(const Setting& setting, int root) {
  const bool is_root = setting.rank == root;
  const auto none = BlockBuffer::regular(setting.types[0], 0, 0);
  const auto& comm = setting.comm;
  auto own_send = BlockBuffer::regular(setting.send_kind(), 1, setting.ints);
  auto own_receive = BlockBuffer::regular(setting.receive_kind(), 1, setting.ints);
  auto all_send = is_root ? BlockBuffer::regular(setting.send_kind(), setting.size, setting.ints) : none;
  auto all_receive = is_root ? BlockBuffer::regular(setting.receive_kind(), setting.size, setting.ints) : none;
  own_send.fill(setting.rank);
  all_send.fill(setting.rank + 3);
  // What is significant at the root only is rubbish elsewhere.
  const MPI_Datatype send_type = is_root ? all_send.type() : MPI_DATATYPE_NULL;
  const MPI_Datatype receive_type = is_root ? all_receive.type() : MPI_DATATYPE_NULL;
  const int send_count = is_root ? all_send.count() : -5;
  const int receive_count = is_root ? all_receive.count() : -5;
  compare(setting, "Scatter", root, own_receive,
          BOTH(Scatter(is_root ? all_send.data() : nullptr, send_count, send_type, buffer, own_receive.count(),
                       own_receive.type(), root, comm)));
  compare(setting, "Scatter in place", root, own_receive,
          BOTH(Scatter(is_root ? all_send.data() : nullptr, send_count, send_type, is_root ? MPI_IN_PLACE : buffer,
                       own_receive.count(), own_receive.type(), root, comm)));
  compare(setting, "Gather", root, is_root ? all_receive : own_receive,
          BOTH(Gather(own_send.data(), own_send.count(), own_send.type(), is_root ? buffer : nullptr, receive_count,
                      receive_type, root, comm)));
  compare(setting, "Gather in place", root, is_root ? all_receive : own_receive,
          BOTH(Gather(is_root ? MPI_IN_PLACE : own_send.data(), own_send.count(), own_send.type(),
                      is_root ? buffer : nullptr, receive_count, receive_type, root, comm)));

  const auto sizes = setting.blocks([&](int r) { return setting.of(r); });
  const int mine = setting.of(setting.rank);
  own_send = BlockBuffer::regular(setting.send_kind(), 1, mine);
  own_receive = BlockBuffer::regular(setting.receive_kind(), 1, mine);
  all_send = is_root ? BlockBuffer::irregular(setting.send_kind(), sizes) : none;
  all_receive = is_root ? BlockBuffer::irregular(setting.receive_kind(), sizes) : none;
  own_send.fill(setting.rank);
  all_send.fill(setting.rank + 3);
  const auto root_only = [&](const std::vector<int>& list) { return is_root ? list.data() : nullptr; };
  compare(
      setting, "Scatterv", root, own_receive,
      BOTH(Scatterv(is_root ? all_send.data() : nullptr, root_only(all_send.counts), root_only(all_send.displacements),
                    send_type, buffer, own_receive.count(), own_receive.type(), root, comm)));
  compare(
      setting, "Scatterv in place", root, own_receive,
      BOTH(Scatterv(is_root ? all_send.data() : nullptr, root_only(all_send.counts), root_only(all_send.displacements),
                    send_type, is_root ? MPI_IN_PLACE : buffer, own_receive.count(), own_receive.type(), root, comm)));
  compare(setting, "Gatherv", root, is_root ? all_receive : own_receive,
          BOTH(Gatherv(own_send.data(), own_send.count(), own_send.type(), is_root ? buffer : nullptr,
                       root_only(all_receive.counts), root_only(all_receive.displacements), receive_type, root, comm)));
  compare(setting, "Gatherv in place", root, is_root ? all_receive : own_receive,
          BOTH(Gatherv(is_root ? MPI_IN_PLACE : own_send.data(), own_send.count(), own_send.type(),
                       is_root ? buffer : nullptr, root_only(all_receive.counts), root_only(all_receive.displacements),
                       receive_type, root, comm)));
}

/// Calls ours, not in place and in place, and compares with what follows from the buffers of all ranks. (The hosts choose
/// the algorithm, and MPICH's cuts pieces, by the local receive type, and fail where the ranks' layouts differ.) equal:
/// Allgather, not Allgatherv.
void expect_gathered(const Setting& setting, const char* what, bool equal, BlockBuffer& receive,
                     const std::function<int(bool, void*)>& ours) {
  for (const bool in_place : {false, true}) {
    receive.fill(9);
    BlockBuffer expected = receive;
    for (int rank = 0; rank < setting.size; ++rank) {
      const int ints = equal ? setting.ints : setting.of(rank);
      BlockBuffer theirs = !in_place ? BlockBuffer::regular(setting.send_kind_of(rank), 1, ints)
                           : equal   ? setting.equal_of(rank)
                                     : setting.varying_of(rank);
      theirs.fill(in_place ? 9 : rank);
      const auto r = static_cast<std::size_t>(rank);
      for (int i = 0; i < ints; ++i) expected.value(r, i) = theirs.value(in_place ? r : 0, i);
    }
    const int code = ours(in_place, receive.data());
    const auto wrong = std::mismatch(expected.memory.begin(), expected.memory.end(), receive.memory.begin());
    setting.context.expect(wrong.first == expected.memory.end() && code == MPI_SUCCESS,
                           "%s%s of around %d ints, round %d, %d ranks: wrong at %td of %zu, code %d", what,
                           in_place ? " in place" : "", setting.ints, setting.round, setting.size,
                           wrong.first - expected.memory.begin(), expected.memory.size(), code);
  }
}

/// The first three arguments of a call that gathers `own`, or works in place.
#define SENT(own) \
  in_place ? MPI_IN_PLACE : (own).data(), in_place ? -1 : (own).count(), in_place ? MPI_DATATYPE_NULL : (own).type()

void allgathers(const Setting& setting) {
  const auto& comm = setting.comm;
  auto send = BlockBuffer::regular(setting.send_kind(), 1, setting.ints);
  auto receive = setting.equal_of(setting.rank);
  send.fill(setting.rank);
  expect_gathered(setting, "Allgather", true, receive, [&](bool in_place, void* buffer) {
    return MPI_Allgather(SENT(send), buffer, receive.count(), receive.type(), comm);
  });
  send = BlockBuffer::regular(setting.send_kind(), 1, setting.of(setting.rank));
  receive = setting.varying_of(setting.rank);
  send.fill(setting.rank);
  expect_gathered(setting, "Allgatherv", false, receive, [&](bool in_place, void* buffer) {
    return MPI_Allgatherv(SENT(send), buffer, receive.counts.data(), receive.displacements.data(), receive.type(),
                          comm);
  });
}

void alltoalls(const Setting& setting) {
  const auto& comm = setting.comm;
  auto send = BlockBuffer::regular(setting.send_kind(), setting.size, setting.ints);
  auto receive = BlockBuffer::regular(setting.receive_kind(), setting.size, setting.ints);
  send.fill(setting.rank);
  compare(setting, "Alltoall", -1, receive,
          BOTH(Alltoall(send.data(), send.count(), send.type(), buffer, receive.count(), receive.type(), comm)));
  compare(setting, "Alltoall in place", -1, receive,
          BOTH(Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, buffer, receive.count(), receive.type(), comm)));

  const auto to = setting.blocks([&](int r) { return setting.between(setting.rank, r); });
  const auto from = setting.blocks([&](int r) { return setting.between(r, setting.rank); });
  // In place, two ranks send each other as much.
  const auto both_ways =
      setting.blocks([&](int r) { return setting.between(std::min(r, setting.rank), std::max(r, setting.rank)); });
  send = BlockBuffer::irregular(setting.send_kind(), to);
  receive = BlockBuffer::irregular(setting.receive_kind(), from);
  send.fill(setting.rank);
  compare(setting, "Alltoallv", -1, receive,
          BOTH(Alltoallv(send.data(), send.counts.data(), send.displacements.data(), send.type(), buffer,
                         receive.counts.data(), receive.displacements.data(), receive.type(), comm)));
  receive = BlockBuffer::irregular(setting.receive_kind(), both_ways);
  compare(setting, "Alltoallv in place", -1, receive,
          BOTH(Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, buffer, receive.counts.data(),
                         receive.displacements.data(), receive.type(), comm)));

  send = BlockBuffer::irregular(setting.kinds(setting.rank), to);
  receive = BlockBuffer::irregular(setting.kinds(setting.rank + 2), from);
  send.fill(setting.rank);
  const auto send_types = send.types();
  const auto send_places = send.byte_displacements();
  auto types = receive.types();
  auto places = receive.byte_displacements();
  compare(setting, "Alltoallw", -1, receive,
          BOTH(Alltoallw(send.data(), send.counts.data(), send_places.data(), send_types.data(), buffer,
                         receive.counts.data(), places.data(), types.data(), comm)));
  receive = BlockBuffer::irregular(setting.kinds(setting.rank + 2), both_ways);
  types = receive.types();
  places = receive.byte_displacements();
  compare(setting, "Alltoallw in place", -1, receive,
          BOTH(Alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, buffer, receive.counts.data(), places.data(),
                         types.data(), comm)));
}

/// Every size and mixture of types, on all ranks and on fewer of them in another order.
void on_communicators(Context& context, const std::function<void(const Setting&)>& body) {
  const BlockTypes types;
  MPI_Comm backwards = MPI_COMM_NULL, part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -context.rank(), &backwards);
  MPI_Comm_split(MPI_COMM_WORLD, context.rank() == 0 && context.size() > 2, context.rank(), &part);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, backwards, part}) {
    Setting setting{context, types, comm};
    MPI_Comm_rank(comm, &setting.rank);
    MPI_Comm_size(comm, &setting.size);
    const bool few = context.crowded() || comm != MPI_COMM_WORLD;
    for (const int ints : block_sizes(few)) {
      setting.ints = ints;
      for (setting.round = 0; setting.round < (few ? 2 : 4); ++setting.round) body(setting);
    }
  }
  MPI_Comm_free(&backwards);
  MPI_Comm_free(&part);
}

}  // namespace

void scatter_and_gather_match_the_host(Context& context) {
  on_communicators(context, [](const Setting& setting) {
    for (int root = 0; root < setting.size; ++root)
      if (!setting.context.crowded() || (root + setting.round) % 2 == 0) rooted(setting, root);
  });
}

void allgather_gives_everybody_all_blocks(Context& context) {
  on_communicators(context, allgathers);
}

void alltoall_matches_the_host(Context& context) {
  on_communicators(context, alltoalls);
}

void blocks_of_nothing_are_left_alone(Context& context) {
  const BlockTypes types;
  Setting setting{context, types, MPI_COMM_WORLD, context.rank(), context.size()};
  setting.ints = 0;
  rooted(setting, context.size() - 1);
  allgathers(setting);
  alltoalls(setting);
  // Null buffers go with counts of nothing. (Not both of them: MPICH would take them for one buffer.)
  const std::vector<int> zeros(static_cast<std::size_t>(context.size()), 0);
  const int* none = zeros.data();
  const int one = 1;
  MPI_Comm comm = MPI_COMM_WORLD;
  const int codes[] = {MPI_Allgatherv(&one, 0, MPI_INT, nullptr, none, none, MPI_INT, comm),
                       MPI_Alltoallv(&one, none, none, MPI_INT, nullptr, none, none, MPI_INT, comm),
                       MPI_Gatherv(&one, 0, MPI_INT, nullptr, none, none, MPI_INT, 0, comm),
                       MPI_Scatterv(&one, none, none, MPI_INT, nullptr, 0, MPI_INT, 0, comm),
                       MPI_Alltoall(&one, 0, MPI_INT, nullptr, 0, MPI_INT, comm)};
  for (const int code : codes) context.expect(code == MPI_SUCCESS, "a call without anything: code %d", code);
}

void blocks_at_absolute_addresses(Context& context) {
  const auto ranks = static_cast<std::size_t>(context.size());
  std::vector<int> send(3 * ranks), receive(3 * ranks, -1);
  std::vector<int> counts(ranks, 1), places(ranks, 0);
  std::vector<MPI_Datatype> send_types, receive_types;
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const bool sends : {true, false}) {
      MPI_Aint address = 0;
      MPI_Get_address(sends ? &send[3 * r] : &receive[3 * r], &address);
      MPI_Datatype type = MPI_DATATYPE_NULL;
      const int two = 2;
      MPI_Type_create_hindexed(1, &two, &address, MPI_INT, &type);
      MPI_Type_commit(&type);
      (sends ? send_types : receive_types).push_back(type);
    }
    send[3 * r] = context.rank() * 100 + static_cast<int>(r);
  }
  MPI_Alltoallw(MPI_BOTTOM, counts.data(), places.data(), send_types.data(), MPI_BOTTOM, counts.data(), places.data(),
                receive_types.data(), MPI_COMM_WORLD);
  for (std::size_t r = 0; r < ranks; ++r)
    context.expect(receive[3 * r] == static_cast<int>(r) * 100 + context.rank() && receive[3 * r + 2] == -1,
                   "Alltoallw from MPI_BOTTOM: block of rank %zu is %d", r, receive[3 * r]);
  int got[2] = {-1, -1};
  send[0] = context.rank() + 5;
  MPI_Gather(MPI_BOTTOM, 1, send_types[0], receive.data(), 2, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Scatter(receive.data(), 2, MPI_INT, got, 2, MPI_INT, 0, MPI_COMM_WORLD);
  context.expect(got[0] == context.rank() + 5, "Gather from MPI_BOTTOM and Scatter give %d", got[0]);
  for (auto* types : {&send_types, &receive_types})
    for (MPI_Datatype& type : *types) MPI_Type_free(&type);
}

void large_count_functions_of_blocks_work([[maybe_unused]] Context& context) {
#if MPI_VERSION >= 4
  const BlockTypes types;
  for (const int ints : {4, 20'000}) {
    Setting setting{context, types, MPI_COMM_WORLD, context.rank(), context.size(), 1, ints};
    const auto wide = [](const auto& list) { return std::vector<MPI_Count>(list.begin(), list.end()); };
    const auto far = [](const auto& list) { return std::vector<MPI_Aint>(list.begin(), list.end()); };
    const auto comm = MPI_COMM_WORLD;
    auto own = BlockBuffer::regular(setting.send_kind(), 1, ints);
    auto all = setting.equal_of(setting.rank);
    own.fill(setting.rank);
    const auto both = [&](const char* what, BlockBuffer& receive, const std::function<int(void*)>& ours,
                          const std::function<int(void*)>& hosts) { compare(setting, what, 0, receive, ours, hosts); };
    expect_gathered(setting, "Allgather_c", true, all, [&](bool in_place, void* buffer) {
      return MPI_Allgather_c(SENT(own), buffer, all.count(), all.type(), comm);
    });
    both("Gather_c", all,
         BOTH(Gather_c(own.data(), own.count(), own.type(), buffer, all.count(), all.type(), 0, comm)));
    const auto all_data = all;
    both("Scatter_c", own,
         BOTH(Scatter_c(all_data.memory.data() + all_data.first, all.count(), all.type(), buffer, own.count(),
                        own.type(), 0, comm)));
    auto send = BlockBuffer::regular(setting.send_kind(), setting.size, ints);
    send.fill(setting.rank);
    both("Alltoall_c", all,
         BOTH(Alltoall_c(send.data(), send.count(), send.type(), buffer, all.count(), all.type(), comm)));

    own = BlockBuffer::regular(setting.send_kind(), 1, setting.of(setting.rank));
    all = setting.varying_of(setting.rank);
    own.fill(setting.rank);
    auto counts = wide(all.counts);
    auto places = far(all.displacements);
    expect_gathered(setting, "Allgatherv_c", false, all, [&](bool in_place, void* buffer) {
      return MPI_Allgatherv_c(SENT(own), buffer, counts.data(), places.data(), all.type(), comm);
    });
    both("Gatherv_c", all,
         BOTH(Gatherv_c(own.data(), own.count(), own.type(), buffer, counts.data(), places.data(), all.type(), 0,
                        comm)));
    both("Scatterv_c", own,
         BOTH(Scatterv_c(all.data(), counts.data(), places.data(), all.type(), buffer, own.count(), own.type(), 0,
                         comm)));
    const auto to = setting.blocks([&](int r) { return setting.between(setting.rank, r); });
    const auto from = setting.blocks([&](int r) { return setting.between(r, setting.rank); });
    send = BlockBuffer::irregular(setting.send_kind(), to);
    all = BlockBuffer::irregular(setting.receive_kind(), from);
    send.fill(setting.rank);
    counts = wide(all.counts);
    places = far(all.displacements);
    const auto send_counts = wide(send.counts);
    const auto send_places = far(send.displacements);
    both("Alltoallv_c", all,
         BOTH(Alltoallv_c(send.data(), send_counts.data(), send_places.data(), send.type(), buffer, counts.data(),
                          places.data(), all.type(), comm)));
    const auto send_types = send.types();
    const auto receive_types = all.types();
    both("Alltoallw_c", all,
         BOTH(Alltoallw_c(send.data(), send_counts.data(), send.byte_places.data(), send_types.data(), buffer,
                          counts.data(), all.byte_places.data(), receive_types.data(), comm)));
  }
#endif
}

namespace {

int error_class(int code) {
  int result = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &result);
  return result;
}

struct BadCall {
  const char* what;
  std::function<int(MPI_Comm)> own;
  std::function<int(MPI_Comm)> host;
};

}  // namespace

void errors_in_calls_with_blocks_are_those_of_the_host(Context& context) {
  const auto ranks = static_cast<std::size_t>(context.size());
  static std::vector<int> send, receive, counts, bad_counts, places;
  send.assign(ranks, 0);
  receive.assign(ranks, 0);
  counts.assign(ranks, 1);
  bad_counts.assign(ranks, -1);
  places.resize(ranks);
  for (std::size_t r = 0; r < ranks; ++r) places[r] = static_cast<int>(r);
  const int beyond = context.size();
  std::vector<BadCall> calls;
#define BAD(what, call)                                                              \
  calls.push_back({what, [=]([[maybe_unused]] MPI_Comm comm) { return MPI_##call; }, \
                   [=]([[maybe_unused]] MPI_Comm comm) { return PMPI_##call; }})
  int* const s = send.data();
  int* const r = receive.data();
  const int* const n = counts.data();
  [[maybe_unused]] const int* const bad = bad_counts.data();
  const int* const d = places.data();
  BAD("Scatter with a root beyond the last", Scatter(s, 1, MPI_INT, r, 1, MPI_INT, beyond, comm));
  BAD("Scatter with a negative root", Scatter(s, 1, MPI_INT, r, 1, MPI_INT, -9, comm));
  BAD("Scatter without types", Scatter(s, 1, MPI_DATATYPE_NULL, r, 1, MPI_DATATYPE_NULL, 0, comm));
  BAD("Scatter with negative counts", Scatter(s, -1, MPI_INT, r, -1, MPI_INT, 0, comm));
  BAD("Scatter without a communicator", Scatter(s, 1, MPI_INT, r, 1, MPI_INT, 0, MPI_COMM_NULL));
  BAD("Scatterv with a root beyond the last", Scatterv(s, n, d, MPI_INT, r, 1, MPI_INT, beyond, comm));
  BAD("Scatterv without a communicator", Scatterv(s, n, d, MPI_INT, r, 1, MPI_INT, 0, MPI_COMM_NULL));
  BAD("Gather with a root beyond the last", Gather(s, 1, MPI_INT, r, 1, MPI_INT, beyond, comm));
  BAD("Gather without types", Gather(s, 1, MPI_DATATYPE_NULL, r, 1, MPI_DATATYPE_NULL, 0, comm));
  BAD("Gather with negative counts", Gather(s, -1, MPI_INT, r, -1, MPI_INT, 0, comm));
  BAD("Gatherv with a root beyond the last", Gatherv(s, 1, MPI_INT, r, n, d, MPI_INT, beyond, comm));
  BAD("Gatherv without a communicator", Gatherv(s, 1, MPI_INT, r, n, d, MPI_INT, 0, MPI_COMM_NULL));
  BAD("Allgather with negative counts", Allgather(s, -1, MPI_INT, r, -1, MPI_INT, comm));
  BAD("Allgatherv without a type", Allgatherv(s, 1, MPI_INT, r, n, d, MPI_DATATYPE_NULL, comm));
  BAD("Alltoall without types", Alltoall(s, 1, MPI_DATATYPE_NULL, r, 1, MPI_DATATYPE_NULL, comm));
  BAD("Alltoall with negative counts", Alltoall(s, -1, MPI_INT, r, -1, MPI_INT, comm));
  BAD("Alltoall without a communicator", Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, MPI_COMM_NULL));
  BAD("Alltoallv without types", Alltoallv(s, n, d, MPI_DATATYPE_NULL, r, n, d, MPI_DATATYPE_NULL, comm));
  BAD("Neighbor_alltoall without a topology", Neighbor_alltoall(s, 1, MPI_INT, r, 1, MPI_INT, comm));
  BAD("Neighbor_allgather without a topology", Neighbor_allgather(s, 1, MPI_INT, r, 1, MPI_INT, comm));
#ifndef OPEN_MPI  // which does not look at these, or does not survive them
  BAD("Alltoallv with negative counts", Alltoallv(s, bad, d, MPI_INT, r, bad, d, MPI_INT, comm));
  BAD("Allgatherv with negative counts", Allgatherv(s, 1, MPI_INT, r, bad, d, MPI_INT, comm));
  BAD("Allgather without a communicator", Allgather(s, 1, MPI_INT, r, 1, MPI_INT, MPI_COMM_NULL));
  BAD("Allgather without types", Allgather(s, 1, MPI_DATATYPE_NULL, r, 1, MPI_DATATYPE_NULL, comm));
  BAD("Scatter without buffers", Scatter(nullptr, 1, MPI_INT, nullptr, 1, MPI_INT, 0, comm));
  BAD("Gather without buffers", Gather(nullptr, 1, MPI_INT, nullptr, 1, MPI_INT, 0, comm));
  BAD("Allgather without buffers", Allgather(nullptr, 1, MPI_INT, nullptr, 1, MPI_INT, comm));
  BAD("Alltoall without buffers", Alltoall(nullptr, 1, MPI_INT, nullptr, 1, MPI_INT, comm));
  BAD("Alltoallv without buffers", Alltoallv(nullptr, n, d, MPI_INT, nullptr, n, d, MPI_INT, comm));
  BAD("Allgather into where it sends from", Allgather(s, 1, MPI_INT, s - context.rank(), 1, MPI_INT, comm));
  BAD("Alltoall into where it sends from", Alltoall(s, 1, MPI_INT, s, 1, MPI_INT, comm));
#endif
#undef BAD
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  for (MPI_Comm each : {communicator, MPI_COMM_WORLD, MPI_COMM_SELF}) PMPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN);
  for (const BadCall& call : calls) {
    const int host = error_class(call.host(communicator));
    const int own = error_class(call.own(communicator));
    context.expect(own == host && host != MPI_SUCCESS, "%s: error class %d, the host's is %d", call.what, own, host);
  }
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) PMPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&communicator);
}

namespace {

int truncations = 0;
void count_truncations(MPI_Comm*, int* code, ...) {
  truncations += error_class(*code) == MPI_ERR_TRUNCATE;
}

}  // namespace

void too_little_room_is_an_error_and_nobody_waits(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;  // after such errors some hosts wait for ever
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&count_truncations, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  const auto ranks = static_cast<std::size_t>(context.size());
  for (const int ints : {10, 1000, 100'000}) {
    const auto block = static_cast<std::size_t>(ints);
    std::vector<int> send(ranks * block, context.rank()), receive(ranks * block + 1, -1);
    std::vector<int> counts(ranks, ints), room = counts, places(ranks);
    for (std::size_t r = 0; r < ranks; ++r) places[r] = static_cast<int>(r) * ints;
    const auto check = [&](const char* what, int code, bool expected) {
      context.expect(error_class(code) == (expected ? MPI_ERR_TRUNCATE : MPI_SUCCESS) &&
                         truncations == (expected ? 1 : 0) && receive.back() == -1,
                     "%s of %d ints: error class %d, handler called %d times", what, ints, error_class(code),
                     truncations);
      truncations = 0;
      receive.assign(receive.size(), -1);
    };
    const bool last = context.rank() == context.size() - 1;
    // All have half the room.
    check("Allgather", MPI_Allgather(send.data(), ints, MPI_INT, receive.data(), ints / 2, MPI_INT, comm), true);
    check("Alltoall", MPI_Alltoall(send.data(), ints, MPI_INT, receive.data(), ints / 2, MPI_INT, comm), true);
    // The last rank has too little room for what the first one sends.
    if (last) room[0] = ints / 2;
    check("Alltoallv",
          MPI_Alltoallv(send.data(), counts.data(), places.data(), MPI_INT, receive.data(), room.data(), places.data(),
                        MPI_INT, comm),
          last);
    check("Allgatherv",
          MPI_Allgatherv(send.data(), ints, MPI_INT, receive.data(), room.data(), places.data(), MPI_INT, comm), last);
    check("Gatherv",
          MPI_Gatherv(send.data(), ints, MPI_INT, receive.data(), room.data(), places.data(), MPI_INT,
                      context.size() - 1, comm),
          last);
    check("Scatterv",
          MPI_Scatterv(send.data(), counts.data(), places.data(), MPI_INT, receive.data(), last ? ints / 2 : ints,
                       MPI_INT, 0, comm),
          last);
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  exercise(context, comm, "a communicator after truncations", 10);
  MPI_Comm_free(&comm);
}

}  // namespace tutti::tests
