#include "collectives/collectives.h"

#include <algorithm>
#include <bit>

#include "algorithms.h"  // generated: the algorithms of each folder

namespace tutti {

template <class Arguments>
static void add_known(std::vector<selection::UserChoice::Known>& known, const char* collective) {
  selection::UserChoice::Known entry{collective, {}};
  for (const auto* algorithm : algorithms_of<Arguments>()) entry.algorithms.emplace_back(algorithm->name);
  known.push_back(std::move(entry));
}

std::vector<selection::UserChoice::Known> known_algorithms() {
  std::vector<selection::UserChoice::Known> known;
  add_known<BarrierArguments>(known, "barrier");
  add_known<BcastArguments>(known, "bcast");
  add_known<ReduceArguments>(known, "reduce");
  add_known<AllreduceArguments>(known, "allreduce");
  return known;
}

Collectives::Collectives(Communicator& communicator, const selection::UserChoice& user)
    : communicator_(communicator), user_(user) {
  const Node& node = communicator.node();
  const auto& placement = communicator.placement();
  shape_.ranks = communicator.size();
  shape_.levels = std::max<int>(1, static_cast<int>(communicator.depth()));
  const double cores = std::max(1, placement.cores_available);
  shape_.ranks_per_core = node.oversubscribed ? std::max(placement.ranks_per_core, communicator.size() / cores) : 1.0;
  cached_bytes_ = static_cast<double>(node.cache_bytes);
  shape_.eager_max = node.settings.eager_max;
  shape_.flat_max = node.settings.flat_max;
}

template <class Arguments>
const selection::Algorithm<Arguments>* Collectives::choice(Choices<Arguments>& choices, const char* collective,
                                                           std::size_t bytes, bool commutative) {
  communicator_.current_collective = collective;
  // Classes (2^(k-1), 2^k]: a limit that is a power of two is inside its class.
  const auto size_class = static_cast<std::size_t>(bytes <= 1 ? 0 : std::bit_width(bytes - 1));
  auto& entry = choices.of[commutative ? 1 : 0][size_class];
  if (!entry.made) [[unlikely]] {
    selection::Shape shape = shape_;
    shape.bytes = bytes <= 1 ? bytes : std::size_t{1} << size_class;
    shape.commutative = commutative;
    const Node& node = communicator_.node();
    shape.direct = node.window_shared && shape.bytes >= node.settings.window_min;
    entry.algorithm = selection::choose(collective, algorithms_of<Arguments>(), shape, user_, model_);
    entry.made = true;
  }
  last_algorithm_ = entry.algorithm ? entry.algorithm->name : selection::host_algorithm;
  return entry.algorithm;
}

bool Collectives::barrier() {
  const auto* algorithm = choice(barrier_, "barrier", 0, true);
  if (!algorithm) return false;
  algorithm->run(communicator_, {});
  return true;
}

bool Collectives::bcast(const BcastArguments& arguments) {
  const auto* algorithm = choice(bcast_, "bcast", arguments.bytes, true);
  if (!algorithm) return false;
  if (arguments.bytes <= shape_.eager_max) [[likely]] {
    algorithm->run(communicator_, arguments);
    return true;
  }
  const std::size_t segment = communicator_.node().settings.segment;
  for (std::size_t at = 0; at < arguments.bytes; at += segment) {
    BcastArguments part = arguments;
    part.store = store_for(arguments.bytes, 1);
    part.buffer += at;
    part.bytes = std::min(segment, arguments.bytes - at);
    algorithm->run(communicator_, part);
  }
  return true;
}

template <class Arguments>
bool Collectives::run_reduction(Choices<Arguments>& choices, const char* collective, const Arguments& arguments) {
  const Combiner& combiner = *arguments.combiner;
  const auto* algorithm = choice(choices, collective, arguments.bytes(), combiner.commutative);
  if (!algorithm) return false;
  if (arguments.bytes() <= shape_.eager_max) [[likely]] {
    algorithm->run(communicator_, arguments);
    return true;
  }
  const std::size_t segment = std::max<std::size_t>(1, communicator_.node().settings.segment / combiner.element_bytes);
  for (std::size_t at = 0; at < arguments.count; at += segment) {
    Arguments part = arguments;
    part.store = store_for(arguments.bytes(), 2);
    part.send += at * combiner.element_bytes;
    if (part.receive) part.receive += at * combiner.element_bytes;
    part.count = std::min(segment, arguments.count - at);
    algorithm->run(communicator_, part);
  }
  return true;
}

bool Collectives::reduce(const ReduceArguments& arguments) {
  return run_reduction(reduce_, "reduce", arguments);
}

bool Collectives::allreduce(const AllreduceArguments& arguments) {
  return run_reduction(allreduce_, "allreduce", arguments);
}

}  // namespace tutti
