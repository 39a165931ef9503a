#include "memory/devices/device_runtime.h"

#include <dlfcn.h>
#include <link.h>

#include <climits>
#include <cstring>

namespace tutti::memory {

namespace {

struct Search {
  const char* file;
  char path[PATH_MAX];
};

int note_path(dl_phdr_info* info, std::size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  const char* const path = info->dlpi_name ? info->dlpi_name : "";
  const char* const slash = std::strrchr(path, '/');
  const char* const file = slash ? slash + 1 : path;
  if (std::strncmp(file, search.file, std::strlen(search.file)) != 0 || std::strlen(path) >= sizeof search.path)
    return 0;
  std::strcpy(search.path, path);
  return 1;
}

int note_count(dl_phdr_info* info, std::size_t, void* context) {
  *static_cast<unsigned long long*>(context) = info->dlpi_adds;
  return 1;
}

}  // namespace

bool DeviceRuntime::copy_rows_to_device(void* to, const void* from, const Rows& rows) const {
  for (std::size_t i = 0; i < rows.count; ++i)
    if (!copy_to_device(static_cast<std::byte*>(to) + i * rows.pitch,
                        static_cast<const std::byte*>(from) + i * rows.pitch, rows.bytes))
      return false;
  return true;
}

void* loaded_library(const char* file) noexcept {
  Search search{file, ""};
  if (!dl_iterate_phdr(note_path, &search)) return nullptr;
  void* const library = dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) dlerror();  // unloaded meanwhile
  return library;
}

unsigned long long libraries_ever_loaded() noexcept {
  unsigned long long count = 0;
  dl_iterate_phdr(note_count, &count);
  return count;
}

}  // namespace tutti::memory
