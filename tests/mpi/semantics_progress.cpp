#include <time.h>

#include <algorithm>
#include <vector>

#include "semantics.h"

namespace tutti::tests {

namespace {

/// CLOCK_MONOTONIC in seconds: one clock for all processes of a machine.
double machine_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

using Collective = void (*)(Context&);

void barrier(Context&) {
  MPI_Barrier(MPI_COMM_WORLD);
}

void small_allreduce(Context& context) {
  int sum = 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  context.expect(sum == context.size(), "Allreduce gave %d", sum);
}

void small_broadcast_from_last(Context& context) {
  int value = context.rank() == context.size() - 1 ? 17 : 0;
  MPI_Bcast(&value, 1, MPI_INT, context.size() - 1, MPI_COMM_WORLD);
  context.expect(value == 17, "Bcast gave %d", value);
}

void large_broadcast_from_last(Context& context) {
  std::vector<int> values(300'000, context.rank() == context.size() - 1 ? 17 : 0);
  MPI_Bcast(values.data(), 300'000, MPI_INT, context.size() - 1, MPI_COMM_WORLD);
  context.expect(values.back() == 17, "large Bcast gave %d", values.back());
}

void large_allreduce(Context& context) {
  std::vector<int> values(300'000, 1);
  MPI_Allreduce(MPI_IN_PLACE, values.data(), 300'000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  context.expect(values.back() == context.size(), "large Allreduce gave %d", values.back());
}

void reduce_to_last(Context& context) {
  int value = 1;
  int sum = 0;
  MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, context.size() - 1, MPI_COMM_WORLD);
  if (context.rank() == context.size() - 1) context.expect(sum == context.size(), "Reduce gave %d", sum);
}

struct NamedCollective {
  const char* name;
  Collective run;
};
constexpr NamedCollective kCollectives[] = {{"Barrier", &barrier},
                                            {"Allreduce", &small_allreduce},
                                            {"Bcast", &small_broadcast_from_last},
                                            {"large Bcast", &large_broadcast_from_last},
                                            {"large Allreduce", &large_allreduce},
                                            {"Reduce", &reduce_to_last}};
constexpr int kMessage = 1 << 20;  // ints: far beyond what any MPI sends eagerly

/// Rank 0 enters the collective with a send under way; its peer enters only when it has the message.
void send_is_under_way(Context& context, const NamedCollective& collective) {
  std::vector<int> message(kMessage, context.rank() == 0 ? 3 : 0);
  if (context.rank() == 0) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(message.data(), kMessage, MPI_INT, 1, 21, MPI_COMM_WORLD, &request);
    collective.run(context);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (context.rank() == 1) {
    MPI_Recv(message.data(), kMessage, MPI_INT, 0, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    context.expect(message.front() == 3 && message.back() == 3, "message beside a %s", collective.name);
    collective.run(context);
  } else {
    collective.run(context);
  }
}

/// Rank 1 has a receive posted and enters; rank 0 is in a blocking send until rank 1 serves it.
void receive_is_posted(Context& context, const NamedCollective& collective) {
  std::vector<int> message(kMessage, context.rank() == 0 ? 4 : 0);
  if (context.rank() == 1) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(message.data(), kMessage, MPI_INT, 0, 22, MPI_COMM_WORLD, &request);
    collective.run(context);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    context.expect(message.front() == 4 && message.back() == 4, "message beside a %s", collective.name);
  } else {
    if (context.rank() == 0) MPI_Send(message.data(), kMessage, MPI_INT, 1, 22, MPI_COMM_WORLD);
    collective.run(context);
  }
}

}  // namespace

void barrier_holds_everybody(Context& context) {
  for (int round = 0; round < (context.crowded() ? 8 : 60); ++round) {
    dawdle(static_cast<unsigned long>(context.rank() * 7919 + round * 104729), 3000);
    double last_arrival = machine_seconds();
    MPI_Barrier(MPI_COMM_WORLD);
    const double departure = machine_seconds();
    PMPI_Allreduce(MPI_IN_PLACE, &last_arrival, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    context.expect(departure >= last_arrival - 1e-6, "round %d: left a barrier %.1f us before the last rank came",
                   round, (last_arrival - departure) * 1e6);
  }
}

void waiting_in_a_collective_serves_others(Context& context) {
  if (context.size() < 2) return;
  for (const NamedCollective& collective : kCollectives) {
    send_is_under_way(context, collective);
    receive_is_posted(context, collective);
  }
  // One-sided: a rank that waits in a barrier still serves those who access its memory.
  std::vector<int> exposed(1000, context.rank());
  MPI_Win window = MPI_WIN_NULL;
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Win_create(exposed.data(), static_cast<MPI_Aint>(exposed.size() * sizeof(int)), sizeof(int),
                                  MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (code != MPI_SUCCESS) return;  // Open MPI 4.1 has no windows inside a node without cross-memory attach
  if (context.rank() == 0) {
    std::vector<int> fetched(1000, -1);
    for (int target = 1; target < context.size(); ++target) {
      MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
      MPI_Get(fetched.data(), 1000, MPI_INT, target, 0, 1000, MPI_INT, window);
      MPI_Win_unlock(target, window);
      context.expect(fetched[999] == target, "MPI_Get from rank %d, which waits in a barrier", target);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
}

void outstanding_nonblocking_collectives_go_on(Context& context) {
  for (int round = 0; round < (context.crowded() ? 2 : 10); ++round) {
    std::vector<int> sums(50'000, 1);
    std::vector<int> cast(50'000, context.rank() == 0 ? round : -1);
    MPI_Request requests[3];
    MPI_Iallreduce(MPI_IN_PLACE, sums.data(), 50'000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    exercise(context, MPI_COMM_WORLD, "MPI_COMM_WORLD beside Iallreduce", 500);
    MPI_Ibcast(cast.data(), 50'000, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    exercise(context, MPI_COMM_WORLD, "MPI_COMM_WORLD beside Ibcast and Ibarrier", 20'000);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    context.expect(sums.front() == context.size() && sums.back() == context.size(), "Iallreduce");
    context.expect(cast.front() == round && cast.back() == round, "Ibcast");
  }
}

void a_root_may_run_ahead(Context& context) {
  // A root has done with a Bcast, and a leaf with a Reduce, before the others have begun: many may be under way.
  for (const int count : {1, 100, 3000, 30'000}) {
    const int rounds = context.crowded() ? 40 : 300;
    const auto elements = static_cast<std::size_t>(count);
    std::vector<int> values(elements);
    for (int round = 0; round < rounds; ++round) {
      values.assign(elements, context.rank() == 0 ? round : -1);
      if (context.rank() != 0 && round % 64 == 0) dawdle(static_cast<unsigned long>(round), 2000);
      MPI_Bcast(values.data(), count, MPI_INT, 0, MPI_COMM_WORLD);
      // The buffer is the program's again as soon as the call returns.
      if (values.front() != round || values.back() != round)
        context.expect(false, "Bcast %d of %d ints gave %d and %d", round, count, values.front(), values.back());
      std::fill(values.begin(), values.end(), -2);
    }
    std::vector<int> sums(elements);
    for (int round = 0; round < rounds; ++round) {
      values.assign(elements, round);
      if (context.rank() == 0 && round % 64 == 0) dawdle(static_cast<unsigned long>(round), 2000);
      MPI_Reduce(values.data(), sums.data(), count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
      std::fill(values.begin(), values.end(), -2);
      if (context.rank() == 0 && (sums.front() != round * context.size() || sums.back() != round * context.size()))
        context.expect(false, "Reduce %d of %d ints gave %d and %d", round, count, sums.front(), sums.back());
    }
    context.expect(true, "reached the end");
  }
}

void accesses_that_a_barrier_follows_are_seen_to_be_complete(Context& context) {
  if (context.size() < 2) return;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::vector<int> memory(100);
  MPI_Win window = MPI_WIN_NULL;
  const int code = MPI_Win_create(memory.data(), 400, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (code != MPI_SUCCESS) return;  // Open MPI 4.1 has no windows inside a node without cross-memory attach
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Win_get_group(window, &all);
  const int origin[] = {0};
  for (int round = 0; round < (context.crowded() ? 3 : 100); ++round) {
    if (context.rank() == 0) {
      MPI_Group_excl(all, 1, origin, &group);
      MPI_Win_start(group, 0, window);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_complete(window);
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      MPI_Group_incl(all, 1, origin, &group);
      MPI_Win_post(group, 0, window);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
      int complete = 0;
      MPI_Win_test(window, &complete);
      context.expect(complete != 0, "MPI_Win_test behind a barrier that the origin has entered after its accesses");
      if (!complete) MPI_Win_wait(window);
    }
    MPI_Group_free(&group);
  }
  MPI_Group_free(&all);
  MPI_Win_free(&window);
}

}  // namespace tutti::tests
