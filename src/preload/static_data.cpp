// Which pages are static data, what has to be so that they can be taken, and the interposed functions that may unload
// some or would use it in a forked child before it is there.
#include "preload/static_data.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/no_signals.h"
#include "memory/pages.h"
#include "preload/next_definition.h"
#include "preload/process_window.h"
#include "preload/unmap.h"

namespace tutti::memory {

namespace {

const char* reason = "";

/// Writable segments of one object.
struct Object {
  struct Segment {
    std::uintptr_t begin, end;
  };
  std::vector<Segment> segments;
  bool library = false;
};

/// What is private memory, open for reading and writing, in pages that follow each other.
struct Stretch {
  std::uintptr_t begin, end;
  std::uintptr_t file_end;  ///< up to there pages come from the object's file
  bool library;
};

bool is_in(const dl_phdr_info& info, std::uintptr_t address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && address - (info.dlpi_addr + part.p_vaddr) < part.p_memsz) return true;
  }
  return false;
}

/// What runs in a forked child before its static data is back: this library, the C library, the loader. Before version
/// 2.34 the C library is in several files.
bool runs_in_fork(const dl_phdr_info& info) {
  if (info.dlpi_addr == getauxval(AT_BASE) || is_in(info, reinterpret_cast<std::uintptr_t>(&reason))) return true;
  for (const char* name : {"fork", "pthread_create", "dlopen"})
    if (is_in(info, reinterpret_cast<std::uintptr_t>(dlsym(RTLD_NEXT, name)))) return true;
  return false;
}

/// The MPI keeps no buffers of programs in its own data, which with Intel MPI are 160 MiB, nearly all never touched.
bool is_the_mpi(const dl_phdr_info& info) {
  void* const function = dlsym(RTLD_NEXT, "PMPI_Init");
  return function && is_in(info, reinterpret_cast<std::uintptr_t>(function));
}

int add_object(dl_phdr_info* info, std::size_t, void* context) {
  auto& objects = *static_cast<std::vector<Object>*>(context);
  // Smaller ones of libraries hold no arrays to speak of, and each would cost every fork something.
  constexpr std::size_t least_of_library = std::size_t{64} << 10;
  Object object;
  object.library = info->dlpi_name && *info->dlpi_name;
  if (runs_in_fork(*info) || (object.library && is_the_mpi(*info))) return 0;
  std::size_t bytes = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_W)) continue;
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    object.segments.push_back({begin / page_bytes() * page_bytes(), round_up(begin + part.p_memsz, page_bytes())});
    bytes += part.p_memsz;
  }
  if (!object.library || bytes >= least_of_library) objects.push_back(std::move(object));
  return 0;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// A number of /proc/self/status; -1 if it does not say.
long status_of(const char* name) {
  const File status(std::fopen("/proc/self/status", "re"));
  char line[256];
  while (status && std::fgets(line, sizeof line, status.get()))
    if (std::strncmp(line, name, std::strlen(name)) == 0) {
      long value = -1;
      std::sscanf(line + std::strlen(name), ": %ld", &value);
      return value;
    }
  return -1;
}

/// A line of /proc/self/maps.
struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  char access[5] = {};
  unsigned long inode = 0;  ///< 0: of no file

  bool read_next(std::FILE* maps) {
    char line[512];
    while (std::fgets(line, sizeof line, maps)) {
      const bool is_mapping = std::sscanf(line, "%lx-%lx %4s %*x %*s %lu", &begin, &end, access, &inode) == 4;
      // Names may be longer than there is room for.
      while (!std::strchr(line, '\n') && std::fgets(line, sizeof line, maps)) {
      }
      if (is_mapping) return true;
    }
    return false;
  }
};

