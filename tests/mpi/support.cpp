#include "support.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tutti::tests {

namespace {

constexpr long kFailuresShown = 8;
constexpr const char* kPlaceNames[kPlaces + 1] = {"small heap",     "heap",  "inside heap", "new",  "realloc",
                                                  "posix_memalign", "stack", "static",      "mmap", "shared mmap",
                                                  "MPI_Alloc_mem",  "early", "device"};

char static_memory[2][Memory::kLentBytes];
char* stack_memory = nullptr;
DeviceLender devices{};

}  // namespace

const char* name_of(Place place) {
  return kPlaceNames[static_cast<int>(place)];
}

Context::Context(void* early_memory, std::size_t early_bytes) : early_memory_(early_memory), early_bytes_(early_bytes) {
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  PMPI_Comm_size(MPI_COMM_WORLD, &size_);
  crowded_ = size_ > static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

bool Context::expect(bool holds, const char* format, ...) {
  ++checks_;
  if (holds) return true;
  ++failures_;
  if (failures_ > kFailuresShown) return false;
  char line[1024];
  const int at = std::snprintf(line, sizeof line, "rank %d of %d: %s: ", rank_, size_, test_.c_str());
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line + at, sizeof line - static_cast<std::size_t>(at), format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "%s\n", line);
  return false;
}

bool Context::finish_test(long& checks) {
  long sums[2] = {checks_, failures_};
  PMPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  checks_ = failures_ = 0;
  checks = sums[0];
  return sums[1] == 0;
}

namespace {

/// Collectives of MPI_COMM_WORLD are left to the host, as its ranks are on several nodes.
bool left_to_the_host = false;

/// Whether TUTTI_INTERNODE asks for them, too.
bool nodes_are_spanned() {
  const char* const setting = std::getenv("TUTTI_INTERNODE");
  return setting && std::strcmp(setting, "1") == 0;
}

/// Whether ranks of MPI_COMM_WORLD are on different nodes. Collective.
bool world_spans_nodes() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int here = 0, ranks = 0;
  MPI_Comm_size(node, &here);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_free(&node);
  return here < ranks;
}

}  // namespace

int run_tests(Context& context, const std::vector<Test>& tests, int argc, char** argv) {
  std::vector<std::string> wanted, left_out;
  for (const std::string& word : std::vector<std::string>(argv + 1, argv + argc))
    word.rfind('-', 0) == 0 ? left_out.push_back(word.substr(1)) : wanted.push_back(word);
  for (const auto& name : wanted) {
    const bool known = std::any_of(tests.begin(), tests.end(), [&](const Test& test) { return test.name == name; });
    if (known) continue;
    if (context.rank() == 0) std::fprintf(stderr, "unknown test %s\n", name.c_str());
    return 2;
  }
  left_to_the_host = world_spans_nodes() && !nodes_are_spanned();
  bool all_passed = true;
  for (const Test& test : tests) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), test.name) == wanted.end()) continue;
    if (std::find(left_out.begin(), left_out.end(), test.name) != left_out.end()) continue;
    if (context.rank() == 0) std::printf("RUN %s\n", test.name), std::fflush(stdout);
    context.set_test(test.name);
    test.run(context);
    long checks = 0;
    const bool passed = context.finish_test(checks);
    all_passed = all_passed && passed;
    if (context.rank() == 0)
      std::printf("%s %s (%ld checks)\n", passed ? "PASS" : "FAIL", test.name, checks), std::fflush(stdout);
  }
  return all_passed ? 0 : 1;
}

void lend_stack(char* region, std::size_t bytes) {
  stack_memory = bytes >= 2 * Memory::kLentBytes ? region : nullptr;
}

void lend_devices(const DeviceLender& lender) {
  devices = lender;
}

