// MPI_Bcast and MPI_Barrier.

#include "mpi/arguments/call_memory.h"
#include "mpi/arguments/datatypes.h"
#include "mpi/arguments/device_memory.h"
#include "mpi/functions/collective_function.h"
#include "mpi/teams/team_function.h"

namespace tutti::mpi {

namespace {

/// Elements that have gaps, or are in memory of a device, go through private memory. Apart, so that the others need no stack
/// for it.
template <class Form>
[[gnu::noinline]] bool bcast_packed(Form& form, Collectives& collectives, void* buffer, std::size_t count,
                                    MPI_Datatype datatype, const TypeInfo& info, int root, MPI_Comm communicator) {
  const std::size_t bytes = count * info.bytes;
  auto&& packed = form.template keep<CallMemory>(bytes);
  const bool is_root = collectives.rank() == root;
  if (is_root)
    form.keep_type_to_send(datatype);
  else
    form.keep_type(datatype);
  std::byte* const between = packed.get();
  const MPI_Comm on = form.lasting(communicator);
  return form.run(
      communicator, collectives, BcastArguments{between, bytes, root}, Shown{between, bytes}, false,
      [=] { return is_root ? pack(buffer, count, datatype, info, between, on) : static_cast<int>(MPI_SUCCESS); },
      [=](int before) { return is_root ? before : unpack(between, buffer, count, datatype, info, on); });
}

struct Bcast {
  template <class Form>
  static bool describe(Form& form, void* buffer, MPI_Count elements, MPI_Datatype datatype, int root, MPI_Comm comm) {
    // Nothing may also be elements of an empty type on other ranks: the communicator's state is built on all alike.
    if (elements < 0) return form.refuse_count(elements, comm);
    const auto count = static_cast<std::size_t>(elements);
    Collectives* collectives = form.collectives(comm);
    if (!collectives || root < 0 || root >= collectives->size()) return false;
    TypeInfo room;
    const TypeInfo* info = type_info(datatype, room);
    if (!info) return refuse(Refusal::datatype);
    if (count == 0 || info->bytes == 0) return refuse(Refusal::nothing);
    if (info->contiguous && !buffer) return false;
    if (!info->contiguous || device_of(buffer)) [[unlikely]]
      return bcast_packed(form, *collectives, buffer, count, datatype, *info, root, comm);
    const std::size_t bytes = count * info->bytes;
    return form.run(comm, *collectives, BcastArguments{static_cast<std::byte*>(buffer), bytes, root},
                    Shown{buffer, bytes}, false, nothing_before, nothing_after);
  }
};

struct Barrier {
  template <class Form>
  static bool describe(Form& form, MPI_Comm comm) {
    Collectives* collectives = form.collectives(comm);
    return collectives &&
           form.run(comm, *collectives, BarrierArguments{}, Shown{nullptr, 0}, false, nothing_before, nothing_after);
  }
};

}  // namespace

void add_bcast(OurFunctions& functions) {
  TUTTI_COLLECTIVE(Bcast, Ibcast, Bcast);
  TUTTI_COLLECTIVE_WITHOUT_COUNTS(Barrier, Ibarrier, Barrier);
}

void add_bcast(TUTTI_Team_functions& functions) {
  TUTTI_TEAM_COLLECTIVE(bcast, Bcast, Bcast);
  TUTTI_TEAM_COLLECTIVE(barrier, Barrier, Barrier);
}

}  // namespace tutti::mpi
