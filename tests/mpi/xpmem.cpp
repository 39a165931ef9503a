// Buffers that peers reach by xpmem: wherever they are, and after their memory was unmapped and has come back as
// something else. Run with TUTTI_MECHANISM=xpmem and the stand-in for libxpmem; without, the same data must arrive.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "support.h"

using namespace tutti::tests;

namespace {

constexpr int count = 50'000;
constexpr std::size_t bytes = count * sizeof(int);

/// The mechanism of this thread's last collective; "" without the preload.
std::string mechanism() {
  void* const found = dlsym(RTLD_DEFAULT, "tutti_last_choice");
  if (!found) return "";
  int (*last_choice)(char*, int, char*, int) = nullptr;
  std::memcpy(&last_choice, &found, sizeof found);
  char algorithm[64] = "", name[64] = "";
  last_choice(algorithm, sizeof algorithm, name, sizeof name);
  return name;
}

int value_of(int i, int salt, int rank) {
  return i * 3 + salt * 1000 + rank * 7;
}

/// New data on every rank, then a broadcast and an allreduce from this memory and into it.
void exchange(Context& context, int* buffer, int salt, const char* where) {
  const int root = salt % context.size();
  for (int i = 0; i < count; ++i) buffer[i] = value_of(i, salt, context.rank());
  MPI_Bcast(buffer, count, MPI_INT, root, MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += buffer[i] != value_of(i, salt, root);
  context.expect(wrong == 0, "%s: round %d: %d elements of the broadcast are wrong", where, salt, wrong);
  const char* const wanted = std::getenv("TUTTI_MECHANISM");
  if (wanted && std::strcmp(wanted, "xpmem") == 0 && !mechanism().empty())
    context.expect(mechanism() == "xpmem", "%s: the broadcast went by %s", where, mechanism().c_str());

  for (int i = 0; i < count; ++i) buffer[i] = value_of(i, salt, context.rank());
  MPI_Allreduce(MPI_IN_PLACE, buffer, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  wrong = 0;
  for (int i = 0; i < count; ++i) {
    int sum = 0;
    for (int rank = 0; rank < context.size(); ++rank) sum += value_of(i, salt, rank);
    wrong += buffer[i] != sum;
  }
  context.expect(wrong == 0, "%s: round %d: %d elements of the sum are wrong", where, salt, wrong);
}

int* map_pages(void* at = nullptr, std::size_t size = bytes) {
  void* const pages =
      mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
  if (pages == MAP_FAILED) {
    std::perror("mmap");
    std::abort();
  }
  return static_cast<int*>(pages);
}

int static_buffer[count];

void stack_static_and_heap(Context& context) {
  int on_stack[count];
  for (int salt = 0; salt < 4; ++salt) {
    exchange(context, on_stack, salt, "stack");
    exchange(context, static_buffer, salt, "static data");
    const std::unique_ptr<int[]> heap(new int[count]);
    exchange(context, heap.get(), salt, "heap");
  }
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  for (int salt = 0; salt < 4; ++salt) {
    const std::unique_ptr<int[]> heap(new int[count]);
    exchange(context, heap.get(), salt, "heap at the break");
  }
}

/// Memory that goes and comes back at the same address, in every way.
void memory_that_comes_back(Context& context) {
  int* buffer = map_pages();
  for (int salt = 0; salt < 5; ++salt) {
    exchange(context, buffer, salt, "mmap");
    munmap(buffer, bytes);
    map_pages(buffer);
    exchange(context, buffer, salt + 1, "after munmap");
    madvise(buffer, bytes, MADV_DONTNEED);
    exchange(context, buffer, salt + 2, "after madvise");
    mmap(buffer, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    exchange(context, buffer, salt + 3, "mapped over");
    void* const moved = mremap(buffer, bytes, 2 * bytes, MREMAP_MAYMOVE);
    if (moved != buffer) map_pages(buffer);
    exchange(context, buffer, salt + 4, "after mremap");
    exchange(context, static_cast<int*>(moved), salt + 5, "moved by mremap");
    munmap(moved, 2 * bytes);
    if (moved == buffer) map_pages(buffer);
    exchange(context, buffer, salt + 6, "after mremap and munmap");
  }
  munmap(buffer, bytes);
}

/// malloc'ed memory that its free gives back.
void heap_that_comes_back(Context& context) {
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  for (int salt = 0; salt < 10; ++salt) {
    int* block = static_cast<int*>(std::malloc(bytes));
    exchange(context, block, salt, "a block of its own pages");
    block = static_cast<int*>(std::realloc(block, 10 * bytes));
    exchange(context, block + count, salt, "a block that grew");
    std::free(block);
  }
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 64 * 1024);
  for (int salt = 0; salt < 10; ++salt) {
    int* blocks[8];
    for (int*& block : blocks) block = static_cast<int*>(std::malloc(bytes));
    for (int* block : blocks) exchange(context, block, salt, "the end of the heap");
    for (int* block : blocks) std::free(block);
    if (salt % 3 == 0) malloc_trim(0);
  }
}

/// A thread's stack is emptied when it ends, and the next thread gets it.
void stacks_of_threads(Context& context) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_SERIALIZED) return;
  for (int salt = 0; salt < 10; ++salt)
    std::thread([&] {
      int on_stack[count];
      exchange(context, on_stack, salt, "stack of a thread");
    }).join();
}

/// More buffers than attachments are kept.
void many_buffers(Context& context) {
  constexpr int buffers = 150, few = 5000;
  int* all[buffers];
  for (int*& buffer : all) buffer = map_pages(nullptr, few * sizeof(int) + 4096);
  for (int round = 0; round < 2; ++round)
    for (int b = 0; b < buffers; ++b) {
      const int root = b % context.size();
      for (int i = 0; i < few; ++i) all[b][i] = value_of(i, b + round, context.rank());
      MPI_Bcast(all[b], few, MPI_INT, root, MPI_COMM_WORLD);
      int wrong = 0;
      for (int i = 0; i < few; ++i) wrong += all[b][i] != value_of(i, b + round, root);
      context.expect(wrong == 0, "buffer %d: %d elements are wrong", b, wrong);
    }
  for (int* buffer : all) munmap(buffer, few * sizeof(int) + 4096);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  int status = 0;
  {
    Context context(nullptr, 0);
    const std::vector<Test> tests{
#define TEST(name) {#name, &name}
        TEST(stack_static_and_heap), TEST(memory_that_comes_back), TEST(heap_that_comes_back), TEST(stacks_of_threads),
        TEST(many_buffers)};
    status = run_tests(context, tests, argc, argv);
  }
  MPI_Finalize();
  return status;
}
