#include "collectives/collectives.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <type_traits>

#include "collectives/common/buffers/exposure.h"
#include "collectives/kinds.h"
#include "selection/candidates.h"

namespace tutti {

namespace {

std::uint16_t identity_of(std::string_view collective, std::string_view algorithm) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const std::string_view name : {collective, std::string_view("/"), algorithm})
    for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619u;
  return static_cast<std::uint16_t>(hash ^ (hash >> 16));
}

std::size_t total_bytes(const Blocks& blocks, int count) {
  if (blocks.is_regular()) return blocks.bytes * static_cast<std::size_t>(count);
  std::size_t total = 0;
  for (int i = 0; i < count; ++i) total += blocks.sizes[i];
  return total;
}

}  // namespace

std::vector<selection::UserChoice::Known> known_algorithms() {
  std::vector<selection::UserChoice::Known> known;
  for_each_collective([&]<class Arguments>(const char* collective) {
    selection::UserChoice::Known entry{collective, {}, {}, {}};
    for (const auto* algorithm : algorithms_of<Arguments>()) {
      entry.algorithms.emplace_back(algorithm->name);
      entry.parameters.emplace_back(algorithm->parameter.name ? algorithm->parameter.name : "");
      entry.aliases.emplace_back(algorithm->alias ? algorithm->alias : "");
    }
    known.push_back(std::move(entry));
  });
  return known;
}

std::vector<CatalogueEntry> catalogue(int ranks) {
  selection::Shape shape;
  shape.ranks = ranks;
  shape.bytes = irregular_block_bytes;
  std::vector<CatalogueEntry> entries;
  for_each_collective([&]<class Arguments>(const char* collective) {
    for (const auto* algorithm : algorithms_of<Arguments>()) {
      const selection::Parameter& parameter = algorithm->parameter;
      CatalogueEntry entry{collective,
                           algorithm->name,
                           algorithm->requirement.words,
                           parameter.name ? parameter.name : "",
                           {},
                           algorithm->alias ? algorithm->alias : "",
                           algorithm->summary};
      for (int i = 0; const int value = parameter.candidate ? parameter.candidate(shape, i) : 0; ++i)
        entry.candidates.push_back(value);
      entries.push_back(std::move(entry));
    }
  });
  return entries;
}

const Collectives::AnyChoice Collectives::no_choice{};

Collectives::Collectives(Communicator& communicator, const selection::Knowledge& knowledge)
    : communicator_(communicator), knowledge_(knowledge) {
  const Node& node = communicator.node();
  const double ranks_per_core = ranks_per_core_of(communicator.placement(), communicator.size(), node.oversubscribed);
  shape_ = surroundings_of(node.settings, communicator.size(), communicator.depth(), ranks_per_core,
                           communicator.distances())
               .common;
  cached_bytes_ = static_cast<double>(node.cache_bytes);
}

selection::Shape Collectives::shape_of(std::size_t bytes, bool regular, bool commutative) const {
  const Node& node = communicator_.node();
  const Surroundings surroundings{
      shape_,  node.settings.window_min, node.window_shared, node.ranks_are_threads, node.exposures != nullptr,
      node.cma};
  return call_shape(surroundings, bytes, regular, commutative);
}

selection::Shape Collectives::shape_of(std::string_view collective, std::size_t bytes) const {
  const bool irregular = is_irregular(collective);
  selection::Shape shape = shape_of(irregular ? irregular_block_bytes : bytes, !irregular, true);
  for_each_collective([&]<class Arguments>(std::string_view name) {
    if (name == collective) add_collective<Arguments>(shape, collective);
  });
  return shape;
}

