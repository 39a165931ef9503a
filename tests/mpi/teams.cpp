// Teams (tutti.h): threads of all processes as ranks. MPI is initialised with the level that TEST_LEVEL names, or
// MPI_THREAD_MULTIPLE.
#include <tutti.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

using namespace tutti::tests;

namespace {

using Number = std::int64_t;
int level = MPI_THREAD_SINGLE;

/// TUTTI_RANKS_PER_NODE, or nodes: nonblocking collectives need MPI_THREAD_MULTIPLE then.
bool may_span_nodes() {
  return std::getenv("TUTTI_RANKS_PER_NODE") || std::getenv("TEST_NODES");
}
bool has_nonblocking() {
  return level == MPI_THREAD_MULTIPLE || !may_span_nodes();
}

/// Runs `rank(team, number)` on as many threads, the first of which is this one.
void on_threads(TUTTI_Team team, int threads, const std::function<void(TUTTI_Team, int)>& rank) {
  std::vector<std::thread> others;
  for (int number = 1; number < threads; ++number) others.emplace_back(rank, team, number);
  rank(team, 0);
  for (std::thread& each : others) each.join();
}

/// Of all processes, and one on which errors return.
TUTTI_Team team_of_all(Context& context, int threads) {
  TUTTI_Team team = TUTTI_TEAM_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  context.expect(TUTTI_Team_create(comm, threads, &team) == MPI_SUCCESS, "no team");
  MPI_Comm_free(&comm);
  return team;
}

/// Different for each process.
int usual_threads(const Context& context) {
  return 1 + (context.rank() + 1) % 3;
}

/// What one thread has found wrong: a Context is the main thread's.
struct Findings {
  std::atomic<long> checks{0}, wrong{0};
  std::atomic<const char*> first{nullptr};

  void expect(bool holds, const char* what) {
    ++checks;
    if (holds) return;
    ++wrong;
    const char* none = nullptr;
    first.compare_exchange_strong(none, what);
  }
  void tell(Context& context) const {
    context.expect(wrong == 0, "%ld of %ld checks were wrong, the first of %s", wrong.load(), checks.load(),
                   first.load() ? first.load() : "none");
  }
};

/// The call that a round makes: blocking, or started and waited for.
struct Caller {
  bool starts;

