#include "sides.h"

#include <dlfcn.h>

#include <cstring>
#include <regex>

namespace tutti::bench {

const Functions& functions_of(Side side) {
#define TUTTI_BENCH_ADDRESS(name) &PMPI_##name,
  static const Functions host{TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_ADDRESS)};
#undef TUTTI_BENCH_ADDRESS
#define TUTTI_BENCH_ADDRESS(name) &MPI_##name,
  static const Functions tutti{TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_ADDRESS)};
#undef TUTTI_BENCH_ADDRESS
  return side == Side::kHost ? host : tutti;
}

bool tutti_is_loaded() {
  // By name, not by the address in this program: that may be a stub of the linker.
  void* own = dlsym(RTLD_DEFAULT, "MPI_Allreduce");
  void* host = dlsym(RTLD_DEFAULT, "PMPI_Allreduce");
  Dl_info own_file{};
  Dl_info host_file{};
  if (!own || !host || !dladdr(own, &own_file) || !dladdr(host, &host_file)) return false;
  return own_file.dli_fbase != host_file.dli_fbase && std::strstr(own_file.dli_fname, "tutti") != nullptr;
}

std::string host_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  PMPI_Get_library_version(text, &length);
  std::string version(text, static_cast<std::size_t>(length));
  version = version.substr(0, version.find('\n'));
  std::smatch found;
  if (std::regex_search(version, found, std::regex(R"(MPICH Version:\s*(\S+))"))) return "MPICH " + found.str(1);
  if (std::regex_search(version, found, std::regex(R"(Open MPI v([0-9][^\s,]*))"))) return "Open MPI " + found.str(1);
  if (std::regex_search(version, found, std::regex(R"(Intel\(R\) MPI Library (\S+))")))
    return "Intel MPI " + found.str(1);
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
  return function && function(communicator, algorithm.c_str(), mechanism.c_str()) == 0;
}

}  // namespace tutti::bench
