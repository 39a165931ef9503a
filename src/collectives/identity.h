// A number for an algorithm, which ranks tell each other to find out that they are in different calls.
#pragma once

#include <cstdint>
#include <string_view>

namespace tutti {

inline std::uint16_t identity_of(std::string_view collective, std::string_view algorithm) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const std::string_view name : {collective, std::string_view("/"), algorithm})
    for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619u;
  return static_cast<std::uint16_t>(hash ^ (hash >> 16));
}

}  // namespace tutti
