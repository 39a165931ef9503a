// The algorithms between nodes, by name; and how one is run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "collectives/arguments.h"
#include "collectives/between_nodes/spanning.h"
#include "collectives/pending_call.h"

namespace tutti {

/// Those of a collective. Made from the files of src/collectives/between_nodes/<collective>/.
template <class Arguments>
std::span<const SpanningAlgorithm<Arguments>* const> algorithms_between_nodes();

/// For algorithms that require nothing.
inline constexpr auto always = [](const network::Nodes&, const auto&) { return true; };

/// What the ranks of a node compare, and what is said where they are in different calls.
struct CallSignature {
  const char* collective = "a collective";
  std::uint16_t identity = 0;  ///< of collective and algorithm (collectives/identity.h)
  std::size_t bytes = 0;
};

/// Calls an algorithm, which can do it, from its beginning to its end. All ranks of the communicator call the same. False if
/// bytes were left out that another rank sent, for want of room.
template <class Arguments>
bool call_between_nodes(const Spanning& spanning, const SpanningAlgorithm<Arguments>& algorithm,
                        const Arguments& arguments, const CallSignature& signature = {});

/// The same as a pending call, which has yet to be started. spanning: whose channel it takes. All that is passed outlives it.
template <class Arguments>
std::unique_ptr<PendingCall> prepare_between_nodes(const Spanning& spanning,
                                                   const SpanningAlgorithm<Arguments>& algorithm,
                                                   const Arguments& arguments, const CallSignature& signature = {});
/// The same in memory of the caller, see Collectives::prepare_in().
template <class Arguments>
PendingCall* prepare_between_nodes_in(const Spanning& spanning, const SpanningAlgorithm<Arguments>& algorithm,
                                      const Arguments& arguments, const CallSignature& signature,
                                      void* (*allocate)(void* of, std::size_t bytes), void* of);

}  // namespace tutti
