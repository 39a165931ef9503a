#include "topology/machine.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "topology/cpu_set.h"
#include "topology/machines.h"

namespace tutti::topology {
namespace {

using testing::machine_of;

/// A file that goes away with the test.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& content)
      : path_(std::filesystem::temp_directory_path() / (std::to_string(getpid()) + name)) {
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// A recorded machine in little: two sockets of one NUMA node and one L3, two cores each, with OS indices that
// alternate between the sockets, as many BIOSes number them, and a device that must not get in the way.
constexpr const char* small_xml = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" allowed_cpuset="0x0000000f" nodeset="0x00000003" complete_nodeset="0x00000003" allowed_nodeset="0x00000003" gp_index="1">
    <object type="Package" os_index="0" cpuset="0x00000005" complete_cpuset="0x00000005" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x00000005" complete_cpuset="0x00000005" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3" local_memory="1024"/>
      <object type="L3Cache" os_index="0" cpuset="0x00000005" complete_cpuset="0x00000005" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4" cache_size="8388608" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0">
        <object type="Core" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5">
          <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="6"/>
        </object>
        <object type="Core" os_index="1" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="7">
          <object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="8"/>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000a" complete_cpuset="0x0000000a" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="9">
      <object type="NUMANode" os_index="1" cpuset="0x0000000a" complete_cpuset="0x0000000a" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="10" local_memory="1024"/>
      <object type="L3Cache" os_index="1" cpuset="0x0000000a" complete_cpuset="0x0000000a" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="11" cache_size="8388608" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0">
        <object type="Core" os_index="2" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="12">
          <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="13"/>
        </object>
        <object type="Core" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="14">
          <object type="PU" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="15"/>
        </object>
      </object>
    </object>
  </object>
</topology>
)";

void expect_equal(const Machine& a, const Machine& b) {
  ASSERT_EQ(a.unit_count(), b.unit_count());
  for (std::size_t i = 0; i < a.units().size(); ++i) {
    EXPECT_EQ(a.units()[i].os_index, b.units()[i].os_index);
    EXPECT_EQ(a.units()[i].core, b.units()[i].core);
    EXPECT_EQ(a.units()[i].domain, b.units()[i].domain);
    EXPECT_EQ(a.find(a.units()[i].os_index), b.find(a.units()[i].os_index));
  }
  for (const LevelKind kind : all_level_kinds) EXPECT_EQ(a.domain_count(kind), b.domain_count(kind));
  EXPECT_EQ(a.core_count(), b.core_count());
  EXPECT_EQ(a.l2_bytes(), b.l2_bytes());
  EXPECT_EQ(a.l3_bytes(), b.l3_bytes());
  EXPECT_EQ(a.is_this_machine(), b.is_this_machine());
}

TEST(Machine, SyntheticDescriptionGivesItsDomains) {
  const Machine machine = machine_of("package:2 numa:4 core:8 pu:1");
  EXPECT_EQ(machine.unit_count(), 64);
  EXPECT_EQ(machine.core_count(), 64);
  EXPECT_EQ(machine.domain_count(LevelKind::socket), 2);
  EXPECT_EQ(machine.domain_count(LevelKind::numa), 8);
  EXPECT_EQ(machine.domain_count(LevelKind::l3), 0);
  const ProcessingUnit& unit = machine.units()[41];
  EXPECT_EQ(unit.domain[index_of(LevelKind::socket)], 1);
  EXPECT_EQ(unit.domain[index_of(LevelKind::numa)], 5);
  EXPECT_EQ(unit.domain[index_of(LevelKind::l3)], -1);
  EXPECT_EQ(machine.find(unit.os_index), 41);
  EXPECT_FALSE(machine.is_this_machine());
}

TEST(Machine, DescriptionWithoutUnitsGetsOneUnitPerCore) {
  const Machine machine = machine_of("pack:2 numa:8 core:10");
  EXPECT_EQ(machine.unit_count(), 160);
  EXPECT_EQ(machine.core_count(), 160);
  EXPECT_EQ(machine.domain_count(LevelKind::numa), 16);
}

TEST(Machine, CachesHyperthreadsAndTheirSizesAreRead) {
  const Machine machine = machine_of("package:2 l3:2(size=33554432) l2:4(size=1048576) core:1 pu:2");
  EXPECT_EQ(machine.unit_count(), 32);
  EXPECT_EQ(machine.core_count(), 16);
  EXPECT_EQ(machine.domain_count(LevelKind::l3), 4);
  EXPECT_EQ(machine.domain_count(LevelKind::l2), 16);
  EXPECT_EQ(machine.l3_bytes(), std::size_t{32} << 20);
  EXPECT_EQ(machine.l2_bytes(), std::size_t{1} << 20);
  EXPECT_EQ(machine.units()[0].core, machine.units()[1].core);
  EXPECT_NE(machine.units()[1].core, machine.units()[2].core);
}

TEST(Machine, SocketsInsideANumaNodeAndMemoryBesideSocketsAreRead) {
  const Machine spanning = machine_of("numa:2 package:2 core:2 pu:1");
  EXPECT_EQ(spanning.domain_count(LevelKind::numa), 2);
  EXPECT_EQ(spanning.domain_count(LevelKind::socket), 4);
  const Machine attached = machine_of("package:2 [numa] [numa] core:4 pu:1");
  EXPECT_EQ(attached.domain_count(LevelKind::numa), 2) << "two memories of one socket are one neighbourhood";
}

TEST(Machine, XmlFileIsRead) {
  const TemporaryFile file("machine.xml", small_xml);
  const Machine machine = machine_of(file.path());
  ASSERT_EQ(machine.unit_count(), 4);
  EXPECT_EQ(machine.domain_count(LevelKind::socket), 2);
  EXPECT_EQ(machine.domain_count(LevelKind::numa), 2);
  EXPECT_EQ(machine.domain_count(LevelKind::l3), 2);
  EXPECT_EQ(machine.l3_bytes(), std::size_t{8} << 20);
  EXPECT_EQ(machine.units()[1].os_index, 2) << "units come in the order of the machine, not of the OS";
  EXPECT_EQ(machine.find(1), 2);
  EXPECT_EQ(machine.find(4), -1);
  EXPECT_FALSE(machine.is_this_machine());
}

TEST(Machine, SerialisedFormRoundTrips) {
  const TemporaryFile file("machine.xml", small_xml);
  for (const std::string& description :
       {std::string(), file.path(), std::string(testing::two_socket_machine), std::string("l3:2 core:2 pu:2"),
        std::string("package:2 numa:8 core:160 pu:1")}) {
    const Machine machine = machine_of(description);
    const auto bytes = machine.serialise();
    const auto copy = Machine::deserialise(bytes);
    ASSERT_TRUE(copy) << description;
    expect_equal(machine, *copy);
    EXPECT_LE(bytes.size(), 16u + 12u * machine.units().size()) << "compact, for it is published at start-up";
  }
}

TEST(Machine, DamagedBytesAreRefused) {
  auto bytes = machine_of(testing::two_socket_machine).serialise();
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(Machine::deserialise(std::span(bytes).first(length))) << length;
  auto longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(Machine::deserialise(longer));
  bytes[0] ^= 0x40;
  EXPECT_FALSE(Machine::deserialise(bytes)) << "another version of the format";
  EXPECT_FALSE(Machine::deserialise(std::vector<std::uint8_t>(64, 0xff)));
}

TEST(Machine, ThisMachineHoldsTheUnitsThatWeMayRunOn) {
  const Machine machine = machine_of("");
  EXPECT_TRUE(machine.is_this_machine());
  for (const int os_index : affinity_of_this_thread().members()) EXPECT_GE(machine.find(os_index), 0) << os_index;
}

TEST(Machine, BadDescriptionsAreQuietErrorsThatNameThem) {
  const TemporaryFile broken("broken.xml", "<topology><object type=\"Machine\">");
  const TemporaryFile empty("empty.xml", "");
  ::testing::internal::CaptureStderr();
  for (const std::string& description :
       {std::string("/no/such/machine.xml"), std::string("machine.xml"), std::string("/tmp"), broken.path(),
        empty.path(), std::string("package:two"), std::string("rubbish"), std::string("package:2 nuna:4"),
        std::string("package:0")}) {
    std::string error;
    EXPECT_FALSE(Machine::load(description, error)) << description;
    EXPECT_NE(error.find(description), std::string::npos) << error;
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace tutti::topology