  template <class Blocking, class Starting, class... Arguments>
  int operator()(Blocking blocking, Starting starting, TUTTI_Team team, Arguments... arguments) const {
    if (!starts) return blocking(arguments..., team);
    TUTTI_Request request = TUTTI_REQUEST_NULL;
    const int code = starting(arguments..., team, &request);
    if (code != MPI_SUCCESS) return code;
    for (int flag = 0, asked = 0; !flag && asked < 3; ++asked)
      if (const int now = TUTTI_Test(&request, &flag, MPI_STATUS_IGNORE); now != MPI_SUCCESS) return now;
    return TUTTI_Wait(&request, MPI_STATUS_IGNORE);
  }
};

Number value(int rank, std::size_t i) {
  return 100'000 * rank + static_cast<Number>(i % 1000);
}
std::vector<Number> values(int rank, std::size_t count, std::size_t from = 0) {
  std::vector<Number> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = value(rank, from + i);
  return made;
}
/// Of the first `ranks` ranks.
bool is_sum(const Number* found, std::size_t count, int ranks, std::size_t from = 0) {
  for (std::size_t i = 0; i < count; ++i)
    if (found[i] != 100'000ll * ranks * (ranks - 1) / 2 + ranks * static_cast<Number>((from + i) % 1000)) return false;
  return true;
}
bool is_from(const Number* found, std::size_t count, int rank, std::size_t from = 0) {
  for (std::size_t i = 0; i < count; ++i)
    if (found[i] != value(rank, from + i)) return false;
  return true;
}

/// Blocks whose sizes differ.
struct Blocks {
  std::vector<int> counts, places;
  std::vector<MPI_Count> large_counts;
  std::vector<MPI_Aint> large_places;
  std::size_t all = 0;

  Blocks(int ranks, const std::function<int(int)>& count_of) {
    for (int rank = 0; rank < ranks; ++rank) {
      counts.push_back(count_of(rank));
      places.push_back(static_cast<int>(all));
      all += static_cast<std::size_t>(counts.back()) + 1;
    }
    large_counts.assign(counts.begin(), counts.end());
    large_places.assign(places.begin(), places.end());
  }
  /// Block i of `buffer` is the first of what rank_of(i) has, from `from`.
  template <class RankOf, class From>
  bool hold(const std::vector<Number>& buffer, const RankOf& rank_of, const From& from) const {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto count = static_cast<std::size_t>(counts[i]);
      if (!is_from(buffer.data() + places[i], count, rank_of(static_cast<int>(i)), from(static_cast<int>(i))))
        return false;
      // What lies between blocks stays.
      if (buffer[static_cast<std::size_t>(places[i]) + count] != -1) return false;
    }
    return true;
  }
};

// NOLINTBEGIN(readability-function-size): one collective after the other.
void reductions(TUTTI_Team team, int rank, int size, int root, std::size_t count, const Caller& call, Findings& found) {
  const auto elements = static_cast<MPI_Count>(count);
  const auto ranks = static_cast<std::size_t>(size);
  const std::vector<Number> mine = values(rank, count);
  std::vector<Number> result(count, -1);
  int code = call(TUTTI_Team_allreduce, TUTTI_Team_iallreduce, team, mine.data(), result.data(), elements, MPI_INT64_T,
                  MPI_SUM);
  found.expect(code == MPI_SUCCESS && is_sum(result.data(), count, size), "allreduce");
  result = mine;
  code = call(TUTTI_Team_allreduce, TUTTI_Team_iallreduce, team, static_cast<const void*>(MPI_IN_PLACE), result.data(),
              elements, MPI_INT64_T, MPI_SUM);
  found.expect(code == MPI_SUCCESS && is_sum(result.data(), count, size), "allreduce in place");
  result.assign(count, -1);
  code = call(TUTTI_Team_reduce, TUTTI_Team_ireduce, team, mine.data(), result.data(), elements, MPI_INT64_T, MPI_SUM,
              root);
  found.expect(code == MPI_SUCCESS && (rank == root ? is_sum(result.data(), count, size) : result.back() == -1),
               "reduce");
  result.assign(count, -1);
  code = call(TUTTI_Team_scan, TUTTI_Team_iscan, team, mine.data(), result.data(), elements, MPI_INT64_T, MPI_SUM);
  found.expect(code == MPI_SUCCESS && is_sum(result.data(), count, rank + 1), "scan");
  result.assign(count, -1);
  code = call(TUTTI_Team_exscan, TUTTI_Team_iexscan, team, mine.data(), result.data(), elements, MPI_INT64_T, MPI_SUM);
  found.expect(code == MPI_SUCCESS && (rank == 0 || is_sum(result.data(), count, rank)), "exscan");

  const std::vector<Number> all = values(rank, ranks * count);
  result.assign(count, -1);
  code = call(TUTTI_Team_reduce_scatter_block, TUTTI_Team_ireduce_scatter_block, team, all.data(), result.data(),
              elements, MPI_INT64_T, MPI_SUM);
  const std::size_t from = static_cast<std::size_t>(rank) * count;
  found.expect(code == MPI_SUCCESS && is_sum(result.data(), count, size, from), "reduce_scatter_block");
  std::vector<int> counts(ranks, static_cast<int>(count));
  counts.front() += 3;
  const std::vector<MPI_Count> large_counts(counts.begin(), counts.end());
  const std::vector<Number> more = values(rank, ranks * count + 3);
  const auto own = static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]);
  for (const bool large : {false, true}) {
    result.assign(own, -1);
    code = large ? call(TUTTI_Team_reduce_scatter_c, TUTTI_Team_ireduce_scatter_c, team, more.data(), result.data(),
                        large_counts.data(), MPI_INT64_T, MPI_SUM)
                 : call(TUTTI_Team_reduce_scatter, TUTTI_Team_ireduce_scatter, team, more.data(), result.data(),
                        counts.data(), MPI_INT64_T, MPI_SUM);
    found.expect(code == MPI_SUCCESS && is_sum(result.data(), own, size, rank == 0 ? 0 : from + 3), "reduce_scatter");
  }
}

