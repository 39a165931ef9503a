// libxpmem, found at run time: a process maps the memory of another one by a kernel module. Only the documented calls
// are used, through a table, so that tests can put a stand-in in their place.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tutti::memory {

/// What xpmem_attach takes: a grant and an offset into the segment, which is an address if the segment begins at 0.
struct XpmemAddress {
  std::int64_t apid = 0;
  off_t offset = 0;
};

/// The calls of libxpmem. Each returns -1 (attach: the pointer -1) and sets errno if it fails.
struct Xpmem {
  std::int64_t (*make)(void* begin, std::size_t bytes, int permit_type, void* permit_value) = nullptr;
  int (*remove)(std::int64_t segment) = nullptr;
  std::int64_t (*get)(std::int64_t segment, int flags, int permit_type, void* permit_value) = nullptr;
  int (*release)(std::int64_t apid) = nullptr;
  void* (*attach)(XpmemAddress address, std::size_t bytes, void* at) = nullptr;
  int (*detach)(void* at) = nullptr;
};

/// Loads libxpmem if `device` (/dev/xpmem) can be opened for reading and writing. Empty, with the reason, if not.
std::optional<Xpmem> load_xpmem(const std::string& device, std::string& reason);

/// Exposes the whole address space of this process to processes of the same user. The segment, or -1.
std::int64_t expose_address_space(const Xpmem& xpmem);
/// The right to attach to a segment, for reading and writing; or -1.
std::int64_t get_segment(const Xpmem& xpmem, std::int64_t segment);

}  // namespace tutti::memory
