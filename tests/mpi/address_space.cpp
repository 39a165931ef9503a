// What of the address space and of the memory of a rank belongs to the library: what is used, and no more, so that a
// program can limit itself or read all that it can read. Each test is a job of its own, since a limit stays.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

using namespace tutti::tests;

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t gibibyte = std::size_t{1} << 30;

struct Mapping {
  std::uintptr_t begin;
  std::uintptr_t end;
  bool readable;
  bool ours;
};

std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char read = '-';
    if (std::sscanf(line.c_str(), "%lx-%lx %c", &begin, &end, &read) == 3)
      all.push_back({begin, end, read == 'r', line.find("memfd:tutti") != std::string::npos});
  }
  return all;
}

/// Address space of windows and arenas, one's own and the peers'.
std::size_t taken() {
  std::size_t bytes = 0;
  for (const Mapping& each : mappings())
    if (each.ours) bytes += each.end - each.begin;
  return bytes;
}

std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

/// Memory of this rank's own window and arena.
std::size_t held() {
  std::size_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code unreadable;
    const std::string target = std::filesystem::read_symlink(entry.path(), unreadable).string();
    struct stat status {};
    if (target.find("memfd:tutti") != std::string::npos && stat(entry.path().c_str(), &status) == 0)
      bytes += static_cast<std::size_t>(status.st_blocks) * 512;
  }
  return bytes;
}

/// What the kernel counts as this rank's memory: its own, and what of the peers' is in its page tables.
std::size_t resident() {
  std::size_t size = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> size >> pages;
  return pages * 4096;
}

/// A sum of blocks of the C++ program's own, the same on all ranks.
void sum_up(Context& context, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(int);
  auto* const send = static_cast<int*>(std::malloc(bytes));
  auto* const receive = static_cast<int*>(std::malloc(bytes));
  if (!context.expect(send && receive, "malloc of %zu bytes", bytes)) MPI_Abort(MPI_COMM_WORLD, 1);
  for (std::size_t i = 0; i < count; ++i) send[i] = context.rank() + static_cast<int>(i % 1000);
  MPI_Allreduce(send, receive, static_cast<int>(count), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const int ranks = context.size();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i)
    wrong += receive[i] != ranks * (ranks - 1) / 2 + ranks * static_cast<int>(i % 1000);
  context.expect(wrong == 0, "%zu elements of an Allreduce of %zu bytes are wrong", wrong, bytes);
  if (context.rank() == 0) std::memset(send, 7, bytes);
  MPI_Bcast(send, static_cast<int>(count), MPI_INT, 0, MPI_COMM_WORLD);
  wrong = 0;
  for (std::size_t i = 0; i < bytes; ++i) wrong += reinterpret_cast<const char*>(send)[i] != 7;
  context.expect(wrong == 0, "%zu bytes of a Bcast of %zu bytes are wrong", wrong, bytes);
  std::free(send);
  std::free(receive);
}

