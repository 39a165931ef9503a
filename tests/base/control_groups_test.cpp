#include "base/control_groups.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace tutti {
namespace {

/// A folder with files as the system has them below /proc and /sys.
class Described {
 public:
  explicit Described(const std::map<std::string, std::string>& files) {
    char name[] = "/tmp/tutti-test-groups-XXXXXX";
    folder_ = mkdtemp(name);
    for (const auto& [path, text] : files) {
      const std::filesystem::path file = folder_ / path;
      std::filesystem::create_directories(file.parent_path());
      std::ofstream(file) << text << "\n";
    }
  }
  ~Described() { std::filesystem::remove_all(folder_); }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  TimeQuota quota() const { return time_quota(folder_.c_str()); }

 private:
  std::filesystem::path folder_;
};

double processors(const std::map<std::string, std::string>& files) {
  return Described(files).quota().processors;
}

TEST(ControlGroups, WithoutFilesThereIsNoQuota) {
  EXPECT_EQ(processors({}), 0);
  EXPECT_EQ(processors({{"proc/self/cgroup", "0::/a"}, {"sys/fs/cgroup/a/cpu.max", "max 100000"}}), 0);
  EXPECT_EQ(processors({{"proc/self/cgroup", "3:cpu:/a"}, {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1"}}), 0);
}

TEST(ControlGroups, TheLeastQuotaOnTheWayUpCounts) {
  const std::map<std::string, std::string> version_2{{"proc/self/cgroup", "0::/slice/job/step"},
                                                     {"sys/fs/cgroup/slice/cpu.max", "400000 100000"},
                                                     {"sys/fs/cgroup/slice/job/cpu.max", "75000 50000"},
                                                     {"sys/fs/cgroup/slice/job/step/cpu.max", "max 100000"}};
  EXPECT_EQ(processors(version_2), 1.5);
  const std::map<std::string, std::string> version_1{
      {"proc/self/cgroup", "2:cpu,cpuacct:/job/step\n5:cpuset:/other\n0::/"},
      {"sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000"},
      {"sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000"},
      {"sys/fs/cgroup/cpu/job/step/cpu.cfs_quota_us", "-1"},
      {"sys/fs/cgroup/cpu/job/step/cpu.cfs_period_us", "100000"},
      {"sys/fs/cgroup/cpuset/other/cpu.cfs_quota_us", "1"}};
  EXPECT_EQ(processors(version_1), 0.5);
}

/// A container sees its own group as the outermost, under whatever name the host has for it.
TEST(ControlGroups, NamesOfAHostLeadToTheContainersOwnGroup) {
  EXPECT_EQ(processors({{"proc/self/cgroup", "2:cpu:/docker/0123"},
                        {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000"},
                        {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"}}),
            2);
  EXPECT_EQ(processors({{"proc/self/cgroup", "0::/../other"}, {"sys/fs/cgroup/cpu.max", "150000 100000"}}), 1.5);
}

TEST(ControlGroups, GroupsAreToldApart) {
  const std::map<std::string, std::string> files{{"proc/self/cgroup", "0::/a"},
                                                 {"sys/fs/cgroup/a/cpu.max", "100000 100000"}};
  const Described one(files), another(files);
  EXPECT_EQ(one.quota().group, one.quota().group);
  EXPECT_NE(one.quota().group, another.quota().group);
}

}  // namespace
}  // namespace tutti
