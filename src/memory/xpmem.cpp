#include "memory/xpmem.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tutti::memory {

namespace {

// The values of xpmem.h, which is not needed to build.
constexpr std::size_t all_addresses = SIZE_MAX;  // XPMEM_MAXADDR_SIZE
constexpr int permit_by_mode = 1;                // XPMEM_PERMIT_MODE
constexpr std::uintptr_t owner_only = 0600;
constexpr int read_and_write = 2;  // XPMEM_RDWR

template <class Function>
bool look_up(void* library, const char* name, Function*& function) {
  void* const found = dlsym(library, name);
  std::memcpy(&function, &found, sizeof found);
  return found != nullptr;
}

}  // namespace

std::optional<Xpmem> load_xpmem(const std::string& device, std::string& reason) {
  const int descriptor = open(device.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    reason = device + ": " + std::strerror(errno);
    return std::nullopt;
  }
  close(descriptor);
  void* library = dlopen("libxpmem.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libxpmem.so", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    reason = dlerror();
    return std::nullopt;
  }
  Xpmem xpmem;
  if (look_up(library, "xpmem_make", xpmem.make) && look_up(library, "xpmem_remove", xpmem.remove) &&
      look_up(library, "xpmem_get", xpmem.get) && look_up(library, "xpmem_release", xpmem.release) &&
      look_up(library, "xpmem_attach", xpmem.attach) && look_up(library, "xpmem_detach", xpmem.detach))
    return xpmem;
  reason = "libxpmem lacks a function";
  dlclose(library);
  return std::nullopt;
}

std::int64_t expose_address_space(const Xpmem& xpmem) {
  return xpmem.make(nullptr, all_addresses, permit_by_mode, reinterpret_cast<void*>(owner_only));
}

std::int64_t get_segment(const Xpmem& xpmem, std::int64_t segment) {
  return xpmem.get(segment, read_and_write, permit_by_mode, nullptr);
}

}  // namespace tutti::memory
