// What flags cost that have one writer, against counters that all write, and what it costs where they lie: the
// questions of XHC, section III.E (Fig. 4) and V.D.1 (Fig. 10), asked of threads, one a core.
//
// A round is a flat broadcast of 4 bytes. Thread 0 writes them, tells the others, and waits for their answers; each
// other thread waits to be told, reads the bytes, and answers. The rows differ in how the others are told and how they
// answer:
//
//   told by     one flag that all read | a flag each, side by side in a line | a flag each in a line of its own
//   answer by   a flag each in a line of its own | a flag each, side by side | fetch_add on one counter
//
// Shown is the time of a round on thread 0: median of many batches, with the 95 % confidence interval. All rows of one
// number of threads take turns batch by batch.
#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "clock.h"
#include "processors.h"
#include "statistics.h"
#include "team.h"

namespace {

using namespace tutti::bench;

constexpr int threads_max = 256;
constexpr std::size_t line_bytes = 128;  // two cache lines: the second is fetched with the first

enum class Told { by_one_flag, side_by_side, own_lines };
enum class Answer { own_lines, side_by_side, counter };

struct Subject {
  Told told;
  Answer answer;
};
constexpr std::array<Subject, 5> subjects{{{Told::by_one_flag, Answer::own_lines},
                                           {Told::by_one_flag, Answer::side_by_side},
                                           {Told::by_one_flag, Answer::counter},
                                           {Told::side_by_side, Answer::own_lines},
                                           {Told::own_lines, Answer::own_lines}}};

const char* name_of(Told told) {
  return told == Told::by_one_flag ? "one flag" : told == Told::side_by_side ? "flags side by side" : "flags apart";
}
const char* name_of(Answer answer) {
  return answer == Answer::counter        ? "fetch_add"
         : answer == Answer::side_by_side ? "flags side by side"
                                          : "flags apart";
}

using Word = std::atomic<std::uint64_t>;

struct alignas(line_bytes) Line {
  Word word{0};
};

/// The memory of one subject. Values only grow: the number of the round.
struct Shared {
  alignas(line_bytes) std::atomic<std::uint32_t> payload{0};
  Line one;
  Line counter;
  std::array<Line, threads_max> told_apart, answer_apart;
  alignas(line_bytes) std::array<Word, threads_max> told_side_by_side{};
  alignas(line_bytes) std::array<Word, threads_max> answer_side_by_side{};
};

class Round {
 public:
  Round(Shared& shared, Subject subject, int threads, bool crowded)
      : shared_(shared), subject_(subject), threads_(threads), crowded_(crowded) {}

  void lead() {
    ++round_;
    shared_.payload.store(static_cast<std::uint32_t>(round_), std::memory_order_relaxed);
    if (subject_.told == Told::by_one_flag)
      shared_.one.word.store(round_, std::memory_order_release);
    else
      for (int i = 1; i < threads_; ++i) told(i).store(round_, std::memory_order_release);
    if (subject_.answer == Answer::counter) {
      const std::uint64_t all = round_ * static_cast<std::uint64_t>(threads_ - 1);
      poll(crowded_, [&] { return shared_.counter.word.load(std::memory_order_acquire) >= all; });
    } else {
      for (int i = 1; i < threads_; ++i)
        poll(crowded_, [&] { return answer(i).load(std::memory_order_acquire) >= round_; });
    }
  }

  void follow(int self) {
    ++round_;
    const Word& mine = subject_.told == Told::by_one_flag ? shared_.one.word : told(self);
    poll(crowded_, [&] { return mine.load(std::memory_order_acquire) >= round_; });
    sum_ += shared_.payload.load(std::memory_order_relaxed);
    if (subject_.answer == Answer::counter)
      shared_.counter.word.fetch_add(1, std::memory_order_acq_rel);
    else
      answer(self).store(round_, std::memory_order_release);
  }

  std::uint64_t sum() const { return sum_; }

