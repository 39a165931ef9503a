// Whether shared memory has huge pages is the system's setting for memfds, which is off almost everywhere, but each
// mount's own for tmpfs. Everybody may mount one in a namespace of their own. So a child goes into such a namespace,
// mounts, and opens a file; it shares this process's table of files, and ends. The file lives on without the mount.
#include "memory/window_file.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/no_signals.h"

#if defined(__GLIBC__)
/// `clone` by the name that ThreadSanitizer does not replace. It takes the child for a process with memory of its own,
/// and what it notes there for the end of this one's synchronization: races without end in programs that have none.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...) noexcept;
#else
#define __clone clone
#endif

namespace tutti::memory {

namespace {

/// Out of the way of programs that expect their first file to be number 3 or close all low numbers.
int moved_up(int descriptor) {
  if (descriptor < 0) return -1;
  rlimit files{};
  const rlim_t most = getrlimit(RLIMIT_NOFILE, &files) == 0 ? std::min<rlim_t>(files.rlim_cur, 1024) : 1024;
  const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(most) / 4 * 3);
  if (high < 0) return descriptor;
  close(descriptor);
  return high;
}

int make_memfd() {
  constexpr unsigned no_execute = 0x8;  // MFD_NOEXEC_SEAL, Linux 6.3; some systems demand it, older ones refuse it
  int descriptor = memfd_create("tutti-window", MFD_CLOEXEC | MFD_ALLOW_SEALING | no_execute);
  if (descriptor < 0) descriptor = memfd_create("tutti-window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return moved_up(descriptor);
}

/// What the child is told, and tells, in memory that both use.
struct Task {
  char user[48], group[48];  ///< lines for the maps of the namespace: oneself is oneself
  const char* step = "clone";
  int error = 0;
  int descriptor = -1;
};

// In the child there are system calls only: it runs in this process's memory, in the midst of whatever other threads do,
// and nobody who replaces functions of the C library is to see it.

bool write_line(const char* path, const char* line) noexcept {
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
  if (file < 0) return false;
  const std::size_t length = std::strlen(line);
  const bool written = syscall(SYS_write, file, line, length) == static_cast<long>(length);
  const int error = errno;
  syscall(SYS_close, file);
  errno = error;
  return written;
}

/// A step by its name; true if it went wrong.
bool fails(Task& task, const char* step, bool done) noexcept {
  if (done) return false;
  task.step = step;
  task.error = errno;
  return true;
}

int open_in_mount(void* argument) noexcept {
  auto& task = *static_cast<Task*>(argument);
  task.step = "the process that mounts it was ended";
  if (fails(task, "unshare", syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS) == 0)) return 1;
  write_line("/proc/self/setgroups", "deny");  // older kernels know no such file, and need none
  if (fails(task, "/proc/self/uid_map", write_line("/proc/self/uid_map", task.user))) return 1;
  if (fails(task, "/proc/self/gid_map", write_line("/proc/self/gid_map", task.group))) return 1;
  // Over a folder that is known to be there; nobody else sees it. No limit: more than the machine has is the same as
  // with any other memory.
  constexpr const char* name = "/proc/memfd:tutti-window";  // as a memfd's looks in /proc/self/maps
  if (fails(task, "mount", syscall(SYS_mount, "tutti", "/proc", "tmpfs", 0, "huge=advise,size=0") == 0)) return 1;
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  const long file = syscall(SYS_openat, AT_FDCWD, name, flags, S_IRUSR | S_IWUSR);
  if (fails(task, "open", file >= 0)) return 1;
  syscall(SYS_unlinkat, AT_FDCWD, name, 0);
  task.descriptor = static_cast<int>(file);
  return 0;
}

/// -1, and in `why_not` what could not be done. The child ends later: where processors are busy, the kernel may take tens
/// of milliseconds to do away with a namespace. It needs nothing of this process meanwhile but its number.
int make_file_of_mount(pid_t& helper, std::string& why_not) {
  constexpr std::size_t stack_bytes = std::size_t{64} << 10;
  void* const stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return -1;
  Task task;
  std::snprintf(task.user, sizeof task.user, "%u %u 1", geteuid(), geteuid());
  std::snprintf(task.group, sizeof task.group, "%u %u 1", getegid(), getegid());
  // No handler of the program may run in the child, and no signal tells that it has ended.
  {
    const NoSignals none;
    const pid_t child =
        __clone(open_in_mount, static_cast<char*>(stack) + stack_bytes, CLONE_VM | CLONE_VFORK | CLONE_FILES, &task);
    if (child < 0) task.error = errno;
    helper = std::max<pid_t>(child, 0);
  }
  munmap(stack, stack_bytes);
  if (task.descriptor >= 0) return moved_up(task.descriptor);
  why_not = task.step;
  if (task.error) why_not += std::string(": ") + std::strerror(task.error);
  return -1;
}

/// Why the system cannot give huge pages in this way; empty: it can.
std::string lacks(HugeKind kind, const SystemsHugePages& system) {
  if (kind == HugeKind::off) return "";
  if (!system.are_there) return "this kernel has no huge pages of 2 MiB";
  if (kind == HugeKind::mount) return system.denied ? "the system denies huge pages to shared memory" : "";
  if (kind == HugeKind::advise) return system.advised ? "" : "shmem_enabled is " + system.shared;
  return system.collapse ? "" : "this kernel has no MADV_COLLAPSE";
}

}  // namespace

WindowFile make_window_file(HugeKind best, const SystemsHugePages& system) {
  WindowFile file;
  for (file.kind = best;; file.kind = static_cast<HugeKind>(static_cast<int>(file.kind) + 1)) {
    std::string reason = lacks(file.kind, system);
    if (reason.empty() && file.kind == HugeKind::mount) {
      file.descriptor = make_file_of_mount(file.helper, reason);
      if (file.descriptor >= 0) return file;
    }
    if (reason.empty()) break;
    file.why_not += std::string(file.why_not.empty() ? "" : "; ") + name_of(file.kind) + ": " + reason;
  }
  file.descriptor = make_memfd();
  return file;
}

bool has_ended(pid_t helper, bool wait) noexcept {
  pid_t waited = 0;
  do waited = waitpid(helper, nullptr, __WCLONE | (wait ? 0 : WNOHANG));
  while (waited < 0 && errno == EINTR);
  return waited != 0;  // of the program's children none is taken: those tell by a signal that they end
}

}  // namespace tutti::memory
