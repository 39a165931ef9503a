// Functions of the program that the host runs while a collective waits, and that call MPI themselves.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "semantics.h"

namespace tutti::tests {

namespace {

/// Two ints of three.
struct Gap {
  int first;
  int mine;
  int last;
  bool operator==(const Gap&) const = default;
};

/// What operators work with: MPI hands them nothing of the program's.
struct Tools {
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Op add_gaps = MPI_OP_NULL;
  MPI_Op largest = MPI_OP_NULL;
};
Tools tools;

void add_gaps(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    const Gap& left = static_cast<const Gap*>(in)[i];
    Gap& right = static_cast<Gap*>(inout)[i];
    right.first += left.first;
    right.last += left.last;
  }
}

/// The larger of each two ints, found by MPI; and other calls with other types and operators.
void largest(void* in, void* inout, int* count, MPI_Datatype*) {
  MPI_Reduce_local(in, inout, *count, MPI_INT, MPI_MAX);
  const long bits = 1;
  long all = 2;
  MPI_Reduce_local(&bits, &all, 1, MPI_LONG, MPI_BOR);
  const Gap one{1, 2, 3};
  Gap two{1, 2, 3};
  MPI_Reduce_local(&one, &two, 1, tools.gaps, tools.add_gaps);
  if (all != 3 || two != Gap{2, 2, 6}) *static_cast<int*>(inout) = -1000;
}

void make_tools() {
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, sizeof(Gap), &tools.gaps);
  MPI_Type_commit(&tools.gaps);
  MPI_Type_free(&inner);
  MPI_Op_create(&add_gaps, 1, &tools.add_gaps);
  MPI_Op_create(&largest, 1, &tools.largest);
}

void free_tools() {
  MPI_Type_free(&tools.gaps);
  MPI_Op_free(&tools.add_gaps);
  MPI_Op_free(&tools.largest);
}

/// Blocking collectives with types and operators in turn; one rank is late each time.
class Blocking {
 public:
  explicit Blocking(Context& context) : context_(context), ranks_(context.size()), self_(context.rank()) {}

  void run(int turn) {
    const int count = turn % 2 ? 2000 : 7;
    if (self_ == turn % ranks_) usleep(300);
    switch (turn % 4) {
      case 0:
        return sum(count);
      case 1:
        return broadcast(count);
      case 2:
        return sum_of_gaps(count);
      default:
        return scatter(count);
    }
  }

 private:
  void sum(int count) {
    std::vector<double> values(at(count));
    for (int i = 0; i < count; ++i) values[at(i)] = self_ + i * 0.5;
    std::vector<double> sums(values.size());
    MPI_Allreduce(values.data(), sums.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bool right = true;
    for (int i = 0; i < count; ++i) right = right && sums[at(i)] == ranks_ * (ranks_ - 1) / 2.0 + ranks_ * (i * 0.5);
    context_.expect(right, "Allreduce of %d doubles", count);
  }
  void broadcast(int count) {
    std::vector<Gap> values(at(count), self_ == 0 ? Gap{5, 0, 6} : Gap{-1, self_, -1});
    MPI_Bcast(values.data(), count, tools.gaps, 0, MPI_COMM_WORLD);
    context_.expect(values == std::vector<Gap>(at(count), Gap{5, self_, 6}), "Bcast of %d elements with gaps", count);
  }
  void sum_of_gaps(int count) {
    const std::vector<Gap> values(at(count), Gap{self_, self_, 1});
    std::vector<Gap> sums(values.size(), Gap{-1, 50 + self_, -1});
    MPI_Allreduce(values.data(), sums.data(), count, tools.gaps, tools.add_gaps, MPI_COMM_WORLD);
    context_.expect(sums == std::vector<Gap>(at(count), Gap{ranks_ * (ranks_ - 1) / 2, 50 + self_, ranks_}),
                    "Allreduce of %d elements with gaps", count);
  }
  void scatter(int count) {
    const std::vector<long> values(at(count * ranks_), 1L << self_);
    std::vector<long> bits(at(count));
    MPI_Reduce_scatter_block(values.data(), bits.data(), count, MPI_LONG, MPI_BOR, MPI_COMM_WORLD);
    context_.expect(bits == std::vector<long>(at(count), (1L << ranks_) - 1), "Reduce_scatter_block of %d longs",
                    count);
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  Context& context_;
  int ranks_, self_;
};

}  // namespace

void operators_that_run_while_others_wait_may_reduce(Context& context) {
  make_tools();
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  Blocking blocking(context);
  constexpr int kCount = 200'000;
  std::vector<int> values(kCount), results(kCount);
  for (int round = 0; round < (context.crowded() ? 15 : 60); ++round) {
    for (int i = 0; i < kCount; ++i) values[static_cast<std::size_t>(i)] = i + context.rank();
    std::fill(results.begin(), results.end(), -1);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(values.data(), results.data(), kCount, MPI_INT, tools.largest, duplicate, &request);
    for (int turn = 0; turn < 20; ++turn) blocking.run(round + turn);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    bool right = true;
    for (int i = 0; i < kCount; ++i) right = right && results[static_cast<std::size_t>(i)] == i + context.size() - 1;
    context.expect(right, "Iallreduce with an operator that reduces, round %d", round);
  }
  MPI_Comm_free(&duplicate);
  free_tools();
}

}  // namespace tutti::tests
