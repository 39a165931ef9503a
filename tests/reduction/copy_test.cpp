#include "reduction/copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tutti::reduction {
namespace {

TEST(Copy, CopiesExactlyTheBytesAskedForAtEveryAlignment) {
  std::vector<unsigned char> source(600);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(1));
  for (std::size_t bytes = 0; bytes <= 300; ++bytes) {
    for (std::size_t misalignment = 0; misalignment < 8; ++misalignment) {
      std::vector<unsigned char> destination(400, 0);
      copy(destination.data() + 40 + misalignment, source.data() + 3 * misalignment, bytes);
      std::vector<unsigned char> right(400, 0);
      for (std::size_t i = 0; i < bytes; ++i) right[40 + misalignment + i] = source[3 * misalignment + i];
      ASSERT_EQ(destination, right) << bytes << " bytes, moved by " << misalignment;
    }
  }
}

TEST(Copy, LeavesAnArrayCopiedToItselfAsItIs) {
  for (std::size_t bytes : {0, 1, 3, 7, 12, 16, 31, 50, 64, 65, 4096}) {
    std::vector<unsigned char> array(bytes);
    std::iota(array.begin(), array.end(), static_cast<unsigned char>(7));
    const std::vector<unsigned char> before = array;
    copy(array.data(), array.data(), bytes);
    EXPECT_EQ(array, before);
  }
}

}  // namespace
}  // namespace tutti::reduction
