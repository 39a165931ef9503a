#include "memory/region.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/copy.h"
#include "base/sanitizer.h"
#include "memory/attachments.h"

namespace tutti::memory {

namespace {

/// What went wrong in a system call for memory of another process, and what to do about it.
std::string failure(const char* call, pid_t process, std::size_t bytes, int error) {
  std::string text = std::string(call) + " of " + std::to_string(bytes) + " bytes of process " +
                     std::to_string(process) + ": " + (error ? std::strerror(error) : "nothing was moved");
  if (error == EPERM)
    text +=
        "; if a rank has called setuid() or prctl(PR_SET_DUMPABLE, 0) since MPI_Init, others may not reach its memory "
        "any more: TUTTI_MECHANISM=^cma does without";
  else if (error == EFAULT)
    text += "; the memory of a buffer ends before the buffer, or has been unmapped";
  return text;
}

/// Moves all bytes with one of the two system calls; they may move fewer at a time.
template <class Transfer>
void transfer(Transfer call, const char* name, pid_t process, std::uint64_t remote, std::byte* local,
              std::size_t bytes) {
  while (bytes > 0) {
    iovec here{local, bytes};
    iovec there{reinterpret_cast<void*>(remote), bytes};
    const ssize_t moved = call(process, &here, 1, &there, 1, 0);
    if (moved <= 0) {
      if (moved < 0 && errno == EINTR) continue;
      throw std::runtime_error(failure(name, process, bytes, moved < 0 ? errno : 0));
    }
    local += moved;
    remote += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
}

/// Where ranks are threads, the far side of what the kernel has copied is memory that a sanitizer watches.
bool is_watched(pid_t process) {
  return sanitized && process == getpid();
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::window:
      return "window";
    case Kind::arena:
      return "staged";
    case Kind::cma:
      return "cma";
    case Kind::direct:
      return "direct";
    case Kind::xpmem:
      return "xpmem";
    default:
      return "none";
  }
}

std::byte* Peer::attached(Region region, std::size_t offset, std::size_t bytes) const {
  if (!attachments) return reinterpret_cast<std::byte*>(region.address() + offset);
  return attachments->reach(region, offset, bytes);
}

/// Of a part of the window or the arena that is used for the first time. Null if it is to be copied instead, which is
/// so if the system refuses, and for a window if address space is limited: most of it is the program's.
std::byte* Peer::mapped(Kind kind, std::size_t at, std::size_t bytes, bool or_copied) const {
  const bool in_window = kind == Kind::window;
  View& view = in_window ? *window_view : *arena_view;
  const bool too_much = or_copied && in_window && view.is_too_much(at, bytes, views);
  if (!too_much && view.reach(at, bytes)) return view.base() + at;
  if (or_copied) return nullptr;
  throw std::runtime_error("mapping " + std::to_string(bytes) + " bytes of the memory of process " +
                           std::to_string(process) + ": " + std::strerror(ENOMEM) +
                           "; if the address space is limited (ulimit -v, RLIMIT_AS), TUTTI_WINDOW_SIZE=1 or "
                           "TUTTI_ENABLE=0 needs less of it");
}

/// In the peer, of a region that has an address there.
std::uint64_t Peer::address_of(Region region) const {
  switch (region.kind()) {
    case Kind::window:
      return window_address + region.offset();
    case Kind::arena:
      return arena_address + region.offset();
    default:
      return region.offset();
  }
}

void Peer::copy_from(Region region, std::size_t offset, void* destination, std::size_t bytes, Store store) const {
  if (const std::byte* source = pointer_or_copied(region, offset, bytes)) {
    store == Store::streaming ? stream_copy(destination, source, bytes)
                              : static_cast<void>(copy_from_peer(destination, source, bytes));
  } else {
    const std::uint64_t from = address_of(region) + offset;
    transfer(process_vm_readv, "process_vm_readv", process, from, static_cast<std::byte*>(destination), bytes);
    if (is_watched(process)) tell_sanitizer_of_read(reinterpret_cast<const void*>(from), bytes);
  }
}

void Peer::copy_to(Region region, std::size_t offset, const void* source, std::size_t bytes, Store store) const {
  if (std::byte* destination = pointer_or_copied(region, offset, bytes)) {
    store == Store::cached ? copy_bytes(destination, source, bytes) : stream_copy(destination, source, bytes);
  } else {
    const std::uint64_t to = address_of(region) + offset;
    transfer(process_vm_writev, "process_vm_writev", process, to,
             const_cast<std::byte*>(static_cast<const std::byte*>(source)), bytes);
    if (is_watched(process)) tell_sanitizer_of_write(reinterpret_cast<void*>(to), bytes);
  }
}

}  // namespace tutti::memory
