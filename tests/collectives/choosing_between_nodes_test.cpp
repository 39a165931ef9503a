// What is chosen for communicators whose ranks sit on several nodes, and that it carries the calls out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "collectives/collectives.h"
#include "collectives/prediction.h"
#include "collectives/spanning_ranks.h"

namespace tutti::test {
namespace {

const std::vector<int> three_nodes{0, 1, 1, 1, 2, 2};

/// Runs `body` on every rank, with the words of TUTTI_ALGORITHM.
void run(const std::string& words, const std::function<void(int, Collectives&)>& body,
         selection::Knowledge knowledge = {}) {
  Settings settings;
  settings.explain = "1";
  SpanningRanks ranks(three_nodes, settings);
  set_user_choice(knowledge, selection::UserChoice::parse(words, all_known_algorithms(), Log()));
  ranks.run([&](int rank, const Spanning& spanning) {
    Collectives collectives(spanning.inside, knowledge, &spanning);
    body(rank, collectives);
  });
  EXPECT_EQ(ranks.unmatched(), 0u);
}

/// What a rank sends.
int value_of(int rank) {
  return 10 * rank + 1;
}

void allgather(int rank, Collectives& collectives, bool by_host = false) {
  const int own = value_of(rank);
  std::vector<int> all(three_nodes.size(), -1);
  AllgatherArguments arguments;
  arguments.send = reinterpret_cast<const std::byte*>(&own);
  arguments.bytes = sizeof own;
  arguments.receive = Blocks::regular(reinterpret_cast<std::byte*>(all.data()), sizeof own);
  ASSERT_EQ(collectives.allgather(arguments), !by_host);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], by_host ? -1 : value_of(static_cast<int>(i)));
}

/// For an operator that commutes.
std::optional<Predictions> predicted(std::string_view collective, const network::Nodes& nodes, std::size_t bytes,
                                     const selection::Knowledge& knowledge) {
  return predict(collective, shape_between_nodes(nodes, collective, bytes, true), knowledge);
}

TEST(ChoosingBetweenNodes, RanksAreThoseOfAllNodes) {
  run("", [](int rank, Collectives& collectives) {
    EXPECT_EQ(collectives.rank(), rank);
    EXPECT_EQ(collectives.size(), 6);
    EXPECT_EQ(collectives.nodes(), 3);
    EXPECT_EQ(collectives.shape().levels, 2);
  });
}

TEST(ChoosingBetweenNodes, TheCheapestCarriesTheCallOut) {
  run("", [](int rank, Collectives& collectives) {
    allgather(rank, collectives);
    const std::string small = collectives.last_algorithm();
    std::string cheapest;
    double least = 0;
    const auto told = predicted("allgather", network::Nodes(three_nodes), sizeof(int), {});
    for (const Prediction& each : told->candidates) {
      if (!each.seconds) continue;
      const double seconds = *each.seconds;
      if (!cheapest.empty() && seconds >= least) continue;
      cheapest = each.algorithm;
      least = seconds;
    }
    EXPECT_EQ(small, cheapest);
    EXPECT_EQ(small, told->algorithm);
    const CallRecord* const record = collectives.take_last_record();
    ASSERT_TRUE(record);
    EXPECT_STREQ(record->algorithm, small.c_str());
    EXPECT_EQ(record->reason, selection::Reason::model);
  });
}

TEST(ChoosingBetweenNodes, WhatTheUserNamesIsTaken) {
  for (const std::string name : {"multi-object-ring", "multi-object-bruck"})
    run("allgather:" + name, [&](int rank, Collectives& collectives) {
      allgather(rank, collectives);
      EXPECT_EQ(collectives.last_algorithm(), name);
      EXPECT_EQ(collectives.take_last_record()->reason, selection::Reason::user);
    });
}

/// By a table that says so for this communicator.
selection::Knowledge told_by_table(const std::string& collective, const std::string& algorithm, int nodes = 3) {
  selection::TableEntry entry;
  entry.collective = collective;
  entry.nodes_from = entry.nodes_to = nodes;
  entry.places_to = 3;
  entry.bytes_to = 1 << 20;
  entry.algorithm = algorithm;
  selection::Knowledge knowledge;
  knowledge.table =
      std::make_shared<const selection::Table>(selection::TableOrigin{}, std::vector<selection::TableEntry>{entry});
  return knowledge;
}

TEST(ChoosingBetweenNodes, WhatTheTableSaysIsTaken) {
  for (const std::string name : {"multi-object-ring", "multi-object-bruck"})
    run(
        "",
        [&](int rank, Collectives& collectives) {
          allgather(rank, collectives);
          EXPECT_EQ(collectives.last_algorithm(), name);
          EXPECT_EQ(collectives.take_last_record()->reason, selection::Reason::table);
        },
        told_by_table("allgather", name));
  run(
      "", [](int rank, Collectives& collectives) { allgather(rank, collectives, true); },
      told_by_table("allgather", "host"));
}

