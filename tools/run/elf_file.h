// What the dynamic loader would read of an ELF file. tutti/launch/elf.py reads more of them, and others.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::run {

/// A file, mapped to be read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Empty if it cannot be read.
  std::string_view text() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

struct ElfFile {
  std::vector<std::string> needed;
  std::vector<std::string> rpath, runpath;  ///< folders
  /// It mentions a symbol of an Open MPI.
  bool mentions_openmpi = false;
};

/// Nothing if it is no dynamic ELF file of this processor's 64 bits that can be understood.
std::optional<ElfFile> read_elf(const std::string& path);

}  // namespace tutti::run
