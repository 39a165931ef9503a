// MPI's functions for collectives, in all forms: blocking, nonblocking and persistent, with int and with MPI_Count. They are
// made of one description of each collective, which is a class with
//
//   template <class Form> static bool describe(Form& form, ...);
//
// The arguments behind the form are those of the blocking function, with MPI_Count for counts; `form` (mpi/requests/form.h)
// is given what they mean, and carries the call out or starts it. False if the call is the host's. The functions have the
// arguments of mpi.h, so that no prototype is written out: what is handed over to libtutti.so are pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "mpi/functions/interpose.h"
#include "mpi/requests/form.h"

namespace tutti::mpi {

/// For the handler of whatever a collective of the core has thrown: what guarded() returns, and the code. Exceptions of the
/// program go on.
bool ended_by_exception(MPI_Comm communicator, const char* const& function, int& code);

/// Runs a collective of the core that sets `code`. function: of MPI. If the ranks turn out to be in different calls, the error
/// handler of the communicator is called as the host would for too little room. If it is because the program has revoked the
/// communicator, the call becomes the host's, which has an error of its own for it. An error of the host in a message
/// between nodes is that of the call, and of all later ones. What else goes wrong, before others wait for this rank or when
/// they do so no more, is an error of this rank's.
template <class Run>
bool guarded(MPI_Comm communicator, const char* const& function, int& code, Run&& run) {
  try {
    return run();
  } catch (...) {
    return ended_by_exception(communicator, function, code);
  }
}

/// A call of one of the functions.
struct FunctionCall {
  const void* function;  ///< its NextFunction
  const char* const& name;
  MPI_Comm communicator;
  MPI_Request* request = nullptr;  ///< null also if the call is blocking

  /// describe(form): as above. by_host(): by the host's function. Returns a code of the host.
  template <class Form, class Describe, class ByHost>
  int run(const Describe& describe, const ByHost& by_host) const {
    const std::uint64_t begin = explain::counting ? explain::begin_call() : 0;
    int code = MPI_SUCCESS;
    const bool ours = !is_to_be_compared<Form>(begin != 0) && is_ours<Form>(describe, code);
    if (!ours) code = by_host();
    if (begin) [[unlikely]]
      explain::end_call(communicator, function, begin, code);
    if (!ours)
      refusal = Refusal::arguments;
    else if constexpr (!Form::is_pending)
      host_turns.after_call();
    return code;
  }

 private:
  /// Whether the host carries it out for the profile.
  template <class Form>
  static bool is_to_be_compared(bool is_counted) {
    if constexpr (Form::is_pending) return false;
    const profile::Call* const call = is_counted ? profile::Call::current() : nullptr;
    return call && call->is_for_comparison() && !refuse(Refusal::comparison);
  }

  template <class Form, class Describe>
  bool is_ours(const Describe& describe, int& code) const {
    if constexpr (Form::is_pending) {
      CommunicatorState* const state =
          request ? state_to_start_on(communicator, std::is_same_v<Form, Persistent>) : nullptr;
      return state && guarded(communicator, name, code, [&] {
               Form form(communicator, *state);
               if (!describe(form)) return false;
               code = form.hand_over(request);
               return true;
             });
    } else {
      requests.drive();
      Form form(code);
      return guarded(communicator, name, code, [&] { return describe(form); });
    }
  }
};

/// The same of a function that starts something, compiled once a form: describe(arguments, form), by_host(arguments).
template <class Form>
[[gnu::noinline]] int run_started(const FunctionCall& call, const void* arguments,
                                  bool (*describe)(const void* arguments, Form& form),
                                  int (*by_host)(const void* arguments)) {
  return call.run<Form>([&](Form& form) { return describe(arguments, form); }, [&] { return by_host(arguments); });
}

/// A blocking function.
template <class Form, auto member, class Description, class... Arguments>
struct CollectiveFunction {
  static int call(Arguments... arguments) {
    const MPI_Comm communicator = std::get<sizeof...(arguments) - 1>(std::tie(arguments...));
    return FunctionCall{&(next.*member), (next.*member).name(), communicator}.run<Form>(
        [&](Form& form) { return Description::describe(form, arguments...); },
        [&] {
          // An operation among ours that is the host's, and that the host may refuse.
          given_to_host(communicator);
          const int code = started_by_host(next.*member, arguments...);
          if (code != MPI_SUCCESS) [[unlikely]]
            refused_by_host(communicator);
          return code;
        });
  }
};

/// A function that starts something: behind the communicator stand an MPI_Info, if it is persistent, and the request.
template <class Form, auto member, class Description, class... Arguments>
requires(Form::is_pending) struct CollectiveFunction<Form, member, Description, Arguments...> {
  static int call(Arguments... arguments) {
    const All all(arguments...);
    return run_started<Form>(
        {&(next.*member), (next.*member).name(), std::get<described - 1>(all), std::get<sizeof...(arguments) - 1>(all)},
        &all, &describe, &by_host);
  }

 private:
  using All = std::tuple<Arguments...>;
  static constexpr std::size_t described = sizeof...(Arguments) - (std::is_same_v<Form, Persistent> ? 2 : 1);

  static bool describe(const void* all, Form& form) {
    return [&]<std::size_t... place>(std::index_sequence<place...>) {
      return Description::describe(form, std::get<place>(*static_cast<const All*>(all))...);
    }
    (std::make_index_sequence<described>());
  }
  static int by_host(const void* all) {
    return std::apply([](auto... arguments) { return started_by_host(next.*member, arguments...); },
                      *static_cast<const All*>(all));
  }
};

template <class Form, auto member, class Description, class... Arguments>
void set_function(int (*&function)(Arguments...)) {
  function = &CollectiveFunction<Form, member, Description, Arguments...>::call;
}

// Where there are `functions`: sets all of a collective, whose blocking and nonblocking names are given. One of these for
// those without counts.
#define TUTTI_SET_FUNCTIONS(name, nonblocking, suffix, Description)                                  \
  set_function<Blocking, &Next::name##suffix, Description>(functions.name##suffix);                  \
  set_function<Nonblocking, &Next::nonblocking##suffix, Description>(functions.nonblocking##suffix); \
  set_function<Persistent, &Next::name##_init##suffix, Description>(functions.name##_init##suffix)
#define TUTTI_COLLECTIVE_WITHOUT_COUNTS(name, nonblocking, Description) \
  TUTTI_SET_FUNCTIONS(name, nonblocking, , Description);                \
  set_function<Persistent, &Next::X_##name##_init, Description>(functions.X_##name##_init)
#define TUTTI_COLLECTIVE(name, nonblocking, Description)           \
  TUTTI_COLLECTIVE_WITHOUT_COUNTS(name, nonblocking, Description); \
  TUTTI_SET_FUNCTIONS(name, nonblocking, _c, Description)

}  // namespace tutti::mpi
