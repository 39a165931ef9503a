#include "memory/region.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/copy.h"
#include "base/sanitizer.h"
#include "base/simulated.h"
#include "memory/attachments.h"
#include "memory/copy_requests.h"
#include "memory/pages.h"

namespace tutti::memory {

namespace {

/// What went wrong in a system call for memory of another process, and what to do about it.
std::string failure(const char* call, pid_t process, std::size_t bytes, int error) {
  std::string text = std::string(call) + " of " + std::to_string(bytes) + " bytes of process " +
                     std::to_string(process) + ": " + (error ? std::strerror(error) : "nothing was moved");
  return text;
}

/// Touches own memory, so that a handler of the program opens its pages: the kernel calls none.
void touch_to_load(std::byte* begin, std::size_t bytes) {
  const std::size_t page = page_bytes();
  const auto over = reinterpret_cast<std::uintptr_t>(begin) % page;
  for (std::size_t at = 0; at < bytes; at += at ? page : page - over) static_cast<volatile std::byte*>(begin)[at];
}
void touch_to_store(std::byte* begin, std::size_t bytes) {
  const std::size_t page = page_bytes();
  const auto over = reinterpret_cast<std::uintptr_t>(begin) % page;
  for (std::size_t at = 0; at < bytes; at += at ? page : page - over)
    static_cast<volatile std::byte*>(begin)[at] = static_cast<volatile std::byte*>(begin)[at];
}

/// process_vm_readv and process_vm_writev.
ssize_t move_by_kernel(Copy::Direction direction, pid_t process, const iovec* here, const iovec* there,
                       std::size_t count) {
  const bool reads = direction == Copy::Direction::read;
  if constexpr (simulated::on) return static_cast<ssize_t>(simulated::copy_by_kernel(reads, here, there, count));
  return (reads ? process_vm_readv : process_vm_writev)(process, here, count, there, count, 0);
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
    case Kind::filling:
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
  try {
    return attachments->reach(region, offset, bytes);
  } catch (const std::runtime_error&) {
    if (!requests) throw;
    return nullptr;
  }
}

/// Of a part of the window or the arena that is used for the first time. Null if it is to be copied instead, which is
/// so if the system refuses, and for a window if address space is limited: most of it is the program's.
std::byte* Peer::mapped(Kind kind, std::size_t at, std::size_t bytes, bool or_copied) const {
  const bool in_window = kind == Kind::window;
  View& view = in_window ? *window_view : *arena_view;
  const bool too_much = or_copied && in_window && view.is_too_much(at, bytes, views);
  if (!too_much && view.reach(at, bytes)) return view.base() + at;
  if (or_copied) return nullptr;
  throw std::system_error(ENOMEM, std::generic_category(),
                          "mapping " + std::to_string(bytes) + " bytes of the memory of process " +
                              std::to_string(process) +
                              " (if the address space is limited, by ulimit -v or RLIMIT_AS, TUTTI_WINDOW_SIZE=1 or "
                              "TUTTI_ENABLE=0 needs less of it)");
}

/// In the peer, of a region that has an address there.
std::uint64_t Peer::address_of(Region region) const {
  switch (region.kind()) {
    case Kind::window:
      return window_address + region.offset();
    case Kind::arena:
    case Kind::filling:
      return arena_address + region.offset();
    case Kind::xpmem:
      return region.address();
    default:
      return region.offset();
  }
}

/// Of a part that the kernel does not reach in the own memory: it does after that was touched.
Lack Peer::advance_by_kernel(Copy& copy) const {
  const bool reads = copy.direction == Copy::Direction::read;
  const bool refused = requests && requests->kernel_refuses;
  bool touched = false;
  while (copy.bytes > 0) {
    const std::uint64_t remote = address_of(copy.region) + copy.offset;
    iovec here{copy.local, copy.bytes};
    iovec there{reinterpret_cast<void*>(remote), copy.bytes};
    const ssize_t moved = refused ? 0 : move_by_kernel(copy.direction, process, &here, &there, 1);
    if (moved <= 0) {
      const int error = moved < 0 ? errno : 0;
      if (error == EINTR) continue;
      if (error == EFAULT && requests && !touched) {
        (reads ? touch_to_store : touch_to_load)(copy.local, copy.bytes);
        touched = true;
        continue;
      }
      // A process that is gone answers nothing.
      if (requests && error != ESRCH) return {Lack::Of::owner, error, copy.bytes};
      throw std::runtime_error(failure(reads ? "process_vm_readv" : "process_vm_writev", process, copy.bytes, error));
    }
    const auto done = static_cast<std::size_t>(moved);
    if (is_watched(process)) {
      if (reads)
        tell_sanitizer_of_read(there.iov_base, done);
      else
        tell_sanitizer_of_write(there.iov_base, done);
    }
    copy.advance(done);
  }
  return {};
}

Lack Peer::advance_filling(Copy& copy, std::uint64_t filled) const {
  const Region count{Kind::arena, copy.region.offset() - sizeof(Filled)};
  const bool reads = copy.direction == Copy::Direction::read;
  const std::size_t least = reads ? std::min(copy.bytes, filled_at_once) : copy.bytes;
  if (const auto* const mapped = reinterpret_cast<const Filled*>(pointer_or_copied(count, 0, sizeof(Filled)))) {
    filled = mapped->bytes.load(std::memory_order_acquire);
  } else if (filled < copy.offset + least) {
    Copy look{Copy::Direction::read, Store::cached, count, 0, reinterpret_cast<std::byte*>(&filled), sizeof filled};
    if (const Lack lack = advance_by_kernel(look); lack.of != Lack::Of::nothing) return {Lack::Of::count, lack.error};
  }
  if (filled < copy.offset + least) return {Lack::Of::filling};
  Copy part = copy;
  part.region = {Kind::arena, copy.region.offset()};
  if (copy.region.is_taken_over()) part.region = part.region.taken_over();
  part.bytes = std::min(copy.bytes, static_cast<std::size_t>(filled) - copy.offset);
  const std::size_t tried = part.bytes;
  const Lack lack = advance(part);
  copy.skip(tried - part.bytes);
  if (lack.of != Lack::Of::nothing) return lack;
  return {copy.bytes > 0 ? Lack::Of::filling : Lack::Of::nothing};
}

Lack Peer::advance(Copy& copy, std::uint64_t filled) const {
  if (copy.region.kind() == Kind::filling) return advance_filling(copy, filled);
  std::byte* const there = pointer_or_copied(copy.region, copy.offset, copy.bytes);
  if (!there) return advance_by_kernel(copy);
  if (copy.direction == Copy::Direction::read) {
    if (copy.spread)
      copy.spread->put(copy.spread_at, there, copy.bytes);
    else
      copy.store == Store::streaming ? stream_copy(copy.local, there, copy.bytes)
                                     : static_cast<void>(copy_from_peer(copy.local, there, copy.bytes));
    if (copy.region.is_taken_over()) take_whole_lines(there, copy.bytes);
  } else {
    copy.store == Store::cached ? copy_bytes(there, copy.local, copy.bytes)
                                : stream_copy(there, copy.local, copy.bytes);
  }
  copy.skip(copy.bytes);
  return {};
}

bool Peer::copy_runs_by_kernel(Region region, const Run* runs, std::size_t count) const {
  if (count < 2 || region.kind() != Kind::cma || same_memory || (requests && requests->kernel_refuses)) return false;
  iovec here[runs_at_once], there[runs_at_once];
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    here[i] = {runs[i].destination, runs[i].bytes};
    there[i] = {reinterpret_cast<void*>(address_of(region) + runs[i].offset), runs[i].bytes};
    bytes += runs[i].bytes;
  }
  if (move_by_kernel(Copy::Direction::read, process, here, there, count) != static_cast<ssize_t>(bytes)) return false;
  loaded(bytes);
  for (std::size_t i = 0; is_watched(process) && i < count; ++i)
    tell_sanitizer_of_read(there[i].iov_base, there[i].iov_len);
  return true;
}

}  // namespace tutti::memory
