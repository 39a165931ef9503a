#include "elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/processor.h"

namespace tutti::run {

namespace {

/// The structure that stands at an offset of a file; false if it would lie beyond its end.
template <class Struct>
bool take(std::string_view file, std::size_t at, Struct& out) {
  if (at > file.size() || file.size() - at < sizeof out) return false;
  std::memcpy(&out, file.data() + at, sizeof out);
  return true;
}

std::optional<std::string> string_at(std::string_view file, std::size_t at) {
  if (at >= file.size()) return std::nullopt;
  const std::size_t end = file.find('\0', at);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(file.substr(at, end - at));
}

void add_folders(std::vector<std::string>& folders, std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) folders.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

struct Segments {
  std::vector<Elf64_Phdr> all;

  bool read(std::string_view file, const Elf64_Ehdr& header) {
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr each;
      if (!take(file, header.e_phoff + i * header.e_phentsize, each)) return false;
      all.push_back(each);
    }
    return true;
  }
  /// Where in the file an address is.
  std::optional<std::size_t> offset_of(Elf64_Addr address) const {
    for (const Elf64_Phdr& each : all)
      if (each.p_type == PT_LOAD && address - each.p_vaddr < each.p_filesz)
        return each.p_offset + (address - each.p_vaddr);
    return std::nullopt;
  }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status {};
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapped != MAP_FAILED) data_ = static_cast<const char*>(mapped), size_ = bytes;
  }
  close(descriptor);
}

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<char*>(data_), size_);
}

std::optional<ElfFile> read_elf(const std::string& path) {
  const MappedFile mapped(path);
  const std::string_view file = mapped.text();
  constexpr int order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  Elf64_Ehdr header;
  if (!take(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != order ||
      header.e_machine != processor::elf_machine)
    return std::nullopt;
  Segments segments;
  if (!segments.read(file, header)) return std::nullopt;
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& each : segments.all) {
    if (each.p_type != PT_DYNAMIC) continue;
    for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= each.p_filesz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      if (!take(file, each.p_offset + at, entry)) return std::nullopt;
      if (entry.d_tag == DT_NULL) break;
      entries.push_back(entry);
    }
  }
  std::optional<std::size_t> strings;
  std::size_t strings_bytes = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) strings = segments.offset_of(entry.d_un.d_ptr);
    if (entry.d_tag == DT_STRSZ) strings_bytes = entry.d_un.d_val;
  }
  if (!strings || *strings > file.size()) return std::nullopt;
  ElfFile found;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
    const auto text = string_at(file, *strings + entry.d_un.d_val);
    if (!text) return std::nullopt;
    if (entry.d_tag == DT_NEEDED) found.needed.push_back(*text);
    if (entry.d_tag == DT_RPATH) add_folders(found.rpath, *text);
    if (entry.d_tag == DT_RUNPATH) add_folders(found.runpath, *text);
  }
  constexpr std::string_view symbol("ompi_mpi_comm_world\0", 20);
  found.mentions_openmpi = file.substr(*strings, strings_bytes).find(symbol) != std::string_view::npos;
  return found;
}

}  // namespace tutti::run
