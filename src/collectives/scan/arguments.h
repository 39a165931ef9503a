// Scan and Exscan.
#pragma once

#include "collectives/kind.h"

namespace tutti {

/// Scan and Exscan. In place: send == receive.
struct ScanArguments {
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;  ///< Exscan leaves it alone on rank 0
  std::size_t count = 0;
  const Combiner* combiner = nullptr;
  bool exclusive = false;  ///< Exscan
  memory::Store store = memory::Store::cached;
  int parameter = 0;

  std::size_t bytes() const { return count * combiner->element_bytes; }
};

template <>
struct Kind<ScanArguments> : ReductionKind<ScanArguments> {
  static bool is_second(const ScanArguments& arguments) { return arguments.exclusive; }
  static bool is_exclusive(std::string_view collective) { return collective == "exscan"; }
};

}  // namespace tutti
