#include "network/multi_object.h"

#include <algorithm>

namespace tutti::network {

namespace {

int length_of(topology::Range range) {
  return static_cast<int>(range.length());
}
int first_of(topology::Range range) {
  return static_cast<int>(range.begin);
}
bool contains(topology::Range range, int node) {
  return static_cast<std::size_t>(node) >= range.begin && static_cast<std::size_t>(node) < range.end;
}

/// (lanes + 1) to the power of `rounds`, as long as it is below `nodes`; else any number not below.
int reach_of(int rounds, int lanes, int nodes) {
  long reach = 1;
  for (int i = 0; i < rounds && reach < nodes; ++i) reach *= lanes + 1;
  return static_cast<int>(std::min<long>(reach, nodes));
}

int holder(topology::Range range, int root) {
  return contains(range, root) ? root : first_of(range);
}

/// From whom node `index` of part `of` gets what part `other` has. Where that has one node less, one of its nodes serves
/// two: which one changes with the part that is served.
int partner(const Division& division, int of, int index, int other) {
  const topology::Range nodes = division.part(other);
  return first_of(nodes) + (index < length_of(nodes) ? index : of % length_of(nodes));
}

}  // namespace

int rounds_of(int nodes, int lanes) {
  int rounds = 0;
  for (long reach = 1; reach < nodes; reach *= lanes + 1) ++rounds;
  return rounds;
}

Division::Division(topology::Range nodes, int lanes) : nodes_(nodes) {
  const int length = length_of(nodes);
  if (length <= 1) return;
  const int longest = reach_of(rounds_of(length, lanes) - 1, lanes, length);
  parts_ = (length + longest - 1) / longest;
}

int Division::part_of(int node) const {
  int index = 0;
  while (!contains(part(index), node)) ++index;
  return index;
}

TreePlace tree_place(int nodes, int lanes, int root, int self, std::pmr::memory_resource* memory) {
  TreePlace place{.parent = {}, .children = std::pmr::vector<Branch>(memory)};
  topology::Range range{0, static_cast<std::size_t>(nodes)};
  for (int round = 0;; ++round) {
    const int holds = holder(range, root);
    if (holds == self && place.nodes.empty()) place.nodes = range;
    if (range.length() <= 1) return place;
    const Division division(range, lanes);
    const int kept = division.part_of(holds);
    const int own = division.part_of(self);
    const topology::Range own_nodes = division.part(own);
    if (holds == self) {
      for (int part = 0; part < division.parts(); ++part) {
        if (part == kept) continue;
        const topology::Range given = division.part(part);
        place.children.push_back({round, division.lane(kept, part), holder(given, root), given});
      }
    } else if (own != kept && holder(own_nodes, root) == self) {
      place.parent = {round, division.lane(kept, own), holds, own_nodes};
    }
    range = own_nodes;
  }
}

std::pmr::vector<ExchangeRound> exchange_rounds(int nodes, int lanes, int self, std::pmr::memory_resource* memory) {
  using Ends = std::pmr::vector<ExchangeRound::End>;
  const auto rounds = static_cast<std::size_t>(rounds_of(nodes, lanes));
  std::pmr::vector<ExchangeRound> all(memory);
  all.reserve(rounds);
  for (std::size_t round = 0; round < rounds; ++round) all.push_back({.sends = Ends(memory), .receives = Ends(memory)});
  topology::Range range{0, static_cast<std::size_t>(nodes)};
  for (std::size_t depth = 0; depth < rounds; ++depth) {
    ExchangeRound& round = all[rounds - 1 - depth];
    const Division division(range, lanes);
    const int own = division.part_of(self);
    const int index = self - first_of(division.part(own));
    round.parts = division.parts();
    round.own_part = own;
    for (int other = 0; other < division.parts(); ++other) {
      if (other == own) continue;
      round.receives.push_back({division.lane(own, other), partner(division, own, index, other), other});
      const topology::Range others = division.part(other);
      for (int i = 0; i < length_of(others); ++i)
        if (partner(division, other, i, own) == self)
          round.sends.push_back({division.lane(other, own), first_of(others) + i, other});
    }
    range = division.part(own);
  }
  return all;
}

BruckLane bruck_lane(int nodes, int lanes, int self, int round, int lane) {
  const long distance = reach_of(round, lanes, nodes);
  const long at = distance * (lane + 1);
  const long count = std::clamp<long>(nodes - at, 0, distance);
  if (count == 0) return {};
  return {static_cast<int>((self + at) % nodes), static_cast<int>((self - at + nodes) % nodes), static_cast<int>(at),
          static_cast<int>(count)};
}

double bruck_messages(int nodes, int lanes) {
  int messages = 0;
  for (int round = 0; round < rounds_of(nodes, lanes); ++round)
    for (int lane = 0; lane < lanes; ++lane) messages += bruck_lane(nodes, lanes, 0, round, lane).count > 0;
  return messages;
}

double tree_messages(int nodes, int lanes) {
  return static_cast<double>(tree_place(nodes, lanes, 0, 0).children.size());
}

double exchange_messages(int nodes, int lanes) {
  std::size_t messages = 0;
  for (const ExchangeRound& round : exchange_rounds(nodes, lanes, 0)) messages += round.sends.size();
  return static_cast<double>(messages);
}

}  // namespace tutti::network