template <class Arguments>
void Collectives::make(Choices<Arguments>& choices, std::size_t size_class, std::size_t bytes, bool commutative) {
  if (choices.of.empty()) choices.of.resize(2 * size_classes);
  const Node& node = communicator_.node();
  selection::Shape shape = shape_of(bytes, choices.regular, commutative);
  add_collective<Arguments>(shape, choices.collective);
  const auto chosen = selection::choose(choices.collective, algorithms_of<Arguments>(), shape, knowledge());
  if (chosen.reason == selection::Reason::refused && should_warn(choices.collective, Asked::by_user)) {
    node.log.warn("TUTTI_ALGORITHM: %s of %zu bytes on %d ranks cannot be done by %s; %s is used instead",
                  choices.collective, bytes, shape.ranks, knowledge().user.words(choices.collective).c_str(),
                  chosen.algorithm ? chosen.algorithm->name : selection::host_algorithm);
  }
  if (chosen.refused_entry && should_warn(choices.collective, Asked::by_table)) {
    node.log.warn("table: %s of %zu bytes on %d ranks cannot be done by %s; %s is used instead", choices.collective,
                  bytes, shape.ranks, chosen.refused_entry->algorithm.c_str(),
                  chosen.algorithm ? chosen.algorithm->name : selection::host_algorithm);
  }
  if (make_tried(choices, size_class, shape, chosen)) return;
  choices.of[(commutative ? size_classes : 0) + size_class] =
      std::make_unique<Choice<Arguments>>(choice_of(choices, size_class, chosen));
}

template <class Arguments>
Collectives::Choice<Arguments> Collectives::choice_of(const Choices<Arguments>& choices, std::size_t size_class,
                                                      const selection::Chosen<Arguments>& chosen) {
  Choice<Arguments> made;
  made.name = chosen.algorithm ? chosen.algorithm->name : selection::host_algorithm;
  made.algorithm = chosen.algorithm;
  made.parameter = chosen.parameter;
  made.identity = identity_of(choices.collective, made.name);
  made.record =
      record_of({choices.collective, choices.regular, size_class, made.name,
                 chosen.algorithm ? chosen.algorithm->parameter.name : nullptr, chosen.parameter, chosen.reason});
  return made;
}

int Collectives::tried_number(std::string_view collective, std::size_t size_class) {
  constexpr std::size_t first_class = 14, classes = 12;  // up to 32 MiB
  if (size_class < first_class || size_class >= first_class + classes) return -1;
  int place = 0, found = -1;
  for_each_collective([&]<class Arguments>(std::string_view name) {
    if (is_irregular(name) || std::is_same_v<Arguments, BarrierArguments>) return;
    if (name == collective) found = place;
    ++place;
  });
  const int number = found * static_cast<int>(classes) + static_cast<int>(size_class - first_class);
  return found < 0 || number >= tried_lines ? -1 : number;
}

template <class Arguments>
bool Collectives::make_tried(Choices<Arguments>& choices, std::size_t size_class, const selection::Shape& shape,
                             const selection::Chosen<Arguments>& chosen) {
  const int number = tried_number(choices.collective, size_class);
  if (number < 0 || !selection::may_be_tried(shape)) return false;
  if (!communicator_.node().settings.try_choices) return false;
  const auto held = static_cast<std::size_t>(shape.buffers * static_cast<double>(shape.bytes));
  const bool past_caches = store_for({shape.bytes, held}) == memory::Store::streaming_to_peers;
  constexpr bool reduces = requires(const Arguments& arguments) {
    arguments.combiner;
  };
  const auto candidates = selection::candidates_beside(chosen, choices.collective, algorithms_of<Arguments>(), shape,
                                                       knowledge(), {.past_caches = past_caches, .reduce = reduces});
  if (candidates.size() < 2) return false;
  choices.tried.resize(size_classes);
  auto& tried = choices.tried[size_class];
  tried = std::make_unique<Tried<Arguments>>(
      Tried<Arguments>{Attempts(communicator_, number, generation_, static_cast<int>(candidates.size())), {}});
  for (const auto& each : candidates) {
    Choice<Arguments>& made = tried->candidates.emplace_back(choice_of(
        choices, size_class,
        selection::Chosen<Arguments>{each.algorithm, each.parameter, each.seconds, selection::Reason::tried}));
    made.attempts = &tried->attempts;
    made.cached = each.cached;
  }
  return true;
}

