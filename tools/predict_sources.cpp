#include "predict_sources.h"

#include <optional>
#include <utility>

#include "base/site_files.h"
#include "collectives/collectives.h"
#include "input_file.h"
#include "selection/machine.h"
#include "selection/shipped.h"

namespace tutti::prediction {

using nlohmann::ordered_json;

namespace {

ordered_json not_used(const std::string& path, const std::string& why) {
  return {{"path", path}, {"fits", false}, {"why_not", why}};
}

/// A machine that is only described has no known maker; and what is asked of ranks in general depends on no machine.
selection::Maker maker_of(const Options& options) {
  const bool of_here = options.here || options.model_only || !options.mechanisms.empty();
  const bool is_here = of_here && !selection::identity_of(machine_of(options)).processor.empty();
  return is_here ? processor::maker() : selection::Maker::other;
}

KnownModel shipped_model(const Options& options) {
  const selection::Maker maker = maker_of(options);
  return {selection::shipped_model(maker), {{"path", nullptr}, {"words", selection::shipped_words(maker)}}};
}

KnownModel model_of(const Options& options, const std::string& path, const selection::Probe& probe) {
  const std::string why = selection::why_other_machine(probe.machine, selection::identity_of(machine_of(options)));
  // Who asks what the library would do is told that; others may predict for whatever was measured.
  const bool refused = !why.empty() && !options.mechanisms.empty();
  return {refused ? selection::shipped_model(maker_of(options)) : probe.model,
          {{"path", path},
           {"words", refused ? selection::shipped_words(maker_of(options)) : "measured " + probe.date},
           {"date", probe.date},
           {"kernel", probe.kernel},
           {"processor", probe.machine.processor},
           {"cores", probe.machine.cores},
           {"topology", probe.machine.topology},
           {"fits", why.empty()},
           {"why_not", why.empty() ? ordered_json(nullptr) : ordered_json(why)}},
          refused ? std::nullopt : probe.network};
}

/// By the files that the library would read.
KnownModel found_model(const Options& options, const Settings& settings) {
  std::optional<KnownModel> refused;
  for (const std::string& path : probe_files(settings)) {
    const SiteFile file = read_site_file(path);
    std::string error = file.path.empty() ? "there is no such file" : file.error;
    const auto probe = error.empty() ? selection::parse_probe(file.text, error) : std::nullopt;
    KnownModel known = probe ? model_of(options, path, *probe) : KnownModel{{}, not_used(path, error)};
    if (known.source["fits"] == true) return known;
    known.source["words"] = shipped_model(options).source["words"];
    if (!refused) refused = KnownModel{shipped_model(options).model, known.source};
  }
  return refused.value_or(shipped_model(options));
}

KnownTable table_of(const Options& options, const std::string& path, selection::ParsedTable parsed) {
  const selection::TableOrigin& origin = parsed.table->origin();
  const std::string why =
      selection::why_other_origin(origin, {selection::identity_of(machine_of(options)), options.host, ""});
  ordered_json source{
      {"path", path},
      {"words", "measured with " + origin.host + " " + origin.host_version + " on " + origin.machine.processor},
      {"fits", why.empty()},
      {"why_not", why.empty() ? ordered_json(nullptr) : ordered_json(why)},
      {"left_out", parsed.left_out}};
  if (!why.empty()) return {nullptr, source};
  return {std::make_shared<const selection::Table>(std::move(*parsed.table)), source};
}

/// By the files that the library would read. Without --host the MPI is not known: then those that another MPI would have
/// are named as well.
KnownTable found_table(const Options& options, const Settings& settings) {
  KnownTable found;
  ordered_json passed_over = ordered_json::array();
  const auto known = known_algorithms();
  for (const std::string& path : table_files(settings)) {
    const SiteFile file = read_site_file(path);
    selection::ParsedTable parsed;
    parsed.error = file.path.empty() ? "there is no such file" : file.error;
    if (parsed.error.empty()) parsed = selection::parse_table(file.text, known, known_between_nodes());
    KnownTable here =
        parsed.table ? table_of(options, path, std::move(parsed)) : KnownTable{nullptr, not_used(path, parsed.error)};
    if (!here.table) {
      if (!found.table) passed_over.push_back(std::move(here.source));
    } else if (!found.table) {
      found = std::move(here);
    } else if (here.table->origin().host != found.table->origin().host) {
      passed_over.push_back(
          not_used(path, "it is for " + here.table->origin().host + "; --host says which MPI is meant"));
    }
    if (found.table && !options.host.empty()) break;
  }
  if (!found.table && !passed_over.empty()) {
    found.source = passed_over.front();
    passed_over.erase(passed_over.begin());
  }
  found.passed_over = std::move(passed_over);
  return found;
}

}  // namespace

ordered_json KnownModel::network_source() const {
  if (!network) return {{"path", nullptr}, {"words", "shipped values"}};
  return {{"path", source["path"]}, {"words", network->words()}};
}

topology::Machine machine_of(const Options& options) {
  std::string error;
  auto machine = topology::Machine::load(options.topology, error);
  if (!machine) throw UsageError(error);
  return std::move(*machine);
}

KnownModel model_of(const Options& options, const Settings& settings) {
  if (options.probe.empty() && options.here) return found_model(options, settings);
  if (options.probe.empty() || options.probe == "off") return shipped_model(options);
  std::string error;
  const auto probe = selection::parse_probe(text_of_file(options.probe), error);
  if (!probe) throw UsageError(options.probe + ": " + error);
  return model_of(options, options.probe, *probe);
}

KnownTable table_of(const Options& options, const Settings& settings) {
  if (options.table.empty() && options.here) return found_table(options, settings);
  if (options.table.empty() || options.table == "off") return {};
  selection::ParsedTable parsed =
      selection::parse_table(text_of_file(options.table), known_algorithms(), known_between_nodes());
  if (!parsed.table) throw UsageError(options.table + ": " + parsed.error);
  return table_of(options, options.table, std::move(parsed));
}

}  // namespace tutti::prediction