TEST(ChoosingBetweenNodes, ATableForOtherNodesSaysNothing) {
  run(
      "",
      [](int rank, Collectives& collectives) {
        allgather(rank, collectives);
        EXPECT_EQ(collectives.take_last_record()->reason, selection::Reason::model);
      },
      told_by_table("allgather", "host", 4));
}

TEST(ChoosingBetweenNodes, TheUserComesBeforeTheTable) {
  run(
      "allgather:multi-object-bruck",
      [](int rank, Collectives& collectives) {
        allgather(rank, collectives);
        EXPECT_STREQ(collectives.last_algorithm(), "multi-object-bruck");
        EXPECT_EQ(collectives.take_last_record()->reason, selection::Reason::user);
      },
      told_by_table("allgather", "multi-object-ring"));
}

TEST(ChoosingBetweenNodes, TheMeasuredNetworkDecides) {
  // Where a round costs nothing a ring is as good as any; where it costs much, few rounds are.
  const network::Nodes nodes(std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8});
  selection::Knowledge slow_start, slow_copies;
  slow_start.network.between_start = 1;
  slow_copies.network.between_start = 1e-9;
  slow_copies.network.inside_byte = 1;
  EXPECT_EQ(predicted("allgather", nodes, 1024, slow_start)->algorithm, "multi-object-bruck");
  EXPECT_EQ(predicted("allgather", nodes, 1024, slow_copies)->algorithm, "multi-object-ring");
}

TEST(ChoosingBetweenNodes, LongScansOfManyRunsAreTheHosts) {
  // All results of all runs go everywhere: 31 messages of each node's, where doubling takes 5.
  std::vector<int> each_for_itself(32);
  std::iota(each_for_itself.begin(), each_for_itself.end(), 0);
  const network::Nodes nodes(each_for_itself);
  selection::Knowledge knowledge;
  EXPECT_EQ(predicted("scan", nodes, 8, knowledge)->algorithm, "multi-object-ordered");
  EXPECT_EQ(predicted("scan", nodes, std::size_t{8} << 20, knowledge)->algorithm, selection::host_algorithm);
  set_user_choice(knowledge, selection::UserChoice::parse("scan:multi-object-ordered", all_known_algorithms(), Log()));
  EXPECT_EQ(predicted("scan", nodes, std::size_t{8} << 20, knowledge)->algorithm, "multi-object-ordered");
}

TEST(ChoosingBetweenNodes, NamesOfAlgorithmsInsideNodesSayNothing) {
  run("allgather:bruck", [](int rank, Collectives& collectives) {
    allgather(rank, collectives);
    EXPECT_EQ(collectives.take_last_record()->reason, selection::Reason::model);
  });
}

TEST(ChoosingBetweenNodes, TheHostIsTakenWhereItIsNamed) {
  run("allgather:host", [](int rank, Collectives& collectives) {
    allgather(rank, collectives, true);
    EXPECT_STREQ(collectives.last_algorithm(), selection::host_algorithm);
  });
}

TEST(ChoosingBetweenNodes, WhatCannotBeDoneIsDoneByAnother) {
  // Of blocks of different sizes.
  run("gatherv:multi-object-tree", [](int rank, Collectives& collectives) {
    const int own = value_of(rank);
    std::vector<int> all(three_nodes.size(), -1);
    const std::vector<std::size_t> sizes(all.size(), sizeof(int));
    std::vector<std::ptrdiff_t> offsets(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) offsets[i] = static_cast<std::ptrdiff_t>(i * sizeof(int));
    GatherArguments arguments;
    arguments.send = reinterpret_cast<const std::byte*>(&own);
    arguments.bytes = sizeof own;
    arguments.receive = Blocks::irregular(reinterpret_cast<std::byte*>(all.data()), sizes.data(), offsets.data());
    arguments.regular = false;
    arguments.root = 3;
    ASSERT_TRUE(collectives.gather(arguments));
    EXPECT_STREQ(collectives.last_algorithm(), "multi-object-sizes-tree");
    EXPECT_EQ(collectives.take_last_record()->reason, selection::Reason::refused);
    for (std::size_t i = 0; i < all.size() && rank == 3; ++i) EXPECT_EQ(all[i], value_of(static_cast<int>(i)));
  });
}

TEST(ChoosingBetweenNodes, NamesAreThoseOfOneKindOnly) {
  const auto inside = known_algorithms(), between = known_between_nodes();
  ASSERT_EQ(inside.size(), between.size());
  for (std::size_t i = 0; i < inside.size(); ++i) {
    EXPECT_EQ(inside[i].collective, between[i].collective);
    for (const std::string& name : between[i].algorithms)
      EXPECT_EQ(std::count(inside[i].algorithms.begin(), inside[i].algorithms.end(), name), 0) << name;
  }
}

}  // namespace
}  // namespace tutti::test
