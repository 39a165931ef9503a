// When the network fails in a call, whichever of its messages that is: the ranks concerned end with an error, what was lent is
// given back, and other communicators go on.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "collectives/kinds.h"
#include "collectives/spanning_ranks.h"

namespace tutti::test {
namespace {

constexpr int kind = 15;
constexpr std::size_t block = 48;

/// What is wrong with the network, as all ranks see it.
struct Weather {
  std::atomic<bool> is_down{false};
};

/// Fails at one of its messages, when that is posted or when it is asked for, and from then on at all of them. So do all others
/// that share the weather, if it is to be everybody's.
class FailingChannel final : public network::Channel {
 public:
  FailingChannel(network::Channel& channel, Weather& weather) : channel_(channel), weather_(weather) {}

  /// after: so many messages, which go well. on_test: the next one fails when it is asked for.
  void fail(int after, bool on_test, bool for_all) {
    left_ = after;
    on_test_ = on_test;
    for_all_ = for_all;
  }
  /// Messages that were posted, or would have been.
  int posted() const { return posted_; }
  /// Whether it has failed.
  bool is_down() const { return is_down_ || weather_.is_down; }

  network::Ticket post_send(const network::Address& to, const std::byte* data, std::size_t bytes) override {
    const bool is_bad = count();
    return noted(channel_.post_send(to, data, bytes), is_bad);
  }
  network::Ticket post_receive(const network::Address& from, std::byte* data, std::size_t bytes) override {
    const bool is_bad = count();
    return noted(channel_.post_receive(from, data, bytes), is_bad);
  }
  bool test(network::Ticket& ticket) override {
    if (ticket != 0 && ticket == bad_) breaks();
    if (ticket != 0 && is_down()) throw network::Failure("test", kind + 100, kind);
    return channel_.test(ticket);
  }
  void withdraw(network::Ticket& ticket) override { channel_.withdraw(ticket); }

 private:
  void breaks() {
    is_down_ = true;
    if (for_all_) weather_.is_down = true;
  }
  /// Whether the message that is about to be posted is to fail later.
  bool count() {
    const bool is_last = posted_++ == left_;
    if (is_last && !on_test_) breaks();
    if (is_down()) throw network::Failure("post", kind + 100, kind);
    return is_last;
  }
  network::Ticket noted(network::Ticket ticket, bool is_bad) {
    if (is_bad) bad_ = ticket;
    return ticket;
  }

  network::Channel& channel_;
  Weather& weather_;
  int left_ = -1, posted_ = 0;
  bool on_test_ = false, for_all_ = false, is_down_ = false;
  network::Ticket bad_ = 0;
};

/// The first is not to be changed by the second.
void sum(void* to, const void* const* sources, std::size_t count, std::size_t elements, reduction::Order /*order*/) {
  std::vector<int> all(elements);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t at = 0; at < elements; ++at) all[at] += static_cast<const int*>(sources[i])[at];
  std::memcpy(to, all.data(), elements * sizeof(int));
}

/// Buffers of all ranks, and a call of each collective on them.
class Calls {
 public:
  explicit Calls(int ranks) : ranks_(static_cast<std::size_t>(ranks)), counts_(ranks_, block / sizeof(int)) {
    for (std::size_t i = 0; i < ranks_; ++i) {
      send_.emplace_back(ranks_ * block, std::byte{1});
      receive_.emplace_back(ranks_ * block);
      sources_.push_back(static_cast<int>((i + ranks_ - 1) % ranks_));
      destinations_.push_back(static_cast<int>((i + 1) % ranks_));
    }
    combiner_.element_bytes = sizeof(int);
    combiner_.kernel = sum;
  }

