// Persistent collectives: made ready once, started again and again, in any order, completed in every way, beside others.
//
// Where a test does nothing without Tutti, hosts fail it: MPICH 4 and Intel MPI send what was there at the first start, and do
// not allow for other orders; MPICH 5 does not test inactive ones; Open MPI uses types that were freed.
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "block_buffers.h"
#include "completing.h"
#include "elsewhere.h"
#include "inits.h"
#include "semantics.h"

namespace tutti::tests {

namespace {

/// The arguments of any collective: blocks of `count` ints, one for each rank or neighbour.
struct Call {
  MPI_Comm communicator;
  int count;
  int root;
  const int* send;  ///< or MPI_IN_PLACE
  int* receive;
  MPI_Datatype type = MPI_INT;
  MPI_Op operation = MPI_SUM;
  std::vector<int> counts = {}, places = {}, bytes = {};
  std::vector<MPI_Aint> long_bytes = {};
  std::vector<MPI_Datatype> types = {};

  void make_lists(std::size_t blocks) {
    counts.assign(blocks, count);
    types.assign(blocks, type);
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    for (std::size_t i = 0; i < blocks; ++i) {
      places.push_back(static_cast<int>(i) * count);
      long_bytes.push_back(places.back() * extent);
      bytes.push_back(static_cast<int>(long_bytes.back()));
    }
  }
};

/// A collective, to be made ready and, to compare, as the host's own blocking one.
struct Collective {
  const char* name;
  enum { whole, to_root, from_root, neighbors } kind;  ///< whole: in place on every rank
  void (*init)(Call& call, MPI_Request* request);
  void (*host)(Call& call);
};

#define TUTTI_CASE(kind, name, ...)                                                                                 \
  {                                                                                                                 \
#name, Collective::kind,                                                                                          \
        [](Call & c, MPI_Request * request) { inits.name(__VA_ARGS__, c.communicator, MPI_INFO_NULL, request); }, \
        [](Call & c) { PMPI_##name(__VA_ARGS__, c.communicator); } \
  }

const Collective kCollectives[] = {
    {"Barrier", Collective::neighbors,
     [](Call& c, MPI_Request* request) { inits.Barrier(c.communicator, MPI_INFO_NULL, request); }, [](Call&) {}},
    TUTTI_CASE(neighbors, Bcast, c.receive, c.count, c.type, c.root),
    TUTTI_CASE(to_root, Reduce, c.send, c.receive, c.count, c.type, c.operation, c.root),
    TUTTI_CASE(whole, Allreduce, c.send, c.receive, c.count, c.type, c.operation),
    TUTTI_CASE(whole, Reduce_scatter, c.send, c.receive, c.counts.data(), c.type, c.operation),
    TUTTI_CASE(whole, Reduce_scatter_block, c.send, c.receive, c.count, c.type, c.operation),
    TUTTI_CASE(whole, Scan, c.send, c.receive, c.count, c.type, c.operation),
    TUTTI_CASE(whole, Exscan, c.send, c.receive, c.count, c.type, c.operation),
    TUTTI_CASE(neighbors, Scatter, c.send, c.count, c.type, c.receive, c.count, c.type, c.root),
    TUTTI_CASE(neighbors, Scatterv, c.send, c.counts.data(), c.places.data(), c.type, c.receive, c.count, c.type,
               c.root),
    TUTTI_CASE(to_root, Gather, c.send, c.count, c.type, c.receive, c.count, c.type, c.root),
    TUTTI_CASE(to_root, Gatherv, c.send, c.count, c.type, c.receive, c.counts.data(), c.places.data(), c.type, c.root),
    TUTTI_CASE(whole, Allgather, c.send, c.count, c.type, c.receive, c.count, c.type),
    TUTTI_CASE(whole, Allgatherv, c.send, c.count, c.type, c.receive, c.counts.data(), c.places.data(), c.type),
    TUTTI_CASE(whole, Alltoall, c.send, c.count, c.type, c.receive, c.count, c.type),
    TUTTI_CASE(whole, Alltoallv, c.send, c.counts.data(), c.places.data(), c.type, c.receive, c.counts.data(),
               c.places.data(), c.type),
    TUTTI_CASE(whole, Alltoallw, c.send, c.counts.data(), c.bytes.data(), c.types.data(), c.receive, c.counts.data(),
               c.bytes.data(), c.types.data()),
    TUTTI_CASE(neighbors, Neighbor_allgather, c.send, c.count, c.type, c.receive, c.count, c.type),
    TUTTI_CASE(neighbors, Neighbor_allgatherv, c.send, c.count, c.type, c.receive, c.counts.data(), c.places.data(),
               c.type),
    TUTTI_CASE(neighbors, Neighbor_alltoall, c.send, c.count, c.type, c.receive, c.count, c.type),
    TUTTI_CASE(neighbors, Neighbor_alltoallv, c.send, c.counts.data(), c.places.data(), c.type, c.receive,
               c.counts.data(), c.places.data(), c.type),
    TUTTI_CASE(neighbors, Neighbor_alltoallw, c.send, c.counts.data(), c.long_bytes.data(), c.types.data(), c.receive,
               c.counts.data(), c.long_bytes.data(), c.types.data()),
};

void add_by_program(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}
/// Of pairs with a gap between.
void add_apart(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i)
    for (const int at : {4 * i, 4 * i + 2}) static_cast<int*>(inout)[at] += static_cast<int*>(in)[at];
}
/// Two ints of four.
MPI_Datatype make_apart() {
  MPI_Datatype two = MPI_DATATYPE_NULL, apart = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &two);
  MPI_Type_create_resized(two, 0, 4 * sizeof(int), &apart);
  MPI_Type_commit(&apart);
  MPI_Type_free(&two);
  return apart;
}

/// A ring, in which every rank has two neighbours; of two ranks a line.
MPI_Comm make_ring(Context& context) {
  MPI_Comm ring = MPI_COMM_NULL;
  // Hosts mistake blocks for each other where two ranks share two edges.
  int ranks = context.size(), periodic = context.size() > 2;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  return ring;
}

/// One of them, started `rounds` times with other data each time.
void start_often(Context& context, const Collective& collective, Call call, bool in_place, int rounds) {
  const auto blocks = static_cast<std::size_t>(std::max(2, context.size()));
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(call.type, &lower, &extent);
  const std::size_t ints =
      blocks * static_cast<std::size_t>(call.count) * static_cast<std::size_t>(extent) / sizeof(int);
  std::vector<int> send(ints + 1), receive(ints + 1), expected(ints + 1);
  call.make_lists(blocks);
  call.receive = receive.data();
  call.send = send.data();
  if (in_place && (collective.kind == Collective::whole || context.rank() == call.root))
    call.send = static_cast<const int*>(MPI_IN_PLACE);
  MPI_Request request = MPI_REQUEST_NULL;
  collective.init(call, &request);
  const MPI_Request handle = request;
  // Of nothing, and with an operator of the program where the host cannot be hooked, it is the host's: MPICH 4.0 sends what
  // was there at the first start, and forgets types.
  const bool ours = last_was_ours();
  if (tutti_is_there() && context.size() > 1 && call.count > 0 && call.operation == MPI_SUM)
    context.expect(ours, "%s of %d is the host's", collective.name, call.count);
  if (tutti_is_there() && !ours) rounds = call.type == MPI_INT ? 1 : 0;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < ints; ++i) {
      send[i] = context.rank() * 1000 + round * 7 + static_cast<int>(i);
      receive[i] = expected[i] = send[i] + 3;
    }
    MPI_Start(&request);
    MPI_Status status;
    MPI_Wait(&request, &status);
    int elements = -1, cancelled = 1;
    MPI_Get_count(&status, MPI_BYTE, &elements);
    MPI_Test_cancelled(&status, &cancelled);
    Call same = call;
    same.receive = expected.data();
    collective.host(same);
    // Between the members, hosts leave what they like in reductions.
    for (std::size_t i = 1; i < ints && call.type != MPI_INT && call.operation != MPI_SUM; i += 2)
      expected[i] = receive[i];
    const auto wrong = std::mismatch(receive.begin(), receive.end(), expected.begin());
    context.expect(receive == expected, "%s of %d, round %d%s%s%s: [%d] is %d, not %d", collective.name, call.count,
                   round, in_place ? ", in place" : "", call.operation == MPI_SUM ? "" : ", operator of the program",
                   call.type == MPI_INT ? "" : ", with gaps", static_cast<int>(wrong.first - receive.begin()),
                   wrong.first == receive.end() ? 0 : *wrong.first, wrong.first == receive.end() ? 0 : *wrong.second);
    context.expect(request == handle, "%s: the request", collective.name);
    if (ours) context.expect(elements == 0 && !cancelled, "%s: the status", collective.name);
  }
  MPI_Request_free(&request);
  context.expect(request == MPI_REQUEST_NULL, "%s: the handle is null", collective.name);
}

