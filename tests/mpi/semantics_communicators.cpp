#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "semantics.h"

namespace tutti::tests {

namespace {

/// Exercises a communicator and frees it; MPI_COMM_NULL is a rank that is not in it.
void try_and_free(Context& context, MPI_Comm communicator, const char* what) {
  if (communicator == MPI_COMM_NULL) return;
  exercise(context, communicator, what, 3);
  exercise(context, communicator, what, 9000);
  MPI_Comm_free(&communicator);
}

void try_groups(Context& context) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group odd = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> backwards;
  for (int rank = context.size() - 1; rank >= 0; --rank) backwards.push_back(rank);
  MPI_Group reversed = MPI_GROUP_NULL;
  MPI_Group_incl(world, static_cast<int>(backwards.size()), backwards.data(), &reversed);
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_create(MPI_COMM_WORLD, reversed, &communicator);
  try_and_free(context, communicator, "Comm_create of all ranks backwards");
  std::vector<int> some;
  for (int rank = 1; rank < context.size(); rank += 2) some.push_back(rank);
  MPI_Group_incl(world, static_cast<int>(some.size()), some.data(), &odd);
  MPI_Comm_create(MPI_COMM_WORLD, odd, &communicator);
  try_and_free(context, communicator, "Comm_create of the odd ranks");
  // Only the members take part in this one.
  if (context.rank() % 2 == 1) {
    MPI_Comm_create_group(MPI_COMM_WORLD, odd, 5, &communicator);
    try_and_free(context, communicator, "Comm_create_group of the odd ranks");
  }
  MPI_Group_free(&odd);
  MPI_Group_free(&reversed);
  MPI_Group_free(&world);
}

void try_topologies(Context& context) {
  MPI_Comm communicator = MPI_COMM_NULL;
  int dimensions[2] = {0, 0};
  const int periodic[2] = {1, 0};
  MPI_Dims_create(context.size(), 2, dimensions);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periodic, 1, &communicator);
  if (communicator != MPI_COMM_NULL) {
    const int rows[2] = {1, 0};
    MPI_Comm row = MPI_COMM_NULL;
    MPI_Cart_sub(communicator, rows, &row);
    try_and_free(context, row, "Cart_sub");
  }
  try_and_free(context, communicator, "Cart_create");
  // A ring as a graph, then as a distributed one.
  std::vector<int> index;
  std::vector<int> edges;
  for (int rank = 0; rank < context.size(); ++rank) {
    edges.push_back((rank + 1) % context.size());
    edges.push_back((rank + context.size() - 1) % context.size());
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Graph_create(MPI_COMM_WORLD, context.size(), index.data(), edges.data(), 0, &communicator);
  try_and_free(context, communicator, "Graph_create");
  const int before = (context.rank() + context.size() - 1) % context.size();
  const int after = (context.rank() + 1) % context.size();
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &communicator);
  try_and_free(context, communicator, "Dist_graph_create_adjacent");
  const int source = context.rank();
  const int degree = 1;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &communicator);
  try_and_free(context, communicator, "Dist_graph_create");
}

void try_idup(Context& context) {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(MPI_COMM_WORLD, &communicator, &request);
  exercise(context, MPI_COMM_WORLD, "MPI_COMM_WORLD while it is duplicated", 20);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#ifndef OPEN_MPI  // whose own ranks wait for those that broadcast no elements
  // Its first collective is of nothing, which ranks may put differently.
  MPI_Datatype empty = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  int nothing = 0;
  if (context.rank() == 0)
    MPI_Bcast(&nothing, 0, MPI_INT, 0, communicator);
  else
    MPI_Bcast(&nothing, 3, empty, 0, communicator);
  MPI_Type_free(&empty);
#endif
  try_and_free(context, communicator, "Comm_idup");
}

}  // namespace

void communicators_of_every_origin(Context& context) {
  MPI_Comm communicator = MPI_COMM_NULL;
  exercise(context, MPI_COMM_WORLD, "MPI_COMM_WORLD");
  exercise(context, MPI_COMM_SELF, "MPI_COMM_SELF");
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm second = MPI_COMM_NULL;
  MPI_Comm_dup(communicator, &second);
  try_and_free(context, communicator, "Comm_dup");
  try_and_free(context, second, "Comm_dup of a freed Comm_dup");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &communicator);
  try_and_free(context, communicator, "Comm_dup_with_info");
  try_idup(context);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -context.rank(), &communicator);
  try_and_free(context, communicator, "Comm_split, backwards");
  MPI_Comm_split(MPI_COMM_WORLD, context.rank() % 2, context.rank(), &communicator);
  MPI_Comm_split(communicator, 0, -context.rank(), &second);
  try_and_free(context, communicator, "Comm_split, odd and even");
  try_and_free(context, second, "Comm_split of a Comm_split");
  MPI_Comm_split(MPI_COMM_WORLD, context.rank() == 0 ? MPI_UNDEFINED : 7, 0, &communicator);
  try_and_free(context, communicator, "Comm_split without rank 0");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -context.rank(), MPI_INFO_NULL, &communicator);
  try_and_free(context, communicator, "Comm_split_type");
  try_groups(context);
  try_topologies(context);
}

