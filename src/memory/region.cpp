#include "memory/region.h"

#include <sched.h>
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
#include "memory/attachments.h"
#include "memory/requests.h"

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
  constexpr std::size_t page = 4096;
  const auto over = reinterpret_cast<std::uintptr_t>(begin) % page;
  for (std::size_t at = 0; at < bytes; at += at ? page : page - over) static_cast<volatile std::byte*>(begin)[at];
}
void touch_to_store(std::byte* begin, std::size_t bytes) {
  constexpr std::size_t page = 4096;
  const auto over = reinterpret_cast<std::uintptr_t>(begin) % page;
  for (std::size_t at = 0; at < bytes; at += at ? page : page - over)
    static_cast<volatile std::byte*>(begin)[at] = static_cast<volatile std::byte*>(begin)[at];
}

/// Moves all bytes with one of the two system calls; they may move fewer at a time. If it is the own memory that the
/// kernel does not reach, it does after `touch`. What it does not move then the owner is asked for by `ask(address,
/// local, bytes, error)`: it has a handler for such pages, or has closed itself to others.
template <class Transfer, class Touch, class Ask>
void transfer(Transfer call, const char* name, const Peer& peer, std::uint64_t remote, std::byte* local,
              std::size_t bytes, Touch touch, Ask ask) {
  bool touched = false;
  while (bytes > 0) {
    iovec here{local, bytes};
    iovec there{reinterpret_cast<void*>(remote), bytes};
    const bool refused = peer.requests && peer.requests->kernel_refuses;
    ssize_t moved = refused ? 0 : call(peer.process, &here, 1, &there, 1, 0);
    if (moved <= 0) {
      const int error = moved < 0 ? errno : 0;
      if (error == EINTR) continue;
      if (error == EFAULT && peer.requests && !touched) {
        touch(local, bytes);
        touched = true;
        continue;
      }
      // A process that is gone answers nothing.
      if (!peer.requests || error == ESRCH) throw std::runtime_error(failure(name, peer.process, bytes, error));
      const std::size_t part = std::min(bytes, Requests::chunk_bytes);
      ask(remote, local, part, error);
      moved = static_cast<ssize_t>(part);
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

std::size_t Peer::wait_until_filled(Region region, std::size_t bytes) const {
  const std::size_t at = region.offset() - sizeof(Filled);
  std::uint64_t there = 0;
  const auto look = [&] {
    if (auto* const filled = reinterpret_cast<Filled*>(pointer_or_copied({Kind::arena, at}, 0, sizeof(Filled))))
      there = filled->bytes.load(std::memory_order_acquire);
    else
      copy_from({Kind::arena, at}, 0, &there, sizeof there);
    return there >= bytes;
  };
  if (requests)
    sync::wait(*requests->waiter, {"a copy that its owner makes", nullptr, 0, rank}, look);
  else
    while (!look()) sched_yield();
  return there;
}

void Peer::copy_while_filling(Region region, std::size_t offset, std::byte* destination, std::size_t bytes,
                              Store store) const {
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t there = wait_until_filled(region, offset + std::min(bytes, at + filled_at_once));
    const std::size_t end = std::min(bytes, there - offset);
    copy_from({Kind::arena, region.offset()}, offset + at, destination + at, end - at, store);
    at = end;
  }
}

void Peer::copy_from(Region region, std::size_t offset, void* destination, std::size_t bytes, Store store) const {
  if (region.kind() == Kind::filling)
    return copy_while_filling(region, offset, static_cast<std::byte*>(destination), bytes, store);
  loaded(bytes);
  if (const std::byte* source = pointer_or_copied(region, offset, bytes)) {
    store == Store::streaming ? stream_copy(destination, source, bytes)
                              : static_cast<void>(copy_from_peer(destination, source, bytes));
  } else {
    const std::uint64_t from = address_of(region) + offset;
    transfer(process_vm_readv, "process_vm_readv", *this, from, static_cast<std::byte*>(destination), bytes,
             touch_to_store, [this](std::uint64_t address, std::byte* to, std::size_t part, int error) {
               requests->read(rank, address, to, part, error);
             });
    if (is_watched(process)) tell_sanitizer_of_read(reinterpret_cast<const void*>(from), bytes);
  }
}

void Peer::copy_runs_from(Region region, const Run* runs, std::size_t count, Store store) const {
  constexpr std::size_t at_once = 64;
  const bool by_kernel = region.kind() == Kind::cma && !(requests && requests->kernel_refuses);
  for (std::size_t done = 0; done < count;) {
    const std::size_t part = std::min(count - done, at_once);
    iovec here[at_once], there[at_once];
    std::size_t bytes = 0;
    for (std::size_t i = 0; by_kernel && i < part; ++i) {
      const Run& run = runs[done + i];
      here[i] = {run.destination, run.bytes};
      there[i] = {reinterpret_cast<void*>(address_of(region) + run.offset), run.bytes};
      bytes += run.bytes;
    }
    if (by_kernel && part > 1 && process_vm_readv(process, here, part, there, part, 0) == static_cast<ssize_t>(bytes)) {
      loaded(bytes);
      for (std::size_t i = 0; is_watched(process) && i < part; ++i)
        tell_sanitizer_of_read(there[i].iov_base, there[i].iov_len);
    } else {
      // One by one, also what the kernel has not copied as a whole: each is looked into by itself then.
      for (std::size_t i = done; i < done + part; ++i)
        copy_from(region, runs[i].offset, runs[i].destination, runs[i].bytes, store);
    }
    done += part;
  }
}

void Peer::copy_to(Region region, std::size_t offset, const void* source, std::size_t bytes, Store store) const {
  if (region.kind() == Kind::filling) {
    wait_until_filled(region, offset + bytes);
    region = {Kind::arena, region.offset()};
  }
  stored(bytes);
  if (std::byte* destination = pointer_or_copied(region, offset, bytes)) {
    store == Store::cached ? copy_bytes(destination, source, bytes) : stream_copy(destination, source, bytes);
  } else {
    const std::uint64_t to = address_of(region) + offset;
    transfer(process_vm_writev, "process_vm_writev", *this, to,
             const_cast<std::byte*>(static_cast<const std::byte*>(source)), bytes, touch_to_load,
             [this](std::uint64_t address, const std::byte* from, std::size_t part, int error) {
               requests->write(rank, address, from, part, error);
             });
    if (is_watched(process)) tell_sanitizer_of_write(reinterpret_cast<void*>(to), bytes);
  }
}

}  // namespace tutti::memory
