// Functions that begin and end the use of MPI, and those that make and free communicators; types and operators, too, are
// freed here, since calls under way may still use them. What the library does not do itself goes on to the next definition.

#include "mpi/functions/interpose.h"

#include <tuple>

#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/host.h"
#include "mpi/requests/kept_handles.h"
#include "mpi/start/launcher_names.h"
#include "mpi/wait/peer_watch.h"

namespace tutti::mpi {

namespace {

/// Of functions whose first argument is a communicator, and whose last one is that which is made of it.
template <auto is_made>
constexpr auto made_of_first = [](int code, MPI_Comm parent, auto... rest) {
  return is_made(code, std::get<sizeof...(rest) - 1>(std::tie(rest...)), parent);
};
/// Of functions that others may call with this parent at the same time, or that have none.
constexpr auto made_alone = [](int code, auto... arguments) {
  return made(code, std::get<sizeof...(arguments) - 1>(std::tie(arguments...)));
};
/// The last argument is a request.
constexpr auto being_made_before_request = [](int code, auto... arguments) {
  return being_made(code, std::get<sizeof...(arguments) - 2>(std::tie(arguments...)));
};

}  // namespace

void add_communicators(OurFunctions& functions) {
  TUTTI_AFTER_HOST(Comm_dup, made_of_first<made_duplicate>);
  TUTTI_AFTER_HOST(Comm_dup_with_info, made_of_first<made_duplicate>);
  TUTTI_AFTER_HOST(Comm_split, made_of_first<made>);
  TUTTI_AFTER_HOST(Comm_create, made_of_first<made>);
  TUTTI_AFTER_HOST(Cart_create, made_of_first<made>);
  TUTTI_AFTER_HOST(Cart_sub, made_of_first<made>);
  TUTTI_AFTER_HOST(Graph_create, made_of_first<made>);
  TUTTI_AFTER_HOST(Dist_graph_create, made_of_first<made_graph>);
  TUTTI_AFTER_HOST(Dist_graph_create_adjacent, made_of_first<made_graph>);
  TUTTI_AFTER_HOST(Comm_create_group, made_alone);
  TUTTI_AFTER_HOST(Comm_create_from_group, made_alone);
  TUTTI_AFTER_HOST(Intercomm_merge, made_alone);
  TUTTI_AFTER_HOST(Comm_idup, being_made_before_request);
  TUTTI_AFTER_HOST(Comm_idup_with_info, being_made_before_request);
}

}  // namespace tutti::mpi

using namespace tutti;
using tutti::mpi::next;

namespace {

/// Around the host's MPI_Init and MPI_Init_thread.
template <class Init>
int init(const char* function, const Init& by_host) {
  bool failed = false;
  mpi::code_of(function, failed, [] {
    mpi::announce();
    return MPI_SUCCESS;
  });
  if (const int code = by_host(); code != MPI_SUCCESS) return code;
  return mpi::guard(MPI_COMM_WORLD, function, [] {
    mpi::start();
    return MPI_SUCCESS;
  });
}

/// While the host frees a communicator its collectives are the host's.
template <class Forward>
int free_by(const Forward& forward, MPI_Comm* communicator) {
  const mpi::BeingFreed being_freed(communicator ? *communicator : MPI_COMM_NULL);
  return forward(communicator);
}

}  // namespace

TUTTI_EXPORT int MPI_Init(int* argc, char*** argv) {
  return init(next.Init.name(), [=] { return next.Init(argc, argv); });
}

TUTTI_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return init(next.Init_thread.name(), [=] { return next.Init_thread(argc, argv, required, provided); });
}

TUTTI_EXPORT int MPI_Finalize() {
  bool failed = false;
  mpi::code_of(next.Finalize.name(), failed, [] {
    mpi::stop();
    mpi::forget_job_call();
    return MPI_SUCCESS;
  });
  return next.Finalize();
}

TUTTI_EXPORT int MPI_Abort(MPI_Comm comm, int code) {
  mpi::PeerWatch::leave(mpi::LifeLine::with_job);
  return next.Abort(comm, code);
}

TUTTI_EXPORT int MPIX_Comm_revoke(MPI_Comm comm) {
  const int code = next.Comm_revoke(comm);
  if (code == MPI_SUCCESS) mpi::revoke(comm);
  return code;
}

TUTTI_EXPORT int MPI_Comm_free(MPI_Comm* comm) {
  return free_by(next.Comm_free, comm);
}

/// It returns when what is under way on the communicator has ended.
TUTTI_EXPORT int MPI_Comm_disconnect(MPI_Comm* comm) {
  if (mpi::requests.under_way() && comm)
    if (const mpi::CommunicatorState* const state = mpi::known_state(*comm)) mpi::requests.wait_for_all_of(*state);
  return free_by(next.Comm_disconnect, comm);
}

TUTTI_EXPORT int MPI_Type_free(MPI_Datatype* datatype) {
  if (datatype && mpi::free_later(mpi::key_of(*datatype))) {
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
  }
  return next.Type_free(datatype);
}

TUTTI_EXPORT int MPI_Op_free(MPI_Op* op) {
  if (op && mpi::free_later(mpi::key_of(*op))) {
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
  }
  return next.Op_free(op);
}
