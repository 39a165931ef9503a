#include "mpi/site_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi/host.h"

namespace tutti::mpi {

namespace {

constexpr std::size_t file_bytes_max = std::size_t{16} << 20;

/// A file as rank 0 found it; equal on all ranks.
struct SiteFile {
  std::string path;   ///< empty: it is not there
  std::string text;   ///< its bytes
  std::string error;  ///< it is there but cannot be read: why, in words; `text` is empty then
};

/// Fills in what the file has, or why that cannot be had. False if there is no such file.
bool read_file(const std::string& path, SiteFile& file) {
  // To open a pipe would wait for somebody to write into it.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) return false;
  file.path = path;
  struct stat status {};
  std::FILE* stream = nullptr;
  const bool known = descriptor >= 0 && fstat(descriptor, &status) == 0;
  if (known && !S_ISREG(status.st_mode))
    file.error = S_ISDIR(status.st_mode) ? "it is a folder" : "it is not a regular file";
  else if (!known || !(stream = fdopen(descriptor, "rb")))
    file.error = std::strerror(errno);
  if (!stream) {
    if (descriptor >= 0) close(descriptor);
    return true;
  }
  std::array<char, 16384> part;
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), stream)) {
    file.text.append(part.data(), got);
    if (file.text.size() > file_bytes_max) break;
  }
  if (std::ferror(stream))
    file.error = std::strerror(errno);
  else if (file.text.size() > file_bytes_max)
    file.error = "it is larger than 16 MiB";
  std::fclose(stream);
  if (!file.error.empty()) file.text.clear();
  return true;
}

/// Rank 0's file, there or not. Collective.
SiteFile read_on_first_rank(const std::string& path) {
  int rank = 0;
  host.Comm_rank(MPI_COMM_WORLD, &rank);
  SiteFile file;
  if (rank == 0) read_file(path, file);
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

std::vector<std::string> site_paths(std::string_view name, const Settings& settings) {
  std::vector<std::string> paths;
  const char* const configuration = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  std::string folder;
  if (configuration && *configuration == '/')
    folder = configuration;
  else if (home && *home)
    folder = std::string(home) + "/.config";
  if (!folder.empty()) paths.push_back(folder + "/tutti/" + std::string(name));
  paths.push_back(settings.site + "/" + std::string(name));
  return paths;
}

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
