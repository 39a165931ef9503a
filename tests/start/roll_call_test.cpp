#include "mpi/start/roll_call.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tutti::mpi {
namespace {

using Result = RollCall::Result;

/// Ranks of one job, in this process: `ranks` of `local_ranks`.
std::vector<std::unique_ptr<RollCall>> ranks_of(const std::string& job, const std::vector<int>& ranks,
                                                int local_ranks) {
  std::vector<std::unique_ptr<RollCall>> all;
  for (const int rank : ranks)
    all.push_back(
        std::make_unique<RollCall>(LaunchedRank{job + "-" + std::to_string(getpid()), rank, local_ranks, ""}));
  return all;
}

TEST(RollCall, AllTakePart) {
  const auto ranks = ranks_of("all", {0, 1, 2}, 3);
  for (const auto& rank : ranks) rank->announce();
  for (const auto& rank : ranks) EXPECT_EQ(rank->take(0), Result::all);
}

TEST(RollCall, OneRankNamesThoseThatAreMissingAndAllDecideAlike) {
  const auto ranks = ranks_of("some", {1, 3}, 4);
  for (const auto& rank : ranks) rank->announce();
  for (const auto& rank : ranks) EXPECT_EQ(rank->take(0), Result::some);
  EXPECT_EQ(ranks[0]->missing(), (std::vector<int>{0, 2}));
  EXPECT_TRUE(ranks[1]->missing().empty());
}

TEST(RollCall, WhoComesAfterTheDecisionTakesItOver) {
  const auto ranks = ranks_of("late", {0, 1}, 2);
  ranks[0]->announce();
  EXPECT_EQ(ranks[0]->take(0), Result::some);
  ranks[1]->announce();
  EXPECT_EQ(ranks[1]->take(0), Result::some);
}

TEST(RollCall, ANameIsWaitedFor) {
  const auto ranks = ranks_of("slow", {0, 1}, 2);
  ranks[0]->announce();
  std::thread late([&] {
    usleep(20'000);
    ranks[1]->announce();
    EXPECT_EQ(ranks[1]->take(10), Result::all);
  });
  EXPECT_EQ(ranks[0]->take(10), Result::all);
  late.join();
}

TEST(RollCall, JobsDoNotMeet) {
  const auto here = ranks_of("here", {0}, 2);
  const auto there = ranks_of("there", {1}, 2);
  here[0]->announce();
  there[0]->announce();
  EXPECT_EQ(here[0]->take(0), Result::some);
}

struct Others : OtherNodes {
  bool answer = true;
  int asked = 0, refused = 0;
  bool all_take_part() override {
    ++asked;
    return answer;
  }
  void refuse() override { ++refused; }
};

TEST(RollCall, TheFirstRankAsksTheOtherNodesAndAllOfItsNodeTakeThatOver) {
  for (const bool answer : {true, false}) {
    const auto ranks = ranks_of(answer ? "they do" : "they do not", {0, 1, 2}, 3);
    for (const auto& rank : ranks) rank->announce();
    Others others;
    others.answer = answer;
    std::thread second([&] { EXPECT_EQ(ranks[1]->take(0, &others), answer ? Result::all : Result::some); });
    usleep(20'000);
    EXPECT_EQ(others.asked, 0);
    EXPECT_EQ(ranks[0]->take(0, &others), answer ? Result::all : Result::some);
    second.join();
    EXPECT_EQ(ranks[2]->take(0, &others), answer ? Result::all : Result::some);
    EXPECT_EQ(others.asked, 1);
    EXPECT_EQ(others.refused, 0);
    EXPECT_TRUE(ranks[0]->missing().empty());
  }
}

TEST(RollCall, OtherNodesAreToldOfARankThatIsMissing) {
  const auto ranks = ranks_of("one is missing", {1, 2}, 3);
  for (const auto& rank : ranks) rank->announce();
  Others others;
  for (const auto& rank : ranks) EXPECT_EQ(rank->take(0, &others), Result::some);
  EXPECT_EQ(others.asked, 0);
  EXPECT_EQ(others.refused, 1);
}

/// A process that has made a socket of ours, as Hydra's proxy does, and was started with these arguments.
class Proxy {
 public:
  explicit Proxy(const char* listens_at) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text = "tutti-test-proxy-" + std::to_string(getpid());
    std::memcpy(name.sun_path + 1, text.data(), text.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&name), length), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    process_ = fork();
    if (process_ == 0) {
      const int made = socket(AF_UNIX, SOCK_STREAM, 0);
      if (connect(made, reinterpret_cast<const sockaddr*>(&name), length) != 0) _exit(1);
      // It has no children, which would outlive it and keep whoever reads what the tests print.
      execl("/bin/sh", "sh", "-c", "kill -STOP $$", "proxy", "--rmk", "user", "--control-port", listens_at, nullptr);
      _exit(1);
    }
    own_ = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    close(listener);
    // It goes on with its arguments when it has become what it is to be.
    std::string command;
    while (command.find("--control-port") == std::string::npos) {
      std::ifstream file("/proc/" + std::to_string(process_) + "/cmdline", std::ios::binary);
      command.assign(std::istreambuf_iterator<char>(file), {});
    }
    setenv("PMI_FD", std::to_string(own_).c_str(), 1);
    setenv("MPI_LOCALRANKID", "0", 1);
    setenv("MPI_LOCALNRANKS", "2", 1);
  }
  ~Proxy() {
    for (const char* const name : {"PMI_FD", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}) unsetenv(name);
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    close(own_);
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

 private:
  pid_t process_ = 0;
  int own_ = -1;
};

/// Names of a job may outlive it, and one server may keep those of many.
TEST(RollCall, JobsOfHydraAreToldApartOnAllNodesAlike) {
  const auto job = [](const char* listens_at) {
    const Proxy proxy(listens_at);
    const auto rank = launched_rank(1);
    EXPECT_TRUE(rank);
    return rank ? rank->whole_job : "";
  };
  const std::string first = job("node0:40153");
  EXPECT_EQ(job("node0:40153"), first) << "two nodes of one job";
  EXPECT_NE(job("node0:33251"), first);
  EXPECT_NE(job("node1:40153"), first);
}

/// Variables of the environment, for as long as it lives.
class Variables {
 public:
  explicit Variables(std::map<std::string, std::string> values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : values_) unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::map<std::string, std::string> values_;
};

/// As slurmstepd 22.05 sets them for the second task on the second of two nodes.
std::map<std::string, std::string> variables_of_slurm() {
  return {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "3"}, {"SLURM_STEP_NUM_TASKS", "5"},
          {"SLURM_PROCID", "3"}, {"SLURM_LOCALID", "1"}, {"SLURM_GTIDS", "2,3,4"}};
}

TEST(RollCall, TasksOfSlurmAreKnown) {
  auto values = variables_of_slurm();
  values["PMIX_NAMESPACE"] = "slurm.pmix.7.3";
  const Variables by_pmix(values);
  const auto rank = launched_rank(1);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->local_rank, 1);
  EXPECT_EQ(rank->local_ranks, 3);
  EXPECT_EQ(rank->whole_job, "") << "srun keeps no names";
}

