#include "engine/arrangement.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tutti {

namespace {

/// "64K" or "16K,64K": one chunk a level, the last one for all that follow. Empty if malformed.
std::vector<std::size_t> parse_chunks(std::string_view text) {
  std::vector<std::size_t> chunks;
  while (!text.empty()) {
    const auto comma = text.find(',');
    std::size_t bytes = 0;
    if (!parse_bytes(text.substr(0, comma), bytes) || bytes == 0) return {};
    chunks.push_back((bytes + grain_bytes - 1) / grain_bytes * grain_bytes);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return chunks;
}

}  // namespace

Arrangement::Arrangement(const Settings& settings, const topology::Placement& node, std::span<const int> node_ranks,
                         int rank)
    : rank_(rank),
      placement_(topology::subset(node, node_ranks)),
      plans_{Plans(node_ranks.size()), Plans(node_ranks.size()), Plans(node_ranks.size())},
      orders_(node_ranks.size()) {
  std::string error;
  const auto spec = topology::parse_levels(settings.hierarchy, error);
  levels_ = topology::choose_levels(spec.value_or(topology::LevelSpec{true, {}}), placement_);
  const topology::Hierarchy hierarchy = topology::build(placement_, levels_, 0);
  depth_ = std::max<int>(1, static_cast<int>(hierarchy.levels.size()));
  distances_ = topology::distances(placement_, hierarchy, topology::build_in_rank_order(placement_, levels_, 0));
  if (settings.chunk != "auto") chunk_of_level_ = parse_chunks(settings.chunk);
}

const topology::RankPlan& Arrangement::build_plan(int root, Grouping grouping) {
  const std::lock_guard lock(mutex_);
  auto& place = plans_[static_cast<std::size_t>(grouping)][static_cast<std::size_t>(root)];
  if (const topology::RankPlan* const plan = place.load(std::memory_order_relaxed)) return *plan;
  const topology::Levels levels =
      grouping == Grouping::by_socket ? topology::Levels{{topology::LevelKind::socket}, 0} : levels_;
  const topology::Hierarchy hierarchy = grouping == Grouping::in_rank_order
                                            ? topology::build_in_rank_order(placement_, levels, root)
                                            : topology::build(placement_, levels, root);
  built_.push_back(std::make_unique<topology::RankPlan>(topology::plan(hierarchy, rank_)));
  place.store(built_.back().get(), std::memory_order_release);
  return *built_.back();
}

const topology::MachineOrder& Arrangement::build_order(int root) {
  const std::lock_guard lock(mutex_);
  auto& place = orders_[static_cast<std::size_t>(root)];
  if (const topology::MachineOrder* const order = place.load(std::memory_order_relaxed)) return *order;
  built_orders_.push_back(std::make_unique<topology::MachineOrder>(topology::machine_order(placement_, root)));
  place.store(built_orders_.back().get(), std::memory_order_release);
  return *built_orders_.back();
}

const topology::RankBlocks& Arrangement::rank_blocks() {
  std::call_once(blocks_built_,
                 [this] { rank_blocks_ = topology::rank_blocks(topology::build(placement_, levels_, 0)); });
  return rank_blocks_;
}

std::size_t usual_chunk_bytes(int levels, std::size_t bytes) {
  constexpr std::size_t largest = std::size_t{128} * 1024, smallest = std::size_t{16} * 1024, chunks = 16;
  if (levels <= 1) return largest;
  return std::clamp((bytes / chunks + grain_bytes - 1) / grain_bytes * grain_bytes, smallest, largest);
}

std::size_t Arrangement::chunk_bytes(int level) const {
  if (chunk_of_level_.empty()) return usual_chunk_bytes(1, 0);
  return chunk_of_level_[std::min(static_cast<std::size_t>(level), chunk_of_level_.size() - 1)];
}

std::size_t Arrangement::chunk_bytes(int level, std::size_t bytes) const {
  return chunk_of_level_.empty() ? usual_chunk_bytes(depth_, bytes) : chunk_bytes(level);
}

std::shared_ptr<Arrangement> Arrangements::of(const Settings& settings, const topology::Placement& node,
                                              const std::vector<int>& node_ranks, int rank) {
  const std::lock_guard lock(mutex_);
  auto found =
      std::find_if(known_.begin(), known_.end(), [&](const Known& each) { return each.node_ranks == node_ranks; });
  if (found == known_.end()) {
    if (known_.size() == most) known_.pop_back();
    found = known_.insert(known_.end(), {node_ranks, std::make_shared<Arrangement>(settings, node, node_ranks, rank)});
  }
  std::rotate(known_.begin(), found, found + 1);
  return known_.front().arrangement;
}

}  // namespace tutti
