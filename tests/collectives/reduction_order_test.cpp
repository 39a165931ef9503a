// Every reduction gives the bits of its own order, the one that the head of its file states: on every rank, in every call
// on one layout, whichever way was taken. Here an order is a term, and its value comes from plain loops.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "collectives/thread_ranks.h"
#include "reduction/fold.h"
#include "reduction/reference.h"
#include "topology/machine_order.h"
#include "topology/rank_blocks.h"

namespace tutti::test {
namespace {

using reduction::Order;

/// What a rank contributes, or parts that are combined in an order.
struct Term {
  int rank = -1;
  std::vector<Term> parts = {};
  Order order = Order::in_pairs;

  bool gives_nothing() const { return rank < 0 && parts.empty(); }
};

Term rank_order(int first, int last, Order order = Order::in_pairs) {
  Term term{.order = order};
  for (int rank = first; rank <= last; ++rank) term.parts.push_back({rank});
  return term;
}

/// xhc: each group combines what its members have brought together further in, in rank order.
Term along_groups(const topology::Hierarchy& hierarchy) {
  std::vector<Term> brought = rank_order(0, hierarchy.rank_count - 1).parts;
  for (const topology::Level& level : hierarchy.levels)
    for (const topology::Group& group : level.groups) {
      Term combined;
      for (const int member : group.members) combined.parts.push_back(brought[static_cast<std::size_t>(member)]);
      brought[static_cast<std::size_t>(group.leader)] = combined;
    }
  return brought[static_cast<std::size_t>(hierarchy.root)];
}

/// smhc: each leader combines its own contribution and what all that read from it have, at once and in rank order.
Term along_tree(const topology::Hierarchy& hierarchy, int rank) {
  Term term;
  std::vector<int> combined{rank};
  for (const topology::Level& level : hierarchy.levels)
    for (const topology::Group& group : level.groups)
      for (const int member : group.members)
        if (group.leader == rank && member != rank) combined.push_back(member);
  if (combined.size() == 1) return {rank};
  std::sort(combined.begin(), combined.end());
  for (const int each : combined) term.parts.push_back(each == rank ? Term{rank} : along_tree(hierarchy, each));
  return term;
}

/// hierarchical: the totals of the blocks before `block`, and what follows them.
Term behind_blocks(const topology::RankBlocks& blocks, int block, const Term& rest, Order order) {
  Term term{.order = order};
  for (int each = 0; each < block; ++each)
    term.parts.push_back(rank_order(blocks.first(each), blocks.last(each), order));
  term.parts.push_back(rest);
  return term;
}

/// recursive-doubling: partial result `step` of a place, of the 2^step ranks up to it.
Term doubled(int place, int step) {
  step = std::min(step, static_cast<int>(std::bit_width(static_cast<unsigned>(place))));
  if (step == 0) return {place};
  return {-1, {doubled(place - (1 << (step - 1)), step - 1), doubled(place, step - 1)}};
}

/// recursive-doubling of Allreduce, and recursive halving: halves of the ranks, of which the first `extra` have brought
/// their neighbours.
Term halved(int first, int count, int extra) {
  if (count > 1) return {-1, {halved(first, count / 2, extra), halved(first + count / 2, count / 2, extra)}};
  return first < extra ? rank_order(2 * first, 2 * first + 1) : Term{first + extra};
}

/// binomial: blocks of ranks joined in pairs, as far as there are ranks.
Term joined(int first, int width, int ranks) {
  if (width == 1) return {first};
  const Term lower = joined(first, width / 2, ranks);
  if (first + width / 2 >= ranks) return lower;
  return {-1, {lower, joined(first + width / 2, width / 2, ranks)}};
}

/// An element whose combination neither commutes nor, in floating point, is associative: the map x -> a x + b.
struct Line {
  double a, b;
};

// Never in line: a compiler that contracts a product and a sum to one instruction does so everywhere or nowhere.
[[gnu::noinline]] Line combine(Line left, Line right) {
  return {left.a * right.a, left.a * right.b + left.b};
}
double combine(double left, double right) {
  return left + right;
}
float combine(float left, float right) {
  return left + right;
}

template <class Element>
std::vector<Element> value_of(const Term& term, const std::vector<std::vector<Element>>& sent) {
  if (term.parts.empty()) return sent[static_cast<std::size_t>(term.rank)];
  std::vector<std::vector<Element>> values;
  for (const Term& part : term.parts) values.push_back(value_of(part, sent));
  return reduction::test::combined(values, term.order,
                                   [](std::vector<Element> left, const std::vector<Element>& right) {
                                     for (std::size_t i = 0; i < left.size(); ++i) left[i] = combine(left[i], right[i]);
                                     return left;
                                   });
}

/// Of magnitudes so different that every order gives other bits.
struct Numbers {
  std::mt19937 random{20240607};

