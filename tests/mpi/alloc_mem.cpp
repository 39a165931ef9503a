// MPI_Alloc_mem. Built twice: in a program that brings its own malloc (TUTTI_TEST_OWN_MALLOC) it is the only way to
// memory that peers can read directly.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "support.h"

using namespace tutti::tests;

#ifdef TUTTI_TEST_OWN_MALLOC
extern "C" {
void* __libc_malloc(std::size_t);
void __libc_free(void*);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
__attribute__((visibility("default"))) void* malloc(std::size_t bytes) {
  return __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void free(void* block) {
  __libc_free(block);
}
__attribute__((visibility("default"))) void* calloc(std::size_t count, std::size_t bytes) {
  return __libc_calloc(count, bytes);
}
__attribute__((visibility("default"))) void* realloc(void* block, std::size_t bytes) {
  return __libc_realloc(block, bytes);
}
__attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return __libc_memalign(alignment, bytes);
}
}
constexpr bool malloc_is_in_the_window = false;
#else
constexpr bool malloc_is_in_the_window = true;
#endif

namespace {

constexpr int count = 100'000;

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

void broadcast(Context& context, int* buffer, int salt, bool in_the_window) {
  for (int i = 0; i < count; ++i) buffer[i] = i * salt + context.rank();
  MPI_Bcast(buffer, count, MPI_INT, 0, MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += buffer[i] != i * salt;
  context.expect(wrong == 0, "%d elements are wrong", wrong);
  const std::string by = mechanism();
  if (!by.empty() && context.size() > 1)
    context.expect((by == "window") == in_the_window, "the broadcast went by %s", by.c_str());
}

void allocated_memory_is_in_the_window(Context& context) {
  for (int salt = 1; salt < 20; ++salt) {
    int* blocks[3];
    for (int*& block : blocks) {
      MPI_Alloc_mem(count * static_cast<MPI_Aint>(sizeof(int)), MPI_INFO_NULL, &block);
      broadcast(context, block, salt, true);
    }
    for (int* block : blocks) context.expect(MPI_Free_mem(block) == MPI_SUCCESS, "MPI_Free_mem");
  }
}

void what_is_freed_is_used_again(Context& context) {
  constexpr MPI_Aint bytes = 64 << 20;
  // Far more than there is memory, if it were not given back.
  for (int i = 0; i < 300; ++i) {
    char* block = nullptr;
    const int code = MPI_Alloc_mem(bytes, MPI_INFO_NULL, &block);
    if (!context.expect(code == MPI_SUCCESS, "MPI_Alloc_mem %d", i)) return;
    for (MPI_Aint at = 0; at < bytes; at += 1 << 20) block[at] = 1;
    MPI_Free_mem(block);
  }
}

void the_host_keeps_what_is_its_own(Context& context) {
  int* small = nullptr;
  MPI_Alloc_mem(100, MPI_INFO_NULL, &small);
  small[0] = 1;
  context.expect(MPI_Free_mem(small) == MPI_SUCCESS, "MPI_Free_mem of a small block");
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096");
  int* hinted = nullptr;
  MPI_Alloc_mem(count * static_cast<MPI_Aint>(sizeof(int)), info, &hinted);
  MPI_Info_free(&info);
  hinted[0] = 1;
  context.expect(MPI_Free_mem(hinted) == MPI_SUCCESS, "MPI_Free_mem of a block with a hint");
}

void memory_of_malloc_is_where_it_was(Context& context) {
  int* block = static_cast<int*>(std::malloc(count * sizeof(int)));
  broadcast(context, block, 3, malloc_is_in_the_window);
  std::free(block);
}

/// By what peers reach a block.
std::string way_of(void* block, std::size_t bytes) {
  MPI_Bcast(block, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
  return mechanism();
}

bool system_gives_huge_pages(const std::string& when) {
  std::string text;
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::getline(file, text);
  return text.find("[" + when + "]") != std::string::npos;
}

/// Where the window has no huge pages, large blocks are private once the program asks for some, or from the beginning where the
/// system gives them without that. Smaller ones stay in the window.
void large_blocks_are_private_where_they_have_huge_pages(Context& context) {
  const char* const huge = std::getenv("TUTTI_HUGE");
  if (!huge || std::string(huge) != "off" || context.size() < 2 || mechanism().empty()) return;
  constexpr std::size_t large = std::size_t{8} << 20, small = std::size_t{1} << 20;
  const bool always = system_gives_huge_pages("always"), asked = always || system_gives_huge_pages("madvise");
  void* const first = std::aligned_alloc(4096, large);
  context.expect((way_of(first, large) == "window") != always, "before it asks");
  madvise(first, large, MADV_HUGEPAGE);
  void* const second = std::malloc(large);
  context.expect((way_of(second, large) == "window") != asked, "after it has asked");
  void* grown = std::malloc(small);
  context.expect(way_of(grown, small) == "window", "a smaller block");
  grown = std::realloc(grown, large);
  context.expect((way_of(grown, large) == "window") != asked, "a block that has grown");
  context.expect((way_of(first, large) == "window") != always, "what was there stays");
  std::free(first);
  std::free(second);
  std::free(grown);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    Context context(nullptr, 0);
    const std::vector<Test> tests{
#define TEST(name) {#name, &name}
        TEST(allocated_memory_is_in_the_window), TEST(what_is_freed_is_used_again),
        TEST(the_host_keeps_what_is_its_own), TEST(memory_of_malloc_is_where_it_was),
        TEST(large_blocks_are_private_where_they_have_huge_pages)};
    status = run_tests(context, tests, argc, argv);
  }
  MPI_Finalize();
  return status;
}
