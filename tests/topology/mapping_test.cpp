#include "topology/mapping.h"

#include <algorithm>

#include "topology/machines.h"

namespace tutti::topology {
namespace {

using testing::machine_of;

std::vector<int> units_of(const std::vector<CpuSet>& masks) {
  std::vector<int> units;
  for (const CpuSet& mask : masks) {
    EXPECT_EQ(mask.count(), 1);
    units.push_back(mask.first());
  }
  return units;
}

TEST(Mapping, CoreFillsOneCoreAfterTheOther) {
  const Machine machine = machine_of("package:2 numa:2 core:2 pu:1");
  EXPECT_EQ(units_of(map_ranks(machine, 8, Mapping::core)), testing::sequence(8));
}

TEST(Mapping, NumaAndSocketDealRanksOut) {
  const Machine machine = machine_of("package:2 numa:2 core:2 pu:1");
  EXPECT_EQ(units_of(map_ranks(machine, 8, Mapping::numa)), (std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(units_of(map_ranks(machine, 5, Mapping::socket)), (std::vector<int>{0, 4, 1, 5, 2}));
}

TEST(Mapping, SecondHardwareThreadsComeLastAndThenItWraps) {
  const Machine machine = machine_of("package:2 core:2 pu:2");
  EXPECT_EQ(units_of(map_ranks(machine, 9, Mapping::core)), (std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7, 0}));
  EXPECT_EQ(units_of(map_ranks(machine, 8, Mapping::socket)), (std::vector<int>{0, 4, 2, 6, 1, 5, 3, 7}));
}

TEST(Mapping, UnboundRanksMayRunAnywhere) {
  const Machine machine = machine_of("package:2 core:2 pu:1");
  const auto masks = map_ranks(machine, 3, Mapping::unbound);
  ASSERT_EQ(masks.size(), 3u);
  for (const CpuSet& mask : masks) EXPECT_EQ(mask, (CpuSet{0, 1, 2, 3}));
}

TEST(Mapping, ShuffledRanksSitWhereOrderedOnesDoInAnOrderOfTheirSeed) {
  const Machine machine = machine_of("package:2 core:4 pu:1");
  std::vector<int> units = units_of(map_ranks(machine, 6, Mapping::shuffled(1)));
  EXPECT_EQ(units, units_of(map_ranks(machine, 6, Mapping::shuffled(1))));
  EXPECT_NE(units, units_of(map_ranks(machine, 6, Mapping::shuffled(2))));
  EXPECT_NE(units, testing::sequence(6));
  std::sort(units.begin(), units.end());
  EXPECT_EQ(units, testing::sequence(6));
}

TEST(Mapping, NamesAreReadAndWrongOnesCorrected) {
  std::string error;
  EXPECT_EQ(parse_mapping("Core", error), Mapping::core);
  EXPECT_EQ(parse_mapping("unbound", error), Mapping::unbound);
  EXPECT_EQ(parse_mapping("shuffle:12", error), Mapping::shuffled(12));
  EXPECT_FALSE(parse_mapping("shuffle:x", error));
  EXPECT_NE(error.find("shuffle:1"), std::string::npos) << error;
  EXPECT_FALSE(parse_mapping("shuffle", error));
  EXPECT_NE(error.find("did you mean \"shuffle:1\""), std::string::npos) << error;
  EXPECT_FALSE(parse_mapping("soket", error));
  EXPECT_NE(error.find("did you mean \"socket\""), std::string::npos) << error;
}

}  // namespace
}  // namespace tutti::topology
