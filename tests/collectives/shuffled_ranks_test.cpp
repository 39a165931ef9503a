// Every algorithm where ranks are numbered in an order that has nothing to do with the machine: the results are those of
// the numbers, also of operators that do not commute, and in place.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "collectives/affine.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

constexpr std::byte untouched{0xee};

/// Of many ranks what all send together is large enough.
std::vector<std::size_t> sizes(int ranks) {
  if (short_sweep() || (ranks > 16 && !full_sweep())) return {24, 5000};
  return {1, 24, 1000, 5000, 40'000};
}

std::vector<int> ranks_to_shuffle() {
  if (full_sweep()) return {2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 31, 32};
  if (short_sweep()) return {5};
  return {2, 3, 13, 32};
}

/// Byte i of what `from` has for `to`.
std::byte sent(int from, int to, std::size_t i) {
  return static_cast<std::byte>(static_cast<std::size_t>(from * 31 + to * 17) + i * 7 + i / 251);
}

/// One rank's call of one collective, by one algorithm; whether all is as it must be.
class Call {
 public:
  Call(Collectives& collectives, const std::string& collective, std::size_t bytes, bool in_place, int root)
      : collectives_(collectives), name_(collective), bytes_(bytes), in_place_(in_place), root_(root) {}

  bool right() {
    if (name_ == "bcast") return bcast();
    if (name_ == "scatter" || name_ == "scatterv") return scatter();
    if (name_ == "gather" || name_ == "gatherv") return gather();
    if (name_ == "allgather" || name_ == "allgatherv") return allgather();
    if (name_ == "alltoall" || name_ == "alltoallv") return alltoall();
    if (name_ == "reduce" || name_ == "allreduce") return reduce(false) && reduce(true);
    if (name_ == "reduce_scatter") return reduce_scatter();
    return scan();
  }

 private:
  int rank() const { return collectives_.communicator().rank(); }
  int ranks() const { return collectives_.communicator().size(); }
  std::size_t count() const { return static_cast<std::size_t>(ranks()); }
  bool is_root() const { return rank() == root_; }

  bool bcast() {
    std::vector<std::byte> buffer(bytes_, untouched);
    for (std::size_t i = 0; is_root() && i < bytes_; ++i) buffer[i] = sent(root_, 0, i);
    if (!collectives_.bcast({buffer.data(), bytes_, root_})) return false;
    for (std::size_t i = 0; i < bytes_; ++i)
      if (buffer[i] != sent(root_, 0, i)) return false;
    return true;
  }

  /// Blocks of one buffer, as regular ones or as irregular ones of equal size.
  Blocks blocks_of(std::vector<std::byte>& buffer) {
    if (!irregular()) return Blocks::regular(buffer.data(), bytes_);
    sizes_.assign(count(), bytes_);
    offsets_.clear();
    for (std::size_t i = 0; i < count(); ++i) offsets_.push_back(static_cast<std::ptrdiff_t>(i * bytes_));
    return Blocks::irregular(buffer.data(), sizes_.data(), offsets_.data());
  }
  bool irregular() const { return name_.back() == 'v'; }

  bool scatter() {
    std::vector<std::byte> all(is_root() ? bytes_ * count() : 0), mine(bytes_, untouched);
    for (int to = 0; is_root() && to < ranks(); ++to)
      for (std::size_t i = 0; i < bytes_; ++i) all[static_cast<std::size_t>(to) * bytes_ + i] = sent(root_, to, i);
    const bool kept = in_place_ && is_root();
    if (!collectives_.scatter({blocks_of(all), kept ? nullptr : mine.data(), bytes_, root_, !irregular()}))
      return false;
    for (std::size_t i = 0; !kept && i < bytes_; ++i)
      if (mine[i] != sent(root_, rank(), i)) return false;
    return true;
  }

  bool gather() {
    std::vector<std::byte> all(is_root() ? bytes_ * count() : 0, untouched), mine(bytes_);
    for (std::size_t i = 0; i < bytes_; ++i) mine[i] = sent(rank(), root_, i);
    const bool kept = in_place_ && is_root();
    if (kept) std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(bytes_) * rank());
    if (!collectives_.gather({kept ? nullptr : mine.data(), bytes_, blocks_of(all), root_, !irregular()})) return false;
    return !is_root() || is_gathered(all, root_);
  }

  bool is_gathered(const std::vector<std::byte>& all, int to) const {
    for (int from = 0; from < ranks(); ++from)
      for (std::size_t i = 0; i < bytes_; ++i)
        if (all[static_cast<std::size_t>(from) * bytes_ + i] != sent(from, to, i)) return false;
    return true;
  }

  bool allgather() {
    std::vector<std::byte> all(bytes_ * count(), untouched), mine(bytes_);
    for (std::size_t i = 0; i < bytes_; ++i) mine[i] = sent(rank(), 0, i);
    if (in_place_) std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(bytes_) * rank());
    return collectives_.allgather({in_place_ ? nullptr : mine.data(), bytes_, blocks_of(all)}) && is_gathered(all, 0);
  }

  bool alltoall() {
    std::vector<std::byte> out(bytes_ * count()), in(bytes_ * count(), untouched);
    for (int to = 0; to < ranks(); ++to)
      for (std::size_t i = 0; i < bytes_; ++i) out[static_cast<std::size_t>(to) * bytes_ + i] = sent(rank(), to, i);
    const Blocks send = blocks_of(out);
    const Blocks receive =
        irregular() ? Blocks::irregular(in.data(), sizes_.data(), offsets_.data()) : Blocks::regular(in.data(), bytes_);
    return collectives_.alltoall({send, receive, !irregular()}) && is_gathered(in, rank());
  }

  /// Whether `result` is that of the first `combined` ranks, from byte `first` on.
  bool is_composed(const std::byte* result, int combined, std::size_t first, std::size_t length) {
    std::vector<std::byte> right(length);
    write_composed(right.data(), composed(combined).data(), first, length, 0);
    return std::equal(right.begin(), right.end(), result);
  }

  /// Of bytes as maps, which do not commute; or added up, which they do.
  bool reduce(bool commutes) {
    std::vector<std::byte> send(bytes_), receive(bytes_, untouched);
    fill(send, bytes_, 0, rank());
    Combiner sum;
    sum.kernel = reduction::kernel(reduction::Operator::sum, reduction::Type::u8);
    const Combiner combiner = commutes ? sum : composition(element_, false);
    const bool gets = name_ == "allreduce" || is_root();
    if (in_place_ && gets) receive = send;
    const std::byte* from = in_place_ && gets ? receive.data() : send.data();
    const bool done = name_ == "reduce"
                          ? collectives_.reduce({from, gets ? receive.data() : nullptr, bytes_, &combiner, root_})
                          : collectives_.allreduce({from, receive.data(), bytes_, &combiner});
    if (!done || !gets) return done;
    if (!commutes) return is_composed(receive.data(), ranks(), 0, bytes_);
    for (std::size_t i = 0; i < bytes_; ++i) {
      unsigned total = 0;
      for (int each = 0; each < ranks(); ++each) total += contribution(i, 0, each);
      if (receive[i] != static_cast<std::byte>(total)) return false;
    }
    return true;
  }

  bool reduce_scatter() {
    std::vector<std::byte> send(bytes_), receive(bytes_, untouched);
    fill(send, bytes_, 0, rank());
    std::vector<std::size_t> counts;
    for (std::size_t i = 0; i < count(); ++i) counts.push_back(bytes_ * (i + 1) / count() - bytes_ * i / count());
    const Combiner combiner = composition(element_, false);
    if (in_place_) receive = send;
    const std::byte* from = in_place_ ? receive.data() : send.data();
    if (!collectives_.reduce_scatter({from, receive.data(), counts.data(), bytes_, &combiner})) return false;
    const auto self = static_cast<std::size_t>(rank());
    return is_composed(receive.data(), ranks(), bytes_ * self / count(), counts[self]);
  }

  bool scan() {
    std::vector<std::byte> send(bytes_), receive(bytes_, untouched);
    fill(send, bytes_, 0, rank());
    const Combiner combiner = composition(element_, false);
    if (in_place_) receive = send;
    const bool exclusive = name_ == "exscan";
    const std::byte* from = in_place_ ? receive.data() : send.data();
    if (!collectives_.scan({from, receive.data(), bytes_, &combiner, exclusive})) return false;
    const int combined = exclusive ? rank() : rank() + 1;
    return combined == 0 || is_composed(receive.data(), combined, 0, bytes_);
  }

  Collectives& collectives_;
  std::string name_;
  std::size_t bytes_;
  bool in_place_;
  int root_;
  std::size_t element_ = 1;
  std::vector<std::size_t> sizes_;
  std::vector<std::ptrdiff_t> offsets_;
};

