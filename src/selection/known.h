// The names that users, tables and files may speak of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::selection {

/// The algorithms of one collective, by name.
struct Known {
  std::string_view collective;
  std::vector<std::string> algorithms;
  std::vector<std::string> parameters = {};  ///< of each algorithm in turn; "" if it has none. May be shorter.
  std::vector<std::string> aliases = {};     ///< the same for other names
};

/// The host MPI's own collective as a candidate: chosen if user or table ask for it, or if nothing else is left.
inline constexpr const char* host_algorithm = "host";

}  // namespace tutti::selection
