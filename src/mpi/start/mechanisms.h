// The mechanisms, by which a peer's memory is reached: as sets, and their names in TUTTI_MECHANISM.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"

namespace tutti::mpi {

/// Bits of a set. The arena is what messages are staged in; nothing works without it.
enum Mechanism : unsigned { mechanism_arena = 1, mechanism_window = 2, mechanism_cma = 4, mechanism_xpmem = 8 };

/// Agreed in the same words, though no mechanism: the rank has the communicator of the messages between nodes.
constexpr unsigned has_messages = 1u << 30;

/// What TUTTI_MECHANISM allows if it does not speak of single ones.
constexpr unsigned every_mechanism = ~0u;

/// What TUTTI_MECHANISM says: "auto", a list of names, or names with ^.
struct AskedMechanisms {
  unsigned listed = 0, forbidden = 0;

  unsigned allowed() const;
  /// What the kernel reaches may be staged where that is faster: unless the user has asked for cma, and not for staged.
  bool may_stage() const { return by_name(mechanism_arena) || !by_name(mechanism_cma); }
  bool by_name(Mechanism mechanism) const { return (listed & ~forbidden & mechanism) != 0; }
};

/// Warns about other words.
AskedMechanisms asked_mechanisms(const std::string& text, const Log& log);

/// The names of those in the set.
std::vector<std::string> names_of_mechanisms(unsigned mechanisms);

}  // namespace tutti::mpi
