// What makes this library the part for one ABI: libtutti.so loads it and takes these functions.

#include "preload/part.h"

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "lib/team.h"
#include "mpi/functions/interpose.h"
#include "mpi/functions/waits.h"
#include "mpi/host.h"
#include "mpi/report/profile.h"
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

/// What stands in front of that where calls are recorded (report/profile.h). second: of the function's second name.
template <auto member, bool second, profile::Arguments places, class Signature>
struct Recorded;

template <auto member, bool second, profile::Arguments places, class... Arguments>
struct Recorded<member, second, places, int(Arguments...)> {
  static inline int (*next_in_line)(Arguments...) = nullptr;

  // The return address is that of this function: it is called by a jump, and is nowhere inlined.
  [[gnu::noinline]] static int call(Arguments... arguments) {
    if (!profile::recording) return next_in_line(arguments...);
    profile::Call call((next.*member).name(), places.category, __builtin_return_address(0), __builtin_frame_address(0));
    look(call, std::tie(arguments...));
    return call.ended(next_in_line(arguments...));
  }

 private:
  template <class All>
  static void look(profile::Call& call, const All& all) {
    if constexpr (places.communicator >= 0) call.is_on(std::get<places.communicator>(all));
    if constexpr (places.peer >= 0) call.has_peer(std::get<places.peer>(all));
    if constexpr (places.root >= 0) call.has_root(std::get<places.root>(all));
    if constexpr (places.sends) call.does_send();
    if constexpr (places.in_place >= 0) {
      if (std::get<places.in_place>(all) == MPI_IN_PLACE)
        call.has(std::get<places.other_count>(all), std::get<places.other_datatype>(all));
      else
        call.has(std::get<places.count>(all), std::get<places.datatype>(all));
    } else if constexpr (places.count >= 0) {
      call.has(std::get<places.count>(all), std::get<places.datatype>(all));
    }
    if constexpr (places.may_be_compared) {
      if constexpr (places.operation >= 0)
        call.look_whether_to_compare(std::get<places.datatype>(all), std::get<places.operation>(all));
      else
        call.look_whether_to_compare();
    }
  }
};

template <class... Arguments>
constexpr int count_of(int (*)(Arguments...)) {
  return sizeof...(Arguments);
}

/// What the stub of a name leads to.
template <auto member, bool second, profile::Arguments places, class Signature>
void* in_front_of(Signature* ours) {
  using Each = Watched<member, Signature>;
  Signature* function = ours;
  Each::ours = ours;
  if ((next.*member).watched()) function = second ? &Each::by_second_name : &Each::by_first_name;
  if (!profile::wanted()) return reinterpret_cast<void*>(function);
  using Front = Recorded<member, second, places, Signature>;
  Front::next_in_line = function;
  return reinterpret_cast<void*>(&Front::call);
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
#define TUTTI_IN_FRONT(member, name, second, function)                                                                 \
  in_front_of<&Next::member, second, tutti::mpi::profile::arguments_of(#name, count_of(decltype(function)(nullptr)))>( \
      function)
  // In the order of the stubs (preload/stubs.S).
  static const tutti::preload::Function functions[] = {
#define TUTTI_FUNCTION(name) {"MPI_" #name, TUTTI_IN_FRONT(name, name, false, ours.name)},
      TUTTI_INTERPOSED(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"MPIX_" #name, TUTTI_IN_FRONT(name, name, false, &::MPIX_##name)},
          TUTTI_INTERPOSED_EXTENSIONS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"MPIX_" #name, TUTTI_IN_FRONT(X_##name, name, false, ours.X_##name)},
              TUTTI_INTERPOSED_INITS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"PMPI_" #name, TUTTI_IN_FRONT(name, name, true, ours.name)},
                  TUTTI_INTERPOSED(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"PMPIX_" #name, TUTTI_IN_FRONT(name, name, true, &::MPIX_##name)},
                      TUTTI_INTERPOSED_EXTENSIONS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"PMPIX_" #name, TUTTI_IN_FRONT(X_##name, name, true, ours.X_##name)},
                          TUTTI_INTERPOSED_INITS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"tutti_" #name, reinterpret_cast<void*>(&::tutti_##name)},
                              TUTTI_OWN_FUNCTIONS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
  };
  return {functions, static_cast<int>(sizeof functions / sizeof *functions)};
}
