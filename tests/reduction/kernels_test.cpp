// Every kernel of every instruction set of this machine against the definition of its operator.
#include <gtest/gtest.h>

#include "reduction/reference.h"

namespace tutti::reduction::test {
namespace {

/// Room for an array that starts `misalignment` bytes past an aligned address, with guards before and behind
/// it.
class Guarded {
 public:
  Guarded(std::size_t bytes, std::size_t misalignment)
      : storage_(bytes + misalignment + 2 * guard_bytes, guard), begin_(guard_bytes + misalignment), bytes_(bytes) {}
  Guarded(const Bytes& content, std::size_t misalignment) : Guarded(content.size(), misalignment) {
    std::copy(content.begin(), content.end(), data());
  }

  unsigned char* data() { return storage_.data() + begin_; }
  bool guards_are_intact() const {
    auto untouched = [](unsigned char byte) { return byte == guard; };
    const auto first = storage_.begin() + static_cast<std::ptrdiff_t>(begin_);
    return std::all_of(storage_.begin(), first, untouched) &&
           std::all_of(first + static_cast<std::ptrdiff_t>(bytes_), storage_.end(), untouched);
  }

 private:
  static constexpr std::size_t guard_bytes = 64;
  static constexpr unsigned char guard = 0xA5;
  Bytes storage_;
  std::size_t begin_;
  std::size_t bytes_;
};

struct Case {
  Operator operation;
  Type type;
  Kernel kernel;
};

std::vector<Case> cases_of(InstructionSet set) {
  std::vector<Case> cases;
  for (int operation = 0; operation < operator_count; ++operation) {
    for (int type = 0; type < type_count; ++type) {
      const Case one{static_cast<Operator>(operation), static_cast<Type>(type),
                     kernel_built_for(set, static_cast<Operator>(operation), static_cast<Type>(type))};
      if (one.kernel != nullptr) cases.push_back(one);
    }
  }
  return cases;
}

std::vector<Bytes> random_sources(Type type, std::size_t source_count, std::size_t element_count, Random& random) {
  std::vector<Bytes> sources;
  for (std::size_t i = 0; i < source_count; ++i) sources.push_back(random_array(type, element_count, random));
  return sources;
}

std::vector<const void*> pointers_to(const std::vector<Bytes>& sources) {
  std::vector<const void*> pointers;
  for (const Bytes& source : sources) pointers.push_back(source.data());
  return pointers;
}

constexpr Order orders[] = {Order::in_sequence, Order::in_pairs};

class EveryKernel : public testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (!processor::runs(GetParam())) GTEST_SKIP() << "this processor has no " << name_of(GetParam());
    cases_ = cases_of(GetParam());
    if (cases_.empty()) GTEST_SKIP() << "not built for " << name_of(GetParam());
  }

  std::vector<Case> cases_;
  Random random_{20240607};
};

TEST_P(EveryKernel, GivesWhatTheOperatorMeansForEveryNumberOfSourcesAndElements) {
  std::vector<std::size_t> element_counts;
  for (std::size_t count = 0; count <= 70; ++count) element_counts.push_back(count);
  element_counts.insert(element_counts.end(), {127, 1000, 1037});
  for (const Case& c : cases_) {
    SCOPED_TRACE(name_of(c.operation) + " " + name_of(c.type));
    for (std::size_t source_count : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 31}) {
      const std::vector<Bytes> sources = random_sources(c.type, source_count, element_counts.back(), random_);
      const std::vector<const void*> pointers = pointers_to(sources);
      for (const Order order : orders) {
        const Bytes right = expected(c.operation, c.type, sources, element_counts.back(), order);
        for (std::size_t count : element_counts) {
          Guarded destination(count * size_of(c.type), 0);
          c.kernel(destination.data(), pointers.data(), source_count, count, order);
          ASSERT_EQ(first_difference(c.operation, c.type, destination.data(), right.data(), count), count)
              << source_count << " sources, " << count << " elements, in pairs " << (order == Order::in_pairs);
          ASSERT_TRUE(destination.guards_are_intact()) << source_count << " sources, " << count << " elements";
        }
      }
    }
  }
}

