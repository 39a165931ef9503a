// The machine as far as ranks care: processing units, and which caches, NUMA nodes and sockets they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/level.h"

namespace tutti::topology {

/// One hardware thread.
struct ProcessingUnit {
  int os_index = -1;                  ///< the operating system's number, as in affinity masks
  int core = -1;                      ///< which core, counted from 0 over the machine
  Domains domain = {-1, -1, -1, -1};  ///< which L2, L3, NUMA node and socket; -1: the machine has no such level here
};

class Machine {
 public:
  /// description: "" for the machine we run on, an hwloc synthetic description ("package:2 numa:4 core:8
  /// pu:1", where a missing last "pu" is added), or the path of an XML file that lstopo wrote. On failure
  /// nothing is returned and `error` says what was tried and why it failed. Prints nothing.
  static std::optional<Machine> load(const std::string& description, std::string& error);

  /// In hwloc's logical order, so that neighbours in the list are neighbours in the machine.
  const std::vector<ProcessingUnit>& units() const { return units_; }
  int unit_count() const { return static_cast<int>(units_.size()); }
  int core_count() const { return core_count_; }
  /// How many domains of this kind there are; 0 if the machine has no such level.
  int domain_count(LevelKind kind) const { return domain_counts_[index_of(kind)]; }
  /// Size of the smallest L2 and of the smallest L3; 0 if unknown or absent.
  std::size_t l2_bytes() const { return l2_bytes_; }
  std::size_t l3_bytes() const { return l3_bytes_; }
  /// Position in units() of the unit with this OS index; -1 if there is none.
  int find(int os_index) const;
  /// Whether affinity masks of running processes speak about this machine: false for descriptions and files.
  bool is_this_machine() const { return is_this_machine_; }

  /// A compact form for other processes of the node, since only one of them asks hwloc.
  std::vector<std::uint8_t> serialise() const;
  /// Nothing if the bytes are not what serialise() gave.
  static std::optional<Machine> deserialise(std::span<const std::uint8_t> bytes);

 private:
  friend class MachineLoader;
  /// Computes what follows from units_. Call it after units_ changed.
  void index_units();

  std::vector<ProcessingUnit> units_;
  std::vector<int> position_of_os_index_;
  Domains domain_counts_ = {0, 0, 0, 0};
  int core_count_ = 0;
  std::size_t l2_bytes_ = 0;
  std::size_t l3_bytes_ = 0;
  bool is_this_machine_ = false;
};

}  // namespace tutti::topology
