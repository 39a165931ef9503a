// What makes this library the part for one ABI: libtutti.so loads it and takes these functions.

#include "preload/part.h"

#include <cstddef>
#include <cstdint>

#include "lib/team.h"
#include "mpi/functions/interpose.h"
#include "mpi/functions/waits.h"
#include "mpi/host.h"
#include "preload/given.h"

extern "C" int MPIX_Comm_revoke(MPI_Comm comm);
extern "C" int MPIX_Request_is_complete(MPI_Request request);
extern "C" int tutti_last_choice(char* algorithm, int algorithm_bytes, char* mechanism, int mechanism_bytes);
extern "C" int tutti_set_choice(MPI_Comm communicator, const char* algorithm, const char* mechanism);
extern "C" int tutti_predict(MPI_Comm communicator, const char* collective, std::size_t bytes, char* text, int room);
extern "C" int tutti_origin(char* text, int room);
extern "C" int tutti_splits_by_hardware();
extern "C" int tutti_hw_resource_info(void* info);
extern "C" int tutti_network_distance();
extern "C" int tutti_teams(const TUTTI_Team_functions** functions);
extern "C" int tutti_allocate(std::size_t bytes, void** block);
extern "C" int tutti_release(void* block);
extern "C" int tutti_handle_of(const void* address, std::size_t bytes, std::uint64_t* handle);
extern "C" int tutti_pointer_to(MPI_Comm communicator, int rank, std::uint64_t handle, std::size_t bytes,
                                void** pointer);
extern "C" int tutti_give(MPI_Comm communicator, int rank, int tag, void* block, tutti::memory::given::Place* place);
extern "C" int tutti_give_not(void* block);
extern "C" int tutti_take(const tutti::memory::given::Place* place, void** block);

namespace tutti::mpi {

namespace {

/// What stands in front of our function where a tool stands behind it.
template <auto member, class Signature>
struct Watched;

template <auto member, class... Arguments>
struct Watched<member, int(Arguments...)> {
  static inline int (*ours)(Arguments...) = nullptr;

  static int by_first_name(Arguments... arguments) {
    const WatchedCall call((next.*member).call(), WatchedCall::Name::first);
    return ours(arguments...);
  }

  static int by_second_name(Arguments... arguments) {
    const auto& function = next.*member;
    if (WatchedCall* const call = WatchedCall::current();
        call && call->is_with_tool() && call->is_of(function.call())) {
      call->set_with_tool(false);
      return function.host(arguments...);
    }
    const WatchedCall call(function.call(), WatchedCall::Name::second);
    return ours(arguments...);
  }
};

template <auto member, class Signature>
void* first_name(Signature* ours) {
  using Each = Watched<member, Signature>;
  Each::ours = ours;
  return reinterpret_cast<void*>((next.*member).watched() ? &Each::by_first_name : ours);
}

template <auto member, class Signature>
void* second_name(Signature* ours) {
  using Each = Watched<member, Signature>;
  return reinterpret_cast<void*>((next.*member).watched() ? &Each::by_second_name : ours);
}

OurFunctions our_functions() {
  OurFunctions functions{};
#define TUTTI_SET(name) functions.name = &::MPI_##name;
  TUTTI_INTERPOSED_WRITTEN_OUT(TUTTI_SET)
  TUTTI_INTERPOSED_NEWER_WRITTEN_OUT(TUTTI_SET)
#undef TUTTI_SET
  add_bcast(functions);
  add_reductions(functions);
  add_blocks(functions);
  add_communicators(functions);
  add_host_needs(functions);
  return functions;
}

}  // namespace

}  // namespace tutti::mpi

extern "C" __attribute__((visibility("default"))) tutti::preload::Functions tutti_part() {
  using namespace tutti::mpi;
  resolve();
  take_over_waits();
  const OurFunctions ours = our_functions();
  // In the order of the stubs (preload/stubs.S).
  static const tutti::preload::Function functions[] = {
#define TUTTI_FUNCTION(name) {"MPI_" #name, first_name<&Next::name>(ours.name)},
      TUTTI_INTERPOSED(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"MPIX_" #name, first_name<&Next::name>(&::MPIX_##name)},
          TUTTI_INTERPOSED_EXTENSIONS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"MPIX_" #name, first_name<&Next::X_##name>(ours.X_##name)},
              TUTTI_INTERPOSED_INITS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"PMPI_" #name, second_name<&Next::name>(ours.name)},
                  TUTTI_INTERPOSED(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"PMPIX_" #name, second_name<&Next::name>(&::MPIX_##name)},
                      TUTTI_INTERPOSED_EXTENSIONS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"PMPIX_" #name, second_name<&Next::X_##name>(ours.X_##name)},
                          TUTTI_INTERPOSED_INITS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"tutti_" #name, reinterpret_cast<void*>(&::tutti_##name)},
                              TUTTI_OWN_FUNCTIONS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
  };
  return {functions, static_cast<int>(sizeof functions / sizeof *functions)};
}
