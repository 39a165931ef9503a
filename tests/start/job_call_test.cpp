#include "mpi/start/job_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace tutti::mpi {
namespace {

/// Processes that take turns in simulated time: one goes on at a time, whose time comes first.
class Simulation {
 public:
  double now() const { return now_; }
  /// Runs them to their ends; process i begins at starts[i].
  void run(const std::vector<double>& starts, const std::function<void(std::size_t)>& process) {
    turns_ = std::vector<std::condition_variable>(starts.size());
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < starts.size(); ++i) waiting_.emplace(starts[i], i);
    }
    for (std::size_t i = 0; i < starts.size(); ++i)
      threads.emplace_back([&, i] {
        {
          std::unique_lock lock(mutex_);
          turns_[i].wait(lock, [&] { return turn_ == static_cast<int>(i); });
        }
        process(i);
        const std::lock_guard lock(mutex_);
        give_turn();
      });
    {
      const std::lock_guard lock(mutex_);
      give_turn();
    }
    for (std::thread& thread : threads) thread.join();
  }
  void wait_until(double time, std::size_t self) {
    std::unique_lock lock(mutex_);
    waiting_.emplace(time, self);
    give_turn();
    turns_[self].wait(lock, [&] { return turn_ == static_cast<int>(self); });
  }

 private:
  void give_turn() {
    turn_ = -1;
    if (waiting_.empty()) return;
    const auto next = waiting_.begin();
    now_ = std::max(now_, next->first);
    turn_ = static_cast<int>(next->second);
    waiting_.erase(next);
    turns_[static_cast<std::size_t>(turn_)].notify_one();
  }

  std::mutex mutex_;
  std::vector<std::condition_variable> turns_;
  std::multimap<double, std::size_t> waiting_;
  int turn_ = -1;
  double now_ = 0;
};

/// A launcher that serves one after the other.
struct Launcher {
  double service = 0.1e-3;  ///< seconds for each
  double latency = 0.1e-3;
  bool keeps_none = false;
  int takes_none_of = -1;  ///< a rank
  int looks = 0;
  double free_at = 0;
  std::map<std::string, std::string> known;
};

/// What one node has of it, and of the time.
class AtNode : public Names, public Time {
 public:
  AtNode(Simulation& simulation, Launcher& launcher, std::size_t self, int rank)
      : simulation_(simulation), launcher_(launcher), self_(self), rank_(rank) {}
  bool publish(const std::string& name, const std::string& value) override {
    const bool takes = !launcher_.keeps_none && launcher_.takes_none_of != rank_;
    const bool is_new = takes && launcher_.known.emplace(name, value).second;
    EXPECT_EQ(is_new, takes) << name << " has two writers";
    serve();
    return takes;
  }
  std::optional<std::string> look_up(const std::string& name) override {
    ++launcher_.looks;
    const auto found = launcher_.known.find(name);
    const auto value = found == launcher_.known.end() ? std::nullopt : std::optional(found->second);
    serve();
    return value;
  }
  void withdraw(const std::string& name) override {
    launcher_.known.erase(name);
    serve();
  }
  double now() override { return simulation_.now(); }
  void pause(double seconds) override { simulation_.wait_until(simulation_.now() + seconds, self_); }

 private:
  /// What is asked first is done first, so that it may be done at once.
  void serve() {
    launcher_.free_at = std::max(launcher_.free_at, simulation_.now()) + launcher_.service;
    simulation_.wait_until(launcher_.free_at + launcher_.latency, self_);
  }
  Simulation& simulation_;
  Launcher& launcher_;
  const std::size_t self_;
  const int rank_;
};

struct Node {
  int first = 0;  ///< the lowest of its ranks
  int ranks = 1;
  std::uint64_t version = 7;
  bool refuses = false;
  double start = 0;   ///< when it comes
  bool stays = true;  ///< its program is longer than the start-up of the others, whatever it finds
};

std::vector<Node> equal_nodes(int count, int ranks) {
  std::vector<Node> nodes;
  for (int node = 0; node < count; ++node) nodes.push_back({node * ranks, ranks});
  return nodes;
}

struct Outcome {
  std::vector<bool> found;  ///< by each node
  std::vector<std::string> why_not;
  std::vector<bool> keeps_names;
  double seconds = 0;  ///< until all knew

