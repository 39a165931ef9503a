#include "selection/table.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "selection/algorithm.h"

namespace tutti::selection {
namespace {

using nlohmann::ordered_json;

struct Nothing {};

const Algorithm<Nothing> quick_but_small{"quick",
                                         {},
                                         {"at most 100 bytes", [](const Shape& shape) { return shape.bytes <= 100; }},
                                         [](const Shape&) { return Cost{.hops = 1}; },
                                         {nullptr, {}}};
const Algorithm<Nothing> slow{
    "slow", {}, requires_nothing, [](const Shape&) { return Cost{.hops = 10}; }, {nullptr, {}}};
const Algorithm<Nothing> counted{"counted",
                                 {},
                                 {"an even k", [](const Shape& shape) { return shape.parameter % 2 == 0; }},
                                 [](const Shape& shape) { return Cost{.hops = 20.0 + shape.parameter}; },
                                 {nullptr, {}},
                                 {},
                                 Parameter{"k", [](const Shape&, int index) { return index == 0 ? 2 : 0; }}};
const std::array<const Algorithm<Nothing>*, 3> all{&quick_but_small, &slow, &counted};
const std::vector<Known> known{{"bcast", {"quick", "slow", "counted"}, {"", "", "k"}, {"", "lent", ""}},
                               {"neighbor", {"direct"}, {""}, {""}}};

ordered_json entry(const std::string& algorithm, std::size_t from = 0, std::size_t to = 1000) {
  return {{"collective", "bcast"}, {"ranks", {2, 2}},     {"levels", 1},           {"ranks_per_core", 1},
          {"reach", "mapped"},     {"bytes", {from, to}}, {"algorithm", algorithm}};
}

ordered_json document(std::vector<ordered_json> entries) {
  return {{"schema", "tutti-table-1"},
          {"machine", {{"processor", "Some 9000"}, {"cores", 2}, {"topology", "1 socket, 2 cores"}}},
          {"host", {{"name", "MPICH"}, {"version", "5.0.2"}}},
          {"entries", std::move(entries)}};
}

std::shared_ptr<const Table> table_of(std::vector<ordered_json> entries) {
  auto parsed = parse_table(document(std::move(entries)).dump(), known);
  EXPECT_TRUE(parsed.table) << parsed.error;
  EXPECT_TRUE(parsed.left_out.empty());
  return std::make_shared<const Table>(std::move(*parsed.table));
}

UserChoice user(const char* text) {
  return UserChoice::parse(text, known, Log());
}

Chosen<Nothing> chosen(std::shared_ptr<const Table> table, std::size_t bytes, const char* text = "") {
  Shape shape;
  shape.bytes = bytes;
  Knowledge knowledge;
  knowledge.user = user(text);
  knowledge.table = std::move(table);
  return choose<Nothing>("bcast", all, shape, knowledge);
}

std::string error_of(const std::string& text) {
  const auto parsed = parse_table(text, known);
  EXPECT_FALSE(parsed.table) << text;
  EXPECT_EQ(parsed.error.find('\n'), std::string::npos);
  return parsed.error;
}

TEST(Table, ItsAlgorithmIsTakenWhereTheModelHasACheaperOne) {
  const auto choice = chosen(table_of({entry("slow")}), 50);
  EXPECT_EQ(choice.algorithm, &slow);
  EXPECT_EQ(choice.reason, Reason::table);
}

TEST(Table, WhereItSaysNothingTheModelChooses) {
  const auto choice = chosen(table_of({entry("slow", 200, 300)}), 50);
  EXPECT_EQ(choice.algorithm, &quick_but_small);
  EXPECT_EQ(choice.reason, Reason::model);
  EXPECT_EQ(choice.refused_entry, nullptr);
}

TEST(Table, BothEndsOfARangeBelongToIt) {
  const auto table = table_of({entry("slow", 10, 50)});
  EXPECT_EQ(chosen(table, 9).reason, Reason::model);
  EXPECT_EQ(chosen(table, 10).reason, Reason::table);
  EXPECT_EQ(chosen(table, 50).reason, Reason::table);
  EXPECT_EQ(chosen(table, 51).reason, Reason::model);
}

TEST(Table, WhatIsNotEligibleIsNeverTaken) {
  const auto table = table_of({entry("quick")});
  const auto choice = chosen(table, 500);
  EXPECT_EQ(choice.algorithm, &slow);
  EXPECT_EQ(choice.reason, Reason::model);
  ASSERT_NE(choice.refused_entry, nullptr);
  EXPECT_EQ(choice.refused_entry->algorithm, "quick");
}

TEST(Table, EligibilityIsAskedWithTheParameter) {
  ordered_json even = entry("counted"), odd = entry("counted");
  even["parameter"] = 8;
  odd["parameter"] = 7;
  EXPECT_EQ(chosen(table_of({even}), 1).parameter, 8);
  EXPECT_EQ(chosen(table_of({odd}), 1).algorithm, &quick_but_small);
}

TEST(Table, TheHostMayBeItsChoice) {
  const auto choice = chosen(table_of({entry("host")}), 1);
  EXPECT_EQ(choice.algorithm, nullptr);
  EXPECT_EQ(choice.reason, Reason::table);
}

TEST(Table, TheUserComesFirst) {
  const auto table = table_of({entry("slow")});
  EXPECT_EQ(chosen(table, 1, "bcast:quick").algorithm, &quick_but_small);
  EXPECT_EQ(chosen(table, 1, "bcast:quick").reason, Reason::user);
  EXPECT_EQ(chosen(table, 1, "bcast:^slow").algorithm, &quick_but_small);
  EXPECT_EQ(chosen(table, 1, "bcast:^quick").reason, Reason::table);
  EXPECT_EQ(chosen(table_of({entry("host")}), 1, "bcast:slow").algorithm, &slow);
  EXPECT_EQ(chosen(table_of({entry("host")}), 1, "bcast:^host").algorithm, &quick_but_small);
}

const std::vector<Known> known_between{{"bcast", {"tree", "ring"}, {}, {}}, {"neighbor", {}, {}, {}}};

ordered_json between(const std::string& algorithm, std::vector<int> nodes = {2, 4}, std::vector<int> places = {1, 3}) {
  return {{"collective", "bcast"},
          {"nodes", nodes},
          {"ranks_per_node", places},
          {"bytes", {0, 1000}},
          {"algorithm", algorithm}};
}

Shape of_nodes(int nodes, int places, std::size_t bytes, bool commutative) {
  Shape shape;
  shape.nodes = nodes;
  shape.places = places;
  shape.bytes = bytes;
  shape.commutative = commutative;
  return shape;
}

ParsedTable parsed_between(std::vector<ordered_json> entries) {
  ordered_json text = document({entry("slow")});
  text["between_nodes"] = std::move(entries);
  return parse_table(text.dump(), known, known_between);
}

TEST(Table, EntriesBetweenNodesHaveNodesAndRanksInTheirKeys) {
  const ParsedTable parsed = parsed_between({between("ring"), between("host", {5, 9})});
  ASSERT_TRUE(parsed.table) << parsed.error;
  EXPECT_TRUE(parsed.left_out.empty());
  const auto name = [&](int nodes, int places, std::size_t bytes, bool commutes = true) -> std::string {
    const TableEntry* found = parsed.table->find("bcast", of_nodes(nodes, places, bytes, commutes));
    return found ? found->algorithm : "";
  };
  EXPECT_EQ(name(2, 1, 0), "ring");
  EXPECT_EQ(name(4, 3, 1000), "ring");
  EXPECT_EQ(name(5, 3, 8), "host");
  EXPECT_EQ(name(4, 4, 8), "");
  EXPECT_EQ(name(10, 3, 8), "");
  EXPECT_EQ(name(4, 3, 1001), "");
  EXPECT_EQ(name(4, 3, 8, false), "");
  EXPECT_EQ(parsed.table->find("reduce", of_nodes(2, 1, 8, true)), nullptr);
  // And that of one node.
  EXPECT_EQ(parsed.table->entries().size(), 3u);
}

TEST(Table, EntriesBetweenNodesThatNameNothingAreLeftOut) {
  const ParsedTable parsed = parsed_between({between("slow"), between("ring")});
  ASSERT_TRUE(parsed.table) << parsed.error;
  ASSERT_EQ(parsed.left_out.size(), 1u);
  EXPECT_NE(parsed.left_out[0].find("entry between nodes 1: bcast has no algorithm \"slow\" between nodes"),
            std::string::npos)
      << parsed.left_out[0];
  EXPECT_EQ(parsed.table->entries().size(), 2u);
}

TEST(Table, EntriesBetweenNodesThatAreNoneAreNoTable) {
  EXPECT_EQ(parsed_between({between("ring", {1, 4})}).error,
            "entry between nodes 1: \"nodes\" is not [from, to] with numbers from 2 on");
  EXPECT_EQ(parsed_between({between("ring"), between("ring", {2, 4}, {3, 1})}).error,
            "entry between nodes 2: \"ranks_per_node\" is not [from, to] with numbers from 1 on");
  ordered_json text = document({});
  text["between_nodes"] = 1;
  EXPECT_EQ(parse_table(text.dump(), known, known_between).error, "its \"between_nodes\" is no list");
}

TEST(Table, AnEntryIsForOneKindOfCommunicator) {
  const auto table = table_of({entry("slow")});
  Shape shape;
  shape.bytes = 8;
  EXPECT_NE(table->find("bcast", shape), nullptr);
  EXPECT_EQ(table->find("reduce", shape), nullptr);
  for (const auto& change : std::vector<void (*)(Shape&)>{
           [](Shape& other) { other.ranks = 3; }, [](Shape& other) { other.levels = 2; },
           [](Shape& other) { other.ranks_per_core = 2; }, [](Shape& other) { other.reach = Reach::staged; },
           [](Shape& other) { other.commutative = false; }}) {
    Shape other = shape;
    change(other);
    EXPECT_EQ(table->find("bcast", other), nullptr);
  }
}

TEST(Table, OtherNamesOfAlgorithmsAreUnderstood) {
  EXPECT_EQ(chosen(table_of({entry("lent")}), 1).algorithm, &slow);
}

TEST(Table, EntriesThatNameWhatThereIsNotAreLeftOutAlone) {
  ordered_json no_such = entry("slwo"), without = entry("counted"), with = entry("slow"), where = entry("slow");
  with["parameter"] = 3;
  where["collective"] = "bcats";
  const auto parsed = parse_table(document({no_such, without, with, where, entry("slow")}).dump(), known);
  ASSERT_TRUE(parsed.table);
  EXPECT_EQ(parsed.table->entries().size(), 1u);
  ASSERT_EQ(parsed.left_out.size(), 4u);
  EXPECT_NE(parsed.left_out[0].find("entry 1: bcast has no algorithm \"slwo\" (the nearest is \"slow\")"),
            std::string::npos);
}

TEST(Table, RanksThatDoNotKnowEachOthersSizesCannotChooseByThem) {
  ordered_json neighbor = entry("host");
  neighbor["collective"] = "neighbor";
  EXPECT_EQ(parse_table(document({neighbor}).dump(), known).left_out.size(), 1u);
}

TEST(Table, EveryTruncationIsRefusedInOneLine) {
  const std::string text = document({entry("slow"), entry("quick")}).dump();
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(error_of(text.substr(0, length)).find("no JSON, or cut off"), std::string::npos);
}

TEST(Table, OtherSchemasAreRefused) {
  auto newer = document({});
  newer["schema"] = "tutti-table-2";
  EXPECT_NE(error_of(newer.dump()).find("newer"), std::string::npos);
  for (const char* other : {"tutti-probe-1", "", "tutti-table-x", "tutti-table--1"}) {
    newer["schema"] = other;
    EXPECT_NE(error_of(newer.dump()).find("no table of tutti tune"), std::string::npos);
  }
  for (const char* text : {"[]", "3", "null", "\"tutti-table-1\"", "{}"}) error_of(text);
}

TEST(Table, FieldsOfTheWrongKindAreRefused) {
  const std::vector<std::pair<const char*, ordered_json>> wrong{
      {"collective", 3},
      {"ranks", 2},
      {"ranks", {2}},
      {"ranks", {4, 2}},
      {"ranks", {1, 2}},
      {"ranks", {2, 1e9}},
      {"ranks", {2, std::uint64_t{1} << 63}},
      {"levels", 0},
      {"levels", "1"},
      {"ranks_per_core", 0},
      {"ranks_per_core", nullptr},
      {"reach", "window"},
      {"bytes", {-1, 10}},
      {"bytes", {0, 18446744073709551615u}},
      {"bytes", "all"},
      {"algorithm", nullptr},
      {"parameter", -1},
      {"parameter", 1.5},
      {"commutative", 1},
  };
  for (const auto& [name, value] : wrong) {
    ordered_json broken = entry("slow");
    broken[name] = value;
    EXPECT_NE(error_of(document({broken}).dump()).find(name), std::string::npos) << broken;
    broken = entry("slow");
    if (std::string(name) == "parameter" || std::string(name) == "commutative") continue;
    broken.erase(name);
    EXPECT_NE(error_of(document({broken}).dump()).find(name), std::string::npos) << broken;
  }
  auto no_list = document({});
  no_list["entries"] = 5;
  EXPECT_NE(error_of(no_list.dump()).find("entries"), std::string::npos);
  no_list = document({3});
  error_of(no_list.dump());
}

TEST(Table, WhateverIsInAFileAMessageIsOneLine) {
  auto other = document({});
  other["machine"]["processor"] = std::string(5000, 'x') + "\n\033[2J";
  other["machine"]["topology"] = "two\nlines";
  auto parsed = parse_table(other.dump(), known);
  ASSERT_TRUE(parsed.table);
  const std::string why = why_other_origin(parsed.table->origin(), {{"Some 9000", 2, "1 socket"}, "MPICH", "5.0.2"});
  EXPECT_LT(why.size(), 500u);
  EXPECT_EQ(parsed.table->origin().machine.topology, "two?lines");
  parsed = parse_table(document({entry("a\nb")}).dump(), known);
  ASSERT_EQ(parsed.left_out.size(), 1u);
  EXPECT_EQ(parsed.left_out[0].find('\n'), std::string::npos);
}

TEST(Table, DamageOfAnyKindIsRefusedOrHarmless) {
  ordered_json counted_entry = entry("counted");
  counted_entry["parameter"] = 4;
  const std::string text = document({entry("slow"), entry("quick", 5, 50), counted_entry, entry("host")}).dump();
  std::mt19937 random(20261);
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = text;
    for (unsigned i = 0; i <= random() % 3; ++i) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged.erase(at, 1 + random() % 20);
          break;
        default:
          damaged.insert(at, 1, "0123456789-.e\"[]{},"[random() % 20]);
      }
      if (damaged.empty()) break;
    }
    auto parsed = parse_table(damaged, known);
    EXPECT_NE(parsed.table.has_value(), !parsed.error.empty());
    if (!parsed.table) continue;
    const auto table = std::make_shared<const Table>(std::move(*parsed.table));
    for (const std::size_t bytes : {0u, 20u, 200u}) {
      const auto choice = chosen(table, bytes);
      if (!choice.algorithm) continue;
      Shape shape;
      shape.bytes = bytes;
      shape.parameter = choice.parameter;
      EXPECT_TRUE(choice.algorithm->eligible(shape));
    }
  }
}

