// What communicators cost beside what the host takes for them: time, memory while they are there, and what is left of it.
//
// The host's own are made by the functions that begin with PMPI_, which nobody stands in front of, in turns with ours.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support.h"

using namespace tutti::tests;

namespace {

constexpr std::size_t kibibyte = 1024;

/// The calls of this file, of ours or of the host.
struct Calls {
  int (*dup)(MPI_Comm, MPI_Comm*);
  int (*create)(MPI_Comm, MPI_Group, MPI_Comm*);
  int (*free)(MPI_Comm*);
  int (*bcast)(void*, int, MPI_Datatype, int, MPI_Comm);
  int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  int (*allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  int (*barrier)(MPI_Comm);
};
constexpr Calls ours{MPI_Comm_dup,  MPI_Comm_create, MPI_Comm_free, MPI_Bcast,
                     MPI_Allreduce, MPI_Allgather,   MPI_Barrier};
constexpr Calls hosts{PMPI_Comm_dup,  PMPI_Comm_create, PMPI_Comm_free, PMPI_Bcast,
                      PMPI_Allreduce, PMPI_Allgather,   PMPI_Barrier};

/// Four small collectives; whether their results are right.
bool use(const Context& context, const Calls& calls, MPI_Comm communicator) {
  const int ranks = context.size();
  int values[4] = {context.rank() == 0 ? 7 : 0, 1, 1, 1};
  calls.bcast(values, 1, MPI_INT, 0, communicator);
  int sums[4];
  calls.allreduce(values, sums, 4, MPI_INT, MPI_SUM, communicator);
  std::vector<int> of_all(static_cast<std::size_t>(ranks));
  const int mine = context.rank() + sums[0];
  calls.allgather(&mine, 1, MPI_INT, of_all.data(), 1, MPI_INT, communicator);
  calls.barrier(communicator);
  return sums[0] == 7 * ranks && sums[3] == ranks && of_all.back() == ranks - 1 + 7 * ranks;
}

/// Memory of this rank's own files of the library whose name has `part` in it: no count of private memory has it.
std::size_t shared_bytes(const char* part) {
  std::size_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code unreadable;
    const std::string target = std::filesystem::read_symlink(entry.path(), unreadable).string();
    struct stat status {};
    if (target.find(part) != std::string::npos && stat(entry.path().c_str(), &status) == 0)
      bytes += static_cast<std::size_t>(status.st_blocks) * 512;
  }
  return bytes;
}

std::size_t private_bytes() {
  std::size_t private_kb = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) std::sscanf(line.c_str(), "RssAnon: %zu", &private_kb);
  return private_kb * kibibyte;
}

/// All that this rank holds, and what of it the ranks share of communicators.
struct Held {
  double all;
  double arena;
};
Held held() {
  const auto bytes = static_cast<double>(private_bytes() + shared_bytes("memfd:tutti"));
  return {bytes, static_cast<double>(shared_bytes("memfd:tutti-arena"))};
}

/// Bytes that `count` communicators take while they are there, all they take and what the ranks share, and how much they
/// still share when they are freed again.
struct Taken {
  double there;
  double shared;
  double left;
};
Taken taken(Context& context, const Calls& calls, int count, bool used) {
  std::vector<MPI_Comm> all(static_cast<std::size_t>(count));
  const Held before = held();
  for (MPI_Comm& each : all) calls.dup(MPI_COMM_WORLD, &each);
  for (const MPI_Comm each : all)
    if (used) context.expect(use(context, calls, each), "a collective on one of many communicators is wrong");
  const Held there = held();
  for (MPI_Comm& each : all) calls.free(&each);
  // The others have freed theirs; what a rank has kept for them goes when it comes to a collective then.
  for (int i = 0; i < 2; ++i) MPI_Barrier(MPI_COMM_WORLD);
  return {there.all - before.all, there.arena - before.arena, held().arena - before.arena};
}

void one_that_was_never_used_takes_little(Context& context) {
  const int count = context.crowded() ? 200 : 2000;
  // What the host and allocators once had they keep.
  for (int i = 0; i < 2; ++i) taken(context, hosts, count, false);
  const Taken host = taken(context, hosts, count, false);
  // Huge pages come at once, a few MiB: of three times the least is what communicators take.
  Taken own = taken(context, ours, count, false);
  for (int i = 0; i < 2; ++i) {
    const Taken again = taken(context, ours, count, false);
    if (again.there < own.there) own = again;
  }
  const double beyond = (own.there - host.there) / count;
  context.expect(beyond < 16.0 * kibibyte, "each takes %.0f bytes more than the host's", beyond);
  context.expect(own.shared < 1.0 * kibibyte * count, "each shares %.0f bytes", own.shared / count);
  context.expect(own.left < 1.0 * kibibyte * kibibyte, "%d of them leave %.0f bytes", count, own.left);
}

void those_that_were_used_leave_little(Context& context) {
  const int count = context.crowded() ? 200 : 2000;
  const Taken own = taken(context, ours, count, true);
  context.expect(own.left < 2.0 * kibibyte * kibibyte, "%d of them leave %.0f of the %.0f bytes that they shared",
                 count, own.left, own.shared);
}

/// Each call of madvise that a library notes for ever is one of them.
void making_and_freeing_leaks_nothing(Context& context) {
  const int rounds = context.crowded() ? 100 : 3000;
  const auto leak = [&](const Calls& calls) {
    double before = 0;
    for (int round = -rounds / 2; round < rounds; ++round) {
      if (round == 0) before = static_cast<double>(private_bytes());
      MPI_Comm communicator = MPI_COMM_NULL;
      calls.dup(MPI_COMM_WORLD, &communicator);
      if (round % 8 == 0) context.expect(use(context, calls, communicator), "a collective on a duplicate is wrong");
      calls.free(&communicator);
    }
    return (static_cast<double>(private_bytes()) - before) / rounds;
  };
  const double host = leak(hosts);
  const double own = leak(ours);
  // Memory comes in pages, and allocators take some at once.
  const double most = context.crowded() ? 4096 : 64;
  context.expect(own - host < most, "%.0f bytes are lost each time, %.0f of them by the host", own, host);
}

