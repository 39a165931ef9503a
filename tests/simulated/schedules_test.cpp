// Every algorithm of every collective in schedules that follow from seeds: alone in each form, all of them at the same
// time on several communicators, and between nodes. A life is a communicator with its past, and rounds of calls on it.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "collectives/examples.h"
#include "collectives/spanning_ranks.h"
#include "collectives/thread_ranks.h"
#include "simulated/seeds.h"

namespace tutti::test {
namespace {

using simulated::Random;

class Wrong : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Form { blocking, pending, persistent };

/// Who has come to a barrier how often: nobody leaves it before all have.
class Doors {
 public:
  explicit Doors(int ranks) : entered_(static_cast<std::size_t>(ranks)) {}
  int enter(int rank) {
    const simulated::sanitizer::Unwatched now;
    return ++entered_[static_cast<std::size_t>(rank)];
  }
  bool all_have(int times) const {
    const simulated::sanitizer::Unwatched now;
    return std::all_of(entered_.begin(), entered_.end(), [&](int each) { return each >= times; });
  }

 private:
  std::vector<int> entered_;
};

/// A call of one rank, with its buffers. What is wrong it throws.
class AnyCall {
 public:
  virtual ~AnyCall() = default;
  virtual void call(int salt) = 0;
  virtual void start(int salt) = 0;
  virtual bool progress() = 0;
};

template <class Arguments>
class CallOf final : public AnyCall {
 public:
  /// doors: of barriers on this communicator. irregular: blocks differ where the collective has such.
  CallOf(Collectives& collectives, std::size_t bytes, int root, bool irregular, Doors& doors)
      : collectives_(collectives),
        doors_(doors),
        example_{collectives.rank(), collectives.size(), root, bytes},
        arguments_((example_.irregular = irregular, arguments_of(example_, kind))) {}

  void call(int salt) override {
    begin(salt);
    if (!collectives_.call(arguments_)) throw Wrong("not carried out");
    end();
  }
  void start(int salt) override {
    if (!pending_) pending_ = collectives_.prepare(arguments_);
    if (!pending_) throw Wrong("not carried out");
    begin(salt);
    pending_->start();
  }
  bool progress() override {
    if (!pending_->progress()) {
      trace(("waits for " + std::to_string(pending_->waits_for())).c_str());
      return false;
    }
    end();
    return true;
  }

 private:
  static constexpr const Arguments* kind = nullptr;
  std::string text() const {
    return std::to_string(example_.bytes) + (example_.irregular ? " bytes at most, root " : " bytes, root ") +
           std::to_string(example_.root) + ", rank " + std::to_string(example_.rank) + " of " +
           std::to_string(example_.ranks);
  }
  /// With TUTTI_TRACE, for a seed that is repeated.
  void trace(const char* what) const {
    static const bool is_asked = std::getenv("TUTTI_TRACE") != nullptr;
    if (is_asked) std::fprintf(stderr, "%s: %s\n", text().c_str(), what);
  }
  void begin(int salt) {
    trace(pending_ ? "starts" : "calls");
    refill(example_, kind, salt);
    times_ = std::is_same_v<Arguments, BarrierArguments> ? doors_.enter(collectives_.rank()) : 0;
  }
  void end() {
    trace(collectives_.last_algorithm());
    if (times_ && !doors_.all_have(times_))
      throw Wrong("rank " + std::to_string(example_.rank) + " has left a barrier");
    const auto differ = std::mismatch(example_.receive.begin(), example_.receive.end(), example_.expected.begin());
    if (differ.first != example_.receive.end())
      throw Wrong(std::string(collectives_.last_algorithm()) + ", " + text() + ": wrong from byte " +
                  std::to_string(differ.first - example_.receive.begin()) + " on");
    // Who still reads it finds this.
    std::fill(example_.send.begin(), example_.send.end(), std::byte{0xee});
  }

  Collectives& collectives_;
  Doors& doors_;
  Example example_;
  const Arguments arguments_;
  std::unique_ptr<PendingCall> pending_;
  int times_ = 0;
};

/// kind: in the order of the list.
std::unique_ptr<AnyCall> make_call(int kind, Collectives& collectives, std::size_t bytes, int root, bool irregular,
                                   Doors& doors) {
  int at = 0;
#define TUTTI_TEST_CASE(Of, name) \
  if (at++ == kind) return std::make_unique<CallOf<Of##Arguments>>(collectives, bytes, root, irregular, doors);
  TUTTI_KINDS(TUTTI_TEST_CASE)
#undef TUTTI_TEST_CASE
  throw std::out_of_range("no such collective");
}

const std::vector<std::string>& kinds() {
#define TUTTI_TEST_NAME(Of, name) #name,
  static const std::vector<std::string> names{TUTTI_KINDS(TUTTI_TEST_NAME)};
#undef TUTTI_TEST_NAME
  return names;
}

template <class List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto* each : list) names.emplace_back(each->name);
  return names;
}

