// The collectives of the core: chosen, cut into segments, run. What src/mpi calls.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/call_record.h"
#include "collectives/call_shape.h"
#include "collectives/kinds.h"
#include "collectives/pending_call.h"
#include "engine/communicator.h"
#include "selection/algorithm.h"

namespace tutti {

template <class Arguments>
struct Plan;

/// The algorithms of each collective, by name. Made from the files of its folder.
template <class Arguments>
std::span<const selection::Algorithm<Arguments>* const> algorithms_of();
/// The same between nodes. Made from the files of src/collectives/between_nodes/<collective>/.
template <class Arguments>
std::span<const selection::Algorithm<Arguments>* const> algorithms_between_nodes();
/// Those among which one is chosen for calls of this shape.
template <class Arguments>
std::span<const selection::Algorithm<Arguments>* const> algorithms_for(const selection::Shape& shape) {
  return shape.spans_nodes() ? algorithms_between_nodes<Arguments>() : algorithms_of<Arguments>();
}

/// All names, to check what the user asks for.
std::vector<selection::Known> known_algorithms();
/// Those of the algorithms between nodes, and both together.
std::vector<selection::Known> known_between_nodes();
std::vector<selection::Known> all_known_algorithms();
/// Of what the user says, who has the words of all_known_algorithms(), what is for each of the two.
void set_user_choice(selection::Knowledge& knowledge, const selection::UserChoice& said);

/// One algorithm, for programs that list them.
struct CatalogueEntry {
  std::string_view collective;  ///< as in TUTTI_ALGORITHM
  std::string algorithm;
  std::string requirements;
  std::string parameter;        ///< its name; empty if it has none
  std::vector<int> candidates;  ///< values of the parameter that are considered
  std::string alias;            ///< empty if it has none
  selection::Summary summary;
};
/// All algorithms; candidates: for `ranks` ranks.
std::vector<CatalogueEntry> catalogue(int ranks);

/// The choices of one communicator: made once a collective and size class, then one load a call.
class Collectives {
 public:
  /// knowledge: outlives this. spanning: of a communicator whose ranks sit on several nodes, and then `communicator` has
  /// those of this node; outlives this, too.
  Collectives(Communicator& communicator, const selection::Knowledge& knowledge, const Spanning* spanning = nullptr);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  /// Forgets all choices and makes them by `user`, who has the words of all_known_algorithms(), from now on, without warnings: for benchmarks. To be called on all
  /// ranks alike.
  void choose_anew(const selection::UserChoice& user);

  /// Of several nodes: the ranks of this one.
  Communicator& communicator() { return communicator_; }
  /// Of all nodes.
  int rank() const { return rank_; }
  int size() const { return shape_.ranks; }
  int nodes() const;
  const selection::Knowledge& knowledge() const { return own_knowledge_ ? *own_knowledge_ : knowledge_; }
  /// What choices for messages of these bytes are made from, sizes rounded up to their class. collective: as in
  /// TUTTI_ALGORITHM.
  selection::Shape shape_of(std::string_view collective, std::size_t bytes) const;
  /// Name of the algorithm that ran last; "host" if none of ours.
  const char* last_algorithm() const { return last_->name; }
  /// Whether the ranks sit on several nodes.
  bool spans_nodes() const { return spanning_ != nullptr; }

  /// Where the call that ran last is to be counted, once: null if it did not come as far as a choice, or without
  /// TUTTI_EXPLAIN.
  CallRecord* take_last_record() {
    CallRecord* const record = last_->record;
    last_ = &no_choice;
    return record;
  }
  /// The same for a persistent call: where its starts are to be counted. kept: see CallRecord, a constant.
  CallRecord* take_last_record(const char* kept) {
    const CallRecord* const record = take_last_record();
    if (!record) return nullptr;
    return record_of({record->collective, record->regular, record->size_class, record->algorithm,
                      record->parameter_name, record->parameter, record->reason, kept});
  }
  /// What that call was chosen by.
  std::size_t last_bytes() const { return last_bytes_; }
  /// With TUTTI_EXPLAIN: of every choice made so far, in the order in which they were made.
  const std::deque<CallRecord>& records() const { return records_; }
  /// What all calls have in common: ranks, levels, ranks per core.
  const selection::Shape& shape() const { return shape_; }

  /// What a call has come to. One byte: of several, each stored by itself, the caller would wait for all.
  struct Done {
    /// If not, nothing was communicated, and the host's own collective is to be used: on all ranks alike.
    bool ours : 1 = false;
    bool truncated : 1 = false;     ///< bytes were left out that a peer sent, for want of room
    bool lends_copies : 1 = false;  ///< for reports: it has lent a copy of what peers would have reached without

    operator bool() const { return ours; }  // NOLINT(google-explicit-constructor)
  };
  // Done bcast(const BcastArguments& arguments), and so on.
#define TUTTI_METHOD(Of, name)                \
  Done name(const Of##Arguments& arguments) { \
    return call(arguments);                   \
  }
  TUTTI_KINDS(TUTTI_METHOD)
#undef TUTTI_METHOD

  /// The same for arguments of any kind.
  template <class Arguments>
  Done call(const Arguments& arguments);