 private:
  Word& told(int i) {
    const auto at = static_cast<std::size_t>(i);
    return subject_.told == Told::side_by_side ? shared_.told_side_by_side[at] : shared_.told_apart[at].word;
  }
  Word& answer(int i) {
    const auto at = static_cast<std::size_t>(i);
    return subject_.answer == Answer::side_by_side ? shared_.answer_side_by_side[at] : shared_.answer_apart[at].word;
  }

  Shared& shared_;
  Subject subject_;
  int threads_;
  bool crowded_;
  std::uint64_t round_ = 0;
  std::uint64_t sum_ = 0;
};

/// Nanoseconds a round, one sample a batch, by subject.
using Samples = std::array<std::vector<double>, subjects.size()>;

Samples measure(int threads, int batches, int rounds) {
  constexpr int warm_up = 10;  // lets all arrive before the clock starts
  const bool crowded = threads > processor_count();
  std::array<std::unique_ptr<Shared>, subjects.size()> memory;
  for (auto& each : memory) each = std::make_unique<Shared>();
  const Clock clock;
  Samples samples;
  std::atomic<std::uint64_t> kept{0};
  run_team(threads, [&](int self) {
    std::vector<Round> round;
    for (std::size_t s = 0; s < subjects.size(); ++s) round.emplace_back(*memory[s], subjects[s], threads, crowded);
    for (int batch = 0; batch < batches; ++batch)
      for (std::size_t s = 0; s < subjects.size(); ++s) {
        if (self != 0) {
          for (int i = 0; i < warm_up + rounds; ++i) round[s].follow(self);
          continue;
        }
        for (int i = 0; i < warm_up; ++i) round[s].lead();
        const std::uint64_t begin = Clock::ticks();
        for (int i = 0; i < rounds; ++i) round[s].lead();
        samples[s].push_back(clock.nanoseconds_between(begin, Clock::ticks()) / rounds);
      }
    for (const Round& each : round) kept += each.sum();
  });
  return samples;
}

void print(bool json, int threads, bool crowded, const Subject& subject, const Median& ns) {
  if (json)
    std::printf(
        "{\"threads\": %d, \"crowded\": %s, \"told\": \"%s\", \"answer\": \"%s\", \"ns\": %.1f, \"lower_ns\": %.1f, "
        "\"upper_ns\": %.1f}\n",
        threads, crowded ? "true" : "false", name_of(subject.told), name_of(subject.answer), ns.value, ns.lower,
        ns.upper);
  else
    std::printf("%7d%s  %-20s %-20s %10.1f  (%.1f .. %.1f)\n", threads, crowded ? "*" : " ", name_of(subject.told),
                name_of(subject.answer), ns.value, ns.lower, ns.upper);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Single-writer flags against atomic counters, and flags that share a line against flags that do not.",
               "bench-flags"};
  std::vector<int> counts;
  for (int threads = 2; threads <= processor_count() && threads <= threads_max; threads *= 2) counts.push_back(threads);
  int batches = 200, rounds = 2000;
  bool json = false;
  app.add_option("--threads", counts, "How many, separated by commas; up to the processors if not given")
      ->delimiter(',')
      ->check(CLI::Range(2, threads_max));
  app.add_option("--batches", batches, "Samples a row")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--rounds", rounds, "Rounds a batch")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_flag("--json", json, "One JSON object a row");
  CLI11_PARSE(app, argc, argv);

  if (!json) {
    std::printf("# %d processors; *: more threads than processors, which take turns\n", processor_count());
    std::printf("%8s  %-20s %-20s %10s\n", "threads", "told by", "answer by", "ns a round");
  }
  for (const int threads : counts) {
    const bool crowded = threads > processor_count();
    // A round among threads that take turns is a matter of the scheduler: some thousand times as long.
    const Samples samples =
        measure(threads, crowded ? std::min(batches, 50) : batches, crowded ? std::min(rounds, 50) : rounds);
    for (std::size_t s = 0; s < subjects.size(); ++s) print(json, threads, crowded, subjects[s], median_of(samples[s]));
  }
}
