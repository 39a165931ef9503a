#include "program.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "elf_file.h"

namespace tutti::run {

namespace {

bool is_executable(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// Name without ".so" and what follows; what follows, without a dot.
std::pair<std::string_view, std::string_view> split_name(std::string_view name) {
  const std::size_t at = name.find(".so");
  if (at == std::string_view::npos) return {name, {}};
  std::string_view version = name.substr(at + 3);
  if (version.starts_with('.')) version.remove_prefix(1);
  return {name.substr(0, at), version};
}

bool is_of_the_system(std::string_view stem) {
  static constexpr std::string_view names[] = {"libc",
                                               "libm",
                                               "libpthread",
                                               "libdl",
                                               "librt",
                                               "libgcc_s",
                                               "libstdc++",
                                               "libgfortran",
                                               "libquadmath",
                                               "ld-linux-x86-64",
                                               "ld-linux-aarch64",
                                               "ld64"};
  return std::find(std::begin(names), std::end(names), stem) != std::end(names);
}

/// May be a sanitizer's runtime.
bool looks_like_sanitizer(std::string_view stem) {
  return stem.ends_with("asan") || stem.ends_with("tsan") || stem.ends_with("lsan") || stem.ends_with("ubsan") ||
         stem.starts_with("libclang_rt");
}

/// Of a library whose name begins with libmpi, if it is one of the usual ones.
std::optional<Abi> abi_of(std::string_view stem, std::string_view version) {
  if (stem == "libmpi_abi" && version == "1") return Abi::standard;
  if (stem == "libmpi" && version == "40") return Abi::openmpi;
  if ((stem == "libmpi_mpifh" || stem == "libmpi_usempif08" || stem == "libmpi_usempi_ignore_tkr" ||
       stem == "libmpi_cxx") &&
      version == "40")
    return Abi::openmpi;
  if ((stem == "libmpi" || stem == "libmpifort" || stem == "libmpicxx") && version == "12") return Abi::mpich;
  if ((stem == "libmpich" || stem == "libmpichfort" || stem == "libmpichcxx") && version == "12") return Abi::mpich;
  return std::nullopt;
}

/// Where the loader looks for libraries by name, as in its cache: of files that it does not find in folders.
class LoaderCache {
 public:
  template <class Visit>
  void for_each(std::string_view name, Visit visit) const {
    const std::string_view data = file_.text();
    const std::size_t begin = data.find("glibc-ld.so.cache1.1");
    if (begin == std::string_view::npos) return;
    const std::string_view table = data.substr(begin);
    std::uint32_t count = 0;
    if (table.size() < header_bytes) return;
    std::memcpy(&count, table.data() + 20, sizeof count);
    for (std::size_t i = 0; i < count; ++i) {
      Entry entry;
      const std::size_t at = header_bytes + i * sizeof entry;
      if (at + sizeof entry > table.size()) return;
      std::memcpy(&entry, table.data() + at, sizeof entry);
      if (entry.name >= table.size() || entry.path >= table.size()) continue;
      const char* const text = table.data() + entry.name;
      if (name == std::string_view(text, strnlen(text, table.size() - entry.name)))
        visit(std::string(table.data() + entry.path, strnlen(table.data() + entry.path, table.size() - entry.path)));
    }
  }

 private:
  struct Entry {
    std::int32_t flags;
    std::uint32_t name, path, version;
    std::uint64_t capabilities;
  };
  static constexpr std::size_t header_bytes = 48;

  MappedFile file_{"/etc/ld.so.cache"};
};

/// Follows what a program needs, breadth first as the loader does.
class Libraries {
 public:
  /// The ABI of the first MPI library; nothing where something is not plain. `found` stays false without one.
  std::optional<Abi> walk(const std::string& path, ElfFile program, bool& found) {
    const bool mentions_openmpi = program.mentions_openmpi;
    queue_.push_back({path, std::move(program), {}});
    Abi abi = Abi::any;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const Entered current = queue_[i];
      for (const std::string& name : current.elf.needed) {
        if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) continue;
        seen_.push_back(name);
        const auto [stem, version] = split_name(base_name(name));
        if (looks_like_sanitizer(stem)) return std::nullopt;
        if (stem.starts_with("libmpi")) {
          const std::optional<Abi> its = abi_of(stem, version);
          if (!its || (*its == Abi::mpich && mentions_openmpi)) return std::nullopt;
          if (!found) abi = *its;
          found = true;
        } else if (!is_of_the_system(stem)) {
          enter(current, name);
        }
      }
    }
    return abi;
  }

