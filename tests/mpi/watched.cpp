// A program for tools that watch allocations and memory: what they find without the preload they find with it, and
// nothing else.
//
//     watched works                              every collective, with memory that nobody has written before
//     watched overflow|stale|leak|uninitialised  the same, and then what its name says, on rank 0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "support.h"

using namespace tutti::tests;

namespace {

/// Memory as malloc gives it.
class Array {
 public:
  explicit Array(int count) : data_(static_cast<int*>(std::malloc(static_cast<std::size_t>(count) * sizeof(int)))) {}
  ~Array() { std::free(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  int* get() const { return data_; }
  void fill(int count, int value) { std::fill(data_, data_ + count, value); }
  bool is(int count, int value) const {
    return std::all_of(data_, data_ + count, [value](int each) { return each == value; });
  }

 private:
  int* data_;
};

void collectives(Context& context, int count) {
  const int rank = context.rank(), size = context.size(), all = count * size;
  Array one(count), many(all), result(count), results(all);
  one.fill(count, rank + 1);
  many.fill(all, rank + 1);
  const auto fresh = [](Array& array, int ints) {  // no tool takes it for written any more
    array.~Array();
    new (&array) Array(ints);
  };
  const int sum = size * (size + 1) / 2;
  MPI_Allreduce(one.get(), result.get(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  context.expect(result.is(count, sum), "Allreduce of %d ints", count);
  fresh(result, count);
  MPI_Reduce(one.get(), result.get(), count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) context.expect(result.is(count, sum), "Reduce of %d ints", count);
  fresh(result, count);
  MPI_Scan(one.get(), result.get(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  context.expect(result.is(count, (rank + 1) * (rank + 2) / 2), "Scan of %d ints", count);
  fresh(result, count);
  MPI_Reduce_scatter_block(many.get(), result.get(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  context.expect(result.is(count, sum), "Reduce_scatter_block of %d ints", count);
  fresh(result, count);
  MPI_Scatter(many.get(), count, MPI_INT, result.get(), count, MPI_INT, 0, MPI_COMM_WORLD);
  context.expect(result.is(count, 1), "Scatter of %d ints", count);
  fresh(result, count);
  if (rank == 0) result.fill(count, 77);
  MPI_Bcast(result.get(), count, MPI_INT, 0, MPI_COMM_WORLD);
  context.expect(result.is(count, 77), "Bcast of %d ints", count);
  const auto check_all = [&](const char* name) {
    for (int of = 0; of < size; ++of)
      context.expect(std::all_of(results.get() + of * count, results.get() + (of + 1) * count,
                                 [&](int each) { return each == of + 1; }),
                     "%s of %d ints", name, count);
    fresh(results, all);
  };
  MPI_Gather(one.get(), count, MPI_INT, results.get(), count, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) check_all("Gather");
  MPI_Allgather(one.get(), count, MPI_INT, results.get(), count, MPI_INT, MPI_COMM_WORLD);
  check_all("Allgather");
  MPI_Alltoall(many.get(), count, MPI_INT, results.get(), count, MPI_INT, MPI_COMM_WORLD);
  check_all("Alltoall");
}

/// What a tool is to find; volatile, so that the compiler leaves it there.
void mistake(const std::string& which) {
  constexpr std::size_t count = 20'000;
  volatile int* array = static_cast<int*>(std::malloc(count * sizeof(int)));
  if (which == "overflow") array[count + 2] = 1;
  if (which == "uninitialised" && array[7] == 1234) std::puts("never");
  if (which == "leak") {
    array = nullptr;
    return;
  }
  volatile int* stale = array;
  asm volatile("" : "+r"(stale));  // the compiler would see what is wrong
  std::free(const_cast<int*>(array));
  if (which == "stale" && stale[5] == 1234) std::puts("never");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool good = true;
  {
    Context context(nullptr, 0);
    for (const int count : {1, 100, 2000, 30'000}) collectives(context, count);
    if (context.rank() == 0 && argc > 1) mistake(argv[1]);
    long checks = 0;
    good = context.finish_test(checks);
    if (context.rank() == 0) std::printf("%s watched, %ld checks\n", good ? "PASS" : "FAIL", checks);
  }
  MPI_Finalize();
  return good ? 0 : 1;
}