TEST(Table, DeepNestingIsNoDanger) {
  error_of(std::string(200'000, '['));
  error_of("{\"schema\":\"tutti-table-1\",\"entries\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}");
}

TEST(Table, ItIsForOneMachineOneTopologyAndOneHost) {
  const TableOrigin here{{"Some 9000", 2, "1 socket, 2 cores"}, "MPICH", "5.0.2"};
  EXPECT_EQ(why_other_origin(table_of({})->origin(), here), "");
  const auto why = [&](auto change) {
    TableOrigin other = here;
    change(other);
    return why_other_origin(other, here);
  };
  EXPECT_NE(why([](TableOrigin& other) { other.machine.processor = "Other"; }).find("\"Other\""), std::string::npos);
  EXPECT_NE(why([](TableOrigin& other) { other.machine.cores = 4; }), "");
  EXPECT_NE(why([](TableOrigin& other) { other.machine.topology = "2 sockets, 2 cores"; }).find("2 sockets"),
            std::string::npos);
  EXPECT_NE(why([](TableOrigin& other) { other.host = "Open MPI"; }).find("Open MPI"), std::string::npos);
  EXPECT_NE(why([](TableOrigin& other) { other.host_version = "5.0.1"; }).find("5.0.1"), std::string::npos);
}

TEST(Table, TablesOfLargeMachinesAreReadAndRefusedOnOthers) {
  std::string error;
  const auto large = topology::Machine::load("package:2 numa:8 core:160 pu:1", error);
  const auto small = topology::Machine::load("package:1 core:2 pu:1", error);
  ASSERT_TRUE(large && small);
  const MachineIdentity identity = identity_of(*large);
  ordered_json text = document({});
  text["machine"] = {{"processor", ""}, {"cores", identity.cores}, {"topology", identity.topology}};
  for (int ranks = 2; ranks <= 2560; ++ranks)
    for (std::size_t bytes = 1; bytes <= 4096; bytes *= 4) {
      ordered_json one = entry("slow", bytes / 4 + 1, bytes);
      one["ranks"] = {ranks, ranks};
      one["levels"] = 3;
      text["entries"].push_back(one);
    }
  const auto parsed = parse_table(text.dump(), known);
  ASSERT_TRUE(parsed.table) << parsed.error;
  EXPECT_EQ(why_other_origin(parsed.table->origin(), {identity, "MPICH", "5.0.2"}), "");
  EXPECT_NE(why_other_origin(parsed.table->origin(), {identity_of(*small), "MPICH", "5.0.2"}), "");
  Shape shape;
  shape.ranks = 2560;
  shape.levels = 3;
  shape.bytes = 4096;
  EXPECT_NE(parsed.table->find("bcast", shape), nullptr);
}

}  // namespace
}  // namespace tutti::selection
