#include "collectives/collectives.h"

#include <algorithm>
#include <bit>
#include <new>
#include <optional>
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
  small_ = ring_bytes(node.settings);
  segment_ = segment_bytes(node.settings);
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
  choices.of[index_of(bytes, commutative)] =
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
  if (quiet_ || !communicator_.node().settings.try_choices) return false;
  const auto held = static_cast<std::size_t>(shape.buffers * static_cast<double>(shape.bytes));
  const bool past_caches = store_for({.block = shape.bytes, .held = held}, selection::streamed_to_peers_min) ==
                           memory::Store::streaming_to_peers;
  constexpr bool reduces = requires(const Arguments& arguments) {
    arguments.combiner;
  };
  const auto candidates = selection::candidates_beside(chosen, choices.collective, algorithms_of<Arguments>(), shape,
                                                       knowledge(), {.past_caches = past_caches, .reduce = reduces});
  if (candidates.size() < 2) return false;
  choices.tried.resize(size_classes);
  auto& tried = choices.tried[size_class];
  tried = std::make_unique<Tried<Arguments>>(
      Tried<Arguments>{Attempts(communicator_, number, static_cast<int>(candidates.size())), {}});
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
Collectives::Tried<Arguments>* Collectives::find_tried(Choices<Arguments>& choices, std::size_t bytes,
                                                       bool commutative) {
  return commutative && !choices.tried.empty() ? choices.tried[size_class_of(bytes)].get() : nullptr;
}

