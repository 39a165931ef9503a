// What a program does between its calls, on memory from malloc: one line of JSON for each thing, by rank 0, the slowest
// rank's time. The script `computing` runs this with and without the preload. MPI_Init and one Bcast are all that it
// asks of the MPI, and a Barrier before each thing.
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Keeps the compiler from leaving out what nobody looks at.
void is_used(const void* memory) {
  asm volatile("" : : "r"(memory) : "memory");
}

/// From malloc; ends the program if there is none.
double* array_of(std::size_t count) {
  auto* const array = static_cast<double*>(std::malloc(count * sizeof(double)));
  if (!array) MPI_Abort(MPI_COMM_WORLD, 1);
  return array;
}

double* filled_array_of(std::size_t count) {
  double* const array = array_of(count);
  for (std::size_t i = 0; i < count; ++i) array[i] = 1 + static_cast<double>(i % 7);
  return array;
}

/// The least time, in seconds, of so many.
template <class Action>
double least_of(int times, Action action) {
  double least = 1e9;
  for (int time = 0; time < times; ++time) {
    const double begin = now_seconds();
    action();
    least = std::min(least, now_seconds() - begin);
  }
  return least;
}

double first_touch(std::size_t bytes) {
  double took = 1e9;
  // More than an allocator keeps for reuse, so that each time the memory is new.
  for (int time = 0; time < 3; ++time) {
    double* const array = array_of(bytes / sizeof(double));
    took = std::min(took, least_of(1, [&] {
                      for (std::size_t i = 0; i < bytes / sizeof(double); i += 64) array[i] = 1;
                    }));
    is_used(array);
    std::free(array);
  }
  return took;
}

double triad(std::size_t bytes) {
  const std::size_t count = bytes / sizeof(double);
  double* const a = filled_array_of(count);
  double* const b = filled_array_of(count);
  double* const c = filled_array_of(count);
  const double took = least_of(5, [&] {
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + 3 * c[i];
    is_used(a);
  });
  for (double* const array : {a, b, c}) std::free(array);
  return took;
}

double random_reads(std::size_t bytes) {
  const std::size_t count = bytes / sizeof(double);
  double* const array = filled_array_of(count);
  const double took = least_of(3, [&] {
    std::uint64_t state = 88172645463325252;
    double sum = 0;
    for (int i = 0; i < 2'000'000; ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      sum += array[state % count];
    }
    is_used(&sum);
  });
  std::free(array);
  return took;
}

double column_sweep(std::size_t bytes) {
  constexpr std::size_t columns = 4096;
  const std::size_t rows = bytes / sizeof(double) / columns;
  double* const matrix = filled_array_of(rows * columns);
  const double took = least_of(3, [&] {
    double sum = 0;
    for (std::size_t column = 0; column < columns; column += 16)
      for (std::size_t row = 0; row < rows; ++row) sum += matrix[row * columns + column];
    is_used(&sum);
  });
  std::free(matrix);
  return took;
}

double stencil(std::size_t bytes) {
  std::size_t side = 16;
  while ((side + 16) * (side + 16) * (side + 16) * sizeof(double) <= bytes) side += 16;
  const std::size_t plane = side * side;
  double* const from = filled_array_of(side * plane);
  double* const to = filled_array_of(side * plane);
  const double took = least_of(5, [&] {
    for (std::size_t z = 1; z + 1 < side; ++z)
      for (std::size_t y = 1; y + 1 < side; ++y)
        for (std::size_t x = 1; x + 1 < side; ++x) {
          const std::size_t at = z * plane + y * side + x;
          to[at] = from[at] * 0.4 + 0.1 * (from[at - 1] + from[at + 1] + from[at - side] + from[at + side] +
                                           from[at - plane] + from[at + plane]);
        }
    is_used(to);
  });
  std::free(from);
  std::free(to);
  return took;
}

/// Two threads, each of which allocates blocks, stores to each page of them, and frees them.
double allocation_loop(std::size_t bytes) {
  constexpr std::size_t blocks = 8;
  const std::size_t rounds = 400 * mebibyte / bytes;
  return least_of(3, [&] {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread)
      threads.emplace_back([bytes, rounds] {
        for (std::size_t round = 0; round < rounds; ++round) {
          char* block[blocks];
          for (char*& each : block) {
            each = static_cast<char*>(std::malloc(bytes / blocks));
            for (std::size_t at = 0; at < bytes / blocks; at += 4096) each[at] = 1;
            is_used(each);
          }
          for (char* const each : block) std::free(each);
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256) * mebibyte;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  struct {
    const char* name;
    double (*measure)(std::size_t);
    std::size_t bytes;
  } const things[] = {{"first touch", first_touch, bytes},
                      {"triad", triad, bytes / 2},
                      {"random reads", random_reads, bytes},
                      {"column sweep", column_sweep, bytes},
                      {"stencil", stencil, bytes / 2},
                      {"allocation loop", allocation_loop, 8 * mebibyte},
                      {"small allocations", allocation_loop, mebibyte / 2}};
  for (const auto& thing : things) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double own = thing.measure(thing.bytes);
    double slowest = 0;
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("{\"name\": \"%s\", \"ms\": %.4f}\n", thing.name, 1e3 * slowest);
  }
  MPI_Finalize();
  return 0;
}
