// How a call is timed: every rank prepares its data, all meet at the start line, each rank times its own call, and the
// slowest counts. After the call every rank reads what it got, as a program would, and checks it; that is not timed,
// but the next call finds the buffers in the caches of those who use them, and not still in those of who wrote them.
// Host and Tutti take turns in an order drawn anew for each pair of calls, so that neither profits from the machine's
// becoming faster or slower. A turn is several calls, of which the first does not count: the others find in the caches what
// their own side leaves there, as in a program that runs with one or the other, and what is learned from calls is learned
// from such ones.
//
// Where ranks share cores there is no start line: who meets there leaves it one time slice after the other, and that
// would be measured. There a sample is the mean of several calls of one side in a row, data changed before and read
// after each; what other ranks of the processor do between their calls is in it where a call waits for them.
//
// `--timing between-barriers` times the call alone there. All ranks meet before the call, after it, and once more;
// counted is from the moment when the last of them came to the first meeting to that when the last came to the second,
// less from there to the third, in which there is a barrier and no call. What the ranks of a processor prepare and
// check lies outside.
//
// Where algorithms are compared two do not count: Tutti chooses anew in them.
//
// `--overlap`: all is measured once more, with a computation between start and wait that takes as long as the call alone
// took. What the two take together beyond the computation was not overlapped; this is the formula of the OSU benchmarks.
//
// `--state-flag-us`: a flag is timed before and after every round of turns. One that began or ended in another state of
// the machine is forgotten, and its time does not count.
#include "cell.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "buffers.h"
#include "persistent.h"

namespace tutti::bench {

namespace {

constexpr std::size_t kWarmUps = 3;
constexpr std::size_t kPoolBytes = 64 << 20;
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kMaximumRepeats = 200'000;
constexpr int kCallsInARow = 8;
constexpr int kCallsOfATurn = 5;
constexpr int kCallsToBegin = 1;
constexpr int kCallsAfterAChoice = 2;
constexpr int kBatchesOfALook = 11;
/// Looks at a machine that is in another state before a cell is given up: ten seconds.
constexpr int kPatience = 500;

std::size_t buffers_of(const Options& options, std::size_t bytes) {
  if (options.buffers != Buffers::kFresh) return 1;
  return std::clamp<std::size_t>(kPoolBytes / std::max<std::size_t>(bytes, 1), 2, 64);
}

/// The memory that the options ask for.
Source source_of(const Options& options) {
  switch (options.buffers) {
    case Buffers::kStatic:
      return Source::kStatic;
    case Buffers::kStack:
      return Source::kStack;
    case Buffers::kMmap:
      return Source::kAnonymous;
    default:
      return Source::kMalloc;
  }
}

/// That of a contender: what is in the window would be reached through it, and is not what a process without it has.
Source source_of(const Options& options, const Contender& contender) {
  const Source source = source_of(options);
  return source == Source::kMalloc && contender.avoids_window() ? Source::kAnonymous : source;
}

/// Bytes of the two buffers of a rank.
std::array<std::size_t, 2> bytes_of(const Options& options, const Collective& collective, int rank) {
  const bool root = options.rotate_root || rank == options.root;
  return {collective.bytes_of(collective.send_count(root)), collective.bytes_of(collective.receive_count(root))};
}

/// The durations of one side on this rank; with skew also when each call began and ended, on the shared clock.
struct Samples {
  std::vector<double> duration_us;
  std::vector<double> start_us;
  std::vector<double> end_us;

  std::size_t count() const { return duration_us.size(); }
  void forget_after(std::size_t calls) {
    for (auto* times : {&duration_us, &start_us, &end_us}) times->resize(std::min(times->size(), calls));
  }
};

/// Send and receive buffers from one source.
struct Pools {
  Pools(std::array<std::size_t, 2> bytes, std::size_t buffers, Source source)
      : send(bytes[0], buffers, source), receive(bytes[1], buffers, source) {}
  BufferPool send;
  BufferPool receive;
};

/// Who takes turns with the others: the host, or Tutti asked for something.
struct Runner {
  Runner(Side its_side, Contender contender, const Pools* its_pools) : side(its_side), pools(its_pools) {
    outcome.contender = std::move(contender);
  }
  Side side;
  Outcome outcome;
  const Pools* pools;
  Samples samples;
  std::uint64_t computes_ticks = 0;  ///< between start and wait
};

class Cell {
 public:
  Cell(const Bench& bench, const Collective& collective, const Place& place, const Prediction& prediction)
      : bench_(bench), collective_(collective), prediction_(prediction), rank_(place.rank), ranks_(place.ranks) {}

