#include "mpi/hardware/process_sets.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "preload/part.h"

// Open MPI has sessions since 5.0, whatever version of the standard it claims.
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define TUTTI_HEADER_HAS_SESSIONS
#endif

namespace tutti::mpi::hardware {

namespace {

/// The lowest rank in `communicator` of a group that this process is in; -1 if none is. Frees the group.
int lowest_of(MPI_Comm communicator, MPI_Group set) {
  MPI_Group members = MPI_GROUP_NULL;
  int size = 0;
  host.Comm_size(communicator, &size);
  host.Comm_group(communicator, &members);
  std::vector<int> ranks(static_cast<std::size_t>(size)), in_set(ranks.size(), MPI_UNDEFINED);
  for (int rank = 0; rank < size; ++rank) ranks[static_cast<std::size_t>(rank)] = rank;
  host.Group_translate_ranks(members, size, ranks.data(), set, in_set.data());
  host.Group_free(&members);
  host.Group_free(&set);
  int own = 0;
  host.Comm_rank(communicator, &own);
  if (in_set[static_cast<std::size_t>(own)] == MPI_UNDEFINED) return -1;
  return static_cast<int>(std::find_if(in_set.begin(), in_set.end(), [](int rank) { return rank != MPI_UNDEFINED; }) -
                          in_set.begin());
}

int lowest_of_ranks_of(MPI_Comm communicator, MPI_Comm set) {
  MPI_Group group = MPI_GROUP_NULL;
  host.Comm_group(set, &group);
  return lowest_of(communicator, group);
}

#ifdef TUTTI_HEADER_HAS_SESSIONS
template <class Function>
bool find(Function& function, const char* name) {
  void* const address = preload::host_function(name);
  std::memcpy(&function, &address, sizeof address);
  return address != nullptr;
}

/// Of a set that the launcher has made.
int lowest_of_session_set(MPI_Comm communicator, const char* name) {
  decltype(&PMPI_Session_init) init = nullptr;
  decltype(&PMPI_Session_finalize) finalize = nullptr;
  decltype(&PMPI_Session_get_num_psets) count_of = nullptr;
  decltype(&PMPI_Session_get_nth_pset) name_of = nullptr;
  decltype(&PMPI_Group_from_session_pset) group_of = nullptr;
  if (!find(init, "PMPI_Session_init") || !find(finalize, "PMPI_Session_finalize") ||
      !find(count_of, "PMPI_Session_get_num_psets") || !find(name_of, "PMPI_Session_get_nth_pset") ||
      !find(group_of, "PMPI_Group_from_session_pset"))
    return -1;
  MPI_Session session = MPI_SESSION_NULL;
  if (init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return -1;
  int count = 0, lowest = -1;
  if (count_of(session, MPI_INFO_NULL, &count) != MPI_SUCCESS) count = 0;
  // Hosts' errors about names that they do not know are not all returned.
  for (int i = 0; i < count && lowest < 0; ++i) {
    char text[MPI_MAX_PSET_NAME_LEN] = "";
    int room = sizeof text;
    MPI_Group group = MPI_GROUP_NULL;
    if (name_of(session, MPI_INFO_NULL, i, &room, text) != MPI_SUCCESS || std::strcmp(text, name) != 0) continue;
    if (group_of(session, name, &group) == MPI_SUCCESS) lowest = lowest_of(communicator, group);
  }
  finalize(&session);
  return lowest;
}
#else
int lowest_of_session_set(MPI_Comm, const char*) {
  return -1;
}
#endif

}  // namespace

int lowest_of_process_set(MPI_Comm communicator, const std::string& name) {
  if (name == "mpi://WORLD") return lowest_of_ranks_of(communicator, MPI_COMM_WORLD);
  if (name == "mpi://SELF") return lowest_of_ranks_of(communicator, MPI_COMM_SELF);
  return lowest_of_session_set(communicator, name.c_str());
}

}  // namespace tutti::mpi::hardware