void little_is_taken_and_of_one_rank_nothing(Context& context) {
  const std::size_t bytes = taken();
  const std::size_t most =
      context.size() == 1 ? 0 : 128 * mebibyte + 8 * mebibyte * static_cast<std::size_t>(context.size());
  context.expect(bytes <= most, "%zu MiB of address space are taken after MPI_Init", bytes / mebibyte);
  for (const std::size_t size : {std::size_t{100}, 100'000ul, mebibyte, 8 * mebibyte}) sum_up(context, size);
  if (context.size() == 1) context.expect(taken() == 0, "%zu MiB are taken later", taken() / mebibyte);
}

void a_limit_that_is_set_late_is_the_programs(Context& context) {
  sum_up(context, 4 * mebibyte);
  // What the host and the program have is not the question.
  const std::size_t most = std::max(8 * gibibyte, address_space() - taken() + 4 * gibibyte);
  const rlimit limit{most, most};
  context.expect(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
  void* const mapped =
      mmap(nullptr, gibibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  context.expect(mapped != MAP_FAILED, "mmap of 1 GiB");
  pthread_t thread;
  const int made = pthread_create(
      &thread, nullptr, [](void* nothing) { return nothing; }, nullptr);
  if (context.expect(made == 0, "pthread_create: %d", made)) pthread_join(thread, nullptr);
  for (const std::size_t bytes : {std::size_t{1000}, 40'000ul, mebibyte, 50 * mebibyte, 20'000ul})
    sum_up(context, bytes);
  for (int i = 0; i < 20; ++i) {
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    exercise(context, communicator, "made under the limit", 5000);
    MPI_Comm_free(&communicator);
  }
  if (mapped != MAP_FAILED) munmap(mapped, gibibyte);
}

/// Everybody sends everybody each second KiB of a part of `send`, which is full of its rank + 1.
void exchange_every_second(Context& context, const char* send, char* receive, std::size_t bytes) {
  constexpr std::size_t run = 1024;
  const auto ranks = static_cast<std::size_t>(context.size());
  const std::size_t part = bytes / ranks / (2 * run) * 2 * run;
  if (part == 0) return;
  MPI_Datatype every_second = MPI_DATATYPE_NULL;
  MPI_Type_vector(static_cast<int>(part / (2 * run)), run, 2 * run, MPI_CHAR, &every_second);
  MPI_Type_commit(&every_second);
  const std::vector<int> counts(ranks, 1);
  std::vector<int> begins(ranks);
  for (std::size_t i = 0; i < ranks; ++i) begins[i] = static_cast<int>(i * part);
  const std::vector<MPI_Datatype> types(ranks, every_second);
  std::memset(receive, 0, bytes);
  MPI_Alltoallw(send, counts.data(), begins.data(), types.data(), receive, counts.data(), begins.data(), types.data(),
                MPI_COMM_WORLD);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < ranks * part; ++i)
    wrong += receive[i] != (i % (2 * run) < run ? static_cast<char>(i / part + 1) : 0);
  context.expect(wrong == 0, "%zu bytes of an Alltoallw of %zu bytes are wrong", wrong, bytes);
  const int other = context.rank() ^ 1;
  if (other < context.size()) {
    std::memset(receive, 0, part);
    MPI_Sendrecv(send, 1, every_second, other, 0, receive, 1, every_second, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    wrong = 0;
    for (std::size_t i = 0; i < part; ++i)
      wrong += receive[i] != (i % (2 * run) < run ? static_cast<char>(other + 1) : 0);
    context.expect(wrong == 0, "%zu bytes of an MPI_Sendrecv of %zu bytes are wrong", wrong, part);
  }
  MPI_Type_free(&every_second);
}

void a_limit_that_is_reached_ends_nothing(Context& context) {
  sum_up(context, mebibyte);
  // Some arrays are there already, which the peers have not seen.
  const std::size_t bytes = 64 * mebibyte;
  auto* const send = static_cast<char*>(std::malloc(bytes));
  auto* const receive = static_cast<char*>(std::malloc(bytes));
  std::memset(send, context.rank() + 1, bytes);
  std::memset(receive, 0, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit limit = before;
  limit.rlim_cur = address_space() + 8 * mebibyte;
  context.expect(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
  for (const std::size_t part : {std::size_t{100}, mebibyte, bytes}) {
    MPI_Allreduce(send, receive, static_cast<int>(part), MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
    const int expected = context.size() * (context.size() + 1) / 2;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < part; ++i) wrong += receive[i] != expected;
    context.expect(wrong == 0, "%zu bytes of an Allreduce of %zu bytes are wrong", wrong, part);
    std::memset(receive, context.rank() == 1, part);
    MPI_Bcast(receive, static_cast<int>(part), MPI_CHAR, 1, MPI_COMM_WORLD);
    wrong = 0;
    for (std::size_t i = 0; i < part; ++i) wrong += receive[i] != 1;
    context.expect(wrong == 0, "%zu bytes of a Bcast of %zu bytes are wrong", wrong, part);
    // What has gaps needs memory to be packed to: there is little.
    exchange_every_second(context, send, receive, std::min(part, mebibyte));
  }
  setrlimit(RLIMIT_AS, &before);
  std::free(send);
  std::free(receive);
}

void reading_all_that_can_be_read_makes_no_memory(Context& context) {
  auto* const gone = static_cast<char*>(std::malloc(600 * mebibyte));
  if (gone) gone[100] = 1;
  std::free(gone);
  for (const std::size_t bytes : {std::size_t{100}, 20'000ul, mebibyte, 8 * mebibyte}) sum_up(context, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::size_t before = held();
  MPI_Barrier(MPI_COMM_WORLD);
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  char byte = 0;
  std::size_t pages = 0;
  for (const Mapping& each : mappings())
    if (each.readable && each.ours)
      for (std::uintptr_t at = each.begin; at < each.end; at += 4096)
        pages += pread(memory, &byte, 1, static_cast<off_t>(at)) == 1;
  close(memory);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::size_t after = held();
  // Blocks that the host has and has not touched are read, too.
  const std::size_t allowed = 64 * mebibyte;
  context.expect(context.size() == 1 || (pages > 0 && before > 0), "nothing was read");
  context.expect(after <= before + allowed, "reading has made %zu MiB of memory of what was %zu",
                 (after - before) / mebibyte, before / mebibyte);
}

void windows_grow_under_collectives(Context& context) {
  std::vector<void*> kept;
  for (std::size_t bytes = mebibyte; bytes <= 128 * mebibyte; bytes *= 2) {
    sum_up(context, bytes);
    kept.push_back(std::malloc(bytes));  // so that the next ones lie elsewhere
    sum_up(context, bytes / 2 + 4096);
  }
  for (void* const block : kept) std::free(block);
  for (int i = 0; i < 4; ++i) sum_up(context, 40 * mebibyte);
}

void what_was_freed_or_only_read_does_not_stay(Context& context) {
  sum_up(context, 8 * mebibyte);
  const std::size_t before = resident();
  const auto more = [before] { return (std::max(resident(), before) - before) / mebibyte; };
  const std::size_t bytes = 100 * mebibyte;
  std::vector<char*> buffers;
  for (int i = 0; i < 2; ++i) {
    buffers.push_back(static_cast<char*>(std::malloc(bytes)));
    std::memset(buffers.back(), context.rank(), bytes);
  }
  for (int root = 0; root < context.size(); ++root)
    for (char* const buffer : buffers) {
      if (context.rank() == root) std::memset(buffer, root + 3, bytes);
      MPI_Bcast(buffer, static_cast<int>(bytes), MPI_CHAR, root, MPI_COMM_WORLD);
      context.expect(std::count(buffer, buffer + bytes, root + 3) == static_cast<std::ptrdiff_t>(bytes),
                     "a Bcast from %d is wrong", root);
    }
  // 64 MiB of the peers' are kept; what is more is given up after calls, by and by.
  const std::size_t expected = 200 + 64 + 16;
  int too_much = 1;
  for (int tries = 0; too_much != 0 && tries < 100; ++tries) {
    const int mine = more() > expected;
    MPI_Allreduce(&mine, &too_much, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (too_much) std::this_thread::sleep_for(std::chrono::milliseconds{100});
  }
  const std::size_t with_buffers = more();
  context.expect(with_buffers <= expected, "with 200 MiB of its own, a rank has %zu MiB", with_buffers);
  MPI_Barrier(MPI_COMM_WORLD);
  for (char* const buffer : buffers) std::free(buffer);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::size_t without = more();
  context.expect(without <= 16, "of 200 MiB that were freed, and those of the peers, a rank still has %zu MiB",
                 without);
}

void a_child_has_what_its_rank_had(Context& context) {
  const std::size_t bytes = 100 * mebibyte;
  auto* const data = static_cast<unsigned char*>(std::malloc(bytes));
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 7 + i / 4096);
  MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
  const pid_t child = fork();
  if (child == 0) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes; ++i) wrong += data[i] != static_cast<unsigned char>(i * 7 + i / 4096);
    std::memset(data, 0, bytes);
    _exit(wrong == 0 ? 0 : 1);
  }
  int status = -1;
  context.expect(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child found something else");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
  context.expect(data[bytes - 1] == static_cast<unsigned char>((bytes - 1) * 7 + (bytes - 1) / 4096),
                 "the data is lost");
  std::free(data);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    Context context(nullptr, 0);
    const std::vector<Test> tests{
#define TEST(name) {#name, &name}
        TEST(little_is_taken_and_of_one_rank_nothing),
        TEST(a_limit_that_is_set_late_is_the_programs),
        TEST(a_limit_that_is_reached_ends_nothing),
        TEST(reading_all_that_can_be_read_makes_no_memory),
        TEST(windows_grow_under_collectives),
        TEST(what_was_freed_or_only_read_does_not_stay),
        TEST(a_child_has_what_its_rank_had)};
    status = run_tests(context, tests, argc, argv);
  }
  MPI_Finalize();
  return status;
}