 private:
  struct Entered {
    std::string path;
    ElfFile elf;
    std::vector<std::string> inherited;  ///< rpath of those that led here
  };

  std::vector<std::string> folders_of(const Entered& current) const {
    std::vector<std::string> folders;
    if (current.elf.runpath.empty()) {
      folders = current.elf.rpath;
      folders.insert(folders.end(), current.inherited.begin(), current.inherited.end());
    }
    if (const char* const paths = std::getenv("LD_LIBRARY_PATH")) {
      std::string part;
      for (const char* at = paths;; ++at) {
        if (*at && *at != ':' && *at != ';') {
          part += *at;
          continue;
        }
        if (!part.empty()) folders.push_back(std::exchange(part, {}));
        if (!*at) break;
      }
    }
    folders.insert(folders.end(), current.elf.runpath.begin(), current.elf.runpath.end());
    const std::string file = real_path(current.path);
    const std::string origin = file.substr(0, file.rfind('/'));
    for (std::string& folder : folders)
      for (const std::string_view word : {std::string_view("${ORIGIN}"), std::string_view("$ORIGIN")})
        for (std::size_t at = 0; (at = folder.find(word, at)) != std::string::npos; at += origin.size())
          folder.replace(at, word.size(), origin);
    return folders;
  }

  void enter(const Entered& current, const std::string& name) {
    std::vector<std::string> candidates;
    if (name.find('/') != std::string::npos)
      candidates.push_back(name);
    else
      for (const std::string& folder : folders_of(current)) candidates.push_back(folder + "/" + name);
    cache_.for_each(name, [&](std::string path) { candidates.push_back(std::move(path)); });
    for (const char* folder : {"/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"}) candidates.push_back(folder + name);
    for (std::string& candidate : candidates) {
      std::optional<ElfFile> elf = read_elf(candidate);
      if (!elf) continue;
      std::vector<std::string> inherited = current.inherited;
      inherited.insert(inherited.end(), current.elf.rpath.begin(), current.elf.rpath.end());
      queue_.push_back({std::move(candidate), std::move(*elf), std::move(inherited)});
      return;
    }
  }

  std::vector<Entered> queue_;
  std::vector<std::string> seen_;
  LoaderCache cache_;
};

bool is_python(std::string_view path) {
  std::string_view base = base_name(path);
  while (!base.empty() && std::string_view("0123456789.").find(base.back()) != std::string_view::npos)
    base.remove_suffix(1);
  return base == "python" || base == "pypy";
}

/// The loader may ignore LD_PRELOAD for it.
bool may_be_secure(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || (status.st_mode & (S_ISUID | S_ISGID))) return true;
  return geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

}  // namespace

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string find_program(std::string_view name) {
  if (name.find('/') == std::string_view::npos) {
    const char* const given = std::getenv("PATH");
    std::string_view path = given ? given : "/bin:/usr/bin";
    for (bool more = true; more;) {
      const std::size_t end = path.find(':');
      more = end != std::string_view::npos;
      std::string candidate(path.substr(0, end));
      if (!candidate.empty() && candidate.back() != '/') candidate += '/';
      candidate += name;
      if (is_executable(candidate)) return candidate;
      if (more) path.remove_prefix(end + 1);
    }
  }
  // Launchers look in the working folder, too.
  const std::string here = name.find('/') == std::string_view::npos ? "./" + std::string(name) : std::string(name);
  return !name.empty() && is_executable(here) ? here : std::string();
}

std::string real_path(const std::string& path) {
  char* const found = realpath(path.c_str(), nullptr);
  std::string real = found ? found : path;
  std::free(found);
  return real;
}

std::optional<Abi> inspect_program(const std::string& path) {
  std::optional<ElfFile> elf = read_elf(path);
  if (!elf || may_be_secure(path)) return std::nullopt;
  bool has_mpi = false;
  const std::optional<Abi> abi = Libraries().walk(path, std::move(*elf), has_mpi);
  // Others may have an MPI linked in, or none, of which there is something to say.
  return abi && (has_mpi || is_python(path)) ? abi : std::nullopt;
}

}  // namespace tutti::run
