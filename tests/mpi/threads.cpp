// MPI_THREAD_MULTIPLE: several threads of each rank are in collectives at the same time, each thread on a communicator
// of its own; and threads of one communicator that take turns.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "completing.h"
#include "inits.h"
#include "support.h"

using namespace tutti::tests;

namespace {

constexpr int kThreads = 3;

/// What one thread found wrong; a Context belongs to the main thread.
struct Finding {
  long wrong = 0;
};

void work(MPI_Comm communicator, int thread, int rounds, Finding& finding) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  for (int round = 0; round < rounds; ++round) {
    const int count = 1 + (round * 37 + thread * 1001) % 9000;
    std::vector<int> values(static_cast<std::size_t>(count), rank + thread);
    std::vector<int> sums(values.size());
    MPI_Allreduce(values.data(), sums.data(), count, MPI_INT, MPI_SUM, communicator);
    finding.wrong += sums.back() != size * (size - 1) / 2 + size * thread;
    const int root = (round + thread) % size;
    values.assign(values.size(), rank == root ? round * 10 + thread : -1);
    MPI_Bcast(values.data(), count, MPI_INT, root, communicator);
    finding.wrong += values.front() != round * 10 + thread || values.back() != round * 10 + thread;
    MPI_Reduce(values.data(), sums.data(), count, MPI_INT, MPI_MAX, root, communicator);
    finding.wrong += rank == root && sums.back() != round * 10 + thread;
    MPI_Barrier(communicator);
  }
}

void each_thread_has_a_communicator(Context& context) {
  std::vector<MPI_Comm> communicators(kThreads);
  for (auto& communicator : communicators) MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  std::vector<Finding> findings(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back(work, communicators[static_cast<std::size_t>(thread)], thread, context.crowded() ? 10 : 100,
                         std::ref(findings[static_cast<std::size_t>(thread)]));
  for (auto& thread : threads) thread.join();
  for (int thread = 0; thread < kThreads; ++thread)
    context.expect(findings[static_cast<std::size_t>(thread)].wrong == 0, "thread %d saw %ld wrong results", thread,
                   findings[static_cast<std::size_t>(thread)].wrong);
  for (auto& communicator : communicators) MPI_Comm_free(&communicator);
}

void threads_make_and_free_communicators(Context& context) {
  std::vector<MPI_Comm> parents(kThreads);
  for (auto& parent : parents) MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  std::vector<Finding> findings(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < (context.crowded() ? 4 : 30); ++round) {
        MPI_Comm communicator = MPI_COMM_NULL;
        MPI_Comm_dup(parents[static_cast<std::size_t>(thread)], &communicator);
        work(communicator, thread, 2, findings[static_cast<std::size_t>(thread)]);
        MPI_Comm_free(&communicator);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const Finding& finding : findings) context.expect(finding.wrong == 0, "%ld wrong results", finding.wrong);
  for (auto& parent : parents) MPI_Comm_free(&parent);
}

void threads_take_turns_on_a_communicator(Context& context) {
  std::mutex turn;
  std::vector<std::thread> threads;
  Finding finding;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      const std::lock_guard<std::mutex> lock(turn);
      // The order of the threads differs between ranks, what they do does not.
      work(MPI_COMM_WORLD, 0, context.crowded() ? 4 : 20, finding);
    });
  }
  for (auto& thread : threads) thread.join();
  context.expect(finding.wrong == 0, "%ld wrong results", finding.wrong);
}

