// One element of more bytes than an int counts, with gaps on one rank and without on the others. Takes 3 GB a rank.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "support.h"

using namespace tutti::tests;

namespace {

constexpr int blocks = 300;
constexpr int block = 1 << 20;     ///< doubles
constexpr int stride = block + 1;  ///< doubles
constexpr int count = blocks * block;
static_assert(std::size_t{count} * sizeof(double) > std::size_t{1} << 31);

double value(int index) {
  return index * 0.5;
}

/// A broadcast by `root`, where `with_gaps` has the data as one element and everybody else as many.
void broadcast(Context& context, int root, int with_gaps) {
  const bool gaps = context.rank() == with_gaps;
  MPI_Datatype type = MPI_DOUBLE;
  if (gaps) {
    MPI_Type_vector(blocks, block, stride, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
  }
  const int step = gaps ? stride : block;
  std::vector<double> buffer(static_cast<std::size_t>(blocks) * static_cast<std::size_t>(step), -1.0);
  const auto at = [&](int index) -> double& {
    return buffer[static_cast<std::size_t>(index / block) * static_cast<std::size_t>(step) +
                  static_cast<std::size_t>(index % block)];
  };
  if (context.rank() == root)
    for (int i = 0; i < count; ++i) at(i) = value(i);
  const int code = MPI_Bcast(buffer.data(), gaps ? 1 : count, type, root, MPI_COMM_WORLD);
  context.expect(code == MPI_SUCCESS, "MPI_Bcast: %d", code);
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += at(i) != value(i);
  context.expect(wrong == 0, "%d elements are wrong", wrong);
  if (gaps) {
    for (std::size_t i = 1; i <= blocks; ++i) wrong += buffer[i * stride - 1] != -1.0;
    context.expect(wrong == 0, "%d gaps were written to", wrong);
    MPI_Type_free(&type);
  }
}

void sent_with_gaps(Context& context) {
  broadcast(context, 0, 0);
}
void received_with_gaps(Context& context) {
  broadcast(context, 0, std::min(1, context.size() - 1));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    Context context(nullptr, 0);
    const std::vector<Test> tests{
#define TEST(name) {#name, &name}
        TEST(sent_with_gaps), TEST(received_with_gaps)};
    status = run_tests(context, tests, argc, argv);
  }
  MPI_Finalize();
  return status;
}