  bool everybody() const {
    return std::all_of(found.begin(), found.end(), [](bool each) { return each; });
  }
  bool nobody() const {
    return std::none_of(found.begin(), found.end(), [](bool each) { return each; });
  }
};

/// What each of these nodes finds out, of a job of so many ranks. They go on when all that take part have come to this.
Outcome outcome_of(Launcher& launcher, const std::vector<Node>& nodes, int ranks, double patience = 5) {
  Simulation simulation;
  std::vector<std::unique_ptr<AtNode>> places;
  std::vector<std::unique_ptr<JobCall>> calls;
  std::vector<double> starts;
  for (const Node& node : nodes) {
    places.push_back(std::make_unique<AtNode>(simulation, launcher, places.size(), node.first));
    calls.push_back(std::make_unique<JobCall>(JobCall::Self{"job", node.first, ranks, node.ranks, node.version},
                                              *places.back(), patience, *places.back()));
    starts.push_back(node.start);
  }
  Outcome outcome;
  std::vector<char> found(nodes.size(), 0);
  std::size_t over = 0;
  simulation.run(starts, [&](std::size_t i) {
    if (nodes[i].refuses)
      calls[i]->refuse();
    else
      found[i] = calls[i]->all_take_part() ? 1 : 0;
    outcome.seconds = std::max(outcome.seconds, simulation.now());
    // A collective of those that go on, or the end of the program.
    ++over;
    while (over < nodes.size() && (found[i] || nodes[i].stays)) places[i]->pause(0.1);
    calls[i]->forget();
  });
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    outcome.found.push_back(found[i] != 0);
    outcome.why_not.push_back(calls[i]->why_not());
    outcome.keeps_names.push_back(calls[i]->keeps_names());
  }
  EXPECT_TRUE(launcher.known.empty()) << launcher.known.begin()->first << " stays";
  return outcome;
}

TEST(JobCall, AllNodesTakePartInBlocksOfRanks) {
  Launcher launcher;
  EXPECT_TRUE(outcome_of(launcher, {{0, 3}, {3, 1}, {4, 2}}, 6).everybody());
}

TEST(JobCall, AllNodesTakePartWhereRanksTakeTurns) {
  Launcher launcher;
  std::vector<Node> nodes;
  for (int first = 0; first < 40; ++first) nodes.push_back({first, 5});
  EXPECT_TRUE(outcome_of(launcher, nodes, 200).everybody());
}

TEST(JobCall, AFewNodesAreQuick) {
  Launcher launcher;
  const Outcome outcome = outcome_of(launcher, equal_nodes(4, 8), 32);
  EXPECT_TRUE(outcome.everybody());
  EXPECT_LT(outcome.seconds, 0.01);
}

/// Rank 0 looks for each node once. The others ask a few times each, however slow the launcher is; its queue is never so
/// long that rank 0 does not get on.
TEST(JobCall, AThousandNodesTakePartWhateverTheLauncherTakes) {
  struct Case {
    double service, seconds;
    int looks_a_node;
  };
  for (const Case& each : {Case{0.2e-3, 3, 8}, Case{2e-3, 30, 10}, Case{20e-3, 300, 10}}) {
    SCOPED_TRACE(std::to_string(each.service) + " seconds a name");
    Launcher launcher;
    launcher.service = each.service;
    const Outcome outcome = outcome_of(launcher, equal_nodes(1000, 128), 128000);
    EXPECT_TRUE(outcome.everybody());
    EXPECT_LT(outcome.seconds, each.seconds);
    EXPECT_LT(launcher.looks, 1000 * each.looks_a_node);
  }
}

TEST(JobCall, WhereOneOfManyIsMissingAllLeaveIt) {
  for (const std::size_t missing : {std::size_t{0}, std::size_t{100}}) {
    Launcher launcher;
    launcher.service = 2e-3;
    std::vector<Node> nodes = equal_nodes(200, 128);
    nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(missing));
    const Outcome outcome = outcome_of(launcher, nodes, 25600);
    EXPECT_TRUE(outcome.nobody());
    EXPECT_NE(outcome.why_not.front(), "");
    EXPECT_LT(outcome.seconds, 30);
  }
}

