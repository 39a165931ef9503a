// Programs that things happen to; the script `run` makes them happen. The first argument says which:
//
//     once            all collectives once, then the end
//     undumpable      the same, but no process may look into this one (as after a change of user)
//     closes          the same twice; in between every process closes itself to the others, as by a change of user
//     loop NAME N     the collective NAME of N ints for ever; "PID rank pid" is printed when it is under way
//     many            an Allgather on each of many communicators
//     late            rank 1 comes 6 seconds late to a barrier
//     processes       each rank starts other processes in every way, and its data stays its own
//     ends WAY OTHERS, goes-on    see endings.h
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "endings.h"
#include "support.h"

using namespace tutti::tests;

extern char** environ;

namespace {

void once(Context& context) {
  for (const int count : {1, 2000, 100'000}) exercise(context, MPI_COMM_WORLD, "MPI_COMM_WORLD", count);
}

void many(Context& context) {
  for (int call = 0; call < 6; ++call) {
    MPI_Comm communicator = MPI_COMM_NULL;
    const bool all = call % 2 == 0;
    MPI_Comm_split(MPI_COMM_WORLD, all ? 0 : context.rank() / 2, 0, &communicator);
    std::vector<int> ranks(static_cast<std::size_t>(context.size()));
    MPI_Allgather(&call, 1, MPI_INT, ranks.data(), 1, MPI_INT, communicator);
    MPI_Comm_free(&communicator);
  }
}

/// From now on no process of the same user may look into this one.
void close_to_others(Context& context) {
  constexpr uid_t nobody = 65534;
  MPI_Barrier(MPI_COMM_WORLD);
  prctl(PR_SET_DUMPABLE, 0);
  if (getuid() == 0) context.expect(setuid(nobody) == 0, "setuid");
  prctl(PR_SET_DUMPABLE, 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

[[noreturn]] void loop(Context& context, const std::string& collective, int count) {
  std::vector<int> send(static_cast<std::size_t>(count), 1);
  std::vector<int> receive(send.size());
  constexpr int under_way = 20;
  for (int call = 0;; ++call) {
    if (call == under_way) {
      std::printf("PID %d %d\n", context.rank(), static_cast<int>(getpid()));
      std::fflush(stdout);
    }
    if (collective == "barrier") MPI_Barrier(MPI_COMM_WORLD);
    if (collective == "bcast") MPI_Bcast(send.data(), count, MPI_INT, 0, MPI_COMM_WORLD);
    if (collective == "reduce") MPI_Reduce(send.data(), receive.data(), count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (collective == "allreduce") MPI_Allreduce(send.data(), receive.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

void late(Context& context) {
  if (context.rank() == 1) sleep(6);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Arrays of every kind that a child process must not reach.
class Data {
 public:
  explicit Data(int rank) : rank_(rank), heap_(2'000'000), small_(100) { restore(); }
  void restore() {
    for (std::size_t i = 0; i < heap_.size(); ++i) heap_[i] = static_cast<int>(i) + rank_;
    for (std::size_t i = 0; i < small_.size(); ++i) small_[i] = static_cast<int>(i) - rank_;
    for (int& value : fixed_) value = 7 + rank_;
  }
  bool whole() const {
    for (std::size_t i = 0; i < heap_.size(); ++i)
      if (heap_[i] != static_cast<int>(i) + rank_) return false;
    for (std::size_t i = 0; i < small_.size(); ++i)
      if (small_[i] != static_cast<int>(i) - rank_) return false;
    for (const int value : fixed_)
      if (value != 7 + rank_) return false;
    return true;
  }
  void spoil() {
    std::memset(heap_.data(), 0xEE, heap_.size() * sizeof(int));
    std::memset(small_.data(), 0xEE, small_.size() * sizeof(int));
    std::memset(fixed_, 0xEE, sizeof fixed_);
  }

 private:
  int rank_;
  std::vector<int> heap_;
  std::vector<int> small_;
  static int fixed_[1000];
};
int Data::fixed_[1000];

int wait_for(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The child sees its parent's data, writes over it, and uses the allocator; 0 if all of that went well.
int child_life(Data& data) {
  if (!data.whole()) return 1;
  data.spoil();
  std::vector<std::vector<int>> more;
  for (int i = 0; i < 20; ++i) more.emplace_back(100'000, i);
  for (int i = 0; i < 20; ++i)
    if (more[static_cast<std::size_t>(i)].back() != i) return 2;
  more.clear();
  char* grown = static_cast<char*>(std::malloc(100'000));
  std::memset(grown, 3, 100'000);
  grown = static_cast<char*>(std::realloc(grown, 3'000'000));
  const bool kept = grown && grown[99'999] == 3;
  std::free(grown);
  return kept ? 0 : 3;
}

int plain_fork(Data& data) {
  const pid_t child = fork();
  if (child == 0) _exit(child_life(data));
  return wait_for(child);
}

/// A fork while another thread is in the middle of allocating.
int fork_beside_a_thread(Data& data) {
  std::atomic<bool> stop{false};
  std::thread allocator([&] {
    while (!stop) std::vector<char>(50'000).back() = 1;
  });
  int worst = 0;
  for (int i = 0; i < 5; ++i) worst = std::max(worst, plain_fork(data));
  stop = true;
  allocator.join();
  return worst;
}

int fork_and_exec() {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "exit 5", static_cast<char*>(nullptr));
    _exit(99);
  }
  return wait_for(child) - 5;
}

int spawn() {
  pid_t child = 0;
  const char* arguments[] = {"sh", "-c", "exit 6", nullptr};
  if (posix_spawn(&child, "/bin/sh", nullptr, nullptr, const_cast<char**>(arguments), environ) != 0) return 98;
  return wait_for(child) - 6;
}

int read_from_pipe() {
  std::FILE* pipe = popen("echo from the child", "r");
  if (!pipe) return 97;
  char line[64] = "";
  const bool read = std::fgets(line, sizeof line, pipe) != nullptr && std::strcmp(line, "from the child\n") == 0;
  return pclose(pipe) == 0 && read ? 0 : 96;
}

void processes(Context& context) {
  Data data(context.rank());
  const std::vector<std::pair<const char*, std::function<int()>>> ways{
      {"system", [] { return std::system("exit 0"); }},
      {"popen", &read_from_pipe},
      {"fork and exec", &fork_and_exec},
      {"posix_spawn", &spawn},
      {"fork", [&] { return plain_fork(data); }},
      {"fork beside a thread that allocates", [&] { return fork_beside_a_thread(data); }},
  };
  for (const auto& [name, way] : ways) {
    const int result = way();
    context.expect(result == 0, "%s: the child ended with %d", name, result);
    context.expect(data.whole(), "%s: the child changed this rank's data", name);
    exercise(context, MPI_COMM_WORLD, name, 30'000);
  }
  // The parent writes while the child reads: the child keeps what was there at the fork.
  int ready[2];
  if (!context.expect(pipe(ready) == 0, "pipe")) return;
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    if (read(ready[0], &byte, 1) != 1) _exit(4);
    _exit(data.whole() ? 0 : 5);
  }
  data.spoil();
  context.expect(write(ready[1], "x", 1) == 1, "write to a pipe");
  const int result = wait_for(child);
  context.expect(result == 0, "the child saw what its parent wrote after the fork (%d)", result);
  close(ready[0]);
  close(ready[1]);
  data.restore();
  exercise(context, MPI_COMM_WORLD, "after all children", 30'000);
}

/// Rank 1 has too little room, and finds out in this function. Errors are fatal.
void too_little_room(Context& context, const std::string& function) {
  int values[4] = {};
  const int count = context.rank() == 1 ? 2 : 4;
  MPI_Request request = MPI_REQUEST_NULL;
  if (function == "MPI_Bcast") {
    MPI_Bcast(values, count, MPI_INT, 0, MPI_COMM_WORLD);
  } else {
    MPI_Ibcast(values, count, MPI_INT, 0, MPI_COMM_WORLD, &request);
    int index = 0;
    if (function == "MPI_Waitany")
      MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
    else
      MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "once";
  if (mode == "undumpable") prctl(PR_SET_DUMPABLE, 0);
  MPI_Init(&argc, &argv);
  if (mode == "ends" && argc > 3)
    return ends(argv[2], argv[3], argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) : 0);
  if (mode == "goes-on") return goes_on();
  long checks = 0;
  bool passed = true;
  {
    Context context(nullptr, 0);
    context.set_test(mode);
    if (mode == "loop" && argc > 3) loop(context, argv[2], std::atoi(argv[3]));
    if (mode == "once" || mode == "undumpable" || mode == "closes") once(context);
    if (mode == "closes") {
      close_to_others(context);
      once(context);
    }
    if (mode == "many") many(context);
    if (mode == "truncated" && argc > 2) too_little_room(context, argv[2]);
    if (mode == "late") late(context);
    if (mode == "processes") processes(context);
    passed = context.finish_test(checks);
    if (context.rank() == 0) std::printf("%s %s (%ld checks)\n", passed ? "PASS" : "FAIL", mode.c_str(), checks);
  }
  MPI_Finalize();
  return passed ? 0 : 1;
}
