// What the library has to know of a datatype, and the way between a buffer of any datatype and contiguous bytes.
#pragma once

#include <cstddef>
#include <optional>

#include "memory/layout.h"
#include "mpi/host.h"
#include "reduction/reduction.h"

namespace tutti::mpi {

struct TypeInfo {
  std::size_t bytes = 0;    ///< of one element's data (MPI_Type_size)
  bool contiguous = false;  ///< `count` elements are count * bytes consecutive bytes, in the order of the signature
  bool predefined = false;
  std::optional<reduction::Type> kernel_type;  ///< for predefined operators
};

/// Fills the table of predefined types and operators. After the host's MPI_Init.
void learn_predefined();

/// While it lives, and `is` is true, this thread may not call the host: it has no types and operators but predefined ones.
class HostOutOfReach {
 public:
  explicit HostOutOfReach(bool is) : begins_(is && !here) {
    if (begins_) here = true;
  }
  ~HostOutOfReach() {
    if (begins_) here = false;
  }
  HostOutOfReach(const HostOutOfReach&) = delete;
  HostOutOfReach& operator=(const HostOutOfReach&) = delete;

  static bool is() { return here; }

 private:
  static constinit thread_local bool here;
  const bool begins_;
};

/// Null if the handle is null or the host does not know it: then the call is the host's, to report the error. Of
/// predefined types what never changes, of others `room`: nothing that a call out of a wait of this one could overwrite.
const TypeInfo* type_info(MPI_Datatype datatype, TypeInfo& room);

/// Packs `count` elements at `buffer`, which may be in memory of a device, into `bytes`, or back. Contiguous raw data, as
/// all supported hosts pack. Returns the host's error code.
int pack(const void* buffer, std::size_t count, MPI_Datatype datatype, const TypeInfo& info, std::byte* bytes,
         MPI_Comm communicator);
int unpack(const std::byte* bytes, void* buffer, std::size_t count, MPI_Datatype datatype, const TypeInfo& info,
           MPI_Comm communicator);

/// Where the bytes of `count` elements lie, in the order of their signature. Nothing if that is none, or no loops of runs:
/// members of structures, lists of blocks.
std::optional<memory::Layout> layout_of(MPI_Datatype datatype, std::size_t count);

enum class OperatorKind { unknown, predefined, user };
struct OperatorInfo {
  OperatorKind kind = OperatorKind::unknown;
  reduction::Operator operation{};
};
OperatorInfo operator_info(MPI_Op operation);

}  // namespace tutti::mpi
