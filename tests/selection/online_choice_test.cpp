// Choosing by trying, with invented times: what is decided and when, what it costs, and that all ranks of a call take the
// same candidate however far behind they are.
#include "selection/online_choice.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace tutti::selection {
namespace {

/// Calls one after the other on one rank, which sees each decision as late as it may.
struct Program {
  explicit Program(std::vector<std::uint64_t> times, bool noisy = false)
      : ticks(std::move(times)), choice(static_cast<int>(ticks.size()), noisy) {}

  std::vector<std::uint64_t> ticks;
  OnlineChoice choice;
  DecisionWords words{};
  int place = 0;
  std::uint64_t sequence = 0;
  std::uint64_t spent = 0;
  std::map<int, int> ran;
  int decisions = 0;
  int before = -1;
  std::uint64_t after_others = 0;  ///< what a call takes more if another candidate was taken before it

  /// `others`: operations of other collectives before each.
  void run(int calls, int others = 0) {
    ran.clear();
    spent = 0;
    for (int call = 0; call < calls; ++call) {
      sequence += static_cast<std::uint64_t>(1 + others);
      if (const auto decided = choice.begins(sequence)) {
        words[static_cast<std::size_t>(place ^= 1)] = decided->word();
        ++decisions;
      }
      const Decision now = decision_at(words, sequence);
      const int candidate = now.candidate_of(sequence);
      ++ran[candidate];
      const bool same = candidate == std::exchange(before, candidate);
      const std::uint64_t took = ticks[static_cast<std::size_t>(candidate)] + (same ? 0 : after_others);
      spent += took;
      if (now.is_timed() && same) choice.took(sequence, candidate, took);
    }
  }
};

/// Until something is tried. Returns from which operation on.
std::uint64_t begin(OnlineChoice& choice) {
  for (std::uint64_t sequence = 1; sequence < 20; ++sequence)
    if (const auto decided = choice.begins(sequence)) return decided->from;
  ADD_FAILURE() << "nothing is tried";
  return 0;
}

TEST(OnlineChoice, TheFastestIsKept) {
  for (int fastest = 0; fastest < 4; ++fastest) {
    std::vector<std::uint64_t> ticks(4, 1300);
    ticks[static_cast<std::size_t>(fastest)] = 1000;
    Program program(ticks);
    program.run(250);
    EXPECT_EQ(program.choice.decision().candidate, fastest);
    program.run(1000);
    EXPECT_GT(program.ran[fastest], 950) << fastest;
  }
}

TEST(OnlineChoice, WhileNothingIsKnownTheModelsChoiceIsTakenMostOfTheTime) {
  Program program({1000, 1050, 1050, 1050});
  program.run(33);
  EXPECT_EQ(program.ran[0], 33);
  program.run(100);
  EXPECT_GT(program.ran[0], 65);
  EXPECT_GT(program.ran[1], 2);
}

TEST(OnlineChoice, WhatIsClearlySlowerIsTakenAFewTimesOnly) {
  Program program({1000, 3000, 3000, 3000});
  program.run(250);
  EXPECT_LT(program.ran[1] + program.ran[2] + program.ran[3], 25);
  EXPECT_EQ(program.choice.decision().phase, Decision::Phase::settled);
}

TEST(OnlineChoice, AnotherThatWasNeverAsFastIsNotTaken) {
  OnlineChoice choice(2, false);
  begin(choice);
  // The model's choice was disturbed more often than not.
  for (const std::uint64_t ticks : {1000, 1000, 2000, 900, 2000, 2000}) choice.took(50, 0, ticks);
  for (int call = 0; call < 5; ++call) choice.took(50, 1, 1100);
  const auto decided = choice.begins(100);
  ASSERT_TRUE(decided);
  EXPECT_EQ(decided->phase, Decision::Phase::settled);
  EXPECT_EQ(decided->candidate, 0);
}

TEST(OnlineChoice, WhatACandidateTakesAfterAnotherDecidesNothing) {
  Program program({1000, 900, 1050});
  program.after_others = 5000;
  program.run(250);
  EXPECT_EQ(program.choice.decision().candidate, 1);
}

TEST(OnlineChoice, ARunIsOfSeveralCallsHoweverManyOthersThereAre) {
  for (const std::uint64_t others : {0, 1, 6, 40}) {
    OnlineChoice choice(3, false);
    std::optional<Decision> decided;
    for (std::uint64_t sequence = 1; !decided; sequence += 1 + others) decided = choice.begins(sequence);
    const std::uint64_t operations = std::uint64_t{1} << decided->run;
    EXPECT_GE(operations, 4 * (1 + others));
    EXPECT_LT(operations, 8 * (1 + others));
    std::map<int, int> taken;
    for (std::uint64_t run = 0; run < 80; ++run) {
      const int candidate = decided->candidate_of(run * operations);
      ++taken[candidate];
      for (std::uint64_t at = 1; at < operations; ++at)
        ASSERT_EQ(decided->candidate_of(run * operations + at), candidate);
    }
    EXPECT_EQ(taken, (std::map<int, int>{{0, 60}, {1, 10}, {2, 10}})) << "each of them once in a cycle";
  }
}

TEST(OnlineChoice, ASingleCandidateIsNeverTimed) {
  Program program({1000});
  program.run(1000);
  EXPECT_EQ(program.decisions, 0);
}

TEST(OnlineChoice, ItEndsSoonAlsoWhereSeveralCollectivesAreCalledByTurns) {
  for (int others = 0; others < 9; ++others) {
    Program program({1200, 1100, 1000, 1300});
    program.run(200, others);
    EXPECT_EQ(program.choice.decision().phase, Decision::Phase::settled) << others;
    EXPECT_EQ(program.choice.decision().candidate, 2) << others;
  }
}

TEST(OnlineChoice, WhatTheModelSaysStaysUnlessAnotherIsClearlyFaster) {
  for (const bool noisy : {false, true}) {
    Program little({1000, noisy ? 890u : 970u}, noisy);
    little.run(300);
    EXPECT_EQ(little.choice.decision().candidate, 0);
    Program more({1000, noisy ? 870u : 950u}, noisy);
    more.run(300);
    EXPECT_EQ(more.choice.decision().candidate, 1);
  }
}

TEST(OnlineChoice, LookingAgainCostsLittle) {
  Program program({1000, 1400, 1450, 1300});
  program.run(300);
  program.run(20'000);
  EXPECT_LT(static_cast<double>(program.spent), 1.01 * 20'000 * 1000);
  EXPECT_GT(program.ran[1], 0);
}

TEST(OnlineChoice, WhatBecomesFasterLaterIsFound) {
  Program program({1000, 1200});
  program.run(5000);
  ASSERT_EQ(program.choice.decision().candidate, 0);
  program.ticks = {1000, 800};
  program.run(10'000);
  EXPECT_EQ(program.choice.decision().candidate, 1);
}

TEST(OnlineChoice, ClocksThatContradictEachOtherLeaveTheModelsChoice) {
  OnlineChoice choice(2, false);
  begin(choice);
  for (std::uint64_t sequence = 50; sequence < 70; ++sequence) choice.took(sequence, 0, sequence == 50 ? 5 : 1000);
  for (std::uint64_t sequence = 70; sequence < 74; ++sequence) choice.took(sequence, 1, 10);
  for (int i = 0; i < 16; ++i) choice.contradicted();
  const auto decided = choice.begins(200);
  ASSERT_TRUE(decided);
  EXPECT_EQ(decided->phase, Decision::Phase::settled);
  EXPECT_EQ(decided->candidate, 0);
  for (std::uint64_t sequence = 300; sequence < 10'000; ++sequence) EXPECT_FALSE(choice.begins(sequence));
}

TEST(OnlineChoice, AWordIsWhatWasDecided) {
  const Decision decision{Decision::from_after(sequence_max), Decision::Phase::look, 2, 0b1011, 9};
  const Decision read = Decision::of(decision.word());
  EXPECT_EQ(read.from, decision.from);
  EXPECT_GE(read.from, sequence_max + published_after);
  EXPECT_EQ(read.phase, decision.phase);
  EXPECT_EQ(read.candidate, decision.candidate);
  EXPECT_EQ(read.others, decision.others);
  EXPECT_EQ(read.run, decision.run);
}

/// Ranks that go on in any order, each as far ahead as the ring lets it. A store of rank 0 is seen by a rank at any time
/// from then on, and for certain by who has seen that the operation in which it was made is complete.
class Crowd {
 public:
  Crowd(int ranks, unsigned seed) : numbers_(seed), ranks_(static_cast<std::size_t>(ranks)) {}

  void run(std::uint64_t operations) {
    while (ranks_[0].begun < operations) step(numbers_() % ranks_.size());
  }
  int decisions = 0;

 private:
  struct Rank {
    std::uint64_t begun = 0, completed = 0;
    DecisionWords seen{};  ///< what it sees of the words
  };
  struct Store {
    std::size_t place;
    std::uint64_t word, during;  ///< the operation that rank 0 was about to begin
  };

  void step(std::size_t number) {
    Rank& rank = ranks_[number];
    // Some run ahead for a while, others are left behind.
    if (numbers_() % 97 == 0) held_back_ = numbers_() % ranks_.size();
    if (number == held_back_ && numbers_() % 16 != 0) return;
    if (rank.completed < rank.begun) {
      ++rank.completed;
      return;
    }
    const std::uint64_t next = rank.begun + 1;
    if (number == 0) decide(next);
    look(number);
    choose(number, next);
    // Then it begins, as soon as there is a slot.
    for (Rank& other : ranks_)
      if (other.completed + ring_slots < next) return;
    rank.begun = next;
  }
  void decide(std::uint64_t next) {
    if (next == asked_) return;
    asked_ = next;
    // Times at random: every decision may change something.
    choice_.took(next, static_cast<int>(numbers_() % 4), 500 + numbers_() % 1000);
    const auto decided = choice_.begins(next);
    if (!decided) return;
    ++decisions;
    stores_.push_back({static_cast<std::size_t>(place_ ^= 1), decided->word(), next});
  }
  /// Takes what has been stored up to some point: at least what must be visible, at most all.
  void look(std::size_t number) {
    Rank& rank = ranks_[number];
    // It has begun `begun`, so it knows that all have completed what was in that slot before.
    const std::uint64_t certain = rank.begun > ring_slots ? rank.begun - ring_slots : 0;
    std::size_t& seen = seen_[number];
    while (seen < stores_.size() && (number == 0 || stores_[seen].during <= certain || numbers_() % 2 == 0)) {
      rank.seen[stores_[seen].place] = stores_[seen].word;
      ++seen;
    }
  }
  void choose(std::size_t number, std::uint64_t sequence) {
    const int candidate = decision_at(ranks_[number].seen, sequence).candidate_of(sequence);
    const auto [place, is_first] = taken_.emplace(sequence, candidate);
    if (!is_first) {
      ASSERT_EQ(place->second, candidate) << "operation " << sequence << " rank " << number;
    }
  }

  std::minstd_rand numbers_;
  std::vector<Rank> ranks_;
  OnlineChoice choice_{4, false};
  std::vector<Store> stores_;
  std::map<std::size_t, std::size_t> seen_;
  std::map<std::uint64_t, int> taken_;
  std::size_t held_back_ = 0;
  std::uint64_t asked_ = 0;
  int place_ = 0;
};

TEST(OnlineChoice, AllRanksAlwaysAgree) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Crowd crowd(1 + static_cast<int>(seed) % 5 + 1, seed);
    crowd.run(6000);
    if (testing::Test::HasFatalFailure()) return;
    EXPECT_GT(crowd.decisions, 8);
  }
}

}  // namespace
}  // namespace tutti::selection
