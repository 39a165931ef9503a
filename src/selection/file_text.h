// Texts of files that may come to stand in messages.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tutti::selection {

/// The text of a member, fit to stand in a message: one line without control characters, and not too long. Empty if
/// there is no such text. What the library itself calls things stays as it is.
std::string text_of(const nlohmann::json& object, const char* name);

}  // namespace tutti::selection
