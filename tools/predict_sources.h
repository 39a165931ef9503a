// What tutti-predict takes its parameters and its table from: files that are named, or those that the library would read.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/settings.h"
#include "selection/machine.h"
#include "selection/model.h"
#include "selection/table.h"
#include "topology/machine.h"

namespace tutti::prediction {

/// What is wrong with the options, for the user.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What is asked; empty texts and 0 stand for what fits.
struct Options {
  std::string collective = "bcast";
  std::string bytes = "64K";
  int ranks = 2;
  int levels = 1;
  double ranks_per_core = 0;  ///< 0: by --map, or 1
  std::string reach = "mapped";
  std::string mechanisms, usable;
  std::string mapping;
  std::string hierarchy;
  bool cma = false;
  bool irregular = false;
  bool ordered = false;
  std::string eager_max, slot_bytes;
  int flat_max = 0;
  std::string probe;
  std::string table;
  std::string host;
  std::string algorithm;
  std::string topology;
  std::string nodes;
  bool overview = false;
  bool model_only = false;
  bool here = false;
};

/// The parameters and where they are from, in words for people and for the JSON.
struct KnownModel {
  selection::Model model;
  nlohmann::ordered_json source;
  std::optional<selection::MeasuredNetwork> network = {};

  /// The same of what is between nodes.
  nlohmann::ordered_json network_source() const;
};

/// The table, if it is for the machine and the host MPI that are asked about, and where it is from. Without --host any
/// fits.
struct KnownTable {
  std::shared_ptr<const selection::Table> table = nullptr;
  nlohmann::ordered_json source = nullptr;
  nlohmann::ordered_json passed_over = nlohmann::ordered_json::array();  ///< other files that are not used
};

/// The machine that is asked about.
topology::Machine machine_of(const Options& options);

/// With --here and no file named, by the files that the library would read. Throws UsageError if a named one is no such
/// file.
KnownModel model_of(const Options& options, const Settings& settings);
KnownTable table_of(const Options& options, const Settings& settings);

}  // namespace tutti::prediction
