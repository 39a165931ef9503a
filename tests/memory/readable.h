// What of this process's memory can be read, and what reading all of it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace tutti::memory {

struct Stretch {
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// The mappings between two addresses, all of them or those that can be read.
inline std::vector<Stretch> mappings_within(const std::byte* from, std::size_t bytes, bool readable_ones) {
  const auto first = reinterpret_cast<std::uintptr_t>(from);
  std::vector<Stretch> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char read = '-';
    if (std::sscanf(line.c_str(), "%lx-%lx %c", &begin, &end, &read) != 3) continue;
    if (end <= first || begin >= first + bytes || (readable_ones && read != 'r')) continue;
    found.push_back({begin, end});
  }
  return found;
}

inline std::size_t bytes_of(const std::vector<Stretch>& stretches) {
  std::size_t bytes = 0;
  for (const Stretch& each : stretches) bytes += each.end - each.begin;
  return bytes;
}

inline std::size_t readable_bytes(const std::byte* from, std::size_t bytes) {
  return bytes_of(mappings_within(from, bytes, true));
}

/// Reads a byte of each page that can be read, as a leak check or a checkpoint does.
inline void read_all(const std::byte* from, std::size_t bytes) {
  for (const Stretch& each : mappings_within(from, bytes, true))
    for (std::uintptr_t at = each.begin; at < each.end; at += 4096)
      static_cast<void>(*reinterpret_cast<const volatile unsigned char*>(at));
}

/// Of the whole process, in bytes.
inline std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

}  // namespace tutti::memory
