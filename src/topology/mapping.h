// How launchers spread ranks over a machine, for planning where no ranks run yet. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/cpu_set.h"
#include "topology/machine.h"

namespace tutti::topology {

/// In the terms of XHC, section V: map-core fills one core after the other, map-numa deals ranks out over
/// NUMA nodes.
enum class Mapping { core, numa, socket, unbound };

/// "core", "numa", "socket" or "unbound"; on failure nothing, and `error` with the nearest right name.
std::optional<Mapping> parse_mapping(std::string_view text, std::string& error);

/// The affinity mask of each of `ranks` ranks. Each gets one processing unit, a core of its own while there
/// are any, then second hardware threads, then round again; `numa` and `socket` deal consecutive ranks to
/// consecutive domains. Unbound ranks get every unit of the machine.
std::vector<CpuSet> map_ranks(const Machine& machine, int ranks, Mapping mapping);

}  // namespace tutti::topology
