// The nearest right name for a wrong one, for messages such as "unknown X; did you mean Y?".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// Edit distance (Levenshtein) between two names, ignoring case.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate with the smallest edit distance to `name`; empty if there are no candidates.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tutti
