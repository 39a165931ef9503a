// Communicators whose ranks sit on several nodes: their messages go over one communicator of the host. Run with
// TUTTI_INTERNODE=1 and TUTTI_RANKS_PER_NODE; on one node, and without the library, it must pass, too.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <vector>

#include "block_buffers.h"
#include "support.h"

using namespace tutti::tests;

namespace {

/// How many can be made before the host refuses, at most `most`; they are freed again.
int made_by(int (*dup)(MPI_Comm, MPI_Comm*), int (*free)(MPI_Comm*), int most) {
  std::vector<MPI_Comm> all;
  for (MPI_Comm next = MPI_COMM_NULL; static_cast<int>(all.size()) < most; all.push_back(next))
    if (dup(MPI_COMM_WORLD, &next) != MPI_SUCCESS) break;
  for (MPI_Comm& each : all) free(&each);
  return static_cast<int>(all.size());
}

void as_many_can_be_made_as_the_host_has(Context& context) {
  const int most = context.crowded() ? 200 : 3000;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int by_host = made_by(PMPI_Comm_dup, PMPI_Comm_free, most);
  const int by_all = made_by(MPI_Comm_dup, MPI_Comm_free, most);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  context.expect(by_all == by_host, "%d could be made, %d by the host alone", by_all, by_host);
}

/// Those that are alive at once have tags of their own, in whatever order they are used.
void many_that_are_alive_at_once_do_not_meet(Context& context) {
  std::vector<MPI_Comm> all(context.crowded() ? 100 : 1000);
  for (MPI_Comm& each : all) MPI_Comm_dup(MPI_COMM_WORLD, &each);
  std::vector<MPI_Request> requests(all.size());
  std::vector<int> sums(all.size());
  std::vector<int> values(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t at = i * 7 % all.size();
    values[at] = static_cast<int>(at) + context.rank();
    MPI_Iallreduce(&values[at], &sums[at], 1, MPI_INT, MPI_SUM, all[at], &requests[at]);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  const int size = context.size();
  for (std::size_t i = 0; i < all.size(); ++i)
    context.expect(sums[i] == static_cast<int>(i) * size + size * (size - 1) / 2, "the sum on communicator %zu is %d",
                   i, sums[i]);
  for (MPI_Comm& each : all) MPI_Comm_free(&each);
}

/// A call on some ranks, which is under way.
struct Call {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<int> send, receive;
  int number = 0;
  int rank = 0, size = 0;
  bool gathers = false;

  void start() {
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    const std::size_t count = static_cast<std::size_t>(number % 3 == 0 ? 5000 : 1 + number % 7);
    send.assign(count, number * 1000 + rank);
    receive.assign(gathers ? count * static_cast<std::size_t>(size) : count, -1);
    if (gathers)
      MPI_Iallgather(send.data(), static_cast<int>(count), MPI_INT, receive.data(), static_cast<int>(count), MPI_INT,
                     communicator, &request);
    else
      MPI_Iallreduce(send.data(), receive.data(), static_cast<int>(count), MPI_INT, MPI_SUM, communicator, &request);
  }
  bool is_right() const {
    const int sum = number * 1000 * size + size * (size - 1) / 2;
    for (std::size_t i = 0; i < receive.size(); ++i)
      if (receive[i] != (gathers ? number * 1000 + static_cast<int>(i / send.size()) : sum)) return false;
    return true;
  }
};

/// The same draws on all ranks. freed_early: before its call has ended.
void exchange_at_once(Context& context, unsigned seed, bool freed_early) {
  std::mt19937 draws(seed);
  std::vector<Call> calls;
  for (int number = 0; number < 12; ++number) {
    // Of all, of pairs of neighbors, of every other rank, of any.
    int color = 0;
    const int kind = static_cast<int>(draws() % 4);
    for (int rank = 0; rank < context.size(); ++rank) {
      const int drawn = static_cast<int>(draws() % 2);
      if (rank == context.rank())
        color = kind == 0 ? 0 : kind == 1 ? (rank + number) / 2 : kind == 2 ? rank % 2 : drawn;
    }
    Call call;
    call.number = number;
    call.gathers = draws() % 2 == 0;
    MPI_Comm_split(MPI_COMM_WORLD, color, number % 2 == 0 ? context.rank() : -context.rank(), &call.communicator);
    calls.push_back(std::move(call));
  }
  for (Call& call : calls) {
    call.start();
    if (freed_early && call.number % 2 == 0) MPI_Comm_free(&call.communicator);
  }
  // Made while the calls are under way: has no tags of theirs.
  MPI_Comm late = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &late);
  exercise(context, late, "a communicator made while calls of others are under way", 20);
  MPI_Comm_free(&late);
  // Each rank ends them in an order of its own.
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < calls.size(); ++i) order.push_back(i);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed + static_cast<unsigned>(context.rank())));
  for (const std::size_t i : order) {
    MPI_Wait(&calls[i].request, MPI_STATUS_IGNORE);
    context.expect(calls[i].is_right(), "seed %u: call %zu on %d ranks is wrong", seed, i, calls[i].size);
  }
  for (Call& call : calls)
    if (call.communicator != MPI_COMM_NULL) MPI_Comm_free(&call.communicator);
}

void those_of_different_nodes_exchange_at_once(Context& context) {
  for (unsigned seed = 1; seed <= (context.crowded() ? 4u : 20u); ++seed) exchange_at_once(context, seed, false);
}

void they_are_freed_while_calls_are_pending(Context& context) {
  for (unsigned seed = 101; seed <= (context.crowded() ? 104u : 120u); ++seed) exchange_at_once(context, seed, true);
}

/// More than hosts with few tags have ranges for; the last are the library's as the first are.
void tags_are_given_back(Context& context) {
  const bool is_ours = [&] {
    exercise(context, MPI_COMM_WORLD, "all ranks", 1);
    return last_was_ours();
  }();
  for (int round = 0; round < (context.crowded() ? 100 : 20000); ++round) {
    MPI_Comm duplicate = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    int sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, duplicate);
    const bool good = sum == context.size() && last_was_ours() == is_ours;
    MPI_Comm_free(&duplicate);
    if (!context.expect(good, "round %d: wrong, or carried out by somebody else", round)) break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Some hosts let nonblocking calls between nodes be the library's only so.
  int threads = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  int status = 0;
  {
    Context context(nullptr, 0);
    const std::vector<Test> tests{
#define TEST(name) {#name, &name}
        TEST(as_many_can_be_made_as_the_host_has), TEST(many_that_are_alive_at_once_do_not_meet),
        TEST(those_of_different_nodes_exchange_at_once), TEST(they_are_freed_while_calls_are_pending),
        TEST(tags_are_given_back)};
    status = run_tests(context, tests, argc, argv);
  }
  MPI_Finalize();
  return status;
}
