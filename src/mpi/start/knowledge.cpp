#include "mpi/start/knowledge.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/site_files.h"
#include "mpi/host.h"
#include "mpi/start/node_machine.h"

namespace tutti::mpi {

namespace {

/// Some of one kind.
struct Files {
  const std::vector<std::string>& paths;  ///< on rank 0; those of the others do not matter
  int count;                              ///< of rank 0's paths
  const char* variable;                   ///< "TUTTI_TABLE"
  std::string named;                      ///< its value
  const char* instead;                    ///< what happens without such a file: "the model chooses"
};

/// What a rank makes of a file. The first follows from the bytes alone, so it is equal on all ranks.
struct Judgement {
  std::string broken;  ///< why it is no file of its kind; empty if it is one
  std::string misfit;  ///< why it is not for this node; empty if it is
};

/// Rank 0's file, there or not. Collective.
SiteFile read_on_first_rank(const std::string& path) {
  int rank = 0;
  host.Comm_rank(MPI_COMM_WORLD, &rank);
  SiteFile file;
  if (rank == 0) file = read_site_file(path);
  std::array<std::uint64_t, 3> lengths{file.path.size(), file.text.size(), file.error.size()};
  host.Bcast(lengths.data(), sizeof lengths, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (lengths[0] == 0) return {};
  std::string all = file.path + file.text + file.error;
  all.resize(lengths[0] + lengths[1] + lengths[2]);
  host.Bcast(all.data(), static_cast<int>(all.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  file.path = all.substr(0, lengths[0]);
  file.text = all.substr(lengths[0], lengths[1]);
  file.error = all.substr(lengths[0] + lengths[1]);
  return file;
}

/// Why a file does not fit some node; empty if it fits all. Collective.
std::string agreed_misfit(const std::string& here) {
  int fits = here.empty() ? 1 : 0;
  int all_fit = 0;
  host.Allreduce(&fits, &all_fit, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all_fit) return "";
  return here.empty() ? "it does not fit the other nodes of this job" : here;
}

/// The first that is a file of its kind and fits on every node: what one node cannot use nobody does. The others get its bytes
/// from rank 0. judge: asked about each file in turn until one will do, last about that one. Returns its path, or nothing if
/// there is none, for which rank 0 has said why: a line for each that is broken, one for those that do not fit. Collective.
std::string first_usable(const Files& files, const std::function<Judgement(const std::string& text)>& judge,
                         const Log& log) {
  std::string misfit;
  int misfits = 0;
  bool any = false;
  for (int i = 0; i < files.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const SiteFile file = read_on_first_rank(at < files.paths.size() ? files.paths[at] : "");
    if (file.path.empty()) continue;  // gone since the folder was listed, or not there at all
    any = true;
    const Judgement found = file.error.empty() ? judge(file.text) : Judgement{file.error, ""};
    if (!found.broken.empty()) {
      log.warn("%s: %s; %s", file.path.c_str(), found.broken.c_str(),
               i + 1 < files.count ? "it is not used" : files.instead);
      continue;
    }
    const std::string why = agreed_misfit(found.misfit);
    if (why.empty()) return file.path;
    if (misfits++ == 0) misfit = file.path + ": " + why;
  }
  const std::string others = misfits > 2   ? " (nor do " + std::to_string(misfits - 1) + " others)"
                             : misfits > 1 ? " (nor does another)"
                                           : "";
  if (misfits > 0)
    log.warn("%s%s; %s", misfit.c_str(), others.c_str(), files.instead);
  else if (!any && !files.named.empty() && files.named != "off")
    log.warn("%s: there is no file \"%s\"; %s", files.variable, files.named.c_str(), files.instead);
  return "";
}

/// The model's parameters: measured ones, else the shipped ones stay.
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
  const Files files{paths, count, "TUTTI_PROBE", node.settings.probe, "the shipped parameters are used"};
  const std::string path = first_usable(files, judge, node.log);
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

void say_left_out(const std::string& path, const std::vector<std::string>& left_out, const Log& log) {
  if (left_out.empty()) return;
  const std::string more =
      left_out.size() > 1 ? " (and " + std::to_string(left_out.size() - 1) + " more entries are left out)" : "";
  log.warn("%s: %s%s; the model chooses there instead", path.c_str(), left_out.front().c_str(), more.c_str());
}

/// The word after `prefix`, without a comma at its end; empty if `text` does not have the prefix.
std::string word_after(std::string_view text, std::string_view prefix) {
  const auto at = text.find(prefix);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + prefix.size());
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  const auto end = text.find_first_of(" ,\t\r\n");
  return std::string(text.substr(0, end));
}

/// The table that all ranks choose by; null if there is none.
void take_table(Job& job, const std::vector<std::string>& paths, int count) {
  const Node& node = job.node;
  const auto known = known_algorithms();
  selection::ParsedTable parsed;
  const auto judge = [&](const std::string& text) -> Judgement {
    parsed = selection::parse_table(text, known, known_between_nodes());
    if (!parsed.table) return {parsed.error, ""};
    return {"", selection::why_other_origin(parsed.table->origin(), job.origin)};
  };
  const Files files{paths, count, "TUTTI_TABLE", node.settings.decision_table, "the model chooses instead"};
  const std::string path = first_usable(files, judge, node.log);
  if (path.empty()) return;
  say_left_out(path, parsed.left_out, node.log);
  node.log.note("decision table %s: %zu entries", path.c_str(), parsed.table->entries().size());
  job.table_source = source_of_table(path, parsed.table->origin());
  job.knowledge.table = std::make_shared<const selection::Table>(std::move(*parsed.table));
}

}  // namespace

HostName host_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (!host.Get_library_version || host.Get_library_version(text, &length) != MPI_SUCCESS) return {"unknown MPI", ""};
  const std::string_view words(text, static_cast<std::size_t>(std::max(0, length)));
  struct Spoken {
    const char* prefix;
    const char* name;
  };
  // Intel's and others' libraries that derive from MPICH do not speak of it.
  for (const Spoken& each : {Spoken{"Intel(R) MPI Library", "Intel MPI"}, Spoken{"MVAPICH Version", "MVAPICH"},
                             Spoken{"MPICH Version:", "MPICH"}, Spoken{"Open MPI v", "Open MPI"}})
    if (const std::string version = word_after(words, each.prefix); !version.empty())
      return {each.name, version.front() == ':' ? version.substr(1) : version};
  return {std::string(words.substr(0, words.find('\n'))), ""};
}

void gather_knowledge(Job& job, const std::vector<Card>& all, const Contribution& contribution) {
  const Node& node = job.node;
  set_user_choice(job.knowledge,
                  selection::UserChoice::parse(node.settings.algorithm, all_known_algorithms(), node.log));
  // What is chosen between nodes has to be the same on all of them.
  const selection::Maker maker = all.front().maker;
  const bool alike = std::all_of(all.begin(), all.end(), [maker](const Card& each) { return each.maker == maker; });
  const selection::Maker made_by = alike ? maker : selection::Maker::other;
  job.knowledge.model = selection::shipped_model(made_by);
  job.knowledge.model_source = selection::shipped_words(made_by);
  job.knowledge.network = selection::parameters_of(job.knowledge.model, std::nullopt);
  if (const int count = all.front().probe_files; count > 0) take_measured_model(job, contribution.probes, count);
  const auto machine = published_machine(node);
  const HostName mpi = host_name();
  job.origin = {machine ? selection::identity_of(*machine) : selection::MachineIdentity{}, mpi.name, mpi.version};
  if (const int count = all.front().table_files; count > 0) take_table(job, contribution.tables, count);
}

}  // namespace tutti::mpi
