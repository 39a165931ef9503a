#include "mpi/site_files.h"

#include <array>
#include <cstdint>

#include "mpi/host.h"

namespace tutti::mpi {

SiteFile read_on_first_rank(const std::vector<std::string>& paths) {
  int rank = 0;
  host.Comm_rank(MPI_COMM_WORLD, &rank);
  SiteFile file;
  for (std::size_t i = 0; rank == 0 && file.path.empty() && i < paths.size(); ++i) file = read_site_file(paths[i]);
  std::array<std::uint64_t, 3> lengths{file.path.size(), file.text.size(), file.error.size()};
  host.Bcast(lengths.data(), sizeof lengths, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (lengths[0] == 0) return {};
  std::string all = file.path + file.text + file.error;
  all.resize(lengths[0] + lengths[1] + lengths[2]);
  host.Bcast(all.data(), static_cast<int>(all.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  file.path = all.substr(0, lengths[0]);
  file.text = all.substr(lengths[0], lengths[1]);
  file.error = all.substr(lengths[0] + lengths[1]);
  return file;
}

}  // namespace tutti::mpi
