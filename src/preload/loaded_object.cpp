#include "preload/loaded_object.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "memory/pages.h"

namespace tutti::preload {

namespace {

bool lies_in(const dl_phdr_info& info, const ElfW(Phdr) & part, const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - (info.dlpi_addr + part.p_vaddr) < part.p_memsz;
}

}  // namespace

LoadedObject::LoadedObject(const dl_phdr_info& info) noexcept : info_(info) {
  const ElfW(Dyn)* each = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      each = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  // The loader has made addresses of what is in there, but for what the kernel brings.
  const auto address = [&](ElfW(Addr) value) { return value < info.dlpi_addr ? value + info.dlpi_addr : value; };
  const std::uint32_t *hash = nullptr, *gnu_hash = nullptr;
  for (; each && each->d_tag != DT_NULL; ++each) {
    switch (each->d_tag) {
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const ElfW(Sym)*>(address(each->d_un.d_ptr));
        break;
      case DT_STRTAB:
        strings_ = reinterpret_cast<const char*>(address(each->d_un.d_ptr));
        break;
      case DT_HASH:
        hash = reinterpret_cast<const std::uint32_t*>(address(each->d_un.d_ptr));
        break;
      case DT_GNU_HASH:
        gnu_hash = reinterpret_cast<const std::uint32_t*>(address(each->d_un.d_ptr));
        break;
      case DT_RELA:
        tables_[0].begin = reinterpret_cast<const ElfW(Rela)*>(address(each->d_un.d_ptr));
        break;
      case DT_RELASZ:
        tables_[0].count = each->d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_JMPREL:
        tables_[1].begin = reinterpret_cast<const ElfW(Rela)*>(address(each->d_un.d_ptr));
        break;
      case DT_PLTRELSZ:
        tables_[1].count = each->d_un.d_val / sizeof(ElfW(Rela));
        break;
      default:
        break;
    }
  }
  for (Table& table : tables_)
    if (!table.begin) table.count = 0;
  if (symbols_ && strings_) count_symbols(hash, gnu_hash);
}

/// Only the tables for looking symbols up tell how many there are.
void LoadedObject::count_symbols(const std::uint32_t* hash, const std::uint32_t* gnu_hash) noexcept {
  if (!gnu_hash) {
    symbol_count_ = hash ? hash[1] : 0;
    return;
  }
  const std::uint32_t buckets = gnu_hash[0], first = gnu_hash[1], filter_words = gnu_hash[2];
  const std::uint32_t* const bucket = gnu_hash + 4 + std::size_t{2} * filter_words;
  const std::uint32_t* const chain = bucket + buckets;
  std::uint32_t last = buckets ? *std::max_element(bucket, bucket + buckets) : 0;
  first_definition_ = symbol_count_ = first;
  if (last < first) {
    // It defines nothing for others. How many it looks for is told by what is stored for it alone.
    for (const Table& table : tables_)
      for (std::size_t i = 0; i < table.count; ++i)
        symbol_count_ = std::max<std::size_t>(symbol_count_, ELF64_R_SYM(table.begin[i].r_info) + 1);
    first_definition_ = symbol_count_;
    return;
  }
  while (!(chain[last - first] & 1)) ++last;
  symbol_count_ = last + std::size_t{1};
}

bool LoadedObject::holds(const void* address) const noexcept {
  return std::any_of(info_.dlpi_phdr, info_.dlpi_phdr + info_.dlpi_phnum,
                     [&](const auto& part) { return part.p_type == PT_LOAD && lies_in(info_, part, address); });
}

void LoadedObject::store(void** slot, void* value) const noexcept {
  const std::uintptr_t page = memory::page_bytes();
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(slot) / page * page;
  bool writable = false, closed = false;
  for (int i = 0; i < info_.dlpi_phnum; ++i) {
    const auto& part = info_.dlpi_phdr[i];
    if (!lies_in(info_, part, slot)) continue;
    writable |= part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0;
    // A page of which only the beginning belongs to it the loader has left open.
    closed |= part.p_type == PT_GNU_RELRO && begin + page <= info_.dlpi_addr + part.p_vaddr + part.p_memsz;
  }
  if (!writable) return;
  // By the system call: the function is one that programs watch, and so do we.
  if (closed && syscall(SYS_mprotect, begin, page, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  if (closed) syscall(SYS_mprotect, begin, page, PROT_READ);
}

}  // namespace tutti::preload
