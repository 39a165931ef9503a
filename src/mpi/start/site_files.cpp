#include "mpi/start/site_files.h"

#include <array>
#include <cstdint>

#include "base/site_files.h"
#include "mpi/host.h"

namespace tutti::mpi {

namespace {

/// Rank 0's file, there or not. Collective.
SiteFile read_on_first_rank(const std::string& path) {
  int rank = 0;
  host.Comm_rank(MPI_COMM_WORLD, &rank);
  SiteFile file;
  if (rank == 0) file = read_site_file(path);
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

/// Why a file does not fit some node; empty if it fits all. Collective.
std::string agreed_misfit(const std::string& here) {
  int fits = here.empty() ? 1 : 0;
  int all_fit = 0;
  host.Allreduce(&fits, &all_fit, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all_fit) return "";
  return here.empty() ? "it does not fit the other nodes of this job" : here;
}

}  // namespace

std::string first_usable(const std::vector<std::string>& paths, int count, const FileKind& kind,
                         const std::function<Judgement(const std::string& text)>& judge, const Log& log) {
  std::string misfit;
  int misfits = 0;
  bool any = false;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const SiteFile file = read_on_first_rank(at < paths.size() ? paths[at] : "");
    if (file.path.empty()) continue;  // gone since the folder was listed, or not there at all
    any = true;
    const Judgement found = file.error.empty() ? judge(file.text) : Judgement{file.error, ""};
    if (!found.broken.empty()) {
      log.warn("%s: %s; %s", file.path.c_str(), found.broken.c_str(), i + 1 < count ? "it is not used" : kind.instead);
      continue;
    }
    const std::string why = agreed_misfit(found.misfit);
    if (why.empty()) return file.path;
    if (misfits++ == 0) misfit = file.path + ": " + why;
  }
  const std::string others = misfits > 2   ? " (nor do " + std::to_string(misfits - 1) + " others)"
                             : misfits > 1 ? " (nor does another)"
                                           : "";
  if (misfits > 0)
    log.warn("%s%s; %s", misfit.c_str(), others.c_str(), kind.instead);
  else if (!any && !kind.named.empty() && kind.named != "off")
    log.warn("%s: there is no file \"%s\"; %s", kind.variable, kind.named.c_str(), kind.instead);
  return "";
}

}  // namespace tutti::mpi