/// How many times as long a round takes with ours as with the host's own calls. Of some turns, the one in which ours was
/// fastest and the one in which the host was: others need the processors, too.
template <class Round>
double times_the_host(Context& context, const Round& round) {
  double fastest[2] = {1e9, 1e9};
  for (int turn = 0; turn < 30; ++turn) {
    for (int which = 0; which < 2; ++which) {
      const Calls& calls = which == 0 ? ours : hosts;
      PMPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      for (int i = 0; i < 20; ++i) round(calls);
      double seconds = MPI_Wtime() - begin;
      PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (turn > 0) fastest[which] = std::min(fastest[which], seconds);
    }
  }
  if (context.rank() == 0)
    std::fprintf(stderr, "%.1f us, the host %.1f us\n", fastest[0] / 20 * 1e6, fastest[1] / 20 * 1e6);
  return fastest[0] / fastest[1];
}

// Far below what it was (8 and 10 times), and above the two that are measured where nobody else runs.
constexpr double most_times = 4;

void a_duplicate_takes_not_much_longer_than_the_hosts(Context& context) {
  if (context.crowded()) return;
  const double times = times_the_host(context, [](const Calls& calls) {
    MPI_Comm communicator = MPI_COMM_NULL;
    calls.dup(MPI_COMM_WORLD, &communicator);
    calls.free(&communicator);
  });
  context.expect(times < most_times, "dup and free take %.1f times as long", times);
}

void using_one_for_a_moment_takes_not_much_longer(Context& context) {
  if (context.crowded()) return;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const double times = times_the_host(context, [&](const Calls& calls) {
    MPI_Comm communicator = MPI_COMM_NULL;
    calls.create(MPI_COMM_WORLD, all, &communicator);
    context.expect(use(context, calls, communicator), "a collective on a new communicator is wrong");
    calls.free(&communicator);
  });
  MPI_Group_free(&all);
  context.expect(times < most_times, "create, four collectives and free take %.1f times as long", times);
}

/// What was used before, more or less of it, is as new to who has it next.
void what_is_used_again_is_as_new(Context& context) {
  const int rounds = context.crowded() ? 30 : 300;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm communicators[3];
    for (MPI_Comm& each : communicators) MPI_Comm_dup(MPI_COMM_WORLD, &each);
    // The first of them never, the others up to beyond all slots of their rings.
    for (int i = 0; i < (round * 7) % 80; ++i)
      context.expect(use(context, ours, communicators[1 + i % 2]), "round %d: a collective is wrong", round);
    if (round % 5 == 0) exercise(context, communicators[2], "a communicator in used memory", 5000);
    for (int i = 0; i < 3; ++i) MPI_Comm_free(&communicators[(i + round + context.rank()) % 3]);
  }
}

/// Some ranks free theirs long after the others, and all make and free more of them meanwhile.
void what_others_still_have_is_not_used_again(Context& context) {
  MPI_Comm kept[8];
  for (MPI_Comm& each : kept) MPI_Comm_dup(MPI_COMM_WORLD, &each);
  for (const MPI_Comm each : kept) context.expect(use(context, ours, each), "a collective is wrong");
  for (int i = 0; i < 8; i += 2)
    if (context.rank() % 2 == 0) MPI_Comm_free(&kept[i]);
  for (int round = 0; round < 20; ++round) {
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    exercise(context, other, "a communicator beside half-freed ones", 300);
    MPI_Comm_free(&other);
    for (int i = 1; i < 8; i += 2) context.expect(use(context, ours, kept[i]), "a collective on a kept one is wrong");
  }
  for (MPI_Comm& each : kept)
    if (each != MPI_COMM_NULL) MPI_Comm_free(&each);
}

/// Duplicates of duplicates, of which some were never used, and halves of them.
void parents_may_be_of_any_kind(Context& context) {
  MPI_Comm line[6] = {MPI_COMM_WORLD};
  for (int i = 1; i < 6; ++i) {
    MPI_Comm_split(line[i - 1], 0, i % 2 ? -context.rank() : context.rank(), &line[i]);
    if (i % 3 == 0) exercise(context, line[i], "a descendant", 50);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(line[i], context.rank() % 2, context.rank(), &half);
    exercise(context, half, "half of a descendant", 20);
    MPI_Comm_free(&half);
  }
  for (int i = 1; i < 6; ++i) {
    MPI_Comm twin = MPI_COMM_NULL;
    MPI_Comm_dup(line[i], &twin);
    MPI_Comm_free(&line[i]);
    exercise(context, twin, "a twin whose parent is freed", 20);
    MPI_Comm_free(&twin);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    Context context(nullptr, 0);
    const std::vector<Test> tests{
#define TEST(name) {#name, &name}
        TEST(one_that_was_never_used_takes_little),
        TEST(those_that_were_used_leave_little),
        TEST(making_and_freeing_leaks_nothing),
        TEST(a_duplicate_takes_not_much_longer_than_the_hosts),
        TEST(using_one_for_a_moment_takes_not_much_longer),
        TEST(what_is_used_again_is_as_new),
        TEST(what_others_still_have_is_not_used_again),
        TEST(parents_may_be_of_any_kind)};
    status = run_tests(context, tests, argc, argv);
  }
  MPI_Finalize();
  return status;
}
