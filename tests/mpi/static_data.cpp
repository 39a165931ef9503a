// Static data as buffers: of the program, and of a library that is unloaded while the job runs.
//
//     static-data window|elsewhere [thread]
//
// window, elsewhere: where it is to be once MPI_Init is over. thread: one runs before, in and after MPI_Init.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

using namespace tutti::tests;

namespace {

constexpr int count = 100'000;
constexpr std::size_t page = 4096;

double initialised[count] = {1, 2, 3};
double zeroed[count];
double results[count];
std::string expected;
void* library = nullptr;

volatile long counters[8 * 4096];
std::atomic<bool> over{false};
std::atomic<long> counted{0};

void count_up() {
  long value = 0;
  while (!over.load(std::memory_order_relaxed)) counters[4 * 4096] = ++value;
  counted = value;
}

/// How peers reach this rank's bytes in the call that was last.
std::string last_mechanism() {
  int (*last_choice)(char*, int, char*, int) = nullptr;
  void* const found = dlsym(RTLD_DEFAULT, "tutti_last_choice");
  std::memcpy(&last_choice, &found, sizeof found);
  char mechanism[64] = "";
  if (last_choice) last_choice(nullptr, 0, mechanism, sizeof mechanism);
  return mechanism;
}

void check_mechanism(Context& context, const char* what) {
  if (!tutti_is_there() || context.size() == 1) return;
  const std::string found = last_mechanism();
  context.expect((found == "window") == (expected == "window"), "%s: peers reach it by %s, not %s", what, found.c_str(),
                 expected.c_str());
}

/// What all ranks get of `data`, of which each has filled its own with its number.
void sum(Context& context, double* data, const char* what) {
  for (int i = 0; i < count; ++i) data[i] = context.rank() + i % 7;
  MPI_Allreduce(data, results, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < count; ++i)
    wrong += results[i] != context.size() * (context.size() - 1) / 2. + context.size() * (i % 7);
  context.expect(wrong == 0, "%s: %d sums are wrong", what, wrong);
  check_mechanism(context, what);
}

/// What root's memory holds now, whatever was there before.
void spread(Context& context, double* data, double value, const char* what) {
  for (int i = 0; i < count; ++i) data[i] = context.rank() == 0 ? value + i : -1;
  MPI_Bcast(data, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += data[i] != value + i;
  context.expect(wrong == 0, "%s: %d elements are wrong", what, wrong);
}

void arrays_of_the_program(Context& context) {
  context.expect(initialised[2] == 3 && initialised[count - 1] == 0 && zeroed[5] == 5, "what was there is lost");
  for (int i = 0; i < 3; ++i) {
    sum(context, initialised, "with initial values");
    sum(context, zeroed, "without");
    spread(context, zeroed, 1000. * i, "without, spread");
  }
}

/// A block with gaps is packed elsewhere: peers find it at another distance from the others than it is here.
void blocks_of_which_some_are_packed(Context& context) {
  constexpr int ints = 6'000;
  static int sent[2 * 8 * ints], received[8 * ints];
  const int ranks = context.size();
  if (ranks > 8) return;
  MPI_Datatype apart = MPI_DATATYPE_NULL;
  MPI_Type_vector(ints, 1, 2, MPI_INT, &apart);
  MPI_Type_commit(&apart);
  std::vector<int> counts, begins, whole, places;
  std::vector<MPI_Datatype> types, ints_of_all(static_cast<std::size_t>(ranks), MPI_INT);
  for (int rank = 0; rank < ranks; ++rank) {
    const bool has_gaps = rank % 2 == 0;
    counts.push_back(has_gaps ? 1 : ints);
    types.push_back(has_gaps ? apart : MPI_INT);
    begins.push_back(2 * rank * ints * static_cast<int>(sizeof(int)));
    whole.push_back(ints);
    places.push_back(rank * ints * static_cast<int>(sizeof(int)));
    for (int i = 0; i < ints; ++i) sent[2 * rank * ints + (has_gaps ? 2 * i : i)] = context.rank() * 100 + rank + i;
  }
  for (int call = 0; call < 3; ++call) {
    std::fill_n(received, ranks * ints, -1);
    MPI_Alltoallw(sent, counts.data(), begins.data(), types.data(), received, whole.data(), places.data(),
                  ints_of_all.data(), MPI_COMM_WORLD);
    int wrong = 0;
    for (int rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < ints; ++i) wrong += received[rank * ints + i] != rank * 100 + context.rank() + i;
    context.expect(wrong == 0, "%d wrong ints", wrong);
  }
  MPI_Type_free(&apart);
}

void a_child_has_its_own(Context& context) {
  zeroed[7] = 70;
  const pid_t child = fork();
  if (child == 0) {
    const bool good = zeroed[7] == 70;
    zeroed[7] = -1;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  context.expect(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child has other data");
  context.expect(zeroed[7] == 70, "the child has written to its parent");
  sum(context, zeroed, "after a fork");
}

void a_library_is_unloaded(Context& context) {
  auto* const array = static_cast<double*>(dlsym(library, "untouched_array"));
  if (!context.expect(array != nullptr, "the library is not there")) return;
  sum(context, array, "of a library");
  dlclose(library);
  // To the same address, whatever was there.
  const auto begin = (reinterpret_cast<std::uintptr_t>(array) + page - 1) / page * page;
  const std::size_t bytes = (count * sizeof(double) + page - 1) / page * page;
  void* const mapped = mmap(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  context.expect(mapped == reinterpret_cast<void*>(begin), "the library was not unloaded");
  int all_there = mapped != MAP_FAILED, all = 0;
  MPI_Allreduce(&all_there, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all) return;
  for (int i = 0; i < 3; ++i) spread(context, static_cast<double*>(mapped), 100. * i + 5, "after it is unloaded");
  munmap(mapped, bytes);
}

void stores_of_a_thread_are_kept(Context& context) {
  context.expect(counters[4 * 4096] == counted, "%ld of %ld", static_cast<long>(counters[4 * 4096]), counted.load());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) expected = argv[1];
  zeroed[5] = 5;
  char own[4096] = "";
  if (readlink("/proc/self/exe", own, sizeof own - 1) < 0) return 99;
  const std::string folder(own, static_cast<std::size_t>(std::strrchr(own, '/') - own));
  library = dlopen((folder + "/libtutti-test-static-data.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  std::thread thread;
  if (argc > 2) {
    thread = std::thread(count_up);
    while (counters[4 * 4096] == 0) std::this_thread::yield();
  }
  MPI_Init(nullptr, nullptr);
  over = true;
  if (thread.joinable()) thread.join();
  int status = 0;
  {
    Context context(nullptr, 0);
    const std::vector<Test> tests{
#define TEST(name) {#name, &name}
        TEST(arrays_of_the_program), TEST(blocks_of_which_some_are_packed), TEST(a_child_has_its_own),
        TEST(a_library_is_unloaded), TEST(stores_of_a_thread_are_kept)};
    status = run_tests(context, tests, 1, argv);
  }
  MPI_Finalize();
  return status;
}
