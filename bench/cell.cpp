// How a call is timed: every rank prepares its data, all meet at the start line, each rank times its own call, and the
// slowest counts. Host and Tutti take turns in an order drawn anew for each pair of calls, so that neither profits from
// what the other left in the caches, nor from the machine's becoming faster or slower.
//
// Where ranks share cores there is no start line: who meets there leaves it one time slice after the other, and that
// would be measured. There a sample is the mean of several calls of one side in a row, data changed before each.
#include "cell.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "buffers.h"

namespace tutti::bench {

namespace {

constexpr std::size_t kWarmUps = 3;
constexpr std::size_t kCheckedAtFirst = 20;
constexpr std::size_t kCheckedEvery = 16;
constexpr std::size_t kPoolBytes = 64 << 20;
constexpr std::size_t kMaximumRepeats = 200'000;
constexpr int kCallsInARow = 8;

enum class Kind { kBarrier, kBcast, kReduce, kAllreduce };

Kind kind_of(const std::string& collective) {
  if (collective == "barrier") return Kind::kBarrier;
  if (collective == "bcast") return Kind::kBcast;
  if (collective == "reduce") return Kind::kReduce;
  return Kind::kAllreduce;
}

/// The durations of one side on this rank; with skew also when each call began and ended, on the shared clock.
struct Samples {
  std::vector<double> duration_us;
  std::vector<double> start_us;
  std::vector<double> end_us;
};

class Cell {
 public:
  Cell(const Bench& bench, Kind kind, std::size_t bytes)
      : bench_(bench), kind_(kind), shape_{kind == Kind::kBarrier ? 0 : bytes} {
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    if (kind == Kind::kBarrier) return;
    const std::size_t buffers =
        bench.options.buffers == Buffers::kFresh ? std::clamp<std::size_t>(kPoolBytes / bytes, 2, 64) : 1;
    make_pools(0, buffers, bench.options.host_private_memory ? Source::kAnonymous : Source::kMalloc);
    make_pools(1, buffers, Source::kMalloc);
  }

  CellResult measure();

 private:
  void make_pools(std::size_t side, std::size_t buffers, Source source) {
    send_[side] = std::make_unique<BufferPool>(shape_.bytes, buffers, source);
    receive_[side] = std::make_unique<BufferPool>(shape_.bytes, buffers, source);
  }

  void* pool_buffer(const std::array<std::unique_ptr<BufferPool>, 2>& pools, Side side) const {
    if (kind_ == Kind::kBarrier) return nullptr;
    const bool own = side == Side::kHost && bench_.options.host_private_memory;
    return pools[own ? 0 : 1]->at(call_);
  }
  void* send_buffer(Side side) const { return pool_buffer(send_, side); }
  void* receive_buffer(Side side) const { return pool_buffer(receive_, side); }

  MPI_Datatype type() const { return shape_.is_double() ? MPI_DOUBLE : MPI_FLOAT; }
  int count() const { return static_cast<int>(shape_.count()); }
  bool in_place_here() const {
    return bench_.options.in_place && (kind_ == Kind::kAllreduce || (kind_ == Kind::kReduce && rank_ == root_));
  }
  /// Bcast and calls in place have one buffer, the rest send from one and receive in the other.
  void* data_buffer(Side side) const { return in_place_here() ? receive_buffer(side) : send_buffer(side); }
  bool sends() const { return kind_ != Kind::kBarrier && (kind_ != Kind::kBcast || rank_ == root_); }

  void prepare(Side side);
  void perform(Side side);
  void time_call(Side side, Samples* samples);
  void check(Side side);
  void wait_for_start();
  bool go_on(std::uint64_t start_ns, std::size_t done);
  Median slowest(const Samples& samples) const;

