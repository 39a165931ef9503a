#include "selection/words.h"

#include <gtest/gtest.h>

namespace tutti::selection {
namespace {

TEST(Words, SizesHaveUnits) {
  EXPECT_EQ(words_of_bytes(0), "0 B");
  EXPECT_EQ(words_of_bytes(1023), "1023 B");
  EXPECT_EQ(words_of_bytes(1024), "1 KiB");
  EXPECT_EQ(words_of_bytes(1536), "1.5 KiB");
  EXPECT_EQ(words_of_bytes(24000), "23.44 KiB");
  EXPECT_EQ(words_of_bytes(std::size_t{512} << 20), "512 MiB");
  EXPECT_EQ(words_of_bytes(std::size_t{1} << 62), "4096 PiB");
}

TEST(Words, AnAlgorithmHasItsParameterBehindIt) {
  EXPECT_EQ(words_of("throttled", 4), "throttled(4)");
  EXPECT_EQ(words_of("xhc", 0), "xhc");
}

TEST(Words, EveryReasonHasSome) {
  for (const Reason reason : {Reason::model, Reason::table, Reason::user, Reason::refused}) {
    EXPECT_STRNE(name_of(reason), "");
    EXPECT_STRNE(words_of(reason, false), "");
    EXPECT_STRNE(words_of(reason, true), "");
  }
}

}  // namespace
}  // namespace tutti::selection