template <class Arguments>
const Collectives::Choice<Arguments>& Collectives::make_or_try(Choices<Arguments>& choices, std::size_t bytes,
                                                               bool commutative, Part part) {
  const std::size_t size_class = size_class_of(bytes);
  const auto tried = [&]() -> Tried<Arguments>* {
    return commutative && !choices.tried.empty() ? choices.tried[size_class].get() : nullptr;
  };
  if (!tried()) make(choices, size_class, bytes, commutative);
  if (Tried<Arguments>* const several = tried()) {
    Attempts& attempts = several->attempts;
    return several->candidates[static_cast<std::size_t>(part == Part::later ? attempts.current() : attempts.next())];
  }
  return *choices.of[(commutative ? size_classes : 0) + size_class];
}

bool Collectives::should_warn(const char* collective, Asked by) {
  if (quiet_ || communicator_.rank() != 0) return false;
  int bit = by == Asked::by_user ? 0 : 32;
  bool found = false;
  for_each_collective([&]<class Arguments>(std::string_view name) {
    found = found || name == collective;
    if (!found) ++bit;
  });
  return communicator_.node().is_first_to_warn(bit);
}

CallRecord* Collectives::record_of(const CallRecord& wanted) {
  if (!communicator_.node().settings.explains()) return nullptr;
  for (CallRecord& record : records_)
    if (record.is_for(wanted)) return &record;
  return &records_.emplace_back(wanted);
}

template <class Arguments>
const Collectives::Choice<Arguments>& Collectives::choice(Choices<Arguments>& choices, std::size_t bytes,
                                                          bool commutative, Part part) {
  communicator_.current_collective = choices.collective;
  const std::size_t index = (commutative ? size_classes : 0) + size_class_of(bytes);
  const Choice<Arguments>* made = choices.of.empty() ? nullptr : choices.of[index].get();
  if (!made) [[unlikely]]
    made = &make_or_try(choices, bytes, commutative, part);
  const Choice<Arguments>& chosen = *made;
  // Neighbours agree on their own sizes only.
  communicator_.announce(chosen.identity, std::is_same_v<Arguments, NeighborArguments> ? 0 : bytes,
                         part != Part::later);
  if (part != Part::whole) [[unlikely]]
    communicator_.announce_several();
  last_ = &chosen;
  last_bytes_ = bytes;
  return chosen;
}

template <class Arguments>
bool Collectives::run(Choices<Arguments>& choices, Arguments arguments, std::size_t bytes, Extent extent,
                      bool commutative, Part part) {
  const Choice<Arguments>& chosen = choice(choices, bytes, commutative, part);
  if (!chosen.algorithm) return false;
  arguments.store = store_for(chosen, extent);
  arguments.parameter = chosen.parameter;
  // Of a call that is cut the first piece tells as much as all.
  const TimedCall timed(part == Part::later ? nullptr : chosen.attempts);
  carry_out(chosen, arguments, extent.held);
  timed.ends();
  return true;
}

template <class Arguments>
void Collectives::carry_out(const Choice<Arguments>& chosen, const Arguments& arguments, std::size_t held) {
  const Node& node = communicator_.node();
  communicator_.lends_copies = false;
  // A copy is to be no longer than one of what is cut into segments.
  const bool may_be_lent = held > ring_bytes(node.settings) && held <= 2 * segment_bytes(node.settings);
  if (!node.cma || !node.may_stage || !may_be_lent) {
    chosen.algorithm->run(communicator_, arguments);
    return;
  }
  struct Trying {
    Communicator& communicator;
    StagingTrial trial;
    Trying(Communicator& of, std::unique_ptr<Ways>& ways) : communicator(of), trial(&ways, of.node().oversubscribed) {
      communicator.staging_trial = &trial;
    }
    ~Trying() { communicator.staging_trial = nullptr; }
  } trying(communicator_, chosen.staging);
  chosen.algorithm->run(communicator_, arguments);
  trying.trial.ends();
}