void a_thread_receives_while_others_are_in_collectives(Context& context) {
  if (context.size() < 2) return;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  constexpr int kCount = 500'000;
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  bool right = true;
  std::thread messages([&] {
    std::vector<int> out(kCount, context.rank());
    std::vector<int> in(kCount, -1);
    for (int round = 0; round < (context.crowded() ? 3 : 10); ++round) {
      MPI_Sendrecv(out.data(), kCount, MPI_INT, next, 3, in.data(), kCount, MPI_INT, previous, 3, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      right = right && in.front() == previous && in.back() == previous;
    }
  });
  Finding finding;
  work(communicator, 1, context.crowded() ? 5 : 50, finding);
  messages.join();
  context.expect(right, "messages of another thread");
  context.expect(finding.wrong == 0, "%ld wrong results", finding.wrong);
  MPI_Comm_free(&communicator);
}

/// Nonblocking ones of a communicator, and one blocking one beside them.
void start_and_complete(MPI_Comm communicator, int thread, int rounds, Finding& finding) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  std::mt19937_64 random(static_cast<std::uint64_t>(rank * 10 + thread));
  for (int round = 0; round < rounds; ++round) {
    const int count = 1 + (round * 53 + thread * 701) % 9000;
    const int root = (round + thread) % size;
    std::vector<int> sums(static_cast<std::size_t>(count), rank + thread);
    std::vector<int> cast(sums.size(), rank == root ? round : -1);
    std::vector<MPI_Request> requests(3);
    MPI_Iallreduce(MPI_IN_PLACE, sums.data(), count, MPI_INT, MPI_SUM, communicator, &requests[0]);
    MPI_Ibcast(cast.data(), count, MPI_INT, root, communicator, &requests[1]);
    MPI_Barrier(communicator);
    MPI_Ibarrier(communicator, &requests[2]);
    complete(requests, kWays[static_cast<std::size_t>(round + thread) % std::size(kWays)], random);
    finding.wrong += sums.back() != size * (size - 1) / 2 + size * thread;
    finding.wrong += cast.front() != round || cast.back() != round;
  }
}

/// Persistent ones of a communicator, started and completed in turn with a nonblocking and a blocking one.
void start_again_and_again(MPI_Comm communicator, int thread, int rounds, Finding& finding) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  std::mt19937_64 random(static_cast<std::uint64_t>(rank * 10 + thread));
  const int count = thread == 0 ? 3 : 2000 * thread;
  std::vector<int> sums(static_cast<std::size_t>(count)), cast(sums.size());
  std::vector<MPI_Request> kept(3);
  inits.Allreduce(MPI_IN_PLACE, sums.data(), count, MPI_INT, MPI_SUM, communicator, MPI_INFO_NULL, &kept[0]);
  inits.Bcast(cast.data(), count, MPI_INT, thread % size, communicator, MPI_INFO_NULL, &kept[1]);
  inits.Barrier(communicator, MPI_INFO_NULL, &kept[2]);
  for (int round = 0; round < rounds; ++round) {
    std::fill(sums.begin(), sums.end(), rank + round);
    std::fill(cast.begin(), cast.end(), rank == thread % size ? round : -1);
    std::vector<MPI_Request> requests = kept;
    std::shuffle(requests.begin(), requests.end(), random);
    MPI_Startall(3, requests.data());
    int one = 1;
    MPI_Iallreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, communicator, &requests.emplace_back());
    if (round % 3 == 0) MPI_Barrier(communicator);
    complete(requests, kWays[static_cast<std::size_t>(round + thread) % std::size(kWays)], random);
    finding.wrong += one != size || sums.back() != size * (size - 1) / 2 + size * round;
    finding.wrong += cast.front() != round || cast.back() != round;
  }
  for (MPI_Request& each : kept) MPI_Request_free(&each);
}

