// What an interposed function goes on to: the definition that comes after ours, so that other libraries that watch the
// call still see it.
#pragma once

#include <dlfcn.h>

#include <cstring>

namespace tutti::memory {

/// Null if there is none.
template <class Function>
Function* next_definition(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  Function* function = nullptr;
  std::memcpy(&function, &found, sizeof found);
  return function;
}

}  // namespace tutti::memory
