// Scatter and Gather between nodes, with the tree of base P + 1: of blocks whose sizes all know, or only the root.
#pragma once

#include "collectives/algorithm.h"
#include "collectives/between_nodes/crossing.h"

namespace tutti {

/// Whether the sizes are known, or go along the tree before the blocks.
enum class Sizes { known, sent };

Task scatter_blocks(Operation& operation, const ScatterArguments& arguments, Sizes sizes);
Task gather_blocks(Operation& operation, const GatherArguments& arguments, Sizes sizes);

/// What goes between nodes, of either.
network::Cost cost_of_tree_blocks(const selection::Shape& shape, Sizes sizes);
/// What a rank copies at most.
double copied_of_tree_blocks(const selection::Shape& shape);

}  // namespace tutti
