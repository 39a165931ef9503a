// Pieces of JSON.
#pragma once

#include <string>
#include <string_view>

namespace tutti::mpi {

/// By default with nine digits.
std::string number(double value, const char* format = "%.9g");
/// A string of JSON, with its quotes. Bytes that are no UTF-8 stay as they are.
std::string quoted(std::string_view text);

}  // namespace tutti::mpi
