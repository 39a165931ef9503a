// Where the files are from that choices are made by, for people and for the JSON of TUTTI_EXPLAIN.
#pragma once

#include <string>
#include <utility>

#include "selection/table.h"

namespace tutti::mpi {

struct Source {
  std::string path;   ///< empty: no file
  std::string words;  ///< how it was made: "measured 2026-10-01T12:00:00+00:00"
};

inline Source source_of_table(std::string path, const selection::TableOrigin& origin) {
  std::string words = "measured with " + origin.host;
  if (!origin.host_version.empty()) words += " " + origin.host_version;
  if (!origin.date.empty()) words += ", " + origin.date;
  return {std::move(path), std::move(words)};
}

}  // namespace tutti::mpi