void rooted(TUTTI_Team team, int rank, int size, int root, std::size_t count, const Caller& call, Findings& found) {
  const auto elements = static_cast<MPI_Count>(count);
  const auto ranks = static_cast<std::size_t>(size);
  const bool is_root = rank == root;
  std::vector<Number> buffer = is_root ? values(root, count) : std::vector<Number>(count, -1);
  int code = call(TUTTI_Team_bcast, TUTTI_Team_ibcast, team, buffer.data(), elements, MPI_INT64_T, root);
  found.expect(code == MPI_SUCCESS && is_from(buffer.data(), count, root), "bcast");

  const std::vector<Number> mine = values(rank, count);
  std::vector<Number> all(ranks * count, -1);
  code = call(TUTTI_Team_gather, TUTTI_Team_igather, team, mine.data(), elements, MPI_INT64_T, all.data(), elements,
              MPI_INT64_T, root);
  bool good = code == MPI_SUCCESS;
  for (int other = 0; is_root && other < size; ++other)
    good = good && is_from(all.data() + static_cast<std::size_t>(other) * count, count, other);
  found.expect(good, "gather");
  if (is_root) all = values(root, ranks * count);
  std::vector<Number> part(count, -1);
  code = call(TUTTI_Team_scatter, TUTTI_Team_iscatter, team, all.data(), elements, MPI_INT64_T, part.data(), elements,
              MPI_INT64_T, root);
  found.expect(code == MPI_SUCCESS && is_from(part.data(), count, root, static_cast<std::size_t>(rank) * count),
               "scatter");

  const Blocks blocks(size, [count](int of) { return of % 2 == 0 ? static_cast<int>(count) : 0; });
  const int own = blocks.counts[static_cast<std::size_t>(rank)];
  const auto zero = [](int) { return std::size_t{0}; };
  const auto itself = [](int of) { return of; };
  for (const bool large : {false, true}) {
    all.assign(blocks.all, -1);
    code = large ? call(TUTTI_Team_gatherv_c, TUTTI_Team_igatherv_c, team, mine.data(), MPI_Count{own}, MPI_INT64_T,
                        all.data(), blocks.large_counts.data(), blocks.large_places.data(), MPI_INT64_T, root)
                 : call(TUTTI_Team_gatherv, TUTTI_Team_igatherv, team, mine.data(), MPI_Count{own}, MPI_INT64_T,
                        all.data(), blocks.counts.data(), blocks.places.data(), MPI_INT64_T, root);
    found.expect(code == MPI_SUCCESS && (!is_root || blocks.hold(all, itself, zero)), "gatherv");
    if (is_root) all = values(root, blocks.all);
    part.assign(count, -1);
    code = large ? call(TUTTI_Team_scatterv_c, TUTTI_Team_iscatterv_c, team, all.data(), blocks.large_counts.data(),
                        blocks.large_places.data(), MPI_INT64_T, part.data(), MPI_Count{own}, MPI_INT64_T, root)
                 : call(TUTTI_Team_scatterv, TUTTI_Team_iscatterv, team, all.data(), blocks.counts.data(),
                        blocks.places.data(), MPI_INT64_T, part.data(), MPI_Count{own}, MPI_INT64_T, root);
    const auto from = static_cast<std::size_t>(blocks.places[static_cast<std::size_t>(rank)]);
    found.expect(code == MPI_SUCCESS && is_from(part.data(), static_cast<std::size_t>(own), root, from), "scatterv");
  }
}

