#include "topology/resources.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "topology/machines.h"
#include "topology/rank_partition.h"

namespace tutti::topology {
namespace {

using testing::shuffled;

using Kind = AskedResource::Kind;

Resources resources_of(const std::string& description) {
  std::string error;
  const auto resources = Resources::load(description, error);
  if (!resources) {
    ADD_FAILURE() << description << ": " << error;
    return {};
  }
  return *resources;
}

std::vector<std::string> names_of(const Resources& resources) {
  std::vector<std::string> names;
  for (const ResourceType& type : resources.types()) names.push_back(type.name);
  return names;
}

/// Ranks on the units of a described machine, all types of each, as next_level() takes them.
std::vector<int> objects_of_ranks(const Resources& resources, const std::vector<int>& units) {
  std::vector<int> all;
  for (const int unit : units)
    for (const int object : resources.objects_of({}, unit)) all.push_back(object);
  return all;
}

TEST(Resources, AreAllTypesOfTheMachineTheOutermostFirst) {
  const Resources resources = resources_of("package:2 die:2 numa:2 l3:1 l2:4 l1d:1 core:1 pu:2");
  const std::vector<std::string> names = names_of(resources);
  EXPECT_EQ(names,
            (std::vector<std::string>{"Package", "Die", "NUMANode", "L3Cache", "L2Cache", "L1Cache", "Core", "PU"}));
  for (std::size_t i = 1; i < resources.types().size(); ++i)
    EXPECT_LE(resources.types()[i - 1].objects, resources.types()[i].objects);
}

TEST(Resources, AreFoundByEveryNameInUse) {
  const Resources resources = resources_of("package:2 l3:2 l2:2 core:2 pu:2");
  const int package = resources.find("Package");
  ASSERT_GE(package, 0);
  for (const char* name : {"package", "socket", "PACKAGE"}) EXPECT_EQ(resources.find(name), package) << name;
  const int l3 = resources.find("L3Cache");
  ASSERT_GE(l3, 0);
  for (const char* name : {"l3", "l3cache", "L3 cache", "l3ucache", "L3-Cache"})
    EXPECT_EQ(resources.find(name), l3) << name;
  EXPECT_GE(resources.find("NUMA node"), 0);
  EXPECT_EQ(resources.find("hwthread"), resources.find("PU"));
  EXPECT_EQ(resources.find("l4cache"), -1);
}

TEST(Resources, AreAskedForByTheNamesOfTheStandardAndOfHosts) {
  for (const char* value : {"mpi_shared_memory", "mpi://mpi_shared_memory", "node", "Node", "host", "hwloc://Machine"})
    EXPECT_EQ(parse_resource(value).kind, Kind::node) << value;
  for (const char* value : {"NUMANode", "NUMA node", "hwloc://NUMANode", "numa"}) {
    EXPECT_EQ(parse_resource(value).kind, Kind::type) << value;
    EXPECT_EQ(parse_resource(value).type, "numanode") << value;
  }
  for (const char* value :
       {"hwloc://Group", "hwloc://Group0", "hwloc://Die", "hwloc://L4Cache", "hwthread", "Core", "L1 cache"})
    EXPECT_EQ(parse_resource(value).kind, Kind::type) << value;
  for (const char* value :
       {"", "nonsense", "hwloc://nonsense", "mpi://Core", "pmix://numa", "hwloc://", "://", "groupie"})
    EXPECT_EQ(parse_resource(value).kind, Kind::unknown) << value;
}

TEST(Resources, RanksOfADescribedMachineSitInOneObjectOfEachType) {
  const Resources resources = resources_of(testing::two_socket_machine);
  const int package = resources.find("package"), numa = resources.find("numa"), core = resources.find("core");
  ASSERT_TRUE(package >= 0 && numa >= 0 && core >= 0);
  for (int unit = 0; unit < 130; ++unit) {
    const std::vector<int> objects = resources.objects_of({}, unit);
    EXPECT_EQ(objects[static_cast<std::size_t>(package)], unit % 64 / 32);
    EXPECT_EQ(objects[static_cast<std::size_t>(numa)], unit % 64 / 8);
    EXPECT_EQ(objects[static_cast<std::size_t>(core)], unit % 64);
  }
}

TEST(Resources, WhoMayRunInSeveralObjectsIsInNone) {
  std::string error;
  const auto here = Resources::load("", error);
  ASSERT_TRUE(here) << error;
  const auto& units = here->machine().units();
  CpuSet all;
  for (const ProcessingUnit& unit : units) all.insert(unit.os_index);
  const std::vector<int> anywhere = here->objects_of(all, 0), unknown = here->objects_of({}, 0);
  const std::vector<int> bound = here->objects_of(CpuSet{units.front().os_index}, 0);
  for (std::size_t i = 0; i < here->types().size(); ++i) {
    EXPECT_EQ(anywhere[i], here->types()[i].objects == 1 ? 0 : -1) << here->types()[i].name;
    EXPECT_EQ(unknown[i], anywhere[i]);
    EXPECT_EQ(bound[i], 0) << here->types()[i].name;
  }
}

/// The names of the types that unguided splits go by, from all ranks down to one.
std::vector<std::string> unguided(const Resources& resources, std::vector<int> units) {
  std::vector<std::string> way;
  const auto types = static_cast<int>(resources.types().size());
  while (true) {
    const std::vector<int> all = objects_of_ranks(resources, units);
    const int level = next_level(all, types);
    if (level < 0) return way;
    const ResourceType& type = resources.types()[static_cast<std::size_t>(level)];
    way.push_back(type.name);
    const int object = type.object_of[static_cast<std::size_t>(units.front())];
    std::vector<int> rest;
    for (const int unit : units)
      if (type.object_of[static_cast<std::size_t>(unit)] == object) rest.push_back(unit);
    EXPECT_LT(rest.size(), units.size()) << "fewer ranks at each level";
    units = rest;
  }
}

TEST(NextLevel, GoesDownStepByStepAndEnds) {
  const Resources resources = resources_of("package:2 l3:3 core:2 pu:2");
  using Names = std::vector<std::string>;
  for (unsigned seed = 0; seed < 5; ++seed)
    EXPECT_EQ(unguided(resources, shuffled(24, seed)), (Names{"Package", "L3Cache", "Core", "PU"}));
  EXPECT_EQ(unguided(resources, {0, 2, 4, 6}), (Names{"L3Cache", "Core"})) << "all in one package";
  EXPECT_EQ(unguided(resources, {0, 1}), Names{"PU"});
  EXPECT_EQ(unguided(resources, {0, 12}), Names{"Package"}) << "alone after one step";
  EXPECT_EQ(unguided(resources, {7}), Names{});
}

TEST(NextLevel, WhoIsInNoneMakesTheOthersFewerThanAll) {
  EXPECT_EQ(next_level(std::vector<int>{0, 0, 0, 0, -1, -1}, 2), 0);
  EXPECT_EQ(next_level(std::vector<int>{-1, -1, -1, -1}, 2), -1) << "nobody is in any";
  EXPECT_EQ(next_level(std::vector<int>{-1, 1, -1, 2}, 2), 1);
  EXPECT_EQ(next_level({}, 2), -1);
  EXPECT_EQ(next_level(std::vector<int>{}, 0), -1);
}

/// Two packages of two cores; network cards as `devices` says, beside the second package.
std::string machine_with(const std::string& devices) {
  std::string text = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0xf" complete_cpuset="0xf" allowed_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0xf" complete_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1" gp_index="2" local_memory="1024"/>
)";
  for (int package = 0; package < 2; ++package) {
    const auto object = [&](const std::string& type, int index, int bits, int id) {
      char mask[16];
      std::snprintf(mask, sizeof mask, "0x%x", static_cast<unsigned>(bits));
      return "<object type=\"" + type + "\" os_index=\"" + std::to_string(index) + "\" cpuset=\"" + mask +
             "\" complete_cpuset=\"" + mask + "\" nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"" +
             std::to_string(id) + "\">";
    };
    text += object("Package", package, 3 << (2 * package), 10 + package);
    for (int core = 2 * package; core < 2 * package + 2; ++core)
      text +=
          object("Core", core, 1 << core, 20 + core) + object("PU", core, 1 << core, 30 + core) + "</object></object>";
    if (package == 1) text += devices;
    text += "</object>";
  }
  return text + "</object></topology>\n";
}

std::string bridge(const std::string& devices) {
  return R"(<object type="Bridge" gp_index="50" bridge_type="0-1" depth="0" bridge_pci="0000:[00-01]">)"
         R"(<object type="PCIDev" gp_index="51" pci_busid="0000:01:00.0" pci_type="0200 [15b3:1017] [15b3:0020] 00" pci_link_speed="0">)" +
         devices + "</object></object>";
}

class RecordedFile {
 public:
  explicit RecordedFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() / (std::to_string(getpid()) + "cards.xml")) {
    std::ofstream(path_) << content;
  }
  ~RecordedFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(NetworkCards, RanksBesideOneAreNearest) {
  const RecordedFile file(machine_with(bridge(R"(<object type="OSDev" gp_index="52" name="eth0" osdev_type="2"/>)")));
  const Resources resources = resources_of(file.path());
  const std::vector<CpuSet> cards = network_cards(file.path());
  ASSERT_EQ(cards.size(), 1U);
  EXPECT_EQ(cards.front(), (CpuSet{2, 3}));
  EXPECT_EQ(resources.network_distance(cards, {}, 2), 0);
  EXPECT_EQ(resources.network_distance(cards, {}, 3), 0);
  EXPECT_EQ(resources.network_distance(cards, {}, 0), 1) << "in the other package";
}

TEST(NetworkCards, AreNotThereOnADescribedMachine) {
  EXPECT_TRUE(network_cards(testing::two_socket_machine).empty());
  EXPECT_EQ(resources_of(testing::two_socket_machine).network_distance({}, {}, 0), -1);
}

}  // namespace
}  // namespace tutti::topology