/// Algorithms by collective, inside a node or between nodes.
std::vector<std::vector<std::string>> algorithms(bool between_nodes) {
  std::vector<std::vector<std::string>> all;
#define TUTTI_TEST_NAMES(Of, collective) \
  all.push_back(names_of(between_nodes ? algorithms_between_nodes<Of##Arguments>() : algorithms_of<Of##Arguments>()));
  TUTTI_KINDS(TUTTI_TEST_NAMES)
#undef TUTTI_TEST_NAMES
  return all;
}

/// What the user asks for.
std::string asked(const std::string& collective, const std::string& algorithm) {
  std::string words = collective + ":" + algorithm;
  if (collective == "scan") words += ";exscan:" + algorithm;
  for (const char* const irregular : {"scatter", "gather", "allgather", "alltoall", "neighbor"})
    if (collective == irregular) words += ";" + collective + "v:" + algorithm;
  return words;
}

/// Sizes at the edges of what fits where, and any others. blocks: as many are sent or received. None is 0: such calls
/// are the host's.
std::size_t any_size(Random& random, int blocks) {
  constexpr std::size_t edges[] = {1, 2, 8, 64, 112, 113, 600, 4095, 4096, 4097, 8192, 16'384, 16'385};
  std::size_t bytes = edges[random.below(std::size(edges))];
  // What takes several chunks on each of few ranks, too.
  const std::size_t most = std::min<std::size_t>(100'000, 240'000 / static_cast<std::size_t>(blocks));
  const std::uint64_t any = random.below(6);
  if (any < 2) bytes = 1 + random.below(any == 0 ? most : 2000);
  return std::min(bytes, most);
}

void go_on(std::vector<AnyCall*>& open, Random& own) {
  const std::size_t first = own.below(open.size());
  std::rotate(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(first), open.end());
  std::erase_if(open, [](AnyCall* call) { return call->progress(); });
}

/// Of a rank that waits in a blocking call what is pending goes on, too, as MPI asks for.
class WhileWaiting {
 public:
  WhileWaiting(Node& node, std::function<void()> meanwhile) : waiter_(static_cast<RankWaiter&>(*node.waiter)) {
    waiter_.meanwhile = std::move(meanwhile);
  }
  WhileWaiting(const WhileWaiting&) = delete;
  WhileWaiting& operator=(const WhileWaiting&) = delete;
  ~WhileWaiting() { waiter_.meanwhile = nullptr; }

 private:
  RankWaiter& waiter_;
};

/// turn(): what a rank does between its looks at what is pending.
template <class Between, class Turn>
void carry_out(Form form, std::vector<std::unique_ptr<AnyCall>>& calls, int& salt, Random& own, Between between,
               Turn turn) {
  if (form == Form::blocking) {
    for (auto& call : calls) {
      between();
      call->call(++salt);
    }
    return;
  }
  for (int starts = form == Form::persistent ? 2 : 1; starts > 0; --starts) {
    std::vector<AnyCall*> open;
    for (auto& call : calls) {
      call->start(++salt);
      open.push_back(call.get());
      if (own.below(3) == 0) go_on(open, own);
    }
    while (!open.empty()) {
      go_on(open, own);
      if (!open.empty()) turn();
    }
  }
}

/// Calls `live(seed)` for each seed of a test: some for each place, so that each algorithm has been in each.
template <class Live>
void for_each_seed(std::uint64_t places, Live live) {
  constexpr std::uint64_t of_each_place = 4;
  for (const std::uint64_t seed : simulated::seeds(of_each_place * places)) {
    if (testing::Test::HasFailure()) return;
    simulated::set_seed(seed);
    live(seed);
  }
}

/// Not xpmem: what is attached there depends on which pages of the process lie side by side, and not on the seed alone.
constexpr std::array reaches{Reach::direct, Reach::staged, Reach::cma,   Reach::window,
                             Reach::lent,   Reach::beyond, Reach::noted, Reach::refused};

/// Of a life whatever does not follow from its place.
World any_world(Random& random, Reach reach) {
  World world;
  world.reach = reach;
  world.ranks = static_cast<int>(random.below(3) == 0 ? 9 + random.below(9) : 2 + random.below(7));
  if (random.below(60) == 0) world.ranks = 64;
  // For measurements.
  if (const char* const ranks = std::getenv("TUTTI_TEST_RANKS")) world.ranks = std::atoi(ranks);
  if (world.ranks > 32) world.machine = "package:2 numa:4 l3:2 core:4 pu:1";
  constexpr const char* hierarchies[] = {"l3+numa+socket", "l3+numa+socket", "numa+socket", "flat", "auto"};
  world.settings.hierarchy = hierarchies[random.below(5)];
  constexpr const char* chunks[] = {"4K", "8K", "auto"};
  world.settings.chunk = chunks[random.below(3)];
  constexpr std::size_t segments[] = {std::size_t{8} << 10, std::size_t{32} << 10, std::size_t{8} << 20};
  world.settings.segment = segments[random.below(3)];
  if (random.below(2) == 0) world.settings.flat_max = 64;
  if (random.below(4) == 0) world.settings.eager_max = 2048;
  world.oversubscribed = random.below(4) == 0;
  if (random.below(4) == 0) world.shuffled = static_cast<std::uint32_t>(random());
  world.may_stage = random.below(2) == 0;
  if (random.below(4) == 0) world.after = 2 * ring_slots * (1 + random.below(1000));
  world.life = static_cast<unsigned>(random());
  return world;
}

/// Which algorithm has run in which form, with which reach.
using Seen = std::set<std::tuple<std::string, int, std::string>>;

class Schedules : public testing::TestWithParam<int> {};

TEST_P(Schedules, OfEachAlgorithm) {
  const int kind = GetParam();
  const std::string& collective = kinds()[static_cast<std::size_t>(kind)];
  const std::vector<std::string> names = algorithms(false)[static_cast<std::size_t>(kind)];
  Seen seen;
  for_each_seed(names.size() * reaches.size(), [&](std::uint64_t seed) {
    Random random(seed);
    const std::string& algorithm = names[seed % names.size()];
    World world = any_world(random, reaches[seed / names.size() % reaches.size()]);
    world.algorithm = asked(collective, algorithm);
    SCOPED_TRACE(world.algorithm + ", " + name_of(world.reach) + ", " + std::to_string(world.ranks) + " ranks");
    const int rounds = world.ranks == 64 ? 4 : 12;
    Doors doors(world.ranks);
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      Random alike(seed + 1), own(seed + 1 + (static_cast<std::uint64_t>(rank + 1) << 32));
      const WhileWaiting past(collectives.communicator().node(), [&] { collectives.go_on(); });
      int salt = 0;
      for (int round = 0; round < rounds; ++round) {
        const auto form = static_cast<Form>(alike.below(3));
        std::vector<std::unique_ptr<AnyCall>> calls;
        for (std::uint64_t count = 1 + alike.below(3); count > 0; --count) {
          const std::size_t bytes = any_size(alike, world.ranks);
          const auto root = static_cast<int>(alike.below(static_cast<std::uint64_t>(world.ranks)));
          calls.push_back(make_call(kind, collectives, bytes, root, alike.below(3) == 0, doors));
        }
        carry_out(
            form, calls, salt, own, [&] { collectives.between(); }, [&] { collectives.turn(); });
        if (rank == 0) seen.insert({collectives.last_algorithm(), static_cast<int>(form), name_of(world.reach)});
      }
    });
  });
  if (simulated::asked_seed()) return;
  for (const std::string& algorithm : names)
    for (const Reach reach : reaches)
      for (const Form form : {Form::blocking, Form::pending, Form::persistent})
        EXPECT_TRUE(seen.count({algorithm, static_cast<int>(form), name_of(reach)}))
            << algorithm << " has not run in form " << static_cast<int>(form) << ", " << name_of(reach);
}

