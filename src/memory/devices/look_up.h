// Functions of a library by their names.
#pragma once

#include <dlfcn.h>

#include <cstring>

namespace tutti::memory {

/// Sets `function` to the one of this name; false if the library has none.
template <class Function>
bool look_up(void* library, const char* name, Function*& function) {
  void* const found = dlsym(library, name);
  std::memcpy(&function, &found, sizeof found);
  if (!found) dlerror();  // the program's next one is to be about what it asked for itself
  return found != nullptr;
}

}  // namespace tutti::memory
