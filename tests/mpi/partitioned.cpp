// Partitioned messages (MPI 4.1, chapter 4): each rank sends to the next one and receives from the one before.
//
// Only with Tutti, since hosts fail some of these themselves: MPICH 5.0 and Intel MPI 2021.18 return an error from
// MPI_Testall, do not come to an end where a partition is waited for before the next one is marked, and lose the status in
// MPI_Request_get_status; Open MPI 5.0 gives wrong data where several messages have types and counts of their own on each
// side; MPICH 5.0 ends with a fault in MPI_Psend_init to MPI_PROC_NULL; Open MPI does not look at arguments, and MPICH allows
// for no message without partitions.
#include "partitioned.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>

#include "block_buffers.h"
#include "completing.h"
#include "memory_calls.h"

namespace tutti::tests {

namespace {

bool is_complete(MPI_Request request) {
  int flag = 0;
  MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  return flag != 0;
}

/// Marks all partitions, in any order and way, by so many threads.
void mark_all(MPI_Request request, int partitions, int threads, std::mt19937_64& random) {
  std::vector<int> order(static_cast<std::size_t>(partitions));
  std::iota(order.begin(), order.end(), 0);
  const auto way = random() % 4;
  if (way == 0 && partitions > 0) {
    const int middle = partitions / 2;
    if (middle < partitions) MPI_Pready_range(middle, partitions - 1, request);
    if (middle > 0) MPI_Pready_range(0, middle - 1, request);
    return;
  }
  std::shuffle(order.begin(), order.end(), random);
  if (way == 1) {
    MPI_Pready_list(partitions, order.data(), request);
    return;
  }
  const auto mark = [&](int first) {
    for (int i = first; i < partitions; i += threads) MPI_Pready(order[static_cast<std::size_t>(i)], request);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(mark, i);
  mark(0);
  for (auto& other : others) other.join();
}

/// Several messages to the next rank at once, some of one envelope; started again and again.
void any_messages(Context& context, MPI_Comm communicator, std::uint64_t seed, int threads) {
  std::mt19937_64 alike(seed);
  std::mt19937_64 random(seed * 97 + static_cast<std::uint64_t>(context.rank()));
  const auto below = [](std::mt19937_64& from, std::uint64_t end) { return static_cast<int>(from() % end); };
  const std::size_t messages = 1 + alike() % 5;
  const int starts = 1 + below(alike, 4);
  std::vector<std::unique_ptr<PartitionedSide>> sent, received;
  std::vector<MPI_Request> sends(messages), receives(messages);
  for (std::size_t i = 0; i < messages; ++i) {
    const int senders = 1 + below(alike, 20), receivers = 1 + below(alike, 20);
    const int most = below(alike, 6) == 0 ? 2000 : 40;
    const int ints = 2 * std::lcm(senders, receivers) * below(alike, static_cast<std::uint64_t>(most));
    const int tag = below(alike, 2);
    // Of memory that is lent there is one buffer.
    const Place place = i == 0 ? static_cast<Place>(below(random, kPlaces - 1)) : Place::kHeap;
    const auto make_sender = [&] {
      sent.push_back(std::make_unique<PartitionedSide>(context, place, random() % 4 == 0, senders, ints));
      sent.back()->make(true, next_of(context), tag, communicator, sends[i]);
    };
    const auto make_receiver = [&] {
      const Place other = place == Place::kHeap ? Place::kMmap : Place::kHeapSmall;
      received.push_back(std::make_unique<PartitionedSide>(context, other, random() % 4 == 0, receivers, ints));
      received.back()->make(false, before(context), tag, communicator, receives[i]);
    };
    if (random() % 2) {
      make_sender();
      make_receiver();
    } else {
      make_receiver();
      make_sender();
    }
    context.expect(!tutti_is_there() || context.size() == 1 || last_was_ours(), "the host carries it out");
  }
  for (int start = 0; start < starts; ++start) {
    const auto salt = [&](int rank, std::size_t message) {
      return static_cast<int>(seed % 1000) + rank * 11 + start * 1009 + static_cast<int>(message) * 101;
    };
    for (std::size_t i = 0; i < messages; ++i) sent[i]->fill(salt(context.rank(), i));
    if (random() % 2)
      MPI_Startall(static_cast<int>(messages), receives.data());
    else
      for (auto& each : receives) MPI_Start(&each);
    std::vector<std::size_t> order(messages);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      MPI_Start(&sends[i]);
      mark_all(sends[i], sent[i]->partitions(), threads, random);
    }
    const std::size_t looked_at = random() % messages;
    PartitionedSide& looked = *received[looked_at];
    const int partition = below(random, static_cast<std::uint64_t>(looked.partitions()));
    for (int flag = 0; random() % 4 != 0 && !flag;) {
      MPI_Parrived(receives[looked_at], partition, &flag);
      const int ints = looked.ints() / looked.partitions();
      if (flag)
        context.expect(looked.wrong(salt(before(context), looked_at), partition * ints, ints) == 0,
                       "partition %d has arrived and is not there (seed %llu)", partition,
                       static_cast<unsigned long long>(seed));
    }
    // Among them a collective and a message of the host's.
    int one = 1, sum = 0, got = -1;
    std::vector<MPI_Request> all(3);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, communicator, &all[0]);
    MPI_Irecv(&got, 1, MPI_INT, before(context), 77, communicator, &all[1]);
    MPI_Isend(&start, 1, MPI_INT, next_of(context), 77, communicator, &all[2]);
    all.insert(all.end(), sends.begin(), sends.end());
    all.insert(all.end(), receives.begin(), receives.end());
    std::shuffle(all.begin(), all.end(), random);
    const Way way = kWays[random() % std::size(kWays)];
    complete(all, way, random);
    context.expect(sum == context.size() && got == start, "other requests are wrong (seed %llu)",
                   static_cast<unsigned long long>(seed));
    for (std::size_t i = 0; i < messages; ++i) {
      const int wrong = received[i]->wrong(salt(before(context), i), 0, received[i]->ints());
      context.expect(wrong == 0, "%d of %d ints of message %zu are wrong in start %d (way %d, seed %llu)", wrong,
                     received[i]->ints(), i, start, static_cast<int>(way), static_cast<unsigned long long>(seed));
    }
  }
  for (auto& each : sends) MPI_Request_free(&each);
  for (auto& each : receives) MPI_Request_free(&each);
}

}  // namespace

