// Where the members of an element are, for memory of a program that keeps something between them.
#pragma once

#include <cstddef>

#include "reduction/reduction.h"

namespace tutti::reduction {

/// Whether an element has bytes that belong to none of its members: the padding of a pair, and that of a long double of
/// 80 bits. A Kernel stores them, with any value.
bool has_gaps(Type type) noexcept;

/// Copies the members of `element_count` elements; what is between them in `destination` stays as it is. The two arrays do
/// not overlap; they may be unaligned.
void copy_members(Type type, void* destination, const void* source, std::size_t element_count) noexcept;

}  // namespace tutti::reduction