struct Ran {
  std::set<std::string> algorithms;
};

void run_one(World world, const std::string& collective, const std::string& algorithm, Ran& ran) {
  world.algorithm = collective + ":" + algorithm;
  const std::vector<int> roots{0, world.ranks / 2, world.ranks - 1};
  run_ranks(world, [&](int rank, Collectives& collectives) {
    for (const std::size_t bytes : sizes(world.ranks))
      for (std::size_t i = 0; i < roots.size(); ++i) {
        Call call(collectives, collective, bytes, i % 2 == 1, roots[i]);
        EXPECT_TRUE(call.right()) << collective << " by " << collectives.last_algorithm() << " of " << bytes
                                  << " on rank " << rank << " of " << world.ranks << " root " << roots[i]
                                  << " shuffled by " << *world.shuffled;
        if (rank == 0) ran.algorithms.insert(collective + " " + collectives.last_algorithm());
      }
  });
}

class ShuffledRanks : public testing::TestWithParam<Reach> {};

TEST_P(ShuffledRanks, EveryAlgorithmGivesWhatTheNumbersSay) {
  Ran ran;
  for (const auto& known : known_algorithms()) {
    const std::string collective(known.collective);
    if (collective == "barrier" || collective.starts_with("neighbor")) continue;
    for (const auto& algorithm : known.algorithms)
      for (const int ranks : ranks_to_shuffle()) {
        World world;
        world.ranks = ranks;
        world.reach = GetParam();
        world.machine = "package:2 numa:2 core:8 pu:1";
        world.shuffled = static_cast<std::uint32_t>(ranks);
        world.settings.flat_max = 64;
        world.settings.chunk = "8K";
        if (!is_swept(world)) continue;
        run_one(world, collective, std::string(algorithm), ran);
        if (HasFailure()) return;
      }
    // Some of those of equal blocks are no algorithms of irregular ones.
    for (const auto& algorithm : known.algorithms)
      EXPECT_TRUE(collective.back() == 'v' || ran.algorithms.contains(collective + " " + std::string(algorithm)))
          << collective << " " << algorithm;
  }
}

INSTANTIATE_TEST_SUITE_P(Reaches, ShuffledRanks, testing::Values(Reach::direct, Reach::cma, Reach::staged),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tutti::test
