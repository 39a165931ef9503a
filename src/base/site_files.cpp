#include "base/site_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace tutti {

namespace {

constexpr std::size_t file_bytes_max = std::size_t{16} << 20;
/// A folder with more has lost its purpose; every start of every program reads them.
constexpr std::size_t tables_max = 32;

/// Where to look for `name`: in the user's folder, then in the site's.
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

/// Files *.json of a folder, by name.
std::vector<std::string> tables_in(const std::string& folder) {
  std::vector<std::string> paths;
  DIR* const stream = opendir(folder.c_str());
  if (!stream) return paths;
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name(entry->d_name);
    if (name.ends_with(".json") && name.front() != '.') paths.push_back(folder + "/" + std::string(name));
  }
  closedir(stream);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

SiteFile read_site_file(const std::string& path) {
  // To open a pipe would wait for somebody to write into it.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) return {};
  SiteFile file{path, "", ""};
  struct stat status {};
  std::FILE* stream = nullptr;
  const bool known = descriptor >= 0 && fstat(descriptor, &status) == 0;
  if (known && !S_ISREG(status.st_mode))
    file.error = S_ISDIR(status.st_mode) ? "it is a folder" : "it is not a regular file";
  else if (!known || !(stream = fdopen(descriptor, "rb")))
    file.error = std::strerror(errno);
  if (!stream) {
    if (descriptor >= 0) close(descriptor);
    return file;
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
  return file;
}

std::vector<std::string> probe_files(const Settings& settings) {
  if (settings.probe == "off") return {};
  if (!settings.probe.empty()) return {settings.probe};
  std::vector<std::string> paths = site_paths("probe.json", settings);
  std::erase_if(paths, [](const std::string& path) { return access(path.c_str(), F_OK) != 0; });
  return paths;
}

std::vector<std::string> table_files(const Settings& settings) {
  if (settings.decision_table == "off") return {};
  if (!settings.decision_table.empty()) return {settings.decision_table};
  std::vector<std::string> paths;
  for (const std::string& folder : site_paths("tables", settings))
    for (std::string& path : tables_in(folder)) paths.push_back(std::move(path));
  if (paths.size() > tables_max) paths.resize(tables_max);
  return paths;
}

}  // namespace tutti