TEST(RollCall, TasksOfSlurmAreKnownByItsSocketToo) {
  const Proxy step("");
  for (const char* const of_hydra : {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"}) unsetenv(of_hydra);
  EXPECT_FALSE(launched_rank(1));
  const Variables by_pmi2(variables_of_slurm());
  const auto rank = launched_rank(1);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->local_rank, 1);
  EXPECT_EQ(rank->local_ranks, 3);
}

/// A launcher that uses srun for its own daemons, or that runs in a step.
TEST(RollCall, WhoHasStartedARankInAStepOfSlurmCounts) {
  const Variables of_the_step(variables_of_slurm());
  {
    const Proxy proxy("node0:40153");
    const auto rank = launched_rank(1);
    ASSERT_TRUE(rank);
    EXPECT_EQ(rank->local_rank, 0);
    EXPECT_EQ(rank->local_ranks, 2);
  }
  const Variables openmpi({{"PMIX_NAMESPACE", "prterun-node0-7@1"},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  const auto rank = launched_rank(1);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->local_rank, 3);
}

/// Each counts its own tasks, and all are one MPI_COMM_WORLD.
TEST(RollCall, ComponentsOfAJobOfSlurmAreNotTakenForJobs) {
  auto values = variables_of_slurm();
  values["PMIX_NAMESPACE"] = "slurm.pmix.7.3";
  values["SLURM_HET_SIZE"] = "2";
  const Variables of_a_component(values);
  EXPECT_FALSE(launched_rank(1));
}

TEST(RollCall, WithoutALauncherNothingIsKnown) {
  RollCall alone(std::nullopt);
  alone.announce();
  EXPECT_EQ(alone.take(0), Result::unknown);
}

}  // namespace
}  // namespace tutti::mpi
