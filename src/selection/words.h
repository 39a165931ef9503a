// Choices in words, for whoever reads them: one place for all that print them.
#pragma once

#include <cstddef>
#include <string>

#include "selection/algorithm.h"

namespace tutti::selection {

/// "model", "table", "user", "refused": for files.
const char* name_of(Reason reason);

/// Why an algorithm was chosen; by_host: the choice was the MPI's own.
const char* words_of(Reason reason, bool by_host);

/// "throttled(4)"; without the number if there is none.
std::string words_of(const char* algorithm, int parameter);

/// "512 B", "16 KiB", "1.5 MiB".
std::string words_of_bytes(std::size_t bytes);

}  // namespace tutti::selection
