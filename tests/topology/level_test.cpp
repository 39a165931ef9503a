#include "topology/level.h"

#include <gtest/gtest.h>

namespace tutti::topology {
namespace {

LevelSpec parsed(const std::string& text) {
  std::string error;
  const auto spec = parse_levels(text, error);
  EXPECT_TRUE(spec) << error;
  return spec.value_or(LevelSpec{});
}

std::string error_of(const std::string& text) {
  std::string error;
  EXPECT_FALSE(parse_levels(text, error)) << text;
  return error;
}

TEST(Levels, ReadsNamesJoinedByPlus) {
  EXPECT_EQ(parsed("numa+socket").kinds, (std::vector{LevelKind::numa, LevelKind::socket}));
  EXPECT_EQ(parsed("l2+l3").kinds, (std::vector{LevelKind::l2, LevelKind::l3}));
  EXPECT_FALSE(parsed("numa").automatic);
}

TEST(Levels, FlatHasNoKindsAndAutoChoosesLater) {
  EXPECT_TRUE(parsed("flat").kinds.empty());
  EXPECT_FALSE(parsed("flat").automatic);
  EXPECT_TRUE(parsed("auto").automatic);
}

TEST(Levels, CaseAndBlanksDoNotMatterAndRepetitionsAreDropped) {
  EXPECT_EQ(parsed(" NUMA + Socket ").kinds, (std::vector{LevelKind::numa, LevelKind::socket}));
  EXPECT_EQ(parsed("numa+numa").kinds, std::vector{LevelKind::numa});
  EXPECT_TRUE(parsed(" Auto ").automatic);
}

TEST(Levels, TextRoundTrips) {
  for (const char* text : {"auto", "flat", "numa+socket", "l2+l3+numa+socket", "socket+16", "8"})
    EXPECT_EQ(to_string(parsed(text)), text);
}

TEST(Levels, WrongNameIsAnErrorThatNamesTheNearestRightOne) {
  EXPECT_NE(error_of("nuna+socket").find("did you mean \"numa\""), std::string::npos);
  EXPECT_NE(error_of("numa+sokcet").find("unknown level \"sokcet\""), std::string::npos);
  EXPECT_NE(error_of("numa+sokcet").find("did you mean \"socket\""), std::string::npos);
}

TEST(Levels, MalformedListsAreErrors) {
  for (const char* text : {"", " ", "+", "numa+", "+numa", "numa++socket", "numa,socket"})
    EXPECT_FALSE(error_of(text).empty()) << text;
  EXPECT_NE(error_of("numa+").find("empty level name"), std::string::npos);
}

TEST(Levels, OneNumberAmongThemIsOfTheWidestGroup) {
  EXPECT_EQ(parsed("12 + numa").widest, 12);
  EXPECT_EQ(parsed("12 + numa").kinds, std::vector{LevelKind::numa});
  EXPECT_EQ(parsed("numa").widest, 0);
  EXPECT_EQ(parsed("auto").widest, 0);
  for (const char* text : {"1", "0", "numa+4097", "8+16", "99999999999", "socket+-8"})
    EXPECT_FALSE(error_of(text).empty()) << text;
  EXPECT_NE(error_of("numa+1").find("one number from 2 to 4096"), std::string::npos);
  EXPECT_NE(error_of("auto+8").find("stands alone"), std::string::npos);
}

TEST(Levels, FlatAndAutoCannotBeJoined) {
  EXPECT_NE(error_of("flat+numa").find("stands alone"), std::string::npos);
  EXPECT_NE(error_of("numa+auto").find("stands alone"), std::string::npos);
}

}  // namespace
}  // namespace tutti::topology