/// A persistent Allreduce, Bcast or Barrier with a result that is known.
struct Ready {
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<int> values = {};
  MPI_Comm communicator = MPI_COMM_NULL;
  int number = 0;
  int expected = 0;

  /// number: decides what it is; the same on all ranks.
  Ready(MPI_Comm on, int which, std::size_t count) : values(count), communicator(on), number(which) {
    int size = 1;
    MPI_Comm_size(communicator, &size);
    const int elements = static_cast<int>(count);
    if (number % 3 == 0)
      inits.Allreduce(MPI_IN_PLACE, values.data(), elements, MPI_INT, MPI_SUM, communicator, MPI_INFO_NULL, &request);
    else if (number % 3 == 1)
      inits.Bcast(values.data(), elements, MPI_INT, number % size, communicator, MPI_INFO_NULL, &request);
    else
      inits.Barrier(communicator, MPI_INFO_NULL, &request);
  }
  /// Before it is started for the `round`-th time.
  void fill(int round) {
    int rank = 0, size = 1;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    expected = number % 3 == 0 ? size * (size - 1) / 2 + size * (number + round) : number + round;
    const bool is_root = rank == number % size;
    const int mine = number % 3 == 0 ? rank + number + round : number % 3 == 1 && !is_root ? -1 : expected;
    std::fill(values.begin(), values.end(), mine);
  }
  bool is_right() const {
    return std::all_of(values.begin(), values.end(), [this](int value) { return value == expected; });
  }
};