  double number() {
    const double fraction = std::uniform_real_distribution<double>(-1, 1)(random);
    return std::ldexp(fraction, std::uniform_int_distribution<int>(-12, 12)(random));
  }
  void make(double& element) { element = number(); }
  void make(float& element) { element = static_cast<float>(number()); }
  void make(Line& element) { element = {1 + number() / 4096, number()}; }
};

template <class Element>
std::vector<std::vector<Element>> contributions(int ranks, std::size_t count) {
  Numbers numbers;
  std::vector<std::vector<Element>> sent(static_cast<std::size_t>(ranks), std::vector<Element>(count));
  for (auto& each : sent)
    for (Element& element : each) numbers.make(element);
  return sent;
}

/// As a program's own operator is called: it takes two and overwrites the second one.
void fold_lines(void*, void* destination, const void* const* sources, std::size_t count, std::size_t elements,
                Order order) {
  static thread_local std::vector<Line> own[8];
  void* rooms[8];
  for (std::size_t i = 0; i < reduction::most_operands(count); ++i) {
    own[i].resize(std::max(own[i].size(), elements));
    rooms[i] = own[i].data();
  }
  reduction::fold(destination, sources, count, elements * sizeof(Line), order, rooms,
                  [&](const void* left, void* right) {
                    for (std::size_t i = 0; i < elements; ++i) {
                      Line a, b;
                      std::memcpy(&a, static_cast<const std::byte*>(left) + i * sizeof a, sizeof a);
                      std::memcpy(&b, static_cast<const std::byte*>(right) + i * sizeof b, sizeof b);
                      b = combine(a, b);
                      std::memcpy(static_cast<std::byte*>(right) + i * sizeof b, &b, sizeof b);
                    }
                  });
}

template <class Element>
Combiner combiner_of([[maybe_unused]] bool commutes) {
  Combiner combiner;
  combiner.element_bytes = sizeof(Element);
  if constexpr (std::is_same_v<Element, Line>) {
    combiner.commutative = commutes;
    combiner.function = fold_lines;
  } else {
    const auto type = std::is_same_v<Element, float> ? reduction::Type::f32 : reduction::Type::f64;
    combiner.kernel = reduction::kernel(reduction::Operator::sum, type);
  }
  return combiner;
}

/// One algorithm, and the world in which it runs.
struct Tested {
  World world;
  std::string collective;  ///< as in TUTTI_ALGORITHM
  std::string algorithm;
  bool commutes = false;  ///< what the core is told of the operator: the order is checked all the same

  int last() const { return world.ranks - 1; }

  /// Whether the ranks are gone through in the order of the machine, where the operator commutes.
  bool is_by_place() const {
    return algorithm.starts_with("reduce-scatter-") ||
           (collective == "allreduce" && algorithm == "recursive-doubling") || algorithm == "binomial";
  }

  /// The order of what `rank` gets; no parts and no rank: it gets nothing.
  Term order(int rank, int root) const {
    Term term = order_of_places(rank, root);
    if (commutes && is_by_place()) put_ranks(term, topology::machine_order(placement_of(world), 0));
    return term;
  }

