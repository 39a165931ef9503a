// A loaded object as the loader sees it: the symbols that it defines or looks for, and where the addresses are kept that
// it was given.
#pragma once

#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/processor.h"

namespace tutti::preload {

class LoadedObject {
 public:
  /// What dl_iterate_phdr tells.
  explicit LoadedObject(const dl_phdr_info& info) noexcept;

  bool holds(const void* address) const noexcept;
  const char* name_of(const ElfW(Sym) & symbol) const noexcept { return strings_ + symbol.st_name; }

  /// Calls `visit(symbol)` for what it defines for others. What it looks for has no section, but may have a value: where
  /// a program at a fixed address calls the function by.
  template <class Visit>
  void for_each_definition(Visit visit) const {
    for (std::size_t i = first_definition_; i < symbol_count_; ++i)
      if (symbols_[i].st_shndx != SHN_UNDEF) visit(symbols_[i]);
  }
  /// Calls `visit(symbol)` for what it looks for.
  template <class Visit>
  void for_each_wanted(Visit visit) const {
    const std::size_t end = first_definition_ > 1 ? first_definition_ : symbol_count_;
    for (std::size_t i = 1; i < end; ++i)
      if (symbols_[i].st_shndx == SHN_UNDEF) visit(symbols_[i]);
  }
  /// Calls `visit(symbol, slot)` for each address of a symbol that the loader stores for it, now or at the first call.
  template <class Visit>
  void for_each_slot(Visit visit) const {
    for (const Table& table : tables_)
      for (std::size_t i = 0; i < table.count; ++i) {
        if (!is_address(ELF64_R_TYPE(table.begin[i].r_info))) continue;
        visit(symbols_[ELF64_R_SYM(table.begin[i].r_info)],
              reinterpret_cast<void**>(info_.dlpi_addr + table.begin[i].r_offset));
      }
  }
  /// Changes such an address, also where the loader has taken the right to write away again.
  void store(void** slot, void* value) const noexcept;

 private:
  static bool is_address(std::uint64_t relocation) noexcept {
    return std::find(std::begin(processor::elf_slots), std::end(processor::elf_slots), relocation) !=
           std::end(processor::elf_slots);
  }

  struct Table {
    const ElfW(Rela) * begin = nullptr;
    std::size_t count = 0;
  };

  void count_symbols(const std::uint32_t* hash, const std::uint32_t* gnu_hash) noexcept;

  dl_phdr_info info_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  std::size_t symbol_count_ = 0;
  std::size_t first_definition_ = 1;
  Table tables_[2];
};

}  // namespace tutti::preload
