// Persistent collectives that are made ready, used and freed again and again: what was kept of the last ones is there for the
// next, whoever frees what when.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "inits.h"
#include "semantics.h"

namespace tutti::tests {

namespace {

/// A sum over all ranks, or what one rank has.
struct Anew {
  std::vector<int> sent, received;
  MPI_Request request = MPI_REQUEST_NULL;
  int number = 0;
  int root = 0;

  Anew(const Context& context, int which, std::size_t count)
      : sent(count), received(count), number(which), root(which % context.size()) {
    const auto ints = static_cast<int>(count);
    if (number % 2)
      inits.Bcast(received.data(), ints, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
      inits.Allreduce(sent.data(), received.data(), ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  }
  void start(const Context& context, int salt) {
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = value(context.rank(), i, salt);
    if (number % 2 && context.rank() == root) received = sent;
    MPI_Start(&request);
  }
  int wrong(const Context& context, int salt) const {
    int wrong = 0;
    for (std::size_t i = 0; i < received.size(); ++i) {
      int right = number % 2 ? value(root, i, salt) : 0;
      for (int rank = 0; number % 2 == 0 && rank < context.size(); ++rank) right += value(rank, i, salt);
      wrong += received[i] != right;
    }
    return wrong;
  }

 private:
  int value(int rank, std::size_t i, int salt) const {
    return rank * 17 + static_cast<int>(i) * 3 + salt * 101 + number;
  }
};

}  // namespace

void persistent_calls_are_made_anew_again_and_again(Context& context) {
  std::mt19937_64 alike(7);
  std::mt19937_64 random(static_cast<std::uint64_t>(context.rank()) + 70);
  std::vector<std::unique_ptr<Anew>> all;
  const int made = context.crowded() ? 60 : 600;
  for (int which = 0; which < made; ++which) {
    all.push_back(std::make_unique<Anew>(context, which, 1 + alike() % 9 * 100));
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t live = 1 + alike() % 6;
    if (alike() % 3 == 0) {
      for (auto& each : all) each->start(context, which);
      for (auto& each : all) MPI_Wait(&each->request, MPI_STATUS_IGNORE);
      for (auto& each : all)
        context.expect(each->wrong(context, which) == 0, "call %d is wrong after %d", each->number, which);
    }
    // As many on each rank, but in an order of its own: some may be free here that are in use elsewhere.
    if (all.size() <= live) continue;
    std::vector<std::unique_ptr<Anew>> gone;
    while (all.size() > live) {
      gone.push_back(std::move(all.front()));
      all.erase(all.begin());
    }
    std::shuffle(gone.begin(), gone.end(), random);
    for (auto& each : gone) MPI_Request_free(&each->request);
  }
  for (auto& each : all) MPI_Request_free(&each->request);
}

void most_calls_that_are_made_anew_wait_for_nobody(Context& context) {
  int sent = context.rank(), sum = 0;
  const auto make = [&] {
    MPI_Request request;
    inits.Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Request_free(&request);
  };
  if (context.crowded()) return;
  for (int i = 0; i < 3000; ++i) make();
  MPI_Barrier(MPI_COMM_WORLD);
  // Who waits in each one takes as long as the others.
  int slow = 0;
  for (int i = 0; i < 30; ++i) {
    if (context.rank() != 0) usleep(20'000);
    const double begin = MPI_Wtime();
    make();
    slow += MPI_Wtime() - begin > 10e-3;
  }
  if (tutti_is_there()) context.expect(slow < 10, "%d of 30 have waited", slow);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace tutti::tests