void to_all(TUTTI_Team team, int rank, int size, std::size_t count, const Caller& call, Findings& found) {
  const auto elements = static_cast<MPI_Count>(count);
  const auto ranks = static_cast<std::size_t>(size);
  const std::vector<Number> mine = values(rank, count);
  std::vector<Number> all(ranks * count, -1);
  int code = call(TUTTI_Team_allgather, TUTTI_Team_iallgather, team, mine.data(), elements, MPI_INT64_T, all.data(),
                  elements, MPI_INT64_T);
  bool good = code == MPI_SUCCESS;
  for (int other = 0; other < size; ++other)
    good = good && is_from(all.data() + static_cast<std::size_t>(other) * count, count, other);
  found.expect(good, "allgather");

  const std::vector<Number> sent = values(rank, ranks * count);
  all.assign(ranks * count, -1);
  code = call(TUTTI_Team_alltoall, TUTTI_Team_ialltoall, team, sent.data(), elements, MPI_INT64_T, all.data(), elements,
              MPI_INT64_T);
  good = code == MPI_SUCCESS;
  const std::size_t own_place = static_cast<std::size_t>(rank) * count;
  for (int other = 0; other < size; ++other)
    good = good && is_from(all.data() + static_cast<std::size_t>(other) * count, count, other, own_place);
  found.expect(good, "alltoall");

  const auto itself = [](int of) { return of; };
  const Blocks gathered(size, [count](int of) { return of % 2 == 1 ? static_cast<int>(count) : 2; });
  const int own = gathered.counts[static_cast<std::size_t>(rank)];
  const std::vector<Number> block = values(rank, static_cast<std::size_t>(own));
  // Rank s sends rank r a block of (s + r) % 3 counts, from r * 5 on.
  const auto sends = [count](int from, int to) { return static_cast<int>(count) * ((from + to) % 3); };
  const Blocks out(size, [&](int to) { return sends(rank, to); });
  const Blocks in(size, [&](int from) { return sends(from, rank); });
  std::vector<Number> leaves(out.all, -1);
  for (int to = 0; to < size; ++to) {
    const std::vector<Number> each = values(rank, static_cast<std::size_t>(out.counts[static_cast<std::size_t>(to)]),
                                            static_cast<std::size_t>(to) * 5);
    std::copy(each.begin(), each.end(), leaves.begin() + out.places[static_cast<std::size_t>(to)]);
  }
  const auto in_bytes = [](const Blocks& of) {
    std::vector<int> places;
    for (const int place : of.places) places.push_back(place * static_cast<int>(sizeof(Number)));
    return places;
  };
  const std::vector<int> out_bytes = in_bytes(out), received_bytes = in_bytes(in);
  const std::vector<MPI_Aint> large_out(out_bytes.begin(), out_bytes.end());
  const std::vector<MPI_Aint> large_in(received_bytes.begin(), received_bytes.end());
  const std::vector<MPI_Datatype> types(ranks, MPI_INT64_T);
  const auto from_own = [rank](int) { return static_cast<std::size_t>(rank) * 5; };
  for (const bool large : {false, true}) {
    all.assign(gathered.all, -1);
    code = large
               ? call(TUTTI_Team_allgatherv_c, TUTTI_Team_iallgatherv_c, team, block.data(), MPI_Count{own},
                      MPI_INT64_T, all.data(), gathered.large_counts.data(), gathered.large_places.data(), MPI_INT64_T)
               : call(TUTTI_Team_allgatherv, TUTTI_Team_iallgatherv, team, block.data(), MPI_Count{own}, MPI_INT64_T,
                      all.data(), gathered.counts.data(), gathered.places.data(), MPI_INT64_T);
    found.expect(code == MPI_SUCCESS && gathered.hold(all, itself, [](int) { return std::size_t{0}; }), "allgatherv");
    all.assign(in.all, -1);
    code = large ? call(TUTTI_Team_alltoallv_c, TUTTI_Team_ialltoallv_c, team, leaves.data(), out.large_counts.data(),
                        out.large_places.data(), MPI_INT64_T, all.data(), in.large_counts.data(),
                        in.large_places.data(), MPI_INT64_T)
                 : call(TUTTI_Team_alltoallv, TUTTI_Team_ialltoallv, team, leaves.data(), out.counts.data(),
                        out.places.data(), MPI_INT64_T, all.data(), in.counts.data(), in.places.data(), MPI_INT64_T);
    found.expect(code == MPI_SUCCESS && in.hold(all, itself, from_own), "alltoallv");
    all.assign(in.all, -1);
    code =
        large ? call(TUTTI_Team_alltoallw_c, TUTTI_Team_ialltoallw_c, team, leaves.data(), out.large_counts.data(),
                     large_out.data(), types.data(), all.data(), in.large_counts.data(), large_in.data(), types.data())
              : call(TUTTI_Team_alltoallw, TUTTI_Team_ialltoallw, team, leaves.data(), out.counts.data(),
                     out_bytes.data(), types.data(), all.data(), in.counts.data(), received_bytes.data(), types.data());
    found.expect(code == MPI_SUCCESS && in.hold(all, itself, from_own), "alltoallw");
  }
}
// NOLINTEND(readability-function-size)

