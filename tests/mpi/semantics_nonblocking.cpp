// Nonblocking collectives: any number at once, completed in every way, while ranks wait in something else or compute.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "completing.h"
#include "elsewhere.h"
#include "semantics.h"

namespace tutti::tests {

namespace {

/// One nonblocking Allreduce, Bcast or Barrier, with a result that is known.
struct Started {
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<int> values = {};
  int expected = 0;

  bool is_right() const {
    return std::all_of(values.begin(), values.end(), [this](int value) { return value == expected; });
  }
};

/// number: decides what it is; the same on all ranks.
void start(Started& call, MPI_Comm communicator, int number, std::size_t count) {
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const int elements = static_cast<int>(count);
  switch (number % 3) {
    case 0:
      call.values.assign(count, rank + number);
      call.expected = size * (size - 1) / 2 + size * number;
      MPI_Iallreduce(MPI_IN_PLACE, call.values.data(), elements, MPI_INT, MPI_SUM, communicator, &call.request);
      break;
    case 1:
      call.expected = number;
      call.values.assign(count, rank == number % size ? number : -1);
      MPI_Ibcast(call.values.data(), elements, MPI_INT, number % size, communicator, &call.request);
      break;
    default:
      MPI_Ibarrier(communicator, &call.request);
  }
}

void add_by_program(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

}  // namespace

void requests_are_completed_in_every_way(Context& context) {
  std::mt19937_64 random(static_cast<unsigned>(context.rank()) + 5);
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  const int right = (context.rank() + 1) % context.size();
  const int left = (context.rank() + context.size() - 1) % context.size();
  for (const Way way : kWays) {
    std::vector<Started> calls(context.crowded() ? 6 : 24);
    for (std::size_t i = 0; i < calls.size(); ++i)
      start(calls[i], i % 4 == 3 ? other : MPI_COMM_WORLD, static_cast<int>(i), i % 5 == 4 ? 40'000 : 1 + 37 * i);
    // Among those of the host: messages, nothing, and a persistent one that has not been started.
    std::vector<int> sent(5000, context.rank()), got(5000, -1);
    std::vector<MPI_Request> all(4, MPI_REQUEST_NULL);
    MPI_Irecv(got.data(), 5000, MPI_INT, left, 41, MPI_COMM_WORLD, &all[0]);
    MPI_Isend(sent.data(), 5000, MPI_INT, right, 41, MPI_COMM_WORLD, &all[1]);
    MPI_Recv_init(sent.data(), 1, MPI_INT, left, 42, MPI_COMM_WORLD, &all[2]);
    MPI_Request inactive = all[2];
    for (const Started& call : calls) all.push_back(call.request);
    std::shuffle(all.begin() + 3, all.end(), random);
    complete(all, way, random);
    MPI_Request_free(&inactive);
    const int number = static_cast<int>(way);
    context.expect(got.front() == left && got.back() == left, "way %d: the message", number);
    for (std::size_t i = 0; i < calls.size(); ++i) context.expect(calls[i].is_right(), "way %d: call %zu", number, i);
    for (std::size_t i = 3; i < all.size(); ++i)
      context.expect(all[i] == MPI_REQUEST_NULL, "way %d: request %zu is still there", number, i);
  }
  MPI_Comm_free(&other);
}

void a_thousand_calls_are_under_way(Context& context) {
  std::mt19937_64 random(static_cast<unsigned>(context.rank()) + 17);
  std::vector<MPI_Comm> communicators(3, MPI_COMM_WORLD);
  for (std::size_t i = 1; i < communicators.size(); ++i) MPI_Comm_dup(MPI_COMM_WORLD, &communicators[i]);
  for (const Way way : {Way::wait, Way::waitall, Way::waitsome}) {
    std::vector<Started> calls(context.crowded() ? 100 : 1000);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      start(calls[i], communicators[i % 3], static_cast<int>(i), 1 + i % 700);
      if (i % 100 == 50) MPI_Barrier(communicators[i % 2]);
    }
    std::vector<MPI_Request> all;
    for (const Started& call : calls) all.push_back(call.request);
    complete(all, way, random);
    for (std::size_t i = 0; i < calls.size(); ++i) context.expect(calls[i].is_right(), "call %zu", i);
  }
  for (std::size_t i = 1; i < communicators.size(); ++i) MPI_Comm_free(&communicators[i]);
}

void ranks_that_wait_elsewhere_let_others_go_on(Context& context) {
  if (context.size() < 2) return;
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  const bool first = context.rank() == 0;
  for (const Elsewhere& place : places_to_wait_in())
    for (const std::size_t count : {std::size_t{1}, std::size_t{3000}, std::size_t{400'000}}) {
      if (context.crowded() && count == 3000) continue;
      std::vector<Started> calls(6);
      for (std::size_t i = 0; i < calls.size(); ++i) start(calls[i], MPI_COMM_WORLD, static_cast<int>(i), count);
      if (first) place.wait(context, first, other);
      for (Started& call : calls) MPI_Wait(&call.request, MPI_STATUS_IGNORE);
      if (!first) place.wait(context, first, other);
      for (std::size_t i = 0; i < calls.size(); ++i)
        context.expect(calls[i].is_right(), "call %zu of %zu ints, beside %s", i, count, place.name);
    }
  MPI_Comm_free(&other);
}

void operators_of_the_program_go_on_while_ranks_wait(Context& context) {
  if (context.size() < 2) return;
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Op add = MPI_OP_NULL;
  MPI_Op_create(&add_by_program, 1, &add);
  const bool first = context.rank() == 0;
  for (const Elsewhere& place : places_to_wait_in())
    for (const int count : {1, 100'000}) {
      std::vector<int> values(static_cast<std::size_t>(count), context.rank() + 1);
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Iallreduce(MPI_IN_PLACE, values.data(), count, MPI_INT, add, MPI_COMM_WORLD, &request);
      if (first) place.wait(context, first, other);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (!first) place.wait(context, first, other);
      const int sum = context.size() * (context.size() + 1) / 2;
      context.expect(values.front() == sum && values.back() == sum, "%d ints beside %s", count, place.name);
    }
  MPI_Op_free(&add);
  MPI_Comm_free(&other);
}

void what_calls_use_may_be_freed_before_their_end(Context& context) {
  for (int round = 0; round < 20; ++round) {
    const int count = round % 2 ? 20'000 : 10;
    const auto elements = static_cast<std::size_t>(count);
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    // Every second of the ints.
    MPI_Datatype apart = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, 1, 2, MPI_INT, &apart);
    MPI_Type_commit(&apart);
    MPI_Op add = MPI_OP_NULL;
    MPI_Op_create(&add_by_program, 1, &add);
    const int root = round % context.size();
    std::vector<int> cast(2 * elements, context.rank() == root ? round : -1), sums(elements, 1),
        mine(1, context.rank()), all(static_cast<std::size_t>(context.size()), -1);
    MPI_Request requests[4];
    MPI_Ibcast(cast.data(), 1, apart, root, communicator, &requests[0]);
    MPI_Iallreduce(MPI_IN_PLACE, sums.data(), count, MPI_INT, add, communicator, &requests[1]);
    MPI_Ibcast(cast.data() + 1, 1, apart, root, communicator, &requests[2]);
    MPI_Iallgather(mine.data(), 1, MPI_INT, all.data(), 1, MPI_INT, communicator, &requests[3]);
    MPI_Type_free(&apart);
    MPI_Op_free(&add);
    MPI_Comm_free(&communicator);
    context.expect(apart == MPI_DATATYPE_NULL && add == MPI_OP_NULL, "handles are null afterwards");
    if (round % 3 == context.rank() % 3) usleep(500);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    const auto last = 2 * elements - 2;
    context.expect(cast[0] == round && cast[last] == round, "Ibcast with a type that was freed");
    context.expect(cast[1] == (context.rank() == root ? round : cast[1]), "Ibcast of the others");
    context.expect(sums.front() == context.size() && sums.back() == context.size(), "Iallreduce, operator freed");
    for (int rank = 0; rank < context.size(); ++rank)
      context.expect(all[static_cast<std::size_t>(rank)] == rank, "Iallgather, communicator freed");
  }
}

void ranks_may_compute_between_start_and_wait(Context& context) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{500'000}}) {
    std::vector<Started> calls(3);
    for (std::size_t i = 0; i < calls.size(); ++i) start(calls[i], MPI_COMM_WORLD, static_cast<int>(i), count);
    if (context.rank() == context.size() - 1) usleep(1'000'000);
    for (Started& call : calls) MPI_Wait(&call.request, MPI_STATUS_IGNORE);
    for (const Started& call : calls) context.expect(call.is_right(), "a rank computes for a second");
  }
}

void calls_end_while_ranks_do_without_mpi(Context& context) {
  const char* progress = std::getenv("TUTTI_PROGRESS");
  if (!tutti_is_there() || context.size() < 2 || !progress || std::string(progress) != "thread") return;
  for (const int count : {1, 500, 250'000}) {
    const std::vector<int> given(static_cast<std::size_t>(count), context.rank());
    std::vector<int> sums(given.size(), -1);
    const int expected = context.size() * (context.size() - 1) / 2;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(given.data(), sums.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    // What arrives, arrives without this thread.
    const volatile int* const last = &sums.back();
    for (int looks = 0; *last != expected && looks < 20'000; ++looks) usleep(1000);
    context.expect(*last == expected, "nothing of %d numbers has come in 20 seconds", count);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const bool right = std::all_of(sums.begin(), sums.end(), [&](int sum) { return sum == expected; });
    context.expect(right, "Iallreduce of %d numbers", count);
  }
}

void too_little_room_is_told_at_the_end(Context& context) {
  // What the hosts say of this, and when, is theirs.
  if (!tutti_is_there() || context.size() < 2) return;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  const auto ranks = static_cast<std::size_t>(context.size());
  for (const bool many : {false, true}) {
    const std::vector<int> sent(10 * ranks, 7), counts(ranks, 10);
    std::vector<int> places(ranks), room(10, -1), sums(1, 1);
    for (std::size_t i = 0; i < ranks; ++i) places[i] = static_cast<int>(10 * i);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    for (MPI_Status& status : statuses) status.MPI_ERROR = MPI_SUCCESS;
    MPI_Iscatterv(sent.data(), counts.data(), places.data(), MPI_INT, room.data(), context.rank() == 0 ? 10 : 5,
                  MPI_INT, 0, communicator, &requests[0]);
    MPI_Iallreduce(MPI_IN_PLACE, sums.data(), 1, MPI_INT, MPI_SUM, communicator, &requests[1]);
    int code = MPI_SUCCESS, error_class = MPI_SUCCESS;
    if (many) {
      code = MPI_Waitall(2, requests, statuses);
      if (context.rank() > 0) context.expect(code == MPI_ERR_IN_STATUS, "Waitall returns %d", code);
      code = statuses[0].MPI_ERROR;
    } else {
      code = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      context.expect(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS, "the other call");
    }
    MPI_Error_class(code, &error_class);
    context.expect(error_class == (context.rank() == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE), "the error is %d", code);
    context.expect(room[4] == 7 && room[9] == (context.rank() == 0 ? 7 : -1), "what there is room for, and no more");
    context.expect(sums[0] == context.size(), "the other call");
  }
  MPI_Comm_free(&communicator);
}

void calls_whose_requests_are_freed_come_to_their_end(Context& context) {
  // MPI forbids it; some hosts end the program, Open MPI refuses it.
  if (!tutti_is_there()) return;
#ifdef OPEN_MPI
  return;
#endif
  std::vector<int> small(1, 1), large(300'000, 1);
  for (std::vector<int>* const values : {&small, &large}) {
    // Not only its end, which need not come last: the buffers are gone after that.
    const auto is_right = [&] {
      return std::all_of(values->begin(), values->end(), [&](int value) { return value == context.size(); });
    };
    MPI_Request request = MPI_REQUEST_NULL, nothing = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, values->data(), static_cast<int>(values->size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                   &request);
    MPI_Request_free(&request);
    context.expect(request == MPI_REQUEST_NULL, "the handle is null");
    for (int flag = 0; !is_right();) MPI_Test(&nothing, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request last = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &last);
  MPI_Request_free(&last);
}

void statuses_of_nonblocking_calls(Context& context) {
  Started call;
  for (int number = 0; number < 3; ++number) {
    start(call, MPI_COMM_WORLD, number, 100);
    MPI_Status status{};
    status.MPI_ERROR = 4711;
    MPI_Wait(&call.request, &status);
    int cancelled = 1;
    MPI_Test_cancelled(&status, &cancelled);
    context.expect(!cancelled, "cancelled");
    context.expect(status.MPI_ERROR == 4711 || status.MPI_ERROR == MPI_SUCCESS, "MPI_ERROR is %d", status.MPI_ERROR);
    context.expect(call.request == MPI_REQUEST_NULL && call.is_right(), "call %d", number);
  }
}

}  // namespace tutti::tests