  template <class Arguments>
  Arguments of(int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Blocks send = Blocks::regular(send_[r].data(), block), receive = Blocks::regular(receive_[r].data(), block);
    constexpr std::size_t elements = block / sizeof(int);
    if constexpr (std::is_same_v<Arguments, BarrierArguments>) {
      return {};
    } else if constexpr (std::is_same_v<Arguments, BcastArguments>) {
      return {receive_[r].data(), ranks_ * block, root_};
    } else if constexpr (std::is_same_v<Arguments, ScatterArguments>) {
      return {rank == root_ ? send : Blocks{}, receive_[r].data(), block, root_, true};
    } else if constexpr (std::is_same_v<Arguments, GatherArguments>) {
      return {send_[r].data(), block, rank == root_ ? receive : Blocks{}, root_, true};
    } else if constexpr (std::is_same_v<Arguments, AllgatherArguments>) {
      return {send_[r].data(), block, receive};
    } else if constexpr (std::is_same_v<Arguments, AlltoallArguments>) {
      return {send, receive, true};
    } else if constexpr (std::is_same_v<Arguments, ReduceScatterArguments>) {
      return {send_[r].data(), receive_[r].data(), counts_.data(), ranks_ * elements, &combiner_};
    } else if constexpr (std::is_same_v<Arguments, NeighborArguments>) {
      static constexpr int first = 0;
      Arguments arguments;
      arguments.sources = &sources_[r];
      arguments.destinations = &destinations_[r];
      arguments.source_blocks = arguments.destination_blocks = &first;
      arguments.source_count = arguments.destination_count = 1;
      arguments.send = send;
      arguments.receive = receive;
      arguments.regular = false;
      return arguments;
    } else {
      Arguments arguments{};
      arguments.send = send_[r].data();
      arguments.receive = receive_[r].data();
      arguments.count = elements;
      arguments.combiner = &combiner_;
      if constexpr (requires { arguments.root; }) arguments.root = root_;
      return arguments;
    }
  }

 private:
  std::size_t ranks_;
  const int root_ = 1;
  std::vector<std::vector<std::byte>> send_, receive_;
  std::vector<int> sources_, destinations_;
  std::vector<std::size_t> counts_;
  Combiner combiner_;
};

/// How the call of a rank has ended.
enum class End { not_yet, well, failure, told };

/// A communicator of which channels fail.
class FailingRanks {
 public:
  explicit FailingRanks(const SpanningRanks& ranks) : communicator_(ranks.another()) {
    for (int rank = 0; rank < ranks.count(); ++rank) {
      const Spanning& whole = communicator_->spanning(rank);
      channels_.push_back(std::make_unique<FailingChannel>(whole.channel, weather_));
      spanning_.push_back(std::make_unique<Spanning>(Spanning{whole.inside, whole.nodes, *channels_.back(), rank}));
    }
  }

  int count() const { return communicator_->count(); }
  FailingChannel& channel(int rank) { return *channels_[static_cast<std::size_t>(rank)]; }
  const Spanning& spanning(int rank) const { return *spanning_[static_cast<std::size_t>(rank)]; }
  bool on_one_node(int rank, int other) const {
    return spanning(rank).nodes.node_of(rank) == spanning(rank).nodes.node_of(other);
  }
  std::size_t unmatched() { return communicator_->unmatched(); }
  /// Runs `body(rank, spanning)` on every rank, each a thread.
  void run(const std::function<void(int, const Spanning&)>& body) {
    communicator_->run([&](int rank, const Spanning&) { body(rank, spanning(rank)); });
  }

  template <class Call>
  End end_of(int rank, Call&& call) const {
    try {
      return call() ? End::well : End::not_yet;
    } catch (const network::Failure& failure) {
      EXPECT_EQ(failure.kind, kind);
      return End::failure;
    } catch (const Disagreement&) {
      EXPECT_EQ(spanning(rank).inside.failure(), kind);
      return End::told;
    }
  }

