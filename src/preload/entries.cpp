// Where the stubs (stubs.S) lead: to the part for the process's MPI, or past it.
//
// At first all entries lead here. The first call of MPI finds out which MPI it is meant for, loads the part for it, and
// sets the entries, so that later calls go straight there. Three kinds of call go on asking: those that begin to use an
// MPI, which may be another one; functions that the MPI does not have; and, where a process uses two MPIs, all. Calls by
// second names also ask where they come from, once for each page of code.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "preload/callers.h"
#include "preload/find_mpi.h"
#include "preload/functions.h"
#include "preload/offered_names.h"
#include "preload/part.h"
#include "preload/process_window.h"

// Of stubs.S, in the order of the list.
extern "C" __attribute__((visibility("hidden"))) std::atomic<void*> tutti_entries[];
extern "C" __attribute__((visibility("hidden"))) void* const tutti_first_calls[];
// Of those that have second names: the first MPI's own.
extern "C" __attribute__((visibility("hidden"))) std::atomic<void*> tutti_host_functions[];
extern "C" __attribute__((visibility("hidden"))) std::atomic<std::uint64_t> tutti_callers[TUTTI_CALLERS];

namespace tutti::preload {

namespace {

constexpr const char* names[] = {
#define TUTTI_NAME(name) "MPI_" #name,
    TUTTI_INTERPOSED(TUTTI_NAME)
#undef TUTTI_NAME
#define TUTTI_NAME(name) "MPIX_" #name,
        TUTTI_INTERPOSED_EXTENSIONS(TUTTI_NAME) TUTTI_INTERPOSED_INITS(TUTTI_NAME)
#undef TUTTI_NAME
#define TUTTI_NAME(name) "PMPI_" #name,
            TUTTI_INTERPOSED(TUTTI_NAME)
#undef TUTTI_NAME
#define TUTTI_NAME(name) "PMPIX_" #name,
                TUTTI_INTERPOSED_EXTENSIONS(TUTTI_NAME) TUTTI_INTERPOSED_INITS(TUTTI_NAME)
#undef TUTTI_NAME
#define TUTTI_NAME(name) "tutti_" #name,
                    TUTTI_OWN_FUNCTIONS(TUTTI_NAME)
#undef TUTTI_NAME
};
constexpr std::size_t count = sizeof names / sizeof *names;
#define TUTTI_ONE(name) +1
/// The functions that have two names. First come the first names, then in the same order the second ones.
constexpr std::size_t twice =
    0 TUTTI_INTERPOSED(TUTTI_ONE) TUTTI_INTERPOSED_EXTENSIONS(TUTTI_ONE) TUTTI_INTERPOSED_INITS(TUTTI_ONE);
#undef TUTTI_ONE

bool is_second_name(std::size_t index) {
  return index >= twice && index < 2 * twice;
}

bool is_our_own(const char* name) {
  return std::strncmp(name, "tutti_", 6) == 0;
}

/// Whether with this function a program begins to use an MPI.
bool begins(const char* name) {
  if (*name == 'P') ++name;
  for (const char* each : {"MPI_Init", "MPI_Init_thread", "MPI_Comm_create_from_group"})
    if (std::strcmp(name, each) == 0) return true;
  return false;
}

/// Whether a part is to know of the MPI's own calls of a function, too: while a communicator is freed, functions of the
/// program run.
bool frees(const char* name) {
  return std::strcmp(name, "MPI_Comm_free") == 0 || std::strcmp(name, "MPI_Comm_disconnect") == 0;
}

/// In place of our own functions where there is no part: the callers take it for "not known".
int not_known() {
  return -1;
}

/// An MPI that the process uses, and where its calls go; null for functions that it does not have.
struct Target {
  Mpi mpi;
  void* functions[count] = {};
};

/// Of the code of a loaded object.
struct Caller {
  const void* object;
  const Target* target;
};

struct State {
  std::mutex mutex;
  std::deque<Target> targets;
  std::vector<Caller> callers;
  /// The one that a part is for, from before it is asked for its functions.
  const Mpi* served = nullptr;
};
State& state() {
  static State& all = *new State;  // never destroyed: MPI may be called at the very end of the process
  return all;
}

[[noreturn]] void end_process(const std::string& why) {
  Log().error("%s", why.c_str());
  std::_Exit(127);  // as the loader would
}

/// Whether no launcher says that another process of its job comes first.
bool is_first_of_job() {
  for (const char* variable : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* const rank = std::getenv(variable)) return std::strcmp(rank, "0") == 0;
  return true;
}

const char* name_of(Abi abi) {
  switch (abi) {
    case Abi::openmpi:
      return "openmpi";
    case Abi::mpich:
      return "mpich";
    case Abi::standard:
      return "abi";
    case Abi::unknown:
      break;
  }
  return "";
}

/// The file of a part, beside this library. Where that is the loader knows, also if the program has changed its folder.
std::string file_of_part(Abi abi) {
  Dl_info own{};
  char folder[PATH_MAX] = ".";
  if (dladdr(reinterpret_cast<void*>(&file_of_part), &own) && own.dli_fname)
    if (void* const handle = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) dlinfo(handle, RTLD_DI_ORIGIN, folder);
  return std::string(folder) + "/libtutti-" + name_of(abi) + ".so";
}

bool takes(Target& target, const Functions& given) {
  if (given.count != static_cast<int>(count)) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (std::strcmp(given.begin[i].name, names[i]) != 0) return false;
  for (std::size_t i = 0; i < count; ++i)
    // What the MPI does not have is not there with us either.
    if (target.functions[i]) target.functions[i] = given.begin[i].address;
  return true;
}

/// Puts the part for the MPI in front of it. Empty, or why it stays as it is.
std::string serve(Target& target) {
  const Abi abi = abi_of(target.mpi);
  if (abi == Abi::unknown) return "its ABI is not known";
  if (started_by_another(target.mpi)) return "the launcher is that of another MPI";
  const std::string file = file_of_part(abi);
  if (access(file.c_str(), R_OK) != 0) return file + " is not there";
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return dlerror();
  Part* part = nullptr;
  void* const found = dlsym(handle, "tutti_part");
  std::memcpy(&part, &found, sizeof found);
  if (!part || !takes(target, part())) return file + " is of another build than libtutti.so";
  return "";
}

bool is_switched_on(const char* setting) {
  const char* const text = std::getenv(setting);
  return text && *text && !memory::says_no(text);
}

/// The functions of the first MPI of the process.
void set_first(Target& target) {
  for (std::size_t i = 0; i < count; ++i)
    target.functions[i] = is_our_own(names[i]) ? reinterpret_cast<void*>(&not_known) : host_function(names[i]);
  for (std::size_t i = 0; i < twice; ++i)
    tutti_host_functions[i].store(target.functions[twice + i], std::memory_order_relaxed);
  // A part that does nothing still counts the calls.
  if (memory::switched_off_by_user() && !is_switched_on("TUTTI_EXPLAIN")) {
    if (is_first_of_job() && is_switched_on("TUTTI_VERBOSE")) Log(-1, true).note("switched off by TUTTI_ENABLE=0");
    return;
  }
  const std::string why = serve(target);
  for (std::size_t i = 0; i < twice; ++i)
    if (frees(names[i])) tutti_host_functions[i].store(target.functions[twice + i], std::memory_order_relaxed);
  if (why.empty()) return offer_names(host_function);
  memory::serve_no_more();
  if (is_first_of_job()) Log().warn("every call is left to the MPI (%s): %s", target.mpi.file.c_str(), why.c_str());
}

/// Those of another one, which are its own: there is one part, for the first.
void set_other(Target& target) {
  for (std::size_t i = 0; i < count; ++i)
    target.functions[i] =
        is_our_own(names[i]) ? reinterpret_cast<void*>(&not_known) : dlsym(target.mpi.handle, names[i]);
}

/// Sends the calls to the first MPI without asking again; or, if there is a second one, all of them here.
void set_entries(const State& all) {
  const bool alone = all.targets.size() == 1;
  const Target& first = all.targets.front();
  for (std::size_t i = 0; i < count; ++i) {
    const bool straight = alone && first.functions[i] && !begins(names[i]);
    tutti_entries[i].store(straight ? first.functions[i] : tutti_first_calls[i], std::memory_order_release);
  }
}

/// Null if there is no MPI for this caller. anew: where it was found before may have been unloaded since.
const Target* target_for(State& all, const void* caller, bool anew) {
  const void* const object = object_of(caller);
  if (anew) std::erase_if(all.callers, [&](const Caller& each) { return each.object == object; });
  for (const Caller& each : all.callers)
    if (each.object == object) return each.target;
  Mpi mpi = find_mpi(caller);
  if (!mpi.handle) return nullptr;
  const Target* target = nullptr;
  for (const Target& each : all.targets)
    if (each.mpi.base == mpi.base) target = &each;
  if (!target) {
    Target& made = all.targets.emplace_back();
    made.mpi = std::move(mpi);
    if (all.targets.size() == 1) {
      all.served = &made.mpi;
      set_first(made);
    } else {
      set_other(made);
    }
    set_entries(all);
    target = &made;
  }
  all.callers.push_back({object, target});
  return target;
}

/// Whether a call by a second name is the first MPI's own business. What is found is kept for the other calls of its
/// page: code of one page is of one object.
bool is_inner_call(const State& all, const Target& target, const void* caller) {
  const bool inner = &target == &all.targets.front() && is_own_code(target.mpi, caller);
  const std::uint64_t page = reinterpret_cast<std::uintptr_t>(caller) >> TUTTI_PAGE_BITS;
  // After the functions that the stubs take for it.
  tutti_callers[page % TUTTI_CALLERS].store(2 * page + inner, std::memory_order_release);
  return inner;
}

}  // namespace

void* host_function(const char* name) {
  void* const address = dlsym(RTLD_NEXT, name);
  const Mpi* const mpi = state().served;
  return address || !mpi ? address : dlsym(mpi->handle, name);
}

void* host_object(const char* name) {
  void* const address = dlsym(RTLD_DEFAULT, name);
  const Mpi* const mpi = state().served;
  return address || !mpi ? address : dlsym(mpi->handle, name);
}

}  // namespace tutti::preload

using namespace tutti::preload;

/// Where the call through `entry` goes. Called by the stubs alone; `caller`: the code that it returns to.
extern "C" __attribute__((visibility("hidden"))) void* tutti_resolve(const std::atomic<void*>* entry,
                                                                     const void* caller) {
  const auto index = static_cast<std::size_t>(entry - tutti_entries);
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const Target* const target = target_for(all, caller, begins(names[index]));
  if (!target) {
    if (is_our_own(names[index])) return reinterpret_cast<void*>(&not_known);
    end_process(std::string(names[index]) +
                " was called, but no MPI library is loaded in this process; run it without LD_PRELOAD of tutti");
  }
  const bool inner = is_second_name(index) && is_inner_call(all, *target, caller);
  void* const function = inner ? tutti_host_functions[index - twice].load() : target->functions[index];
  if (!function) end_process("undefined symbol: " + target->mpi.file + " has no " + names[index]);
  return function;
}
