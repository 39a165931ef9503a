// Allreduce of two threads of one process, by a team, against that of two processes, by MPI: in turns, on the same two
// processors. Two ranks; bytes and rounds may be given.
//
// Each result is looked at. Beside the times stands what a flag takes there and back between the two threads: on guests
// the distance of the two processors may change from round to round.

#include <mpi.h>
#include <sched.h>
#include <tutti.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// The two processors that this process may run on first.
std::vector<int> two_processors() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> found;
  for (int unit = 0; unit < CPU_SETSIZE && found.size() < 2; ++unit)
    if (CPU_ISSET(unit, &allowed)) found.push_back(unit);
  return found;
}

void stay_on(int unit) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(unit, &one);
  sched_setaffinity(0, sizeof one, &one);
}

double nanoseconds_since(Clock::time_point begin, int times) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / times;
}

/// What the two threads of process 0 tell each other.
struct alignas(256) Word {
  std::atomic<int> value{0};
};
Word round_begun, round_done, ball;

constexpr int bounces = 2000;

/// One side of a loop of calls; nothing of it is in the other's lines.
struct Side {
  std::vector<double> values, sums;
  int calls;

  Side(std::size_t count, int times) : values(count + 64), sums(count + 64), calls(times) {}

  template <class Reduce>
  double run(const Reduce& reduce) {
    const auto begin = Clock::now();
    for (int call = 0; call < calls; ++call) {
      values[0] = call;
      reduce(values.data(), sums.data());
      if (sums[0] != 2.0 * call) std::abort();
    }
    return nanoseconds_since(begin, calls);
  }
};

/// The second thread of process 0, asleep between its rounds.
void second_thread(TUTTI_Team team, int processor, std::size_t count, int calls) {
  stay_on(processor);
  TUTTI_Team_attach(team, 1);
  Side side(count, calls);
  for (int seen = 0;;) {
    while (round_begun.value == seen) usleep(500);
    seen = round_begun.value;
    if (seen < 0) break;
    for (int i = 0; i < bounces; ++i) {
      while (ball.value.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      ball.value.store(2 * i + 2, std::memory_order_release);
    }
    TUTTI_Team_barrier(team);
    side.run([&](const double* from, double* to) {
      TUTTI_Team_allreduce(from, to, static_cast<MPI_Count>(count), MPI_DOUBLE, MPI_SUM, team);
    });
    round_done.value = seen;
  }
  TUTTI_Team_detach(team);
}

/// Process 1 leaves its processor to the thread, until process 0 says that it goes on.
void wait_asleep(int rank) {
  int word = 0, has_come = 0;
  if (rank == 0) {
    MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    return;
  }
  while (!has_come) {
    MPI_Iprobe(0, 0, MPI_COMM_WORLD, &has_come, MPI_STATUS_IGNORE);
    if (!has_come) usleep(1000);
  }
  MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count =
      std::max<std::size_t>(1, (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8) / sizeof(double));
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 25;
  const int calls = count > 1000 ? 500 : 20'000;
  int level = 0, rank = 0, size = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::vector<int> processors = two_processors();
  if (size != 2 || processors.size() != 2) {
    std::fprintf(stderr, "this takes two ranks that may run on the same two processors\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  stay_on(processors[static_cast<std::size_t>(rank)]);
  TUTTI_Team team = TUTTI_TEAM_NULL;
  if (TUTTI_Team_create(MPI_COMM_SELF, rank == 0 ? 2 : 1, &team) != MPI_SUCCESS) return 1;
  std::thread second;
  if (rank == 0) second = std::thread(second_thread, team, processors[1], count, calls);
  TUTTI_Team_attach(team, 0);
  Side side(count, calls);
  std::vector<double> flags, by_team, by_mpi, ratios;
  for (int round = 1; round <= rounds; ++round) {
    if (rank == 0) {
      ball.value = 0;
      round_begun.value = round;
      usleep(1000);
      const auto begin = Clock::now();
      for (int i = 0; i < bounces; ++i) {
        ball.value.store(2 * i + 1, std::memory_order_release);
        while (ball.value.load(std::memory_order_acquire) != 2 * i + 2) {
        }
      }
      flags.push_back(nanoseconds_since(begin, bounces));
      TUTTI_Team_barrier(team);
      by_team.push_back(side.run([&](const double* from, double* to) {
        TUTTI_Team_allreduce(from, to, static_cast<MPI_Count>(count), MPI_DOUBLE, MPI_SUM, team);
      }));
      while (round_done.value != round) usleep(500);
    }
    wait_asleep(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    by_mpi.push_back(side.run([&](const double* from, double* to) {
      MPI_Allreduce(from, to, static_cast<int>(count), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }));
    wait_asleep(rank);
    if (rank == 0) ratios.push_back(by_team.back() / by_mpi.back());
  }
  if (rank == 0) {
    round_begun.value = -1;
    second.join();
    std::printf("allreduce of %zu bytes, medians of %d rounds of %d calls:\n", count * sizeof(double), rounds, calls);
    std::printf("flag there and back %.0f ns, threads %.0f ns, processes %.0f ns, ratio %.2f (%.2f to %.2f)\n",
                median(flags), median(by_team), median(by_mpi), median(ratios),
                *std::min_element(ratios.begin(), ratios.end()), *std::max_element(ratios.begin(), ratios.end()));
  }
  TUTTI_Team_detach(team);
  TUTTI_Team_free(&team);
  MPI_Finalize();
}
