// What the benchmark prints: a table for people, or one JSON object a line for programs.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cell.h"

namespace tutti::bench {

/// What is measured of one collective at one size; times in microseconds, negative if not measured.
struct Row {
  std::string collective;
  int ranks = 1;
  std::size_t bytes = 0;
  std::string host;
  bool compares = false;  ///< several of Tutti's ways were asked for
  CellResult result;
  Prediction prediction;
  double copy_us = -1;  ///< only where the floor is asked for
};

/// Writes on rank 0, and is silent elsewhere.
class Report {
 public:
  /// json_lines: file name, "-" for standard output, empty for a table on standard output. Throws std::runtime_error
  /// if the file cannot be written.
  Report(bool active, const std::string& json_lines);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  /// Where this runs. Only JSON says it.
  void origin(const std::vector<std::pair<std::string, std::string>>& facts);
  /// One line for each outcome; one if only the host was measured.
  void add(const Row& row);
  /// done: from 0 to 1. Only JSON says it.
  void progress(double done);

 private:
  void add_json(const Row& row, const Outcome* outcome);
  void add_text(const Row& row, const Outcome* outcome);

  std::FILE* file_ = nullptr;
  bool json_ = false;
  bool head_printed_ = false;
};

}  // namespace tutti::bench
