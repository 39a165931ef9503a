#include "sides.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "clock.h"
#include "persistent.h"

namespace tutti::bench {

namespace {

std::uint64_t computed_ticks = 0;

/// A collective that is started and waited for, with the arguments of the blocking one.
template <auto start, auto wait, class Blocking>
struct Waited;

template <auto start, auto wait, class... Arguments>
struct Waited<start, wait, int (*)(Arguments...)> {
  static int call(Arguments... arguments) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(arguments..., &request);
    compute();
    return code == MPI_SUCCESS ? wait(&request, MPI_STATUS_IGNORE) : code;
  }
};

/// In the place of a wait: a program that asks again and again.
template <auto test>
int ask(MPI_Request* request, MPI_Status* status) {
  int code = MPI_SUCCESS;
  for (int flag = 0; !flag && code == MPI_SUCCESS;) code = test(request, &flag, status);
  return code;
}

}  // namespace

const Functions& functions_of(Side side, Form form) {
#define TUTTI_BENCH_ADDRESS(name, ...) &PMPI_##name,
  static const Functions host{TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_ADDRESS) TUTTI_BENCH_MESSAGES(TUTTI_BENCH_ADDRESS)};
#undef TUTTI_BENCH_ADDRESS
#define TUTTI_BENCH_ADDRESS(name, ...) &MPI_##name,
  static const Functions tutti{TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_ADDRESS) TUTTI_BENCH_MESSAGES(TUTTI_BENCH_ADDRESS)};
#undef TUTTI_BENCH_ADDRESS
#define TUTTI_BENCH_ADDRESS(name, started) &Waited<&PMPI_##started, &PMPI_Wait, decltype(&MPI_##name)>::call,
  static const Functions host_waited{TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_ADDRESS)};
#undef TUTTI_BENCH_ADDRESS
#define TUTTI_BENCH_ADDRESS(name, started) &Waited<&MPI_##started, &MPI_Wait, decltype(&MPI_##name)>::call,
  static const Functions tutti_waited{TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_ADDRESS)};
#undef TUTTI_BENCH_ADDRESS
#define TUTTI_BENCH_ADDRESS(name, started) &Waited<&PMPI_##started, &ask<&PMPI_Test>, decltype(&MPI_##name)>::call,
  static const Functions host_tested{TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_ADDRESS)};
#undef TUTTI_BENCH_ADDRESS
#define TUTTI_BENCH_ADDRESS(name, started) &Waited<&MPI_##started, &ask<&MPI_Test>, decltype(&MPI_##name)>::call,
  static const Functions tutti_tested{TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_ADDRESS)};
#undef TUTTI_BENCH_ADDRESS
  if (form == Form::kTested) return side == Side::kHost ? host_tested : tutti_tested;
  if (form == Form::kPersistent) return persistent_functions_of(side);
  if (form == Form::kNonblocking) return side == Side::kHost ? host_waited : tutti_waited;
  return side == Side::kHost ? host : tutti;
}

void compute_meanwhile(std::uint64_t ticks) {
  computed_ticks = ticks;
}

void compute() {
  if (computed_ticks == 0) return;
  const std::uint64_t start = Clock::ticks();
  while (Clock::ticks() - start < computed_ticks) {
  }
}

bool tutti_is_loaded() {
  // By name, not by the address in this program: that may be a stub of the linker.
  void* const function = dlsym(RTLD_DEFAULT, "MPI_Allreduce");
  Dl_info file{};
  return function && dladdr(function, &file) && std::strstr(file.dli_fname, "libtutti") != nullptr;
}

namespace {

/// The word behind `before` in `text`, up to one of `ends`; empty if there is none.
std::string word_behind(const std::string& text, const std::string& before, const char* ends) {
  const auto found = text.find(before);
  const auto begin = found == std::string::npos ? found : text.find_first_not_of(" \t", found + before.size());
  return begin == std::string::npos ? "" : text.substr(begin, text.find_first_of(ends, begin) - begin);
}

}  // namespace

std::string host_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  PMPI_Get_library_version(text, &length);
  std::string version(text, static_cast<std::size_t>(length));
  version = version.substr(0, version.find('\n'));
  if (const std::string word = word_behind(version, "MPICH Version:", " \t"); !word.empty()) return "MPICH " + word;
  if (const std::string word = word_behind(version, "Open MPI v", " \t,"); !word.empty()) return "Open MPI " + word;
  if (const std::string word = word_behind(version, "Intel(R) MPI Library ", " \t"); !word.empty())
    return "Intel MPI " + word;
  return version;
}

Choice last_choice() {
  using Function = int (*)(char*, int, char*, int);
  static const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "tutti_last_choice"));
  char algorithm[256] = "";
  char mechanism[256] = "";
  if (!function || function(algorithm, sizeof algorithm, mechanism, sizeof mechanism) != 0) return {};
  return {algorithm, mechanism};
}

bool set_choice(MPI_Comm communicator, const std::string& algorithm, const std::string& mechanism) {
  using Function = int (*)(MPI_Comm, const char*, const char*);
  static const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "tutti_set_choice"));
  forget_persistent();
  return function && function(communicator, algorithm.c_str(), mechanism.c_str()) == 0;
}

namespace {

/// Asks a function that fills a text and returns 0, or the room that it needs.
template <class Ask>
std::string text_of(Ask ask) {
  std::vector<char> text(4096);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const int needed = ask(text.data(), static_cast<int>(text.size()));
    if (needed == 0) return text.data();
    if (needed < 0) break;
    text.resize(static_cast<std::size_t>(needed));
  }
  return "";
}

}  // namespace

double Prediction::us_of(const std::string& name) const {
  const auto found = us.find(name);
  return found == us.end() ? -1 : found->second;
}

bool Prediction::rules_out(const std::string& name, double factor) const {
  const double mine = us_of(name);
  if (factor <= 0 || mine < 0) return false;
  const auto best = std::min_element(us.begin(), us.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return mine > factor * best->second;
}

Prediction predict(MPI_Comm communicator, const char* collective, std::size_t bytes) {
  using Function = int (*)(MPI_Comm, const char*, std::size_t, char*, int);
  static const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "tutti_predict"));
  Prediction prediction;
  prediction.chosen_bytes = bytes;
  if (!function) return prediction;
  std::istringstream lines(
      text_of([&](char* text, int room) { return function(communicator, collective, bytes, text, room); }));
  prediction.known = static_cast<bool>(lines >> prediction.levels >> prediction.ranks_per_core >> prediction.reach >>
                                       prediction.class_bytes >> prediction.nodes >> prediction.ranks_per_node);
  std::string name;
  for (double seconds = 0; lines >> name >> seconds;) prediction.us[name] = seconds * 1e6;
  return prediction;
}

std::vector<std::pair<std::string, std::string>> origin() {
  using Function = int (*)(char*, int);
  static const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "tutti_origin"));
  std::vector<std::pair<std::string, std::string>> named;
  if (!function) return named;
  const std::string line = text_of(function);
  if (line.empty()) return named;
  std::istringstream parts(line);
  for (const char* name : {"processor", "cores", "topology", "host", "host_version", "tutti"}) {
    std::string value;
    std::getline(parts, value, '\t');
    named.emplace_back(name, value);
  }
  return named;
}

}  // namespace tutti::bench
