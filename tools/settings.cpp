// Prints the table of settings as JSON, for `tutti info` and for docs/settings.md.
#include "base/settings.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace {

/// A JSON string; the table holds printable text only, so quotes and backslashes are all there is to escape.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') out += '\\';
    out += character;
  }
  return out + '"';
}

}  // namespace

int main() {
  const char* separator = "[\n";
  for (const tutti::SettingDescription& row : tutti::setting_descriptions()) {
    std::printf("%s  {\"name\": %s, \"type\": %s, \"default\": %s, \"sentence\": %s}", separator,
                quoted(row.name).c_str(), quoted(row.type).c_str(), quoted(row.fallback).c_str(),
                quoted(row.sentence).c_str());
    separator = ",\n";
  }
  std::printf("\n]\n");
  return std::fflush(stdout) == 0 ? 0 : 1;
}
