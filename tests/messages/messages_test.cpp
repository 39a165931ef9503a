// Messages between ranks that are threads: the envelope comes by a queue that stands for the MPI.
#include "messages/messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "collectives/thread_ranks.h"
#include "memory/random_layout.h"

namespace tutti::test {

namespace {

using messages::Envelope;
using messages::Incoming;
using messages::Messages;
using messages::Outgoing;
using messages::Record;
using messages::Way;

constexpr std::uint64_t key = 0x1234, communicator = 7;

/// Envelopes to each rank, in their order.
class Mail {
 public:
  explicit Mail(int ranks) : queues_(static_cast<std::size_t>(ranks)) {}
  void put(int to, const Envelope& envelope) {
    const std::lock_guard lock(mutex_);
    queues_[static_cast<std::size_t>(to)].push_back(envelope);
  }
  std::optional<Envelope> get(int rank) {
    const std::lock_guard lock(mutex_);
    auto& queue = queues_[static_cast<std::size_t>(rank)];
    if (queue.empty()) return std::nullopt;
    const Envelope envelope = queue.front();
    queue.pop_front();
    return envelope;
  }

 private:
  std::mutex mutex_;
  std::vector<std::deque<Envelope>> queues_;
};

struct Rank {
  explicit Rank(Collectives& collectives)
      : node(collectives.communicator().node()),
        messages(node, *node.arena->allocate(Messages::area_bytes(node.size)), key) {
    collectives.barrier({});  // all have such an area
  }
  Node& node;
  Messages messages;
};

std::byte content(std::size_t at, std::uint64_t message, int sender) {
  return static_cast<std::byte>(at * 7 + at / 251 + message * 31 + static_cast<std::size_t>(sender) * 101);
}

std::vector<std::byte> bytes_of(std::size_t bytes, std::uint64_t message, int sender) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = content(i, message, sender);
  return made;
}

/// So many bytes with gaps between them.
struct WithGaps {
  static constexpr std::byte gap{0xee};

  WithGaps(std::size_t bytes, std::uint64_t seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const memory::Layout layout = random_layout(random, bytes);
    const memory::Layout::Extent extent = layout.extent();
    memory.assign(extent.bytes, gap);
    spread.emplace(memory::Spread{layout, memory.data() - extent.first});
  }
  /// What is in the first bytes; nothing but gaps is left.
  std::vector<std::byte> take(std::size_t bytes) {
    std::vector<std::byte> taken(bytes);
    spread->get(0, taken.data(), bytes);
    spread->put(0, std::vector<std::byte>(bytes, gap).data(), bytes);
    return taken;
  }
  bool is_empty() const {
    return std::all_of(memory.begin(), memory.end(), [](std::byte each) { return each == gap; });
  }

