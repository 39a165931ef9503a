// Partitioned messages between ranks that are threads: each partition arrives, whoever copies it.
#include "partitioned/sides.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "base/sanitizer.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {

namespace {

using partitioned::Announcements;
using partitioned::Envelope;
using partitioned::Partitions;
using partitioned::Policy;
using partitioned::Receiver;
using partitioned::Sender;

/// What byte `at` of message `message` is in its `start`-th start.
std::byte content(std::size_t at, std::uint64_t message, std::uint64_t start) {
  return static_cast<std::byte>(at * 7 + message * 31 + start * 101 + at / 251);
}

/// One rank: its node, and what it knows of the other sides.
struct Rank {
  Rank(int self, Collectives& collectives)
      : number(self),
        node(collectives.communicator().node()),
        announcements(node, *node.arena->allocate(Announcements::area_bytes(node.size))) {
    collectives.barrier({});  // all have such an area
  }
  template <class Side>
  void finish(Side& side) {
    const NeverWaiting both_sides(node);
    while (!side.progress()) take_turn(node);
  }
  /// Goes on with what else has been started, too, as MPI_Wait does: all ranks may wait for what they send first.
  void finish(Sender& sender, Receiver& receiver) {
    const NeverWaiting both_sides(node);
    while (!sender.progress()) {
      receiver.progress();
      take_turn(node);
    }
  }

