#include "mpi/start/measured_model.h"

#include <optional>

#include "mpi/start/node_machine.h"
#include "mpi/start/site_files.h"

namespace tutti::mpi {

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
  job.knowledge.network = selection::parameters_of(probe->model, probe->network);
  if (probe->network) {
    job.knowledge.network_source = probe->network->words();
    job.network_file = path;
    job.network = probe->network;
  }
  job.knowledge.model_source = probe->date.empty() ? "measured" : "measured " + probe->date;
  job.model_file = path;
  node.log.note("the model's parameters are from %s, %s", path.c_str(), job.knowledge.model_source.c_str());
}

}  // namespace tutti::mpi