TEST_P(EveryKernel, MayWriteOverAnyOneOfItsSources) {
  for (const Case& c : cases_) {
    SCOPED_TRACE(name_of(c.operation) + " " + name_of(c.type));
    for (std::size_t source_count : {1, 2, 3, 4, 5, 8, 9}) {
      for (std::size_t count : {1, 3, 17, 64, 67, 303}) {
        const Order order = orders[random_() % 2];
        const std::vector<Bytes> sources = random_sources(c.type, source_count, count, random_);
        const Bytes right = expected(c.operation, c.type, sources, count, order);
        for (std::size_t overwritten = 0; overwritten < source_count; ++overwritten) {
          Guarded both(sources[overwritten], 0);
          std::vector<const void*> pointers = pointers_to(sources);
          pointers[overwritten] = both.data();
          c.kernel(both.data(), pointers.data(), source_count, count, order);
          ASSERT_EQ(first_difference(c.operation, c.type, both.data(), right.data(), count), count)
              << source_count << " sources, " << count << " elements, over source " << overwritten;
          ASSERT_TRUE(both.guards_are_intact());
        }
      }
    }
  }
}

TEST_P(EveryKernel, MayReadOneSourceTwice) {
  for (const Case& c : cases_) {
    SCOPED_TRACE(name_of(c.operation) + " " + name_of(c.type));
    const Bytes array = random_array(c.type, 77, random_);
    const Bytes right = expected(c.operation, c.type, {array, array, array}, 77, Order::in_pairs);
    const void* const pointers[] = {array.data(), array.data(), array.data()};
    Guarded destination(array.size(), 0);
    c.kernel(destination.data(), pointers, 3, 77, Order::in_pairs);
    EXPECT_EQ(first_difference(c.operation, c.type, destination.data(), right.data(), 77), 77u);
  }
}

TEST_P(EveryKernel, GivesTheSameBitsAtEveryAlignment) {
  constexpr std::size_t count = 131;
  for (const Case& c : cases_) {
    SCOPED_TRACE(name_of(c.operation) + " " + name_of(c.type));
    const std::vector<Bytes> sources = random_sources(c.type, 3, count, random_);
    const Bytes right = expected(c.operation, c.type, sources, count, Order::in_pairs);
    for (std::size_t misalignment = 0; misalignment < 16; ++misalignment) {
      std::vector<Guarded> moved;
      for (std::size_t i = 0; i < 3; ++i) moved.emplace_back(sources[i], (misalignment * (i + 1)) % 16);
      const void* const pointers[] = {moved[0].data(), moved[1].data(), moved[2].data()};
      Guarded destination(right.size(), (misalignment * 5 + 3) % 16);
      c.kernel(destination.data(), pointers, 3, count, Order::in_pairs);
      ASSERT_EQ(first_difference(c.operation, c.type, destination.data(), right.data(), count), count)
          << "moved by " << misalignment;
      ASSERT_TRUE(destination.guards_are_intact());
    }
  }
}

TEST_P(EveryKernel, GivesTheSameBitsHoweverTheArrayIsSplitAndEachTimeItIsCalled) {
  constexpr std::size_t count = 400;
  for (const Case& c : cases_) {
    SCOPED_TRACE(name_of(c.operation) + " " + name_of(c.type));
    const std::vector<Bytes> sources = random_sources(c.type, 5, count, random_);
    const std::vector<const void*> pointers = pointers_to(sources);
    Bytes whole(count * size_of(c.type));
    Bytes again(whole.size());
    Bytes pieces(whole.size());
    c.kernel(whole.data(), pointers.data(), 5, count, Order::in_pairs);
    c.kernel(again.data(), pointers.data(), 5, count, Order::in_pairs);
    for (std::size_t begin = 0; begin < count;) {
      const std::size_t length = std::min<std::size_t>(1 + random_() % 40, count - begin);
      std::vector<const void*> moved;
      for (const Bytes& source : sources) moved.push_back(source.data() + begin * size_of(c.type));
      c.kernel(pieces.data() + begin * size_of(c.type), moved.data(), 5, length, Order::in_pairs);
      begin += length;
    }
    EXPECT_EQ(first_difference(c.operation, c.type, whole.data(), again.data(), count), count);
    EXPECT_EQ(first_difference(c.operation, c.type, whole.data(), pieces.data(), count), count);
  }
}

#if defined(__x86_64__)
const auto vector_sets = testing::Values(InstructionSet::sse4, InstructionSet::avx2, InstructionSet::avx512);
#else
const auto vector_sets = testing::Values(InstructionSet::neon, InstructionSet::sve, InstructionSet::sve2);
#endif
const auto name_of_parameter = [](const auto& info) { return name_of(info.param); };
INSTANTIATE_TEST_SUITE_P(Plain, EveryKernel, testing::Values(InstructionSet::baseline), name_of_parameter);
INSTANTIATE_TEST_SUITE_P(Vector, EveryKernel, vector_sets, name_of_parameter);

}  // namespace
}  // namespace tutti::reduction::test
