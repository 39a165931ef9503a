#include "mpi/measured_model.h"

#include <unistd.h>

#include <optional>

#include "mpi/node_machine.h"
#include "mpi/site_files.h"
#include "selection/machine.h"

namespace tutti::mpi {

std::vector<std::string> probe_files(const Settings& settings) {
  if (settings.probe == "off") return {};
  if (!settings.probe.empty()) return {settings.probe};
  std::vector<std::string> paths = site_paths("probe.json", settings);
  std::erase_if(paths, [](const std::string& path) { return access(path.c_str(), F_OK) != 0; });
  return paths;
}

void take_measured_model(Job& job, const std::vector<std::string>& paths, int count) {
  const Node& node = job.node;
  const auto machine = published_machine(node);
  std::optional<selection::Probe> probe;
  const auto judge = [&](const std::string& text) -> Judgement {
    std::string error;
    probe = selection::parse_probe(text, error);
    if (!probe) return {error, ""};
    return {"", machine ? selection::why_other_machine(probe->machine, selection::identity_of(*machine)) : ""};
  };
  const FileKind kind{"TUTTI_PROBE", node.settings.probe, "the shipped parameters are used"};
  const std::string path = first_usable(paths, count, kind, judge, node.log);
  if (path.empty()) return;
  job.knowledge.model = probe->model;
  job.knowledge.model_source = probe->date.empty() ? "measured" : "measured " + probe->date;
  job.model_file = path;
  node.log.note("the model's parameters are from %s, %s", path.c_str(), job.knowledge.model_source.c_str());
}

}  // namespace tutti::mpi
