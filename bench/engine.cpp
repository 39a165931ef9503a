// What the engine itself costs, without any other rank: a communicator of one rank, nothing to wait for.
//
//   begin and complete   what every call pays, the small ones nothing else; a peer's signature compared once
//   one task             an operation whose body is a coroutine that does not suspend
//   two tasks            two roles of a rank, run side by side
//   pending              an operation that parks once and is resumed
//   Bcast, Allreduce     of 4 bytes: a call of Collectives, straight
//
// Prints nanoseconds a call: median, and the range of the middle half, over many samples.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "collectives/collectives.h"
#include "engine/operation.h"

namespace {

using namespace tutti;

Task nothing(Operation& operation) {
  co_await operation.posted(0);
}

Task two_roles(Operation& operation) {
  co_await operation.both(nothing(operation), nothing(operation));
}

/// Parks at first.
Task waits_for_itself(Operation& operation) {
  co_await operation.posted(0);
}

template <class Call>
void measure(const char* name, Call&& call) {
  constexpr int samples = 301, calls = 2000;
  std::vector<double> nanoseconds;
  for (int sample = 0; sample < samples; ++sample) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    nanoseconds.push_back(taken.count() / calls);
  }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  std::printf("%-20s %7.1f ns  (%.1f .. %.1f)\n", name, nanoseconds[samples / 2], nanoseconds[samples / 4],
              nanoseconds[3 * samples / 4]);
}

void sum(void*, void* destination, const void* const* sources, std::size_t count, std::size_t, reduction::Order) {
  int total = 0;
  for (std::size_t i = 0; i < count; ++i) total += *static_cast<const int*>(sources[i]);
  *static_cast<int*>(destination) = total;
}

}  // namespace

int main() {
  std::string reason;
  Node node;
  node.arena = memory::Arena::create(std::size_t{64} << 20, reason);
  if (!node.arena) {
    std::fprintf(stderr, "%s\n", reason.c_str());
    return 1;
  }
  node.ranks_are_threads = node.window_shared = true;
  node.waiter = sync::make_waiter({});
  node.peers.push_back({0, node.arena->base(), nullptr});
  node.placement.ranks.resize(1);
  CommunicatorLayout layout;
  layout.node_ranks = {0};
  layout.offsets = {*node.arena->allocate(shared_bytes(node.settings, 1))};
  Communicator communicator(node, layout);

  Channel& channel = communicator.blocking();
  measure("begin and complete", [&] {
    Call call("nothing", 1, 4);
    Operation operation(channel, call, ring_slots);
    operation.check(0);
    operation.seen_all();
    operation.complete();
  });
  measure("one task", [&] {
    Call call("nothing", 1, 4);
    Operation operation(channel, call);
    operation.publish(operation.own().post.flag);
    operation.seen_all();
    operation.run({}, nothing(operation));
  });
  measure("two tasks", [&] {
    Call call("nothing", 1, 4);
    Operation operation(channel, call);
    operation.publish(operation.own().post.flag);
    operation.seen_all();
    operation.run({}, two_roles(operation));
  });
  measure("pending", [&] {
    Call call("nothing", 1, 4);
    Channel& pending = communicator.pending();
    PendingOperation operation(pending, call, pending.reserve(1), data_areas);
    operation.try_to_begin();
    operation.start({}, waits_for_itself(operation));
    operation.progress();
    operation.publish(operation.own().post.flag);
    operation.progress();
  });

  const selection::Knowledge knowledge;
  Collectives collectives(communicator, knowledge);
  collectives.choose_anew(selection::UserChoice::parse("bcast:eager;allreduce:eager", known_algorithms(), node.log));
  int send = 1, receive = 0;
  auto* const from = reinterpret_cast<std::byte*>(&send);
  Combiner combiner;
  combiner.element_bytes = sizeof send;
  combiner.function = sum;
  measure("Bcast", [&] { collectives.bcast({from, sizeof send, 0}); });
  measure("Allreduce", [&] { collectives.allreduce({from, reinterpret_cast<std::byte*>(&receive), 1, &combiner}); });
}
