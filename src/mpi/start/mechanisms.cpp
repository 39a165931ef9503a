#include "mpi/start/mechanisms.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace tutti::mpi {

namespace {

struct NamedMechanism {
  const char* name;
  unsigned mechanism;
};
constexpr NamedMechanism names[] = {
    {"window", mechanism_window}, {"xpmem", mechanism_xpmem}, {"cma", mechanism_cma}, {"staged", mechanism_arena}};

}  // namespace

unsigned AskedMechanisms::allowed() const {
  return ((listed ? listed : every_mechanism) & ~forbidden) | mechanism_arena;
}

AskedMechanisms asked_mechanisms(const std::string& text, const Log& log) {
  AskedMechanisms asked;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find(',', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    const bool excluded = !word.empty() && word[0] == '^';
    if (excluded) word.erase(0, 1);
    const auto found =
        std::find_if(std::begin(names), std::end(names), [&](const NamedMechanism& each) { return word == each.name; });
    if (found != std::end(names)) {
      (excluded ? asked.forbidden : asked.listed) |= found->mechanism;
    } else if (word != "auto") {
      log.warn("TUTTI_MECHANISM: \"%s\" is not one of window, xpmem, cma, staged; it is ignored", word.c_str());
    }
  }
  return asked;
}

std::vector<std::string> names_of_mechanisms(unsigned mechanisms) {
  std::vector<std::string> found;
  for (const NamedMechanism& each : names)
    if (mechanisms & each.mechanism) found.emplace_back(each.name);
  return found;
}

}  // namespace tutti::mpi
