// libxpmem.so.0 for tests where there is no kernel module: the documented calls, between processes, in user space.
//
// A process exposes itself with one large memfd, its pool. Whoever attaches to a range of it asks by a signal, and the
// owner then moves the private pages of that range to the pool, in place: it copies them and maps the copy over them,
// while its other threads stand still. The peer maps the same bytes by /proc/<pid>/fd. So any memory can be attached:
// heap, stack, static data. What is attached stays what it was when the owner unmaps it, as pinned pages do.
//
//   XPMEM_STAND_IN_LOG      a file that gets a line of counts from each process that removes its segment
//   XPMEM_STAND_IN_REFUSE   "get" or "attach": these calls fail
//
// Limits: children that the owner forks share what was moved; the main thread must take signals.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct xpmem_addr {
  std::int64_t apid;
  off_t offset;
};

namespace {

constexpr std::size_t page_bytes = 4096;
/// Room between what is moved to the pool, so that a mapping can grow.
constexpr std::uint64_t spacing_bytes = std::uint64_t{1} << 30;
constexpr off_t pool_bytes = off_t{1} << 46;
constexpr int fd_bits = 20;

/// First page of the pool.
struct Mailbox {
  std::atomic<int> taken;  ///< a peer is asking
  std::atomic<int> state;  ///< 1: please move begin..end; 2: done
  std::atomic<std::uint64_t> begin, end;
};

Mailbox* own = nullptr;
int pool = -1;
std::uint64_t pool_used = spacing_bytes;
struct sigaction old_request, old_park;

std::atomic<long> makes, removes, gets, releases, attaches, detaches;

int request_signal() {
  return SIGRTMIN + 9;
}
int park_signal() {
  return SIGRTMIN + 10;
}

bool refuses(const char* call) {
  const char* const text = std::getenv("XPMEM_STAND_IN_REFUSE");
  return text && std::strcmp(text, call) == 0;
}

// --- the owner, in a signal handler: system calls only ---

/// A whole file of /proc, with a zero behind it.
char* slurp(const char* path, char* buffer, std::size_t room) {
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  std::size_t used = 0;
  while (file >= 0 && used + 1 < room) {
    const ssize_t got = read(file, buffer + used, room - used - 1);
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  if (file >= 0) close(file);
  buffer[used] = '\0';
  return buffer;
}

struct Mapping {
  std::uint64_t begin = 0, end = 0, offset = 0;
  bool readable = false, writable = false, shared = false, special = false, stack = false;
  dev_t device = 0;
  ino_t inode = 0;
};

/// The next line of a maps file; false at its end.
bool next_mapping(char*& text, Mapping& mapping) {
  if (!*text) return false;
  mapping.begin = std::strtoull(text, &text, 16);
  mapping.end = std::strtoull(text + 1, &text, 16);
  mapping.readable = text[1] == 'r';
  mapping.writable = text[2] == 'w';
  mapping.shared = text[4] == 's';
  mapping.offset = std::strtoull(text + 6, &text, 16);
  const auto major = static_cast<unsigned>(std::strtoul(text + 1, &text, 16));
  const auto minor = static_cast<unsigned>(std::strtoul(text + 1, &text, 16));
  mapping.device = makedev(major, minor);
  mapping.inode = std::strtoull(text + 1, &text, 10);
  char* const end = std::strchr(text, '\n');
  const char* const name = std::strstr(text, "[v");  // [vdso], [vvar], [vsyscall]
  mapping.special = name && name < end;
  const char* const stack = std::strstr(text, "[stack]");
  mapping.stack = stack && stack < end;
  text = end ? end + 1 : text + std::strlen(text);
  return true;
}

std::atomic<int> parked{0};
std::atomic<int> parking{0};

void park(int) {
  ++parked;
  while (parking.load() != 0) {
  }
  --parked;
}

/// Calls `visit` for every other thread of this process.
template <class Visit>
void other_threads(Visit visit) {
  struct Entry {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  alignas(8) static char buffer[64 * 1024];
  const int folder = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY));
  for (long got; (got = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;)
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      at += entry->length;
      const int thread = std::atoi(entry->name);
      if (thread > 0 && thread != getpid()) visit(thread);
    }
  close(folder);
}

/// Whether a thread would take the signal.
bool takes_signal(int thread, int number) {
  static char text[8192];
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
  const char* const blocked = std::strstr(slurp(path, text, sizeof text), "SigBlk:");
  return blocked && !((std::strtoull(blocked + 7, nullptr, 16) >> (number - 1)) & 1);
}

/// What is moved does not grow: a stack keeps a part below that does.
void leave_room_to_grow(const Mapping& stack) {
  constexpr std::uint64_t room_bytes = 256 * 1024;
  static_cast<void>(*reinterpret_cast<const volatile char*>(stack.begin - room_bytes));
}

void move_to_pool(const Mapping& mapping) {
  const std::uint64_t begin = mapping.begin, bytes = mapping.end - mapping.begin;
  const std::uint64_t at = pool_used;
  pool_used += (bytes / spacing_bytes + 1) * spacing_bytes;
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t wrote =
        pwrite(pool, reinterpret_cast<const void*>(begin + done), bytes - done, static_cast<off_t>(at + done));
    if (wrote <= 0) return;
    done += static_cast<std::uint64_t>(wrote);
  }
  // Not by mmap(): it is interposed, and nothing is lost here.
  syscall(SYS_mmap, begin, bytes, mapping.writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_FIXED, pool,
          at);
}