/// All collectives, blocking and nonblocking, of sizes by chance that are the same on all ranks.
void all_collectives(TUTTI_Team team, int number, int rounds, Findings& found) {
  int rank = -1, size = 0;
  found.expect(TUTTI_Team_attach(team, number) == MPI_SUCCESS, "attach");
  found.expect(TUTTI_Team_rank(team, &rank) == MPI_SUCCESS && TUTTI_Team_size(team, &size) == MPI_SUCCESS, "rank");
  std::mt19937 chance(4711);
  for (int round = 0; round < rounds; ++round) {
    constexpr std::size_t most[] = {8, 600, 9000, 70'000};
    const std::size_t count = 1 + chance() % most[round % 4];
    const int root = static_cast<int>(chance() % static_cast<unsigned>(size));
    const Caller call{has_nonblocking() && chance() % 2 == 1};
    found.expect(call(TUTTI_Team_barrier, TUTTI_Team_ibarrier, team) == MPI_SUCCESS, "barrier");
    reductions(team, rank, size, root, count, call, found);
    rooted(team, rank, size, root, count, call, found);
    to_all(team, rank, size, count, call, found);
  }
  found.expect(TUTTI_Team_detach(team) == MPI_SUCCESS, "detach");
}

void all_collectives_have_their_results(Context& context) {
  const int threads = usual_threads(context);
  TUTTI_Team team = team_of_all(context, threads);
  Findings found;
  on_threads(team, threads, [&](TUTTI_Team of, int number) { all_collectives(of, number, 8, found); });
  found.tell(context);
  context.expect(TUTTI_Team_free(&team) == MPI_SUCCESS && team == TUTTI_TEAM_NULL, "not freed");
}

void teams_of_one_thread_a_process(Context& context) {
  TUTTI_Team team = team_of_all(context, 1);
  Findings found;
  all_collectives(team, 0, 4, found);
  found.tell(context);
  context.expect(TUTTI_Team_free(&team) == MPI_SUCCESS, "not freed");
}

/// One of a process alone, and several at a time.
void teams_are_made_of_any_communicator(Context& context) {
  TUTTI_Team alone = TUTTI_TEAM_NULL, one = TUTTI_TEAM_NULL, some = TUTTI_TEAM_NULL;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, context.rank() % 2, -context.rank(), &half);
  context.expect(TUTTI_Team_create(MPI_COMM_SELF, 3, &alone) == MPI_SUCCESS, "no team of itself");
  context.expect(TUTTI_Team_create(MPI_COMM_SELF, 1, &one) == MPI_SUCCESS, "no team of one");
  context.expect(TUTTI_Team_create(half, 2, &some) == MPI_SUCCESS, "no team of a half");
  MPI_Comm_free(&half);
  Findings found;
  on_threads(some, 2, [&](TUTTI_Team team, int number) { all_collectives(team, number, 2, found); });
  on_threads(alone, 3, [&](TUTTI_Team team, int number) { all_collectives(team, number, 2, found); });
  all_collectives(one, 0, 2, found);
  found.tell(context);
  for (TUTTI_Team* const each : {&alone, &one, &some})
    context.expect(TUTTI_Team_free(each) == MPI_SUCCESS, "not freed");
}

void threads_come_and_go(Context& context) {
  const int threads = 3;
  TUTTI_Team team = team_of_all(context, threads);
  Findings found;
  for (int time = 0; time < 5; ++time) {
    // Which of them is which rank is open, as in a parallel region.
    std::atomic<int> numbers{0};
    on_threads(team, threads, [&](TUTTI_Team of, int) {
      found.expect(TUTTI_Team_attach(of, -1) == MPI_SUCCESS, "attach");
      int rank = -1, size = 0;
      TUTTI_Team_rank(of, &rank);
      TUTTI_Team_size(of, &size);
      int sum = 0;
      TUTTI_Team_allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, of);
      found.expect(sum == size * (size - 1) / 2, "allreduce");
      TUTTI_Place place{};
      found.expect(TUTTI_Team_place(of, rank, &place) == MPI_SUCCESS && place.process == context.rank(), "place");
      numbers += place.thread;
      TUTTI_Team_barrier(of);
      found.expect(TUTTI_Team_detach(of) == MPI_SUCCESS, "detach");
    });
    found.expect(numbers == threads * (threads - 1) / 2, "numbers of threads");
  }
  found.tell(context);
  context.expect(TUTTI_Team_free(&team) == MPI_SUCCESS, "not freed");
}