template <class Arguments>
const Collectives::Choice<Arguments>& Collectives::make_or_try(Choices<Arguments>& choices, std::size_t bytes,
                                                               bool commutative, Channel::Kind kind) {
  if (!find_tried(choices, bytes, commutative)) make(choices, size_class_of(bytes), bytes, commutative);
  Tried<Arguments>* const several = find_tried(choices, bytes, commutative);
  if (!several) return *choices.of[index_of(bytes, commutative)];
  // Nothing is learned from pending calls, nor agreed for them.
  const int candidate = kind == Channel::Kind::pending ? 0 : several->attempts.next();
  return several->candidates[static_cast<std::size_t>(candidate)];
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
const Collectives::Choice<Arguments>& Collectives::choice(Choices<Arguments>& choices, const Key& key,
                                                          Channel::Kind kind) {
  communicator_.current_collective = choices.collective;
  const Choice<Arguments>* made = choices.of.empty() ? nullptr : choices.of[index_of(key.bytes, key.commutative)].get();
  if (!made) [[unlikely]]
    made = &make_or_try(choices, key.bytes, key.commutative, kind);
  last_ = made;
  last_bytes_ = key.bytes;
  return *made;
}

void Collectives::choose_anew(const selection::UserChoice& user) {
  if (!own_knowledge_) own_knowledge_ = std::make_unique<selection::Knowledge>(knowledge_);
  own_knowledge_->user = user;
  quiet_ = true;
  last_ = &no_choice;
#define TUTTI_FORGET(Kind, name) name##_.of.clear(), name##_.tried.clear();
  TUTTI_COLLECTIVES(TUTTI_FORGET, TUTTI_FORGET)
#undef TUTTI_FORGET
}

template <class Arguments>
std::size_t Collectives::mean_bytes(const Blocks& blocks, const Arguments& arguments) const {
  if (communicator_.rank() != arguments.root) return arguments.bytes;
  return total_bytes(blocks, shape_.ranks) / static_cast<std::size_t>(shape_.ranks);
}

std::size_t Collectives::block_piece(std::size_t bytes) const {
  const Node& node = communicator_.node();
  if (node.exposures || node.cma || (node.window_shared && node.ranks_are_threads)) return bytes;
  const std::size_t piece = node.settings.segment / static_cast<std::size_t>(shape_.ranks);
  return std::max(grain_bytes, piece & ~(grain_bytes - 1));
}

namespace {

/// What choices are made by.
template <class Arguments>
Collectives::Key key_of(const Arguments& arguments, int ranks) {
  if constexpr (std::is_same_v<Arguments, BarrierArguments>)
    return {};
  else if constexpr (std::is_same_v<Arguments, BcastArguments>)
    return {arguments.bytes};
  else if constexpr (requires { arguments.combiner; })
    return {arguments.bytes(), arguments.combiner->commutative};
  else if constexpr (std::is_same_v<Arguments, AllgatherArguments>)
    return {arguments.receive.is_regular()
                ? arguments.bytes
                : *std::max_element(arguments.receive.sizes, arguments.receive.sizes + ranks)};
  else if constexpr (std::is_same_v<Arguments, AlltoallArguments>)
    return {arguments.regular ? arguments.send.bytes : irregular_block_bytes};
  else if constexpr (std::is_same_v<Arguments, NeighborArguments>)
    return {irregular_block_bytes};
  else
    return {arguments.regular ? arguments.bytes : irregular_block_bytes};
}

}  // namespace

Collectives::Request Collectives::whole(std::size_t block, std::size_t held) const {
  return {.block = block, .held = held, .small = held <= small_};
}

Collectives::Request Collectives::request_of(const BarrierArguments&) const {
  return {.small = true};
}

Collectives::Request Collectives::request_of(const BcastArguments& arguments) const {
  const std::size_t bytes = arguments.bytes;
  Request request = whole(bytes, bytes);
  if (!request.small) request.cut = {bytes, segment_};
  return request;
}

template <class Arguments>
Collectives::Request Collectives::request_of_reduction(const Arguments& arguments) const {
  const std::size_t bytes = arguments.bytes();
  Request request{.block = bytes, .held = 2 * bytes, .small = bytes <= small_};
  if (!request.small)
    request.cut = {arguments.count, std::max<std::size_t>(1, segment_ / arguments.combiner->element_bytes)};
  return request;
}

Collectives::Request Collectives::request_of(const ReduceArguments& arguments) const {
  return request_of_reduction(arguments);
}

Collectives::Request Collectives::request_of(const AllreduceArguments& arguments) const {
  return request_of_reduction(arguments);
}

Collectives::Request Collectives::request_of(const ScanArguments& arguments) const {
  return request_of_reduction(arguments);
}

Collectives::Request Collectives::request_of(const ReduceScatterArguments& arguments) const {
  // Each algorithm cuts it in its own way.
  return whole(arguments.bytes(), arguments.bytes());
}

Collectives::Request Collectives::request_of_blocks(std::size_t bytes, std::size_t held) const {
  Request request = whole(bytes, held);
  request.cut = {bytes, block_piece(bytes)};
  return request;
}

Collectives::Request Collectives::request_of(const ScatterArguments& arguments) const {
  if (arguments.regular) return request_of_blocks(arguments.bytes, arguments.bytes);
  const std::size_t mean = mean_bytes(arguments.send, arguments);
  return whole(mean, mean);
}

Collectives::Request Collectives::request_of(const GatherArguments& arguments) const {
  if (arguments.regular) return request_of_blocks(arguments.bytes, arguments.bytes);
  const std::size_t mean = mean_bytes(arguments.receive, arguments);
  return whole(mean, mean);
}

Collectives::Request Collectives::request_of(const AllgatherArguments& arguments) const {
  const std::size_t total = total_bytes(arguments.receive, shape_.ranks);
  if (arguments.receive.is_regular()) return request_of_blocks(arguments.bytes, total);
  return whole(arguments.bytes, total);
}

Collectives::Request Collectives::request_of(const AlltoallArguments& arguments) const {
  const auto ranks = static_cast<std::size_t>(shape_.ranks);
  if (arguments.regular) return request_of_blocks(arguments.send.bytes, 2 * arguments.send.bytes * ranks);
  return whole(total_bytes(arguments.send, shape_.ranks) / ranks, 2 * total_bytes(arguments.receive, shape_.ranks));
}

Collectives::Request Collectives::request_of(const NeighborArguments& arguments) const {
  // One operation, also of nothing or of blocks that have to be staged whole: ranks that are no neighbours may have
  // other sizes, but all count the same operations.
  const std::size_t total = total_bytes(arguments.receive, arguments.source_count);
  const auto destinations = static_cast<std::size_t>(std::max(1, arguments.destination_count));
  const std::size_t block =
      arguments.regular ? arguments.bytes : total_bytes(arguments.send, arguments.destination_count) / destinations;
  return whole(block, total);
}

template <class Arguments>
Collectives::Choices<Arguments>& Collectives::choices_for(const Arguments& arguments) {
  if constexpr (std::is_same_v<Arguments, BarrierArguments>) return barrier_;
  if constexpr (std::is_same_v<Arguments, BcastArguments>) return bcast_;
  if constexpr (std::is_same_v<Arguments, ReduceArguments>) return reduce_;
  if constexpr (std::is_same_v<Arguments, AllreduceArguments>) return allreduce_;
  if constexpr (std::is_same_v<Arguments, ReduceScatterArguments>) return reduce_scatter_;
  if constexpr (std::is_same_v<Arguments, ScanArguments>) return arguments.exclusive ? exscan_ : scan_;
  if constexpr (std::is_same_v<Arguments, ScatterArguments>) return arguments.regular ? scatter_ : scatterv_;
  if constexpr (std::is_same_v<Arguments, GatherArguments>) return arguments.regular ? gather_ : gatherv_;
  if constexpr (std::is_same_v<Arguments, AllgatherArguments>)
    return arguments.receive.is_regular() ? allgather_ : allgatherv_;
  if constexpr (std::is_same_v<Arguments, AlltoallArguments>) return arguments.regular ? alltoall_ : alltoallv_;
  if constexpr (std::is_same_v<Arguments, NeighborArguments>) return arguments.regular ? neighbor_ : neighborv_;
}

namespace {

/// What the signature of a call has as its size: neighbours agree on their own sizes only.
template <class Arguments>
std::size_t announced(std::size_t bytes) {
  return std::is_same_v<Arguments, NeighborArguments> ? 0 : bytes;
}

/// One operation's part of a call.
BarrierArguments part_of(BarrierArguments arguments, topology::Range) {
  return arguments;
}
BcastArguments part_of(BcastArguments arguments, topology::Range piece) {
  arguments.buffer += piece.begin;
  arguments.bytes = piece.length();
  return arguments;
}
template <class Arguments>
requires requires(Arguments arguments) {
  arguments.combiner;
}
Arguments part_of(Arguments arguments, topology::Range piece) {
  arguments.send += piece.begin * arguments.combiner->element_bytes;
  if (arguments.receive) arguments.receive += piece.begin * arguments.combiner->element_bytes;
  arguments.count = piece.length();
  return arguments;
}
ReduceScatterArguments part_of(ReduceScatterArguments arguments, topology::Range piece) {
  arguments.piece = piece;
  return arguments;
}
ScatterArguments part_of(ScatterArguments arguments, topology::Range piece) {
  arguments.bytes = arguments.send.bytes = piece.length();
  arguments.send.base += piece.begin;
  if (arguments.receive) arguments.receive += piece.begin;
  return arguments;
}
GatherArguments part_of(GatherArguments arguments, topology::Range piece) {
  arguments.bytes = arguments.receive.bytes = piece.length();
  arguments.receive.base += piece.begin;
  if (arguments.send) arguments.send += piece.begin;
  return arguments;
}
AllgatherArguments part_of(AllgatherArguments arguments, topology::Range piece) {
  arguments.bytes = arguments.receive.bytes = piece.length();
  arguments.receive.base += piece.begin;
  if (arguments.send) arguments.send += piece.begin;
  return arguments;
}
AlltoallArguments part_of(AlltoallArguments arguments, topology::Range piece) {
  arguments.send.bytes = arguments.receive.bytes = piece.length();
  arguments.send.base += piece.begin;
  arguments.receive.base += piece.begin;
  return arguments;
}
NeighborArguments part_of(NeighborArguments arguments, topology::Range) {
  return arguments;
}

/// Calls in turn what is to be one operation: piece `index` of those that `cut` makes.
template <class Arguments>
Arguments part_of(const Arguments& arguments, const Cut& cut, std::size_t index) {
  if (cut.operations() == 1 && !std::is_same_v<Arguments, ReduceScatterArguments>) return arguments;
  const std::size_t begin = index * cut.piece;
  return part_of(arguments, topology::Range{begin, std::min(begin + cut.piece, cut.total)});
}

template <class Arguments>
std::uint64_t in_flight(const selection::Forms<Arguments>& forms, const Communicator& communicator,
                        const Arguments& arguments) {
  return forms.in_flight ? forms.in_flight(communicator, arguments) : data_areas;
}

/// A blocking operation, from its beginning to its end.
template <class Arguments>
void run(Channel& channel, Call& call, const selection::Forms<Arguments>& forms, const Arguments& arguments) {
  Operation operation(channel, call, in_flight(forms, channel.communicator(), arguments));
  operation.run(forms.body(operation, arguments));
}

/// Its operations come one after the other, since what they need is as much as one rank should have at a time.
template <class Arguments>
class PendingCallOf final : public PendingCall {
 public:
  PendingCallOf(Communicator& communicator, const char* collective, std::uint16_t identity, std::size_t bytes,
                const selection::Algorithm<Arguments>& algorithm, const Arguments& arguments, Cut cut)
      : channel_(communicator.pending()),
        collective_(collective),
        identity_(identity),
        bytes_(bytes),
        algorithm_(algorithm),
        arguments_(arguments),
        cut_(cut) {}

  void start() override {
    call_.emplace(collective_, identity_, bytes_, cut_.operations() > 1);
    call_->first = next_ = channel_.reserve(cut_.operations());
    index_ = 0;
    prepare();
  }

  bool progress() override {
    while (operation_) {
      try {
        if (!begun_) {
          if (!operation_->try_to_begin()) return false;
          begun_ = true;
          operation_->start(algorithm_.forms.body(*operation_, part_));
        }
        if (!operation_->progress()) return false;
      } catch (...) {
        operation_.reset();
        throw;
      }
      ++index_;
      prepare();
    }
    return true;
  }

  int waits_for() const override { return operation_ ? operation_->waits_for() : -1; }
  bool truncated() const override { return call_ && call_->truncated; }

 private:
  /// The next operation, if there is one more.
  void prepare() {
    operation_.reset();
    begun_ = false;
    if (index_ >= cut_.operations()) return;
    part_ = part_of(arguments_, cut_, index_);
    operation_.emplace(channel_, *call_, next_ + index_, in_flight(algorithm_.forms, channel_.communicator(), part_));
  }

  Channel& channel_;
  const char* collective_;
  std::uint16_t identity_;
  std::size_t bytes_;
  const selection::Algorithm<Arguments>& algorithm_;
  const Arguments arguments_;
  const Cut cut_;
  std::uint64_t next_ = 0;  ///< number of its first operation
  std::size_t index_ = 0;   ///< of the operation that is under way
  std::optional<Call> call_;
  Arguments part_{};
  std::optional<PendingOperation> operation_;
  bool begun_ = false;
};

}  // namespace

template <class Arguments>
Arguments Collectives::completed(const Choice<Arguments>& chosen, const Arguments& given,
                                 const Request& request) const {
  Arguments arguments = given;
  if constexpr (!std::is_same_v<Arguments, BarrierArguments>) {
    arguments.parameter = chosen.parameter;
    constexpr bool makes_results = std::is_same_v<Arguments, ReduceArguments> ||
                                   std::is_same_v<Arguments, AllreduceArguments> ||
                                   std::is_same_v<Arguments, ScanArguments>;
    const std::size_t streamed_min = makes_results ? selection::streamed_results_min : selection::streamed_to_peers_min;
    if (!request.small && !(makes_results && request.block < streamed_min)) {
      arguments.store = store_for(request, streamed_min);
      if (chosen.cached && arguments.store == memory::Store::streaming_to_peers)
        arguments.store = memory::Store::cached;
    }
  }
  return arguments;
}

template <class Arguments>
bool Collectives::call(const Arguments& given) {
  const Key key = key_of(given, shape_.ranks);
  Choices<Arguments>& choices = choices_for(given);
  const Choice<Arguments>& chosen = choice(choices, key, Channel::Kind::blocking);
  if (!chosen.algorithm) return false;
  // What is tried is timed as it would be else.
  if (const auto straight = chosen.algorithm->forms.straight; straight && !chosen.attempts) [[likely]] {
    Call call(choices.collective, chosen.identity, announced<Arguments>(key.bytes));
    straight(communicator_.blocking(), call, given);
    truncated_ = call.truncated;
    lends_copies_ = false;
    return true;
  }
  const Request request = request_of(given);
  const Arguments arguments = completed(chosen, given, request);
  const Cut cut = cut_of(chosen, arguments, request);
  Call call(choices.collective, chosen.identity, announced<Arguments>(key.bytes), cut.operations() > 1);
  carry_out(chosen, call, arguments, request, cut);
  truncated_ = call.truncated;
  lends_copies_ = call.lends_copies;
  return true;
}

template <class Arguments>
Cut Collectives::cut_of(const Choice<Arguments>& chosen, const Arguments& arguments, const Request& request) const {
  if (chosen.algorithm->forms.straight) return {};
  return chosen.algorithm->cut ? chosen.algorithm->cut(communicator_, arguments) : request.cut;
}

template <class Arguments>
void Collectives::carry_out(const Choice<Arguments>& chosen, Call& call, const Arguments& arguments,
                            const Request& request, const Cut& cut) {
  const Node& node = communicator_.node();
  const TimedCall timed(chosen.attempts);
  for (std::size_t index = 0; index < cut.operations(); ++index) {
    const Arguments part = part_of(arguments, cut, index);
    std::optional<StagingTrial> trial;
    // A copy is to be no longer than one of what is cut into segments.
    const std::size_t held = request.held / cut.operations();
    if (node.cma && node.may_stage && !request.small && held > small_ && held <= 2 * segment_)
      trial.emplace(&chosen.staging);
    call.staging_trial = trial ? &*trial : nullptr;
    run(communicator_.blocking(), call, chosen.algorithm->forms, part);
    if (trial) trial->ends();
  }
  timed.ends();
}

template <class Arguments, class Make>
PendingCall* Collectives::prepare_by(const Arguments& given, const Make& make) {
  const Key key = key_of(given, shape_.ranks);
  Choices<Arguments>& choices = choices_for(given);
  const Choice<Arguments>& chosen = choice(choices, key, Channel::Kind::pending);
  if (!chosen.algorithm) return nullptr;
  const Request request = request_of(given);
  const Arguments arguments = completed(chosen, given, request);
  return make(communicator_, choices.collective, chosen.identity, announced<Arguments>(key.bytes), *chosen.algorithm,
              arguments, cut_of(chosen, arguments, request));
}

template <class Arguments>
std::unique_ptr<PendingCall> Collectives::prepare(const Arguments& given) {
  return std::unique_ptr<PendingCall>(
      prepare_by(given, [](auto&&... of) { return std::make_unique<PendingCallOf<Arguments>>(of...).release(); }));
}

template <class Arguments>
PendingCall* Collectives::prepare_in(const Arguments& given, Allocate allocate, void* of) {
  using Made = PendingCallOf<Arguments>;
  return prepare_by(given, [&](auto&&... what) { return new (allocate(of, sizeof(Made))) Made(what...); });
}

#define TUTTI_INSTANTIATE(Kind, name)                                                       \
  template bool Collectives::call(const Kind##Arguments& given);                            \
  template std::unique_ptr<PendingCall> Collectives::prepare(const Kind##Arguments& given); \
  template PendingCall* Collectives::prepare_in(const Kind##Arguments& given, Allocate allocate, void* of);
#define TUTTI_NO_INSTANCE(Kind, name)
TUTTI_COLLECTIVES(TUTTI_INSTANTIATE, TUTTI_NO_INSTANCE)

}  // namespace tutti
