// Files that the user names.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tutti {

/// Contents of a file or pipe. Throws std::runtime_error, with the path and the reason, if it cannot be read, is a
/// folder, or goes on for more than 16 MiB, which is what the library reads of one.
inline std::string text_of_file(const std::string& path) {
  constexpr std::size_t bytes_max = std::size_t{16} << 20;
  const auto refuse = [&](const std::string& why) { throw std::runtime_error(path + " cannot be read: " + why); };
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) refuse(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) refuse("it is a folder");
  std::FILE* const stream = std::fopen(path.c_str(), "rbe");
  if (!stream) refuse(std::strerror(errno));
  std::string text;
  std::array<char, 16384> part;
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), stream)) {
    text.append(part.data(), got);
    if (text.size() > bytes_max) break;
  }
  const std::string problem = std::ferror(stream)       ? std::strerror(errno)
                              : text.size() > bytes_max ? "it is larger than 16 MiB"
                                                        : "";
  std::fclose(stream);
  if (!problem.empty()) refuse(problem);
  return text;
}

}  // namespace tutti
