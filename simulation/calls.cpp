#include "simulation/calls.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "collectives/prediction.h"

namespace tutti::simulated {

namespace {

constexpr std::size_t element_bytes = 4;

const Combiner& sum() {
  static const Combiner combiner = [] {
    Combiner made;
    made.element_bytes = element_bytes;
    // Time passes where the core tells of it (simulated::reduces); nobody looks at the sum.
    made.function = [](void*, void*, const void* const*, std::size_t, std::size_t, reduction::Order) {};
    return made;
  }();
  return combiner;
}

struct Buffer {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
};

/// What a rank has of a call.
struct Buffers {
  Buffer send, receive;  ///< with what the collective makes of them
  Buffer filled, used;   ///< by the program, before and after
};

struct Rank {
  int rank, ranks, root;
  std::size_t bytes;
  Buffers buffers;
  std::vector<std::size_t> counts;
  int neighbors[2];

  bool is_root() const { return rank == root; }
  std::size_t all() const { return bytes * static_cast<std::size_t>(ranks); }
  void lay_out(Ranks& memory, std::size_t send, std::size_t receive) {
    memory.forget(rank);
    buffers.send = {memory.allocate(rank, send), send};
    buffers.receive = {memory.allocate(rank, receive), receive};
  }
};

template <class Arguments>
Arguments make(Rank& own, Ranks& memory) {
  const std::size_t n = own.bytes, all = own.all();
  Buffers& buffers = own.buffers;
  const auto lay = [&](std::size_t send, std::size_t receive) {
    own.lay_out(memory, send, receive);
    buffers.filled = buffers.send;
    buffers.used = buffers.receive;
  };
  const auto count = std::max<std::size_t>(1, n / element_bytes);
  if constexpr (std::is_same_v<Arguments, BarrierArguments>) {
    return {};
  } else if constexpr (std::is_same_v<Arguments, BcastArguments>) {
    lay(n, 0);
    buffers.used = buffers.send;
    if (!own.is_root()) buffers.filled = {};
    return {buffers.send.at, n, own.root};
  } else if constexpr (std::is_same_v<Arguments, ReduceArguments>) {
    lay(n, own.is_root() ? n : 0);
    return {buffers.send.at, buffers.receive.at, count, &sum(), own.root};
  } else if constexpr (std::is_same_v<Arguments, AllreduceArguments>) {
    lay(n, n);
    return {buffers.send.at, buffers.receive.at, count, &sum()};
  } else if constexpr (std::is_same_v<Arguments, ScanArguments>) {
    lay(n, n);
    return {buffers.send.at, buffers.receive.at, count, &sum()};
  } else if constexpr (std::is_same_v<Arguments, ReduceScatterArguments>) {
    lay(all, n);
    own.counts.assign(static_cast<std::size_t>(own.ranks), count);
    return {buffers.send.at, buffers.receive.at, own.counts.data(), count * own.counts.size(), &sum()};
  } else if constexpr (std::is_same_v<Arguments, ScatterArguments>) {
    lay(own.is_root() ? all : 0, n);
    return {Blocks::regular(buffers.send.at, n), buffers.receive.at, n, own.root};
  } else if constexpr (std::is_same_v<Arguments, GatherArguments>) {
    lay(n, own.is_root() ? all : 0);
    return {buffers.send.at, n, Blocks::regular(buffers.receive.at, n), own.root};
  } else if constexpr (std::is_same_v<Arguments, AllgatherArguments>) {
    lay(n, all);
    return {buffers.send.at, n, Blocks::regular(buffers.receive.at, n)};
  } else if constexpr (std::is_same_v<Arguments, AlltoallArguments>) {
    lay(all, all);
    return {Blocks::regular(buffers.send.at, n), Blocks::regular(buffers.receive.at, n)};
  } else {
    // To the next rank, from the one before.
    lay(n, n);
    static const int first = 0;
    own.neighbors[0] = (own.rank + own.ranks - 1) % own.ranks;
    own.neighbors[1] = (own.rank + 1) % own.ranks;
    NeighborArguments arguments;
    arguments.sources = own.neighbors;
    arguments.destinations = own.neighbors + 1;
    arguments.source_blocks = arguments.destination_blocks = &first;
    arguments.source_count = arguments.destination_count = 1;
    arguments.send = Blocks::regular(buffers.send.at, n);
    arguments.receive = Blocks::regular(buffers.receive.at, n);
    arguments.bytes = n;
    return arguments;
  }
}

/// Whether a call is a plain function, or there are frames of coroutines.
template <class Arguments>
bool is_straight(Collectives& collectives, const Arguments& arguments) {
  const SizeLimits limits{collectives.communicator(),
                          collectives.rank(),
                          collectives.size(),
                          collectives.spans_nodes() ? 1 : 0,
                          collectives.communicator().node().settings.eager_max,
                          collectives.communicator().node().settings.segment};
  if (!Kind<Arguments>::sizes(arguments, limits).small) return false;
  for (const auto* each : algorithms_of<Arguments>())
    if (std::string_view(each->name) == collectives.last_algorithm()) return each->forms.straight != nullptr;
  return false;
}

class Loop {
 public:
  Loop(Ranks& ranks, const Question& question, std::vector<Span>* spans)
      : ranks_(ranks), question_(question), spans_(spans) {
    constexpr std::size_t short_bytes = std::size_t{16} << 10;
    // Each eighth operation looks at all ranks' progress.
    const bool are_many = ranks.count() > 512;
    calls_ = question.calls > 0 ? question.calls : are_many ? 1 : question.bytes <= short_bytes ? 8 : 2;
    warm_ups_ = are_many ? 1 : 3;
    for (auto* each : {&with_, &without_, &inside_}) each->resize(static_cast<std::size_t>(ranks.count()));
    slowest_.resize(static_cast<std::size_t>(calls_));
  }