/// Between nodes.
TEST_P(Schedules, OfEachAlgorithmBetweenNodes) {
  constexpr std::array of_node{Reach::direct, Reach::staged, Reach::cma, Reach::window};
  const std::array<std::vector<int>, 7> shapes{
      {{2, 2}, {2, 2, 2, 2}, {1, 3, 2}, {1, 1, 1, 1}, {3, 3, 3}, {2, 1, 4, 1, 3}, {4, 4, 4, 4}}};
  const int kind = GetParam();
  const std::string& collective = kinds()[static_cast<std::size_t>(kind)];
  const std::vector<std::string> names = algorithms(true)[static_cast<std::size_t>(kind)];
  Seen seen;
  for_each_seed(names.size() * of_node.size(), [&](std::uint64_t seed) {
    Random random(seed);
    const std::string& algorithm = names[seed % names.size()];
    const Reach reach = of_node[seed / names.size() % of_node.size()];
    const std::vector<int>& shape = shapes[random.below(shapes.size())];
    constexpr std::array orders{Order::node_by_node, Order::in_turn, Order::shuffled};
    Settings settings;
    settings.segment = random.below(2) == 0 ? 1024 : std::size_t{8} << 20;
    SpanningRanks ranks(node_of_rank(shape, orders[random.below(3)]), settings, reach);
    SCOPED_TRACE(collective + ":" + algorithm + ", " + name_of(reach) + ", " + std::to_string(shape.size()) + " nodes");
    selection::Knowledge knowledge;
    set_user_choice(knowledge,
                    selection::UserChoice::parse(asked(collective, algorithm), all_known_algorithms(), Log()));
    Doors doors(ranks.count());
    side_by_side(ranks.count(), [&](int rank) {
      Random alike(seed + 1), own(seed + 1 + (static_cast<std::uint64_t>(rank + 1) << 32));
      const Spanning& spanning = ranks.spanning(rank);
      Collectives collectives(spanning.inside, knowledge, &spanning);
      int salt = 0;
      for (int round = 0; round < 8; ++round) {
        const auto form = static_cast<Form>(alike.below(3));
        std::vector<std::unique_ptr<AnyCall>> calls;
        for (std::uint64_t count = 1 + alike.below(3); count > 0; --count) {
          const std::size_t bytes = any_size(alike, ranks.count());
          const auto root = static_cast<int>(alike.below(static_cast<std::uint64_t>(ranks.count())));
          calls.push_back(make_call(kind, collectives, bytes, root, alike.below(3) == 0, doors));
        }
        carry_out(
            form, calls, salt, own, [] {}, [&] { take_turn(spanning.inside.node()); });
        if (rank == 0) seen.insert({collectives.last_algorithm(), static_cast<int>(form), name_of(reach)});
      }
    });
    EXPECT_EQ(ranks.unmatched(), 0u);
  });
  if (simulated::asked_seed()) return;
  for (const std::string& algorithm : names)
    for (const Reach reach : of_node)
      for (const Form form : {Form::blocking, Form::pending, Form::persistent})
        EXPECT_TRUE(seen.count({algorithm, static_cast<int>(form), name_of(reach)}))
            << algorithm << " has not run in form " << static_cast<int>(form) << ", " << name_of(reach);
}

