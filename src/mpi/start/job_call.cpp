#include "mpi/start/job_call.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

namespace tutti::mpi {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* all_do = "all";
constexpr const char* some_do_not = "some";
/// How many names are tried in a row of which nobody has said that they should be there.
constexpr int guesses = 16;
/// How long a rank that has given up looks whether the verdict was on its way, in seconds; what is known of nodes is not
/// used for a verdict when it is half as old.
constexpr double grace = 4;

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

}  // namespace

std::string JobCall::name_of(int rank) const {
  return "tutti-start-" + self_.job + "-" + std::to_string(rank);
}

std::string JobCall::verdict() const {
  return "tutti-start-" + self_.job + "-verdict";
}

bool JobCall::leave(const std::string& name, const std::string& value) {
  if (!names_.publish(name, value)) return false;
  left_.push_back(name);
  return true;
}

void JobCall::forget() {
  for (const std::string& name : left_) names_.withdraw(name);
  left_.clear();
}

bool JobCall::all_take_part() {
  // No space in it: the launcher's messages are lines of words. Rank 0's own nobody looks up: it tells whether names are kept.
  if (!leave(name_of(self_.rank), std::to_string(self_.local_ranks) + "." + std::to_string(self_.version))) {
    keeps_names_ = false;
    return true;
  }
  return self_.rank == 0 ? judge() : obey();
}

void JobCall::refuse() {
  if (self_.rank == 0)
    give_verdict(false);
  else
    leave(name_of(self_.rank), "0." + std::to_string(self_.version));
}

/// What the first rank of a node has left; nothing if this is none, or has not left anything yet.
std::optional<JobCall::Node> JobCall::node_at(int rank) {
  const auto value = names_.look_up(name_of(rank));
  Node node{rank, 0, 0};
  unsigned long long version = 0;
  if (!value || std::sscanf(value->c_str(), "%d.%llu", &node.ranks, &version) != 2) return std::nullopt;
  node.version = version;
  return node;
}

/// Looks for nodes that are not known yet, and adds them. Where ranks follow each other on a node, the next begins where
/// it ends; for other orders all ranks are tried in turn, some in each call, from `next` on.
JobCall::Found JobCall::look_around(std::vector<Node>& known, int& next) {
  std::set<int> tried;
  int there = self_.local_ranks;
  for (const Node& node : known) {
    there += node.ranks;
    tried.insert(node.first);
  }
  const auto look = [&](int rank) {
    if (rank >= self_.ranks || there >= self_.ranks || !tried.insert(rank).second) return Found::too_few;
    const auto node = node_at(rank);
    if (!node) return Found::too_few;
    if (node->version != self_.version) return Found::another_version;
    if (node->ranks <= 0) return Found::refusal;
    known.push_back(*node);
    there += node->ranks;
    return Found::everybody;
  };
  // One after the other, as long as they are where they should be.
  const auto look_along = [&](int rank) {
    Found found = Found::everybody;
    while (found == Found::everybody) {
      found = look(rank);
      rank += known.empty() ? 0 : known.back().ranks;
    }
    return found;
  };
  std::vector<int> begins{self_.local_ranks};
  for (const Node& node : known) begins.push_back(node.first + node.ranks);
  for (int i = 0; i < guesses && next < self_.ranks; ++i) begins.push_back(next++);
  if (next >= self_.ranks) next = 1;
  for (const int begin : begins)
    if (const Found found = look_along(begin); found != Found::too_few) return found;
  return there == self_.ranks ? Found::everybody : Found::too_few;
}

/// By rank 0.
bool JobCall::judge() {
  const auto deadline = Clock::now() + seconds(patience_);
  std::vector<Node> known;
  auto since = Clock::now();
  int next = 1;
  for (;;) {
    // Who has given up meanwhile has withdrawn its name.
    if (Clock::now() - since > seconds(grace / 2)) {
      known.clear();
      since = Clock::now();
    }
    const Found found = look_around(known, next);
    if (found == Found::everybody && Clock::now() - since <= seconds(grace / 2)) return give_verdict(true);
    if (found == Found::another_version) {
      why_not_ = "another version of Tutti is on another node";
    } else if (found == Found::refusal) {
      why_not_ = "some ranks of another node do not call MPI_Init through Tutti";
    } else if (Clock::now() >= deadline) {
      int there = self_.local_ranks;
      for (const Node& node : known) there += node.ranks;
      why_not_ = "of the job's " + std::to_string(self_.ranks) + " ranks only " + std::to_string(there) + ", on " +
                 std::to_string(known.size() + 1) + (known.empty() ? " node" : " nodes") +
                 ", called MPI_Init through Tutti";
    }
    if (!why_not_.empty()) return give_verdict(false);
    usleep(1000);
  }
}

bool JobCall::give_verdict(bool all) {
  if (leave(verdict(), all ? all_do : some_do_not)) return all;
  why_not_ = "the launcher did not take the name by which rank 0 tells the other nodes that it is there";
  return false;
}

/// By the other ranks that are the first of a node.
bool JobCall::obey() {
  auto deadline = Clock::now() + seconds(patience_);
  useconds_t pause = 500;
  for (;;) {
    if (const auto said = names_.look_up(verdict())) return *said == all_do;
    if (Clock::now() >= deadline) {
      if (left_.empty()) break;
      // Rank 0 may have found the name just now. Without it there will be no verdict that all take part.
      forget();
      deadline = Clock::now() + seconds(grace);
    }
    usleep(pause);
    pause = std::min<useconds_t>(2 * pause, 20'000);
  }
  why_not_ = "rank 0 did not call MPI_Init through Tutti";
  return false;
}

}  // namespace tutti::mpi
