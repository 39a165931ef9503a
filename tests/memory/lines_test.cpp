#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "base/copy.h"
#include "memory/stream.h"

namespace tutti::memory {
namespace {

constexpr std::size_t line = cache_line_bytes;

/// Three pages, of which only the middle one may be stored to.
class Pages {
 public:
  Pages()
      : begin_(static_cast<std::byte*>(
            mmap(nullptr, 3 * page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::fill(begin_, begin_ + 3 * page(), std::byte{7});
    EXPECT_EQ(mprotect(begin_, page(), PROT_READ), 0);
    EXPECT_EQ(mprotect(begin_ + 2 * page(), page(), PROT_READ), 0);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(begin_, 3 * page()); }

  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  std::byte* middle() { return begin_ + page(); }
  bool unchanged() const {
    return std::all_of(begin_, begin_ + 3 * page(), [](std::byte byte) { return byte == std::byte{7}; });
  }

 private:
  std::byte* begin_;
};

TEST(Lines, NothingButWhatIsGivenIsStoredTo) {
  Pages pages;
  take_lines(pages.middle(), Pages::page());
  take_lines(pages.middle(), 1);
  take_lines(pages.middle() + Pages::page() - 1, 1);
  take_lines(pages.middle() + Pages::page(), 0);
  for (const std::size_t off : {std::size_t{1}, line - 1, line, line + 1})
    take_lines(pages.middle() + off, Pages::page() - off);
  EXPECT_TRUE(pages.unchanged());
}

TEST(Lines, ThoseThatAreNotWholeAreLeftAlone) {
  Pages pages;
  // A part of a line on either side would be one of a page that may not be stored to.
  take_whole_lines(pages.middle() - 1, Pages::page() + 2);
  take_whole_lines(pages.middle() - line + 1, Pages::page() + 2 * line - 2);
  take_whole_lines(pages.middle() - 1, line);
  take_whole_lines(pages.middle() - 10, 20);
  take_whole_lines(pages.middle() - 10, 10);
  take_whole_lines(pages.middle() - 10, 0);
  take_whole_lines(pages.middle() + Pages::page() - 10, line);
  EXPECT_TRUE(pages.unchanged());
  EXPECT_DEATH(take_whole_lines(pages.middle() - line, Pages::page()), "") << "a whole one is stored to";
}

}  // namespace
}  // namespace tutti::memory
