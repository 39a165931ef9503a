// Pointers to neighbours' memory, and blocks that change their owner: with the library without a copy, and without it by
// copies.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support.h"
#include "tutti.h"

using namespace tutti::tests;

namespace {

constexpr std::size_t kibibyte = 1024, mebibyte = 1024 * kibibyte;

/// Whether blocks are handed over where they lie.
bool blocks_are_shared() {
  const char* const mechanism = std::getenv("TUTTI_MECHANISM");
  return tutti_is_there() && TUTTI_Loaded() && (!mechanism || std::strstr(mechanism, "window"));
}
/// Whether malloc's large blocks are, too.
#ifdef TUTTI_TEST_SANITIZED
constexpr bool may_share = false;
#else
constexpr bool may_share = true;
#endif
bool shares() {
  return may_share && blocks_are_shared();
}

void fill(void* block, std::size_t bytes, unsigned salt) {
  auto* const words = static_cast<std::uint32_t*>(block);
  for (std::size_t i = 0; i < bytes / sizeof *words; ++i) words[i] = static_cast<std::uint32_t>(i) * 2654435761u + salt;
}

bool is_filled(const void* block, std::size_t bytes, unsigned salt) {
  const auto* const words = static_cast<const std::uint32_t*>(block);
  for (std::size_t i = 0; i < bytes / sizeof *words; ++i)
    if (words[i] != static_cast<std::uint32_t>(i) * 2654435761u + salt) return false;
  return true;
}

/// Every other one from malloc.
void* allocate(std::size_t bytes, bool by_malloc) {
  void* block = nullptr;
  if (by_malloc)
    block = std::malloc(bytes);
  else
    TUTTI_Alloc(static_cast<MPI_Aint>(bytes), &block);
  return block;
}

int before(const Context& context) {
  return (context.rank() + context.size() - 1) % context.size();
}
int behind(const Context& context) {
  return (context.rank() + 1) % context.size();
}

void blocks_go_round_and_come_home(Context& context) {
  for (const std::size_t bytes :
       {4 * std::size_t{1}, 100 * std::size_t{4}, 2 * kibibyte, 100 * kibibyte, mebibyte, 20 * mebibyte})
    for (const bool by_malloc : {false, true}) {
      void* const own = allocate(bytes, by_malloc);
      fill(own, bytes, static_cast<unsigned>(context.rank()));
      void* block = own;
      for (int step = 1; step <= context.size(); ++step) {
        TUTTI_Request given = TUTTI_REQUEST_NULL;
        TUTTI_Igive(block, static_cast<MPI_Aint>(bytes), behind(context), 7, MPI_COMM_WORLD, &given);
        MPI_Aint told = 0;
        block = nullptr;
        TUTTI_Take(&block, &told, before(context), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        TUTTI_Wait(&given, MPI_STATUS_IGNORE);
        const int whose = (context.rank() + context.size() - step) % context.size();
        context.expect(told == static_cast<MPI_Aint>(bytes) && is_filled(block, bytes, static_cast<unsigned>(whose)),
                       "%zu bytes, step %d: wrong contents", bytes, step);
      }
      // Small blocks of malloc are no part of the window.
      if (shares() && (!by_malloc || bytes >= 2 * kibibyte))
        context.expect(block == own, "%zu bytes came home to another address", bytes);
      TUTTI_Free(block);
    }
}

void who_takes_may_write_and_free(Context& context) {
  const int rounds = context.crowded() ? 200 : 2000;
  for (int round = 0; round < rounds; ++round) {
    const std::size_t bytes = 4 * (1 + static_cast<std::size_t>(round) * 37 % (64 * kibibyte));
    void* const own = allocate(bytes, round % 2);
    fill(own, bytes, static_cast<unsigned>(round + context.rank()));
    TUTTI_Request given;
    TUTTI_Igive(own, static_cast<MPI_Aint>(bytes), behind(context), round, MPI_COMM_WORLD, &given);
    void* block = nullptr;
    TUTTI_Take(&block, nullptr, before(context), round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    context.expect(is_filled(block, bytes, static_cast<unsigned>(round + before(context))), "round %d", round);
    fill(block, bytes, 1);
    TUTTI_Wait(&given, MPI_STATUS_IGNORE);
    TUTTI_Free(block);
  }
}

/// What this process holds itself, and has in its window.
std::size_t all_resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long all = 0, resident = 0;
  if (!file || std::fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
  if (file) std::fclose(file);
  return static_cast<std::size_t>(resident * sysconf(_SC_PAGESIZE));
}

/// On processors that others use, too, a host that waits keeps the one that the other rank needs.
void receive_nothing(int source) {
  int flag = 0;
  for (MPI_Iprobe(source, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); !flag;
       MPI_Iprobe(source, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE))
    sched_yield();
  MPI_Recv(nullptr, 0, MPI_INT, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void many_rounds_do_not_grow(Context& context) {
  if (context.size() < 2) return;
  const int rounds = context.crowded() || !shares() ? 2'000 : 200'000;
  constexpr int at_a_time = 64;
  constexpr std::size_t bytes = 128 * kibibyte;
  const bool gives = context.rank() % 2 == 0;
  const int other = gives ? context.rank() + 1 : context.rank() - 1;
  std::size_t after_first = 0;
  if (other < context.size())
    for (int round = 0; round < rounds; ++round) {
      void* block = nullptr;
      if (gives) {
        block = allocate(bytes, round % 2);
        static_cast<int*>(block)[0] = round;
        static_cast<int*>(block)[bytes / sizeof(int) - 1] = round;
        TUTTI_Give(block, bytes, other, 0, MPI_COMM_WORLD);
        if (round % at_a_time == at_a_time - 1) receive_nothing(other);
      } else {
        TUTTI_Take(&block, nullptr, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const int* const words = static_cast<int*>(block);
        if (words[0] != round || words[bytes / sizeof(int) - 1] != round) context.expect(false, "round %d", round);
        TUTTI_Free(block);
        if (round % at_a_time == at_a_time - 1) MPI_Send(nullptr, 0, MPI_INT, other, 1, MPI_COMM_WORLD);
      }
      if (round == rounds / 10) after_first = all_resident_bytes();
    }
  const std::size_t now = all_resident_bytes();
  context.expect(now < after_first + 32 * mebibyte || other >= context.size(), "%zu MiB became %zu",
                 after_first / mebibyte, now / mebibyte);
}

void nothing_can_be_given(Context& context) {
  TUTTI_Request given;
  TUTTI_Igive(nullptr, 0, behind(context), 3, MPI_COMM_WORLD, &given);
  void* block = &given;
  MPI_Aint bytes = -1;
  MPI_Status status;
  TUTTI_Take(&block, &bytes, before(context), 3, MPI_COMM_WORLD, &status);
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  context.expect(!block && bytes == 0 && count == 0, "it was something");
  TUTTI_Wait(&given, MPI_STATUS_IGNORE);

  // Of a block, too.
  TUTTI_Alloc(100, &block);
  context.expect(block != nullptr, "there is no block");
  TUTTI_Igive(block, 0, behind(context), 3, MPI_COMM_WORLD, &given);
  TUTTI_Take(&block, &bytes, before(context), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  TUTTI_Wait(&given, MPI_STATUS_IGNORE);
  context.expect(bytes == 0, "it has bytes");
  TUTTI_Free(block);
  TUTTI_Alloc(0, &block);
  context.expect(block != nullptr, "an empty block is NULL");
  TUTTI_Free(block);
}

void nobody_takes_and_gives_nothing(Context& context) {
  void* block = nullptr;
  TUTTI_Alloc(10'000, &block);
  context.expect(TUTTI_Give(block, 10'000, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "giving");
  TUTTI_Alloc(10'000, &block);
  TUTTI_Request request;
  TUTTI_Igive(block, 10'000, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  TUTTI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Aint bytes = 5;
  MPI_Status status;
  TUTTI_Take(&block, &bytes, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  context.expect(!block && bytes == 0 && status.MPI_SOURCE == MPI_PROC_NULL, "something came");
  block = &bytes;
  int flag = 0;
  TUTTI_Itake(&block, nullptr, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  TUTTI_Test(&request, &flag, &status);
  context.expect(flag && !block && request == TUTTI_REQUEST_NULL, "it is not over");
  flag = 0;
  TUTTI_Test(&request, &flag, &status);
  context.expect(flag && status.MPI_SOURCE == MPI_ANY_SOURCE, "nothing is not over");
  context.expect(TUTTI_Wait(&request, &status) == MPI_SUCCESS, "nothing is waited for");
}

void takes_from_anybody_tell_who_gave(Context& context) {
  if (context.rank() == 0) {
    std::vector<int> seen(static_cast<std::size_t>(context.size()));
    for (int i = 0; i < 20 * (context.size() - 1); ++i) {
      void* block = nullptr;
      MPI_Aint bytes = 0;
      MPI_Status status;
      TUTTI_Take(&block, &bytes, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      const int source = status.MPI_SOURCE, which = seen[static_cast<std::size_t>(source)]++;
      const std::size_t wanted = 4000 * static_cast<std::size_t>(source + which);
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      context.expect(status.MPI_TAG == 100 + which && bytes == static_cast<MPI_Aint>(wanted) && count == bytes &&
                         is_filled(block, wanted, static_cast<unsigned>(source)),
                     "from %d with tag %d come %ld bytes", source, status.MPI_TAG, static_cast<long>(bytes));
      TUTTI_Free(block);
    }
    return;
  }
  for (int which = 0; which < 20; ++which) {
    const std::size_t bytes = 4000 * static_cast<std::size_t>(context.rank() + which);
    void* const block = allocate(bytes, which % 2);
    fill(block, bytes, static_cast<unsigned>(context.rank()));
    TUTTI_Give(block, static_cast<MPI_Aint>(bytes), 0, 100 + which, MPI_COMM_WORLD);
  }
}

void takes_that_were_started_first_are_served_first(Context& context) {
  constexpr int count = 12;
  if (context.size() < 2) return;
  if (context.rank() == 1) {
    MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::vector<TUTTI_Request> given(count);
    for (int i = 0; i < count; ++i) {
      void* block = nullptr;
      TUTTI_Alloc(8192, &block);
      *static_cast<int*>(block) = i;
      TUTTI_Igive(block, 8192, 0, 5, MPI_COMM_WORLD, &given[static_cast<std::size_t>(i)]);
    }
    for (TUTTI_Request& each : given) TUTTI_Wait(&each, MPI_STATUS_IGNORE);
  } else if (context.rank() == 0) {
    std::vector<TUTTI_Request> taken(count);
    std::vector<void*> blocks(count);
    for (int i = 0; i < count; ++i)
      TUTTI_Itake(&blocks[static_cast<std::size_t>(i)], nullptr, i % 3 ? 1 : MPI_ANY_SOURCE, i % 2 ? 5 : MPI_ANY_TAG,
                  MPI_COMM_WORLD, &taken[static_cast<std::size_t>(i)]);
    int flag = 1;
    TUTTI_Test(&taken[4], &flag, MPI_STATUS_IGNORE);
    context.expect(!flag, "a block came that nobody has given");
    MPI_Send(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
    // The last is waited for first.
    for (int i = count; i-- > 0;) {
      TUTTI_Wait(&taken[static_cast<std::size_t>(i)], MPI_STATUS_IGNORE);
      void* const block = blocks[static_cast<std::size_t>(i)];
      context.expect(*static_cast<int*>(block) == i, "take %d got block %d", i, *static_cast<int*>(block));
      TUTTI_Free(block);
    }
  }
}

void other_threads_free_and_resize(Context& context) {
  const int rounds = context.crowded() ? 50 : 500;
  for (int round = 0; round < rounds; ++round) {
    const std::size_t bytes = 40'000 + 4 * static_cast<std::size_t>(round);
    void* const own = allocate(bytes, true);
    fill(own, bytes, static_cast<unsigned>(context.rank()));
    TUTTI_Request given;
    TUTTI_Igive(own, static_cast<MPI_Aint>(bytes), behind(context), 0, MPI_COMM_WORLD, &given);
    void* block = nullptr;
    TUTTI_Take(&block, nullptr, before(context), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    TUTTI_Wait(&given, MPI_STATUS_IGNORE);
    bool good = false;
    std::thread([&] {
      // In Tutti's malloc these know what was taken.
      if (round % 3 == 0) {
        std::free(block);
        good = true;
        return;
      }
      const std::size_t size = round % 3 == 1 ? 3 * bytes : 1000;
      void* const moved = std::realloc(block, size);
      good = moved && is_filled(moved, std::min(size, bytes), static_cast<unsigned>(before(context)));
      if (moved) std::memset(moved, 1, size);
      std::free(moved);
    }).join();
    context.expect(good, "round %d", round);
  }
}

int array_of_the_program[5000];

void neighbors_are_reached_by_pointers(Context& context) {
  int on_the_stack[100] = {};
  constexpr std::size_t count = 50'000;
  void* block = nullptr;
  TUTTI_Alloc(count * sizeof(int), &block);
  int* const values = static_cast<int*>(block);
  for (std::size_t i = 0; i < count; ++i) values[i] = context.rank();
  for (int& each : array_of_the_program) each = context.rank();
  TUTTI_Handle own[4];
  TUTTI_Peer_handle(values, count * sizeof(int), &own[0]);
  TUTTI_Peer_handle(values + 100, 400, &own[1]);
  TUTTI_Peer_handle(array_of_the_program, sizeof array_of_the_program, &own[2]);
  TUTTI_Peer_handle(on_the_stack, sizeof on_the_stack, &own[3]);
  std::vector<TUTTI_Handle> all(4 * static_cast<std::size_t>(context.size()));
  MPI_Allgather(own, 4, MPI_UINT64_T, all.data(), 4, MPI_UINT64_T, MPI_COMM_WORLD);
  for (int rank = 0; rank < context.size(); ++rank) {
    const TUTTI_Handle* const theirs = &all[4 * static_cast<std::size_t>(rank)];
    void* found[4] = {};
    const std::size_t bytes[4] = {count * sizeof(int), 400, sizeof array_of_the_program, sizeof on_the_stack};
    for (int i = 0; i < 4; ++i)
      TUTTI_Peer_pointer(MPI_COMM_WORLD, rank, theirs[i], static_cast<MPI_Aint>(bytes[i]), &found[i]);
    if (rank == context.rank()) {
      context.expect(found[0] == values && found[1] == values + 100 && found[2] == array_of_the_program &&
                         found[3] == on_the_stack,
                     "the own addresses are %p %p %p %p", found[0], found[1], found[2], found[3]);
      continue;
    }
    context.expect(!found[3], "a stack of rank %d is found", rank);
    context.expect((found[0] != nullptr) == shares() && (found[1] != nullptr) == shares(), "%p of rank %d", found[0],
                   rank);
    if (found[0]) {
      context.expect(static_cast<int*>(found[0])[count - 1] == rank && static_cast<int*>(found[1])[0] == rank &&
                         static_cast<int*>(found[0]) + 100 == found[1],
                     "of rank %d", rank);
      static_cast<int*>(found[0])[context.rank()] = 1000 + context.rank();
    }
    if (found[2]) {
      context.expect(static_cast<int*>(found[2])[4999] == rank, "static data of rank %d", rank);
      static_cast<int*>(found[2])[context.rank()] = 2000 + context.rank();
    }
    const char* const statics = std::getenv("TUTTI_STATIC");
    if (shares() && !statics) context.expect(found[2] != nullptr, "no static data of rank %d", rank);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int rank = 0; rank < context.size() && shares(); ++rank)
    context.expect(rank == context.rank() || values[rank] == 1000 + rank, "rank %d has not stored", rank);
  MPI_Barrier(MPI_COMM_WORLD);
  TUTTI_Free(block);
}

void mistakes_are_errors(Context& context) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (MPI_Comm each : {comm, MPI_COMM_SELF, MPI_COMM_WORLD}) MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN);
  const auto class_of = [](int code) {
    int error = 0;
    MPI_Error_class(code, &error);
    return error;
  };
  void* block = nullptr;
  TUTTI_Request request = TUTTI_REQUEST_NULL;
  context.expect(class_of(TUTTI_Alloc(-1, &block)) == MPI_ERR_ARG, "less than nothing is allocated");
  TUTTI_Alloc(5000, &block);
  fill(block, 5000, 9);
  context.expect(class_of(TUTTI_Peer_pointer(comm, context.size(), 1, 8, &request)) == MPI_ERR_RANK, "a rank");
  context.expect(class_of(TUTTI_Peer_pointer(comm, -77, 1, 8, &request)) == MPI_ERR_RANK, "a rank below 0");
  context.expect(class_of(TUTTI_Peer_pointer(MPI_COMM_NULL, 0, 1, 8, &request)) == MPI_ERR_COMM, "no communicator");
  context.expect(class_of(TUTTI_Peer_pointer(comm, 0, 1, -8, &request)) == MPI_ERR_COUNT, "bytes");
  void* none = block;
  context.expect(TUTTI_Peer_pointer(comm, MPI_PROC_NULL, 1, 8, &none) == MPI_SUCCESS && !none, "nobody");
  context.expect(class_of(TUTTI_Give(block, 5000, context.size(), 0, comm)) == MPI_ERR_RANK, "giving to nobody");
  context.expect(class_of(TUTTI_Igive(block, 5000, context.size(), 0, comm, &request)) == MPI_ERR_RANK, "the same");
  context.expect(class_of(TUTTI_Give(block, 5000, 0, 0, MPI_COMM_NULL)) == MPI_ERR_COMM, "no communicator");
  context.expect(class_of(TUTTI_Give(block, -1, 0, 0, comm)) == MPI_ERR_COUNT, "bytes");
  context.expect(class_of(TUTTI_Take(&none, nullptr, context.size(), 0, comm, MPI_STATUS_IGNORE)) == MPI_ERR_RANK,
                 "from nobody");
  context.expect(class_of(TUTTI_Take(&none, nullptr, 0, 0, MPI_COMM_NULL, MPI_STATUS_IGNORE)) == MPI_ERR_COMM,
                 "no communicator");
  context.expect(is_filled(block, 5000, 9), "the block is not what it was");
  TUTTI_Free(block);
  // Messages that nobody has given: shorter than what is sent for a block, as long, and longer.
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{56}, std::size_t{1000}}) {
    std::vector<char> message(bytes, 'x');
    MPI_Request sent;
    MPI_Isend(message.data(), static_cast<int>(bytes), MPI_BYTE, behind(context), 4, comm, &sent);
    context.expect(class_of(TUTTI_Take(&none, nullptr, before(context), 4, comm, MPI_STATUS_IGNORE)) == MPI_ERR_OTHER,
                   "%zu bytes were a block", bytes);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&comm);
  for (MPI_Comm each : {MPI_COMM_SELF, MPI_COMM_WORLD}) MPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
}

void children_do_not_have_what_was_taken(Context& context) {
  constexpr std::size_t bytes = 300 * kibibyte;
  void* const own = allocate(bytes, true);
  fill(own, bytes, 5);
  TUTTI_Request given;
  TUTTI_Igive(own, bytes, behind(context), 0, MPI_COMM_WORLD, &given);
  void* block = nullptr;
  TUTTI_Take(&block, nullptr, before(context), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  TUTTI_Wait(&given, MPI_STATUS_IGNORE);
  const pid_t child = fork();
  if (child == 0) {
    TUTTI_Free(block);
    void* const more = std::malloc(bytes);
    std::memset(more, 7, bytes);
    std::free(more);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  context.expect(status == 0, "the child ended with %d", status);
  context.expect(is_filled(block, bytes, 5), "the child has changed the block");
  context.expect(std::system("true") == 0, "no program can be run");
  fill(block, bytes, 6);
  MPI_Barrier(MPI_COMM_WORLD);
  TUTTI_Free(block);
}

sigjmp_buf jump;

void what_was_given_is_closed(Context& context) {
  const char* const check = std::getenv("TUTTI_CHECK");
  if (!check || !shares() || context.size() < 2) return;
  constexpr std::size_t bytes = 100 * kibibyte;
  struct sigaction handler {
  }, before_ours{};
  handler.sa_handler = [](int) { siglongjmp(jump, 1); };
  sigaction(SIGSEGV, &handler, &before_ours);
  char* block = nullptr;
  TUTTI_Alloc(bytes, &block);
  char* const own = block;
  std::memset(own, 3, bytes);
  TUTTI_Request given;
  TUTTI_Igive(block, bytes, behind(context), 17, MPI_COMM_WORLD, &given);
  char name[] = "/tmp/tutti-test-XXXXXX";
  const int file = mkstemp(name), errors = dup(STDERR_FILENO);
  unlink(name);
  dup2(file, STDERR_FILENO);
  volatile bool faulted = true;
  if (sigsetjmp(jump, 1) == 0) {
    static_cast<volatile char*>(own)[bytes / 2] = 1;
    faulted = false;
  }
  dup2(errors, STDERR_FILENO);
  char text[400] = "";
  [[maybe_unused]] const auto read_bytes = pread(file, text, sizeof text - 1, 0);
  close(file);
  close(errors);
  context.expect(faulted, "it could be written to");
  const std::string wanted = "was given to rank " + std::to_string(behind(context)) + " with tag 17";
  context.expect(std::strstr(text, wanted.c_str()), "\"%s\" says nothing of it", text);
  TUTTI_Take(&block, nullptr, before(context), 17, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  TUTTI_Wait(&given, MPI_STATUS_IGNORE);
  context.expect(block[0] == 3 && block[bytes - 1] == 3, "contents");
  // The next one takes it home, or frees it.
  if (context.size() == 2) {
    TUTTI_Igive(block, bytes, before(context), 18, MPI_COMM_WORLD, &given);
    TUTTI_Take(&block, nullptr, behind(context), 18, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    TUTTI_Wait(&given, MPI_STATUS_IGNORE);
    context.expect(block == own, "it came home to another address");
    std::memset(block, 4, bytes);
  }
  TUTTI_Free(block);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 100; ++i) {
    TUTTI_Alloc(bytes, &block);
    std::memset(block, 5, bytes);
    TUTTI_Free(block);
  }
  sigaction(SIGSEGV, &before_ours, nullptr);
}

/// To be freed after MPI_Finalize, when others have perhaps ended.
void* kept_to_the_end = nullptr;
constexpr std::size_t kept_bytes = 3 * mebibyte;

void blocks_are_kept_to_the_end(Context& context) {
  void* const own = allocate(kept_bytes, false);
  fill(own, kept_bytes, static_cast<unsigned>(context.rank()));
  TUTTI_Request given;
  TUTTI_Igive(own, kept_bytes, behind(context), 0, MPI_COMM_WORLD, &given);
  TUTTI_Take(&kept_to_the_end, nullptr, before(context), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  TUTTI_Wait(&given, MPI_STATUS_IGNORE);
}

const std::vector<Test> tests = {
    {"blocks_go_round_and_come_home", blocks_go_round_and_come_home},
    {"who_takes_may_write_and_free", who_takes_may_write_and_free},
    {"nothing_can_be_given", nothing_can_be_given},
    {"nobody_takes_and_gives_nothing", nobody_takes_and_gives_nothing},
    {"takes_from_anybody_tell_who_gave", takes_from_anybody_tell_who_gave},
    {"takes_that_were_started_first_are_served_first", takes_that_were_started_first_are_served_first},
    {"other_threads_free_and_resize", other_threads_free_and_resize},
    {"neighbors_are_reached_by_pointers", neighbors_are_reached_by_pointers},
    {"mistakes_are_errors", mistakes_are_errors},
    {"children_do_not_have_what_was_taken", children_do_not_have_what_was_taken},
    {"what_was_given_is_closed", what_was_given_is_closed},
    {"many_rounds_do_not_grow", many_rounds_do_not_grow},
    {"blocks_are_kept_to_the_end", blocks_are_kept_to_the_end},
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  Context context(nullptr, 0);
  const int whose = before(context);
  int status = run_tests(context, tests, argc, argv);
  MPI_Finalize();
  if (kept_to_the_end) {
    // One rank is the last.
    if (whose == 0) usleep(200'000);
    if (!is_filled(kept_to_the_end, kept_bytes, static_cast<unsigned>(whose))) {
      std::fprintf(stderr, "what was kept has other contents after MPI_Finalize\n");
      status = 1;
    }
    TUTTI_Free(kept_to_the_end);
  }
  return status;
}
