#include "contenders.h"

namespace tutti::bench {

std::string Contender::name() const {
  return algorithm.empty() ? "auto" : algorithm.substr(algorithm.find(':') + 1);
}

bool is_in_slot(const Choice& choice) {
  return choice.mechanism.empty() || choice.mechanism == "inline" || choice.mechanism == "slot";
}

bool Contender::got(const Choice& choice) const {
  const std::string asked = name().substr(0, name().find(','));
  if (!algorithm.empty() && asked != choice.algorithm) return false;
  return mechanism.empty() || is_in_slot(choice) || choice.mechanism == mechanism;
}

std::vector<Contender> contenders_of(const Options& options) {
  std::vector<Contender> contenders{{}};
  const auto or_any = [](const std::vector<std::string>& asked) {
    return asked.empty() ? std::vector<std::string>{""} : asked;
  };
  if (!options.compares()) return contenders;
  for (const std::string& algorithm : or_any(options.algorithms))
    for (const std::string& mechanism : or_any(options.mechanisms)) contenders.push_back({algorithm, mechanism});
  return contenders;
}

}  // namespace tutti::bench
