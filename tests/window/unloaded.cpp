// A library whose static data is in the window is unloaded, and something else comes to its addresses: no buffer there
// is the window's. The data of another library, that stays, still is.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstring>

#include "check.h"
#include "memory/window.h"

namespace {

using tutti::memory::Window;
using tutti::memory::WindowSpans;

template <class Function>
Function* find(void* library, const char* name) {
  void* const found = dlsym(library, name);
  CHECK(found);
  Function* function = nullptr;
  std::memcpy(&function, &found, sizeof found);
  return function;
}

constexpr std::size_t page = 4096;
const Window* window = nullptr;
const std::byte* of_other = nullptr;
bool asked = false;

bool is_found(const void* address) {
  return window->spans().find(address, 8 * page) != WindowSpans::nowhere;
}

void while_unloading() {
  // Nobody knows yet which libraries will go.
  CHECK(!is_found(of_other));
  asked = true;
}

}  // namespace

int main(int, char** arguments) {
  void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  void* const other = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
  CHECK(library && other);
  auto* const array = find<std::byte>(library, "untouched_array");
  of_other = find<std::byte>(other, "untouched_array");
  array[page] = std::byte{5};
  find<void()>(RTLD_DEFAULT, "_ZN5tutti6memory16take_static_dataEv")();
  window = find<Window*()>(RTLD_DEFAULT, "_ZN5tutti6memory14process_windowEv")();
  CHECK(window && array[page] == std::byte{5} && in_window(array + page));
  CHECK(is_found(array) && is_found(of_other) && !is_found(&array));
  *find<void (*)()>(library, "call_at_unload") = while_unloading;
  CHECK(dlclose(library) == 0 && asked);
  CHECK(!is_found(array) && is_found(of_other));
  auto* const here = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(array) / page * page);
  void* const mapped =
      mmap(here, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  CHECK(mapped == here && !is_found(here));
  // Opened again it is another one, with what its file says.
  CHECK(dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL));
  CHECK(munmap(mapped, 16 * page) == 0 && dlclose(other) == 0 && !is_found(of_other));
  return 0;
}
