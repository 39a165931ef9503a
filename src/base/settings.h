// Every setting of the library. The table in settings.cpp is the only place where a setting exists: parsing,
// warnings, and the reference page (docs/settings.md) follow from it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/log.h"

namespace tutti {

/// The values, with their defaults. Sizes are in bytes, times in seconds.
struct Settings {
  bool enable = true;
  bool verbose = false;
  std::string algorithm;
  std::string probe;
  std::string decision_table;
  std::string site = "/etc/tutti";
  std::string mechanism = "auto";
  std::string hierarchy = "auto";
  std::string topology;
  std::string chunk = "auto";
  std::string wait = "auto";
  std::size_t eager_max = std::size_t{16} * 1024;
  std::size_t flat_max = 16;
  std::size_t window_min = std::size_t{2} * 1024;
  std::size_t window_size = 0;
  std::size_t window_retain = std::size_t{64} << 20;
  bool static_data = true;
  std::string devices = "auto";
  std::size_t view_retain = std::size_t{64} << 20;
  std::string huge = "auto";
  std::size_t xpmem_cache = 128;
  std::string xpmem_device = "/dev/xpmem";
  std::string move = "auto";
  std::size_t segment = 8 << 20;
  std::size_t block = std::size_t{16} * 1024;
  std::size_t cache = 0;
  std::size_t spin = 2000;
  double timeout = 0;
  std::string progress = "auto";
  std::string persistent = "plan";
  bool messages = true;
  std::size_t messages_min = 0;
  bool check = false;
  std::string explain = "0";
  std::string profile;
  std::string internode = "auto";
  std::string ranks_per_node;

  /// Whether calls are counted: for TUTTI_EXPLAIN or TUTTI_PROFILE.
  bool counts() const { return explains() || !profile.empty(); }
  /// Whether what was counted is told by TUTTI_EXPLAIN, and the file that gets the result; empty: standard error.
  bool explains() const;
  std::string explain_file() const;

  /// Reads every TUTTI_ variable of `environment` (null-terminated, as ::environ). An unknown name or a bad value
  /// is one warning with the nearest right one, and the default stays.
  static Settings from_environment(const char* const* environment, const Log& log);
};

/// One row of the table, for documentation.
struct SettingDescription {
  std::string_view name;      ///< without the TUTTI_ prefix
  std::string_view type;      ///< "bool", "string", "bytes", "count", "seconds", or the allowed words a|b|c
  std::string_view fallback;  ///< default, as the user would write it
  std::string_view sentence;
};

std::span<const SettingDescription> setting_descriptions();

/// Parses "64", "16K", "4M", "1G", with optional "B" or "iB". False if it is not a size.
bool parse_bytes(std::string_view text, std::size_t& bytes);

}  // namespace tutti
