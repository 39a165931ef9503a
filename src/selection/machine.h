// A measured machine: the file that `tutti probe` writes (docs/probe.md), read back into the model's parameters.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "network/cost.h"
#include "selection/model.h"
#include "topology/machine.h"

namespace tutti::selection {

/// What tells one kind of machine from another.
struct MachineIdentity {
  std::string processor;  ///< model name; empty: unknown, which fits any
  int cores = 0;          ///< as hwloc counts them; 0: unknown, which fits any
  /// In words: "1 socket, 1 NUMA node, 1 L3, 2 L2, 2 cores, 2 units"; empty: unknown, which fits any. Of the whole
  /// machine: what a process may use of it does not count.
  std::string topology;
};

/// Of the machine that ranks are planned for. The processor is known only if it is the one we run on.
MachineIdentity identity_of(const topology::Machine& machine);

/// Why what was measured on `measured` says nothing about `here`; empty if it does.
std::string why_other_machine(const MachineIdentity& measured, const MachineIdentity& here);

/// What `tutti probe --network` has measured between nodes.
struct MeasuredNetwork {
  double between_start = 0;  ///< as in network::Parameters
  double between_byte = 0;
  double message_rate = 0;
  double unasked_bytes = 0;
  std::string date;           ///< ISO 8601
  std::string host;           ///< the MPI whose messages they were: "MPICH 5.0.2"
  int nodes = 0;              ///< of the job that measured; 0: it does not say
  int ranks_per_node = 0;     ///< that sent at once, at most; the same
  bool make_believe = false;  ///< the nodes were one machine (TUTTI_RANKS_PER_NODE)

  /// "measured 2026-10-01T12:00:00+00:00 with MPICH 5.0.2 on 4 nodes of 18 ranks"
  std::string words() const;
};

/// Whether collectives of communicators that span nodes are the library's, by what TUTTI_INTERNODE says: auto: if the network was
/// measured, of nodes that are several machines.
bool spans_nodes(std::string_view internode, const std::optional<MeasuredNetwork>& network);

/// A file of `tutti probe`.
struct Probe {
  Model model;
  MachineIdentity machine;
  std::optional<MeasuredNetwork> network;
  std::string date;    ///< when it was measured, ISO 8601
  std::string kernel;  ///< of the operating system
};

/// The schema that is written and read: "tutti-probe-1".
inline constexpr std::string_view probe_schema = "tutti-probe-1";

/// Nothing if the text is no such file, is cut off, has a newer schema, or parameters that cannot be; then `error` says
/// in words what is wrong. Fields that this version does not know are ignored.
std::optional<Probe> parse_probe(std::string_view text, std::string& error);

/// One parameter of the model, as files name it.
struct ModelField {
  const char* name;
  double Model::*member;
  double least, most;  ///< what can be true of any machine
  const char* meaning;
};
/// All of them: a probe has each.
std::span<const ModelField> model_fields();

/// What algorithms between nodes are priced by: inside the node as the model says, between nodes as measured, or as
/// shipped. There a start is two hops, to all and back; what is copied or combined was written by another rank.
network::Parameters parameters_of(const Model& model, const std::optional<MeasuredNetwork>& network);

}  // namespace tutti::selection
