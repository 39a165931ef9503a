#include "probe/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "probe/lines.h"
#include "probe/team.h"
#include "processors.h"
#include "selection/machine.h"
#include "statistics.h"

namespace tutti::bench {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t K = 1024, M = K * 1024;
constexpr double seconds_of_a_look = 0.001;

/// 1, 2, 3, 4, 6, 8, 12, ... and the last one.
std::vector<std::size_t> some_counts(std::size_t most) {
  std::vector<std::size_t> counts;
  for (std::size_t step = 1; step <= most; step *= 2) {
    counts.push_back(step);
    if (step > 1 && step / 2 * 3 <= most) counts.push_back(step / 2 * 3);
  }
  if (counts.back() != most) counts.push_back(most);
  return counts;
}

}  // namespace

Plan::Plan(const ProbeOptions& options) : options_(options) {
  std::string error;
  machine_ = topology::Machine::load("", error);
  if (!machine_) throw std::runtime_error(error);
  choose_processors();
  begin_with_the_nearest();
  print(machine_line());
  cma_ = kernel_copies_work(reason_);
  if (!cma_) leave_out("copies by the kernel: " + reason_);
  xpmem_ = usable_xpmem(reason_).has_value();
  if (!xpmem_) leave_out("copies through xpmem: " + reason_);
  if (processors_.size() < 2) leave_out("everything between two cores: there is one core to run on");
  leave_out("more readers and pairs at once than the " + std::to_string(processors_.size()) +
            (processors_.size() == 1 ? " core" : " cores") + " here: they would take turns");
  single_core();
  kernel_steps();
  copies();
  readers();
  at_once();
  pairs_of_cores();
  concurrent();
}

void Plan::add(const std::string& title, double weight, ordered_json of,
               std::function<std::vector<double>(const Probing&)> measure) {
  if (options_.only.empty() || of.at("measure") == options_.only)
    figures_.push_back({std::move(of), title, weight, std::move(measure)});
}

const topology::ProcessingUnit* Plan::unit_of(int processor) const {
  const int at = machine_->find(processor);
  return at < 0 ? nullptr : &machine_->units()[static_cast<std::size_t>(at)];
}

topology::Distance Plan::distance_between(int one, int other) const {
  const auto place_of = [&](int processor) {
    const auto* const unit = unit_of(processor);
    return unit ? topology::RankPlace{unit->domain, unit->core, -1} : topology::RankPlace{};
  };
  return topology::distance_between(place_of(one), place_of(other));
}

std::size_t Plan::cache_bytes() const {
  return machine_->l2_bytes() ? machine_->l2_bytes() : 512 * K;
}

std::vector<int> Plan::two() const {
  return {processors_.front(), processors_.size() > 1 ? processors_[1] : processors_.front()};
}

void Plan::choose_processors() {
  if (!options_.processors.empty()) {
    processors_ = options_.processors;
    return;
  }
  const auto usable = usable_processors();
  std::set<int> cores;
  int siblings = 0, refused = 0;
  for (const topology::ProcessingUnit& unit : machine_->units()) {
    if (std::find(usable.begin(), usable.end(), unit.os_index) == usable.end()) {
      ++refused;
      continue;
    }
    if (cores.insert(unit.core).second)
      processors_.push_back(unit.os_index);
    else
      ++siblings;
  }
  if (processors_.empty()) processors_ = usable;
  if (siblings) leave_out(std::to_string(siblings) + " hardware threads that share a core with another one");
  if (refused) leave_out(std::to_string(refused) + " processing units that this process may not run on");
}

/// What is measured of two processors is then of the first two, which no others are nearer than.
void Plan::begin_with_the_nearest() {
  std::size_t first = 0;
  const auto gap = [&](std::size_t i) { return distance_between(processors_[i], processors_[i + 1]); };
  for (std::size_t i = 1; i + 1 < processors_.size(); ++i)
    if (gap(i) < gap(first)) first = i;
  std::rotate(processors_.begin(), processors_.begin() + static_cast<std::ptrdiff_t>(first), processors_.end());
}

double Plan::flag_now(const Clock& clock) const {
  if (processors_.size() < 2) return -1;
  try {
    return median_of(flag_hop({clock, seconds_of_a_look}, two())).value;
  } catch (const std::exception&) {
    return -1;  // the figures say why
  }
}

