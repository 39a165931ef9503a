// Buffers in memory of devices, of a stand-in for their runtime. The host's MPI knows nothing of devices, so that a call that
// is left to it with such a buffer ends the program, as does any access of the library's own.
//
//     devices cuda|hip|level-zero early|late [TEST...]    early, late: the runtime is loaded before or after MPI_Init
//     devices cuda|hip|level-zero time                    what the look at a buffer costs a call (docs/decisions/device-memory.md)
//
// The fuzzer (--devices) has all collectives, forms and types.
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "devices/stand_in.h"
#include "inits.h"
#include "support.h"

using namespace tutti::tests;

namespace {

std::unique_ptr<const StandIn> runtime;

/// Ints in memory of a kind, or of the host.
class Ints {
 public:
  Ints(bool on_device, std::size_t count, StandIn::Kind kind = StandIn::device) : count_(count), on_device_(on_device) {
    if (on_device)
      begin_ = reinterpret_cast<int*>(runtime->allocate(count * sizeof(int), kind));
    else
      begin_ = new int[count];
  }
  ~Ints() {
    if (on_device_)
      runtime->free(begin_);
    else
      delete[] begin_;
  }
  Ints(const Ints&) = delete;
  Ints& operator=(const Ints&) = delete;

  int* begin() const { return begin_; }
  /// What the program's own kernels would do.
  void store(const std::vector<int>& values) const {
    runtime->set_open(true);
    std::memcpy(begin_, values.data(), values.size() * sizeof(int));
    runtime->set_open(false);
  }
  std::vector<int> load() const {
    runtime->set_open(true);
    std::vector<int> values(begin_, begin_ + count_);
    runtime->set_open(false);
    return values;
  }