 private:
  static void put_ranks(Term& term, const topology::MachineOrder& order) {
    if (term.rank >= 0) term.rank = order.rank(term.rank);
    for (Term& part : term.parts) put_ranks(part, order);
  }
  Term order_of_places(int rank, int root) const {
    if (collective == "scan") return prefix(rank);
    if (collective == "exscan") return rank == 0 ? Term{} : prefix(rank - 1);
    if (collective == "reduce" && rank != root) return {};
    if (collective != "reduce") root = 0;
    if (algorithm.starts_with("reduce-scatter-") || (collective == "allreduce" && algorithm == "recursive-doubling")) {
      const auto left = static_cast<int>(std::bit_floor(static_cast<unsigned>(world.ranks)));
      return halved(0, left, world.ranks - left);
    }
    if (algorithm == "binomial")
      return joined(0, static_cast<int>(std::bit_ceil(static_cast<unsigned>(world.ranks))), world.ranks);
    if (algorithm == "xhc") return along_groups(hierarchy(world.settings.hierarchy, root));
    if (algorithm == "smhc-socket") return along_tree(hierarchy("socket", root), root);
    if (algorithm != "hierarchical") return rank_order(0, last());
    const topology::RankBlocks blocks = rank_blocks(hierarchy(world.settings.hierarchy, 0));
    return behind_blocks(blocks, blocks.count() - 1, rank_order(blocks.first(blocks.count() - 1), last()),
                         Order::in_pairs);
  }
  Term prefix(int rank) const {
    if (algorithm == "recursive-doubling") return doubled(rank, 31);
    if (algorithm != "hierarchical") return rank_order(0, rank, Order::in_sequence);
    const topology::RankBlocks blocks = rank_blocks(hierarchy(world.settings.hierarchy, 0));
    const int block = blocks.of[static_cast<std::size_t>(rank)];
    return behind_blocks(blocks, block, rank_order(blocks.first(block), rank, Order::in_sequence), Order::in_sequence);
  }
  topology::Hierarchy hierarchy(const std::string& levels, int root) const {
    std::string error;
    const topology::Placement placement = placement_of(world);
    const auto spec = topology::parse_levels(levels, error);
    EXPECT_TRUE(spec) << error;
    const topology::Levels chosen = topology::choose_levels(*spec, placement);
    const bool in_rank_order = algorithm == "xhc" && !commutes;
    return in_rank_order ? topology::build_in_rank_order(placement, chosen, root)
                         : topology::build(placement, chosen, root);
  }
};

int calls_of(std::size_t count) {
  return count < 1000 ? 2 : 4;
}

/// What the ranks of one world send, and what each is to get.
template <class Element>
struct Example {
  std::size_t count;
  std::vector<std::size_t> counts;  ///< of each rank, for Reduce_scatter
  std::vector<std::vector<Element>> sent;
  std::vector<std::vector<Element>> expected[2];  ///< for each of the two roots, by rank; empty: nothing
  int roots[2];