 private:
  Weather weather_;
  std::unique_ptr<SpanningCommunicator> communicator_;
  std::vector<std::unique_ptr<FailingChannel>> channels_;
  std::vector<std::unique_ptr<Spanning>> spanning_;
};

/// Calls are several operations there.
const SpanningRanks& ranks_with_pieces() {
  static const SpanningRanks ranks(node_of_rank({2, 1, 2}, Order::in_turn), [] {
    Settings settings;
    settings.segment = 256;
    return settings;
  }());
  return ranks;
}

/// So many messages has the rank that has most of them, at least one.
template <class Arguments>
int most_messages(const selection::Algorithm<Arguments>& algorithm) {
  FailingRanks ranks(ranks_with_pieces());
  Calls calls(ranks.count());
  ranks.run([&](int rank, const Spanning& spanning) {
    call_between_nodes(spanning, algorithm, calls.template of<Arguments>(rank));
  });
  int most = 1;
  for (int rank = 0; rank < ranks.count(); ++rank) most = std::max(most, ranks.channel(rank).posted());
  return most;
}

/// test(algorithm) for all that can do such calls.
template <class Test>
void for_each_algorithm(Test&& test) {
  const network::Nodes nodes(node_of_rank({2, 1, 2}, Order::in_turn));
  for_each_collective([&]<class Arguments>(const char* collective) {
    for (const auto* algorithm : algorithms_between_nodes<Arguments>()) {
      SCOPED_TRACE(std::string(collective) + " " + algorithm->name);
      Calls calls(nodes.ranks());
      if (can_do(*algorithm, nodes, calls.template of<Arguments>(0))) test(*algorithm);
    }
  });
}

/// Other calls of these ranks, by another communicator.
void expect_others_go_on(const SpanningRanks& ranks) {
  std::atomic<int> here{0};
  ranks.another()->run([&](int, const Spanning& spanning) {
    for (int call = 1; call <= 3; ++call) {
      here.fetch_add(1);
      call_between_nodes(spanning, *algorithms_between_nodes<BarrierArguments>().front(), BarrierArguments{});
      EXPECT_GE(here.load(), call * ranks.count());
    }
  });
}

/// The network fails for all at the n-th message of one rank.
TEST(BetweenNodesFailures, BlockingCallsEndWithTheError) {
  for_each_algorithm([]<class Arguments>(const selection::Algorithm<Arguments>& algorithm) {
    const int messages = most_messages(algorithm);
    for (int after = 0; after < messages; after += short_sweep() ? 5 : 1) {
      FailingRanks ranks(ranks_with_pieces());
      Calls calls(ranks.count());
      const int culprit = after % ranks.count();
      ranks.channel(culprit).fail(after, after % 2 == 0, true);
      std::vector<End> first(static_cast<std::size_t>(ranks.count())), second(first);
      ranks.run([&](int rank, const Spanning& spanning) {
        const auto call = [&] {
          call_between_nodes(spanning, algorithm, calls.template of<Arguments>(rank));
          return true;
        };
        first[static_cast<std::size_t>(rank)] = ranks.end_of(rank, call);
        second[static_cast<std::size_t>(rank)] = ranks.end_of(rank, call);
      });
      SCOPED_TRACE("after " + std::to_string(after) + " messages of rank " + std::to_string(culprit));
      const auto c = static_cast<std::size_t>(culprit);
      const bool has_failed = first[c] != End::well || second[c] != End::well;
      EXPECT_EQ(has_failed, ranks.channel(culprit).is_down());
      for (int rank = 0; rank < ranks.count(); ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        EXPECT_TRUE(first[r] == End::well || second[r] != End::well) << "rank " << rank << " goes on after an error";
        if (!has_failed || !ranks.on_one_node(rank, culprit)) continue;
        const End third = ranks.end_of(rank, [&] {
          call_between_nodes(ranks.spanning(rank), algorithm, calls.template of<Arguments>(rank));
          return true;
        });
        EXPECT_EQ(third, End::told) << "rank " << rank << " goes on after an error on its node";
      }
      EXPECT_EQ(ranks.unmatched(), 0u);
      expect_others_go_on(ranks_with_pieces());
      if (testing::Test::HasFailure()) return;
    }
  });
}

/// It fails for one rank alone. Who waits for its messages on other nodes is not told.
TEST(BetweenNodesFailures, PendingCallsEndOnTheNodeOfTheRankConcerned) {
  for_each_algorithm([]<class Arguments>(const selection::Algorithm<Arguments>& algorithm) {
    const int messages = most_messages(algorithm);
    for (int after = 0; after < messages; after += short_sweep() ? 5 : 1)
      for (int culprit = 0; culprit < (short_sweep() ? 2 : 5); ++culprit) {
        FailingRanks ranks(ranks_with_pieces());
        Calls calls(ranks.count());
        ranks.channel(culprit).fail(after, after % 2 == 0, false);
        std::vector<std::unique_ptr<PendingCall>> pending;
        std::vector<End> ends(static_cast<std::size_t>(ranks.count()), End::not_yet);
        for (int rank = 0; rank < ranks.count(); ++rank) {
          pending.push_back(prepare_between_nodes(ranks.spanning(rank), algorithm, calls.template of<Arguments>(rank)));
          pending.back()->start();
        }
        // Who waits looks each 4096 times whether it ever will.
        const auto go_on = [&](int turns) {
          for (int turn = 0; turn < turns; ++turn)
            for (int rank = 0; rank < ranks.count(); ++rank) {
              const auto r = static_cast<std::size_t>(rank);
              if (ends[r] == End::not_yet) ends[r] = ranks.end_of(rank, [&] { return pending[r]->progress(); });
            }
        };
        go_on(10'000);
        SCOPED_TRACE("after " + std::to_string(after) + " messages of rank " + std::to_string(culprit));
        const bool has_failed = ranks.channel(culprit).is_down();
        for (int rank = 0; rank < ranks.count(); ++rank) {
          const End end = ends[static_cast<std::size_t>(rank)];
          EXPECT_TRUE(has_failed || end == End::well) << "rank " << rank;
          EXPECT_TRUE(end != End::not_yet || !ranks.on_one_node(rank, culprit)) << "rank " << rank << " waits for ever";
          EXPECT_TRUE(end == End::well || end == End::not_yet || ranks.on_one_node(rank, culprit)) << "rank " << rank;
        }
        // A call that comes later on that node ends, too.
        if (has_failed) {
          const auto blocking = [&] {
            call_between_nodes(ranks.spanning(culprit), algorithm, calls.template of<Arguments>(culprit));
            return true;
          };
          EXPECT_EQ(ranks.end_of(culprit, blocking), End::told);
        }
        // Nothing that was posted is left once the calls are gone.
        pending.clear();
        EXPECT_EQ(ranks.unmatched(), 0u);
        expect_others_go_on(ranks_with_pieces());
        if (testing::Test::HasFailure()) return;
      }
  });
}

/// However often calls fail, their memory is used again.
TEST(BetweenNodesFailures, WhatWasLentIsGivenBack) {
  const SpanningRanks ranks(node_of_rank({2, 1, 2}, Order::in_turn));
  std::vector<std::size_t> before(static_cast<std::size_t>(ranks.count()));
  for (int time = 0; time < 20; ++time) {
    Calls calls(ranks.count());
    for_each_algorithm([&]<class Arguments>(const selection::Algorithm<Arguments>& algorithm) {
      FailingRanks failing(ranks);
      failing.channel(time % ranks.count()).fail(0, time % 2 == 0, true);
      failing.run([&](int rank, const Spanning& spanning) {
        failing.end_of(rank, [&] {
          call_between_nodes(spanning, algorithm, calls.template of<Arguments>(rank));
          return true;
        });
      });
      EXPECT_EQ(failing.unmatched(), 0u);
    });
    for (int rank = 0; rank < ranks.count(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      if (time == 1) before[r] = ranks.lent_bytes(rank);
      EXPECT_TRUE(time <= 1 || ranks.lent_bytes(rank) == before[r]) << "rank " << rank << ", time " << time;
    }
  }
}

}  // namespace
}  // namespace tutti::test
