#include "mpi/agreed_settings.h"

#include <cstddef>
#include <cstring>
#include <vector>

#include "mpi/host.h"

extern char** environ;

namespace tutti::mpi {

Settings agreed_settings(int world_rank, Log& log) {
  constexpr std::size_t text_bytes = 8192;
  std::vector<char> text(text_bytes, '\0');
  if (world_rank == 0) {
    std::size_t used = 0;
    for (char** entry = environ; entry && *entry; ++entry) {
      const std::size_t length = std::strlen(*entry) + 1;
      if (std::strncmp(*entry, "TUTTI_", 6) != 0) continue;
      if (used + length + 1 > text_bytes) {
        log.warn("the TUTTI_ variables are longer than %zu bytes together; the rest is ignored", text_bytes);
        break;
      }
      std::memcpy(text.data() + used, *entry, length);
      used += length;
    }
  }
  host.Bcast(text.data(), text_bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<const char*> entries;
  for (const char* at = text.data(); *at; at += std::strlen(at) + 1) entries.push_back(at);
  entries.push_back(nullptr);
  return Settings::from_environment(entries.data(), log);
}

}  // namespace tutti::mpi