  CellResult measure();

 private:
  const Pools* pools_of(Source source);
  void add_host();
  void add_contenders();
  bool can_do_it(Runner& runner);

  Call call_of(const Runner& runner) const {
    const std::uint64_t salt = bench_.options.unchanged ? 0 : call_;
    return {runner.pools->send.at(call_), runner.pools->receive.at(call_), root_, salt};
  }
  void prepare(const Runner& runner);
  void perform(const Runner& runner) {
    compute_meanwhile(runner.computes_ticks);
    collective_.perform(functions_of(runner.side, bench_.options.form), call_of(runner));
  }
  void time_call(Runner& runner, Samples* samples);
  void time_calls_in_a_row(Runner& runner, Samples* samples);
  void time_between_barriers(Runner& runner, Samples* samples);
  void time(Runner& runner, Samples* samples);
  void take_turn(Runner& runner, bool counts);
  void check(Runner& runner);
  void wait_for_start();
  bool between_barriers() const { return bench_.options.timing == Timing::kBetweenBarriers; }
  bool in_a_row() const { return bench_.start_line.crowded() && bench_.options.skew_us <= 0 && !between_barriers(); }
  void take_turns();
  void take_all_turns();
  void measure_overlap(CellResult& result);
  bool go_on(std::uint64_t spent_ns, std::size_t done);
  Median slowest(const Samples& samples) const;
  bool everybodys(bool right) const;

