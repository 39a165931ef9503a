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

}  // namespace

std::vector<std::string> site_paths(std::string_view name) {
  std::vector<std::string> paths;
  const char* const configuration = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  std::string folder;
  if (configuration && *configuration == '/')
    folder = configuration;
  else if (home && *home)
    folder = std::string(home) + "/.config";
  if (!folder.empty()) paths.push_back(folder + "/tutti/" + std::string(name));
  paths.push_back("/etc/tutti/" + std::string(name));
  return paths;
}

std::vector<std::string> files_of_setting(const std::string& setting, std::string_view name) {
  if (setting == "off") return {};
  if (!setting.empty()) return {setting};
  std::vector<std::string> files = site_paths(name);
  std::erase_if(files, [](const std::string& path) { return access(path.c_str(), F_OK) != 0; });
  return files;
}

SiteFile read_on_first_rank(const std::vector<std::string>& paths) {
  int rank = 0;
  host.Comm_rank(MPI_COMM_WORLD, &rank);
  SiteFile file;
  if (rank == 0) {
    for (const std::string& path : paths)
      if (read_file(path, file)) break;
  }
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