/// What of the objects is still as the loader has made it. Pages that are closed after relocation are not writable,
/// those that the program has protected or mapped over are not either, or shared.
std::vector<Stretch> find_stretches(const std::vector<Object>& objects) {
  std::vector<Stretch> stretches;
  const File maps(std::fopen("/proc/self/maps", "re"));
  Mapping mapping;
  while (maps && mapping.read_next(maps.get())) {
    if (std::strcmp(mapping.access, "rw-p") != 0) continue;
    for (const Object& object : objects)
      for (const Object::Segment& segment : object.segments) {
        const std::uintptr_t from = std::max(mapping.begin, segment.begin), to = std::min(mapping.end, segment.end);
        if (from >= to) continue;
        const std::uintptr_t file_end = mapping.inode ? to : from;
        Stretch* const last = stretches.empty() ? nullptr : &stretches.back();
        if (last && last->end == from && last->library == object.library) {
          last->end = to;
          last->file_end = std::max(last->file_end, file_end);
        } else {
          stretches.push_back({from, to, file_end, object.library});
        }
      }
  }
  return stretches;
}

/// The pages of a stretch that hold something. Those that come from the file all count.
class Touched {
 public:
  Touched(const Stretch& stretch, int page_map) : stretch_(stretch), page_map_(page_map) {}

  /// As Window::TakenOver wants it. By system calls alone.
  static bool next(std::uintptr_t& begin, std::uintptr_t& end, void* self) {
    auto& touched = *static_cast<Touched*>(self);
    const Stretch& stretch = touched.stretch_;
    if (begin < stretch.file_end) {
      end = stretch.file_end;
      return true;
    }
    return begin < stretch.end && (touched.kernel_scans_ ? touched.scan(begin, end) : touched.read(begin, end));
  }

 private:
  static constexpr std::uint64_t present = 1 << 3, swapped = 1 << 4;  ///< as a scan has them
  struct Region {
    std::uint64_t begin, end, categories;
  };
  /// Of the call that Linux has since 6.7, in the kernel's order: it steps over what has no page tables.
  struct Scan {
    std::uint64_t size, flags, begin, end, walked_to, regions, region_count, most_pages;
    std::uint64_t inverted, all_of, any_of, wanted;
  };

  bool scan(std::uintptr_t& begin, std::uintptr_t& end) {
    Region region{};
    Scan scan{sizeof scan,
              0,
              begin,
              stretch_.end,
              0,
              reinterpret_cast<std::uintptr_t>(&region),
              1,
              0,
              0,
              0,
              present | swapped,
              present | swapped};
    const long found = syscall(SYS_ioctl, page_map_, _IOWR('f', 16, Scan), &scan);
    if (found < 0) {
      kernel_scans_ = false;
      return read(begin, end);
    }
    begin = region.begin;
    end = region.end;
    return found > 0;
  }
  bool read(std::uintptr_t& begin, std::uintptr_t& end) {
    for (; begin < stretch_.end && !is_touched(begin); begin += page_bytes()) {
    }
    for (end = begin; end < stretch_.end && is_touched(end); end += page_bytes()) {
    }
    return begin < end;
  }
  bool is_touched(std::uintptr_t address) {
    if (address < known_ || address - known_ >= count_ * page_bytes()) look(address);
    constexpr std::uint64_t present_or_swapped = std::uint64_t{3} << 62;
    return (entries_[(address - known_) / page_bytes()] & present_or_swapped) != 0;
  }
  void look(std::uintptr_t address) {
    known_ = address;
    count_ = std::min<std::size_t>(std::size(entries_), (stretch_.end - address) / page_bytes());
    const std::size_t bytes = count_ * sizeof *entries_;
    if (syscall(SYS_pread64, page_map_, entries_, bytes,
                static_cast<off_t>(address / page_bytes() * sizeof *entries_)) == static_cast<long>(bytes))
      return;
    std::fill(std::begin(entries_), std::end(entries_), ~std::uint64_t{0});
  }

  Stretch stretch_;
  int page_map_;
  bool kernel_scans_ = true;
  std::uintptr_t known_ = 0;  ///< of the first entry
  std::size_t count_ = 0;
  std::uint64_t entries_[4096];
};

/// Nobody else writes to the pages meanwhile: no thread, no handler of a signal, and the kernel has been given nothing
/// to write to later.
const char* why_not_now() {
  const long threads = status_of("Threads");
  if (threads < 0) return "/proc is not there, which tells what static data is, and whether threads use it";
  if (threads > 1) return "there are threads before MPI_Init, which may write to it while it is copied";
  if (status_of("VmLck") > 0 || status_of("VmPin") > 0) return "the program has locked memory";
  return "";
}

