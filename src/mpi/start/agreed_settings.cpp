#include "mpi/start/agreed_settings.h"

#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "mpi/host.h"

namespace tutti::mpi {

namespace {

constexpr std::size_t text_bytes = 8192;

}  // namespace

std::string own_variables(const Log& log) {
  std::string text;
  for (char** entry = environ; entry && *entry; ++entry) {
    if (std::strncmp(*entry, "TUTTI_", 6) != 0) continue;
    const std::size_t length = std::strlen(*entry) + 1;
    if (text.size() + length + 1 > text_bytes) {
      log.warn("the TUTTI_ variables are longer than %zu bytes together; the rest is ignored", text_bytes);
      break;
    }
    text.append(*entry, length);
  }
  return text;
}

std::string variables_of_first_rank(const std::string& own, int world_rank) {
  std::string text = world_rank == 0 ? own : std::string();
  text.resize(text_bytes);
  host.Bcast(text.data(), static_cast<int>(text_bytes), MPI_CHAR, 0, MPI_COMM_WORLD);
  const auto last = text.find_last_not_of('\0');
  text.resize(last == std::string::npos ? 0 : last + 2);
  return text;
}

Settings settings_from(const std::string& variables, const Log& log) {
  std::vector<const char*> entries;
  for (const char* at = variables.c_str(); *at; at += std::strlen(at) + 1) entries.push_back(at);
  entries.push_back(nullptr);
  return Settings::from_environment(entries.data(), log);
}

}  // namespace tutti::mpi