  const Bench& bench_;
  Kind kind_;
  Shape shape_;
  int rank_ = 0;
  int ranks_ = 1;
  int root_ = 0;
  std::size_t call_ = 0;  ///< counts all calls of both sides: the salt of the data and the place in the pool
  bool correct_ = true;
  std::mt19937_64 common_{20251};  ///< the same on all ranks: the order of the sides, who is late
  std::array<std::unique_ptr<BufferPool>, 2> send_;
  std::array<std::unique_ptr<BufferPool>, 2> receive_;
};

void Cell::prepare(Side side) {
  ++call_;
  if (kind_ == Kind::kBarrier) return;
  // What a call in place overwrote must be restored even if it is to be the same as before.
  const bool keep = bench_.options.buffers == Buffers::kUnchanged && call_ > 2 * kWarmUps && !in_place_here() &&
                    bench_.options.rotate_root == false;
  const std::uint64_t salt = bench_.options.buffers == Buffers::kUnchanged ? 0 : call_;
  if (sends() && !keep) fill(data_buffer(side), shape_, salt, rank_);
  if (bench_.options.buffers == Buffers::kFresh) {
    flush_from_caches(send_buffer(side), shape_.bytes);
    flush_from_caches(receive_buffer(side), shape_.bytes);
  }
}

void Cell::perform(Side side) {
  const Collectives& call = collectives_of(side);
  const void* send = in_place_here() ? MPI_IN_PLACE : send_buffer(side);
  switch (kind_) {
    case Kind::kBarrier:
      call.barrier(MPI_COMM_WORLD);
      break;
    case Kind::kBcast:
      call.bcast(send_buffer(side), count(), type(), root_, MPI_COMM_WORLD);
      break;
    case Kind::kReduce:
      call.reduce(send, rank_ == root_ ? receive_buffer(side) : nullptr, count(), type(), MPI_SUM, root_,
                  MPI_COMM_WORLD);
      break;
    case Kind::kAllreduce:
      call.allreduce(send, receive_buffer(side), count(), type(), MPI_SUM, MPI_COMM_WORLD);
      break;
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

void Cell::time_call(Side side, Samples* samples) {
  if (bench_.start_line.crowded() && bench_.options.skew_us <= 0) {
    PMPI_Barrier(MPI_COMM_WORLD);
    double nanoseconds = 0;
    for (int i = 0; i < kCallsInARow; ++i) {
      prepare(side);
      const std::uint64_t begin = Clock::ticks();
      perform(side);
      nanoseconds += bench_.clock.nanoseconds_between(begin, Clock::ticks());
    }
    if (samples) samples->duration_us.push_back(nanoseconds / 1000 / kCallsInARow);
    return;
  }
  prepare(side);
  wait_for_start();
  const bool skewed = bench_.options.skew_us > 0;
  const std::uint64_t start_ns = skewed ? shared_now_ns() : 0;
  const std::uint64_t start = Clock::ticks();
  perform(side);
  const std::uint64_t end = Clock::ticks();
  if (!samples) return;
  samples->duration_us.push_back(bench_.clock.nanoseconds_between(start, end) / 1000);
  if (skewed) {
    samples->start_us.push_back(static_cast<double>(start_ns) / 1000);
    samples->end_us.push_back(static_cast<double>(shared_now_ns()) / 1000);
  }
}

void Cell::check(Side side) {
  const std::uint64_t salt = bench_.options.buffers == Buffers::kUnchanged ? 0 : call_;
  bool right = true;
  if (kind_ == Kind::kBcast) right = holds_data_of(send_buffer(side), shape_, salt, root_);
  if (kind_ == Kind::kAllreduce || (kind_ == Kind::kReduce && rank_ == root_))
    right = holds_sum(receive_buffer(side), shape_, salt, ranks_);
  correct_ = correct_ && right;
}

/// Rank 0's clock decides, so that all ranks stop at the same call.
bool Cell::go_on(std::uint64_t start_ns, std::size_t done) {
  int more = 0;
  if (rank_ == 0) {
    const double seconds = static_cast<double>(shared_now_ns() - start_ns) * 1e-9;
    more =
        done < kMaximumRepeats && (done < bench_.options.minimum_repeats || seconds < bench_.options.seconds_per_cell);
  }
  PMPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return more != 0;
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

CellResult Cell::measure() {
  CellResult result;
  std::array<Samples, 2> samples;
  const std::uint64_t start_ns = shared_now_ns();
  std::size_t done = 0;
  while (go_on(start_ns, done)) {
    const int batches = bench_.start_line.crowded() ? 2 : 10;
    for (int batch = 0; batch < batches; ++batch) {
      const bool warm_up = result.repeats < kWarmUps;
      root_ = bench_.options.rotate_root ? static_cast<int>(result.repeats % static_cast<std::size_t>(ranks_))
                                         : bench_.options.root;
      std::array<Side, 2> order{Side::kHost, Side::kTutti};
      if (common_() & 1) std::swap(order[0], order[1]);
      for (const Side side : order) {
        if (side == Side::kTutti && !bench_.measure_tutti) continue;
        time_call(side, warm_up ? nullptr : &samples[static_cast<std::size_t>(side)]);
        if (side == Side::kTutti) result.choice = last_choice();
        if (result.repeats < kCheckedAtFirst || result.repeats % kCheckedEvery == 0) check(side);
      }
      ++result.repeats;
    }
    done = samples[0].duration_us.size();
  }
  result.repeats = done;
  int right = correct_;
  PMPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  result.correct = right != 0;
  result.host_us = slowest(samples[0]);
  if (bench_.measure_tutti) result.tutti_us = slowest(samples[1]);
  return result;
}

}  // namespace

CellResult measure_cell(const Bench& bench, const std::string& collective, std::size_t bytes) {
  return Cell(bench, kind_of(collective), bytes).measure();
}

}  // namespace tutti::bench
