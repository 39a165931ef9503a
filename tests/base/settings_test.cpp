#include "base/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/nearest.h"

namespace tutti {
namespace {

Settings settings_of(std::initializer_list<const char*> entries, std::string* printed = nullptr) {
  std::vector<const char*> environment(entries);
  environment.push_back(nullptr);
  testing::internal::CaptureStderr();
  Settings settings = Settings::from_environment(environment.data(), Log());
  const std::string text = testing::internal::GetCapturedStderr();
  if (printed) *printed = text;
  return settings;
}

TEST(Settings, ValuesOfEveryTypeAreRead) {
  std::string printed;
  const Settings settings = settings_of({"HOME=/", "TUTTI_ENABLE=0", "TUTTI_EAGER_MAX=4K", "TUTTI_TIMEOUT=1.5",
                                         "TUTTI_WAIT=yield", "TUTTI_HIERARCHY=numa+socket", "TUTTI_CHUNK=16K,64K"},
                                        &printed);
  EXPECT_FALSE(settings.enable);
  EXPECT_EQ(settings.eager_max, 4096u);
  EXPECT_EQ(settings.timeout, 1.5);
  EXPECT_EQ(settings.wait, "yield");
  EXPECT_EQ(settings.hierarchy, "numa+socket");
  EXPECT_EQ(settings.chunk, "16K,64K");
  EXPECT_EQ(printed, "");
}

TEST(Settings, ExplainIsAWordOrAFile) {
  for (const char* off : {"TUTTI_EXPLAIN=", "TUTTI_EXPLAIN=0", "TUTTI_EXPLAIN=off", "OTHER=1"})
    EXPECT_FALSE(settings_of({off}).explains()) << off;
  EXPECT_TRUE(settings_of({"TUTTI_EXPLAIN=1"}).explains());
  EXPECT_EQ(settings_of({"TUTTI_EXPLAIN=yes"}).explain_file(), "");
  EXPECT_TRUE(settings_of({"TUTTI_EXPLAIN=a/b.json"}).explains());
  EXPECT_EQ(settings_of({"TUTTI_EXPLAIN=a/b.json"}).explain_file(), "a/b.json");
}

TEST(Settings, AnUnknownNameIsOneWarningWithTheNearest) {
  std::string printed;
  settings_of({"TUTTI_HIERACHY=flat"}, &printed);
  EXPECT_NE(printed.find("TUTTI_HIERARCHY"), std::string::npos);
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1);
}

TEST(Settings, ABadValueIsOneWarningAndTheDefaultStays) {
  for (const char* entry : {"TUTTI_EAGER_MAX=many", "TUTTI_WAIT=yeild", "TUTTI_TIMEOUT=-1", "TUTTI_ENABLE=maybe",
                            "TUTTI_CHUNK=lots", "TUTTI_CHUNK=64K,", "TUTTI_CHUNK=64K,0"}) {
    std::string printed;
    const Settings settings = settings_of({entry}, &printed);
    EXPECT_EQ(settings.eager_max, Settings().eager_max);
    EXPECT_EQ(settings.wait, "auto");
    EXPECT_EQ(settings.timeout, 0);
    EXPECT_EQ(settings.chunk, "auto");
    EXPECT_TRUE(settings.enable);
    EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1) << entry << ": " << printed;
  }
}

TEST(Settings, TheDefaultsInTheTableAreThoseOfTheCode) {
  for (const SettingDescription& description : setting_descriptions()) {
    if (description.fallback.empty()) continue;
    const std::string entry = "TUTTI_" + std::string(description.name) + "=" + std::string(description.fallback);
    std::string printed;
    const Settings settings = settings_of({entry.c_str()}, &printed);
    EXPECT_EQ(printed, "") << entry;
    const Settings defaults;
    EXPECT_EQ(settings.eager_max, defaults.eager_max) << entry;
    EXPECT_EQ(settings.segment, defaults.segment) << entry;
    EXPECT_EQ(settings.block, defaults.block) << entry;
    EXPECT_EQ(settings.window_min, defaults.window_min) << entry;
    EXPECT_EQ(settings.spin, defaults.spin) << entry;
    EXPECT_EQ(settings.flat_max, defaults.flat_max) << entry;
  }
}

TEST(Settings, SizesHaveUnits) {
  std::size_t bytes = 0;
  EXPECT_TRUE(parse_bytes("64", bytes) && bytes == 64);
  EXPECT_TRUE(parse_bytes("16K", bytes) && bytes == 16384);
  EXPECT_TRUE(parse_bytes("2MiB", bytes) && bytes == std::size_t{2} << 20);
  EXPECT_TRUE(parse_bytes("1g", bytes) && bytes == std::size_t{1} << 30);
  for (const char* wrong : {"", "K", "12X", "1KK", "-1", "99999999999999999999", "99999999999T"})
    EXPECT_FALSE(parse_bytes(wrong, bytes)) << wrong;
}

TEST(Nearest, TheSmallestEditDistanceWins) {
  EXPECT_EQ(nearest("numma", {"l3", "numa", "socket"}), "numa");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(edit_distance("Flat", "flat"), 0);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

}  // namespace
}  // namespace tutti
