// What a call costs the program. A program writes its data, calls, and uses the result, again and again; a call costs
// what this loop takes longer than the same loop without the call. What the call leaves behind is in it: lines that
// other cores have read and that the next write has to take back, results that lie in the cache of who wrote them. The
// time between a call's entry and exit is shown beside it; it says less, since a call can leave work to its caller.
//
// Each rank times its loops, and those of the slowest rank count, of both kinds. Every byte that a rank sends is written
// before each call; every byte that it gets is read after it and compared with what it should be. Both sides have
// buffers of their own.
//
// Host and Tutti take turns in an order drawn anew for each round, so that neither profits from the machine's becoming
// faster or slower. A turn is some iterations that do not count, so many with the call as take a fraction of a
// millisecond, and as many without it. A sample is the mean of a turn.
//
// Virtual machines move their processors about, between cores that share a cache and cores that do not. A flag between
// two ranks is timed between rounds: one in which that changed does not count, and the others are told apart by it. With
// `--state-flag-us` only those of one state count.
//
// Where algorithms are compared, two calls of a turn do not count: Tutti chooses anew in them.
//
// `--overlap`: all is measured once more, with a computation between start and wait that takes as long as the call alone
// costs. What the two take together beyond the computation was not overlapped; this is the formula of the OSU
// benchmarks.
#include "cell.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "buffers.h"
#include "persistent.h"

namespace tutti::bench {

namespace {

constexpr std::size_t kWarmUps = 3;
constexpr std::size_t kPoolBytes = 64 << 20;
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kMaximumRepeats = 200'000;
constexpr double kTurnUs = 200;
constexpr double kMostIterations = 256;
constexpr int kIterationsToBegin = 1;
constexpr int kIterationsAfterAChoice = 2;
constexpr int kBatchesOfALook = 11;
/// Looks at a machine that is in another state, or rounds in which it changed, before a cell is given up: ten seconds.
constexpr int kPatience = 500;
/// A state of the machine has at least this part of the rounds, else it is a disturbance.
constexpr double kLeastPartOfAState = 0.1;
constexpr std::size_t kLeastRoundsOfAState = 5;
/// What is less than this is not told from nothing.
constexpr double kLeastCostUs = 0.001;

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

/// One side's turns on this rank, in microseconds an iteration.
struct Samples {
  std::vector<double> with_us;     ///< the loop with the call
  std::vector<double> without_us;  ///< the same loop without it
  std::vector<double> inside_us;   ///< of the former, between entry and exit of the call

