// What tutti-probe-measure prints: one JSON object a line.
#pragma once

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace tutti::bench {

inline void print(const nlohmann::ordered_json& line) {
  std::cout << line.dump() << std::endl;
}

/// Says why something is not measured.
inline void leave_out(const std::string& why) {
  print({{"left_out", why}});
}

}  // namespace tutti::bench