  const Bench& bench_;
  const Collective& collective_;
  const Prediction& prediction_;
  int rank_;
  int ranks_;
  int root_ = 0;
  std::size_t call_ = 0;           ///< counts all calls of both sides: the salt of the data and the place in the pool
  std::size_t turn_ = 0;           ///< counts the rounds in which each runner has had its turn
  std::mt19937_64 common_{20251};  ///< the same on all ranks: the order of the sides, who is late
  std::map<Source, Pools> pools_;
  std::vector<Runner> runners_;
};

const Pools* Cell::pools_of(Source source) {
  const auto bytes = bytes_of(bench_.options, collective_, rank_);
  const std::size_t buffers = buffers_of(bench_.options, std::max(bytes[0], bytes[1]));
  return &pools_.try_emplace(source, bytes, buffers, source).first->second;
}

void Cell::add_host() {
  const Source source = bench_.options.host_private_memory ? Source::kAnonymous : source_of(bench_.options);
  runners_.emplace_back(Side::kHost, Contender{}, pools_of(source));
}

void Cell::add_contenders() {
  if (!bench_.measure_tutti) return;
  for (const Contender& contender : contenders_of(bench_.options)) {
    if (!contender.algorithm.empty() && prediction_.rules_out(contender.name(), bench_.options.within)) continue;
    Runner runner(Side::kTutti, contender, pools_of(source_of(bench_.options, contender)));
    runner.outcome.predicted_us = prediction_.us_of(contender.name());
    if (!bench_.options.compares() || can_do_it(runner)) runners_.push_back(std::move(runner));
  }
}

/// One call on trial: left out is what is not eligible, and what does the same as one before, under the name of another
/// mechanism that the size has no use for.
bool Cell::can_do_it(Runner& runner) {
  const Contender& contender = runner.outcome.contender;
  if (!contender.select(collective_.communicator())) return false;
  prepare(runner);
  perform(runner);
  check(runner);
  runner.outcome.choice = last_choice();
  const Choice& choice = runner.outcome.choice;
  int can = contender.got(choice);
  for (const Runner& other : runners_)
    if (other.side == Side::kTutti && other.outcome.contender.name() == contender.name() && is_in_slot(choice) &&
        other.outcome.choice.algorithm == choice.algorithm && is_in_slot(other.outcome.choice))
      can = 0;
  PMPI_Bcast(&can, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return can != 0;
}

void Cell::prepare(const Runner& runner) {
  ++call_;
  const Options& options = bench_.options;
  // What a call in place overwrote must be restored even if it is to be the same as before.
  const bool keep = options.unchanged && call_ > 2 * kWarmUps && !options.rotate_root && !options.compares() &&
                    !collective_.overwrites(root_);
  if (!keep) collective_.fill(call_of(runner));
  if (options.buffers == Buffers::kFresh) {
    runner.pools->send.flush_from_caches(call_);
    runner.pools->receive.flush_from_caches(call_);
  }
}

void Cell::wait_for_start() {
  bench_.start_line.wait();
  if (bench_.options.skew_us <= 0) return;
  std::uniform_real_distribution<double> lateness_ns(0, bench_.options.skew_us * 1000);
  double mine_ns = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const double drawn_ns = lateness_ns(common_);
    if (rank == rank_) mine_ns = drawn_ns;
  }
  spin_until_ns(shared_now_ns() + static_cast<std::uint64_t>(mine_ns));
}

void Cell::time_call(Runner& runner, Samples* samples) {
  prepare(runner);
  wait_for_start();
  const bool skewed = bench_.options.skew_us > 0;
  const std::uint64_t start_ns = skewed ? shared_now_ns() : 0;
  const std::uint64_t start = Clock::ticks();
  perform(runner);
  const std::uint64_t end = Clock::ticks();
  const std::uint64_t end_ns = skewed ? shared_now_ns() : 0;
  check(runner);
  if (!samples) return;
  samples->duration_us.push_back(bench_.clock.nanoseconds_between(start, end) / 1000);
  if (skewed) {
    samples->start_us.push_back(static_cast<double>(start_ns) / 1000);
    samples->end_us.push_back(static_cast<double>(end_ns) / 1000);
  }
}

void Cell::time_calls_in_a_row(Runner& runner, Samples* samples) {
  PMPI_Barrier(MPI_COMM_WORLD);
  double nanoseconds = 0;
  for (int i = 0; i < kCallsInARow; ++i) {
    prepare(runner);
    const std::uint64_t begin = Clock::ticks();
    perform(runner);
    nanoseconds += bench_.clock.nanoseconds_between(begin, Clock::ticks());
    check(runner);
  }
  if (samples) samples->duration_us.push_back(nanoseconds / 1000 / kCallsInARow);
}

void Cell::time_between_barriers(Runner& runner, Samples* samples) {
  prepare(runner);
  const std::uint64_t begin = bench_.meeting.wait();
  perform(runner);
  const std::uint64_t end = bench_.meeting.wait();
  const std::uint64_t later = bench_.meeting.wait();
  check(runner);
  const double call_ns = static_cast<double>(end - begin) - static_cast<double>(later - end);
  if (samples) samples->duration_us.push_back(std::max(0.0, call_ns / 1000));
}

void Cell::time(Runner& runner, Samples* samples) {
  if (between_barriers()) return time_between_barriers(runner, samples);
  in_a_row() ? time_calls_in_a_row(runner, samples) : time_call(runner, samples);
}

void Cell::take_turn(Runner& runner, bool counts) {
  Samples* samples = counts ? &runner.samples : nullptr;
  const bool compares = bench_.options.compares();
  if (compares && runner.side == Side::kTutti) runner.outcome.contender.select(collective_.communicator());
  for (int i = 0; i < (compares ? kCallsAfterAChoice : in_a_row() ? 0 : kCallsToBegin); ++i) {
    prepare(runner);
    perform(runner);
    check(runner);
  }
  for (int i = 0; i < (in_a_row() ? 1 : kCallsOfATurn); ++i) time(runner, samples);
  if (runner.side == Side::kTutti) runner.outcome.choice = last_choice();
}

void Cell::check(Runner& runner) {
  runner.outcome.correct = collective_.right(call_of(runner)) && runner.outcome.correct;
}

/// Rank 0's clock decides, so that all ranks stop at the same call.
bool Cell::go_on(std::uint64_t spent_ns, std::size_t done) {
  int more = 0;
  if (rank_ == 0) {
    const double seconds = static_cast<double>(spent_ns) * 1e-9;
    const double wanted = bench_.options.seconds_per_cell * std::max(1.0, static_cast<double>(runners_.size()) / 2);
    more = done < kMaximumRepeats && (done < bench_.options.minimum_repeats || seconds < wanted);
  }
  PMPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return more != 0;
}

/// Some rounds in which each runner has its turn, in an order drawn anew.
void Cell::take_turns() {
  std::vector<std::size_t> order(runners_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const int rounds = bench_.options.compares() ? 1 : 2;
  for (int round = 0; round < rounds; ++round, ++turn_) {
    if (bench_.options.rotate_root) root_ = static_cast<int>(turn_ % static_cast<std::size_t>(ranks_));
    std::shuffle(order.begin(), order.end(), common_);
    for (const std::size_t i : order) take_turn(runners_[i], turn_ >= kWarmUps);
  }
}

Median Cell::slowest(const Samples& samples) const {
  const int count = static_cast<int>(samples.duration_us.size());
  const auto maximum = [&](const std::vector<double>& mine) {
    std::vector<double> all(mine.size());
    PMPI_Reduce(mine.data(), all.data(), count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return all;
  };
  if (bench_.options.skew_us <= 0) return median_of(maximum(samples.duration_us));
  std::vector<double> duration_us = maximum(samples.end_us);
  const std::vector<double> last_start_us = maximum(samples.start_us);
  for (std::size_t i = 0; i < duration_us.size(); ++i) duration_us[i] -= last_start_us[i];
  return median_of(std::move(duration_us));
}

bool Cell::everybodys(bool right) const {
  int all = right;
  PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all != 0;
}

/// As many as the options ask for.
void Cell::take_all_turns() {
  turn_ = 0;
  const bool in_one_state = bench_.options.state_flag_us > 0;
  StateGate gate([this] { return bench_.floor.flag_us(kBatchesOfALook); }, bench_.options.state_flag_us, kPatience);
  std::uint64_t spent_ns = 0;
  while (go_on(spent_ns, runners_[0].samples.count())) {
    if (in_one_state && !gate.open()) break;
    const std::size_t counted = runners_[0].samples.count();
    const std::uint64_t start_ns = shared_now_ns();
    take_turns();
    if (in_one_state && !gate.still_open())
      for (Runner& runner : runners_) runner.samples.forget_after(counted);
    else
      spent_ns += shared_now_ns() - start_ns;
  }
  forget_persistent();
}

void Cell::measure_overlap(CellResult& result) {
  const auto alone_us = [&](const Runner& runner) {
    return runner.side == Side::kHost ? result.host_us.value : result.outcomes.front().us.value;
  };
  for (Runner& runner : runners_) {
    double computed_us = alone_us(runner);
    PMPI_Bcast(&computed_us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    runner.computes_ticks = bench_.clock.ticks_in(computed_us * 1000);
    runner.samples = {};
  }
  take_all_turns();
  for (Runner& runner : runners_) {
    const double together_us = slowest(runner.samples).value, alone = alone_us(runner);
    const double overlap = std::clamp(1 - (together_us - alone) / alone, 0.0, 1.0);
    (runner.side == Side::kHost ? result.host_overlap : result.outcomes.front().overlap) = overlap;
    (runner.side == Side::kHost ? result.host_correct : result.outcomes.front().correct) =
        everybodys(runner.outcome.correct);
  }
}

CellResult Cell::measure() {
  root_ = bench_.options.root;
  add_host();
  add_contenders();
  take_all_turns();
  if (bench_.measure_tutti && bench_.options.compares()) Contender{}.select(collective_.communicator());
  CellResult result;
  result.repeats = runners_[0].samples.count();
  for (Runner& runner : runners_) {
    const Median median = slowest(runner.samples);
    const bool correct = everybodys(runner.outcome.correct);
    if (runner.side == Side::kHost) {
      result.host_us = median;
      result.host_correct = correct;
      continue;
    }
    runner.outcome.us = median;
    runner.outcome.correct = correct;
    result.outcomes.push_back(runner.outcome);
  }
  if (bench_.options.overlap) measure_overlap(result);
  return result;
}

}  // namespace

std::size_t buffer_bytes(const Options& options, const Collective& collective, int rank) {
  const auto bytes = bytes_of(options, collective, rank);
  std::set<Source> sources{options.host_private_memory ? Source::kAnonymous : source_of(options)};
  for (const Contender& contender : contenders_of(options)) sources.insert(source_of(options, contender));
  return (bytes[0] + bytes[1] + 2 * kLineBytes) * buffers_of(options, std::max(bytes[0], bytes[1])) * sources.size();
}

std::size_t buffer_capacity(const Options& options) {
  return capacity_of(source_of(options));
}

CellResult measure_cell(const Bench& bench, const Collective& collective, const Place& place,
                        const Prediction& prediction) {
  return Cell(bench, collective, place, prediction).measure();
}

}  // namespace tutti::bench