  Example(const Tested& tested, std::size_t elements)
      : count(elements), sent(contributions<Element>(tested.world.ranks, elements)), roots{0, tested.last()} {
    const auto p = static_cast<std::size_t>(tested.world.ranks);
    for (std::size_t i = 0; i < p; ++i) counts.push_back(begin_of(i + 1, p) - begin_of(i, p));
    for (const int i : {0, 1})
      for (int rank = 0; rank <= tested.last(); ++rank) {
        const Term order = tested.order(rank, roots[i]);
        expected[i].push_back(order.gives_nothing() ? std::vector<Element>() : value_of(order, sent));
      }
  }
  std::size_t begin_of(std::size_t rank, std::size_t ranks) const { return rank * count / ranks; }
};

/// Carries out one call; `receive` is what is sent where it is in place.
template <class Element>
bool call(Collectives& collectives, const Tested& tested, const Example<Element>& example, const Element* send,
          Element* receive, const Combiner& combiner, int root) {
  const auto* const from = reinterpret_cast<const std::byte*>(send);
  auto* const to = reinterpret_cast<std::byte*>(receive);
  const std::size_t count = example.count;
  const bool is_root = collectives.communicator().rank() == root;
  if (tested.collective == "reduce") return collectives.reduce({from, is_root ? to : nullptr, count, &combiner, root});
  if (tested.collective == "allreduce") return collectives.allreduce({from, to, count, &combiner});
  if (tested.collective == "reduce_scatter")
    return collectives.reduce_scatter({from, to, example.counts.data(), count, &combiner});
  return collectives.scan({from, to, count, &combiner, tested.collective == "exscan"});
}

template <class Element>
void check(Collectives& collectives, const Tested& tested, const Example<Element>& example, int number) {
  const auto rank = static_cast<std::size_t>(collectives.communicator().rank());
  const Combiner combiner = combiner_of<Element>(tested.commutes);
  const bool second = number % 2 == 1;
  const std::vector<Element>& expected = example.expected[second][rank];
  // Of the ranks that get something, half of the calls are in place.
  const bool in_place = number % 4 >= 2 && !expected.empty();
  std::vector<Element> send = example.sent[rank], receive(example.count);
  Element* const to = in_place ? send.data() : receive.data();
  ASSERT_TRUE(call(collectives, tested, example, send.data(), to, combiner, example.roots[second]));
  ASSERT_EQ(collectives.last_algorithm(), tested.algorithm);
  if (expected.empty()) return;
  const bool scattered = tested.collective == "reduce_scatter";
  const std::size_t length = scattered ? example.counts[rank] : example.count;
  const Element* const wanted =
      expected.data() + (scattered ? example.begin_of(rank, example.counts.size()) : std::size_t{0});
  std::size_t at = 0;
  if (std::memcmp(to, wanted, length * sizeof(Element)) == 0) at = length;
  while (at < length && std::memcmp(to + at, wanted + at, sizeof(Element)) == 0) ++at;
  // Not fatal: the others go on, and would wait.
  EXPECT_EQ(at, length) << tested.collective << " " << tested.algorithm << " ranks " << tested.world.ranks << " rank "
                        << rank << " shared cores " << tested.world.oversubscribed << " hierarchy "
                        << tested.world.settings.hierarchy << " dealt out " << tested.world.dealt_out << " elements "
                        << example.count << " of " << sizeof(Element) << " bytes, call " << number << " in place "
                        << in_place;
}

constexpr std::size_t chunk = 8192;

/// One element, an odd number, just beyond a chunk of doubles, and several chunks and segments.
const std::vector<std::size_t> sizes{1, 33, chunk / sizeof(double) + 1, 10'007};

struct Layout {
  const char* hierarchy;
  bool dealt_out;
};

/// flat_only: the algorithm looks at no hierarchy. by_place: but at where ranks sit.
std::vector<Layout> layouts(bool flat_only, bool by_place) {
  if (flat_only && by_place && !short_sweep()) return {{"flat", false}, {"flat", true}};
  if (flat_only) return {{"flat", by_place}};
  if (short_sweep()) return {{"numa+socket", true}};
  // The last one is cut where nothing of the machine is.
  return {{"flat", false}, {"numa+socket", false}, {"numa+socket", true}, {"3", true}};
}

std::vector<int> ranks_in_order() {
  if (full_sweep()) return {2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16};
  if (short_sweep()) return {2, 5};
  return {2, 3, 5, 8};
}

/// How often each algorithm ran.
using Counts = std::map<std::string, int>;

template <class Element, class Arguments>
void sweep(const std::string& collective, const selection::Algorithm<Arguments>& algorithm, Reach reach, bool commutes,
           Counts& runs) {
  const std::string name = algorithm.name;
  const bool flat_only = name != "xhc" && name != "smhc-socket" && name != "hierarchical";
  const bool by_place = Tested{.world = {}, .collective = collective, .algorithm = name}.is_by_place();
  for (const int ranks : ranks_in_order())
    for (const Layout& layout : layouts(flat_only, by_place)) {
      Tested tested{.world = {}, .collective = collective, .algorithm = name, .commutes = commutes};
      tested.world.ranks = ranks;
      tested.world.reach = reach;
      tested.world.machine = "package:2 numa:2 core:2 pu:1";
      tested.world.dealt_out = layout.dealt_out;
      tested.world.oversubscribed = ranks % 2 == 1;
      tested.world.algorithm = collective + ":" + name;
      tested.world.settings.hierarchy = layout.hierarchy;
      tested.world.settings.chunk = std::to_string(chunk);
      tested.world.settings.segment = 64 * 1024;
      tested.world.settings.flat_max = 64;
      std::vector<Example<Element>> examples;
      for (const std::size_t count : sizes) {
        selection::Shape shape;
        shape.ranks = ranks;
        shape.bytes = std::bit_ceil(count * sizeof(Element));
        shape.eager_max = tested.world.settings.eager_max;
        shape.slot_bytes = slot_bytes_of(tested.world.settings, ranks);
        shape.flat_max = static_cast<std::size_t>(tested.world.settings.flat_max);
        shape.commutative = commutes;
        if (!algorithm.eligible(shape)) continue;
        examples.emplace_back(tested, count);
      }
      if (examples.empty()) continue;
      run_ranks(tested.world, [&](int, Collectives& collectives) {
        for (const auto& example : examples)
          for (int i = 0; i < calls_of(example.count); ++i) check(collectives, tested, example, i);
      });
      ++runs[collective + " " + name];
      if (testing::Test::HasFailure()) return;
    }
}

template <class Arguments>
void sweep_all(const std::string& collective, Reach reach) {
  Counts runs;
  for (const auto* algorithm : algorithms_of<Arguments>()) {
    sweep<double>(collective, *algorithm, reach, true, runs);
    sweep<float>(collective, *algorithm, reach, true, runs);
    for (const bool commutes : {false, true}) sweep<Line>(collective, *algorithm, reach, commutes, runs);
    EXPECT_GT(runs[collective + " " + algorithm->name], 0) << collective << " by " << algorithm->name << " did not run";
    if (testing::Test::HasFailure()) return;
  }
}

class ReductionOrder : public testing::TestWithParam<Reach> {};

TEST_P(ReductionOrder, OfReduce) {
  sweep_all<ReduceArguments>("reduce", GetParam());
}
TEST_P(ReductionOrder, OfAllreduce) {
  sweep_all<AllreduceArguments>("allreduce", GetParam());
}
TEST_P(ReductionOrder, OfReduceScatter) {
  sweep_all<ReduceScatterArguments>("reduce_scatter", GetParam());
}
TEST_P(ReductionOrder, OfScan) {
  sweep_all<ScanArguments>("scan", GetParam());
}
TEST_P(ReductionOrder, OfExscan) {
  sweep_all<ScanArguments>("exscan", GetParam());
}

// What is read where it is, and what goes through memory beside it.
INSTANTIATE_TEST_SUITE_P(Reaches, ReductionOrder, testing::Values(Reach::direct, Reach::staged),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(ReductionOrders, DifferInTheirBits) {
  const auto lines = contributions<Line>(3, 100);
  const auto doubles = contributions<double>(3, 100);
  const Term left = rank_order(0, 2), right{-1, {{0}, {-1, {{1}, {2}}}}};
  const auto differ = [&](const auto& sent) {
    const auto a = value_of(left, sent), b = value_of(right, sent);
    return std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) != 0;
  };
  EXPECT_TRUE(differ(lines));
  EXPECT_TRUE(differ(doubles));
}

}  // namespace
}  // namespace tutti::test