std::vector<Ready> make_ready(std::size_t calls, MPI_Comm first, MPI_Comm second, std::size_t most = 40'000) {
  std::vector<Ready> all;
  for (std::size_t i = 0; i < calls; ++i)
    all.emplace_back(i % 4 == 3 ? second : first, static_cast<int>(i), i % 5 == 4 ? most : 1 + 37 * i);
  return all;
}
void free_all(std::vector<Ready>& all) {
  for (Ready& each : all) MPI_Request_free(&each.request);
}

}  // namespace

void persistent_calls_are_started_again_and_again(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;  // hosts have mistakes of their own
  MPI_Comm ring = make_ring(context);
  MPI_Op add = MPI_OP_NULL, add_gaps = MPI_OP_NULL;
  MPI_Op_create(&add_by_program, 0, &add);
  MPI_Op_create(&add_apart, 1, &add_gaps);
  MPI_Datatype apart = make_apart();
  for (const Collective& collective : kCollectives)
    for (const int count : {0, 1, 50, 6'000})
      for (const int variant : {0, 1, 2, 3}) {
        if (context.crowded() && (count == 50 || variant > 1)) continue;
        const bool in_place = variant == 1;
        if (in_place && collective.kind == Collective::neighbors) continue;
        Call call{ring, count, count % context.size(), nullptr, nullptr};
        if (variant == 2) call.operation = add;
        if (variant == 3) call.type = apart, call.operation = add_gaps;
        start_often(context, collective, call, in_place, count > 1000 ? 3 : 40);
      }
  MPI_Type_free(&apart);
  MPI_Op_free(&add);
  MPI_Op_free(&add_gaps);
  MPI_Comm_free(&ring);
}

void one_request_is_started_ten_thousand_times(Context& context) {
  int value = 0, sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  inits.Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  int wrong = 0;
  for (int round = 0; round < (context.crowded() ? 500 : 10'000); ++round) {
    value = context.rank() + round;
    sum = -1;
    MPI_Start(&request);
    if (round % 2) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    wrong += sum != context.size() * (context.size() - 1) / 2 + context.size() * round;
  }
  MPI_Request_free(&request);
  context.expect(wrong == 0, "%d starts gave something else", wrong);
}

/// MPI 4.1, section 6.13: what has been initialized in one order may be started in any.
void ranks_start_persistent_calls_in_orders_of_their_own(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;  // hosts have mistakes of their own
  std::mt19937_64 random(static_cast<unsigned>(context.rank()) + 71);
  std::vector<Ready> all = make_ready(context.crowded() ? 10 : 80, MPI_COMM_WORLD, MPI_COMM_WORLD);
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int round = 0; round < 8; ++round) {
    for (Ready& each : all) each.fill(round);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<MPI_Request> requests;
    for (const std::size_t i : order) requests.push_back(all[i].request);
    if (round % 2)
      MPI_Startall(static_cast<int>(requests.size()), requests.data());
    else
      for (const std::size_t i : order) MPI_Start(&all[i].request);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < all.size(); ++i) context.expect(all[i].is_right(), "round %d: call %zu", round, i);
  }
  free_all(all);
}

void persistent_calls_are_completed_in_every_way(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;  // hosts have mistakes of their own
  std::mt19937_64 random(static_cast<unsigned>(context.rank()) + 5);
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  const int right = (context.rank() + 1) % context.size();
  const int left = (context.rank() + context.size() - 1) % context.size();
  std::vector<Ready> calls = make_ready(context.crowded() ? 6 : 24, MPI_COMM_WORLD, other);
  std::vector<int> sent(5000, context.rank()), got(5000, -1);
  MPI_Request messages[2];
  MPI_Recv_init(got.data(), 5000, MPI_INT, left, 41, MPI_COMM_WORLD, &messages[0]);
  MPI_Send_init(sent.data(), 5000, MPI_INT, right, 41, MPI_COMM_WORLD, &messages[1]);
  int round = 0;
  for (const Way way : kWays) {
    for (const bool all_at_once : {false, true}) {
      const int number = static_cast<int>(way);
      ++round;
      std::fill(got.begin(), got.end(), -1);
      std::vector<MPI_Request> all(messages, messages + 2);
      for (Ready& call : calls) {
        call.fill(round);
        all.push_back(call.request);
      }
      std::shuffle(all.begin(), all.end(), random);
      if (all_at_once)
        MPI_Startall(static_cast<int>(all.size()), all.data());
      else
        for (MPI_Request& each : all) MPI_Start(&each);
      // Among them a nonblocking call of the host, nothing, and one that is not started.
      int one = 1, sum = 0;
      all.push_back(MPI_REQUEST_NULL);
      PMPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other, &all.emplace_back());
      const std::vector<MPI_Request> before = all;
      complete(all, way, random);
      context.expect(sum == context.size(), "way %d: the nonblocking call", number);
      context.expect(got.front() == left && got.back() == left, "way %d: the message", number);
      context.expect(std::equal(all.begin(), all.end() - 1, before.begin()), "way %d: a handle has changed", number);
      for (std::size_t i = 0; i < calls.size(); ++i) context.expect(calls[i].is_right(), "way %d: call %zu", number, i);
    }
  }
  for (MPI_Request& each : messages) MPI_Request_free(&each);
  free_all(calls);
  MPI_Comm_free(&other);
}