void threads_start_persistent_calls(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;  // hosts have mistakes of their own
  std::vector<MPI_Comm> communicators(kThreads);
  for (auto& communicator : communicators) MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  std::vector<Finding> findings(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back(start_again_and_again, communicators[static_cast<std::size_t>(thread)], thread,
                         context.crowded() ? 20 : 300, std::ref(findings[static_cast<std::size_t>(thread)]));
  for (auto& thread : threads) thread.join();
  for (const Finding& finding : findings) context.expect(finding.wrong == 0, "%ld wrong results", finding.wrong);
  for (auto& communicator : communicators) MPI_Comm_free(&communicator);
}

void threads_have_calls_under_way(Context& context) {
  std::vector<MPI_Comm> communicators(kThreads);
  for (auto& communicator : communicators) MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  std::vector<Finding> findings(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back(start_and_complete, communicators[static_cast<std::size_t>(thread)], thread,
                         context.crowded() ? 8 : 60, std::ref(findings[static_cast<std::size_t>(thread)]));
  for (auto& thread : threads) thread.join();
  for (const Finding& finding : findings) context.expect(finding.wrong == 0, "%ld wrong results", finding.wrong);
  for (auto& communicator : communicators) MPI_Comm_free(&communicator);
}

void a_thread_completes_what_another_has_started(Context& context) {
  for (int round = 0; round < (context.crowded() ? 5 : 40); ++round) {
    const int count = round % 2 ? 50'000 : 3;
    std::vector<int> sums(static_cast<std::size_t>(count), context.rank() + round);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, sums.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    std::thread other([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
    other.join();
    const int expected = context.size() * (context.size() - 1) / 2 + context.size() * round;
    context.expect(request == MPI_REQUEST_NULL && sums.front() == expected && sums.back() == expected, "round %d",
                   round);
  }
}

#ifndef OPEN_MPI  // which by itself does not come to the end of this
int communicate_and_copy(MPI_Comm old, int, void*, void* from, void* to, int* is_copied) {
  MPI_Barrier(old);
  std::memcpy(to, &from, sizeof from);
  *is_copied = 1;
  return MPI_SUCCESS;
}

int communicate_and_count(MPI_Comm communicator, int, void* value, void*) {
  int ranks = 0;
  MPI_Comm_size(communicator, &ranks);
  std::vector<int> ones(3000, 1);
  MPI_Allreduce(MPI_IN_PLACE, ones.data(), 3000, MPI_INT, MPI_SUM, communicator);
  static_cast<Finding*>(value)->wrong += ones.front() != ranks || ones.back() != ranks;
  return MPI_SUCCESS;
}

void threads_free_communicators_whose_attributes_communicate(Context& context) {
  std::vector<MPI_Comm> parents(kThreads);
  for (auto& parent : parents) MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  int key = 0;
  MPI_Comm_create_keyval(&communicate_and_copy, &communicate_and_count, &key, nullptr);
  std::vector<Finding> findings(kThreads);
  std::vector<std::thread> threads;
  const int rounds = context.crowded() ? 3 : 20;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      const auto i = static_cast<std::size_t>(thread);
      for (int round = 0; round < rounds; ++round) {
        MPI_Comm first = MPI_COMM_NULL;
        MPI_Comm second = MPI_COMM_NULL;
        MPI_Comm_dup(parents[i], &first);
        MPI_Comm_set_attr(first, key, &findings[i]);
        MPI_Comm_dup(first, &second);
        work(second, thread, 1, findings[i]);
        MPI_Comm_free(&first);
        MPI_Comm_free(&second);
      }
    });
  for (auto& thread : threads) thread.join();
  for (int thread = 0; thread < kThreads; ++thread)
    context.expect(findings[static_cast<std::size_t>(thread)].wrong == 0, "thread %d saw %ld wrong results", thread,
                   findings[static_cast<std::size_t>(thread)].wrong);
  MPI_Comm_free_keyval(&key);
  for (auto& parent : parents) MPI_Comm_free(&parent);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int status = 0;
  {
    Context context(nullptr, 0);
    if (provided < MPI_THREAD_MULTIPLE) {
      if (context.rank() == 0) std::printf("PASS threads (this MPI has no MPI_THREAD_MULTIPLE)\n");
    } else {
      status = run_tests(
          context,
          {{"each_thread_has_a_communicator", &each_thread_has_a_communicator},
           {"threads_make_and_free_communicators", &threads_make_and_free_communicators},
#ifndef OPEN_MPI
           {"threads_free_communicators_whose_attributes_communicate",
            &threads_free_communicators_whose_attributes_communicate},
#endif
           {"threads_have_calls_under_way", &threads_have_calls_under_way},
           {"threads_start_persistent_calls", &threads_start_persistent_calls},
           {"a_thread_completes_what_another_has_started", &a_thread_completes_what_another_has_started},
           {"threads_take_turns_on_a_communicator", &threads_take_turns_on_a_communicator},
           {"a_thread_receives_while_others_are_in_collectives", &a_thread_receives_while_others_are_in_collectives}},
          argc, argv);
    }
  }
  MPI_Finalize();
  return status;
}