/// Whoever is late, or missing, or refuses, and however slow the launcher is: all that take part find the same.
TEST(JobCall, AllFindTheSameWhoeverIsLate) {
  std::mt19937 random(1);
  const auto fraction = [&] { return static_cast<double>(random() % 1000) / 1000; };
  int good = 0, bad = 0;
  for (int i = 0; i < 400; ++i) {
    Launcher launcher;
    launcher.service = random() % 4 == 0 ? fraction() : fraction() / 100;
    launcher.latency = fraction() / 10;
    std::vector<Node> nodes = equal_nodes(2 + static_cast<int>(random() % 5), 1 + static_cast<int>(random() % 3));
    const int ranks = nodes.back().first + nodes.back().ranks;
    const double spread = random() % 3 == 0 ? 0.01 : 30;
    for (Node& node : nodes) {
      node.start = spread * fraction();
      node.stays = random() % 2 == 0;
    }
    if (random() % 4 == 0) nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(random() % nodes.size()));
    if (random() % 8 == 0) nodes[random() % nodes.size()].refuses = true;
    const Outcome outcome = outcome_of(launcher, nodes, ranks);
    ASSERT_TRUE(outcome.everybody() || outcome.nobody()) << "case " << i;
    ++(outcome.everybody() ? good : bad);
  }
  EXPECT_GT(good, 20);
  EXPECT_GT(bad, 20);
}

TEST(JobCall, NodesInBlocksAreLookedUpOnce) {
  Launcher launcher;
  Simulation simulation;
  AtNode place(simulation, launcher, 0, 0);
  for (int node = 1; node < 64; ++node) launcher.known["tutti-start-job-" + std::to_string(8 * node)] = "8.7";
  JobCall first({"job", 0, 512, 8, 7}, place, 10, place);
  simulation.run({0}, [&](std::size_t) { EXPECT_TRUE(first.all_take_part()); });
  EXPECT_EQ(launcher.looks, 63);
}

TEST(JobCall, WhoeverIsMissingAllLeaveIt) {
  for (const std::vector<Node>& nodes : {std::vector<Node>{{0, 2}, {2, 2}}, std::vector<Node>{{2, 2}, {4, 2}}}) {
    Launcher launcher;
    const Outcome outcome = outcome_of(launcher, nodes, 6);
    EXPECT_TRUE(outcome.nobody());
    EXPECT_NE(outcome.why_not.front(), "");
  }
}

TEST(JobCall, ANodeThatRefusesIsNotWaitedFor) {
  for (const int refusing : {0, 1, 2}) {
    Launcher launcher;
    std::vector<Node> nodes{{0, 2}, {2, 2}, {4, 2}};
    nodes[static_cast<std::size_t>(refusing)].refuses = true;
    const Outcome outcome = outcome_of(launcher, nodes, 6);
    EXPECT_TRUE(outcome.nobody());
    EXPECT_LT(outcome.seconds, 1);
  }
}

TEST(JobCall, ARankThatIsNotTheFirstOfItsNodeMayRefuse) {
  Launcher launcher;
  EXPECT_TRUE(outcome_of(launcher, {{0, 2}, {3, 2, 7, true}}, 4).nobody());
}

TEST(JobCall, AnotherVersionDoesNotTakePart) {
  Launcher launcher;
  const Outcome outcome = outcome_of(launcher, {{0, 2}, {2, 2, 8}}, 4);
  EXPECT_TRUE(outcome.nobody());
  EXPECT_NE(outcome.why_not.front().find("another version"), std::string::npos);
}

TEST(JobCall, WhereTheLauncherKeepsNoNamesOthersAreTakenToBeThere) {
  Launcher launcher;
  launcher.keeps_none = true;
  const Outcome outcome = outcome_of(launcher, {{0, 1}, {1, 1}}, 2);
  EXPECT_TRUE(outcome.everybody());
  EXPECT_EQ(outcome.keeps_names, (std::vector<bool>{false, false}));
  EXPECT_EQ(outcome.why_not, (std::vector<std::string>{"", ""}));
}

TEST(JobCall, WhereItTakesNoNamesOfOneNodeAllLeaveIt) {
  for (const int refused : {0, 2, 4}) {
    Launcher launcher;
    launcher.takes_none_of = refused;
    EXPECT_TRUE(outcome_of(launcher, equal_nodes(3, 2), 6).nobody()) << "rank " << refused;
  }
}

}  // namespace
}  // namespace tutti::mpi
