// The arithmetic of multi-object algorithms, for every number of nodes up to 40 and of lanes up to 18.
#include "network/multi_object.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

namespace tutti::network {
namespace {

constexpr int most_nodes = 40, most_lanes = 18;

template <class Check>
void for_all(Check check) {
  for (int nodes = 1; nodes <= most_nodes; ++nodes)
    for (int lanes = 1; lanes <= most_lanes; ++lanes) {
      SCOPED_TRACE(std::to_string(nodes) + " nodes, " + std::to_string(lanes) + " lanes");
      check(nodes, lanes);
      if (testing::Test::HasFailure()) return;
    }
}

TEST(MultiObject, RoundsAreTheLogarithmToTheBaseOfLanesAndOne) {
  EXPECT_EQ(rounds_of(1, 3), 0);
  EXPECT_EQ(rounds_of(2, 3), 1);
  EXPECT_EQ(rounds_of(4, 3), 1);
  EXPECT_EQ(rounds_of(5, 3), 2);
  EXPECT_EQ(rounds_of(16, 3), 2);
  EXPECT_EQ(rounds_of(17, 3), 3);
  EXPECT_EQ(rounds_of(128, 18), 2) << "PiP-MColl's machine";
  EXPECT_EQ(rounds_of(8, 1), 3);
}

TEST(MultiObject, TreeReachesEveryNodeOnceFromAnyRoot) {
  for_all([](int nodes, int lanes) {
    for (int root = 0; root < nodes; ++root) {
      std::vector<TreePlace> places;
      for (int node = 0; node < nodes; ++node) places.push_back(tree_place(nodes, lanes, root, node));
      std::vector<int> parents(static_cast<std::size_t>(nodes), -1);
      std::set<std::tuple<int, int, int>> used;  // node, round, lane: each carries one message
      for (int node = 0; node < nodes; ++node)
        for (const Branch& branch : places[static_cast<std::size_t>(node)].children) {
          ASSERT_LT(branch.round, rounds_of(nodes, lanes));
          ASSERT_GE(branch.lane, 0);
          ASSERT_LT(branch.lane, lanes);
          ASSERT_TRUE(used.emplace(node, branch.round, branch.lane).second);
          const TreePlace& child = places[static_cast<std::size_t>(branch.node)];
          ASSERT_EQ(parents[static_cast<std::size_t>(branch.node)], -1);
          parents[static_cast<std::size_t>(branch.node)] = node;
          ASSERT_TRUE(child.parent);
          ASSERT_EQ(child.parent->node, node);
          ASSERT_EQ(child.parent->round, branch.round);
          ASSERT_EQ(child.parent->lane, branch.lane);
          ASSERT_EQ(child.parent->nodes.begin, branch.nodes.begin);
          ASSERT_EQ(child.nodes.begin, branch.nodes.begin);
          ASSERT_EQ(child.nodes.end, branch.nodes.end);
          for (const Branch& next : child.children) ASSERT_GT(next.round, branch.round);
        }
      for (int node = 0; node < nodes; ++node) ASSERT_EQ(parents[static_cast<std::size_t>(node)] == -1, node == root);
      ASSERT_EQ(places[static_cast<std::size_t>(root)].nodes.length(), static_cast<std::size_t>(nodes));
    }
  });
}

TEST(MultiObject, ExchangeCombinesInTheOrderOfNodesAndAllAlike) {
  for_all([](int nodes, int lanes) {
    const int rounds = rounds_of(nodes, lanes);
    std::vector<std::pmr::vector<ExchangeRound>> all;
    for (int node = 0; node < nodes; ++node) all.push_back(exchange_rounds(nodes, lanes, node));
    // What a node has combined, written as it was bracketed.
    std::vector<std::string> has;
    for (int node = 0; node < nodes; ++node) has.push_back(std::to_string(node));
    for (int r = 0; r < rounds; ++r) {
      const auto of = [&](int node) -> const ExchangeRound& {
        return all[static_cast<std::size_t>(node)][static_cast<std::size_t>(r)];
      };
      std::vector<std::string> next;
      std::map<std::pair<int, int>, int> sent;  // lane by sender and receiver
      for (int node = 0; node < nodes; ++node) {
        std::vector<int> of_lane(static_cast<std::size_t>(lanes));
        for (const auto& send : of(node).sends) {
          ASSERT_LT(send.lane, lanes);
          ++of_lane[static_cast<std::size_t>(send.lane)];
          ASSERT_TRUE(sent.emplace(std::pair{node, send.node}, send.lane).second);
        }
        const auto sends = static_cast<int>(of(node).sends.size());
        ASSERT_LE(sends, lanes + 1) << "of node " << node;
        ASSERT_LE(*std::max_element(of_lane.begin(), of_lane.end()), 2);
      }
      for (int node = 0; node < nodes; ++node) {
        std::vector<std::string> parts(static_cast<std::size_t>(of(node).parts));
        ASSERT_LE(of(node).receives.size(), static_cast<std::size_t>(lanes));
        parts[static_cast<std::size_t>(of(node).own_part)] = has[static_cast<std::size_t>(node)];
        for (const auto& receive : of(node).receives) {
          const auto found = sent.find({receive.node, node});
          ASSERT_NE(found, sent.end());
          ASSERT_EQ(found->second, receive.lane);
          sent.erase(found);
          parts[static_cast<std::size_t>(receive.part)] = has[static_cast<std::size_t>(receive.node)];
        }
        std::string combined;
        for (const std::string& part : parts) {
          ASSERT_FALSE(part.empty());
          combined += (combined.empty() ? "" : " ") + part;
        }
        next.push_back(parts.size() > 1 ? "(" + combined + ")" : combined);
      }
      ASSERT_TRUE(sent.empty());
      has = std::move(next);
    }
    std::string digits;
    for (const char c : has[0])
      if (c != '(' && c != ')') digits += c;
    std::string expected;
    for (int node = 0; node < nodes; ++node) expected += (node ? " " : "") + std::to_string(node);
    ASSERT_EQ(digits, expected);
    for (const std::string& each : has) ASSERT_EQ(each, has[0]);
  });
}

TEST(MultiObject, BruckGathersAllNodesInTheFewestRounds) {
  for_all([](int nodes, int lanes) {
    for (int self = 0; self < nodes; ++self) {
      int have = 1;
      for (int round = 0; round < rounds_of(nodes, lanes); ++round) {
        const int before = have;
        for (int lane = 0; lane < lanes; ++lane) {
          const BruckLane part = bruck_lane(nodes, lanes, self, round, lane);
          if (part.count == 0) continue;
          ASSERT_EQ(part.at, have);
          ASSERT_LE(part.count, before) << "more than the other has";
          ASSERT_EQ(part.from, (self + part.at) % nodes);
          ASSERT_EQ(bruck_lane(nodes, lanes, part.from, round, lane).to, self);
          have += part.count;
        }
      }
      ASSERT_EQ(have, nodes);
    }
  });
}

}  // namespace
}  // namespace tutti::network