  int number;
  Node& node;
  Announcements announcements;
};

Envelope envelope(int source, int destination, int tag) {
  return {7, source, destination, tag, 0};
}

/// Marks so many partitions in any order, by so many threads.
void mark_all(Sender& sender, int count, std::size_t threads, std::mt19937_64& random) {
  if constexpr (simulated::on) threads = 1;
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  const auto mark = [&](std::size_t first) {
    for (std::size_t i = first; i < order.size(); i += threads) EXPECT_TRUE(sender.mark(order[i]));
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(mark, i);
  mark(0);
  for (auto& other : others) other.join();
}

/// A side that the other one counts.
template <class Side, class... Arguments>
std::unique_ptr<Side> make(Arguments&&... arguments) {
  auto made = std::make_unique<Side>(std::forward<Arguments>(arguments)...);
  made->introduce();
  return made;
}

/// Two counts of partitions of one message.
struct Counts {
  int sender, receiver;
  std::size_t bytes;  ///< of the message, a multiple of both
};
Counts any_counts(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t end) { return static_cast<int>(random() % end); };
  const int sender = 1 + below(24), receiver = 1 + below(24);
  const std::size_t unit = std::lcm<std::size_t>(static_cast<std::size_t>(sender), static_cast<std::size_t>(receiver));
  return {sender, receiver, unit * static_cast<std::size_t>(below(8) == 0 ? 0 : 1 + below(400))};
}

Partitions partitions(int count, std::size_t bytes) {
  return {count, bytes / static_cast<std::size_t>(count)};
}

class PartitionedMessages : public testing::TestWithParam<Reach> {};

TEST_P(PartitionedMessages, ArriveWhateverTheCountsAndTheOrder) {
  World world;
  world.is_new = true;  // the area is at the same place in each arena
  world.ranks = 3;
  world.reach = GetParam();
  world.may_stage = true;
  run_ranks(world, [&](int self, Collectives& collectives) {
    Rank rank(self, collectives);
    const int next = (self + 1) % world.ranks, before = (self + world.ranks - 1) % world.ranks;
    for (std::uint64_t message = 0; message < (short_sweep() ? 6 : 30); ++message) {
      std::mt19937_64 alike(message);
      const Counts counts = any_counts(alike);
      const std::uint64_t starts = 1 + alike() % 5;
      Policy policy;
      policy.left_least = alike() % 3 == 0 ? SIZE_MAX : alike() % 200;
      policy.left_bytes = alike() % 4096;
      policy.told_bytes = 1 + alike() % 1000;
      policy.staged_bytes_max = alike() % 2 ? 0 : SIZE_MAX;
      policy.kernel_bytes_least = alike() % 2 ? 0 : SIZE_MAX;
      std::mt19937_64 random(message * 17 + static_cast<std::uint64_t>(self));
      std::vector<std::byte> sent(counts.bytes + 1), received(counts.bytes + 1);
      auto sender = make<Sender>(
          rank.node, rank.announcements,
          partitioned::Message{next, envelope(self, next, 3), partitions(counts.sender, counts.bytes), policy},
          sent.data());
      auto receiver = make<Receiver>(
          rank.node, rank.announcements,
          partitioned::Message{before, envelope(before, self, 3), partitions(counts.receiver, counts.bytes), policy},
          received.data());
      for (std::uint64_t start = 0; start < starts; ++start) {
        for (std::size_t i = 0; i < counts.bytes; ++i)
          sent[i] = content(i, message + static_cast<std::uint64_t>(self), start);
        std::memset(received.data(), 0, counts.bytes);
        const bool is_late = random() % 2;
        if (!is_late) receiver->start();
        sender->start();
        mark_all(*sender, counts.sender, 1 + random() % 3, random);
        if (is_late) receiver->start();
        const auto own = partitions(counts.receiver, counts.bytes);
        const int looked_at = static_cast<int>(random() % static_cast<std::uint64_t>(own.count));
        while (!receiver->has_arrived(looked_at)) {
          receiver->progress();
          take_turn(rank.node);
        }
        const auto right = [&](std::size_t at) {
          return received[at] == content(at, message + static_cast<std::uint64_t>(before), start);
        };
        for (std::size_t i = 0; i < own.bytes; ++i)
          ASSERT_TRUE(right(static_cast<std::size_t>(looked_at) * own.bytes + i)) << message << " " << start;
        if (random() % 2) rank.finish(*sender, *receiver);
        rank.finish(*receiver);
        rank.finish(*sender);
        for (std::size_t i = 0; i < counts.bytes; ++i) ASSERT_TRUE(right(i)) << i << " of message " << message;
        EXPECT_EQ(receiver->sent_bytes(), counts.bytes);
      }
      if (random() % 2) sender.reset();
      receiver.reset();
    }
    collectives.barrier({});
    // Who has left last has told the others.
    rank.announcements.find(next, {});
    rank.announcements.find(before, {});
    EXPECT_EQ(rank.announcements.count(), 0u);
    collectives.barrier({});
  });
}

TEST_P(PartitionedMessages, OfOneEnvelopeMatchInTheirOrder) {
  World world;
  world.is_new = true;
  world.reach = GetParam();
  world.may_stage = true;
  run_ranks(world, [&](int self, Collectives& collectives) {
    Rank rank(self, collectives);
    constexpr std::size_t count = 70, bytes = 600;
    std::vector<std::vector<std::byte>> buffers(count, std::vector<std::byte>(bytes));
    std::vector<std::unique_ptr<Sender>> senders;
    std::vector<std::unique_ptr<Receiver>> receivers;
    for (std::size_t i = 0; i < count; ++i) {
      if (self == 0)
        senders.push_back(make<Sender>(rank.node, rank.announcements,
                                       partitioned::Message{1, envelope(0, 1, 5), partitions(6, bytes), Policy{}},
                                       buffers[i].data()));
      else
        receivers.push_back(make<Receiver>(rank.node, rank.announcements,
                                           partitioned::Message{0, envelope(0, 1, 5), partitions(4, bytes), Policy{}},
                                           buffers[i].data()));
    }
    for (std::uint64_t start = 0; start < 3; ++start) {
      // The one side begins with the last one, the other with the first.
      for (std::size_t i = count; i-- > 0;) {
        if (self != 0) continue;
        for (std::size_t at = 0; at < bytes; ++at) buffers[i][at] = content(at, i, start);
        senders[i]->start();
        for (int partition = 0; partition < 6; ++partition) EXPECT_TRUE(senders[i]->mark(partition));
      }
      for (auto& each : receivers) each->start();
      for (auto& each : senders) rank.finish(*each);
      for (std::size_t i = 0; i < receivers.size(); ++i) {
        rank.finish(*receivers[i]);
        for (std::size_t at = 0; at < bytes; ++at) ASSERT_EQ(buffers[i][at], content(at, i, start)) << i;
      }
    }
    senders.clear();
    receivers.clear();
    collectives.barrier({});
  });
}

TEST_P(PartitionedMessages, AreCutWhereTheReceiverHasLessRoom) {
  World world;
  world.is_new = true;
  world.reach = GetParam();
  world.may_stage = true;
  run_ranks(world, [&](int self, Collectives& collectives) {
    Rank rank(self, collectives);
    constexpr std::size_t bytes = 3000, room = 1100;
    std::vector<std::byte> buffer(bytes);
    if (self == 0) {
      for (std::size_t at = 0; at < bytes; ++at) buffer[at] = content(at, 1, 1);
      Sender sender(rank.node, rank.announcements,
                    partitioned::Message{1, envelope(0, 1, 0), partitions(10, bytes), Policy{}}, buffer.data());
      sender.introduce();
      sender.start();
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(sender.mark(i));
      EXPECT_FALSE(sender.mark(4));
      rank.finish(sender);
      collectives.barrier({});
    } else {
      Receiver receiver(rank.node, rank.announcements,
                        partitioned::Message{0, envelope(0, 1, 0), partitions(2, room), Policy{}}, buffer.data());
      receiver.introduce();
      receiver.start();
      rank.finish(receiver);
      EXPECT_EQ(receiver.sent_bytes(), bytes);
      for (std::size_t at = 0; at < room; ++at) ASSERT_EQ(buffer[at], content(at, 1, 1));
      for (std::size_t at = room; at < bytes; ++at) ASSERT_EQ(buffer[at], std::byte{0});
      collectives.barrier({});
    }
  });
}

TEST_P(PartitionedMessages, ThatWereNotIntroducedCountForNobody) {
  World world;
  world.is_new = true;
  world.reach = GetParam();
  world.may_stage = true;
  run_ranks(world, [&](int self, Collectives& collectives) {
    Rank rank(self, collectives);
    std::vector<std::byte> buffer(600);
    if (self == 0) {
      for (std::size_t at = 0; at < buffer.size(); ++at) buffer[at] = content(at, 1, 1);
      const auto sender =
          make<Sender>(rank.node, rank.announcements,
                       partitioned::Message{1, envelope(0, 1, 0), partitions(3, 600), Policy{}}, buffer.data());
      sender->start();
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(sender->mark(i));
      rank.finish(*sender);
    } else {
      // Something went wrong after it was made.
      Receiver(rank.node, rank.announcements, partitioned::Message{0, envelope(0, 1, 0), partitions(2, 600), Policy{}},
               buffer.data());
      const auto receiver =
          make<Receiver>(rank.node, rank.announcements,
                         partitioned::Message{0, envelope(0, 1, 0), partitions(2, 600), Policy{}}, buffer.data());
      receiver->start();
      rank.finish(*receiver);
      for (std::size_t at = 0; at < buffer.size(); ++at) ASSERT_EQ(buffer[at], content(at, 1, 1));
    }
    collectives.barrier({});
  });
}

TEST_P(PartitionedMessages, AreOverWhenAllIsThereThoughTheSenderDoesNotSaySo) {
  World world;
  world.is_new = true;
  world.reach = GetParam();
  world.may_stage = true;
  run_ranks(world, [&](int self, Collectives& collectives) {
    Rank rank(self, collectives);
    constexpr int count = 64;
    std::vector<std::byte> buffer(10 * count);
    std::unique_ptr<Sender> sender;
    std::unique_ptr<Receiver> receiver;
    if (self == 0)
      sender = make<Sender>(rank.node, rank.announcements,
                            partitioned::Message{1, envelope(0, 1, 0), partitions(count, buffer.size()), Policy{}},
                            buffer.data());
    else
      receiver = make<Receiver>(rank.node, rank.announcements,
                                partitioned::Message{0, envelope(0, 1, 0), partitions(count, buffer.size()), Policy{}},
                                buffer.data());
    for (int start = 0; start < 50; ++start) {
      if (sender) sender->start();
      if (receiver) receiver->start();
      collectives.barrier({});
      for (int i = 0; sender && i < count; ++i) EXPECT_TRUE(sender->mark(i));
      for (int i = 0; receiver && i < count; ++i)
        while (!receiver->has_arrived(i)) {
          receiver->progress();
          take_turn(rank.node);
        }
      // It may have been over, and is so again.
      EXPECT_TRUE(!receiver || receiver->progress());
      collectives.barrier({});
      if (sender) rank.finish(*sender);
    }
    collectives.barrier({});
  });
}

TEST_P(PartitionedMessages, MadeAnewEachTimeLieWhereTheLastOnesDid) {
  if (sanitized) GTEST_SKIP() << "a sanitizer touches pages of its own";
  World world;
  world.is_new = true;
  world.reach = GetParam();
  world.may_stage = true;
  run_ranks(world, [&](int self, Collectives& collectives) {
    Rank rank(self, collectives);
    std::vector<std::byte> buffer(40'000);
    Policy policy;
    policy.kernel_bytes_least = SIZE_MAX;
    long pages = 0;
    for (int message = 0; message < 60; ++message) {
      if (self == 0) {
        const auto sender = make<Sender>(
            rank.node, rank.announcements,
            partitioned::Message{1, envelope(0, 1, 0), partitions(4, buffer.size()), policy}, buffer.data());
        sender->start();
        for (int i = 0; i < 4; ++i) EXPECT_TRUE(sender->mark(i));
        rank.finish(*sender);
      } else {
        const auto receiver = make<Receiver>(
            rank.node, rank.announcements,
            partitioned::Message{0, envelope(0, 1, 0), partitions(4, buffer.size()), policy}, buffer.data());
        receiver->start();
        rank.finish(*receiver);
      }
      collectives.barrier({});
      // Nothing that this thread touches was cleared meanwhile.
      rusage used{};
      getrusage(RUSAGE_THREAD, &used);
      pages = message == 20 ? used.ru_minflt : pages;
      EXPECT_TRUE(message < 20 || used.ru_minflt < pages + 20) << message;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Reaches, PartitionedMessages, all_reaches(),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace

}  // namespace tutti::test
