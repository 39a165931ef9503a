#include "mpi/start/tables.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "collectives/collectives.h"
#include "mpi/host.h"
#include "mpi/start/site_files.h"

namespace tutti::mpi {

namespace {

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

AgreedTable agreed_table(const std::vector<std::string>& paths, int count, const std::string& named,
                         const selection::TableOrigin& here, std::span<const selection::Known> known, const Log& log) {
  selection::ParsedTable parsed;
  const auto judge = [&](const std::string& text) -> Judgement {
    parsed = selection::parse_table(text, known, known_between_nodes());
    if (!parsed.table) return {parsed.error, ""};
    return {"", selection::why_other_origin(parsed.table->origin(), here)};
  };
  const std::string path = first_usable(paths, count, {"TUTTI_TABLE", named, "the model chooses instead"}, judge, log);
  if (path.empty()) return {};
  say_left_out(path, parsed.left_out, log);
  log.note("decision table %s: %zu entries", path.c_str(),
           parsed.table->entries().size() + parsed.table->between_nodes().size());
  Source source = source_of_table(path, parsed.table->origin());
  return {std::make_shared<const selection::Table>(std::move(*parsed.table)), std::move(source)};
}

}  // namespace tutti::mpi
