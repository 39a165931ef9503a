// What the engine does around a copy of a large buffer, on a communicator of one rank: exposing and posting it, looking
// up a region, ending. What an operation costs without that is taken away.
#include "collectives/common/buffers/exposure.h"

#include <memory>
#include <stdexcept>

#include "engine/operation.h"
#include "probe/measures.h"
#include "probe/team.h"

namespace tutti::bench {

namespace {

Task nothing(Operation& operation) {
  co_await operation.has(operation.own().post.flag, 0, 0);
}

/// A node with one rank, whose memory is its own window.
struct OneRank {
  OneRank() {
    std::string reason;
    node.arena = memory::Arena::create(std::size_t{64} << 20, reason);
    if (!node.arena) throw std::runtime_error(reason);
    node.ranks_are_threads = node.window_shared = true;
    node.waiter = sync::make_waiter({});
    node.peers.push_back({0, node.arena->base(), nullptr});
    node.placement.ranks.resize(1);
    CommunicatorLayout layout;
    layout.node_ranks = {0};
    layout.offsets = {*node.arena->allocate(shared_bytes(node.settings, 1))};
    communicator = std::make_unique<Communicator>(node, layout);
  }
  Node node;
  std::unique_ptr<Communicator> communicator;
};

}  // namespace

std::vector<double> exposure(const Probing& probing, int processor) {
  constexpr int calls = 500;
  const auto samples = run_team({processor}, probing.seconds + 20, [&](Member& member) {
    OneRank rank;
    std::vector<std::byte> buffer(1 << 20);
    const std::uint64_t begin = shared_now_ns();
    Call call("probe", 1, buffer.size());
    do {
      const std::uint64_t start = Clock::ticks();
      for (int i = 0; i < calls; ++i) {
        Operation operation(rank.communicator->blocking(), call);
        const Exposure mine = expose(operation, buffer.data(), buffer.size(), Side::source);
        post(operation, mine, {});
        operation.seen_all();
        operation.run({}, nothing(operation));
      }
      member.keep(1e-9 * probing.clock.nanoseconds_between(start, Clock::ticks()) / calls);
    } while (static_cast<double>(shared_now_ns() - begin) < 1e9 * probing.seconds);
  });
  return samples[0];
}

}  // namespace tutti::bench
