#include "selection/algorithm.h"

#include <algorithm>
#include <charconv>

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
    Rule* last = nullptr;
    for (std::string_view name : split(clause.substr(colon + 1), ',')) {
      if (const auto equals = name.find('='); equals != std::string_view::npos) {
        choice.give(last, name.substr(0, equals), name.substr(equals + 1), *entry, log);
        continue;
      }
      const bool excluded = name.front() == '^';
      if (excluded) name.remove_prefix(1);
      last = nullptr;
      if (const auto alias = std::find(entry->aliases.begin(), entry->aliases.end(), name);
          alias != entry->aliases.end() && !name.empty())
        name = entry->algorithms[static_cast<std::size_t>(alias - entry->aliases.begin())];
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        log.warn("TUTTI_ALGORITHM: %s has no algorithm \"%s\"; the nearest is \"%s\"", std::string(collective).c_str(),
                 std::string(name).c_str(), nearest(name, names).c_str());
        continue;
      }
      last = &choice.rules_.emplace_back(Rule{std::string(collective), std::string(name), excluded, 0});
    }
  }
  return choice;
}

UserChoice UserChoice::among(std::span<const Known> known) const {
  UserChoice found;
  for (const Rule& rule : rules_) {
    const bool is_known = std::any_of(known.begin(), known.end(), [&](const Known& each) {
      return each.collective == rule.collective &&
             std::find(each.algorithms.begin(), each.algorithms.end(), rule.algorithm) != each.algorithms.end();
    });
    if (is_known || rule.algorithm == host_algorithm) found.rules_.push_back(rule);
  }
  return found;
}

void UserChoice::give(Rule* rule, std::string_view key, std::string_view value, const Known& entry, const Log& log) {
  const std::string text = std::string(key) + "=" + std::string(value);
  if (!rule) {
    log.warn("TUTTI_ALGORITHM: \"%s\" follows no algorithm of %s; it is ignored", text.c_str(),
             std::string(entry.collective).c_str());
    return;
  }
  const auto at =
      std::find(entry.algorithms.begin(), entry.algorithms.end(), rule->algorithm) - entry.algorithms.begin();
  const auto i = static_cast<std::size_t>(at);
  const std::string wanted = i < entry.parameters.size() ? entry.parameters[i] : "";
  int number = 0;
  const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (wanted.empty())
    log.warn("TUTTI_ALGORITHM: %s of %s has no parameter; \"%s\" is ignored", rule->algorithm.c_str(),
             rule->collective.c_str(), text.c_str());
  else if (key != wanted || code != std::errc() || end != value.data() + value.size() || number < 1)
    log.warn("TUTTI_ALGORITHM: \"%s\" is ignored; %s of %s takes \"%s=\" and a number from 1 on", text.c_str(),
             rule->algorithm.c_str(), rule->collective.c_str(), wanted.c_str());
  else
    rule->parameter = number;
}

int UserChoice::parameter(std::string_view collective, std::string_view algorithm) const {
  for (const Rule& rule : rules_)
    if (rule.collective == collective && rule.algorithm == algorithm) return rule.parameter;
  return 0;
}

std::string UserChoice::words(std::string_view collective) const {
  std::string words;
  for (const Rule& rule : rules_) {
    if (rule.collective != collective) continue;
    if (!words.empty()) words += ',';
    if (rule.excluded) words += '^';
    words += rule.algorithm;
    if (rule.parameter) words.append("(").append(std::to_string(rule.parameter)).append(")");
  }
  return words;
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
