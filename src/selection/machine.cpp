#include "selection/machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "selection/file_text.h"

namespace tutti::selection {

namespace {

using nlohmann::json;

/// Model name of the processor as the system has it.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(':');
    const auto begin = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string counted(int count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// "tutti-probe-2" is 2; 0 if it is none of ours.
int probe_version(const std::string& schema) {
  constexpr std::string_view stem = "tutti-probe-";
  if (schema.compare(0, stem.size(), stem) != 0) return 0;
  return std::atoi(schema.c_str() + stem.size());
}

/// What a program pays after a call. Files from before this was measured tell of it only that lines which others have read
/// cost more to write.
bool pays_later(std::string_view field) {
  return field == "left_byte" || field == "found_byte" || field == "found_streamed_byte";
}

/// Files of the first versions have none of these. The shipped values hold then; but a busy turn is priced as any other.
bool came_later(std::string_view field) {
  return field == "busy_turn" || field == "stream_byte" || field == "streams_byte" || field == "cache_streams_byte" ||
         field.starts_with("hop_") || field == "byte_numa" || field == "byte_socket" || field == "byte_machine" ||
         field == "rank_byte" || field == "node_byte" || field == "link_byte" || field == "total_byte" ||
         field == "page_bytes" || field == "take_byte" || field == "kept_far" || field.starts_with("store_") ||
         field.starts_with("memory_s") || field.starts_with("memory_m") || pays_later(field);
}

bool read_model(const json& section, Model& model, std::string& error) {
  for (const ModelField& field : model_fields()) {
    const auto found = section.find(field.name);
    if (found == section.end() && came_later(field.name)) continue;
    if (found == section.end() || !found->is_number()) {
      error = std::string("the section \"model\" has no number \"") + field.name + "\"";
      return false;
    }
    const double value = found->get<double>();
    if (!std::isfinite(value) || value < field.least || value > field.most) {
      error = std::string("\"") + field.name + "\" is " + number_text(value) + ", which no machine has (expected " +
              number_text(field.least) + " to " + number_text(field.most) + ")";
      return false;
    }
    model.*field.member = value;
  }
  if (!section.contains("store_numa"))
    model.store_numa = model.byte_numa, model.store_socket = model.byte_socket,
    model.store_machine = model.byte_machine;
  if (!section.contains("busy_turn")) model.busy_turn = model.turn;
  if (!section.contains("cache_streams_byte")) model.cache_streams_byte = model.streams_byte;
  for (const ModelField& field : model_fields())
    if (pays_later(field.name) && !section.contains(field.name))
      model.*field.member = std::max(0.0, model.slot_byte - model.copy_byte);
  return true;
}

/// The section of `tutti probe --network`, if there is one.
bool read_network(const json& document, std::optional<MeasuredNetwork>& network, std::string& error) {
  const auto section = document.find("network");
  if (section == document.end() || section->is_null()) return true;
  if (!section->is_object()) {
    error = "its \"network\" is no section";
    return false;
  }
  struct Field {
    const char* name;
    double MeasuredNetwork::*member;
    double least, most;
    bool needed = true;
  };
  MeasuredNetwork found;
  for (const Field& field : {Field{"between_start", &MeasuredNetwork::between_start, 1e-8, 1},
                             Field{"between_byte", &MeasuredNetwork::between_byte, 1e-13, 1e-3},
                             Field{"message_rate", &MeasuredNetwork::message_rate, 1, 1e12},
                             Field{"unasked_bytes", &MeasuredNetwork::unasked_bytes, 0, 1e12, false}}) {
    const auto value = section->find(field.name);
    if (value == section->end() && !field.needed) continue;
    if (value == section->end() || !value->is_number()) {
      error = std::string("the section \"network\" has no number \"") + field.name + "\"";
      return false;
    }
    const double number = value->get<double>();
    if (!(number >= field.least && number <= field.most)) {
      error = std::string("\"") + field.name + "\" is " + number_text(number) + ", which no network has (expected " +
              number_text(field.least) + " to " + number_text(field.most) + ")";
      return false;
    }
    found.*field.member = number;
  }
  const auto count = [&](const char* name) {
    const auto value = section->find(name);
    if (value == section->end() || !value->is_number_integer()) return 0;
    return static_cast<int>(std::clamp<std::int64_t>(value->get<std::int64_t>(), 0, 1 << 20));
  };
  found.date = text_of(*section, "date");
  found.host = text_of(*section, "host");
  found.nodes = count("nodes");
  found.ranks_per_node = count("ranks_per_node");
  const auto make_believe = section->find("make_believe");
  found.make_believe = make_believe != section->end() && make_believe->is_boolean() && make_believe->get<bool>();
  network = std::move(found);
  return true;
}

}  // namespace

std::span<const ModelField> model_fields() {
  constexpr double byte_least = 1e-13, byte_most = 1e-6;  // 10 TB/s to 1 MB/s
  constexpr double factor_most = 1e3;
  static const std::array fields{
      ModelField{"hop", &Model::hop, 1e-9, 1e-3, "seconds from the store of a flag to the peer that sees it"},
      ModelField{"turn", &Model::turn, 1e-8, 1e-1, "seconds until a rank that shares its core runs"},
      ModelField{"busy_turn", &Model::busy_turn, 1e-8, 1e-1,
                 "the same where the ranks of a core fill its private cache"},
      ModelField{"copy_byte", &Model::copy_byte, byte_least, byte_most, "seconds a byte, copied in the own caches"},
      ModelField{"spilled_byte", &Model::spilled_byte, byte_least, byte_most,
                 "seconds a byte of own data that has left the private cache"},
      ModelField{"remote_byte", &Model::remote_byte, byte_least, byte_most,
                 "seconds a byte, copied from what another core has just written"},
      ModelField{"slot_byte", &Model::slot_byte, byte_least, byte_most,
                 "seconds a byte, copied into lines that another core has read"},
      ModelField{"reduce_byte", &Model::reduce_byte, byte_least, byte_most,
                 "seconds a byte of one source of a reduction"},
      ModelField{"write_byte", &Model::write_byte, byte_least, byte_most,
                 "seconds a byte, copied into lines that another core has taken over"},
      ModelField{"exchange_byte", &Model::exchange_byte, byte_least, byte_most,
                 "as remote_byte, while the owner copies from another rank as well"},
      ModelField{"stream_byte", &Model::stream_byte, byte_least, byte_most,
                 "as write_byte, past the owner's caches: of what is large"},
      ModelField{"streams_byte", &Model::streams_byte, byte_least, byte_most,
                 "the same of all ranks together, what memory takes"},
      ModelField{"cache_streams_byte", &Model::cache_streams_byte, byte_least, byte_most,
                 "the same of all ranks of one shared cache"},
      ModelField{"take_byte", &Model::take_byte, 0, byte_most, "seconds a byte more to take lines over that are read"},
      ModelField{"left_byte", &Model::left_byte, 0, byte_most,
                 "seconds a byte more to write lines that others have read, after the call"},
      ModelField{"found_byte", &Model::found_byte, 0, byte_most,
                 "seconds a byte more to use what another rank has stored, after the call"},
      ModelField{"found_streamed_byte", &Model::found_streamed_byte, 0, byte_most,
                 "the same of what was stored past the caches"},
      ModelField{"private_cache", &Model::private_cache, 1024, 1e15, "bytes that a core keeps for itself"},
      ModelField{"kept_far", &Model::kept_far, 1024, 1e15,
                 "bytes of another core's that a core's part of another cache holds"},
      ModelField{"shared_cache", &Model::shared_cache, 1024, 1e18, "bytes that the caches of the node hold"},
      ModelField{"memory_byte", &Model::memory_byte, byte_least, byte_most,
                 "seconds a byte, copied from and to what has left the caches"},
      ModelField{"hop_numa", &Model::hop_numa, 1, factor_most,
                 "times hop, where two cores share a NUMA node and no cache"},
      ModelField{"hop_socket", &Model::hop_socket, 1, factor_most, "the same where they share a socket only"},
      ModelField{"hop_machine", &Model::hop_machine, 1, factor_most, "the same where they share no socket"},
      ModelField{"byte_numa", &Model::byte_numa, 1, factor_most,
                 "times a byte of another core's, where two cores share a NUMA node and no cache"},
      ModelField{"byte_socket", &Model::byte_socket, 1, factor_most, "the same where they share a socket only"},
      ModelField{"byte_machine", &Model::byte_machine, 1, factor_most, "the same where they share no socket"},
      ModelField{"store_numa", &Model::store_numa, 1, factor_most,
                 "times a byte stored to lines that another core has, where the two share a NUMA node and no cache"},
      ModelField{"store_socket", &Model::store_socket, 1, factor_most, "the same where they share a socket only"},
      ModelField{"store_machine", &Model::store_machine, 1, factor_most, "the same where they share no socket"},
      ModelField{"memory_socket", &Model::memory_socket, 1, factor_most,
                 "times a byte of memory, where two cores share a socket and no NUMA node"},
      ModelField{"memory_machine", &Model::memory_machine, 1, factor_most, "the same where they share no socket"},
      ModelField{"rank_byte", &Model::rank_byte, byte_least, byte_most,
                 "seconds a byte of all together who copy from one rank's memory, or to it, at once"},
      ModelField{"node_byte", &Model::node_byte, byte_least, byte_most,
                 "the same from the caches and the memory of one NUMA node, or to them"},
      ModelField{"link_byte", &Model::link_byte, byte_least, byte_most, "the same from one socket to another one"},
      ModelField{"total_byte", &Model::total_byte, byte_least, byte_most, "the same on the whole machine"},
      ModelField{"expose", &Model::expose, 0, 1e-3, "seconds to expose a buffer and find the peers' ones"},
      ModelField{"kernel_start", &Model::kernel_start, 1e-9, 1e-2, "seconds to start a copy by the kernel (alpha)"},
      ModelField{"kernel_byte", &Model::kernel_byte, byte_least, byte_most, "seconds a byte it copies (beta)"},
      ModelField{"kernel_write_byte", &Model::kernel_write_byte, byte_least, byte_most,
                 "the same where it writes to another rank"},
      ModelField{"kernel_page", &Model::kernel_page, 0, 1e-3, "seconds a page it locks, alone (l)"},
      ModelField{"page_bytes", &Model::page_bytes, 1024, 1e9, "bytes of such a page (s)"},
      ModelField{"kernel_gamma_square", &Model::kernel_gamma_square, 0, 1e3, "a of gamma(c) = a c^2 + b c"},
      ModelField{"kernel_gamma_linear", &Model::kernel_gamma_linear, 0, 1e3, "b of gamma(c) = a c^2 + b c"},
  };
  return fields;
}

std::string MeasuredNetwork::words() const {
  std::string text = "measured";
  if (!date.empty()) text += " " + date;
  if (!host.empty()) text += " with " + host;
  if (nodes > 0 && ranks_per_node > 0)
    text += " on " + counted(nodes, "node", "nodes") + " of " + counted(ranks_per_node, "rank", "ranks");
  if (make_believe) text += ", one machine";
  return text;
}

bool spans_nodes(std::string_view internode, const std::optional<MeasuredNetwork>& network) {
  return internode == "1" || (internode == "auto" && network && !network->make_believe);
}

network::Parameters parameters_of(const Model& model, const std::optional<MeasuredNetwork>& network) {
  network::Parameters parameters;
  parameters.inside_start = 2 * model.hop;
  parameters.inside_byte = model.remote_byte;
  parameters.reduce_byte = std::max(model.reduce_byte, model.remote_byte);
  if (network) {
    parameters.between_start = network->between_start;
    parameters.between_byte = network->between_byte;
    parameters.message_rate = network->message_rate;
    parameters.unasked_bytes = network->unasked_bytes;
  }
  return parameters;
}

MachineIdentity identity_of(const topology::Machine& machine) {
  using topology::LevelKind;
  MachineIdentity identity;
  if (machine.is_this_machine()) identity.processor = processor_name();
  identity.cores = machine.core_count();
  identity.topology = counted(machine.domain_count(LevelKind::socket), "socket", "sockets") + ", " +
                      counted(machine.domain_count(LevelKind::numa), "NUMA node", "NUMA nodes") + ", " +
                      counted(machine.domain_count(LevelKind::l3), "L3", "L3") + ", " +
                      counted(machine.domain_count(LevelKind::l2), "L2", "L2") + ", " +
                      counted(machine.core_count(), "core", "cores") + ", " +
                      counted(machine.unit_count(), "unit", "units");
  return identity;
}

std::string why_other_machine(const MachineIdentity& measured, const MachineIdentity& here) {
  if (!measured.processor.empty() && !here.processor.empty() && measured.processor != here.processor)
    return "it was measured on \"" + measured.processor + "\", this is \"" + here.processor + "\"";
  if (measured.cores > 0 && here.cores > 0 && measured.cores != here.cores)
    return "it was measured on " + counted(measured.cores, "core", "cores") + ", here " +
           (here.cores == 1 ? "is 1" : "are " + std::to_string(here.cores));
  if (!measured.topology.empty() && !here.topology.empty() && measured.topology != here.topology)
    return "it was measured on a machine of " + measured.topology + ", this has " + here.topology;
  return "";
}

std::optional<Probe> parse_probe(std::string_view text, std::string& error) {
  const json document = json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded()) {
    error = "it is no JSON, or cut off";
    return std::nullopt;
  }
  const std::string schema = document.is_object() ? text_of(document, "schema") : "";
  const int version = probe_version(schema);
  if (version < 1) {
    error = "it is no file of tutti probe (\"schema\" is not \"" + std::string(probe_schema) + "\")";
    return std::nullopt;
  }
  if (version > 1) {
    error =
        "its schema \"" + schema + "\" is newer than \"" + std::string(probe_schema) + "\", which this version reads";
    return std::nullopt;
  }
  const auto machine = document.find("machine");
  if (machine == document.end() || !machine->is_object()) {
    error = "it has no section \"machine\"";
    return std::nullopt;
  }
  Probe probe;
  probe.machine.processor = text_of(*machine, "processor");
  probe.machine.topology = text_of(*machine, "topology");
  const auto cores = machine->find("cores");
  if (cores == machine->end() || !cores->is_number_integer() || cores->get<std::int64_t>() < 1 ||
      cores->get<std::int64_t>() > 1 << 20) {
    error = "its machine has no number of \"cores\"";
    return std::nullopt;
  }
  probe.machine.cores = cores->get<int>();
  probe.kernel = text_of(document, "kernel");
  probe.date = text_of(document, "date");
  const auto model = document.find("model");
  if (model == document.end() || !model->is_object()) {
    error = "it has no section \"model\"";
    return std::nullopt;
  }
  if (!read_model(*model, probe.model, error)) return std::nullopt;
  if (!read_network(document, probe.network, error)) return std::nullopt;
  return probe;
}

}  // namespace tutti::selection