void partitions_arrive_whatever_the_counts(Context& context) {
  for (std::uint64_t seed = 0; seed < (context.crowded() ? 30 : 150); ++seed)
    any_messages(context, MPI_COMM_WORLD, seed, 1);
}

void threads_mark_partitions(Context& context) {
  for (std::uint64_t seed = 1000; seed < (context.crowded() ? 1010 : 1060); ++seed)
    any_messages(context, MPI_COMM_WORLD, seed, 4);
}

void partitioned_messages_of_any(Context& context) {
  const char* const seconds = std::getenv("TUTTI_TEST_SECONDS");
  const char* const first = std::getenv("TUTTI_TEST_SEED");
  const double end = MPI_Wtime() + (seconds ? std::atof(seconds) : 1);
  auto seed = static_cast<std::uint64_t>(first ? std::atoll(first) : static_cast<long long>(MPI_Wtime() * 1e3));
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int goes_on = 1; goes_on; ++seed) {
    any_messages(context, MPI_COMM_WORLD, seed, 1 + static_cast<int>(seed % 3));
    goes_on = MPI_Wtime() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

void messages_on_communicators_of_every_origin(Context& context) {
  MPI_Comm made[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, context.rank(), &made[1]);
  for (MPI_Comm& communicator : made) any_messages(context, communicator, 5000, 1);
  // The same envelopes, at the same time.
  std::vector<MPI_Request> all;
  std::vector<std::unique_ptr<PartitionedSide>> sides;
  for (int i = 0; i < 3; ++i) {
    const MPI_Comm communicator = i == 2 ? MPI_COMM_WORLD : made[i];
    for (const bool sends : {true, false}) {
      sides.push_back(std::make_unique<PartitionedSide>(context, Place::kHeap, false, 4, 400));
      if (sends) sides.back()->fill(i);
      all.emplace_back();
      sides.back()->make(sends, sends ? next_of(context) : before(context), 1, communicator, all.back());
    }
  }
  // The requests outlive the communicators.
  for (MPI_Comm& communicator : made) MPI_Comm_free(&communicator);
  std::reverse(all.begin(), all.end());
  MPI_Startall(static_cast<int>(all.size()), all.data());
  std::reverse(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); i += 2) MPI_Pready_range(0, 3, all[i]);
  MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < all.size(); ++i)
    context.expect(sides[i]->wrong(static_cast<int>(i / 2), 0, 400) == 0, "message %zu is wrong", i / 2);
  for (MPI_Request& each : all) MPI_Request_free(&each);
}

