#include "mpi/report/call_site.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace tutti::mpi {

namespace {

constexpr std::size_t frames_max = 24;
/// A program that generates code may have any number of sites; what comes later is taken for the last one.
constexpr std::size_t sites_max = 4096;

/// A function under way: where the one that it has called returns to, and an address on the stack above what lies there of
/// those that it has called.
struct Level {
  const void* return_address;
  const void* frame;
};
struct Levels {
  std::array<Level, 64> all;
  std::size_t count = 0;
};

_Unwind_Reason_Code take_level(_Unwind_Context* context, void* into) {
  auto& levels = *static_cast<Levels*>(into);
  if (levels.count == levels.all.size()) return _URC_END_OF_STACK;
  // NOLINTBEGIN(performance-no-int-to-ptr): addresses of code and of the stack
  levels.all[levels.count++] = {reinterpret_cast<const void*>(_Unwind_GetIP(context)),
                                reinterpret_cast<const void*>(_Unwind_GetCFA(context))};
  // NOLINTEND(performance-no-int-to-ptr)
  return _URC_NO_REASON;
}

Levels stack() {
  Levels levels;
  _Unwind_Backtrace(take_level, &levels);
  return levels;
}

/// From the one to which MPI's function returns.
std::vector<Level> from(const void* return_address, const Levels& levels) {
  std::size_t at = 0;
  while (at < levels.count && levels.all[at].return_address != return_address) ++at;
  if (at == levels.count) return {{return_address, nullptr}};
  return {levels.all.begin() + static_cast<std::ptrdiff_t>(at),
          levels.all.begin() + static_cast<std::ptrdiff_t>(levels.count)};
}

std::string_view file_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Of the MPI: through it calls of Fortran come.
bool is_of_mpi(const void* address) {
  Dl_info found{};
  if (!dladdr(address, &found) || !found.dli_fname) return false;
  const std::string_view file = file_of(found.dli_fname);
  for (const std::string_view prefix : {"libmpi", "libpmpi", "libfmpi"})
    if (file.starts_with(prefix)) return true;
  return false;
}

std::string demangled(const char* symbol) {
  int status = 0;
  char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 && text ? text : symbol;
  std::free(text);
  return name;
}

std::string path_of_program() {
  std::array<char, 4096> path;
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string();
}

CallSite::Frame frame_of(const void* address) {
  Dl_info found{};
  link_map* map = nullptr;
  // The call is before where it returns to, maybe in another function.
  const void* const call = static_cast<const char*>(address) - 1;
  if (!dladdr1(call, &found, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map)
    return {"", reinterpret_cast<std::uintptr_t>(address), ""};
  CallSite::Frame frame;
  frame.module = *map->l_name ? map->l_name : path_of_program();
  frame.offset = reinterpret_cast<std::uintptr_t>(address) - map->l_addr;
  if (found.dli_sname) frame.symbol = demangled(found.dli_sname);
  return frame;
}

std::vector<CallSite::Frame> frames_of(const std::vector<Level>& levels) {
  std::vector<CallSite::Frame> frames;
  for (const Level& level : levels) {
    if (frames.size() == frames_max || !level.return_address) break;
    frames.push_back(frame_of(level.return_address));
  }
  return frames;
}

/// What is asked of a Python that the process may have, by its own names (Python/C API reference, 3.9 and later).
struct Python {
  int (*is_initialized)();
  void* (*this_thread)();
  int (*ensure)();
  void (*release)(int);
  void* (*interpreter_of)(void* thread);
  void* (*first_thread)(void* interpreter);
  void* (*next_thread)(void* thread);
  void* (*frame)();
  void* (*code_of)(void* frame);
  int (*line_of)(void* frame);
  void* (*caller_of)(void* frame);
  void* (*attribute)(void* object, const char* name);
  const char* (*text)(void* object);
  void (*forget)(void* object);
  void (*clear_error)();

  template <class Function>
  static bool find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
    return function != nullptr;
  }
  bool find_all() {
    return find(is_initialized, "Py_IsInitialized") && find(this_thread, "PyGILState_GetThisThreadState") &&
           find(ensure, "PyGILState_Ensure") && find(release, "PyGILState_Release") &&
           find(interpreter_of, "PyThreadState_GetInterpreter") &&
           find(first_thread, "PyInterpreterState_ThreadHead") && find(next_thread, "PyThreadState_Next") &&
           find(frame, "PyEval_GetFrame") && find(code_of, "PyFrame_GetCode") &&
           find(line_of, "PyFrame_GetLineNumber") && find(caller_of, "PyFrame_GetBack") &&
           find(attribute, "PyObject_GetAttrString") && find(text, "PyUnicode_AsUTF8") && find(forget, "Py_DecRef") &&
           find(clear_error, "PyErr_Clear");
  }

  /// Null where none was loaded. A program that embeds one may load it late.
  static const Python* get() {
    static Python python;
    static bool is_there = false;
    static std::uint64_t asked = 0;
    if (!is_there && std::has_single_bit(++asked)) is_there = python.find_all();
    return is_there ? &python : nullptr;
  }
  /// Whether this thread runs Python, and no other does: then nobody holds the interpreter's lock whom taking it could wait for.
  bool may_be_asked() const {
    if (!is_initialized()) return false;
    void* const thread = this_thread();
    if (!thread) return false;
    void* const first = first_thread(interpreter_of(thread));
    return first == thread && !next_thread(first);
  }
  std::string text_of(void* object, const char* name) const {
    void* const value = attribute(object, name);
    const char* const found = value ? text(value) : nullptr;
    std::string copy = found ? found : "?";
    if (!found) clear_error();
    if (value) forget(value);
    return copy;
  }
  /// "file:line function", innermost first.
  std::vector<std::string> stack(void* innermost) const {
    std::vector<std::string> levels;
    void* at = innermost;
    while (at && levels.size() < frames_max) {
      void* const code = code_of(at);
      levels.push_back(text_of(code, "co_filename") + ':' + std::to_string(line_of(at)) + ' ' +
                       text_of(code, "co_name"));
      forget(code);
      void* const caller = caller_of(at);
      if (at != innermost) forget(at);
      at = caller;
    }
    if (at && at != innermost) forget(at);
    return levels;
  }
};

}  // namespace

