#include "selection/machine.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tutti::selection {
namespace {

/// A file with the shipped parameters; `change` replaces the first occurrence of its key by its value.
std::string file(const std::string& from = "", const std::string& to = "") {
  std::string text = R"({"schema": "tutti-probe-1", "date": "2026-01-02T03:04:05+00:00", "kernel": "Linux 6.1",
 "machine": {"processor": "Some Processor", "cores": 4, "topology": "1 socket"}, "unknown": [1, 2], "model": {)";
  const Model shipped;
  for (const ModelField& field : model_fields())
    text += std::string(field.name == model_fields().front().name ? "" : ", ") + "\"" + field.name +
            "\": " + std::to_string(shipped.*field.member * 1e15) + "e-15";
  text += "}}";
  if (const auto at = text.find(from); !from.empty() && at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

std::string error_of(const std::string& text) {
  std::string error;
  EXPECT_FALSE(parse_probe(text, error)) << text;
  EXPECT_FALSE(error.empty());
  EXPECT_EQ(error.find('\n'), std::string::npos) << "one line";
  return error;
}

/// The value of a field replaced by `value`.
std::string with(const std::string& field, const std::string& value) {
  std::string text = file();
  const auto at = text.find("\"" + field + "\": ") + field.size() + 4;
  return text.replace(at, text.find_first_of(",}", at) - at, value);
}

TEST(ProbeFile, GivesTheParametersAndWhereTheyAreFrom) {
  std::string error;
  const auto probe = parse_probe(with("hop", "2.5e-7"), error);
  ASSERT_TRUE(probe) << error;
  EXPECT_DOUBLE_EQ(probe->model.hop, 2.5e-7);
  EXPECT_NEAR(probe->model.remote_byte, Model().remote_byte, 1e-14);
  EXPECT_EQ(probe->machine.processor, "Some Processor");
  EXPECT_EQ(probe->machine.cores, 4);
  EXPECT_EQ(probe->kernel, "Linux 6.1");
  EXPECT_EQ(probe->date.substr(0, 4), "2026");
}

TEST(ProbeFile, WithoutDistancesIsOfAnOlderVersion) {
  std::string text = file();
  for (const char* field : {"hop_numa", "hop_socket", "hop_machine", "byte_numa", "byte_socket", "byte_machine"}) {
    const auto at = text.find(std::string("\"") + field + "\"");
    ASSERT_NE(at, std::string::npos);
    text.erase(at, text.find(',', at) + 2 - at);
  }
  std::string error;
  const auto probe = parse_probe(text, error);
  ASSERT_TRUE(probe) << error;
  EXPECT_EQ(probe->model.hop_machine, Model().hop_machine);
  EXPECT_NE(error_of(with("hop_machine", "0.5")).find("hop_machine"), std::string::npos) << "nearer than the nearest";
}

TEST(ProbeFile, OfBeforeWhatManyGetTogetherHasTheShippedValues) {
  std::string text = file();
  for (const char* field : {"rank_byte", "node_byte", "link_byte", "total_byte", "page_bytes"}) {
    const auto at = text.find(std::string("\"") + field + "\"");
    ASSERT_NE(at, std::string::npos) << field;
    text.erase(at, text.find(',', at) + 2 - at);
  }
  std::string error;
  const auto probe = parse_probe(text, error);
  ASSERT_TRUE(probe) << error;
  EXPECT_EQ(probe->model.rank_byte, Model().rank_byte);
  EXPECT_EQ(probe->model.total_byte, Model().total_byte);
  EXPECT_EQ(probe->model.page_bytes, Model().page_bytes);
  EXPECT_NE(error_of(with("rank_byte", "0")).find("rank_byte"), std::string::npos);
}

TEST(ProbeFile, OfBeforeWhatIsPaidLaterTellsItByTheLinesThatOthersHaveRead) {
  std::string text = with("slot_byte", "5e-10");
  for (const std::string name : {"\"left_byte\"", "\"found_byte\"", "\"found_streamed_byte\""}) {
    const auto at = text.find(name);
    ASSERT_NE(at, std::string::npos);
    text.erase(at, text.find(',', at) + 2 - at);
  }
  std::string error;
  const auto probe = parse_probe(text, error);
  ASSERT_TRUE(probe) << error;
  const double more = 5e-10 - probe->model.copy_byte;
  EXPECT_DOUBLE_EQ(probe->model.left_byte, more);
  EXPECT_DOUBLE_EQ(probe->model.found_byte, more);
  EXPECT_DOUBLE_EQ(probe->model.found_streamed_byte, more);
}

TEST(ProbeFile, OfBeforeBusyTurnsHasTurnsOfOneKind) {
  std::string text = with("turn", "3e-7");
  const auto at = text.find("\"busy_turn\"");
  ASSERT_NE(at, std::string::npos);
  text.erase(at, text.find(',', at) + 2 - at);
  std::string error;
  const auto probe = parse_probe(text, error);
  ASSERT_TRUE(probe) << error;
  EXPECT_EQ(probe->model.turn, 3e-7);
  EXPECT_EQ(probe->model.busy_turn, 3e-7);
}

/// With a section of `tutti probe --network`.
std::string with_network(const std::string& section) {
  return file("\"unknown\": [1, 2]", "\"network\": " + section);
}
const std::string network_section =
    R"({"between_start": 2e-6, "between_byte": 1e-10, "message_rate": 5e6, "date": "2026-02-03T04:05:06+00:00",
        "host": "MPICH 5.0.2", "nodes": 4, "ranks_per_node": 18})";

TEST(ProbeFile, MayHaveWhatWasMeasuredBetweenNodes) {
  std::string error;
  EXPECT_FALSE(parse_probe(file(), error)->network);
  const auto probe = parse_probe(with_network(network_section), error);
  ASSERT_TRUE(probe) << error;
  ASSERT_TRUE(probe->network);
  EXPECT_EQ(probe->network->words(), "measured 2026-02-03T04:05:06+00:00 with MPICH 5.0.2 on 4 nodes of 18 ranks");
  const network::Parameters found = parameters_of(probe->model, probe->network);
  EXPECT_DOUBLE_EQ(found.between_start, 2e-6);
  EXPECT_DOUBLE_EQ(found.between_byte, 1e-10);
  EXPECT_DOUBLE_EQ(found.message_rate, 5e6);
  EXPECT_NEAR(found.inside_start, network::Parameters().inside_start, 1e-12);
  EXPECT_EQ(found.unasked_bytes, 0);
}

TEST(ProbeFile, MayHaveTheLongestMessageForWhichNobodyIsAsked) {
  std::string error;
  const auto probe = parse_probe(
      with_network(R"({"between_start": 2e-6, "between_byte": 1e-10, "message_rate": 5e6, "unasked_bytes": 16384})"),
      error);
  ASSERT_TRUE(probe && probe->network) << error;
  network::Parameters found = parameters_of(probe->model, probe->network);
  EXPECT_EQ(found.unasked_bytes, 16384);
  // A round trip of 4 us, in which a node starts 20 messages.
  EXPECT_EQ(found.pieces_instead_of_asking(1), 20);
  EXPECT_EQ(found.pieces_instead_of_asking(3), 6);
  EXPECT_EQ(found.pieces_instead_of_asking(18), 1);
  EXPECT_EQ(found.pieces_instead_of_asking(64), 1);
  found.between_start = 1e-3;
  EXPECT_EQ(found.pieces_instead_of_asking(18), 64);
}

TEST(ProbeFile, ANetworkThatWasMeasuredIsUsedUnlessTheSettingSaysNo) {
  const MeasuredNetwork measured;
  MeasuredNetwork one_machine;
  one_machine.make_believe = true;
  EXPECT_TRUE(spans_nodes("auto", measured));
  EXPECT_FALSE(spans_nodes("auto", one_machine));
  EXPECT_FALSE(spans_nodes("auto", std::nullopt));
  EXPECT_TRUE(spans_nodes("1", std::nullopt));
  EXPECT_FALSE(spans_nodes("0", measured));
}

TEST(ProbeFile, WhatNoNetworkHasIsRefused) {
  EXPECT_NE(error_of(with_network("[]")).find("no section"), std::string::npos);
  EXPECT_NE(error_of(with_network(R"({"between_start": 2e-6})")).find("between_byte"), std::string::npos);
  EXPECT_NE(error_of(with_network(R"({"between_start": -1, "between_byte": 1e-10, "message_rate": 1})"))
                .find("no network has"),
            std::string::npos);
}

TEST(ParametersBetweenNodes, AreOfTheModelInsideAndShippedBetweenWithoutAMeasurement) {
  const network::Parameters shipped, found = parameters_of(Model(), std::nullopt);
  EXPECT_DOUBLE_EQ(found.between_start, shipped.between_start);
  EXPECT_DOUBLE_EQ(found.between_byte, shipped.between_byte);
  EXPECT_DOUBLE_EQ(found.message_rate, shipped.message_rate);
  EXPECT_DOUBLE_EQ(found.inside_start, shipped.inside_start);
  EXPECT_DOUBLE_EQ(found.inside_byte, shipped.inside_byte);
  EXPECT_DOUBLE_EQ(found.reduce_byte, shipped.reduce_byte);
  Model slow;
  slow.hop = 1e-6;
  EXPECT_DOUBLE_EQ(parameters_of(slow, std::nullopt).inside_start, 2e-6);
}

TEST(ProbeFile, CutOffAnywhereIsRefused) {
  const std::string whole = file();
  for (std::size_t length = 0; length < whole.size(); ++length) error_of(whole.substr(0, length));
}

TEST(ProbeFile, OfANewerSchemaIsRefusedWithItsName) {
  EXPECT_NE(error_of(file("probe-1", "probe-2")).find("newer"), std::string::npos);
  EXPECT_NE(error_of(file("tutti-probe-1", "something")).find("no file of tutti probe"), std::string::npos);
  EXPECT_NE(error_of("[]").find("no file"), std::string::npos);
  EXPECT_NE(error_of("{}").find("no file"), std::string::npos);
}

TEST(ProbeFile, ValuesThatNoMachineHasAreRefusedByName) {
  for (const char* value : {"-1", "0", "NaN", "1e999", "null", "\"fast\"", "1", "[]"})
    error_of(with("remote_byte", value));
  for (const char* field : {"hop", "private_cache", "kernel_start", "turn"})
    EXPECT_NE(error_of(with(field, "-3")).find(field), std::string::npos);
  EXPECT_NE(error_of(file("\"hop\"", "\"hip\"")).find("hop"), std::string::npos);
}

TEST(ProbeFile, WhateverIsInItAMessageIsOneLineWithoutControlCharacters) {
  const auto expect_plain = [](const std::string& message) {
    EXPECT_FALSE(message.empty());
    EXPECT_LT(message.size(), 500u);
    for (const char letter : message) EXPECT_TRUE(static_cast<unsigned char>(letter) >= 0x20 && letter != 0x7f);
    EXPECT_EQ(message.find("\xc2\x9b"), std::string::npos) << "begins a sequence as ESC [ does";
  };
  expect_plain(error_of(file("tutti-probe-1", R"(tutti-probe-2\n\u001b[31m)" + std::string(5000, 'x'))));
  std::string error;
  const auto probe = parse_probe(file("Some Processor", R"(A\nB\u001b[31mC\u009b31m\u007f)"), error);
  ASSERT_TRUE(probe) << error;
  EXPECT_EQ(probe->machine.processor, "A?B?[31mC?31m?");
  expect_plain(why_other_machine(probe->machine, {"A", 4, ""}));
  const auto dated = parse_probe(file("2026-01-02T03:04:05+00:00", std::string(199, 'x') + "\u00e9"), error);
  ASSERT_TRUE(dated) << error;
  EXPECT_EQ(dated->date, std::string(199, 'x')) << "no letter is cut in two";
}

TEST(ProbeFile, WithoutAMachineIsRefused) {
  error_of(file("\"machine\"", "\"Machine\""));
  error_of(file("\"cores\": 4", "\"cores\": 0"));
  error_of(file("\"cores\": 4", "\"cores\": 1e300"));
  error_of(file("\"cores\": 4", "\"cores\": \"4\""));
}

TEST(ProbeFile, OfAnotherMachineIsRefusedInWords) {
  const MachineIdentity measured{"A", 4, ""};
  EXPECT_EQ(why_other_machine(measured, {"A", 4, ""}), "");
  EXPECT_NE(why_other_machine(measured, {"B", 4, ""}).find("\"B\""), std::string::npos);
  EXPECT_NE(why_other_machine(measured, {"A", 8, ""}).find("8"), std::string::npos);
  EXPECT_EQ(why_other_machine(measured, {"", 4, ""}), "") << "a machine that is only described has no processor";
  const MachineIdentity two_caches{"A", 4, "1 socket, 2 L3"};
  EXPECT_EQ(why_other_machine(two_caches, {"A", 4, "1 socket, 2 L3"}), "");
  EXPECT_EQ(why_other_machine(two_caches, {"A", 4, "1 socket, 1 L3"}),
            "it was measured on a machine of 1 socket, 2 L3, this has 1 socket, 1 L3");
  EXPECT_EQ(why_other_machine(measured, {"A", 4, "1 socket, 1 L3"}), "") << "a file that does not say fits any";
  EXPECT_EQ(why_other_machine(two_caches, {"A", 4, ""}), "");
}

TEST(ProbeFile, OfADescribedMachineIsTakenByItsCores) {
  std::string error;
  const auto machine = topology::Machine::load("package:2 numa:8 core:10 pu:1", error);
  ASSERT_TRUE(machine) << error;
  const MachineIdentity identity = identity_of(*machine);
  EXPECT_EQ(identity.cores, 160);
  EXPECT_EQ(identity.processor, "");
  EXPECT_EQ(identity.topology, "2 sockets, 16 NUMA nodes, 0 L3, 0 L2, 160 cores, 160 units");
  EXPECT_EQ(why_other_machine({"A", 160, ""}, identity), "");
  EXPECT_NE(why_other_machine({"A", 2, ""}, identity).find("160"), std::string::npos);
}

TEST(ModelFields, AreAllOfThemOnce) {
  std::set<std::string> names;
  for (const ModelField& field : model_fields()) names.insert(field.name);
  EXPECT_EQ(names.size(), model_fields().size());
  EXPECT_EQ(names.size() * sizeof(double), sizeof(Model)) << "a field of the model is missing in the table";
  const Model shipped;
  for (const ModelField& field : model_fields()) {
    EXPECT_GE(shipped.*field.member, field.least) << field.name;
    EXPECT_LE(shipped.*field.member, field.most) << field.name;
  }
}

}  // namespace
}  // namespace tutti::selection