void one_message_is_started_ten_thousand_times(Context& context) {
  PartitionedSide sent(context, Place::kHeap, false, 6, 12000), received(context, Place::kHeap, false, 4, 12000);
  MPI_Request all[2];
  sent.make(true, next_of(context), 0, MPI_COMM_WORLD, all[0]);
  received.make(false, before(context), 0, MPI_COMM_WORLD, all[1]);
  int wrong = 0;
  const int starts = context.crowded() ? 500 : 10'000;
  for (int start = 0; start < starts; ++start) {
    for (int i = 0; i < 12000; i += 1999) sent.at(i) = start + i;
    MPI_Startall(2, all);
    for (int i = 0; i < 6; ++i) MPI_Pready(i, all[0]);
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 12000; i += 1999) wrong += received.at(i) != start + i;
  }
  context.expect(wrong == 0, "%d wrong ints", wrong);
  for (MPI_Request& each : all) MPI_Request_free(&each);
}

void statuses_are_those_of_the_message(Context& context) {
  PartitionedSide sent(context, Place::kHeap, false, 2, 100), received(context, Place::kHeap, true, 5, 100);
  MPI_Request all[2];
  sent.make(true, next_of(context), 9, MPI_COMM_WORLD, all[0]);
  received.make(false, before(context), 9, MPI_COMM_WORLD, all[1]);
  int flag = 0;
  MPI_Parrived(all[1], 0, &flag);
  context.expect(flag == 1, "an inactive request has nothing to come");
  MPI_Status status;
  MPI_Wait(&all[1], &status);
  int ints = -1;
  MPI_Get_count(&status, MPI_INT, &ints);
  context.expect(ints == 0, "an inactive request has a status of %d ints", ints);
  for (int way = 0; way < 4; ++way) {
    MPI_Startall(2, all);
    MPI_Pready_range(0, 1, all[0]);
    MPI_Status statuses[2];
    int index = 0;
    if (way == 0) {
      MPI_Waitall(2, all, statuses);
    } else if (way == 1) {
      MPI_Waitany(1, &all[1], &index, &statuses[1]);
    } else if (way == 2) {
      for (flag = 0; !flag;) MPI_Test(&all[1], &flag, &statuses[1]);
    } else {
      while (!is_complete(all[1])) continue;
      MPI_Request_get_status(all[1], &flag, &statuses[1]);
      MPI_Wait(&all[1], MPI_STATUS_IGNORE);
    }
    if (way) MPI_Wait(&all[0], MPI_STATUS_IGNORE);
    MPI_Get_count(&statuses[1], MPI_INT, &ints);
    context.expect(statuses[1].MPI_SOURCE == before(context) && statuses[1].MPI_TAG == 9 && ints == 100,
                   "way %d: source %d, tag %d, %d ints", way, statuses[1].MPI_SOURCE, statuses[1].MPI_TAG, ints);
  }
  for (MPI_Request& each : all) MPI_Request_free(&each);
}

void a_receiver_gets_partitions_before_all_are_marked(Context& context) {
  PartitionedSide sent(context, Place::kHeap, false, 4, 4000), received(context, Place::kHeap, false, 4, 4000);
  MPI_Request all[2];
  sent.make(true, next_of(context), 0, MPI_COMM_WORLD, all[0]);
  received.make(false, before(context), 0, MPI_COMM_WORLD, all[1]);
  for (int start = 0; start < 20; ++start) {
    sent.fill(start);
    MPI_Startall(2, all);
    for (int i = 3; i >= 0; --i) {
      // Nobody marks the next one before this one has arrived everywhere.
      MPI_Pready(i, all[0]);
      for (int flag = 0; !flag;) MPI_Parrived(all[1], i, &flag);
      context.expect(received.wrong(start, i * 1000, 1000) == 0, "partition %d is not there", i);
      MPI_Barrier(MPI_COMM_WORLD);
      int flag = 0;
      if (i > 0) MPI_Parrived(all[1], i - 1, &flag);
      MPI_Barrier(MPI_COMM_WORLD);
      context.expect(!flag, "partition %d has arrived before it was marked", i - 1);
    }
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
  }
  for (MPI_Request& each : all) MPI_Request_free(&each);
}

