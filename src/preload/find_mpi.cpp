#include "preload/find_mpi.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>

namespace tutti::preload {

namespace {

/// Every MPI has it, and tools that stand in front of one do not; but we do.
constexpr const char* telling = "PMPI_Init";

/// The loaded object that defines the function at `address`, unless it is libtutti.so.
Mpi mpi_with(const void* address) {
  Dl_info info{};
  if (!address || !dladdr(address, &info) || !info.dli_fname) return {};
  if (info.dli_fbase == object_of(reinterpret_cast<const void*>(&mpi_with))) return {};
  void* const handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return handle ? Mpi{handle, info.dli_fbase, info.dli_fname} : Mpi{};
}

/// What the loaded object of this name needs, itself included.
Mpi mpi_needed_by(const char* file) {
  void* const handle = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return {};
  Mpi found = mpi_with(dlsym(handle, telling));
  dlclose(handle);
  return found;
}

int look_for_mpi(dl_phdr_info* info, std::size_t, void* result) {
  // The program itself has no name. An MPI in it does not call us.
  if (!info->dlpi_name || !*info->dlpi_name) return 0;
  auto& found = *static_cast<Mpi*>(result);
  found = mpi_needed_by(info->dlpi_name);
  return found.handle != nullptr;
}

bool has(const Mpi& mpi, const char* name) {
  return dlsym(mpi.handle, name) != nullptr;
}

/// The name that programs which were linked with it look for.
std::string soname_of(const Mpi& mpi) {
  link_map* map = nullptr;
  if (dlinfo(mpi.handle, RTLD_DI_LINKMAP, &map) != 0 || !map->l_ld) return "";
  const char* strings = nullptr;
  const ElfW(Dyn)* name = nullptr;
  for (const ElfW(Dyn)* each = map->l_ld; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(each->d_un.d_ptr);
    if (each->d_tag == DT_SONAME) name = each;
  }
  return strings && name ? strings + name->d_un.d_val : "";
}

bool begins_with(const char* name, const char* beginning) {
  return std::strncmp(name, beginning, std::strlen(beginning)) == 0;
}

bool is_set(const char* variable) {
  const char* const text = std::getenv(variable);
  return text && *text;
}

}  // namespace

Mpi find_mpi(const void* caller) {
  if (Mpi found = mpi_with(dlsym(RTLD_NEXT, telling)); found.handle) return found;
  Dl_info info{};
  if (dladdr(caller, &info) && info.dli_fname)
    if (Mpi found = mpi_needed_by(info.dli_fname); found.handle) return found;
  Mpi found;
  dl_iterate_phdr(look_for_mpi, &found);
  return found;
}

const void* object_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

bool is_own_code(const Mpi& mpi, const void* address) {
  Dl_info info{};
  if (!dladdr(address, &info)) return false;
  if (info.dli_fbase == mpi.base) return true;
  if (!info.dli_fname) return false;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  const char* const name = slash ? slash + 1 : info.dli_fname;
  // Open MPI's plug-ins.
  if (begins_with(name, "mca_") || begins_with(name, "libmca_")) return true;
  // What the MPI's code calls last of all returns to who has called that code, which may be a part of ours.
  for (const char* part : {"libtutti-openmpi.so", "libtutti-mpich.so", "libtutti-abi.so"})
    if (std::strcmp(name, part) == 0) return true;
  return false;
}

Abi abi_of(const Mpi& mpi) {
  // The standard gives the library its name. Open MPI's has the objects of its own ABI behind it.
  if (soname_of(mpi).rfind("libmpi_abi.so", 0) == 0) return Abi::standard;
  if (has(mpi, "ompi_mpi_comm_world")) return Abi::openmpi;
  if (has(mpi, "MPIR_Dup_fn")) return Abi::mpich;
  return has(mpi, "MPI_Abi_get_version") ? Abi::standard : Abi::unknown;
}

bool started_by_another(const Mpi& mpi) {
  const bool by_hydra = is_set("MPI_LOCALNRANKS"), by_openmpi = is_set("OMPI_COMM_WORLD_SIZE");
  if (by_hydra == by_openmpi) return false;  // neither tells, or one was started by the other
  const bool is_openmpi = has(mpi, "ompi_mpi_comm_world");
  // Others than Open MPI, too, may speak with Open MPI's launcher, if they were built with PMIx.
  return is_openmpi ? by_hydra : by_openmpi && !has(mpi, "PMIx_Init");
}

}  // namespace tutti::preload
