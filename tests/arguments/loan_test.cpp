#include "mpi/arguments/loan.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tutti::mpi {
namespace {

TEST(Loan, IsTheSameObjectInOneCallAfterTheOther) {
  using Kept = std::vector<int>;
  Kept* first = nullptr;
  {
    const Loan<Kept> loan;
    loan->assign(1000, 7);
    first = &*loan;
  }
  const Loan<Kept> loan;
  EXPECT_EQ(&*loan, first);
  EXPECT_GE(loan->capacity(), 1000u);
}

TEST(Loan, IsAnotherObjectForACallWithinACall) {
  using Kept = std::vector<long>;
  const Loan<Kept> outer;
  outer->assign(10, 1);
  for (int i = 0; i < 3; ++i) {
    const Loan<Kept> inner;
    ASSERT_NE(&*inner, &*outer);
    inner->assign(10, 2);
    const Loan<Kept> innermost;
    ASSERT_NE(&*innermost, &*outer);
    ASSERT_NE(&*innermost, &*inner);
    innermost->assign(10, 3);
    EXPECT_EQ(*inner, Kept(10, 2));
  }
  EXPECT_EQ(*outer, Kept(10, 1));
}

struct Counted {
  static inline int made = 0;
  static inline int gone = 0;
  Counted() { ++made; }
  ~Counted() { ++gone; }
};

TEST(Loan, EndsWithItsThread) {
  std::thread([] {
    for (int i = 0; i < 5; ++i) {
      const Loan<Counted> one;
      const Loan<Counted> two;
    }
  }).join();
  EXPECT_EQ(Counted::made, 2);
  EXPECT_EQ(Counted::gone, 2);
}

}  // namespace
}  // namespace tutti::mpi