void a_receiver_that_asks_lets_other_messages_through(Context& context) {
  // The sender marks its partitions when it has got rid of a message that is too long to go by itself.
  constexpr int ints = 1 << 20;
  const bool sends = context.rank() % 2 == 1;
  const int other = context.rank() + (sends ? -1 : 1);
  if (other >= context.size()) return;
  std::vector<int> message(ints, sends ? 5 : 0);
  PartitionedSide side(context, Place::kHeap, false, 4, 4000);
  if (sends) side.fill(0);
  MPI_Request partitioned, one = MPI_REQUEST_NULL;
  if (!sends) MPI_Irecv(message.data(), ints, MPI_INT, other, 7, MPI_COMM_WORLD, &one);
  side.make(sends, other, 0, MPI_COMM_WORLD, partitioned);
  MPI_Start(&partitioned);
  if (sends) {
    MPI_Send(message.data(), ints, MPI_INT, other, 7, MPI_COMM_WORLD);
    MPI_Pready_range(0, 3, partitioned);
  } else {
    for (int flag = 0; !flag;) MPI_Parrived(partitioned, 3, &flag);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    context.expect(message[0] == 5 && message[ints - 1] == 5, "the message is wrong");
  }
  MPI_Wait(&partitioned, MPI_STATUS_IGNORE);
  if (!sends) context.expect(side.wrong(0, 0, 4000) == 0, "the partitions are wrong");
  MPI_Request_free(&partitioned);
}

