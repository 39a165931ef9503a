// Files of the user and of the site that choices are made from: read by one rank, the same bytes for all; the first that
// can be used counts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/log.h"

namespace tutti::mpi {

/// One kind of file, as messages speak of it.
struct FileKind {
  const char* variable;  ///< "TUTTI_TABLE"
  std::string named;     ///< its value
  const char* instead;   ///< what happens without such a file: "the model chooses"
};

/// What a rank makes of a file. The first follows from the bytes alone, so it is equal on all ranks.
struct Judgement {
  std::string broken;  ///< why it is no file of its kind; empty if it is one
  std::string misfit;  ///< why it is not for this node; empty if it is
};

/// The first of rank 0's `paths` that is a file of its kind and fits on every node: what one node cannot use nobody
/// does. The others get its bytes from rank 0, and need to know only how many paths it has: `count`. judge: asked about
/// each file in turn until one will do, last about that one. Returns its path, or nothing if there is none, for which
/// rank 0 has said why: a line for each that is broken, one for those that do not fit. Collective over MPI_COMM_WORLD.
std::string first_usable(const std::vector<std::string>& paths, int count, const FileKind& kind,
                         const std::function<Judgement(const std::string& text)>& judge, const Log& log);

}  // namespace tutti::mpi