std::uint32_t CallSites::add(CallSite&& site) {
  if (sites_.size() < sites_max) sites_.push_back(std::move(site));
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

std::uint32_t CallSites::in_program(const void* return_address) {
  Known& known = known_[return_address];
  if (known.site == none) known.site = add({{}, frames_of(from(return_address, stack()))});
  return known.site;
}

std::uint32_t CallSites::through_binding(Known& binding, const void* return_address, const void* above) {
  const auto* const words = static_cast<const void* const*>(above);
  if (binding.distance != 0) {
    const auto found = known_.find(words[binding.distance]);
    if (found != known_.end() && !found->second.is_binding && found->second.site != none) return found->second.site;
  }
  const std::vector<Level> levels = from(return_address, stack());
  std::size_t at = 0;
  while (at + 1 < levels.size() && is_of_mpi(levels[at].return_address)) ++at;
  const Level& program = levels[at];
  // Functions of a binding have frames of one size each, so that the next call finds the word where this one does.
  for (std::size_t word = 1; program.frame > static_cast<const void*>(words + word); ++word)
    if (words[word] == program.return_address) {
      binding.distance = word;
      break;
    }
  return in_program(program.return_address);
}

std::uint32_t CallSites::in_python(const void* return_address) {
  const Python* const python = Python::get();
  if (!python || !python->may_be_asked()) return none;
  const int state = python->ensure();
  std::uint32_t number = none;
  if (void* const frame = python->frame()) {
    void* const code = python->code_of(frame);
    const auto line = static_cast<std::uint64_t>(python->line_of(frame));
    const auto [place, is_new] =
        lines_of_python_.try_emplace(reinterpret_cast<std::uintptr_t>(code) ^ (line << 48), none);
    if (is_new) place->second = add({python->stack(frame), frames_of(from(return_address, stack()))});
    number = place->second;
    python->forget(code);
  }
  python->release(state);
  return number;
}

std::uint32_t CallSites::of(const void* return_address, const void* above) {
  if (const std::uint32_t line = in_python(return_address); line != none) return line;
  const auto [place, is_new] = known_.try_emplace(return_address);
  if (is_new) place->second.is_binding = is_of_mpi(return_address);
  if (place->second.is_binding) return through_binding(place->second, return_address, above);
  return place->second.site != none ? place->second.site : in_program(return_address);
}

}  // namespace tutti::mpi
