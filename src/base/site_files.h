// Files of the user and of the site that choices are made from: where they are looked for, by the library and by the
// tools.
#pragma once

#include <string>
#include <vector>

#include "base/settings.h"

namespace tutti {

/// A file as it was found.
struct SiteFile {
  std::string path;   ///< empty: it is not there
  std::string text;   ///< its bytes
  std::string error;  ///< it is there but cannot be read: why, in words; `text` is empty then
};

/// The file. To be read by one rank, which gives the others its bytes.
SiteFile read_site_file(const std::string& path);

/// The files that TUTTI_PROBE stands for: the one it names, there or not; none if it is "off"; else those of the user
/// ($XDG_CONFIG_HOME/tutti, else ~/.config/tutti) and of the site (TUTTI_SITE) that are there. The first that can be used
/// counts.
std::vector<std::string> probe_files(const Settings& settings);

/// The same for TUTTI_TABLE: else all those in the folders "tables" of the user and then of the site, by name.
std::vector<std::string> table_files(const Settings& settings);

}  // namespace tutti