void Collectives::choose_anew(const selection::UserChoice& user) {
  if (!own_knowledge_) own_knowledge_ = std::make_unique<selection::Knowledge>(knowledge_);
  own_knowledge_->user = user;
  quiet_ = true;
  last_ = &no_choice;
  ++generation_;
#define TUTTI_FORGET(Kind, name) name##_.of.clear(), name##_.tried.clear();
  TUTTI_COLLECTIVES(TUTTI_FORGET, TUTTI_FORGET)
#undef TUTTI_FORGET
}

bool Collectives::barrier(const BarrierArguments& arguments) {
  const auto* algorithm = choice(barrier_, 0).algorithm;
  if (!algorithm) return false;
  algorithm->run(communicator_, arguments);
  return true;
}

bool Collectives::bcast(const BcastArguments& arguments) {
  const auto& chosen = choice(bcast_, arguments.bytes);
  const auto* const algorithm = chosen.algorithm;
  if (!algorithm) return false;
  BcastArguments part = arguments;
  part.parameter = chosen.parameter;
  if (arguments.bytes <= ring_bytes(communicator_.node().settings)) [[likely]] {
    algorithm->run(communicator_, part);
    return true;
  }
  part.store = store_for(chosen, {arguments.bytes, arguments.bytes});
  const TimedCall timed(chosen.attempts);
  const std::size_t segment = segment_bytes(communicator_.node().settings);
  if (arguments.bytes > segment) communicator_.announce_several();
  for (std::size_t at = 0; at < arguments.bytes; at += segment) {
    part.buffer = arguments.buffer + at;
    part.bytes = std::min(segment, arguments.bytes - at);
    carry_out(chosen, part, part.bytes);
  }
  timed.ends();
  return true;
}

template <class Arguments>
bool Collectives::run_reduction(Choices<Arguments>& choices, const Arguments& arguments) {
  const Combiner& combiner = *arguments.combiner;
  const auto& chosen = choice(choices, arguments.bytes(), combiner.commutative);
  const auto* const algorithm = chosen.algorithm;
  if (!algorithm) return false;
  Arguments part = arguments;
  part.parameter = chosen.parameter;
  if (arguments.bytes() >= selection::streamed_results_min)
    part.store = store_for(chosen, {arguments.bytes(), 2 * arguments.bytes()}, selection::streamed_results_min);
  if (arguments.bytes() <= ring_bytes(communicator_.node().settings)) [[likely]] {
    algorithm->run(communicator_, part);
    return true;
  }
  const TimedCall timed(chosen.attempts);
  const std::size_t segment =
      std::max<std::size_t>(1, segment_bytes(communicator_.node().settings) / combiner.element_bytes);
  if (arguments.count > segment) communicator_.announce_several();
  for (std::size_t at = 0; at < arguments.count; at += segment) {
    part.send = arguments.send + at * combiner.element_bytes;
    if (arguments.receive) part.receive = arguments.receive + at * combiner.element_bytes;
    part.count = std::min(segment, arguments.count - at);
    carry_out(chosen, part, 2 * part.count * combiner.element_bytes);
  }
  timed.ends();
  return true;
}

bool Collectives::reduce(const ReduceArguments& arguments) {
  return run_reduction(reduce_, arguments);
}

bool Collectives::allreduce(const AllreduceArguments& arguments) {
  return run_reduction(allreduce_, arguments);
}

bool Collectives::scan(const ScanArguments& arguments) {
  return run_reduction(arguments.exclusive ? exscan_ : scan_, arguments);
}

bool Collectives::reduce_scatter(const ReduceScatterArguments& arguments) {
  return run(reduce_scatter_, arguments, arguments.bytes(), {arguments.bytes(), arguments.bytes()},
             arguments.combiner->commutative);
}

std::size_t Collectives::block_piece(std::size_t bytes) const {
  const Node& node = communicator_.node();
  if (node.exposures || node.cma || (node.window_shared && node.ranks_are_threads)) return bytes;
  const std::size_t piece = node.settings.segment / static_cast<std::size_t>(shape_.ranks);
  return std::max(grain_bytes, piece & ~(grain_bytes - 1));
}

