#include "base/site_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tutti {
namespace {

namespace fs = std::filesystem;

/// A user without any files, and with none of those of whoever runs the test.
class SiteFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tutti-site-files-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    home = name;
    setenv("HOME", home.c_str(), 1);
    unsetenv("XDG_CONFIG_HOME");
  }
  void TearDown() override { fs::remove_all(home); }

  std::string write(const std::string& path, const std::string& text) {
    fs::create_directories((home / path).parent_path());
    std::ofstream(home / path) << text;
    return (home / path).string();
  }

  fs::path home;
};

TEST_F(SiteFiles, ASettingNamesOneFileThereOrNotAndOffNone) {
  write(".config/tutti/probe.json", "{}");
  write(".config/tutti/tables/a.json", "{}");
  Settings settings;
  settings.probe = settings.decision_table = "/no/such";
  EXPECT_EQ(probe_files(settings), std::vector<std::string>{"/no/such"});
  EXPECT_EQ(table_files(settings), std::vector<std::string>{"/no/such"});
  settings.probe = settings.decision_table = "off";
  EXPECT_TRUE(probe_files(settings).empty());
  EXPECT_TRUE(table_files(settings).empty());
}

TEST_F(SiteFiles, WithoutASettingTheUsersFolderIsLookedAtFirst) {
  const std::string probe = write(".config/tutti/probe.json", "{}");
  const std::string second = write(".config/tutti/tables/b.json", "{}");
  const std::string first = write(".config/tutti/tables/a.json", "{}");
  write(".config/tutti/tables/.hidden.json", "{}");
  write(".config/tutti/tables/a.json.state", "{}");
  ASSERT_FALSE(probe_files({}).empty());
  EXPECT_EQ(probe_files({}).front(), probe);
  ASSERT_GE(table_files({}).size(), 2u);
  EXPECT_EQ(table_files({})[0], first);
  EXPECT_EQ(table_files({})[1], second);
}

TEST_F(SiteFiles, XdgConfigHomeCountsIfItIsAbsolute) {
  const std::string in_home = write(".config/tutti/probe.json", "{}");
  const std::string elsewhere = write("elsewhere/tutti/probe.json", "{}");
  setenv("XDG_CONFIG_HOME", (home / "elsewhere").c_str(), 1);
  EXPECT_EQ(probe_files({}).front(), elsewhere);
  setenv("XDG_CONFIG_HOME", "elsewhere", 1);
  EXPECT_EQ(probe_files({}).front(), in_home);
  unsetenv("XDG_CONFIG_HOME");
}

TEST_F(SiteFiles, TheSitesFilesComeAfterTheUsers) {
  Settings settings;
  settings.site = (home / "site").string();
  const std::vector<std::string> probes{write(".config/tutti/probe.json", "{}"), write("site/probe.json", "{}")};
  const std::vector<std::string> tables{write(".config/tutti/tables/b.json", "{}"), write("site/tables/a.json", "{}")};
  EXPECT_EQ(probe_files(settings), probes);
  EXPECT_EQ(table_files(settings), tables);
}

TEST_F(SiteFiles, AFileHasItsBytesOrAReason) {
  const std::string path = write("a.json", "text");
  EXPECT_EQ(read_site_file(path).path, path);
  EXPECT_EQ(read_site_file(path).text, "text");
  EXPECT_EQ(read_site_file(path).error, "");
  EXPECT_EQ(read_site_file(path + ".none").path, "");
  EXPECT_EQ(read_site_file(home.string()).error, "it is a folder");
  const std::string pipe = (home / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_site_file(pipe).error, "it is not a regular file");
}

}  // namespace
}  // namespace tutti