 private:
  std::size_t count_;
  bool on_device_;
  int* begin_ = nullptr;
};

std::vector<int> numbers(std::size_t count, int first, int step = 1) {
  std::vector<int> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + step * static_cast<int>(i);
  return values;
}

/// Which ranks have their buffers on a device.
enum class Who { all, root, one_that_is_not_root, none };
constexpr Who everybody_that_may[] = {Who::all, Who::root, Who::one_that_is_not_root, Who::none};

bool has_device(const Context& context, Who who, int root) {
  switch (who) {
    case Who::all:
      return true;
    case Who::root:
      return context.rank() == root;
    case Who::one_that_is_not_root:
      return context.rank() == (root + 1) % context.size();
    case Who::none:
      return false;
  }
  return false;
}

constexpr std::size_t counts[] = {1, 100, 40'000};

/// use(count, root, on_device) for all that differ.
template <class Use>
void for_each_case(Context& context, Use&& use) {
  for (const Who who : everybody_that_may)
    for (const std::size_t count : counts)
      for (const int root : {0, context.size() - 1}) use(count, root, has_device(context, who, root));
}

void a_broadcast_reaches_and_leaves_devices(Context& context) {
  for_each_case(context, [&](std::size_t count, int root, bool on_device) {
    const Ints buffer(on_device, count);
    const int ints = static_cast<int>(count);
    for (int form = 0; form < 3; ++form) {
      buffer.store(numbers(count, context.rank() == root ? 7 + form : -1));
      MPI_Request request = MPI_REQUEST_NULL;
      if (form == 0) MPI_Bcast(buffer.begin(), ints, MPI_INT, root, MPI_COMM_WORLD);
      if (form == 1) MPI_Ibcast(buffer.begin(), ints, MPI_INT, root, MPI_COMM_WORLD, &request);
      if (form == 2) inits.Bcast(buffer.begin(), ints, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      if (form == 2) MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (form == 2) MPI_Request_free(&request);
      context.expect(buffer.load() == numbers(count, 7 + form), "%zu ints from %d, form %d", count, root, form);
    }
  });
}

void reductions_are_made_in_memory_of_the_host(Context& context) {
  const int ranks = context.size();
  for_each_case(context, [&](std::size_t count, int root, bool on_device) {
    const int ints = static_cast<int>(count);
    const Ints send(on_device, count), receive(on_device, count);
    const auto sum = [&](int summands) {
      std::vector<int> values(count);
      for (std::size_t i = 0; i < count; ++i)
        values[i] = summands * static_cast<int>(i) + summands * (summands - 1) / 2;
      return values;
    };
    const auto start = [&] {
      send.store(numbers(count, context.rank()));
      receive.store(numbers(count, -5, 0));
    };
    start();
    MPI_Allreduce(send.begin(), receive.begin(), ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    context.expect(receive.load() == sum(ranks), "Allreduce of %zu", count);
    context.expect(send.load() == numbers(count, context.rank()), "Allreduce has written to what is sent");
    MPI_Allreduce(MPI_IN_PLACE, send.begin(), ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    context.expect(send.load() == sum(ranks), "Allreduce in place of %zu", count);
    start();
    MPI_Reduce(send.begin(), receive.begin(), ints, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    context.expect(receive.load() == (context.rank() == root ? sum(ranks) : numbers(count, -5, 0)), "Reduce");
    start();
    MPI_Scan(send.begin(), receive.begin(), ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    context.expect(receive.load() == sum(context.rank() + 1), "Scan of %zu", count);
    // One side on a device.
    const Ints host(false, count);
    start();
    MPI_Allreduce(send.begin(), host.begin(), ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    context.expect(host.load() == sum(ranks), "Allreduce to the host");
    host.store(numbers(count, context.rank()));
    MPI_Allreduce(host.begin(), receive.begin(), ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    context.expect(receive.load() == sum(ranks), "Allreduce from the host");
  });
}

/// Columns of a matrix, of which the others are this rank's.
void gaps_on_devices_are_left_alone(Context& context) {
  constexpr int rows = 300, columns = 5;
  const auto ranks = static_cast<std::size_t>(context.size());
  MPI_Datatype column = MPI_DATATYPE_NULL, narrow = MPI_DATATYPE_NULL;
  MPI_Type_vector(rows, 1, columns, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &narrow);
  MPI_Type_commit(&narrow);
  const Ints own(true, rows * columns), all(true, rows * columns * ranks);
  own.store(numbers(rows * columns, 1000 * context.rank()));
  all.store(numbers(rows * columns * ranks, -3, 0));
  const long before = runtime->copies();
  MPI_Bcast(own.begin() + 2, 1, narrow, 0, MPI_COMM_WORLD);
  const long made = runtime->copies() - before;
  std::vector<int> expected = numbers(rows * columns, 1000 * context.rank());
  for (int row = 0; row < rows; ++row) expected[static_cast<std::size_t>(row * columns + 2)] = row * columns + 2;
  context.expect(own.load() == expected, "a column");
  context.expect(made == (context.rank() == 0 || runtime->has_rows() ? 1 : rows), "%ld copies", made);
  // A matrix of each rank, of which one column arrives.
  const Ints packed(true, rows);
  packed.store(numbers(rows, 50 * context.rank()));
  MPI_Datatype block = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(column, 0, rows * columns * sizeof(int), &block);
  MPI_Type_commit(&block);
  MPI_Allgather(packed.begin(), rows, MPI_INT, all.begin() + 1, 1, block, MPI_COMM_WORLD);
  const std::vector<int> got = all.load();
  int wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const int rank = static_cast<int>(i) / (rows * columns), at = static_cast<int>(i) % (rows * columns);
    wrong += got[i] != (at % columns == 1 ? 50 * rank + at / columns : -3);
  }
  context.expect(wrong == 0, "%d ints of gathered columns are wrong", wrong);
  MPI_Type_free(&column), MPI_Type_free(&narrow), MPI_Type_free(&block);
}

/// Absolute addresses: some of the host, some of devices.
void elements_may_lie_in_several_memories(Context& context) {
  constexpr std::size_t count = 500;
  const Ints first(false, count), second(true, count), third(true, count);
  for (const bool with_hindexed : {false, true}) {
    const std::vector<const Ints*> parts = {&first, &second, &third};
    for (std::size_t i = 0; i < 3; ++i)
      parts[i]->store(numbers(count, context.rank() == 0 ? static_cast<int>(i) * 10 : -1));
    MPI_Aint addresses[3];
    int lengths[3] = {count, count, count};
    MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT}, type = MPI_DATATYPE_NULL;
    for (std::size_t i = 0; i < 3; ++i) MPI_Get_address(parts[i]->begin(), &addresses[i]);
    if (with_hindexed)
      MPI_Type_create_hindexed(3, lengths, addresses, MPI_INT, &type);
    else
      MPI_Type_create_struct(3, lengths, addresses, types, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < 3; ++i)
      context.expect(parts[i]->load() == numbers(count, static_cast<int>(i) * 10), "part %zu", i);
    MPI_Type_free(&type);
  }
}

void multiply(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] *= static_cast<int*>(in)[i];
}

void operators_of_the_program_get_memory_of_the_host(Context& context) {
  MPI_Op product = MPI_OP_NULL;
  MPI_Op_create(multiply, 1, &product);
  for (const std::size_t count : counts) {
    const Ints send(true, count), receive(true, count);
    send.store(numbers(count, 2, 0));
    MPI_Allreduce(send.begin(), receive.begin(), static_cast<int>(count), MPI_INT, product, MPI_COMM_WORLD);
    context.expect(receive.load() == numbers(count, 1 << context.size(), 0), "a product of %zu", count);
  }
  MPI_Op_free(&product);
}

void what_the_processor_reaches_is_not_staged(Context& context) {
  for (const StandIn::Kind kind : {StandIn::managed, StandIn::pinned}) {
    const Ints buffer(true, 10'000, kind);
    buffer.store(numbers(10'000, context.rank() == 0 ? 3 : -1));
    const long before = runtime->copies();
    MPI_Bcast(buffer.begin(), 10'000, MPI_INT, 0, MPI_COMM_WORLD);
    context.expect(runtime->copies() == before, "kind %d: %ld copies", kind, runtime->copies() - before);
    context.expect(buffer.load() == numbers(10'000, 3), "kind %d", kind);
  }
}

void memory_of_pools_is_staged(Context& context) {
  const Ints buffer(true, 1000, StandIn::pooled);
  buffer.store(numbers(1000, context.rank() == 0 ? 9 : -1));
  MPI_Bcast(buffer.begin(), 1000, MPI_INT, 0, MPI_COMM_WORLD);
  context.expect(buffer.load() == numbers(1000, 9), "of a pool");
}

/// One that has made no context current, and whose own state is nobody's business.
void any_thread_may_call(Context& context) {
  const Ints buffer(true, 1000), other(true, 1000);
  buffer.store(numbers(1000, context.rank() == 0 ? 4 : -1));
  bool clean = false;
  std::thread([&] {
    MPI_Bcast(buffer.begin(), 1000, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(other.begin(), 1000, MPI_INT, 0, MPI_COMM_WORLD);
    clean = runtime->is_clean();
  }).join();
  context.expect(clean, "something was left behind for the thread");
  context.expect(buffer.load() == numbers(1000, 4), "by a thread");
}

/// Nor leave a call anything behind.
void host_memory_is_asked_about_once(Context& context) {
  std::vector<int> small(10, context.rank());
  int on_stack[10] = {};
  const auto call = [&] {
    MPI_Bcast(small.data(), 10, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(on_stack, 10, MPI_INT, 0, MPI_COMM_WORLD);
  };
  call();
  const long before = runtime->queries();
  for (int i = 0; i < 200; ++i) call();
  context.expect(runtime->queries() - before <= 4, "%ld queries", runtime->queries() - before);
  context.expect(runtime->is_clean(), "an error was left behind");
}

/// The host's page was looked at before.
void a_page_may_become_a_devices(Context& context) {
  constexpr std::size_t bytes = 64 << 10, count = bytes / sizeof(int);
  void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const ints = static_cast<int*>(page);
  for (int i = 0; i < 3; ++i) {
    if (context.rank() == 0) std::fill_n(ints, count, i);
    MPI_Bcast(ints, static_cast<int>(count), MPI_INT, 0, MPI_COMM_WORLD);
  }
  context.expect(ints[count - 1] == 2, "in memory of the host");
  munmap(page, bytes);
  runtime->allocate_at(page, bytes);
  runtime->set_open(true);
  std::fill_n(ints, count, context.rank() == 0 ? 8 : -1);
  runtime->set_open(false);
  MPI_Bcast(ints, static_cast<int>(count), MPI_INT, 0, MPI_COMM_WORLD);
  runtime->set_open(true);
  context.expect(ints[0] == 8 && ints[count - 1] == 8, "in memory of a device");
  runtime->set_open(false);
  runtime->free(page);
}

int raised = 0;

void count_raised(MPI_Comm*, int* code, ...) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(*code, &error_class);
  raised += error_class == MPI_ERR_OTHER;
}

/// On the rank whose copy it is; the others have what they had to get, or garbage, but do not wait.
void a_copy_that_is_refused_is_an_error(Context& context) {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_raised, &handler);
  MPI_Comm_set_errhandler(communicator, handler);
  const Ints buffer(true, 1000), other(true, 1000);
  runtime->refuse(true);
  for (int form = 0; form < 3; ++form) {
    raised = 0;
    int code = MPI_SUCCESS;
    MPI_Request request = MPI_REQUEST_NULL;
    if (form == 0) code = MPI_Bcast(buffer.begin(), 1000, MPI_INT, 0, communicator);
    if (form == 1) code = MPI_Allreduce(buffer.begin(), other.begin(), 1000, MPI_INT, MPI_SUM, communicator);
    if (form == 2) {
      MPI_Ibcast(buffer.begin(), 1000, MPI_INT, 0, communicator, &request);
      code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    context.expect(code != MPI_SUCCESS, "form %d: there is no error", form);
    context.expect(raised >= 1, "form %d: no handler was called", form);
  }
  runtime->refuse(false);
  buffer.store(numbers(1000, context.rank() == 0 ? 6 : -1));
  MPI_Bcast(buffer.begin(), 1000, MPI_INT, 0, communicator);
  context.expect(buffer.load() == numbers(1000, 6), "after that");
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&communicator);
}

/// Nanoseconds of a call that looks at two buffers, on rank 0, while the others sleep.
double time_of_a_call(const int* in, int* inout) {
  constexpr int calls = 2'000'000;
  double least = 1e9;
  for (int round = 0; round < 7; ++round) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) MPI_Reduce_local(in, inout, 1, MPI_INT, MPI_BOR);
    least = std::min(least, (MPI_Wtime() - begin) / calls * 1e9);
  }
  return least;
}

void print_times(const Context& context, const std::string& name) {
  if (context.rank() == 0) {
    const std::vector<int> heap(100'000);
    std::vector<int> results(100'000);
    int in = 0, inout = 0;
    const auto print = [](const char* when, const char* where, double ns) {
      std::printf("%-20s %-10s %6.1f ns\n", when, where, ns);
    };
    // The library looks for a while after something was loaded.
    MPI_Reduce_local(&in, &inout, 1, MPI_INT, MPI_BOR);
    sleep(11);
    MPI_Reduce_local(&in, &inout, 1, MPI_INT, MPI_BOR);
    print("no runtime", "window", time_of_a_call(heap.data(), results.data()));
    print("no runtime", "stack", time_of_a_call(&in, &inout));
    runtime = std::make_unique<StandIn>(name);
    print("just loaded", "window", time_of_a_call(heap.data(), results.data()));
    sleep(11);
    MPI_Reduce_local(&in, &inout, 1, MPI_INT, MPI_BOR);
    print("a runtime", "window", time_of_a_call(heap.data(), results.data()));
    print("a runtime", "stack", time_of_a_call(&in, &inout));
    const Ints pinned(true, 2, StandIn::pinned);
    print("a runtime", "pinned", time_of_a_call(pinned.begin(), pinned.begin() + 1));
  } else {
    sleep(24 + 60);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "cuda", when = argc > 2 ? argv[2] : "early";
  // Initialised later, by the program's first use of it.
  if (when == "early") runtime = std::make_unique<StandIn>(name, false);
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  int status = 0;
  {
    Context context(nullptr, 0);
    if (when == "time") {
      print_times(context, name);
    } else {
      exercise(context, MPI_COMM_WORLD, "before the runtime is there, or has begun");
      if (when == "early")
        runtime->initialise();
      else
        runtime = std::make_unique<StandIn>(name);
      const std::vector<Test> tests{
#define TEST(name) {#name, &name}
          TEST(a_broadcast_reaches_and_leaves_devices),
          TEST(reductions_are_made_in_memory_of_the_host),
          TEST(gaps_on_devices_are_left_alone),
          TEST(elements_may_lie_in_several_memories),
          TEST(operators_of_the_program_get_memory_of_the_host),
          TEST(what_the_processor_reaches_is_not_staged),
          TEST(memory_of_pools_is_staged),
          TEST(any_thread_may_call),
          TEST(host_memory_is_asked_about_once),
          TEST(a_page_may_become_a_devices),
          TEST(a_copy_that_is_refused_is_an_error)};
      argv[2] = argv[0];
      status = run_tests(context, tests, argc - 2, argv + 2);
    }
  }
  MPI_Finalize();
  return status;
}