void take(Window& window) {
  std::vector<Object> objects;
  dl_iterate_phdr(add_object, &objects);
  const std::vector<Stretch> stretches = find_stretches(objects);
  const int page_map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  std::uint64_t entry = 0;
  if (page_map < 0 || pread(page_map, &entry, sizeof entry, 0) != sizeof entry) {
    if (page_map >= 0) close(page_map);
    reason = "/proc/self/pagemap cannot be read";
    return;
  }
  const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  {
    const NoSignals none;
    for (const Stretch& stretch : stretches) {
      // Coroutines may have their stacks there.
      if (stack - stretch.begin < stretch.end - stretch.begin) continue;
      Touched touched(stretch, page_map);
      window.take_over({stretch.begin, stretch.end, stretch.library, Touched::next, &touched});
    }
  }
  close(page_map);
  if (!window.spans().touches(nullptr, UINTPTR_MAX)) reason = "the window has no room for it";
}

/// How many objects have been loaded and unloaded.
struct Loads {
  unsigned long long loaded = 0, unloaded = 0;

  static Loads now() {
    Loads loads;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* context) {
          *static_cast<Loads*>(context) = {info->dlpi_adds, info->dlpi_subs};
          return 1;
        },
        &loads);
    return loads;
  }
};

// Whether the window's pages are still there, in a span of which a library may have been unloaded.

/// If nothing was loaded meanwhile: the loader knows. MPIs unload dozens of components when they start, and to read what is
/// mapped takes a fraction of a millisecond.
bool is_loaded(const WindowSpans::Span& span, void*) {
  return dl_iterate_phdr(
             [](dl_phdr_info* info, std::size_t, void* context) {
               const auto& of = *static_cast<const WindowSpans::Span*>(context);
               for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
                 const ElfW(Phdr)& part = info->dlpi_phdr[i];
                 const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
                 if (part.p_type == PT_LOAD && begin < of.end && of.begin < begin + part.p_memsz) return 1;
               }
               return 0;
             },
             const_cast<WindowSpans::Span*>(&span)) != 0;
}
/// Else: a library has taken them along, whatever lies there now.
bool is_mapped(const WindowSpans::Span& span, void* window) {
  struct stat file {};
  const File maps(std::fopen("/proc/self/maps", "re"));
  if (!maps || fstat(static_cast<Window*>(window)->descriptor(), &file) != 0) return false;
  Mapping mapping;
  while (mapping.read_next(maps.get()))
    if (mapping.begin < span.end && span.begin < mapping.end && mapping.inode == file.st_ino) return true;
  return false;
}
bool was_not_unloaded(const WindowSpans::Span&, void*) {
  return true;
}

}  // namespace

void take_static_data() {
  static std::atomic<bool> tried{false};
  Window* const window = process_window();
  if (!window || tried.exchange(true)) return;
  reason = why_not_now();
  if (!*reason) take(*window);
}

const char* why_no_static_data() noexcept {
  return reason;
}

}  // namespace tutti::memory

extern "C" __attribute__((visibility("default"))) int dlclose(void* handle) noexcept {
  using namespace tutti::memory;
  static auto* const next = next_definition<int(void*)>("dlclose");
  Window* const window = process_window();
  const bool has_spans = window && window->spans().touches(nullptr, UINTPTR_MAX);
  if (!has_spans && !unmapping::watched()) return next(handle);
  const Loads before = Loads::now();
  if (has_spans) window->before_unloading();
  const int result = next(handle);
  const Loads after = Loads::now();
  const bool is_unloaded = after.unloaded != before.unloaded;
  const auto is_there = !is_unloaded ? was_not_unloaded : after.loaded == before.loaded ? is_loaded : is_mapped;
  if (has_spans) window->after_unloading(is_there, window);
  if (is_unloaded) unmapping::changed_somewhere();
  return result;
}

/// What pthread_atfork calls, which is a part of each program and library.
extern "C" __attribute__((visibility("default"))) int __register_atfork(void (*prepare)(), void (*parent)(),
                                                                        void (*child)(), void* object) noexcept {
  using Function = int(void (*)(), void (*)(), void (*)(), void*);
  static auto* const next = tutti::memory::next_definition<Function>("__register_atfork");
  tutti::memory::serving::handle_forks();
  return next(prepare, parent, child, object);
}