INSTANTIATE_TEST_SUITE_P(Collectives, Schedules, testing::Range(0, static_cast<int>(kinds().size())),
                         [](const auto& info) { return kinds()[static_cast<std::size_t>(info.param)]; });

/// Communicators of some of the ranks, made and freed by all together.
class Groups {
 public:
  explicit Groups(int ranks) : together_(ranks), offsets_(static_cast<std::size_t>(ranks)), rows_(offsets_) {}

  /// To be called by all ranks alike; members: of this rank's group, by their node ranks in any order.
  CommunicatorLayout take(Node& node, std::vector<int> members) {
    const auto self = static_cast<std::size_t>(node.rank);
    offsets_[self] = *node.arena->reserve(shared_bytes(node.settings, static_cast<int>(members.size())));
    rows_[self] = *node.rows->allocate();
    if (!node.arena->open(offsets_[self])) throw std::bad_alloc();
    together_.arrive_and_wait();
    CommunicatorLayout layout;
    for (const int member : members) {
      if (member == node.rank) layout.rank = static_cast<int>(layout.node_ranks.size());
      layout.node_ranks.push_back(member);
      layout.offsets.push_back(offsets_[static_cast<std::size_t>(member)]);
      layout.rows.push_back(rows_[static_cast<std::size_t>(member)]);
    }
    together_.arrive_and_wait();
    return layout;
  }
  /// The last one that has parted gives it back; until then others may look at it.
  static void give_back(Node& node, Communicator& communicator) {
    const Remains remains = communicator.part();
    while (!remains.unused()) take_turn(node);
    remains.give_back();
  }

 private:
  MeetingPoint together_;
  std::vector<std::uint64_t> offsets_, rows_;
};

