#include "mpi/measured_model.h"

#include "mpi/node_machine.h"
#include "mpi/site_files.h"
#include "selection/machine.h"

namespace tutti::mpi {

void take_measured_model(Job& job, const std::vector<std::string>& files) {
  const Node& node = job.node;
  const SiteFile file = read_on_first_rank(files);
  if (file.path.empty()) {
    if (!node.settings.probe.empty() && node.settings.probe != "off")
      node.log.warn("TUTTI_PROBE: there is no file \"%s\"; the shipped parameters are used",
                    node.settings.probe.c_str());
    return;
  }
  std::string error = file.error;
  const auto probe = error.empty() ? selection::parse_probe(file.text, error) : std::nullopt;
  if (probe) {
    if (const auto machine = published_machine(node))
      error = selection::why_other_machine(probe->machine, selection::identity_of(*machine));
    int usable = error.empty() ? 1 : 0;
    int all_can = 0;
    host.Allreduce(&usable, &all_can, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all_can && error.empty()) error = "it does not fit the other nodes of this job";
  }
  if (!error.empty()) {
    node.log.warn("%s: %s; the shipped parameters are used", file.path.c_str(), error.c_str());
    return;
  }
  job.knowledge.model = probe->model;
  job.knowledge.model_source = probe->date.empty() ? "measured" : "measured " + probe->date;
  job.model_file = file.path;
  node.log.note("the model's parameters are from %s, %s", file.path.c_str(), job.knowledge.model_source.c_str());
}

}  // namespace tutti::mpi