ordered_json Plan::machine_line() const {
  const auto identity = selection::identity_of(*machine_);
  ordered_json units = ordered_json::array();
  for (const int processor : processors_) {
    ordered_json entry{{"processor", processor}};
    if (const auto* unit = unit_of(processor)) {
      entry["core"] = unit->core;
      for (const topology::LevelKind kind : topology::all_level_kinds)
        entry[std::string(topology::name_of(kind))] = unit->domain[topology::index_of(kind)];
    }
    units.push_back(entry);
  }
  return {{"measure", "machine"},
          {"processor", identity.processor},
          {"cores", identity.cores},
          {"units", machine_->unit_count()},
          {"page_bytes", page_bytes()},
          {"topology", identity.topology},
          {"l2_bytes", machine_->l2_bytes()},
          {"l3_bytes", machine_->l3_bytes()},
          {"processors", units}};
}

void Plan::kernel_steps() {
  if (!cma_) return;
  const auto places = two();
  const auto step = [&](const char* name, KernelStep what, std::size_t pages, bool write) {
    const char* call = write ? "process_vm_writev" : "process_vm_readv";
    add("copies by the kernel", 1, {{"measure", "kernel_step"}, {"call", call}, {"step", name}, {"pages", pages}},
        [=](const Probing& probing) { return kernel_step(probing, places, what, pages, write); });
  };
  for (const bool write : {false, true}) {
    step("empty", KernelStep::empty, 1, write);
    step("access", KernelStep::access, 1, write);
    for (const std::size_t pages : {4, 16, 64, 256}) step("lock", KernelStep::lock, pages, write);
    for (const std::size_t pages : {1, 4, 16, 64, 256, 1024}) step("copy", KernelStep::copy, pages, write);
  }
}

void Plan::copies() {
  if (processors_.size() < 2) return;
  const auto places = two();
  struct Kind {
    const char* name;
    Copy copy;
    bool streaming;
  };
  const Kind kinds[] = {{"read", Copy::read, false},
                        {"own", Copy::own, false},
                        {"slot", Copy::slot, false},
                        {"line", Copy::line, false},
                        {"stream", Copy::slot, true}};
  for (const Kind& kind : kinds)
    for (const std::size_t bytes : {4 * K, 16 * K, 64 * K, 256 * K, 1 * M, 4 * M})
      add("copies through mapped memory", 1, {{"measure", "mapped_copy"}, {"copy", kind.name}, {"bytes", bytes}},
          [=](const Probing& probing) { return mapped_copy(probing, places, kind.copy, bytes, kind.streaming); });
  struct Later {
    const char* who;
    const char* move;
    Afterwards afterwards;
    Move how;
  };
  const Later later[] = {{"owner", "none", Afterwards::owner_writes, Move::none},
                         {"owner", "pull", Afterwards::owner_writes, Move::pull},
                         {"receiver", "pull", Afterwards::receiver_uses, Move::pull},
                         {"receiver", "push", Afterwards::receiver_uses, Move::push},
                         {"reader", "pull", Afterwards::reader_takes, Move::pull},
                         {"receiver", "push_beyond", Afterwards::receiver_uses, Move::push_beyond}};
  for (const Later& each : later)
    for (const std::size_t bytes : {4 * K, 16 * K, 64 * K, 256 * K, 1 * M})
      add("what is paid after copies", 0.5,
          {{"measure", "aftermath"}, {"who", each.who}, {"move", each.move}, {"bytes", bytes}},
          [=](const Probing& probing) { return aftermath(probing, places, each.how, each.afterwards, bytes); });
  for (const std::size_t bytes : {64 * K, 256 * K, 1 * M})
    add("copies beyond the private cache", 0.5, {{"measure", "spilled_copy"}, {"bytes", bytes}},
        [=, cache = cache_bytes()](const Probing& probing) {
          return spilled_copy(probing, places.front(), bytes, cache);
        });
  for (const std::size_t bytes : {8 * M, 16 * M, 32 * M})
    add("copies through mapped memory", 1, {{"measure", "mapped_copy"}, {"copy", "read"}, {"bytes", bytes}},
        [=](const Probing& probing) { return mapped_copy(probing, places, Copy::read, bytes, false); });
  for (const std::size_t bytes : {16 * K, 64 * K, 256 * K, 1 * M})
    add("copies through mapped memory", 1, {{"measure", "mapped_exchange"}, {"bytes", bytes}},
        [=](const Probing& probing) { return mapped_exchange(probing, places, bytes); });
  for (const std::size_t bytes : {64 * K, 256 * K, 1 * M})
    add("copies through mapped memory", 1,
        {{"measure", "mapped_streams"}, {"bytes", bytes}, {"processors", processors_.size()}},
        [=, all = processors_](const Probing& probing) { return mapped_streams(probing, all, bytes); });
  for (const std::size_t bytes : {16 * K, 64 * K, 256 * K, 1 * M, 4 * M})
    add("copies through a staging buffer", 1, {{"measure", "staged_copy"}, {"bytes", bytes}},
        [=](const Probing& probing) { return concurrent_pairs(probing, places, Way::staged, bytes, false); });
}