/// What a rank has on one of its communicators.
struct Member {
  Member(Node& node, const CommunicatorLayout& layout, const selection::Knowledge& knowledge, const Past& past)
      : communicator(node, layout), collectives(communicator, knowledge, past) {
    collectives.live();
  }
  Communicator communicator;
  LivedIn collectives;
  std::vector<std::unique_ptr<AnyCall>> calls;
  std::vector<AnyCall*> open;
};

/// All collectives by any algorithms, on several communicators of the same ranks and of parts of them: some calls are
/// pending while others go through, on memory that is given back and taken again.
TEST(Schedules, OfAllTogether) {
  for_each_seed(120, [&](std::uint64_t seed) {
    Random random(seed);
    World world = any_world(random, reaches[seed % reaches.size()]);
    world.ranks = std::min(world.ranks, 17);
    world.is_new = true;
    for (std::size_t kind = 0; kind < kinds().size(); ++kind) {
      const std::vector<std::string> names = algorithms(false)[kind];
      world.algorithm += asked(kinds()[kind], names[random.below(names.size())]) + ";";
    }
    SCOPED_TRACE(world.algorithm + ", " + name_of(world.reach) + ", " + std::to_string(world.ranks) + " ranks");
    selection::Knowledge knowledge{selection::UserChoice::parse(world.algorithm, known_algorithms(), Log()), {}};
    std::vector<int> all, reversed, halves[2];
    for (int rank = 0; rank < world.ranks; ++rank) {
      all.push_back(rank);
      reversed.insert(reversed.begin(), rank);
      halves[rank % 2].push_back(rank);
    }
    Groups groups(world.ranks);
    Doors doors[4]{Doors(world.ranks), Doors(world.ranks), Doors(static_cast<int>(halves[0].size())),
                   Doors(static_cast<int>(halves[1].size()))};
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      Random alike(seed + 1), own(seed + 1 + (static_cast<std::uint64_t>(rank + 1) << 32));
      Node& node = collectives.communicator().node();
      for (int generation = 0; generation < 2; ++generation) {
        const std::vector<int>* const members[] = {&all, &reversed, &halves[rank % 2]};
        std::vector<std::unique_ptr<Member>> on;
        for (const std::vector<int>* each : members) {
          // One of one rank the core never sees.
          if (halves[1].size() < 2 && each == members[2]) continue;
          const Past past = Past::of(static_cast<unsigned>(seed) * 8 + static_cast<unsigned>(on.size()), 2);
          on.push_back(std::make_unique<Member>(node, groups.take(node, *each), knowledge, past));
        }
        for (int round = 0; round < 4 && !on.empty(); ++round) {
          int salt = 1000 * round;
          const int starts = 1 + static_cast<int>(alike.below(2));
          std::vector<std::unique_ptr<AnyCall>> straight;
          for (std::size_t i = 0; i < on.size(); ++i) {
            Member& member = *on[i];
            Doors& door = doors[i < 2 ? i : 2 + static_cast<std::size_t>(rank % 2)];
            const auto make = [&] {
              const auto kind = static_cast<int>(alike.below(kinds().size()));
              const std::size_t bytes = any_size(alike, 2 * world.ranks);
              const auto root = static_cast<int>(alike.below(halves[1].size()));
              return make_call(kind, member.collectives, bytes, root, alike.below(3) == 0, door);
            };
            member.calls.clear();
            for (std::uint64_t count = alike.below(3); count > 0; --count) member.calls.push_back(make());
            if (alike.below(2) == 0) straight.push_back(make());
          }
          for (int start = 0; start < starts; ++start) {
            for (const auto& member : on)
              for (const auto& call : member->calls) {
                call->start(++salt);
                member->open.push_back(call.get());
              }
            const auto go_on_everywhere = [&] {
              bool any = false;
              for (const auto& member : on) {
                if (!member->open.empty()) go_on(member->open, own);
                any = any || !member->open.empty();
              }
              return any;
            };
            const WhileWaiting pending(node, [&] {
              go_on_everywhere();
              for (const auto& member : on) member->collectives.go_on();
            });
            for (const auto& call : straight) {
              call->call(++salt);
              if (own.below(2) == 0) go_on_everywhere();
            }
            while (go_on_everywhere()) {
              for (const auto& member : on) member->collectives.go_on();
              take_turn(node);
            }
          }
        }
        for (const auto& member : on) {
          member->calls.clear();
          member->collectives.finish();
          Groups::give_back(node, member->communicator);
        }
      }
    });
  });
}

}  // namespace
}  // namespace tutti::test