  std::size_t count() const { return with_us.size(); }
  void forget_after(std::size_t turns) {
    for (auto* times : {&with_us, &without_us, &inside_us}) times->resize(std::min(times->size(), turns));
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

  std::vector<CellResult> measure();

 private:
  const Pools* pools_of(Side side, Source source);
  void add_host();
  void add_contenders();
  bool can_do_it(Runner& runner);

  Call call_of(const Runner& runner) const {
    return {runner.pools->send.at(call_), runner.pools->receive.at(call_), root(), call_};
  }
  int root() const {
    return bench_.options.rotate_root ? static_cast<int>(call_ % static_cast<std::size_t>(ranks_))
                                      : bench_.options.root;
  }
  void prepare(const Runner& runner);
  void perform(const Runner& runner) {
    compute_meanwhile(runner.computes_ticks);
    collective_.perform(functions_of(runner.side, bench_.options.form), call_of(runner));
  }
  void iterate(Runner& runner) {
    prepare(runner);
    perform(runner);
    check(runner);
  }
  double loop_with_us(Runner& runner, double& inside_us);
  double loop_without_us(const Runner& runner);
  void take_turn(Runner& runner, bool counts);
  void check(Runner& runner);
  void take_round();
  void choose_iterations();
  void take_all_turns();
  void measure_overlap(std::vector<CellResult>& results);
  std::vector<CellResult> sum_up() const;
  bool go_on(std::uint64_t spent_ns, std::size_t done);
  std::vector<double> slowest(const std::vector<double>& mine) const;
  std::vector<std::vector<std::size_t>> states() const;
  bool everybodys(bool right) const;
  double look() const { return bench_.floor.flag_us(kBatchesOfALook); }
  double per_iteration_us(std::uint64_t start, std::uint64_t end) const {
    return bench_.clock.nanoseconds_between(start, end) / 1000 / iterations_;
  }

  const Bench& bench_;
  const Collective& collective_;
  const Prediction& prediction_;
  int rank_;
  int ranks_;
  std::size_t call_ = 0;           ///< counts iterations of both sides: the salt of the data and the place in the pool
  std::size_t round_ = 0;          ///< counts the rounds in which each runner has had its turn
  int iterations_ = 2;             ///< of each loop
  double longest_us_ = 0;          ///< iteration with a call so far, before those that count
  std::vector<double> flags_us_;   ///< of each round that counts
  std::mt19937_64 common_{20251};  ///< the same on all ranks: the order of the sides
  std::map<std::pair<Side, Source>, Pools> pools_;
  std::vector<Runner> runners_;
};

const Pools* Cell::pools_of(Side side, Source source) {
  const auto bytes = bytes_of(bench_.options, collective_, rank_);
  const std::size_t buffers = buffers_of(bench_.options, std::max(bytes[0], bytes[1]));
  return &pools_.try_emplace({side, source}, bytes, buffers, source).first->second;
}

void Cell::add_host() {
  const Source source = bench_.options.host_private_memory ? Source::kAnonymous : source_of(bench_.options);
  runners_.emplace_back(Side::kHost, Contender{}, pools_of(Side::kHost, source));
}

void Cell::add_contenders() {
  if (!bench_.measure_tutti) return;
  for (const Contender& contender : contenders_of(bench_.options)) {
    if (!contender.algorithm.empty() && prediction_.rules_out(contender.name(), bench_.options.within)) continue;
    Runner runner(Side::kTutti, contender, pools_of(Side::kTutti, source_of(bench_.options, contender)));
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
  collective_.fill(call_of(runner));
  if (bench_.options.buffers == Buffers::kFresh) {
    runner.pools->send.flush_from_caches(call_);
    runner.pools->receive.flush_from_caches(call_);
  }
}

double Cell::loop_with_us(Runner& runner, double& inside_us) {
  bench_.start_line.wait();
  double inside_ns = 0;
  const std::uint64_t start = Clock::ticks();
  for (int i = 0; i < iterations_; ++i) {
    prepare(runner);
    const std::uint64_t entry = Clock::ticks();
    perform(runner);
    inside_ns += bench_.clock.nanoseconds_between(entry, Clock::ticks());
    check(runner);
  }
  inside_us = inside_ns / 1000 / iterations_;
  return per_iteration_us(start, Clock::ticks());
}

double Cell::loop_without_us(const Runner& runner) {
  // The first iteration takes back what the last call left with others.
  prepare(runner);
  static_cast<void>(collective_.right(call_of(runner)));
  bench_.start_line.wait();
  const std::uint64_t start = Clock::ticks();
  for (int i = 0; i < iterations_; ++i) {
    prepare(runner);
    static_cast<void>(collective_.right(call_of(runner)));
  }
  return per_iteration_us(start, Clock::ticks());
}

void Cell::take_turn(Runner& runner, bool counts) {
  const bool compares = bench_.options.compares();
  if (compares && runner.side == Side::kTutti) runner.outcome.contender.select(collective_.communicator());
  for (int i = 0; i < (compares ? kIterationsAfterAChoice : kIterationsToBegin); ++i) iterate(runner);
  double inside_us = 0;
  const double with_us = loop_with_us(runner, inside_us);
  if (runner.side == Side::kTutti && bench_.options.form != Form::kMessages) runner.outcome.choice = last_choice();
  const double without_us = loop_without_us(runner);
  if (!counts) {
    longest_us_ = std::max(longest_us_, with_us);
    return;
  }
  runner.samples.with_us.push_back(with_us);
  runner.samples.without_us.push_back(without_us);
  runner.samples.inside_us.push_back(inside_us);
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

/// Each runner has its turn, in an order drawn anew.
void Cell::take_round() {
  std::vector<std::size_t> order(runners_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), common_);
  for (const std::size_t i : order) take_turn(runners_[i], round_ >= kWarmUps);
  if (++round_ == kWarmUps) choose_iterations();
}

/// By rank 0's clock.
void Cell::choose_iterations() {
  iterations_ = static_cast<int>(std::clamp(kTurnUs / longest_us_, 2.0, kMostIterations));
  PMPI_Bcast(&iterations_, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

/// The largest of all ranks' values; right on rank 0.
std::vector<double> Cell::slowest(const std::vector<double>& mine) const {
  std::vector<double> all(mine.size());
  PMPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return all;
}

/// The rounds that count, by the state of the machine, the one with the quicker flag first. One at most where flags
/// cannot be timed.
std::vector<std::vector<std::size_t>> Cell::states() const {
  std::vector<std::vector<std::size_t>> found(2);
  if (flags_us_.empty()) return {};
  const auto [least, most] = std::minmax_element(flags_us_.begin(), flags_us_.end());
  const double between = same_state(*least, *most) ? *most : std::sqrt(*least * *most);
  for (std::size_t i = 0; i < flags_us_.size(); ++i) found[flags_us_[i] > between ? 1 : 0].push_back(i);
  const double needed = kLeastPartOfAState * static_cast<double>(flags_us_.size());
  if (!found[1].empty())
    std::erase_if(found, [&](const auto& rounds) {
      return rounds.size() < kLeastRoundsOfAState || static_cast<double>(rounds.size()) < needed;
    });
  std::erase_if(found, [](const auto& rounds) { return rounds.empty(); });
  return found;
}

bool Cell::everybodys(bool right) const {
  int all = right;
  PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all != 0;
}

/// As many as the options ask for.
void Cell::take_all_turns() {
  round_ = 0;
  flags_us_.clear();
  const double asked_us = bench_.options.state_flag_us;
  StateGate gate([this] { return look(); }, asked_us, kPatience);
  std::uint64_t spent_ns = 0;
  int lost = 0;
  double flag_us = look();
  while (lost < kPatience && go_on(spent_ns, flags_us_.size())) {
    if (asked_us > 0 && !gate.open()) break;
    const bool counts = round_ >= kWarmUps;
    const std::uint64_t start_ns = shared_now_ns();
    take_round();
    const double before_us = std::exchange(flag_us, look());
    spent_ns += shared_now_ns() - start_ns;
    const bool lasted =
        flag_us < 0 || (same_state(before_us, flag_us) && (asked_us <= 0 || same_state(flag_us, asked_us)));
    if (counts && lasted) flags_us_.push_back((before_us + flag_us) / 2);
    if (!lasted) ++lost;
    for (Runner& runner : runners_) runner.samples.forget_after(flags_us_.size());
  }
  forget_persistent();
}

/// What all ranks' samples say, a result for each state of the machine.
std::vector<CellResult> Cell::sum_up() const {
  const auto found = states();
  std::vector<CellResult> results(found.size());
  for (std::size_t state = 0; state < found.size(); ++state) {
    std::vector<double> flags_us;
    for (const std::size_t round : found[state]) flags_us.push_back(flags_us_[round]);
    results[state].flag_us = median_of(flags_us).value;
    results[state].repeats = found[state].size();
  }
  for (const Runner& runner : runners_) {
    const auto with_us = slowest(runner.samples.with_us), without_us = slowest(runner.samples.without_us);
    const auto inside_us = slowest(runner.samples.inside_us);
    const bool correct = everybodys(runner.outcome.correct);
    const int messages = collective_.messages();
    for (std::size_t state = 0; state < found.size(); ++state) {
      std::vector<double> costs_us, insides_us;
      for (const std::size_t round : found[state]) {
        costs_us.push_back(std::max((with_us[round] - without_us[round]) / messages, kLeastCostUs));
        insides_us.push_back(inside_us[round] / messages);
      }
      const Times times{median_of(std::move(costs_us)), median_of(std::move(insides_us)).value};
      CellResult& result = results[state];
      if (runner.side == Side::kHost) {
        result.host = times;
        result.host_correct = correct;
      } else {
        result.outcomes.push_back(runner.outcome);
        result.outcomes.back().times = times;
        result.outcomes.back().correct = correct;
      }
    }
  }
  return results;
}

/// results: of the calls alone, to which the overlap is added. Computed is as long as a call in the first state takes.
void Cell::measure_overlap(std::vector<CellResult>& results) {
  for (Runner& runner : runners_) {
    const CellResult& alone = results.front();
    double computed_us = (runner.side == Side::kHost ? alone.host : alone.outcomes.front().times).cost_us.value;
    PMPI_Bcast(&computed_us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    runner.computes_ticks = bench_.clock.ticks_in(computed_us * 1000);
    runner.samples = {};
  }
  take_all_turns();
  const auto overlap = [](const Times& together, const Times& alone) {
    return std::clamp(1 - (together.cost_us.value - alone.cost_us.value) / alone.cost_us.value, 0.0, 1.0);
  };
  const auto together = sum_up();
  for (CellResult& result : results) {
    if (together.empty()) return;
    result.host_overlap = overlap(together.front().host, result.host);
    result.host_correct = result.host_correct && together.front().host_correct;
    for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
      Outcome& outcome = result.outcomes[i];
      outcome.overlap = overlap(together.front().outcomes[i].times, outcome.times);
      outcome.correct = outcome.correct && together.front().outcomes[i].correct;
    }
  }
}

std::vector<CellResult> Cell::measure() {
  add_host();
  add_contenders();
  take_all_turns();
  std::vector<CellResult> results = sum_up();
  if (bench_.options.overlap && !results.empty()) measure_overlap(results);
  if (bench_.measure_tutti && bench_.options.compares()) Contender{}.select(collective_.communicator());
  return results;
}

}  // namespace

std::size_t buffer_bytes(const Options& options, const Collective& collective, int rank) {
  const auto bytes = bytes_of(options, collective, rank);
  std::set<Source> sources;
  for (const Contender& contender : contenders_of(options)) sources.insert(source_of(options, contender));
  return (bytes[0] + bytes[1] + 2 * kLineBytes) * buffers_of(options, std::max(bytes[0], bytes[1])) *
         (1 + sources.size());  // the host's, and Tutti's
}

std::size_t buffer_capacity(const Options& options) {
  return capacity_of(source_of(options));
}

std::vector<CellResult> measure_cell(const Bench& bench, const Collective& collective, const Place& place,
                                     const Prediction& prediction) {
  return Cell(bench, collective, place, prediction).measure();
}

}  // namespace tutti::bench
