// Every algorithm x reach x ranks x size gives the right bytes on every rank, and leaves the rest alone.
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "collectives/block_patterns.h"
#include "collectives/own_memory.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

constexpr std::size_t chunk = 8192;

/// Zero-sized calls never reach the core. Around the inline limit, grain, chunk, eager limit and segment.
const std::vector<std::size_t> sizes{1,
                                     Post::inline_bytes,
                                     Post::inline_bytes + 1,
                                     4095,
                                     4096,
                                     4097,
                                     chunk - 1,
                                     chunk + 8,
                                     16 * 1024,
                                     16385,
                                     3 * chunk + 5,
                                     100001};
const std::vector<std::size_t> some_sizes{1, Post::inline_bytes + 1, 4097, chunk + 8, 3 * chunk + 5, 100001};
/// Of many ranks: what is cut differently where a message is one operation.
const std::vector<std::size_t> long_sizes{1, 4097, 3 * chunk + 5, 300001};

bool has_long_operations(int ranks) {
  return ranks == (short_sweep() ? 10 : 16);
}

const std::vector<std::size_t>& sizes_of(int ranks) {
  if (has_long_operations(ranks)) return long_sizes;
  return short_sweep() ? some_sizes : sizes;
}

/// algorithm: the value of TUTTI_ALGORITHM
World world_of(int ranks, Reach reach, const std::string& hierarchy, const std::string& algorithm) {
  World world;
  world.ranks = ranks;
  world.reach = reach;
  world.algorithm = algorithm;
  world.settings.hierarchy = hierarchy;
  world.settings.chunk = "8K";
  world.settings.segment = std::size_t{has_long_operations(ranks) ? 1024U : 64U} * 1024;
  world.settings.flat_max = 64;
  return world;
}

const std::vector<std::string> hierarchies{"flat", "l3+numa+socket"};

TUTTI_OWN_MEMORY void look_up(std::byte* to, const std::byte* table, const unsigned char* indices, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = table[indices[i]];
}

/// The bytes that rank `rank` has in call `salt`, summed up over the `ranks` from there on, and a guard byte.
std::vector<std::byte> pattern(std::size_t bytes, int salt, int ranks = 1) {
  static const std::vector<unsigned char> base = [] {
    std::vector<unsigned char> made(long_sizes.back() + 12);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<unsigned char>(i * 7 + i / 251);
    return made;
  }();
  std::array<std::byte, 256> sums{};
  for (int value = 0; value < 256; ++value)
    sums[static_cast<std::size_t>(value)] = static_cast<std::byte>(ranks * (value + salt) + ranks * (ranks - 1) / 2);
  std::vector<std::byte> made(bytes + 1, guard);
  look_up(made.data(), sums.data(), base.data(), bytes);
  return made;
}

/// What TUTTI_ALGORITHM is set to for one algorithm: once as the model has it, and with k = 1, 2, 3, p if it has one.
template <class Arguments>
std::vector<std::string> requests(const char* collective, const selection::Algorithm<Arguments>& algorithm, int ranks) {
  const std::string name = std::string(collective) + ":" + algorithm.name;
  if (!algorithm.parameter.name) return {name};
  std::vector<std::string> all{name};
  for (const int value : {1, 2, 3, ranks})
    all.push_back(name + "," + algorithm.parameter.name + "=" + std::to_string(value));
  return all;
}

class Sweep : public testing::TestWithParam<Reach> {};

void sweep_bcast(const World& world) {
  sweep_ranks(world, [&](int rank, LivedIn& collectives) {
    int salt = 0;
    for (const std::size_t bytes : sizes_of(world.ranks))
      for (const int root : {0, world.ranks - 1, world.ranks / 2}) {
        ++salt;
        const std::vector<std::byte> expected = pattern(bytes, salt);
        std::vector<std::byte> buffer(bytes + 1, guard);
        if (rank == root) buffer = expected;
        ASSERT_TRUE(collectives.bcast({buffer.data(), bytes, root}));
        ASSERT_EQ(first_difference(buffer, expected), buffer.size())
            << world.algorithm << " ranks " << world.ranks << " bytes " << bytes << " root " << root << " rank "
            << rank;
        buffer.assign(bytes, std::byte{0});  // nobody may still be reading
      }
  });
}