void many_communicators_leave_nothing_behind(Context& context) {
  const int rounds = context.crowded() ? 200 : 2000;
  const int warm_up = rounds / 4;
  std::size_t before = 0;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm duplicate = MPI_COMM_NULL;
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Comm_split(duplicate, context.rank() % 2, 0, &part);
    int value = context.rank() == 0 ? round : -1;
    MPI_Bcast(&value, 1, MPI_INT, 0, duplicate);
    int sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_MAX, part);
    if (value != round || sum != round) context.expect(false, "round %d: wrong result", round);
    MPI_Comm_free(&duplicate);
    MPI_Comm_free(&part);
    if (round == warm_up) before = resident_bytes();
  }
  const std::size_t after = resident_bytes();
  context.expect(after < before + (8u << 20), "%d communicators later, memory has grown by %zu KiB",
                 2 * (rounds - warm_up), (after - before) / 1024);
  // Many at once.
  std::vector<MPI_Comm> all(static_cast<std::size_t>(context.crowded() ? 20 : 100));
  for (auto& communicator : all) MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  for (std::size_t i = 0; i < all.size(); ++i) {
    int value = context.rank();
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, all[i]);
    context.expect(value == context.size() * (context.size() - 1) / 2, "Allreduce on communicator %zu of many", i);
  }
  for (auto& communicator : all) MPI_Comm_free(&communicator);
}

void disconnected_communicators_leave_nothing_behind(Context& context) {
  // Where memory that the ranks share runs out, collectives are the host's: the last ones must still be ours.
  const auto by_host = [] {
    int (*last_choice)(char*, int, char*, int) = nullptr;
    void* const found = dlsym(RTLD_DEFAULT, "tutti_last_choice");
    if (!found) return false;
    std::memcpy(&last_choice, &found, sizeof found);
    char algorithm[64] = "";
    last_choice(algorithm, sizeof algorithm, nullptr, 0);
    return std::strcmp(algorithm, "host") == 0;
  };
  const int rounds = context.crowded() ? 60 : 120;
  // What stays behind does so in every part. Where a peer lags, more are under way for once.
  constexpr int parts = 4;
  std::size_t before = 0, least = SIZE_MAX;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm duplicate = MPI_COMM_NULL;
    MPI_Comm backwards = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Comm_split(duplicate, 0, -context.rank(), &backwards);
    // In the flag's line, through shared memory, and from the buffers; the larger ones seldom.
    const int count = round % 20 == 0 ? 50'000 : round % 4 == 0 ? 1000 : 1;
    exercise(context, duplicate, "a duplicate that will be disconnected", count);
    if (context.size() > 1 && by_host()) context.expect(false, "round %d: the host carries out the collectives", round);
    MPI_Comm_disconnect(&duplicate);
    context.expect(duplicate == MPI_COMM_NULL, "Comm_disconnect leaves a handle");
    exercise(context, backwards, "a communicator whose parent is disconnected", count);
    MPI_Comm_disconnect(&backwards);
    if ((round + 1) % (rounds / parts) != 0) continue;
    const std::size_t after = resident_bytes();
    // The first part is to warm up.
    if (before != 0) least = std::min(least, after > before ? after - before : 0);
    before = after;
  }
  // Half of what comes together if one of the two in each round leaves its state behind.
  context.expect(least < (4u << 20) / (parts - 1), "%d communicators make memory grow by %zu KiB each time",
                 2 * rounds / parts, least / 1024);
  exercise(context, MPI_COMM_WORLD, "MPI_COMM_WORLD after that", 1000);
}