void buffers_are_in_memory_of_every_kind(Context& context) {
  TUTTI_Team team = team_of_all(context, 2);
  Findings found;
  on_threads(team, 2, [&](TUTTI_Team of, int number) {
    constexpr int count = 6000;
    static thread_local int in_block[count];
    static int in_program[2][count];
    int on_stack[count];
    std::vector<int> on_heap(count);
    TUTTI_Team_attach(of, number);
    int rank = 0, size = 0;
    TUTTI_Team_rank(of, &rank);
    TUTTI_Team_size(of, &size);
    int* const all[] = {in_block, in_program[number], on_stack, on_heap.data()};
    for (int round = 0; round < 16; ++round) {
      // Another kind on each rank.
      int* const from = all[(round + rank) % 4];
      int* const to = all[(round / 4 + rank) % 4];
      std::fill_n(from, count, rank + round);
      if (from == to)
        TUTTI_Team_allreduce(MPI_IN_PLACE, to, count, MPI_INT, MPI_SUM, of);
      else
        TUTTI_Team_allreduce(from, to, count, MPI_INT, MPI_SUM, of);
      const int sum = size * (size - 1) / 2 + size * round;
      found.expect(std::all_of(to, to + count, [sum](int each) { return each == sum; }), "allreduce");
      TUTTI_Team_barrier(of);
      std::fill_n(from, count, rank == round % size ? round : -1);
      TUTTI_Team_bcast(from, count, MPI_INT, round % size, of);
      found.expect(std::all_of(from, from + count, [round](int each) { return each == round; }), "bcast");
    }
    TUTTI_Team_detach(of);
  });
  found.tell(context);
  TUTTI_Team_free(&team);
}

void many_are_under_way(Context& context) {
  if (!has_nonblocking()) return;
  TUTTI_Team team = team_of_all(context, 2);
  Findings found;
  on_threads(team, 2, [&](TUTTI_Team of, int number) {
    TUTTI_Team_attach(of, number);
    int rank = 0, size = 0;
    TUTTI_Team_rank(of, &rank);
    TUTTI_Team_size(of, &size);
    constexpr std::size_t many = 100;
    std::vector<TUTTI_Request> requests(many, TUTTI_REQUEST_NULL);
    std::vector<std::vector<Number>> all(many);
    for (std::size_t i = 0; i < many; ++i) {
      all[i] = values(rank, 1 + i * 17 % 3000);
      TUTTI_Team_iallreduce(MPI_IN_PLACE, all[i].data(), static_cast<MPI_Count>(all[i].size()), MPI_INT64_T, MPI_SUM,
                            of, &requests[i]);
      // Blocking ones come between them.
      if (i % 10 == 9) found.expect(TUTTI_Team_barrier(of) == MPI_SUCCESS, "barrier");
    }
    // Unless the others were so quick that all are over.
    if (TUTTI_Team_detach(of) == MPI_SUCCESS) TUTTI_Team_attach(of, number);
    for (std::size_t i = 0; i < many; ++i) {
      // Each rank in another order.
      const std::size_t next = (i * 37 + static_cast<std::size_t>(rank)) % many;
      found.expect(TUTTI_Wait(&requests[next], MPI_STATUS_IGNORE) == MPI_SUCCESS &&
                       is_sum(all[next].data(), all[next].size(), size),
                   "iallreduce");
      found.expect(requests[next] == TUTTI_REQUEST_NULL, "request");
    }
    found.expect(TUTTI_Team_detach(of) == MPI_SUCCESS, "detach");
  });
  found.tell(context);
  TUTTI_Team_free(&team);
}

void multiply(void* in, void* inout, int* count, MPI_Datatype*) {
  // 2 x 2 matrices: the product does not commute.
  auto* const left = static_cast<Number*>(in);
  auto* const right = static_cast<Number*>(inout);
  for (int i = 0; i < 4 * *count; i += 4) {
    const Number made[4] = {
        left[i] * right[i] + left[i + 1] * right[i + 2], left[i] * right[i + 1] + left[i + 1] * right[i + 3],
        left[i + 2] * right[i] + left[i + 3] * right[i + 2], left[i + 2] * right[i + 1] + left[i + 3] * right[i + 3]};
    std::copy_n(made, 4, right + i);
  }
}

