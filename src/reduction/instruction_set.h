// Which vector instructions the kernels use. Internal to this layer, its tests and tools.
#pragma once

#include "base/processor.h"
#include "reduction/reduction.h"

namespace tutti::reduction {

using processor::InstructionSet;

/// Finds the kernel of an operator and type that one source file built for one instruction set; nullptr: not
/// there.
using Finder = Kernel (*)(Operator operation, Type type) noexcept;

/// The finders of one source file, one an instruction set it was built for. A set that was not built is
/// nullptr; `baseline` always is there.
struct Finders {
  Finder sse4;
  Finder avx2;
  Finder avx512;
  Finder neon;
  Finder sve;
  Finder sve2;
  Finder baseline;

  /// The finder built for exactly this instruction set, or nullptr.
  Finder built_for(InstructionSet set) const noexcept;
};

/// The kernel built for exactly this instruction set, for tests that compare them; nullptr if there is none.
/// Operators and types that are not vectorised have a kernel for `baseline` only.
Kernel kernel_built_for(InstructionSet set, Operator operation, Type type) noexcept;

// What the source files of the layer offer.
Finders sum_finders() noexcept;
Finders product_finders() noexcept;
Finders extremum_finders() noexcept;
Finders bitwise_finders() noexcept;
Finders logical_finders() noexcept;
Kernel location_kernel(Operator operation, Type type) noexcept;
Kernel extended_kernel(Operator operation, Type type) noexcept;

}  // namespace tutti::reduction