void Plan::single_core() {
  const int first = processors_.front();
  for (int kernel = 0; reduction_kernel_name(kernel); ++kernel)
    for (const std::size_t sources : {2, 4, 8}) {
      const std::size_t bytes = std::min<std::size_t>(16 * K, cache_bytes() / 2 / (sources + 1) / 64 * 64);
      add("reduction kernels", 0.3,
          {{"measure", "reduction"}, {"kernel", reduction_kernel_name(kernel)}, {"sources", sources}, {"bytes", bytes}},
          [=](const Probing& probing) { return reduction_sum(probing, first, sources, bytes, kernel); });
    }
  const auto places = processors_.size() > 1 ? two() : std::vector<int>{first};
  for (const int shared : {2, 4}) {
    add("ranks that share a core", 1, {{"measure", "turn"}, {"cores", places.size()}, {"ranks_per_core", shared}},
        [=](const Probing& probing) { return turn(probing, places, shared, 0); });
    // Source and destination of all of a core fill its cache.
    const std::size_t bytes = cache_bytes() / static_cast<std::size_t>(2 * shared) / 64 * 64;
    add("ranks that share a core", 1,
        {{"measure", "busy_turn"}, {"cores", places.size()}, {"ranks_per_core", shared}, {"bytes", bytes}},
        [=](const Probing& probing) { return turn(probing, places, shared, bytes); });
  }
  add("exposing a buffer", 0.5, {{"measure", "expose"}},
      [=](const Probing& probing) { return exposure(probing, first); });
}

void Plan::readers() {
  if (!cma_) return;
  const std::pair<const char*, Readers> kinds[] = {
      {"same", Readers::same}, {"different", Readers::different}, {"everybody", Readers::everybody}};
  for (const std::size_t count : some_counts(processors_.size())) {
    const std::vector<int> places(processors_.begin(), processors_.begin() + static_cast<std::ptrdiff_t>(count));
    for (const auto& [name, kind] : kinds) {
      if (kind == Readers::everybody && count < 2) continue;
      for (const std::size_t bytes : {16 * K, 64 * K, 256 * K, 1 * M})
        add("concurrent readers", 1,
            {{"measure", "readers"}, {"pattern", name}, {"readers", count}, {"bytes", bytes}, {"lock_only", false}},
            [=, readers = kind](const Probing& probing) {
              return concurrent_readers(probing, places, readers, bytes, false);
            });
    }
    for (const std::size_t pages : {16, 64, 256})
      add("concurrent readers", 1,
          {{"measure", "readers"},
           {"pattern", "same"},
           {"readers", count},
           {"bytes", pages * page_bytes()},
           {"lock_only", true}},
          [=](const Probing& probing) {
            return concurrent_readers(probing, places, Readers::same, pages * page_bytes(), true);
          });
  }
}

/// What is shared: the memory of one owner, a NUMA node, the machine.
void Plan::at_once() {
  if (processors_.size() < 3) leave_out("several readers of one core's memory: that takes three cores");
  if (processors_.size() < 2) return;
  for (const std::size_t count : some_counts(processors_.size() - 1)) {
    if (count < 2) continue;  // what one gets is no limit of what they share
    const std::vector<int> places(processors_.begin(), processors_.begin() + static_cast<std::ptrdiff_t>(count + 1));
    for (const std::size_t bytes : {64 * K, 1 * M})
      add("readers of one core's memory", 1, {{"measure", "mapped_readers"}, {"readers", count}, {"bytes", bytes}},
          [=](const Probing& probing) { return mapped_readers(probing, places, bytes); });
  }
  std::map<int, std::vector<int>> nodes;
  for (const int processor : processors_) {
    const auto* unit = unit_of(processor);
    nodes[unit ? unit->domain[topology::index_of(topology::LevelKind::numa)] : -1].push_back(processor);
  }
  // Every second one first, so that those who copy from each other share no cache if it can be otherwise.
  const auto ring = [&](const char* where, const std::vector<int>& members) {
    std::vector<int> places;
    for (const std::size_t first : {0, 1})
      for (std::size_t i = first; i < members.size(); i += 2) places.push_back(members[i]);
    for (const std::size_t bytes : {64 * K, 1 * M})
      add("all cores at once", 1,
          {{"measure", "mapped_ring"}, {"where", where}, {"processors", places.size()}, {"bytes", bytes}},
          [=](const Probing& probing) { return mapped_ring(probing, places, bytes); });
  };
  const auto& largest = std::max_element(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
                          return a.second.size() < b.second.size();
                        })->second;
  if (largest.size() > 1) ring("node", largest);
  ring("machine", processors_);
}