  /// Whose channels a pending call takes: this communicator's or those of another one of the same ranks. across: where its
  /// ranks sit on several nodes.
  struct Through {
    Communicator& inside;
    const Spanning* across = nullptr;
  };
  /// The same call as a pending one, which has yet to be started, in memory of the caller, who destroys it: allocate(of,
  /// bytes) gives some, at an address for any type. What the arguments point to outlives it. Null if the host's own
  /// collective is to be used: on all ranks alike.
  using Allocate = void* (*)(void* of, std::size_t bytes);
  template <class Arguments>
  PendingCall* prepare_in(const Arguments& arguments, const Through& through, Allocate allocate, void* of);
  /// The same on the heap.
  template <class Arguments>
  std::unique_ptr<PendingCall> prepare(const Arguments& arguments) {
    const auto allocate = [](void*, std::size_t bytes) { return ::operator new(bytes); };
    return std::unique_ptr<PendingCall>(prepare_in(arguments, {communicator_, spanning_}, allocate, nullptr));
  }

 private:
  static constexpr int size_classes = 66;  // by the width of the size
  struct AnyChoice {
    const char* name = selection::host_algorithm;
    CallRecord* record = nullptr;
    Moving moving = Moving::plain;
    const char* collective = nullptr;
    bool regular = true;
  };
  static const AnyChoice no_choice;  ///< before the first call
  template <class Arguments>
  struct Choice : AnyChoice {
    const selection::Algorithm<Arguments>* algorithm = nullptr;  ///< null: the host's own
    int parameter = 0;
    std::uint16_t identity = 0;  ///< of collective and algorithm; equal on all ranks
    /// Of blocks whose sizes differ: how those of a size class are moved, once it was asked.
    mutable std::vector<std::optional<Moving>> moving_of_class = {};
  };
  /// Of one collective: by size, and operators that do not commute apart; or sizes that differ between ranks.
  template <class Arguments>
  struct Choices {
    const char* collective;
    bool regular = !is_irregular(collective);
    std::vector<std::unique_ptr<Choice<Arguments>>> of = {};  ///< empty until first used, then null until made
  };
  template <class Arguments>
  Choices<Arguments>& choices_for(const Arguments& arguments);
  template <class Arguments>
  const Choice<Arguments>& choice(Choices<Arguments>& choices, const CallKey& key);
  static std::size_t index_of(std::size_t bytes, bool commutative) {
    return (commutative ? size_classes : 0) + size_class_of(bytes);
  }
  selection::Shape shape_of(std::size_t bytes, bool regular, bool commutative) const;
  /// Where it does not stand in choices.of yet.
  template <class Arguments>
  const Choice<Arguments>& make(Choices<Arguments>& choices, const CallKey& key);
  /// How buffers that peers do not map are lent in operations of a call: as copies, if what a rank's buffers hold in one is
  /// at most `most`.
  Lending lending_of(Moving moving, const CallSizes& sizes, const Cut& cut, std::size_t most) const;
  /// Where calls are counted that are chosen like this; null without TUTTI_EXPLAIN.
  CallRecord* record_of(const CallRecord& wanted);
  /// Whether to warn that an algorithm which `by` asks for cannot do this: once a collective on the node, as a job may
  /// have any number of communicators.
  enum class Asked { by_user, by_table };
  bool should_warn(const char* collective, Asked by);
  template <class Arguments>
  Cut cut_of(const Choice<Arguments>& chosen, const Arguments& arguments, const CallSizes& sizes) const;
  /// How bytes are moved. Of blocks whose sizes differ each rank decides for its own.
  template <class Arguments>
  Moving moving_of(const Choice<Arguments>& chosen, const CallSizes& sizes) const;
  /// The arguments as the algorithm gets them.
  template <class Arguments>
  Arguments completed(const Choice<Arguments>& chosen, const Arguments& arguments, const CallSizes& sizes,
                      Moving moving) const;
  /// How a call is carried out that is not straight. bytes: that it was chosen by.
  template <class Arguments>
  Plan<Arguments> plan(const Choice<Arguments>& chosen, std::size_t bytes, const Arguments& arguments,
                       const Spanning* spanning, bool is_pending) const;
  /// Past all caches what does not fit in them, past those of its owner what is large in another rank's memory.
  memory::Store store_for(const CallSizes& sizes, std::size_t streamed_min) const {
    const double footprint = static_cast<double>(sizes.held) * shape_.ranks;
    if (footprint >= cached_bytes_) return memory::Store::streaming;
    return sizes.block >= streamed_min ? memory::Store::streaming_to_peers : memory::Store::cached;
  }

  Communicator& communicator_;
  const selection::Knowledge& knowledge_;
  const Spanning* const spanning_;
  const int rank_;
  std::unique_ptr<selection::Knowledge> own_knowledge_;  ///< after choose_anew()
  selection::Shape shape_;
  double cached_bytes_;
  SizeLimits limits_;
  const AnyChoice* last_ = &no_choice;
  std::size_t last_bytes_ = 0;
  std::deque<CallRecord> records_;  ///< choices point into it
  bool quiet_ = false;              ///< choices are made for a benchmark
  // Choices<BcastArguments> bcast_, and so on.
#define TUTTI_CHOICES(Of, name) Choices<Of##Arguments> name##_{#name};
  TUTTI_COLLECTIVES(TUTTI_CHOICES, TUTTI_CHOICES)
#undef TUTTI_CHOICES
#define TUTTI_FIRST(Of, name)                                   \
  Choices<Of##Arguments>& first_choices(const Of##Arguments&) { \
    return name##_;                                             \
  }
#define TUTTI_SECOND(Of, name)                                   \
  Choices<Of##Arguments>& second_choices(const Of##Arguments&) { \
    return name##_;                                              \
  }
  TUTTI_COLLECTIVES(TUTTI_FIRST, TUTTI_SECOND)
#undef TUTTI_FIRST
#undef TUTTI_SECOND
};

}  // namespace tutti
