#include "mpi/start/sources.h"

#include <utility>

namespace tutti::mpi {

Source source_of_table(std::string path, const selection::TableOrigin& origin) {
  std::string words = "measured with " + origin.host;
  if (!origin.host_version.empty()) words += " " + origin.host_version;
  if (!origin.date.empty()) words += ", " + origin.date;
  return {std::move(path), std::move(words)};
}

}  // namespace tutti::mpi