void Plan::pairs_of_cores() {
  const std::size_t count = processors_.size();
  if (count < 2) return;
  const std::size_t all = count * (count - 1);
  // Nearer and farther ones alike: by the distance in the list, each with all its beginnings in turn.
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t distance = 1; distance < count; ++distance)
    for (std::size_t i = 0; i < count; ++i) pairs.emplace_back(processors_[i], processors_[(i + distance) % count]);
  // What there is time for: a third of it, with a few milliseconds for the processes of each.
  const auto keep = [&](double seconds_each) {
    const auto room = static_cast<std::size_t>(std::max(2.0, options_.seconds / 6 / seconds_each));
    std::vector<std::pair<int, int>> kept;
    for (std::size_t i = 0; i < std::min(room, all); ++i) kept.push_back(pairs[i * all / std::min(room, all)]);
    return kept;
  };
  const auto small = keep(0.02), large = keep(0.6);
  if (small.size() < all)
    leave_out(std::to_string(all - small.size()) + " of " + std::to_string(all) +
              " pairs of cores (flags, 1 MB): no time for all; ask for more --seconds");
  if (large.size() < all)
    leave_out(std::to_string(all - large.size()) + " of " + std::to_string(all) +
              " pairs of cores (100 MB): no time for all; ask for more --seconds");
  const double share = 20.0 / static_cast<double>(all);
  for (const auto& [from, to] : small) {
    const std::vector<int> places{from, to};
    const auto shares = topology::name_of(distance_between(from, to));
    add("flags between cores", share / 4, {{"measure", "hop"}, {"from", from}, {"to", to}, {"shares", shares}},
        [=](const Probing& probing) { return flag_hop(probing, places); });
    add("copies between cores", share / 2,
        {{"measure", "core_copy"}, {"from", from}, {"to", to}, {"shares", shares}, {"bytes", 1 * M}},
        [=](const Probing& probing) { return mapped_copy(probing, places, Copy::read, 1 * M, false); });
    add("stores to lines of other cores", share / 2,
        {{"measure", "core_store"}, {"from", from}, {"to", to}, {"shares", shares}, {"bytes", 64 * K}},
        [=](const Probing& probing) {
          return aftermath(probing, places, Move::pull, Afterwards::owner_writes, 64 * K);
        });
  }
  const std::size_t caches =
      machine_->l3_bytes() * static_cast<std::size_t>(std::max(1, machine_->domain_count(topology::LevelKind::l3)));
  for (const auto& [from, to] : large) {
    const std::vector<int> places{from, to};
    const bool streaming = 100 * M * 2 >= caches;
    add("large copies between cores", share,
        {{"measure", "core_copy"},
         {"from", from},
         {"to", to},
         {"shares", topology::name_of(distance_between(from, to))},
         {"bytes", 100 * M},
         {"streaming", streaming}},
        [=](const Probing& probing) { return mapped_copy(probing, places, Copy::read, 100 * M, streaming); });
  }
}

/// pairs: owner, reader, owner, reader, ...
void Plan::concurrent(const char* where, const std::vector<int>& pairs) {
  std::vector<std::pair<const char*, Way>> ways{{"mapped", Way::mapped}, {"staged", Way::staged}};
  if (cma_) ways.insert(ways.begin() + 1, {"cma", Way::cma});
  if (xpmem_) ways.emplace_back("xpmem", Way::xpmem);
  for (const std::size_t count : some_counts(pairs.size() / 2)) {
    const std::vector<int> places(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(2 * count));
    for (const auto& [name, way] : ways)
      for (const bool cold : {false, true})
        add("pairs of cores at once", 1,
            {{"measure", "pairs"}, {"where", where}, {"way", name}, {"cold", cold}, {"pairs", count}, {"bytes", 1 * M}},
            [=, mechanism = way](const Probing& probing) {
              return concurrent_pairs(probing, places, mechanism, 1 * M, cold);
            });
  }
}

void Plan::concurrent() {
  if (processors_.size() < 2) return;
  std::map<int, std::vector<int>> sockets;
  for (const int processor : processors_) {
    const auto* unit = unit_of(processor);
    sockets[unit ? unit->domain[topology::index_of(topology::LevelKind::socket)] : 0].push_back(processor);
  }
  std::vector<int> inside;
  for (const auto& [socket, members] : sockets)
    if (members.size() > inside.size()) inside = members;
  inside.resize(inside.size() / 2 * 2);
  if (!inside.empty()) concurrent("inside", inside);
  if (sockets.size() < 2) {
    leave_out("pairs of cores between sockets: there is one socket");
    return;
  }
  const auto& one = sockets.begin()->second;
  const auto& other = std::next(sockets.begin())->second;
  std::vector<int> between;
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    between.push_back(one[i]);
    between.push_back(other[i]);
  }
  concurrent("between", between);
}

}  // namespace tutti::bench