template <class Arguments>
std::size_t Collectives::mean_bytes(const Blocks& blocks, const Arguments& arguments) const {
  if (communicator_.rank() != arguments.root) return arguments.bytes;
  return total_bytes(blocks, shape_.ranks) / static_cast<std::size_t>(shape_.ranks);
}

bool Collectives::scatter(const ScatterArguments& arguments) {
  if (!arguments.regular) {
    const std::size_t mean = mean_bytes(arguments.send, arguments);
    return run(scatterv_, arguments, irregular_block_bytes, {mean, mean});
  }
  const std::size_t piece = block_piece(arguments.bytes);
  for (std::size_t at = 0; at < arguments.bytes; at += piece) {
    ScatterArguments part = arguments;
    part.bytes = part.send.bytes = std::min(piece, arguments.bytes - at);
    part.send.base += at;
    if (part.receive) part.receive += at;
    if (!run(scatter_, part, arguments.bytes, {arguments.bytes, arguments.bytes}, true,
             part_of(at, piece, arguments.bytes)))
      return false;
  }
  return true;
}

bool Collectives::gather(const GatherArguments& arguments) {
  if (!arguments.regular) {
    const std::size_t mean = mean_bytes(arguments.receive, arguments);
    return run(gatherv_, arguments, irregular_block_bytes, {mean, mean});
  }
  const std::size_t piece = block_piece(arguments.bytes);
  for (std::size_t at = 0; at < arguments.bytes; at += piece) {
    GatherArguments part = arguments;
    part.bytes = part.receive.bytes = std::min(piece, arguments.bytes - at);
    part.receive.base += at;
    if (part.send) part.send += at;
    if (!run(gather_, part, arguments.bytes, {arguments.bytes, arguments.bytes}, true,
             part_of(at, piece, arguments.bytes)))
      return false;
  }
  return true;
}

bool Collectives::allgather(const AllgatherArguments& arguments) {
  const std::size_t total = total_bytes(arguments.receive, shape_.ranks);
  if (!arguments.receive.is_regular()) {
    const std::size_t* sizes = arguments.receive.sizes;
    return run(allgatherv_, arguments, *std::max_element(sizes, sizes + shape_.ranks), {arguments.bytes, total});
  }
  const std::size_t piece = block_piece(arguments.bytes);
  for (std::size_t at = 0; at < arguments.bytes; at += piece) {
    AllgatherArguments part = arguments;
    part.bytes = part.receive.bytes = std::min(piece, arguments.bytes - at);
    part.receive.base += at;
    if (part.send) part.send += at;
    if (!run(allgather_, part, arguments.bytes, {arguments.bytes, total}, true, part_of(at, piece, arguments.bytes)))
      return false;
  }
  return true;
}

bool Collectives::alltoall(const AlltoallArguments& arguments) {
  if (!arguments.regular)
    return run(alltoallv_, arguments, irregular_block_bytes,
               {total_bytes(arguments.send, shape_.ranks) / static_cast<std::size_t>(shape_.ranks),
                2 * total_bytes(arguments.receive, shape_.ranks)});
  const std::size_t bytes = arguments.send.bytes;
  const std::size_t piece = block_piece(bytes);
  for (std::size_t at = 0; at < bytes; at += piece) {
    AlltoallArguments part = arguments;
    part.send.bytes = part.receive.bytes = std::min(piece, bytes - at);
    part.send.base += at;
    part.receive.base += at;
    if (!run(alltoall_, part, bytes, {bytes, 2 * bytes * static_cast<std::size_t>(shape_.ranks)}, true,
             part_of(at, piece, bytes)))
      return false;
  }
  return true;
}

bool Collectives::neighbor(const NeighborArguments& arguments) {
  const std::size_t total = total_bytes(arguments.receive, arguments.source_count);
  if (!arguments.regular) return run(neighborv_, arguments, irregular_block_bytes, {0, total});
  // One operation, also of nothing or of blocks that have to be staged whole: ranks that are no neighbours may have
  // other sizes, but all count the same operations.
  return run(neighbor_, arguments, irregular_block_bytes, {arguments.bytes, total});
}

}  // namespace tutti
