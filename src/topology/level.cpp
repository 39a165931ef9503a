#include "topology/level.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/nearest.h"

namespace tutti::topology {

namespace {

std::string_view without_blanks(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool same_word(std::string_view a, std::string_view b) {
  return edit_distance(a, b) == 0;
}

std::optional<LevelKind> parse_kind(std::string_view word) {
  for (const LevelKind kind : all_level_kinds)
    if (same_word(word, name_of(kind))) return kind;
  return std::nullopt;
}

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Takes a word that is the number of the widest group's members.
bool take_widest(std::string_view word, LevelSpec& spec) {
  if (!is_number(word) || spec.widest > 0) return false;
  int number = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
  if (read.ec != std::errc() || number < widest_least || number > widest_most) return false;
  spec.widest = number;
  return true;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  out += text;
  out += '"';
  return out;
}

std::string explain_wrong(std::string_view word, std::string_view text) {
  if (word.empty()) return "empty level name in hierarchy " + quoted(text) + "; write e.g. numa+socket, flat or auto";
  if (same_word(word, "flat") || same_word(word, "auto"))
    return quoted(word) + " stands alone and cannot be joined with other levels in hierarchy " + quoted(text);
  if (is_number(word))
    return "groups of at most " + std::string(word) + " in hierarchy " + quoted(text) + ": one number from " +
           std::to_string(widest_least) + " to " + std::to_string(widest_most) + " is possible";
  const std::string best = nearest(word, {"l2", "l3", "numa", "socket", "flat", "auto"});
  return "unknown level " + quoted(word) + " in hierarchy " + quoted(text) + "; did you mean " + quoted(best) +
         "? (levels: l2, l3, numa, socket and a number joined by +, or flat, or auto)";
}

}  // namespace

std::string_view name_of(LevelKind kind) {
  switch (kind) {
    case LevelKind::l2:
      return "l2";
    case LevelKind::l3:
      return "l3";
    case LevelKind::numa:
      return "numa";
    case LevelKind::socket:
      return "socket";
  }
  return "?";
}

std::optional<LevelSpec> parse_levels(std::string_view text, std::string& error) {
  LevelSpec spec;
  const std::string_view all = without_blanks(text);
  if (same_word(all, "flat")) return spec;
  if (same_word(all, "auto")) {
    spec.automatic = true;
    return spec;
  }
  for (std::size_t begin = 0; begin <= all.size();) {
    const std::size_t end = std::min(all.find('+', begin), all.size());
    const std::string_view word = without_blanks(all.substr(begin, end - begin));
    const auto kind = parse_kind(word);
    if (!kind && !take_widest(word, spec)) {
      error = explain_wrong(word, all);
      return std::nullopt;
    }
    if (kind && std::find(spec.kinds.begin(), spec.kinds.end(), *kind) == spec.kinds.end()) spec.kinds.push_back(*kind);
    begin = end + 1;
  }
  return spec;
}

std::string to_string(const LevelSpec& spec) {
  if (spec.automatic) return "auto";
  if (spec.kinds.empty() && spec.widest == 0) return "flat";
  std::string text;
  const auto join = [&text](std::string_view word) {
    if (!text.empty()) text += '+';
    text += word;
  };
  for (const LevelKind kind : spec.kinds) join(name_of(kind));
  if (spec.widest > 0) join(std::to_string(spec.widest));
  return text;
}

}  // namespace tutti::topology
