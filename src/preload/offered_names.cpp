#include "preload/offered_names.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "memory/pages.h"
#include "preload/functions.h"
#include "preload/loaded_object.h"

namespace tutti::preload {

namespace {

/// Sorted, to be found.
constexpr auto rare_names = [] {
  auto names = std::to_array<std::string_view>({
#define TUTTI_NAME(name) "MPI_" #name, "PMPI_" #name,
      TUTTI_INTERPOSED_BY_SOME(TUTTI_NAME)
#undef TUTTI_NAME
#define TUTTI_NAME(name) "MPIX_" #name, "PMPIX_" #name,
          TUTTI_INTERPOSED_EXTENSIONS(TUTTI_NAME) TUTTI_INTERPOSED_INITS(TUTTI_NAME)
#undef TUTTI_NAME
  });
  std::sort(names.begin(), names.end());
  return names;
}();

struct Name {
  ElfW(Sym) * symbol = nullptr;  ///< of libtutti.so
  ElfW(Addr) value = 0;          ///< of the symbol where the name is offered
  void* stub = nullptr;
  void* host = nullptr;  ///< what it means without us
};
constinit std::array<Name, rare_names.size()> names{};

Name* find(const char* text) {
  // Most are others.
  if (*text != 'M' && *text != 'P') return nullptr;
  const auto found = std::lower_bound(rare_names.begin(), rare_names.end(), text);
  return found != rare_names.end() && *found == text ? &names[static_cast<std::size_t>(found - rare_names.begin())]
                                                     : nullptr;
}

int find_own(dl_phdr_info* info, std::size_t, void*) {
  const LoadedObject object(*info);
  if (!object.holds(reinterpret_cast<const void*>(&find_own))) return 0;
  object.for_each_definition([&](const ElfW(Sym) & symbol) {
    Name* const name = find(object.name_of(symbol));
    if (!name) return;
    void* const stub = reinterpret_cast<void*>(info->dlpi_addr + symbol.st_value);
    *name = {const_cast<ElfW(Sym)*>(&symbol), symbol.st_value, stub, stub};
  });
  return 1;
}

/// The loader passes over symbols without a value.
void set_values() {
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (const Name& name : names) {
    if (!name.symbol) continue;
    begin = std::min(begin, reinterpret_cast<std::uintptr_t>(name.symbol));
    end = std::max(end, reinterpret_cast<std::uintptr_t>(name.symbol + 1));
  }
  begin = begin / memory::page_bytes() * memory::page_bytes();
  if (begin >= end || syscall(SYS_mprotect, begin, end - begin, PROT_READ | PROT_WRITE) != 0) return;
  for (const Name& name : names)
    if (name.symbol) __atomic_store_n(&name.symbol->st_value, name.host ? name.value : ElfW(Addr){0}, __ATOMIC_RELEASE);
  syscall(SYS_mprotect, begin, end - begin, PROT_READ);
}

/// Of an address that was stored before: weak references to us of what is not there become null, and what was found in
/// the MPI becomes ours.
void correct(const LoadedObject& object, const ElfW(Sym) & symbol, void** slot) {
  const Name* const name = symbol.st_shndx == SHN_UNDEF ? find(object.name_of(symbol)) : nullptr;
  if (!name || !name->stub) return;
  void* const now = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  if (name->host && now == name->host) object.store(slot, name->stub);
  if (!name->host && now == name->stub && ELF64_ST_BIND(symbol.st_info) == STB_WEAK) object.store(slot, nullptr);
}

int correct_object(dl_phdr_info* info, std::size_t, void*) {
  const LoadedObject object(*info);
  bool wants = false;
  object.for_each_wanted([&](const ElfW(Sym) & symbol) { wants = wants || find(object.name_of(symbol)); });
  if (wants) object.for_each_slot([&](const auto& symbol, void** slot) { correct(object, symbol, slot); });
  return 0;
}

void* next_in_link_order(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

void* nowhere(const char*) {
  return nullptr;
}

/// As far as is known before the program begins: what libraries it is linked with.
__attribute__((constructor(101))) void at_load() {
  dl_iterate_phdr(find_own, nullptr);
  offer_names(next_in_link_order("PMPI_Init") ? next_in_link_order : nowhere);
}

}  // namespace

void offer_names(void* (*look_up)(const char* name)) {
  bool changed = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].symbol) continue;
    void* const host = look_up(rare_names[i].data());
    changed = changed || host != names[i].host;
    names[i].host = host;
  }
  if (!changed) return;
  set_values();
  dl_iterate_phdr(correct_object, nullptr);
}

}  // namespace tutti::preload