void inactive_requests_are_complete(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;  // hosts have mistakes of their own
  std::vector<Ready> calls = make_ready(3, MPI_COMM_WORLD, MPI_COMM_WORLD);
  for (int round = 0; round < 2; ++round) {
    std::vector<MPI_Request> all;
    for (const Ready& call : calls) all.push_back(call.request);
    const std::vector<MPI_Request> before = all;
    int flag = 0, index = 0, done = 0, indices[3], elements = -1;
    MPI_Status status, statuses[3];
    MPI_Wait(all.data(), &status);
    MPI_Get_count(&status, MPI_INT, &elements);
    context.expect(elements == 0 && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG, "Wait");
    MPI_Test(&all[1], &flag, &status);
    context.expect(flag && status.MPI_SOURCE == MPI_ANY_SOURCE, "Test");
    MPI_Waitall(3, all.data(), statuses);
    context.expect(statuses[2].MPI_TAG == MPI_ANY_TAG, "Waitall");
    flag = 0;
    MPI_Testall(3, all.data(), &flag, statuses);
    context.expect(flag != 0, "Testall");
    MPI_Waitany(3, all.data(), &index, &status);
    context.expect(index == MPI_UNDEFINED, "Waitany");
    flag = index = 0;
    MPI_Testany(3, all.data(), &index, &flag, &status);
    context.expect(flag && index == MPI_UNDEFINED, "Testany");
    MPI_Waitsome(3, all.data(), &done, indices, statuses);
    context.expect(done == MPI_UNDEFINED, "Waitsome");
    done = 0;
    MPI_Testsome(3, all.data(), &done, indices, statuses);
    context.expect(done == MPI_UNDEFINED, "Testsome");
    flag = 0;
    MPI_Request_get_status(all[2], &flag, &status);
    context.expect(flag != 0, "Request_get_status");
    context.expect(all == before, "handles stay");
    // The same after they were started.
    for (Ready& call : calls) call.fill(round);
    MPI_Startall(3, all.data());
    MPI_Waitall(3, all.data(), MPI_STATUSES_IGNORE);
    for (const Ready& call : calls) context.expect(call.is_right(), "call %d", call.number);
  }
  free_all(calls);
}

