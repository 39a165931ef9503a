// What a program of the command line is, where that is plain: its MPI stands among the libraries that it needs, and no
// sanitizer does, or it is Python's interpreter.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tutti::run {

enum class Abi {
  any,  ///< Python's programs load one or none
  openmpi,
  mpich,
  standard,
};

/// The file that would be executed; empty if there is none. As find_program in tutti/launch/loader.py.
std::string find_program(std::string_view name);
/// Its last part.
std::string_view base_name(std::string_view path);
/// Without links.
std::string real_path(const std::string& path);
/// Nothing if it is not plain.
std::optional<Abi> inspect_program(const std::string& path);

}  // namespace tutti::run
