// Which make-believe node a rank belongs to, by TUTTI_RANKS_PER_NODE. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace tutti::network {

/// list: how many ranks each node has, such as "2,3,1"; after its end it begins again. The number of the node that `rank`
/// of the job is on, from 0. Nothing if the list is none of positive numbers.
std::optional<int> make_believe_node(std::string_view list, int rank);

}  // namespace tutti::network
