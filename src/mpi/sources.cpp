#include "mpi/sources.h"

#include <utility>

namespace tutti::mpi {

namespace {

constexpr std::string_view spaces = " \t\r\n", letters_of_dates = "0123456789-+:.TZ";

/// `text` behind `prefix`, with the spaces before either left out; empty if it does not begin so.
std::string_view behind(std::string_view text, std::string_view prefix) {
  const auto begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos || text.substr(begin, prefix.size()) != prefix) return {};
  return text.substr(begin + prefix.size());
}

/// When a table was measured; empty if it does not say. Nothing is chosen by it, so that what was read does not have
/// it. `tutti tune` writes it before what may be long.
std::string_view date_of(std::string_view text) {
  constexpr std::string_view key = "\"date\"";
  text = text.substr(0, text.find("\"entries\""));
  const auto at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view value = behind(behind(text.substr(at + key.size()), ":"), "\"");
  const auto end = value.find('"');
  if (end == std::string_view::npos) return {};
  const std::string_view date = value.substr(0, end);
  return date.find_first_not_of(letters_of_dates) == std::string_view::npos ? date : std::string_view();
}

}  // namespace

Source source_of_table(std::string path, std::string_view text, const selection::TableOrigin& origin) {
  std::string words = "measured with " + origin.host;
  if (!origin.host_version.empty()) words += " " + origin.host_version;
  if (const std::string_view date = date_of(text); !date.empty()) words.append(", ").append(date);
  return {std::move(path), std::move(words)};
}

}  // namespace tutti::mpi
