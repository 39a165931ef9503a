// The ways of reaching a peer's memory, as sets, and their names in TUTTI_MECHANISM.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"

namespace tutti::mpi {

/// Bits of a set of ways. The arena is what messages are staged in; nothing works without it.
enum Way : unsigned { way_arena = 1, way_window = 2, way_cma = 4, way_xpmem = 8 };

/// What TUTTI_MECHANISM allows if it does not speak of single ways.
constexpr unsigned every_way = ~0u;

/// What TUTTI_MECHANISM says: "auto", a list of names, or names with ^.
struct AskedWays {
  unsigned listed = 0, forbidden = 0;

  unsigned allowed() const;
  bool by_name(Way way) const { return (listed & ~forbidden & way) != 0; }
};

/// Warns about other words.
AskedWays asked_ways(const std::string& text, const Log& log);

/// The names of those in the set.
std::vector<std::string> names_of_ways(unsigned ways);

}  // namespace tutti::mpi