void on_request(int) {
  const int error = errno;
  if (own && own->state.load() == 1) {
    parking = 1;
    int asked = 0;
    other_threads([&](int thread) {
      if (takes_signal(thread, park_signal()) && syscall(SYS_tgkill, getpid(), thread, park_signal()) == 0) ++asked;
    });
    const std::time_t start = std::time(nullptr);
    while (parked.load() < asked && std::time(nullptr) < start + 3) sched_yield();
    static char text[4 << 20];
    char* at = slurp("/proc/self/maps", text, sizeof text);
    const std::uint64_t begin = own->begin, end = own->end;
    for (Mapping mapping; next_mapping(at, mapping);) {
      if (mapping.end <= begin || mapping.begin >= end || !mapping.readable || mapping.shared || mapping.special)
        continue;
      if (mapping.stack) leave_room_to_grow(mapping);
      mapping.begin = mapping.begin > begin ? mapping.begin : begin;
      mapping.end = mapping.end < end ? mapping.end : end;
      move_to_pool(mapping);
    }
    parking = 0;
    while (parked.load() > 0) sched_yield();
    own->state = 2;
  }
  errno = error;
}

// --- the peer ---

struct Grant {
  int process = 0;
  Mailbox* mailbox = nullptr;
};
std::mutex mutex;
std::vector<Grant> grants;
std::map<void*, std::size_t> attached;

/// While it lives, nobody else asks: what is being moved is not seen whole in /proc.
struct Turn {
  explicit Turn(Mailbox& mailbox) : mailbox(mailbox) {
    for (int free = 0; !mailbox.taken.compare_exchange_weak(free, getpid()); free = 0) sched_yield();
  }
  ~Turn() { mailbox.taken = 0; }
  Mailbox& mailbox;
};

bool ask_to_move(const Grant& grant, std::uint64_t begin, std::uint64_t end) {
  grant.mailbox->begin = begin;
  grant.mailbox->end = end;
  grant.mailbox->state = 1;
  bool good = syscall(SYS_tgkill, grant.process, grant.process, request_signal()) == 0;
  const std::time_t start = std::time(nullptr);
  while (good && grant.mailbox->state.load() != 2) {
    usleep(20);
    good = std::time(nullptr) < start + 20;
  }
  return good;
}

/// A descriptor of the file that another process has mapped, which it must have open; -1 if it has not.
int open_mapped(int process, const Mapping& mapping) {
  char folder[64];
  std::snprintf(folder, sizeof folder, "/proc/%d/fd", process);
  DIR* const entries = opendir(folder);
  int found = -1;
  for (const dirent* entry; entries && found < 0 && (entry = readdir(entries));) {
    char path[400];
    std::snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    struct stat state {};
    if (stat(path, &state) == 0 && state.st_ino == mapping.inode && state.st_dev == mapping.device)
      found = open(path, O_RDWR | O_CLOEXEC);
  }
  if (entries) closedir(entries);
  if (found >= 0) return found;
  // Shared memory without a descriptor: for the privileged only.
  char path[128];
  std::snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", process,
                static_cast<unsigned long long>(mapping.begin), static_cast<unsigned long long>(mapping.end));
  return open(path, O_RDWR | O_CLOEXEC);
}