  std::vector<std::byte> memory;
  std::optional<memory::Spread> spread;
};

class TwoSided : public testing::TestWithParam<Reach> {};

TEST_P(TwoSided, MessagesComeWhoeverCopiesThem) {
  World world;
  world.is_new = true;  // the area is at the same place in each arena
  world.ranks = 3;
  world.reach = GetParam();
  Mail mail(world.ranks);
  run_ranks(world, [&](int self, Collectives& collectives) {
    Rank rank(collectives);
    const int next = (self + 1) % world.ranks, before = (self + world.ranks - 1) % world.ranks;
    for (std::uint64_t message = 0; message < (short_sweep() ? 40 : 300); ++message) {
      std::mt19937_64 alike(message);
      constexpr std::size_t sizes[] = {1, 480, 8191, 8192, 8193, 40'000, 65'536, 300'001, 1'200'000};
      const std::size_t bytes = sizes[alike() % 9];
      const std::size_t room = alike() % 4 == 0 ? bytes / 2 + 1 : bytes + alike() % 100;
      Outgoing::Message what;
      what.peer = next;
      what.communicator = communicator;
      what.tag = static_cast<int>(message % 5);
      what.bytes = bytes;
      if (alike() % 3 == 0) what.lent_most = SIZE_MAX / 2;
      what.store = alike() % 2 ? memory::Store::cached : memory::Store::streaming_to_peers;
      const bool is_written_there = alike() % 5 == 0, receiver_is_impatient = alike() % 2;
      const bool has_gaps_there = !is_written_there && alike() % 4 == 0, has_gaps_here = alike() % 4 == 0;
      std::vector<std::byte> sent = bytes_of(bytes, message, self), received(room);
      what.buffer = is_written_there ? nullptr : sent.data();
      WithGaps there(has_gaps_there ? bytes : 1, message), here(has_gaps_here ? room : 1, ~message);
      if (has_gaps_there) {
        there.spread->put(0, sent.data(), bytes);
        what.buffer = there.spread->base;
        what.layout = &there.spread->layout;
        what.is_read_there = alike() % 2;
      }
      Outgoing outgoing(rank.messages, what);
      if (is_written_there) std::memcpy(outgoing.staging(), sent.data(), bytes);
      mail.put(next, outgoing.announce());
      outgoing.fill();
      std::optional<Envelope> envelope;
      const NeverWaiting both_sides(rank.node);
      bool is_sent = false;
      while (!envelope) {
        is_sent = outgoing.progress();
        envelope = mail.get(self);
        take_turn(rank.node);
      }
      ASSERT_TRUE(rank.messages.is_envelope(*envelope));
      ASSERT_TRUE(rank.messages.come(before, communicator, static_cast<int>(message % 5), *envelope));
      Incoming incoming(rank.messages, *envelope, received.data(), room, receiver_is_impatient ? 0 : 1'000'000,
                        has_gaps_here ? &*here.spread : nullptr);
      bool is_received = false;
      while (!is_sent || !is_received) {
        is_sent = is_sent || outgoing.progress();
        is_received = is_received || incoming.progress();
        take_turn(rank.node);
      }
      const Way way = outgoing.way(), by_sender = what.store == memory::Store::cached ? Way::stored : Way::streamed;
      const bool may_be_read = has_gaps_there && what.is_read_there;
      const bool is_lent = !may_be_read && (has_gaps_there || (what.lent_most > 0 && !is_written_there));
      if (is_lent || is_written_there)
        EXPECT_EQ(way, is_lent ? Way::lent : Way::staged);
      else
        EXPECT_TRUE((way == by_sender && !may_be_read) || way == Way::read || way == Way::staged ||
                    (way == Way::lent && may_be_read))
            << name_of(way);
      // The buffer is the program's again.
      std::memset(sent.data(), 0, sent.size());
      std::memset(there.memory.data(), 0, there.memory.size());
      ASSERT_EQ(incoming.sent_bytes(), bytes);
      ASSERT_EQ(incoming.bytes(), std::min(bytes, room));
      if (has_gaps_here) {
        received = here.take(incoming.bytes());
        ASSERT_TRUE(here.is_empty());
      }
      for (std::size_t i = 0; i < incoming.bytes(); ++i)
        ASSERT_EQ(received[i], content(i, message, before))
            << "byte " << i << " of " << bytes << ", message " << message;
    }
    collectives.barrier({});
  });
}

/// A sender that is not met goes on, with the message in its arena.
TEST_P(TwoSided, SendersDependOnNobody) {
  World world;
  world.is_new = true;
  world.ranks = 2;
  world.reach = GetParam();
  Mail mail(world.ranks);
  run_ranks(world, [&](int self, Collectives& collectives) {
    Rank rank(collectives);
    constexpr std::size_t bytes = 50'000;
    constexpr std::uint64_t count = 5;
    for (std::uint64_t message = 0; message < count; ++message) {
      const std::vector<std::byte> sent = bytes_of(bytes, message, self);
      Outgoing outgoing(rank.messages, {1 - self, communicator, 3, sent.data(), bytes, {}, false});
      mail.put(1 - self, outgoing.announce());
      while (!outgoing.progress()) take_turn(rank.node);
    }
    collectives.barrier({});
    for (std::uint64_t message = 0; message < count; ++message) {
      const NeverWaiting both_sides(rank.node);
      const auto envelope = mail.get(self);
      ASSERT_TRUE(envelope);
      std::vector<std::byte> received(bytes);
      Incoming incoming(rank.messages, *envelope, received.data(), bytes, 0);
      while (!incoming.progress()) take_turn(rank.node);
      EXPECT_EQ(received, bytes_of(bytes, message, 1 - self));
    }
    collectives.barrier({});
  });
}

/// A sender uses what it shares for the next message as soon as the receiver has the last one.
TEST(Messages, ThatAreOverAreNotTouchedAgain) {
  World world;
  world.is_new = true;
  world.ranks = 2;
  Mail mail(world.ranks);
  run_ranks(world, [&](int self, Collectives& collectives) {
    Rank rank(collectives);
    constexpr std::size_t bytes = 100'000;
    std::optional<Incoming> incoming[2];
    std::vector<std::byte> received[2] = {std::vector<std::byte>(bytes), std::vector<std::byte>(bytes)};
    for (std::uint64_t message = 0; message < 20; ++message) {
      if (self == 0) {
        const std::vector<std::byte> sent = bytes_of(bytes, message, self);
        Outgoing outgoing(rank.messages, {1, communicator, 3, sent.data(), bytes, {}, false});
        mail.put(1, outgoing.announce());
        while (!outgoing.progress()) take_turn(rank.node);
      }
      collectives.barrier({});
      if (self == 1) {
        const NeverWaiting both_sides(rank.node);
        const auto envelope = mail.get(self);
        ASSERT_TRUE(envelope);
        const std::size_t now = message % 2, last = 1 - now;
        incoming[now].emplace(rank.messages, *envelope, received[now].data(), bytes, 0);
        if (message > 0) {
          EXPECT_TRUE(incoming[last]->progress());
        }
        while (!incoming[now]->progress()) take_turn(rank.node);
        EXPECT_EQ(received[now], bytes_of(bytes, message, 0));
      }
      collectives.barrier({});
    }
  });
}

/// What a probe is told: of one communicator and tag, in the order in which they were sent.
TEST(Messages, AreFoundInTheirOrder) {
  World world;
  world.is_new = true;
  world.ranks = 2;
  std::vector<Envelope> said;
  run_ranks(world, [&](int self, Collectives& collectives) {
    Rank rank(collectives);
    if (self == 0) {
      for (std::uint64_t i = 0; i < 100; ++i)
        said.push_back(rank.messages.say(1, {communicator + i % 2, static_cast<int>(i % 3), 1000 + i, i % 4 != 0}));
    }
    collectives.barrier({});
    if (self == 1) {
      for (std::uint64_t i = 0; i < 100; ++i) {
        // The last ones of another communicator and tag do not get into the way.
        const auto next = rank.messages.next_from(0, communicator + i % 2, static_cast<int>(i % 3), false);
        ASSERT_TRUE(next);
        EXPECT_EQ(next->bytes, 1000 + i);
        const Envelope found = next->is_envelope ? said[i] : Envelope{};
        const auto envelope = rank.messages.come(0, communicator + i % 2, static_cast<int>(i % 3), found);
        ASSERT_EQ(envelope.has_value(), next->is_envelope);
        EXPECT_TRUE(!envelope || envelope->number == i);
      }
      EXPECT_FALSE(rank.messages.next_from(0, communicator, 0, false));
    }
    collectives.barrier({});
  });
}

/// Programs that do not care what comes have many receives under way in one buffer: an envelope is written over by a later
/// one, or by a message, before anybody looks at it.
TEST(Messages, ThatWereWrittenOverAreTakenOnceEach) {
  enum class Found { the_last, a_message, torn };
  for (const Found what : {Found::the_last, Found::a_message, Found::torn}) {
    World world;
    world.is_new = true;
    world.ranks = 2;
    constexpr std::uint64_t count = 100;
    std::vector<Envelope> said(count);
    run_ranks(world, [&](int self, Collectives& collectives) {
      Rank rank(collectives);
      for (std::uint64_t i = 0; self == 0 && i < count; ++i)
        said[i] = rank.messages.say(1, {communicator, 7, 1000 + i, true, 64 * i, i});
      collectives.barrier({});
      std::vector<bool> came(count, false);
      for (std::uint64_t i = 0; self == 1 && i < count; ++i) {
        // In their order, and by tens that the last one of them was written over.
        Envelope found = said[i / 10 * 10 + 9];
        if (what == Found::a_message) found = {};
        if (what == Found::torn) found.number += 12345;
        const auto envelope = rank.messages.come(0, communicator, 7, found);
        ASSERT_TRUE(envelope) << i;
        ASSERT_LT(envelope->number, count);
        EXPECT_TRUE(rank.messages.is_envelope(*envelope));
        EXPECT_EQ(envelope->message_bytes, 1000 + envelope->number);
        EXPECT_EQ(envelope->block, 64 * envelope->number);
        EXPECT_EQ(envelope->region, envelope->number);
        EXPECT_FALSE(came[envelope->number]) << envelope->number;
        came[envelope->number] = true;
      }
      collectives.barrier({});
    });
  }
}

/// Copies of so many messages as a core keeps in its cache; when the receiver has had them there is room for others.
TEST(Messages, AreLentAsLongAsACoreKeepsThem) {
  World world;
  world.is_new = true;
  world.ranks = 2;
  constexpr std::size_t bytes = 60'000;
  const std::vector<std::byte> sent = bytes_of(bytes, 1, 0);
  std::vector<Envelope> said;
  run_ranks(world, [&](int self, Collectives& collectives) {
    Rank rank(collectives);
    for (int round = 0; round < 3; ++round) {
      std::deque<Outgoing> outgoing;
      for (int i = 0; self == 0 && i < 3; ++i) {
        outgoing.emplace_back(rank.messages, Outgoing::Message{1, communicator, i, sent.data(), bytes,
                                                               memory::Store::cached, 2 * bytes + 1});
        said.push_back(outgoing.back().announce());
        outgoing.back().fill();
        const auto kind = memory::Region::from_bits(said.back().region).kind();
        EXPECT_EQ(kind == memory::Kind::filling, i < 2) << i;
      }
      collectives.barrier({});
      {
        const NeverWaiting both_sides(rank.node);
        for (std::size_t i = 0; self == 1 && i < 3; ++i) {
          std::vector<std::byte> received(bytes);
          Incoming incoming(rank.messages, said[said.size() - 3 + i], received.data(), bytes, 0);
          while (!incoming.progress()) take_turn(rank.node);
          EXPECT_EQ(received, sent);
        }
        for (Outgoing& each : outgoing)
          while (!each.progress()) take_turn(rank.node);
      }
      collectives.barrier({});
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Reaches, TwoSided, all_reaches(), [](const auto& info) { return name_of(info.param); });

}  // namespace

}  // namespace tutti::test
