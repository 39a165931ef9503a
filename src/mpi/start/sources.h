// Where the files are from that choices are made by, for people and for the JSON of TUTTI_EXPLAIN.
#pragma once

#include <string>

#include "selection/table.h"

namespace tutti::mpi {

struct Source {
  std::string path;   ///< empty: no file
  std::string words;  ///< how it was made: "measured 2026-10-01T12:00:00+00:00"
};

Source source_of_table(std::string path, const selection::TableOrigin& origin);

}  // namespace tutti::mpi