void what_persistent_calls_use_may_be_freed_before_them(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;  // hosts have mistakes of their own
  for (const int count : {10, 20'000}) {
    const auto elements = static_cast<std::size_t>(count);
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    MPI_Datatype apart = make_apart();
    MPI_Op add = MPI_OP_NULL;
    MPI_Op_create(&add_by_program, 1, &add);
    const int root = count % context.size();
    std::vector<int> cast(4 * elements), sums(elements), mine(elements),
        all(elements * static_cast<std::size_t>(context.size()));
    std::vector<int> counts(static_cast<std::size_t>(context.size()), count), places;
    for (int rank = 0; rank < context.size(); ++rank) places.push_back(rank * count);
    MPI_Request requests[3];
    inits.Bcast(cast.data(), count, apart, root, communicator, MPI_INFO_NULL, &requests[0]);
    inits.Allreduce(MPI_IN_PLACE, sums.data(), count, MPI_INT, add, communicator, MPI_INFO_NULL, &requests[1]);
    inits.Allgatherv(mine.data(), count, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT, communicator,
                     MPI_INFO_NULL, &requests[2]);
    for (int round = 0; round < 6; ++round) {
      std::fill(cast.begin(), cast.end(), context.rank() == root ? round : -1);
      std::fill(sums.begin(), sums.end(), round);
      std::fill(mine.begin(), mine.end(), context.rank() + round);
      MPI_Startall(3, requests);
      if (round == 1 || round == 3) {
        // While they are under way, or are not.
        if (round == 3) MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        if (apart != MPI_DATATYPE_NULL) MPI_Type_free(&apart);
        if (round == 3) MPI_Op_free(&add);
        if (round == 3 && communicator != MPI_COMM_NULL) MPI_Comm_free(&communicator);
      }
      MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
      const std::size_t last = 4 * elements - 4;
      context.expect(cast[0] == round && cast[2] == round && cast[last + 2] == round, "Bcast, round %d", round);
      context.expect(cast[last + 1] == (context.rank() == root ? round : -1), "between, round %d", round);
      context.expect(sums.front() == context.size() * round && sums.back() == sums.front(), "Allreduce, round %d",
                     round);
      for (int rank = 0; rank < context.size(); ++rank)
        context.expect(all[static_cast<std::size_t>((rank + 1) * count - 1)] == rank + round, "Allgatherv, round %d",
                       round);
    }
    for (MPI_Request& each : requests) MPI_Request_free(&each);
  }
}

void persistent_calls_go_beside_others(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;  // hosts have mistakes of their own
  std::vector<Ready> calls = make_ready(6, MPI_COMM_WORLD, MPI_COMM_WORLD);
  const int sum_of_ranks = context.size() * (context.size() - 1) / 2;
  for (int round = 0; round < 20; ++round) {
    std::vector<int> begun(1000, context.rank() + round), whole(3000, context.rank());
    MPI_Request nonblocking = MPI_REQUEST_NULL;
    for (Ready& call : calls) call.fill(round);
    const bool first_half_first = round % 2 == context.rank() % 2;
    for (std::size_t i = 0; i < 3; ++i) MPI_Start(&calls[first_half_first ? i : 3 + i].request);
    MPI_Iallreduce(MPI_IN_PLACE, begun.data(), 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &nonblocking);
    MPI_Allreduce(MPI_IN_PLACE, whole.data(), 3000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < 3; ++i) MPI_Start(&calls[first_half_first ? 3 + i : i].request);
    MPI_Wait(&nonblocking, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (Ready& call : calls) MPI_Wait(&call.request, MPI_STATUS_IGNORE);
    context.expect(begun.back() == sum_of_ranks + context.size() * round && whole.back() == sum_of_ranks, "the others");
    for (const Ready& call : calls) context.expect(call.is_right(), "round %d: call %d", round, call.number);
  }
  free_all(calls);
}

void persistent_calls_go_on_while_ranks_wait_elsewhere(Context& context) {
  if (context.size() < 2) return;
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  const bool first = context.rank() == 0;
  std::vector<Ready> calls;
  for (const std::size_t count : {std::size_t{1}, std::size_t{3000}, std::size_t{400'000}})
    for (int number = 0; number < 3; ++number) calls.emplace_back(MPI_COMM_WORLD, number, count);
  int round = 0;
  for (const Elsewhere& place : places_to_wait_in()) {
    ++round;
    for (Ready& call : calls) {
      call.fill(round);
      MPI_Start(&call.request);
    }
    if (first) place.wait(context, first, other);
    for (Ready& call : calls) MPI_Wait(&call.request, MPI_STATUS_IGNORE);
    if (!first) place.wait(context, first, other);
    for (const Ready& call : calls)
      context.expect(call.is_right(), "call %d of %zu ints, beside %s", call.number, call.values.size(), place.name);
  }
  free_all(calls);
  MPI_Comm_free(&other);
}

void too_little_room_is_told_at_each_start(Context& context) {
  // What the hosts say of this, and when, is theirs.
  if (!tutti_is_there() || context.size() < 2) return;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  const auto ranks = static_cast<std::size_t>(context.size());
  const std::vector<int> sent(10 * ranks, 7), counts(ranks, 10);
  std::vector<int> places(ranks), room(10, -1), sums(1, 1);
  for (std::size_t i = 0; i < ranks; ++i) places[i] = static_cast<int>(10 * i);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  inits.Scatterv(sent.data(), counts.data(), places.data(), MPI_INT, room.data(), context.rank() == 0 ? 10 : 5, MPI_INT,
                 0, communicator, MPI_INFO_NULL, &requests[0]);
  inits.Allreduce(MPI_IN_PLACE, sums.data(), 1, MPI_INT, MPI_SUM, communicator, MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 8; ++round) {
    sums[0] = 1;
    std::fill(room.begin(), room.end(), -1);
    MPI_Status statuses[2];
    for (MPI_Status& status : statuses) status.MPI_ERROR = MPI_SUCCESS;
    MPI_Startall(2, requests);
    int code = MPI_SUCCESS, error_class = MPI_SUCCESS, index = 0, flag = 0;
    switch (round % 4) {
      case 0:
        code = MPI_Waitall(2, requests, statuses);
        if (context.rank() > 0) context.expect(code == MPI_ERR_IN_STATUS, "Waitall returns %d", code);
        context.expect(statuses[1].MPI_ERROR == MPI_SUCCESS, "the status of the other");
        code = statuses[0].MPI_ERROR;
        break;
      case 1:
        code = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
      case 2:
        while (!flag) code = MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        break;
      default:
        code = MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
    }
    context.expect(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS, "the other call");
    context.expect(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS, "once told it is over");
    MPI_Error_class(code, &error_class);
    context.expect(error_class == (context.rank() == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE), "round %d: the error is %d",
                   round, code);
    context.expect(room[4] == 7 && room[9] == (context.rank() == 0 ? 7 : -1), "what there is room for, and no more");
    context.expect(sums[0] == context.size(), "the other call");
  }
  for (MPI_Request& each : requests) MPI_Request_free(&each);
  MPI_Comm_free(&communicator);
}

void persistent_calls_cannot_be_cancelled(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN);
  Ready call(communicator, 0, 100);
  for (int round = 0; round < 3; ++round) {
    call.fill(round);
    MPI_Start(&call.request);
    context.expect(MPI_Cancel(&call.request) != MPI_SUCCESS, "MPI_Cancel");
    MPI_Wait(&call.request, MPI_STATUS_IGNORE);
    context.expect(call.is_right(), "round %d", round);
  }
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
  MPI_Request_free(&call.request);
  MPI_Comm_free(&communicator);
}

void persistent_requests_are_freed_at_any_time(Context& context) {
  // Never started.
  for (int i = 0; i < 20; ++i) {
    Ready call(MPI_COMM_WORLD, i, 100);
    MPI_Request_free(&call.request);
    context.expect(call.request == MPI_REQUEST_NULL, "the handle is null");
  }
  // Under way, which MPI forbids; some hosts end the program, Open MPI refuses it.
  if (!tutti_is_there() || context.size() < 2) return;  // hosts have mistakes of their own
#ifdef OPEN_MPI
  return;
#endif
  for (const std::size_t count : {std::size_t{1}, std::size_t{300'000}}) {
    Ready call(MPI_COMM_WORLD, 0, count);
    call.fill(1);
    MPI_Start(&call.request);
    MPI_Request_free(&call.request);
    context.expect(call.request == MPI_REQUEST_NULL, "the handle is null");
    MPI_Request nothing = MPI_REQUEST_NULL;
    // Not only its end, which need not come last: the buffer is gone after that.
    for (int flag = 0; !call.is_right();) MPI_Test(&nothing, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Ready last(MPI_COMM_WORLD, 2, 1);
  MPI_Start(&last.request);
  MPI_Request_free(&last.request);
}

void a_thousand_persistent_requests_leave_nothing_behind(Context& context) {
  const int rounds = context.crowded() ? 3 : 30;
  std::size_t before = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Ready> calls = make_ready(context.crowded() ? 10 : 40, MPI_COMM_WORLD, MPI_COMM_WORLD, 1000);
    for (Ready& call : calls) {
      call.fill(round);
      MPI_Start(&call.request);
    }
    for (Ready& call : calls) {
      MPI_Wait(&call.request, MPI_STATUS_IGNORE);
      context.expect(call.is_right(), "call %d", call.number);
    }
    free_all(calls);
    MPI_Barrier(MPI_COMM_WORLD);
    if (round == rounds / 3) before = resident_bytes();
  }
  const std::size_t now = resident_bytes();
  // What hosts leave of theirs is their own.
  if (tutti_is_there()) context.expect(now < before + (std::size_t{2} << 20), "%zu KiB more", (now - before) / 1024);
}

}  // namespace tutti::tests
