// What an algorithm says of itself, and how one is chosen: eligible ones, then what the user asked for, then what a
// table says, then the cheapest by the model.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "engine/operation.h"
#include "selection/counted_rounds.h"
#include "selection/known.h"
#include "selection/model.h"
#include "selection/requirement.h"
#include "selection/table.h"

namespace tutti::selection {

/// The number that some algorithms take: "k" ranks at a time, the "j" of ring-neighbor-j.
struct Parameter {
  const char* name = nullptr;
  /// Values worth considering for a shape, tried in order 0, 1, ... until it returns 0. The user may give any other.
  int (*candidate)(const Shape&, int index) = nullptr;
};

/// What an algorithm costs and where it was published, in words: its row in docs/algorithms.md. p: ranks; n: bytes of
/// the message, or of one block where each rank has its own.
struct Summary {
  const char* hops;    ///< flags one after the other; between nodes: rounds, for N nodes of P ranks
  const char* moved;   ///< bytes that each rank copies or reads; between nodes: that leave the node that sends most
  const char* source;  ///< paper and section; what of it is ours
};

/// How an algorithm is run, and the flags that it has (engine/flags.h).
template <class Arguments>
struct Forms {
  using Body = Task (*)(Operation&, const Arguments&);
  using Straight = void (*)(Channel&, Call&, const Arguments&);
  using InFlight = std::uint64_t (*)(const Communicator&, const Arguments&);
  using Cutting = Cut (*)(const Communicator&, const Arguments&);

  constexpr Forms(Body of, const FlagSet& named, InFlight limit = nullptr, Straight same = nullptr,
                  Cutting pieces = nullptr)
      : body(of), flags(named), straight(same), in_flight(limit), cut(pieces) {}

  /// One operation, which has begun.
  Body body;
  FlagSet flags;
  /// The same as a whole blocking operation that is no coroutine, where that would cost too much (common/eager.h); may be
  /// null.
  Straight straight;
  /// How many operations may be in flight (Channel::has_room) where this rank does not need its data area; may be null.
  InFlight in_flight;
  /// How a call is cut, where the algorithm decides that and not the collective; may be null.
  Cutting cut;
};

/// What an algorithm does with other ranks' memory.
struct Traits {
  /// It stores into the memory of other ranks as `arguments.store` says: past their caches may be faster or slower.
  bool stores_to_peers = false;
  /// Ranks may lend copies of what they send (Moving), which so many read: what of it is read is the cost's
  /// left_bytes.
  Readers lends = Readers::none;
  /// Blocks whose sizes differ take one hop where they are small.
  bool packs_small = false;
  /// What is sent is taken from where its elements lie with gaps, if the call is one operation (Spreads).
  bool takes_spread = false;
  /// Between nodes: a node has a result of each run of ranks at a time.
  bool gathers_runs = false;

  bool has_one_reader(int ranks) const { return lends == Readers::one || (lends == Readers::many && ranks == 2); }
};

/// TUTTI_ALGORITHM: "bcast:xhc;scatter:throttled,k=4;allreduce:^share,^xhc". Names of one collective are either allowed
/// or excluded (^). k=4 belongs to the name before it.
class UserChoice {
 public:
  using Known = selection::Known;
  /// known: the algorithms by collective. An unknown name is one warning with the nearest right one, and is ignored.
  static UserChoice parse(std::string_view text, std::span<const Known> known, const Log& log);

  /// Of what was said, that about these algorithms and the host's.
  UserChoice among(std::span<const Known> known) const;
  /// What the user said of this collective: nothing, or these only, or all but these.
  bool allows(std::string_view collective, std::string_view algorithm) const;
  bool mentions(std::string_view collective) const;
  /// The parameter that the user gave to an algorithm; 0 if none.
  int parameter(std::string_view collective, std::string_view algorithm) const;
  /// What the user said of a collective, for messages: "throttled(4)".
  std::string words(std::string_view collective) const;

 private:
  struct Rule {
    std::string collective, algorithm;
    bool excluded;
    int parameter = 0;
  };
  void give(Rule* rule, std::string_view key, std::string_view value, const Known& entry, const Log& log);