Memory::Memory(Context& context, Place place, std::size_t bytes, int slot) : place_(place), bytes_(bytes) {
  constexpr std::size_t kWindowBytes = 128 << 10;  // far more than Tutti's smallest window allocation
  const std::size_t lent_at = static_cast<std::size_t>(slot) * kLentBytes;
  const bool lent = place == Place::kStack || place == Place::kStatic || place == Place::kEarly;
  const bool fits = bytes <= kLentBytes && (place != Place::kStack || stack_memory) &&
                    (place != Place::kEarly || context.early_bytes() >= 2 * kLentBytes);
  if (lent && !fits) place_ = Place::kHeapSmall;
  switch (place_) {
    case Place::kHeapSmall:
      block_ = data_ = static_cast<char*>(std::malloc(bytes + 1));
      break;
    case Place::kHeap:
      block_ = data_ = static_cast<char*>(std::malloc(std::max(bytes, kWindowBytes)));
      break;
    case Place::kInsideHeap:
      block_ = static_cast<char*>(std::malloc(bytes + kWindowBytes));
      data_ = block_ + 4096 + 24;
      break;
    case Place::kNew:
      block_ = data_ = new char[bytes + 1];
      break;
    case Place::kRealloc:
      block_ = static_cast<char*>(std::malloc(64));
      block_ = data_ = static_cast<char*>(std::realloc(block_, std::max(bytes, kWindowBytes)));
      break;
    case Place::kMemalign: {
      void* memory = nullptr;
      if (posix_memalign(&memory, 4096, bytes + 1) != 0) memory = nullptr;
      block_ = data_ = static_cast<char*>(memory);
      break;
    }
    case Place::kStack:
      data_ = stack_memory + lent_at;
      break;
    case Place::kStatic:
      data_ = static_memory[slot];
      break;
    case Place::kEarly:
      data_ = static_cast<char*>(context.early_memory()) + lent_at;
      break;
    case Place::kMmap:
    case Place::kMmapShared: {
      const int sharing = place_ == Place::kMmap ? MAP_PRIVATE : MAP_SHARED;
      void* memory = mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
      block_ = data_ = memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
      break;
    }
    case Place::kAllocMem: {
      void* memory = nullptr;
      MPI_Alloc_mem(static_cast<MPI_Aint>(bytes + 1), MPI_INFO_NULL, &memory);
      block_ = data_ = static_cast<char*>(memory);
      break;
    }
    case Place::kDevice:
      block_ = data_ = devices.allocate(bytes + 1);
      break;
  }
  if (!data_) throw std::bad_alloc();
}

Memory::~Memory() {
  switch (place_) {
    case Place::kNew:
      delete[] block_;
      break;
    case Place::kMmap:
    case Place::kMmapShared:
      munmap(block_, bytes_ + 1);
      break;
    case Place::kAllocMem:
      MPI_Free_mem(block_);
      break;
    case Place::kStack:
    case Place::kStatic:
    case Place::kEarly:
      break;
    case Place::kDevice:
      devices.free(block_);
      break;
    default:
      std::free(block_);
  }
}

void exercise(Context& context, MPI_Comm communicator, const char* what, int count) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  MPI_Barrier(communicator);
  std::vector<int> send(static_cast<std::size_t>(count));
  std::vector<int> receive(send.size());
  const auto all_are = [&](const std::vector<int>& values, int factor, int offset) {
    for (int i = 0; i < count; ++i)
      if (values[static_cast<std::size_t>(i)] != i * factor + offset) return false;
    return true;
  };
  for (const int root : {size - 1, 0}) {
    for (int i = 0; i < count; ++i) send[static_cast<std::size_t>(i)] = rank == root ? i * 3 + root : -1;
    MPI_Bcast(send.data(), count, MPI_INT, root, communicator);
    context.expect(all_are(send, 3, root), "%s: Bcast from %d of %d ranks, %d ints", what, root, size, count);
  }
  for (int i = 0; i < count; ++i) send[static_cast<std::size_t>(i)] = i + rank;
  const int root = size / 2;
  MPI_Reduce(send.data(), receive.data(), count, MPI_INT, MPI_SUM, root, communicator);
  const int rank_sum = size * (size - 1) / 2;
  if (rank == root)
    context.expect(all_are(receive, size, rank_sum), "%s: Reduce to %d of %d ranks, %d ints", what, root, size, count);
  std::fill(receive.begin(), receive.end(), -1);
  MPI_Allreduce(send.data(), receive.data(), count, MPI_INT, MPI_MAX, communicator);
  context.expect(all_are(receive, 1, size - 1), "%s: Allreduce of %d ranks, %d ints", what, size, count);
  MPI_Barrier(communicator);
}

bool tutti_is_there() {
  static const bool there = dlsym(RTLD_DEFAULT, "tutti_last_choice") != nullptr;
  return there && !left_to_the_host;
}

std::size_t resident_bytes() {
  if (dlsym(RTLD_DEFAULT, "__asan_init")) return 0;
  std::size_t anonymous_kb = 0;
  std::size_t shared_kb = 0;
  char line[256];
  std::FILE* status = std::fopen("/proc/self/status", "r");
  if (!status) return 0;
  while (std::fgets(line, sizeof line, status)) {
    std::sscanf(line, "RssAnon: %zu", &anonymous_kb);
    std::sscanf(line, "RssShmem: %zu", &shared_kb);
  }
  std::fclose(status);
  return (anonymous_kb + shared_kb) * 1024;
}

void dawdle(unsigned long draw, unsigned maximum_us) {
  const unsigned microseconds = static_cast<unsigned>((draw >> 8) % (maximum_us + 1));
  if (draw % 4 == 0) usleep(microseconds);
  if (draw % 4 != 1) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) sched_yield();
}

}  // namespace tutti::tests
