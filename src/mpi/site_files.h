// Files of the user and of the site that choices are made from: read by one rank, the same bytes for all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::mpi {

/// A file as rank 0 found it; equal on all ranks.
struct SiteFile {
  std::string path;   ///< empty: none of the files is there
  std::string text;   ///< its bytes
  std::string error;  ///< it is there but cannot be read: why, in words; `text` is empty then
};

/// Where to look for `name`: in the user's folder ($XDG_CONFIG_HOME/tutti, else ~/.config/tutti), then in /etc/tutti.
std::vector<std::string> site_paths(std::string_view name);

/// The files that a setting stands for: `setting` alone, there or not, if it is not empty; none if it is "off"; else
/// those of site_paths(name) that are there.
std::vector<std::string> files_of_setting(const std::string& setting, std::string_view name);

/// Rank 0 of MPI_COMM_WORLD reads the first of `paths` that is there. Collective over MPI_COMM_WORLD; the paths of the
/// other ranks do not matter.
SiteFile read_on_first_rank(const std::vector<std::string>& paths);

}  // namespace tutti::mpi
