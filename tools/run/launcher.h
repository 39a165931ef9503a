// Launchers whose file tells which they are, and command lines of which every option is known.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program.h"

namespace tutti::run {

enum class Launcher { openmpi, hydra };

/// By what stands in its file; nothing if that does not tell.
std::optional<Launcher> glimpse(const std::string& path);

/// Does a word look like an mpirun or mpiexec?
bool looks_like_launcher(std::string_view word);

/// Can it start programs of this ABI?
bool starts(Launcher launcher, Abi abi);

/// Where in a launcher's words the one program stands; nothing if not all before it is understood, or something in it needs
/// more thought: a place for the program, a preload of the user's own, several programs.
std::optional<std::size_t> find_program_word(Launcher launcher, const std::vector<std::string>& words);

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The words by which every rank gets the library and the variables, for the place right behind the launcher. options: those
/// that are there.
std::vector<std::string> words_for(Launcher launcher, const std::string& library, const Variables& variables,
                                   const std::vector<std::string>& options);

}  // namespace tutti::run