void communicators_are_freed_in_any_order(Context& context) {
  // As interpreters do that free what they find unused; MPI_Comm_free is local in all hosts.
  MPI_Comm communicators[3];
  for (int round = 0; round < 20; ++round) {
    for (MPI_Comm& each : communicators) MPI_Comm_dup(MPI_COMM_WORLD, &each);
    for (const MPI_Comm each : communicators) exercise(context, each, "a communicator of several", 200);
    for (int i = 0; i < 3; ++i) MPI_Comm_free(&communicators[(i + context.rank() + round) % 3]);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &communicators[0]);
  MPI_Barrier(communicators[0]);
  const int before = (context.rank() + context.size() - 1) % context.size();
  const int after = (context.rank() + 1) % context.size();
  if (context.rank() > 0) MPI_Recv(nullptr, 0, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_free(&communicators[0]);
  if (context.rank() + 1 < context.size()) MPI_Send(nullptr, 0, MPI_INT, after, 3, MPI_COMM_WORLD);
  exercise(context, MPI_COMM_WORLD, "MPI_COMM_WORLD after that");
}

void intercommunicators_work(Context& context) {
  if (context.size() < 2) return;
  const int side = context.rank() % 2;
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 11, &inter);
  MPI_Barrier(inter);
  int mine = 0;
  MPI_Comm_rank(local, &mine);
  int values[100];
  for (int i = 0; i < 100; ++i) values[i] = side == 0 && mine == 0 ? i : -1;
  MPI_Bcast(values, 100, MPI_INT, side == 1 ? 0 : mine == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
  if (side == 1) context.expect(values[99] == 99, "Bcast over an intercommunicator");
  int sum = -1;
  MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, side == 1 ? 0 : mine == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
  int others = 0;
  MPI_Comm_remote_size(inter, &others);
  if (side == 0 && mine == 0) context.expect(sum == others * (others - 1) / 2, "Reduce over an intercommunicator");
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  context.expect(sum == others * (others - 1) / 2, "Allreduce over an intercommunicator");
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Intercomm_merge(inter, side, &merged);
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(inter, &twin);
  MPI_Barrier(twin);
  MPI_Comm_free(&twin);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
  try_and_free(context, merged, "Intercomm_merge");
}

void groups_work_side_by_side(Context& context) {
  // Rows and columns of a grid of ranks; each does another number of collectives before they meet.
  const int width = context.size() >= 4 ? 2 : 1;
  MPI_Comm row = MPI_COMM_NULL;
  MPI_Comm column = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, context.rank() / width, context.rank(), &row);
  MPI_Comm_split(MPI_COMM_WORLD, context.rank() % width, -context.rank(), &column);
  for (int round = 0; round < (context.crowded() ? 5 : 40); ++round) {
    const int own_rounds = 1 + (context.rank() / width + round) % 4;
    for (int i = 0; i < own_rounds; ++i) exercise(context, row, "a row", 10 + 700 * i);
    dawdle(static_cast<unsigned long>(context.rank() * 7919 + round * 104729), 300);
    exercise(context, column, "a column", 1 + 50 * round);
    exercise(context, MPI_COMM_WORLD, "all", 2);
  }
  MPI_Comm_free(&row);
  MPI_Comm_free(&column);
}

void revoked_communicators_give_the_error_of_the_host(Context& context) {
  // An extension for fault tolerance, in Open MPI since 5; MPICH has the function and ends with an assertion in it.
#ifdef OPEN_MPI
  const bool has_it = dlsym(RTLD_DEFAULT, "PMPIX_Comm_revoke") != nullptr;
#else
  const bool has_it = false;
#endif
  using Revoke = int (*)(MPI_Comm);
  const auto revoke = reinterpret_cast<Revoke>(dlsym(RTLD_DEFAULT, "MPIX_Comm_revoke"));
  if (!has_it || !revoke) return;
  for (const bool used_before : {false, true}) {
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
    if (used_before) exercise(context, communicator, "a communicator before it is revoked", 100);
    MPI_Barrier(MPI_COMM_WORLD);
    context.expect(revoke(communicator) == MPI_SUCCESS, "MPIX_Comm_revoke");
    const auto class_of = [](int code) {
      int error_class = MPI_SUCCESS;
      MPI_Error_class(code, &error_class);
      return error_class;
    };
    double mine = 1;
    double sum = 0;
    const int hosts = class_of(MPI_Send(&mine, 0, MPI_DOUBLE, MPI_PROC_NULL, 0, communicator));
    context.expect(hosts != MPI_SUCCESS, "a send in a revoked communicator gave no error");
    const int barriers = class_of(MPI_Barrier(communicator));
    context.expect(barriers == hosts, "Barrier in a revoked communicator: class %d, not %d", barriers, hosts);
    const int sums = class_of(MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, communicator));
    context.expect(sums == hosts, "Allreduce in a revoked communicator: class %d, not %d", sums, hosts);
    MPI_Comm_free(&communicator);
    exercise(context, MPI_COMM_WORLD, "MPI_COMM_WORLD beside a revoked communicator", 100);
  }
}

}  // namespace tutti::tests
