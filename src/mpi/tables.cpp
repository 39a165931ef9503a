#include "mpi/tables.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "mpi/host.h"
#include "mpi/site_files.h"

namespace tutti::mpi {

namespace {

/// Rank 0's files, the same bytes on all ranks.
std::vector<SiteFile> agreed_files(const std::vector<std::string>& paths, int count) {
  std::vector<SiteFile> files;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    files.push_back(read_on_first_rank(at < paths.size() ? std::vector{paths[at]} : std::vector<std::string>{}));
  }
  return files;
}

/// Nodes may differ; what one of them cannot use nobody does.
bool everybody(bool usable) {
  int mine = usable ? 1 : 0;
  int all = 0;
  host.Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

/// Why the parsed table cannot be used on every node; empty if it can. Collective.
std::string why_not(const selection::ParsedTable& parsed, const selection::TableOrigin& here) {
  const std::string why = parsed.table ? selection::why_other_origin(parsed.table->origin(), here) : parsed.error;
  if (!everybody(why.empty())) return why.empty() ? "it does not fit the other nodes of this job" : why;
  return "";
}

void say_left_out(const SiteFile& file, const std::vector<std::string>& left_out, const Log& log) {
  if (left_out.empty()) return;
  const std::string more =
      left_out.size() > 1 ? " (and " + std::to_string(left_out.size() - 1) + " more entries are left out)" : "";
  log.warn("%s: %s%s; the model chooses there instead", file.path.c_str(), left_out.front().c_str(), more.c_str());
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

selection::TableOrigin table_origin(const std::optional<topology::Machine>& machine) {
  const HostName mpi = host_name();
  return {machine ? selection::identity_of(*machine) : selection::MachineIdentity{}, mpi.name, mpi.version};
}

std::shared_ptr<const selection::Table> agreed_table(const std::vector<std::string>& paths, int count,
                                                     const std::string& setting, const selection::TableOrigin& here,
                                                     std::span<const selection::Known> known, const Log& log) {
  const std::vector<SiteFile> files = agreed_files(paths, count);
  std::string misfit;
  int misfits = 0;
  for (const SiteFile& file : files) {
    if (file.path.empty()) continue;  // gone since the folder was listed, or not there at all
    selection::ParsedTable parsed;
    parsed.error = file.error;
    if (file.error.empty()) parsed = selection::parse_table(file.text, known);
    const std::string why = why_not(parsed, here);
    if (why.empty()) {
      say_left_out(file, parsed.left_out, log);
      log.note("decision table %s: %zu entries", file.path.c_str(), parsed.table->entries().size());
      return std::make_shared<const selection::Table>(std::move(*parsed.table));
    }
    if (!parsed.table)
      log.warn("%s: %s; it is not used", file.path.c_str(), why.c_str());
    else if (misfits++ == 0)
      misfit = file.path + ": " + why;
  }
  if (misfits > 0)
    log.warn("%s%s; the model chooses instead", misfit.c_str(),
             misfits > 1 ? (" (nor do " + std::to_string(misfits - 1) + " other tables fit)").c_str() : "");
  else if (!setting.empty() && setting != "off" && (files.empty() || files.front().path.empty()))
    log.warn("TUTTI_TABLE: there is no file \"%s\"; the model chooses", setting.c_str());
  return nullptr;
}

}  // namespace tutti::mpi