void ranks_that_wait_elsewhere_get_partitions(Context& context) {
  PartitionedSide sent(context, Place::kMmap, false, 8, 80'000), received(context, Place::kMmap, false, 8, 80'000);
  MPI_Request all[2];
  sent.make(true, next_of(context), 0, MPI_COMM_WORLD, all[0]);
  received.make(false, before(context), 0, MPI_COMM_WORLD, all[1]);
  for (int start = 0; start < 10; ++start) {
    sent.fill(start);
    MPI_Startall(2, all);
    MPI_Pready_range(0, 7, all[0]);
    // A sender is told that its message has gone by a rank that waits for its word in the host.
    int word = 0;
    if (context.rank() == 0) {
      MPI_Wait(&all[0], MPI_STATUS_IGNORE);
      MPI_Send(&word, 1, MPI_INT, next_of(context), 5, MPI_COMM_WORLD);
      MPI_Recv(&word, 1, MPI_INT, before(context), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&word, 1, MPI_INT, before(context), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&all[0], MPI_STATUS_IGNORE);
      MPI_Send(&word, 1, MPI_INT, next_of(context), 5, MPI_COMM_WORLD);
    }
    MPI_Wait(&all[1], MPI_STATUS_IGNORE);
    context.expect(received.wrong(start, 0, 80'000) == 0, "start %d is wrong", start);
  }
  for (MPI_Request& each : all) MPI_Request_free(&each);
}

void two_thousand_messages_leave_nothing_behind(Context& context) {
  const auto batch = [&](int count) {
    std::vector<MPI_Request> all(static_cast<std::size_t>(2 * count));
    std::vector<int> sent(8, 5), received(8 * static_cast<std::size_t>(count), 0);
    for (std::size_t i = 0; i < all.size(); i += 2) {
      MPI_Psend_init(sent.data(), 8, 1, MPI_INT, next_of(context), 2, MPI_COMM_WORLD, MPI_INFO_NULL, &all[i]);
      MPI_Precv_init(&received[4 * i], 2, 4, MPI_INT, before(context), 2, MPI_COMM_WORLD, MPI_INFO_NULL, &all[i + 1]);
    }
    // Of some that were made, nothing is ever started.
    for (std::size_t i = 0; i < all.size(); i += 4) {
      MPI_Startall(2, &all[i]);
      MPI_Pready_range(0, 7, all[i]);
    }
    MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
    int wrong = 0;
    for (std::size_t i = 0; i < received.size(); ++i) wrong += received[i] != ((i / 8) % 2 == 0 ? 5 : 0);
    context.expect(wrong == 0, "%d wrong ints", wrong);
    for (MPI_Request& each : all) MPI_Request_free(&each);
    MPI_Barrier(MPI_COMM_WORLD);
  };
  for (int i = 0; i < 4; ++i) batch(200);
  const std::size_t before_them = resident_bytes();
  for (int i = 0; i < 10; ++i) batch(200);
  const std::size_t after = resident_bytes();
  context.expect(!tutti_is_there() || after < before_them + (std::size_t{3} << 20), "%zu KiB are left",
                 (after - before_them) >> 10);
}

/// Of pairs with gaps; started again, and made anew.
void packed_partitions_keep_their_memory(Context& context) {
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  MPI_Request both[2];
  PartitionedSide sent(context, Place::kMmap, true, 8, 1 << 18), received(context, Place::kMmap, true, 8, 1 << 18);
  MPI_Datatype apart = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
  MPI_Type_commit(&apart);
  const auto make = [&] {
    constexpr MPI_Count count = (1 << 18) / 8 / 2;
    MPI_Psend_init(&sent.at(0), 8, count, apart, next_of(context), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
    MPI_Precv_init(&received.at(0), 8, count, apart, before(context), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
  };
  const auto start = [&] {
    MPI_Startall(2, both);
    MPI_Pready_range(0, 7, both[0]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  };
  const auto free = [&] {
    for (MPI_Request& each : both) MPI_Request_free(&each);
  };
  const auto check = [&](const MemoryUse& use, const char* what) {
    context.expect(!tutti_is_there() || (use.faults < 100 && use.calls < 10),
                   "%s: %ld page faults and %ld calls of the system in ten", what, use.faults, use.calls);
  };
  make();
  check(least_use_of_ten(start), "started again");
  free();
  check(least_use_of_ten([&] { make(), start(), free(); }), "made anew");
  MPI_Type_free(&apart);
}

/// Whether a host takes a message that is shorter than the receive, MPI_Precv_init does not say; ours does.
void a_message_may_end_within_an_element(Context& context) {
  constexpr int room = 12;
  MPI_Datatype apart = MPI_DATATYPE_NULL;
  MPI_Type_vector(room / 2, 1, 2, MPI_INT, &apart);
  MPI_Type_commit(&apart);
  for (int sent = 1; sent <= room; ++sent) {
    std::vector<int> source(room), target(2 * room, -1);
    std::iota(source.begin(), source.end(), 100 * before(context));
    std::vector<int> own(room);
    std::iota(own.begin(), own.end(), 100 * context.rank());
    MPI_Request both[2];
    MPI_Psend_init(own.data(), 1, sent, MPI_INT, next_of(context), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
    const bool ours = last_was_ours();
    MPI_Precv_init(target.data(), 1, 2, apart, before(context), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
    if (ours) {
      MPI_Status statuses[2];
      MPI_Startall(2, both);
      MPI_Pready(0, both[0]);
      MPI_Waitall(2, both, statuses);
      int ints = -1;
      MPI_Get_elements(&statuses[1], apart, &ints);
      // The second element begins where the last int of the first one ends.
      std::vector<int> expected(2 * room, -1);
      for (int i = 0; i < sent; ++i)
        expected[static_cast<std::size_t>(2 * i - i / (room / 2))] = source[static_cast<std::size_t>(i)];
      context.expect(ints == sent && target == expected, "%d ints: the status says %d, or they are not all there", sent,
                     ints);
    }
    for (MPI_Request& each : both) MPI_Request_free(&each);
  }
  MPI_Type_free(&apart);
}

void a_message_is_over_when_all_has_arrived(Context& context) {
  const bool sends = context.rank() % 2 == 1;
  const int other = context.rank() + (sends ? -1 : 1);
  constexpr int partitions = 64, ints = 1024;
  PartitionedSide side(context, Place::kHeap, false, partitions, ints);
  MPI_Request request = MPI_REQUEST_NULL;
  if (other < context.size()) side.make(sends, other, 0, MPI_COMM_WORLD, request);
  for (int start = 0; start < 20; ++start) {
    if (sends) side.fill(start);
    if (other < context.size()) MPI_Start(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (other >= context.size()) continue;
    if (sends) {
      for (int i = 0; i < partitions; ++i) MPI_Pready(i, request);
      usleep(5'000);  // it does not say that it has marked all
    } else {
      for (int i = 0; i < partitions; ++i)
        for (int flag = 0; !flag;) MPI_Parrived(request, i, &flag);
      int flag = 0;
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      context.expect(flag == 1, "all has arrived and it is not over");
      context.expect(side.wrong(start, 0, ints) == 0, "start %d is wrong", start);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (other < context.size()) MPI_Request_free(&request);
}

long page_faults() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

void messages_made_anew_each_time_take_no_memory(Context& context) {
  static int sent[4000], received[4000];
  long before_them = 0;
  constexpr int warm = 200, messages = 600;
  for (int message = 0; message < warm + messages; ++message) {
    MPI_Request all[2];
    MPI_Psend_init(sent, 4, 1000, MPI_INT, next_of(context), message % 7, MPI_COMM_WORLD, MPI_INFO_NULL, &all[0]);
    MPI_Precv_init(received, 4, 1000, MPI_INT, before(context), message % 7, MPI_COMM_WORLD, MPI_INFO_NULL, &all[1]);
    sent[message] = message;
    MPI_Startall(2, all);
    MPI_Pready_range(0, 3, all[0]);
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    context.expect(received[message] == message, "message %d is wrong", message);
    for (MPI_Request& each : all) MPI_Request_free(&each);
    if (message == warm) before_them = page_faults();
  }
  const long faults = page_faults() - before_them;
  if (tutti_is_there()) context.expect(faults < messages / 4, "%ld page faults in %d messages", faults, messages);
}

void a_message_to_oneself_arrives(Context& context) {
  PartitionedSide sent(context, Place::kHeap, false, 3, 600), received(context, Place::kHeap, false, 2, 600);
  MPI_Request all[2];
  sent.make(true, context.rank(), 4, MPI_COMM_WORLD, all[0]);
  received.make(false, context.rank(), 4, MPI_COMM_WORLD, all[1]);
  for (int start = 0; start < 5; ++start) {
    sent.fill(start);
    MPI_Startall(2, all);
    for (int i = 0; i < 3; ++i) MPI_Pready(i, all[0]);
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    context.expect(received.wrong(start, 0, 600) == 0, "start %d is wrong", start);
  }
  for (MPI_Request& each : all) MPI_Request_free(&each);
}

}  // namespace tutti::tests

using namespace tutti::tests;

#define TEST(name) \
  { #name, &name }

int main(int argc, char** argv) {
  char stack[2 * Memory::kLentBytes];
  std::memset(stack, 0, sizeof stack);
  lend_stack(stack, sizeof stack);
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int status = 0;
  {
    Context context(nullptr, 0);
    std::vector<Test> tests{TEST(a_start_without_memory_is_an_error_and_may_be_made_again),
                            TEST(partitions_arrive_whatever_the_counts),
                            TEST(messages_on_communicators_of_every_origin),
                            TEST(one_message_is_started_ten_thousand_times),
                            TEST(statuses_are_those_of_the_message),
                            TEST(a_receiver_gets_partitions_before_all_are_marked),
                            TEST(a_receiver_that_asks_lets_other_messages_through),
                            TEST(ranks_that_wait_elsewhere_get_partitions),
                            TEST(two_thousand_messages_leave_nothing_behind),
                            TEST(packed_partitions_keep_their_memory),
                            TEST(a_message_to_nobody_is_over_at_once),
                            TEST(messages_without_partitions_have_nothing),
                            TEST(mistakes_are_refused_when_a_message_is_made),
                            TEST(a_message_may_end_within_an_element),
                            TEST(a_message_is_over_when_all_has_arrived),
                            TEST(messages_made_anew_each_time_take_no_memory),
                            TEST(a_message_to_oneself_arrives),
                            TEST(mistakes_are_told)};
    if (provided == MPI_THREAD_MULTIPLE) {
      tests.push_back(TEST(threads_mark_partitions));
      tests.push_back(TEST(partitioned_messages_of_any));
    }
    status = run_tests(context, tests, argc, argv);
  }
  MPI_Finalize();
  return status;
}
