// Holds simulated messages between nodes (simulation/network.h) against SimGrid's, by rows of docs/simulated-times.md:
//
//   build/simulated/tests/simulated/against_simgrid                                 # the rows
//   build/simulated/tests/simulated/against_simgrid docs/simulated-times.md         # whether the page has them
//
// Both have one link into each node and one out of it, of the same latency and bandwidth; no message costs a core
// anything. Here links serve who comes first, there all messages of a link share it (SimGrid's model CM02, without what it
// corrects for TCP).
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "simulation/network.h"
#include "topology/machine.h"
#include "topology/mapping.h"

namespace {

using namespace tutti;
using namespace tutti::simulated;

constexpr int nodes = 16;
constexpr double latency = 1e-6, bytes_a_second = 100e9 / 8;

/// In each round all messages are posted at once, in this order; the next one begins on a node when its messages of the
/// last one are over.
using Round = std::vector<std::pair<int, int>>;  ///< from, to
struct Pattern {
  const char* name;
  std::vector<Round> rounds;
  bool is_alike = true;  ///< else they are known to differ
};

std::vector<Pattern> patterns() {
  Round incast, outcast, shifted, in_order, ring;
  for (int i = 1; i < nodes; ++i) {
    incast.emplace_back(i, 0);
    outcast.emplace_back(0, i);
    for (int from = 0; from < nodes; ++from) shifted.emplace_back(from, (from + i) % nodes);
  }
  for (int to = 0; to < nodes; ++to)
    for (int from = 0; from < nodes; ++from)
      if (from != to) in_order.emplace_back(from, to);
  for (int from = 0; from < nodes; ++from) ring.emplace_back(from, (from + 1) % nodes);
  return {{"one message", {{{0, 1}}}},
          {"15 nodes to one", {incast}},
          {"one node to 15", {outcast}},
          {"a ring, 15 rounds", std::vector<Round>(nodes - 1, ring)},
          {"all to all, each to its next first", {shifted}},
          {"all to all, all to the same first", {in_order}, false}};
}

double ours(const Pattern& pattern, std::size_t bytes) {
  std::string error;
  const auto machine = topology::Machine::load("core:1 pu:1", error);
  Parameters parameters;
  parameters.message = parameters.card = parameters.step = 0;
  network::Parameters network;
  network.between_start = latency;
  network.between_byte = 1 / bytes_a_second;
  network.message_rate = HUGE_VAL;
  Timed timed(selection::Model(), parameters,
              topology::place_by_affinity(*machine, topology::map_ranks(*machine, 1, topology::Mapping::core)), nodes);
  std::vector<int> node_of_rank;
  for (int node = 0; node < nodes; ++node) node_of_rank.push_back(node);
  const network::Nodes all(node_of_rank);
  Network between(timed, all, network);
  std::vector<std::byte> sent(bytes), received(bytes);
  double end = 0;
  timed.run([&](int rank) {
    SimulatedChannel channel(between, rank);
    FiberWaiter waiter;
    for (std::size_t round = 0; round < pattern.rounds.size(); ++round) {
      std::vector<network::Ticket> tickets;
      for (const auto& [from, to] : pattern.rounds[round]) {
        if (to == rank) tickets.push_back(channel.post_receive({from, round, 0, 0}, received.data(), bytes));
        if (from == rank) tickets.push_back(channel.post_send({to, round, 0, 0}, sent.data(), bytes));
      }
      sync::wait(waiter, {"a message", nullptr, round, 0}, [&] {
        std::erase_if(tickets, [&](network::Ticket& ticket) { return channel.test(ticket); });
        return tickets.empty();
      });
    }
    end = std::max(end, timed.seconds());
  });
  return end;
}

class SimGrid {
 public:
  SimGrid() {
    int count = 2;
    char name[] = "against_simgrid", quiet[] = "--log=root.threshold:error";
    char* words[] = {name, quiet, nullptr};
    static simgrid::s4u::Engine engine(&count, words);
    engine_ = &engine;
    simgrid::s4u::Engine::set_config("network/model:CM02");
    simgrid::s4u::Engine::set_config("network/crosstraffic:0");
    auto* const zone = simgrid::s4u::create_star_zone("all");
    for (int node = 0; node < nodes; ++node) {
      const std::string number = std::to_string(node);
      auto* const host = zone->create_host(number, 1e9)->seal();
      const auto link = [&](const char* way) {
        return zone->create_link(way + number, bytes_a_second)->set_latency(latency / 2)->seal();
      };
      zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {simgrid::s4u::LinkInRoute(link("out"))}, false);
      zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {simgrid::s4u::LinkInRoute(link("in"))}, false);
      hosts_.push_back(host);
    }
    zone->seal();
  }
  /// Seconds of each.
  std::vector<double> run(const std::vector<std::pair<Pattern, std::size_t>>& all) {
    std::vector<double> took;
    simgrid::s4u::Actor::create("all of them", hosts_[0], [&] {
      for (const auto& [pattern, bytes] : all) {
        const double begin = simgrid::s4u::Engine::get_clock();
        for (const Round& round : pattern.rounds) {
          std::vector<simgrid::s4u::CommPtr> messages;
          for (const auto& [from, to] : round)
            messages.push_back(simgrid::s4u::Comm::sendto_async(hosts_[static_cast<std::size_t>(from)],
                                                                hosts_[static_cast<std::size_t>(to)], bytes));
          simgrid::s4u::Comm::wait_all(messages);
        }
        took.push_back(simgrid::s4u::Engine::get_clock() - begin);
      }
    });
    engine_->run();
    return took;
  }

 private:
  simgrid::s4u::Engine* engine_;
  std::vector<simgrid::s4u::Host*> hosts_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::pair<Pattern, std::size_t>> all;
  for (const Pattern& pattern : patterns())
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 20}) all.emplace_back(pattern, bytes);
  const std::vector<double> theirs = SimGrid().run(all);
  std::stringstream page;
  if (argc > 1) page << std::ifstream(argv[1]).rdbuf();
  int wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [pattern, bytes] = all[i];
    const double own = ours(pattern, bytes), ratio = own / theirs[i];
    char row[200];
    std::snprintf(row, sizeof row, "| %s | %s | %.4g | %.4g | %.3f |", pattern.name, bytes == 64 ? "64 B" : "1 MiB",
                  1e6 * own, 1e6 * theirs[i], ratio);
    if (argc == 1) std::cout << row << "\n";
    const bool is_missing = argc > 1 && page.str().find(row) == std::string::npos;
    const bool is_apart = pattern.is_alike && std::abs(ratio - 1) > 0.01;
    if (is_missing) std::cerr << "the page does not have " << row << "\n";
    if (is_apart) std::cerr << "apart: " << row << "\n";
    wrong += is_missing || is_apart;
  }
  return wrong ? 1 : 0;
}
