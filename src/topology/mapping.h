// How launchers spread ranks over a machine, for planning where no ranks run yet. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/cpu_set.h"
#include "topology/machine.h"

namespace tutti::topology {

/// In the terms of XHC, section V: map-core fills one core after the other, map-numa deals ranks out over
/// NUMA nodes. shuffled: the ranks of `core` in any order.
struct Mapping {
  enum class Kind { core, numa, socket, unbound, shuffled };
  Kind kind = Kind::core;
  std::uint32_t seed = 0;  ///< of `shuffled`: which order

  static const Mapping core, numa, socket, unbound;
  static Mapping shuffled(std::uint32_t seed) { return {Kind::shuffled, seed}; }

  friend bool operator==(const Mapping&, const Mapping&) = default;
};
inline constexpr Mapping Mapping::core{Kind::core}, Mapping::numa{Kind::numa}, Mapping::socket{Kind::socket},
    Mapping::unbound{Kind::unbound};

/// "core", "numa", "socket", "unbound" or "shuffle:SEED"; on failure nothing, and `error` with the nearest right name.
std::optional<Mapping> parse_mapping(std::string_view text, std::string& error);

/// The affinity mask of each of `ranks` ranks. Each gets one processing unit, a core of its own while there
/// are any, then second hardware threads, then round again; `numa` and `socket` deal consecutive ranks to
/// consecutive domains. Unbound ranks get every unit of the machine. Shuffled ones sit where those of `core` do, each
/// seed another one of their orders, the same on every machine.
std::vector<CpuSet> map_ranks(const Machine& machine, int ranks, Mapping mapping);

}  // namespace tutti::topology