  template <class Arguments>
  Times run() {
    ranks_.timed().run([&](int rank) { live<Arguments>(rank); });
    const auto most = [](const std::vector<double>& of) { return *std::max_element(of.begin(), of.end()); };
    Times times;
    times.algorithm = ranks_.of(0).last_algorithm();
    if (question_.meets) {
      for (const double each : slowest_) times.inside += each / calls_;
      times.cost = times.inside;
    } else {
      times.inside = most(inside_) / calls_;
      times.cost = std::max(1e-9, (most(with_) - most(without_)) / calls_);
    }
    return times;
  }

 private:
  template <class Arguments>
  void live(int rank) {
    Timed& timed = ranks_.timed();
    Collectives& collectives = ranks_.of(rank);
    const auto i = static_cast<std::size_t>(rank);
    Rank own{rank, ranks_.count(), question_.root, question_.bytes, {}, {}, {}};
    const Arguments arguments = make<Arguments>(own, ranks_);
    for (const Buffer& each : {own.buffers.send, own.buffers.receive})
      if (each.bytes > 0) timed.owns(each.at, each.bytes);
    const auto fill = [&] {
      if (own.buffers.filled.bytes > 0) timed.fills(own.buffers.filled.at, own.buffers.filled.bytes);
    };
    const auto use = [&] {
      if (own.buffers.used.bytes > 0) timed.uses(own.buffers.used.at, own.buffers.used.bytes);
    };
    const double entering = timed.parameters().call;
    double frame = 0;
    const auto call = [&] {
      timed.spend(timed.parameters().clock);
      const double begin = timed.seconds();
      timed.spend(entering + frame);
      if (!collectives.call(arguments)) throw std::runtime_error("the library leaves such calls to the MPI");
      timed.noted(Span::Kind::call, begin, question_.bytes);
      const double took = timed.seconds() - begin;
      timed.spend(timed.parameters().clock);
      return took;
    };
    for (int n = 0; n < warm_ups_; ++n) {
      fill();
      call();
      if (n == 0 && !is_straight(collectives, arguments)) frame = timed.parameters().frame;
      use();
    }
    timed.meet();
    double start = timed.seconds();
    for (int n = 0; n < calls_; ++n) {
      fill();
      if (question_.meets) timed.meet();
      if (spans_ && n + 1 == calls_) {
        timed.meet();
        timed.note(spans_);
      }
      const double took = call();
      if (spans_ && n + 1 == calls_) timed.note_no_more();
      inside_[i] += took;
      double& slowest = slowest_[static_cast<std::size_t>(n)];
      slowest = std::max(slowest, took);
      use();
    }
    with_[i] = timed.seconds() - start;
    if (question_.meets) return;
    fill();
    use();
    timed.meet();
    start = timed.seconds();
    for (int n = 0; n < calls_; ++n) {
      fill();
      use();
    }
    without_[i] = timed.seconds() - start;
  }

  Ranks& ranks_;
  const Question& question_;
  std::vector<Span>* const spans_;
  int calls_, warm_ups_;
  std::vector<double> with_, without_, inside_;  ///< by rank
  std::vector<double> slowest_;                  ///< by call
};

}  // namespace

Times measure(Ranks& ranks, const Question& question, std::vector<Span>* spans) {
  ranks.choose(question.algorithm.empty() ? "" : question.collective + ":" + question.algorithm);
  Loop loop(ranks, question, spans);
#define TUTTI_SIMULATED_CASE(Of, name) \
  if (question.collective == #name) return loop.run<Of##Arguments>();
  TUTTI_KINDS(TUTTI_SIMULATED_CASE)
#undef TUTTI_SIMULATED_CASE
  throw std::runtime_error("no such collective: " + question.collective);
}

Predictions predict(Ranks& ranks, const Question& question) {
  ranks.choose("");
  const bool is_of_all = question.collective == "reduce_scatter";
  const std::size_t bytes = question.bytes * static_cast<std::size_t>(is_of_all ? ranks.count() : 1);
  const auto told =
      tutti::predict(question.collective, ranks.of(0).shape_of(question.collective, bytes), ranks.knowledge());
  if (!told) throw std::runtime_error("no such collective: " + question.collective);
  return *told;
}

}  // namespace tutti::simulated
