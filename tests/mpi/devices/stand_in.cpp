#include "stand_in.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tutti::tests {

namespace {

/// HIP needs none.
int nothing(unsigned /*flags*/) {
  return 0;
}

}  // namespace

template <class Function>
void StandIn::look_up(const char* name, Function*& function) const {
  void* const found = dlsym(library_, name);
  if (!found) std::fprintf(stderr, "the stand-in lacks %s\n", name), std::abort();
  std::memcpy(&function, &found, sizeof found);
}

StandIn::StandIn(const std::string& name, bool initialise) : has_rows_(name != "level-zero"), initialise_(nothing) {
  const char* const file = name == "cuda" ? "libcuda.so.1" : name == "hip" ? "libamdhip64.so.6" : "libze_loader.so.1";
  library_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library_) std::fprintf(stderr, "%s\n", dlerror()), std::abort();
  look_up("stand_in_allocate", allocate_);
  look_up("stand_in_allocate_at", allocate_at_);
  look_up("stand_in_free", free_);
  look_up("stand_in_set_open", set_open_);
  look_up("stand_in_refuse", refuse_);
  look_up("stand_in_copies", copies_);
  look_up("stand_in_queries", queries_);
  look_up("stand_in_is_clean", is_clean_);
  if (name == "cuda") look_up("cuInit", initialise_);
  if (name == "level-zero") look_up("zeInit", initialise_);
  if (initialise) this->initialise();
}

char* StandIn::allocate(std::size_t bytes, Kind kind) const {
  return static_cast<char*>(allocate_(bytes, kind));
}
char* StandIn::allocate_at(void* address, std::size_t bytes) const {
  return static_cast<char*>(allocate_at_(address, bytes));
}

}  // namespace tutti::tests
