#include "selection/algorithm.h"

#include <algorithm>

#include "base/nearest.h"

namespace tutti::selection {

namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = text.find(at);
    if (const auto part = text.substr(0, end); !part.empty()) parts.push_back(part);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

}  // namespace

UserChoice UserChoice::parse(std::string_view text, std::span<const Known> known, const Log& log) {
  UserChoice choice;
  std::vector<std::string> collectives;
  for (const Known& entry : known) collectives.emplace_back(entry.collective);
  for (std::string_view clause : split(text, ';')) {
    const auto colon = clause.find(':');
    const std::string_view collective = clause.substr(0, colon);
    const auto entry =
        std::find_if(known.begin(), known.end(), [&](const Known& each) { return each.collective == collective; });
    if (colon == std::string_view::npos || entry == known.end()) {
      log.warn("TUTTI_ALGORITHM: \"%s\" names no collective (collective:algorithm); the nearest is \"%s\"",
               std::string(clause).c_str(), nearest(collective, collectives).c_str());
      continue;
    }
    std::vector<std::string> names = entry->algorithms;
    names.emplace_back(host_algorithm);
    for (std::string_view name : split(clause.substr(colon + 1), ',')) {
      const bool excluded = name.front() == '^';
      if (excluded) name.remove_prefix(1);
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        log.warn("TUTTI_ALGORITHM: %s has no algorithm \"%s\"; the nearest is \"%s\"", std::string(collective).c_str(),
                 std::string(name).c_str(), nearest(name, names).c_str());
        continue;
      }
      choice.rules_.push_back({std::string(collective), std::string(name), excluded});
    }
  }
  return choice;
}

bool UserChoice::mentions(std::string_view collective) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) { return rule.collective == collective; });
}

bool UserChoice::allows(std::string_view collective, std::string_view algorithm) const {
  bool any_allowed = false;
  for (const Rule& rule : rules_) {
    if (rule.collective != collective) continue;
    if (rule.algorithm == algorithm) return !rule.excluded;
    any_allowed = any_allowed || !rule.excluded;
  }
  return !any_allowed;
}

}  // namespace tutti::selection