TEST_P(Sweep, BcastDeliversTheRootsBytes) {
  for (const auto* algorithm : algorithms_of<BcastArguments>())
    for (const int ranks : rank_counts())
      for (const auto& request : requests("bcast", *algorithm, ranks))
        for (const auto& hierarchy : hierarchies) sweep_bcast(world_of(ranks, GetParam(), hierarchy, request));
}

/// Elements of `element` bytes, made of unsigned bytes that are added: any element size, exact results.
void add_bytes(void* context, void* destination, const void* const* sources, std::size_t count, std::size_t elements,
               reduction::Order /*order*/) {
  const std::size_t bytes = elements * *static_cast<const std::size_t*>(context);
  combine_copies(destination, sources, count, bytes, add_to);
}

template <class Arguments>
void sweep_reduction(Reach reach, const char* collective,
                     const std::function<bool(LivedIn&, const ReduceArguments&)>& call, bool everywhere) {
  for (const auto* algorithm : algorithms_of<Arguments>())
    for (const int ranks : rank_counts())
      for (const auto& hierarchy : hierarchies)
        sweep_ranks(world_of(ranks, reach, hierarchy, std::string(collective) + ":" + algorithm->name),
                    [&](int rank, LivedIn& collectives) {
                      int salt = 0;
                      for (std::size_t element : {std::size_t{1}, std::size_t{8}, std::size_t{12}})
                        for (const std::size_t size : sizes_of(ranks))
                          for (const bool in_place : {false, true}) {
                            const std::size_t count = size / element + 1;
                            const std::size_t bytes = count * element;
                            const int root = ++salt % ranks;
                            Combiner combiner;
                            combiner.element_bytes = element;
                            combiner.function = add_bytes;
                            combiner.context = &element;
                            const std::vector<std::byte> sent = pattern(bytes, salt + rank);
                            std::vector<std::byte> send = sent, receive(bytes + 1, guard);
                            const bool mine = everywhere || rank == root;
                            if (in_place && mine) receive = send;
                            ReduceArguments arguments;
                            arguments.send = in_place && mine ? receive.data() : send.data();
                            arguments.receive = mine ? receive.data() : nullptr;
                            arguments.count = count;
                            arguments.combiner = &combiner;
                            arguments.root = root;
                            ASSERT_TRUE(call(collectives, arguments));
                            const std::vector<std::byte> expected =
                                mine ? pattern(bytes, salt, ranks) : std::vector<std::byte>(bytes + 1, guard);
                            ASSERT_EQ(first_difference(receive, expected), receive.size())
                                << algorithm->name << " ranks " << ranks << " bytes " << bytes << " element " << element
                                << " root " << root << " in place " << in_place;
                            ASSERT_EQ(first_difference(send, sent), send.size());
                            send.assign(bytes, std::byte{0});
                          }
                    });
}

TEST_P(Sweep, ReduceGivesTheRootTheSum) {
  sweep_reduction<ReduceArguments>(
      GetParam(), "reduce",
      [](LivedIn& collectives, const ReduceArguments& arguments) { return collectives.reduce(arguments); }, false);
}

TEST_P(Sweep, AllreduceGivesEveryRankTheSum) {
  sweep_reduction<AllreduceArguments>(
      GetParam(), "allreduce",
      [](LivedIn& collectives, const ReduceArguments& arguments) {
        return collectives.allreduce({arguments.send, arguments.receive, arguments.count, arguments.combiner});
      },
      true);
}

INSTANTIATE_TEST_SUITE_P(Reaches, Sweep, all_reaches(),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Barrier, NobodyLeavesBeforeTheLastHasCome) {
  for (const auto* algorithm : algorithms_of<BarrierArguments>())
    for (const int ranks : rank_counts())
      for (const auto& hierarchy : hierarchies) {
        std::vector<std::atomic<int>> arrived(static_cast<std::size_t>(ranks));
        run_ranks(world_of(ranks, Reach::direct, hierarchy, std::string("barrier:") + algorithm->name),
                  [&](int rank, LivedIn& collectives) {
                    for (int round = 1; round <= 50; ++round) {
                      arrived[static_cast<std::size_t>(rank)].store(round, std::memory_order_relaxed);
                      ASSERT_TRUE(collectives.barrier({}));
                      for (const auto& other : arrived) ASSERT_GE(other.load(std::memory_order_relaxed), round);
                    }
                  });
      }
}

