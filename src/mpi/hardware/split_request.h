// What a call of MPI_Comm_split_type asks for, and whether all ranks ask for the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/host.h"

namespace tutti::mpi::hardware {

/// Whose split it is, and by what.
enum class SplitKind : std::int32_t {
  host,         ///< MPI_COMM_TYPE_SHARED, the host's own types, and what is none
  undefined,    ///< this rank is to be in no communicator
  nothing,      ///< nobody is: no value, or one that nobody knows
  node,         ///< what shares memory
  type,         ///< objects of one type
  process_set,  ///< ranks of a process set
  unguided,     ///< the next level of the machine
};

struct SplitRequest {
  SplitKind kind = SplitKind::host;
  std::string name;   ///< canonical name of a type, or of a process set
  std::string value;  ///< what the program has written
};

/// The call's own arguments, with the constants of every version of this ABI.
SplitRequest split_request(int split_type, MPI_Info info);

/// What each rank tells the others of its call.
struct SplitCard {
  std::int32_t type;  ///< of the call
  SplitKind kind;
  std::uint64_t value;  ///< hash
};
SplitCard card_of(int split_type, const SplitRequest& request);

/// Whether all ranks give one type, apart from those that are to be in no communicator. kind: what they ask for. A hint
/// that is not the same on all of them is ignored (MPI 4.1, 7.4.2).
bool agree(const std::vector<SplitCard>& cards, SplitKind& kind);

}  // namespace tutti::mpi::hardware