  std::vector<Rule> rules_;
};

/// Everything that choices are made from besides the shape. Equal on all ranks.
struct Knowledge {
  UserChoice user;
  Model model;
  std::string model_source = "shipped values";   ///< where the parameters are from, in words
  std::shared_ptr<const Table> table = nullptr;  ///< null: none that fits
  // Of communicators that span nodes.
  UserChoice user_between_nodes = {};
  network::Parameters network = {};
  std::string network_source = "shipped values";  ///< where those between nodes are from, in words
  bool has_host = true;                           ///< there is a host that could carry a call out instead

  const UserChoice& user_of(const Shape& shape) const { return shape.spans_nodes() ? user_between_nodes : user; }
};

/// Defined beside the body of each algorithm; nothing of it changes. The shape that `requirement` and `cost` get has the
/// parameter in it.
template <class Arguments>
struct Algorithm {
  const char* const name;
  const Summary summary;
  const Requirement requirement;
  Cost (*const cost)(const Shape&);
  const Forms<Arguments> forms;
  const Traits traits{};
  const Parameter parameter{};
  const char* const alias = nullptr;  ///< another name that the literature has for it; the user may write either

  bool eligible(const Shape& shape) const { return requirement.holds(shape); }
  /// What a call takes by the model.
  double seconds(const Shape& shape, const Knowledge& knowledge) const {
    return shape.spans_nodes() ? cost(shape).seconds(knowledge.network) : cost(shape).seconds(shape, knowledge.model);
  }
};

/// Why an algorithm was chosen.
enum class Reason {
  model,    ///< the cheapest of the eligible ones by the model
  table,    ///< by the decision table, which the user does not contradict
  user,     ///< the cheapest of what the user allows
  refused,  ///< nothing of what the user asked for is eligible; the cheapest of the others
};

/// What was chosen for one collective and shape; a null algorithm stands for the host's own.
template <class Arguments>
struct Chosen {
  const Algorithm<Arguments>* algorithm = nullptr;
  int parameter = 0;
  double seconds = 0;  ///< by the model
  Reason reason = Reason::model;
  Moving moving = Moving::plain;
  const TableEntry* refused_entry = nullptr;  ///< what the table says, if that is not eligible
};

/// visit(moving, seconds by the model): in each way in which the algorithm can move bytes, and may.
template <class Arguments, class Visit>
void for_each_moving(const Algorithm<Arguments>& algorithm, Shape shape, const Knowledge& knowledge, Visit visit) {
  bool any = false;
  const auto consider = [&](Moving moving) {
    shape.moving = moving;
    visit(moving, algorithm.seconds(shape, knowledge));
    any = true;
  };
  const Traits& traits = algorithm.traits;
  if (traits.stores_to_peers && shape.may_move(Moving::caches)) consider(Moving::caches);
  const bool one_reader = traits.has_one_reader(shape.ranks);
  if (one_reader && shape.may_move(Moving::lent)) consider(Moving::lent);
  if (traits.lends != Readers::none && shape.may_move(Moving::lent_beyond)) consider(Moving::lent_beyond);
  if (!any || shape.may_move(Moving::plain)) consider(Moving::plain);
}

/// What the table has for this shape, if it is eligible and the user does not contradict; its reason is another
/// otherwise.
template <class Arguments>
Chosen<Arguments> choose_by_table(std::string_view collective, std::span<const Algorithm<Arguments>* const> candidates,
                                  Shape shape, const Knowledge& knowledge) {
  Chosen<Arguments> chosen;
  const UserChoice& user = knowledge.user_of(shape);
  const TableEntry* entry = knowledge.table ? knowledge.table->find(collective, shape) : nullptr;
  if (!entry || !user.allows(collective, entry->algorithm)) return chosen;
  if (entry->algorithm == host_algorithm) {
    if (!knowledge.has_host) return chosen;
    chosen.reason = Reason::table;
    return chosen;
  }
  const int given = user.parameter(collective, entry->algorithm);
  if (given > 0 && given != entry->parameter) return chosen;
  shape.parameter = entry->parameter;
  for (const auto* candidate : candidates) {
    if (entry->algorithm != candidate->name || !candidate->eligible(shape)) continue;
    for_each_moving(*candidate, shape, knowledge, [&](Moving moving, double seconds) {
      if (!chosen.algorithm || seconds < chosen.seconds)
        chosen = {candidate, entry->parameter, seconds, Reason::table, moving};
    });
    return chosen;
  }
  chosen.refused_entry = entry;
  return chosen;
}

/// visit(algorithm, parameter, moving, seconds by the model) for all that are eligible, with each value of the parameter that
/// is considered, and each way of moving. ask_user: only what the user allows, with the value that was given.
template <class Arguments, class Visit>
void for_each_eligible(std::string_view collective, std::span<const Algorithm<Arguments>* const> candidates,
                       const Shape& shape, const Knowledge& knowledge, bool ask_user, Visit visit) {
  const UserChoice& user = knowledge.user_of(shape);
  const auto consider = [&](const Algorithm<Arguments>* candidate, int parameter) {
    Shape asked = shape;
    asked.parameter = parameter;
    if (!candidate->eligible(asked)) return;
    for_each_moving(*candidate, asked, knowledge,
                    [&](Moving moving, double seconds) { visit(candidate, parameter, moving, seconds); });
  };
  for (const auto* candidate : candidates) {
    if (ask_user && !user.allows(collective, candidate->name)) continue;
    const int given = ask_user ? user.parameter(collective, candidate->name) : 0;
    if (!candidate->parameter.name || given > 0) {
      consider(candidate, given);
      continue;
    }
    for (int i = 0; const int value = candidate->parameter.candidate(shape, i); ++i) consider(candidate, value);
  }
}

/// Blocks whose sizes differ may be small, whatever a shape takes them for: what sends small ones in one hop is taken
/// unless something else takes less than a third of the time.
template <class Arguments>
double handicap(const Algorithm<Arguments>* algorithm, const Shape& shape) {
  return shape.regular || algorithm->traits.packs_small ? 1 : 3;
}

/// Long messages in the order of many runs of ranks: all results go everywhere, which is far more than what MPIs send.
template <class Arguments>
bool gathers_too_much(const Chosen<Arguments>& chosen, const Shape& shape, const Knowledge& knowledge) {
  return chosen.algorithm && chosen.algorithm->traits.gathers_runs &&
         2 * recursive_doubling(shape.nodes, shape.places, shape.class_bytes()).seconds(knowledge.network) <
             chosen.seconds;
}

/// What the table says; otherwise the cheapest of the eligible ones among what the user allows; if none of those is
/// eligible, among all.
template <class Arguments>
Chosen<Arguments> choose(std::string_view collective, std::span<const Algorithm<Arguments>* const> candidates,
                         const Shape& shape, const Knowledge& knowledge) {
  const UserChoice& user = knowledge.user_of(shape);
  const Chosen<Arguments> by_table = choose_by_table(collective, candidates, shape, knowledge);
  if (by_table.reason == Reason::table) return by_table;
  const auto cheapest = [&](bool ask_user) {
    Chosen<Arguments> best;
    for_each_eligible(
        collective, candidates, shape, knowledge, ask_user,
        [&](const Algorithm<Arguments>* candidate, int parameter, Moving moving, double seconds) {
          if (!best.algorithm || handicap(candidate, shape) * seconds < handicap(best.algorithm, shape) * best.seconds)
            best = {candidate, parameter, seconds, Reason::model, moving};
        });
    return best;
  };
  Chosen<Arguments> best = cheapest(true);
  best.refused_entry = by_table.refused_entry;
  if (user.mentions(collective)) best.reason = Reason::user;
  const bool may_be_hosts = knowledge.has_host && user.allows(collective, host_algorithm);
  if (may_be_hosts && gathers_too_much(best, shape, knowledge)) {
    best.algorithm = nullptr;
    return best;
  }
  if (best.algorithm || (user.mentions(collective) && may_be_hosts)) return best;
  // What the user asked for is not eligible here: the best of the others, on every rank alike.
  Chosen<Arguments> other = cheapest(false);
  other.refused_entry = by_table.refused_entry;
  const bool wants_host = !knowledge.has_host && user.allows(collective, host_algorithm);
  if (user.mentions(collective) && !wants_host) other.reason = Reason::refused;
  return other;
}

}  // namespace tutti::selection
