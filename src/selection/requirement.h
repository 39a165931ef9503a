// What an algorithm requires of a call, and what several algorithms require alike.
#pragma once

#include "selection/model.h"

namespace tutti::selection {

struct Requirement {
  const char* words;  ///< for the user
  bool (*holds)(const Shape&);
};

inline constexpr Requirement requires_nothing{"nothing", [](const Shape&) { return true; }};

/// Of algorithms in which a rank looks at all others.
inline constexpr Requirement requires_few_ranks{"at most TUTTI_FLAT_MAX ranks",
                                                [](const Shape& shape) { return shape.few_ranks(); }};

inline constexpr Requirement requires_few_bytes_and_ranks{
    "at most TUTTI_EAGER_MAX bytes and TUTTI_FLAT_MAX ranks",
    [](const Shape& shape) { return shape.bytes <= shape.eager_max && shape.few_ranks(); }};

inline constexpr Requirement requires_equal_blocks{"equal blocks", [](const Shape& shape) { return shape.regular; }};

inline constexpr Requirement requires_commuting{"an operator that commutes",
                                                [](const Shape& shape) { return shape.commutative; }};

/// Of algorithms between nodes.
inline constexpr Requirement requires_nodes{"nothing", [](const Shape& shape) { return shape.spans_nodes(); }};
inline constexpr Requirement requires_nodes_and_equal_blocks{
    "blocks of the same size", [](const Shape& shape) { return shape.spans_nodes() && shape.regular; }};
inline constexpr Requirement requires_order_of_nodes{
    "a commutative operator, or nodes in the order of ranks",
    [](const Shape& shape) { return shape.spans_nodes() && (shape.commutative || shape.runs == 1); }};

}  // namespace tutti::selection