void* map_peer(const Grant& grant, std::uint64_t begin, std::size_t bytes) {
  auto* const reserved =
      static_cast<char*>(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (reserved == MAP_FAILED) return MAP_FAILED;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/maps", grant.process);
  static char text[4 << 20];
  char* at = slurp(path, text, sizeof text);
  for (Mapping mapping; next_mapping(at, mapping);) {
    if (mapping.end <= begin || mapping.begin >= begin + bytes || !mapping.shared) continue;
    const std::uint64_t from = mapping.begin > begin ? mapping.begin : begin;
    const std::uint64_t to = mapping.end < begin + bytes ? mapping.end : begin + bytes;
    const int file = open_mapped(grant.process, mapping);
    if (file < 0) {
      std::fprintf(stderr, "xpmem stand-in: shared memory of process %d at %llx cannot be opened\n", grant.process,
                   static_cast<unsigned long long>(from));
      continue;
    }
    mmap(reserved + (from - begin), to - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
         static_cast<off_t>(mapping.offset + from - mapping.begin));
    close(file);
  }
  madvise(reserved, bytes, MADV_DONTFORK);
  return reserved;
}

}  // namespace

EXPORT int xpmem_version() {
  return 0x26;
}

EXPORT std::int64_t xpmem_make(void* begin, std::size_t bytes, int, void*) {
  if (begin || bytes != SIZE_MAX || own) {
    errno = EINVAL;
    return -1;
  }
  pool = memfd_create("xpmem-stand-in", MFD_CLOEXEC);
  if (pool < 0 || ftruncate(pool, pool_bytes) != 0) return -1;
  own = static_cast<Mailbox*>(mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pool, 0));
  constexpr std::size_t stack_bytes = 256 * 1024;
  stack_t stack{};
  stack.ss_size = stack_bytes;
  stack.ss_sp = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  action.sa_handler = on_request;
  sigaddset(&action.sa_mask, park_signal());
  sigaction(request_signal(), &action, &old_request);
  action.sa_flags = SA_RESTART;
  action.sa_handler = park;
  sigaction(park_signal(), &action, &old_park);
  ++makes;
  return (std::int64_t{getpid()} << fd_bits) | pool;
}

EXPORT int xpmem_remove(std::int64_t) {
  ++removes;
  if (const char* const path = std::getenv("XPMEM_STAND_IN_LOG")) {
    char line[256];
    const int length =
        std::snprintf(line, sizeof line, "process %d: make %ld remove %ld get %ld release %ld attach %ld detach %ld\n",
                      static_cast<int>(getpid()), makes.load(), removes.load(), gets.load(), releases.load(),
                      attaches.load(), detaches.load());
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0 && write(file, line, static_cast<std::size_t>(length)) != length) return -1;
    if (file >= 0) close(file);
  }
  return 0;
}

EXPORT std::int64_t xpmem_get(std::int64_t segment, int flags, int, void*) {
  if (flags != 2 || refuses("get")) {
    errno = EACCES;
    return -1;
  }
  Grant grant;
  grant.process = static_cast<int>(segment >> fd_bits);
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", grant.process, static_cast<int>(segment & ((1 << fd_bits) - 1)));
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return -1;
  grant.mailbox = static_cast<Mailbox*>(mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  const std::lock_guard lock(mutex);
  grants.push_back(grant);
  ++gets;
  return static_cast<std::int64_t>(grants.size() - 1);
}

EXPORT int xpmem_release(std::int64_t apid) {
  const std::lock_guard lock(mutex);
  munmap(grants.at(static_cast<std::size_t>(apid)).mailbox, page_bytes);
  ++releases;
  return 0;
}

EXPORT void* xpmem_attach(xpmem_addr address, std::size_t bytes, void*) {
  const auto begin = static_cast<std::uint64_t>(address.offset);
  const std::lock_guard lock(mutex);
  const Grant& grant = grants.at(static_cast<std::size_t>(address.apid));
  const Turn turn(*grant.mailbox);
  if (begin % page_bytes != 0 || bytes % page_bytes != 0 || refuses("attach") ||
      !ask_to_move(grant, begin, begin + bytes)) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  void* const mapped = map_peer(grant, begin, bytes);
  if (mapped == MAP_FAILED) return mapped;
  attached[mapped] = bytes;
  ++attaches;
  return mapped;
}

EXPORT int xpmem_detach(void* at) {
  const std::lock_guard lock(mutex);
  const auto found = attached.find(at);
  if (found == attached.end()) {
    errno = EINVAL;
    return -1;
  }
  munmap(at, found->second);
  attached.erase(found);
  ++detaches;
  return 0;
}
