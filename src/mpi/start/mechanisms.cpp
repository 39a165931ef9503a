#include "mpi/start/mechanisms.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace tutti::mpi {

namespace {

struct NamedWay {
  const char* name;
  unsigned way;
};
constexpr NamedWay names[] = {{"window", way_window}, {"xpmem", way_xpmem}, {"cma", way_cma}, {"staged", way_arena}};

}  // namespace

unsigned AskedWays::allowed() const {
  return ((listed ? listed : every_way) & ~forbidden) | way_arena;
}

AskedWays asked_ways(const std::string& text, const Log& log) {
  AskedWays asked;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find(',', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    const bool excluded = !word.empty() && word[0] == '^';
    if (excluded) word.erase(0, 1);
    const auto found =
        std::find_if(std::begin(names), std::end(names), [&](const NamedWay& each) { return word == each.name; });
    if (found != std::end(names)) {
      (excluded ? asked.forbidden : asked.listed) |= found->way;
    } else if (word != "auto") {
      log.warn("TUTTI_MECHANISM: \"%s\" is not one of window, xpmem, cma, staged; it is ignored", word.c_str());
    }
  }
  return asked;
}

std::vector<std::string> names_of_ways(unsigned ways) {
  std::vector<std::string> found;
  for (const NamedWay& each : names)
    if (ways & each.way) found.emplace_back(each.name);
  return found;
}

}  // namespace tutti::mpi