void types_and_operators_of_the_program(Context& context) {
  MPI_Datatype matrix = MPI_DATATYPE_NULL, column = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(4, MPI_INT64_T, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Type_vector(50, 1, 2, MPI_INT64_T, &column);
  MPI_Type_commit(&column);
  MPI_Op product = MPI_OP_NULL;
  MPI_Op_create(multiply, 0, &product);
  TUTTI_Team team = team_of_all(context, 2);
  Findings found;
  on_threads(team, 2, [&](TUTTI_Team of, int number) {
    TUTTI_Team_attach(of, number);
    int rank = 0, size = 0;
    TUTTI_Team_rank(of, &rank);
    TUTTI_Team_size(of, &size);
    if (level != MPI_THREAD_MULTIPLE) {
      // Of threads that may not call MPI; the main thread would wait for the others.
      Number buffer[100] = {};
      if (number == 1) found.expect(TUTTI_Team_bcast(buffer, 1, column, 0, of) != MPI_SUCCESS, "bcast");
      TUTTI_Team_detach(of);
      return;
    }
    Number power[4] = {1, rank + 1, 0, 1}, all[4];
    int code = TUTTI_Team_allreduce(power, all, 1, matrix, product, of);
    found.expect(code == MPI_SUCCESS && all[1] == size * (size + 1) / 2 && all[2] == 0, "allreduce of matrices");
    // [[r, 1], [1, 0]]: what is left and what is right makes a difference.
    Number turn[4] = {rank + 1, 1, 1, 0}, wanted[4] = {1, 0, 0, 1};
    for (int other = 0; other <= rank; ++other) {
      Number next[4] = {other + 1, 1, 1, 0};
      int one = 1;
      multiply(wanted, next, &one, nullptr);
      std::copy_n(next, 4, wanted);
    }
    code = TUTTI_Team_scan(turn, all, 1, matrix, product, of);
    found.expect(code == MPI_SUCCESS && std::equal(all, all + 4, wanted), "scan of matrices");
    std::vector<Number> buffer(100, -1);
    if (rank == 0) buffer = values(0, 100);
    code = TUTTI_Team_bcast(buffer.data(), 1, column, 0, of);
    bool good = code == MPI_SUCCESS;
    for (std::size_t i = 0; i < 100; ++i) good = good && buffer[i] == (rank == 0 || i % 2 == 0 ? value(0, i) : -1);
    found.expect(good, "bcast of a column");
    TUTTI_Team_detach(of);
  });
  found.tell(context);
  TUTTI_Team_free(&team);
  MPI_Op_free(&product);
  MPI_Type_free(&matrix);
  MPI_Type_free(&column);
}

void mistakes_are_errors(Context& context) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &before);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  TUTTI_Team team = TUTTI_TEAM_NULL;
  context.expect(TUTTI_Team_create(comm, context.rank() == 0 ? 0 : 1, &team) == MPI_ERR_ARG, "no threads");
  context.expect(team == TUTTI_TEAM_NULL, "a team of none");
  context.expect(TUTTI_Team_create(comm, 2, &team) == MPI_SUCCESS, "no team");
  context.expect(TUTTI_Team_barrier(team) == MPI_ERR_ARG, "a call without attaching");
  context.expect(TUTTI_Team_detach(team) == MPI_ERR_ARG, "detached without attaching");
  Findings found;
  std::atomic<int> attached{0};
  on_threads(team, 2, [&](TUTTI_Team of, int number) {
    found.expect(TUTTI_Team_attach(of, number + 2) == MPI_ERR_ARG, "a number that is too large");
    found.expect(TUTTI_Team_attach(of, number) == MPI_SUCCESS, "attach");
    found.expect(TUTTI_Team_attach(of, number) == MPI_ERR_ARG, "attached twice");
    std::thread other([&] { found.expect(TUTTI_Team_attach(of, number) == MPI_ERR_ARG, "a number that is taken"); });
    other.join();
    int size = 0, buffer = 0;
    TUTTI_Team_size(of, &size);
    found.expect(TUTTI_Team_bcast(&buffer, 1, MPI_INT, size, of) != MPI_SUCCESS, "a root that is none");
    TUTTI_Place place{};
    found.expect(TUTTI_Team_place(of, size, &place) == MPI_ERR_RANK, "place of nobody");
    found.expect(TUTTI_Team_bcast(&buffer, -1, MPI_INT, 0, of) != MPI_SUCCESS, "a negative count");
    found.expect(TUTTI_Team_allreduce(&buffer, &buffer, 0, MPI_INT, MPI_SUM, of) == MPI_SUCCESS, "nothing");
    found.expect(TUTTI_Team_barrier(of) == MPI_SUCCESS, "barrier");
    ++attached;
    if (number == 0) {
      while (attached < 2) std::this_thread::yield();
      found.expect(TUTTI_Team_free(&of) == MPI_ERR_ARG, "freed while threads are attached");
    }
    TUTTI_Team_barrier(of);
    found.expect(TUTTI_Team_detach(of) == MPI_SUCCESS, "detach");
  });
  found.tell(context);
  TUTTI_Team again = team;
  context.expect(TUTTI_Team_free(&team) == MPI_SUCCESS, "not freed");
  context.expect(TUTTI_Team_free(&team) == MPI_ERR_ARG, "freed twice");
  context.expect(TUTTI_Team_free(&again) == MPI_ERR_ARG, "freed twice by another name");
  context.expect(TUTTI_Team_attach(again, 0) == MPI_ERR_ARG, "attached to what was freed");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, before);
  MPI_Errhandler_free(&before);
  MPI_Comm_free(&comm);
}

