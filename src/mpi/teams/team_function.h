// Collectives of teams, made of the same descriptions as MPI's (mpi/functions/collective_function.h). The arguments are
// those of MPI's function, with a team in the place of the communicator.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lib/team.h"
#include "mpi/arguments/datatypes.h"
#include "mpi/requests/form.h"
#include "mpi/teams/team.h"

namespace tutti::mpi {

// Each sets some of them.
void add_bcast(TUTTI_Team_functions& functions);
void add_reductions(TUTTI_Team_functions& functions);
void add_blocks(TUTTI_Team_functions& functions);

/// A blocking call of a thread.
class OnTeam : public Blocking {
 public:
  OnTeam(int& code, TeamThread& thread) : Blocking(code), thread_(thread) {}

  Collectives* collectives(MPI_Comm) const { return thread_.state().collectives.get(); }
  template <class Count>
  static bool refuse_count(Count count, MPI_Comm) {
    return refuse(count == 0 ? Refusal::nothing : Refusal::arguments);
  }

  template <class Arguments, class Before, class After>
  bool run(MPI_Comm communicator, Collectives& collectives, const Arguments& arguments, const Shown&, bool too_long,
           Before&& before, After&& after) {
    return carry_out(communicator, collectives, arguments, too_long, before, after, [](const Collectives::Done&) {});
  }

 private:
  TeamThread& thread_;
};

/// A call of a team's function by a thread.
class TeamCall {
 public:
  TeamCall(TUTTI_Team team, const char* function)
      : thread_(attached(reinterpret_cast<const Team*>(team))), function_(function) {}

  /// describe(form): false if the call cannot be carried out. Returns a code of the host, after the error handler.
  template <class Describe>
  int run(const Describe& describe) {
    if (!thread_) return not_attached();
    const int result = guarded([&](int& code) {
      OnTeam form(code, *thread_);
      return describe(form);
    });
    thread_->count_call();
    return result;
  }
  template <class Describe>
  int start(TUTTI_Request* handle, const Describe& describe) {
    if (!thread_) return not_attached();
    return guarded([&](int&) {
      if (!thread_->may_start()) return refuse(Refusal::nodes);
      Starting form(*thread_);
      return describe(static_cast<Nonblocking&>(form)) && form.start(handle);
    });
  }
  MPI_Comm communicator() const { return thread_->communicator(); }
  bool is_alone() const { return thread_ && thread_->is_alone(); }

 private:
  class Starting : public Nonblocking {
   public:
    explicit Starting(TeamThread& thread)
        : Nonblocking(thread.team().communicator(), thread.state(), Driven::by_waits), thread_(thread) {}
    bool start(TUTTI_Request* handle);

   private:
    TeamThread& thread_;
  };
  /// part(code): whether it was carried out.
  template <class Part>
  int guarded(const Part& part) {
    int code = MPI_SUCCESS;
    const HostOutOfReach none(!thread_->may_call_host);
    refusal = Refusal::arguments;
    try {
      thread_->begin_call();
      if (!part(code)) code = code_of_refusal();
      thread_->end_call();
    } catch (...) {
      code = code_of_exception();
    }
    return code == MPI_SUCCESS ? code : raised(code);
  }
  int not_attached() const;
  int code_of_refusal() const;
  int code_of_exception() const;
  int raised(int code) const;

  TeamThread* const thread_;  ///< null: it has not attached
  const char* const function_;
};

/// An argument for the function of MPI with counts of type int, where lists have one entry.
template <class Argument>
struct OfOneRank {
  Argument argument;
  operator Argument() const { return argument; }  // NOLINT(google-explicit-constructor)
};
template <class Large>
requires(std::is_same_v<Large, MPI_Count> || std::is_same_v<Large, MPI_Aint>) struct OfOneRank<Large> {
  Large argument;
  operator int() const {  // NOLINT(google-explicit-constructor)
    return static_cast<int>(std::clamp<Large>(argument, -1, INT_MAX));
  }
};
template <class Large>
requires(std::is_same_v<Large, MPI_Count> || std::is_same_v<Large, MPI_Aint>) struct OfOneRank<const Large*> {
  explicit OfOneRank(const Large* list) : first(OfOneRank<Large>{*list}) {}
  operator const int*() const { return &first; }  // NOLINT(google-explicit-constructor)
  int first;
};

/// member: MPI's own blocking function, for teams of one rank.
template <class Description, auto member, bool starts, class... Arguments>
struct TeamFunction {
  static constexpr std::size_t described = sizeof...(Arguments) - (starts ? 2 : 1);
  static inline const char* name = "";

  static int call(Arguments... arguments) {
    const std::tuple<Arguments...> all(arguments...);
    TeamCall call(std::get<described>(all), name);
    const auto describe = [&](auto& form) {
      return [&]<std::size_t... place>(std::index_sequence<place...>) {
        return Description::describe(form, std::get<place>(all)..., call.communicator());
      }
      (std::make_index_sequence<described>());
    };
    if (call.is_alone()) [[unlikely]] {
      if constexpr (starts) *std::get<described + 1>(all) = TUTTI_REQUEST_NULL;
      return [&]<std::size_t... place>(std::index_sequence<place...>) {
        return (next.*member)(OfOneRank<std::tuple_element_t<place, std::tuple<Arguments...>>>{std::get<place>(all)}...,
                              call.communicator());
      }
      (std::make_index_sequence<described>());
    }
    if constexpr (starts)
      return call.start(std::get<described + 1>(all), describe);
    else
      return call.run(describe);
  }
};

template <class Description, auto member, bool starts, class... Arguments>
void set_team_function(int (*&function)(Arguments...), const char* name) {
  using Each = TeamFunction<Description, member, starts, Arguments...>;
  Each::name = name;
  function = &Each::call;
}

// Where there are `functions`: sets a collective of teams, and its nonblocking form. Member: MPI's.
#define TUTTI_TEAM_COLLECTIVE(name, Member, Description)                                     \
  set_team_function<Description, &Next::Member, false>(functions.name, "TUTTI_Team_" #name); \
  set_team_function<Description, &Next::Member, true>(functions.i##name, "TUTTI_Team_i" #name)

}  // namespace tutti::mpi
