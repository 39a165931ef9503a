#include "mpi/start/job_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace tutti::mpi {
namespace {

class NamesInMemory : public Names {
 public:
  bool publish(const std::string& name, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    if (keeps_none) return false;
    known_[name] = value;
    return true;
  }
  std::optional<std::string> look_up(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    ++looks;
    const auto found = known_.find(name);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  void withdraw(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    known_.erase(name);
  }
  std::size_t left() const { return known_.size(); }

  bool keeps_none = false;
  int looks = 0;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> known_;
};

struct Node {
  int first = 0;  ///< the lowest of its ranks
  int ranks = 1;
  std::uint64_t version = 7;
  bool refuses = false;
};

/// What each of these nodes finds out, of a job of so many ranks.
std::vector<bool> verdicts(NamesInMemory& names, const std::vector<Node>& nodes, int ranks, double patience,
                           std::vector<std::string>* why_not = nullptr) {
  std::vector<std::unique_ptr<JobCall>> calls;
  for (const Node& node : nodes)
    calls.push_back(
        std::make_unique<JobCall>(JobCall::Self{"job", node.first, ranks, node.ranks, node.version}, names, patience));
  std::vector<char> found(nodes.size(), 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    threads.emplace_back([&, i] {
      if (nodes[i].refuses)
        calls[i]->refuse();
      else
        found[i] = calls[i]->all_take_part() ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& call : calls) {
    if (why_not) why_not->push_back(call->why_not());
    call->forget();
  }
  return {found.begin(), found.end()};
}

TEST(JobCall, AllNodesTakePartInBlocksOfRanks) {
  NamesInMemory names;
  EXPECT_EQ(verdicts(names, {{0, 3}, {3, 1}, {4, 2}}, 6, 10), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(names.left(), 0U);
}

TEST(JobCall, AllNodesTakePartWhereRanksTakeTurns) {
  NamesInMemory names;
  std::vector<Node> nodes;
  for (int first = 0; first < 40; ++first) nodes.push_back({first, 5});
  EXPECT_EQ(verdicts(names, nodes, 200, 10), std::vector<bool>(40, true));
}

TEST(JobCall, NodesInBlocksAreLookedUpOnce) {
  NamesInMemory names;
  for (int node = 1; node < 64; ++node) names.publish("tutti-start-job-" + std::to_string(8 * node), "8.7");
  JobCall first({"job", 0, 512, 8, 7}, names, 10);
  EXPECT_TRUE(first.all_take_part());
  EXPECT_EQ(names.looks, 63);
}

TEST(JobCall, WhoeverIsMissingAllLeaveIt) {
  for (const std::vector<Node>& nodes : {std::vector<Node>{{0, 2}, {2, 2}}, std::vector<Node>{{2, 2}, {4, 2}}}) {
    NamesInMemory names;
    std::vector<std::string> why_not;
    EXPECT_EQ(verdicts(names, nodes, 6, 0.05, &why_not), (std::vector<bool>{false, false}));
    EXPECT_NE(why_not.front(), "");
  }
}

TEST(JobCall, ANodeThatRefusesIsNotWaitedFor) {
  for (const int refusing : {0, 1, 2}) {
    NamesInMemory names;
    std::vector<Node> nodes{{0, 2}, {2, 2}, {4, 2}};
    nodes[static_cast<std::size_t>(refusing)].refuses = true;
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<bool> found = verdicts(names, nodes, 6, 60);
    EXPECT_TRUE(std::none_of(found.begin(), found.end(), [](bool each) { return each; }));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  }
}

TEST(JobCall, ARankThatIsNotTheFirstOfItsNodeMayRefuse) {
  NamesInMemory names;
  EXPECT_EQ(verdicts(names, {{0, 2}, {3, 2, 7, true}}, 4, 60), (std::vector<bool>{false, false}));
}

TEST(JobCall, AnotherVersionDoesNotTakePart) {
  NamesInMemory names;
  std::vector<std::string> why_not;
  EXPECT_EQ(verdicts(names, {{0, 2}, {2, 2, 8}}, 4, 60, &why_not), (std::vector<bool>{false, false}));
  EXPECT_NE(why_not.front().find("another version"), std::string::npos);
}

TEST(JobCall, WhereTheLauncherKeepsNoNamesOthersAreTakenToBeThere) {
  NamesInMemory names;
  names.keeps_none = true;
  for (const int rank : {0, 1}) {
    JobCall call(JobCall::Self{"job", rank, 2, 1, 7}, names, 60);
    EXPECT_TRUE(call.all_take_part());
    EXPECT_FALSE(call.keeps_names());
    EXPECT_EQ(call.why_not(), "");
  }
}

}  // namespace
}  // namespace tutti::mpi