void a_thread_that_ends_is_told(Context& context) {
  if (may_span_nodes()) return;  // those of other nodes do not know
  TUTTI_Team team = team_of_all(context, 3);
  Findings found;
  on_threads(team, 3, [&](TUTTI_Team of, int number) {
    found.expect(TUTTI_Team_attach(of, number) == MPI_SUCCESS, "attach");
    int rank = 0, value = 0, sum = 0;
    TUTTI_Team_rank(of, &rank);
    TUTTI_Team_allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, of);
    if (rank == 1) return;
    int code = MPI_SUCCESS;
    for (int i = 0; i < 100 && code == MPI_SUCCESS; ++i) code = TUTTI_Team_barrier(of);
    found.expect(code == MPI_ERR_OTHER, "barrier");
    found.expect(TUTTI_Team_allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, of) == MPI_ERR_OTHER, "allreduce");
    found.expect(TUTTI_Team_detach(of) == MPI_SUCCESS, "detach");
  });
  found.tell(context);
  context.expect(TUTTI_Team_free(&team) == MPI_SUCCESS, "not freed");
}

void many_teams_leave_nothing(Context& context) {
  for (int i = 0; i < 200; ++i) {
    TUTTI_Team team = TUTTI_TEAM_NULL;
    if (!context.expect(TUTTI_Team_create(MPI_COMM_WORLD, 2, &team) == MPI_SUCCESS, "no team")) return;
    Findings found;
    on_threads(team, i % 20 == 0 ? 2 : 0, [&](TUTTI_Team of, int number) {
      if (i % 20 != 0) return;
      all_collectives(of, number, 1, found);
    });
    found.tell(context);
    context.expect(TUTTI_Team_free(&team) == MPI_SUCCESS, "not freed");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* const wanted = std::getenv("TEST_LEVEL");
  const bool funneled = wanted && std::string(wanted) == "funneled";
  MPI_Init_thread(&argc, &argv, funneled ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, &level);
  if (funneled) level = MPI_THREAD_FUNNELED;
  int status = 0;
  {
    Context context(nullptr, 0);
    status = run_tests(context,
                       {
                           {"all_collectives_have_their_results", all_collectives_have_their_results},
                           {"teams_of_one_thread_a_process", teams_of_one_thread_a_process},
                           {"teams_are_made_of_any_communicator", teams_are_made_of_any_communicator},
                           {"threads_come_and_go", threads_come_and_go},
                           {"buffers_are_in_memory_of_every_kind", buffers_are_in_memory_of_every_kind},
                           {"many_are_under_way", many_are_under_way},
                           {"types_and_operators_of_the_program", types_and_operators_of_the_program},
                           {"mistakes_are_errors", mistakes_are_errors},
                           {"a_thread_that_ends_is_told", a_thread_that_ends_is_told},
                           {"many_teams_leave_nothing", many_teams_leave_nothing},
                       },
                       argc, argv);
  }
  MPI_Finalize();
  return status;
}