/// A matrix product: associative, not commutative.
struct Matrix {
  std::uint32_t a, b, c, d;
};
void multiply(void*, void* destination, const void* const* sources, std::size_t count, std::size_t elements,
              reduction::Order /*order*/) {
  for (std::size_t i = 0; i < elements; ++i) {
    Matrix product = static_cast<const Matrix*>(sources[0])[i];
    for (std::size_t s = 1; s < count; ++s) {
      const Matrix right = static_cast<const Matrix*>(sources[s])[i];
      product = {product.a * right.a + product.b * right.c, product.a * right.b + product.b * right.d,
                 product.c * right.a + product.d * right.c, product.c * right.b + product.d * right.d};
    }
    static_cast<Matrix*>(destination)[i] = product;
  }
}

TEST(Segments, OfAnySizeThatSomebodySetsWork) {
  for (const std::size_t segment : {std::size_t{0}, std::size_t{1} << 60}) {
    World world = world_of(3, Reach::direct, "flat", "");
    world.settings.segment = segment;
    world.settings.eager_max = 64;
    run_ranks(world, [](int rank, LivedIn& collectives) {
      const std::vector<std::byte> sent = pattern(3000, 0);
      std::vector<std::byte> buffer = rank == 0 ? sent : std::vector<std::byte>(sent.size());
      ASSERT_TRUE(collectives.bcast({buffer.data(), buffer.size(), 0}));
      ASSERT_EQ(buffer, sent);
    });
  }
}

TEST(Order, OperatorsThatDoNotCommuteAreAppliedInRankOrder) {
  for (const int ranks : rank_counts())
    sweep_ranks(world_of(ranks, Reach::direct, "l3+numa+socket", ""), [&](int rank, LivedIn& collectives) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{5000}}) {
        Combiner combiner;
        combiner.element_bytes = sizeof(Matrix);
        combiner.commutative = false;
        combiner.function = multiply;
        const auto of = [](int r) {
          return Matrix{1u + static_cast<unsigned>(r), 2, 3, 5u * static_cast<unsigned>(r)};
        };
        std::vector<Matrix> send(count, of(rank)), receive(count);
        ASSERT_TRUE(collectives.allreduce({reinterpret_cast<std::byte*>(send.data()),
                                           reinterpret_cast<std::byte*>(receive.data()), count, &combiner}));
        std::vector<Matrix> all;
        std::vector<const void*> sources;
        for (int r = 0; r < ranks; ++r) all.push_back(of(r));
        for (const auto& matrix : all) sources.push_back(&matrix);
        Matrix expected;
        multiply(nullptr, &expected, sources.data(), sources.size(), 1, reduction::Order::in_pairs);
        for (const Matrix& each : receive) {
          ASSERT_EQ(each.a, expected.a);
          ASSERT_EQ(each.d, expected.d);
        }
      }
    });
}

TEST(Order, OperationsOfDifferentKindFollowEachOtherWithoutASynchronisation) {
  for (const int ranks : rank_counts())
    sweep_ranks(world_of(ranks, Reach::direct, "numa", ""), [&](int rank, LivedIn& collectives) {
      for (int i = 0; i < 500; ++i) {
        int value = rank == i % ranks ? i : -1;
        ASSERT_TRUE(collectives.bcast({reinterpret_cast<std::byte*>(&value), sizeof value, i % ranks}));
        ASSERT_EQ(value, i);
        std::size_t element = 4;
        Combiner combiner;
        combiner.element_bytes = 4;
        combiner.function = add_bytes;
        combiner.context = &element;
        unsigned char one[4] = {1, 0, 0, 0}, sum[4] = {};
        ReduceArguments arguments{reinterpret_cast<std::byte*>(one), reinterpret_cast<std::byte*>(sum), 1, &combiner,
                                  i % ranks};
        ASSERT_TRUE(collectives.reduce(arguments));
        if (rank == i % ranks) {
          ASSERT_EQ(sum[0], ranks);
        }
        if (i % 7 == 0) {
          ASSERT_TRUE(collectives.barrier({}));
        }
      }
    });
}

}  // namespace
}  // namespace tutti::test
