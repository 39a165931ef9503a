// What TUTTI_EXPLAIN tells: rows of all ranks put together, as text and as JSON (docs/explain.md).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mpi/start/sources.h"

namespace tutti::mpi {

/// What calls are told apart by, of their communicator.
struct CommunicatorShape {
  int ranks = 0;
  int nodes = 1;  ///< as far as is known
  int levels = 1;
  double ranks_per_core = 1;
  bool intercommunicator = false;
  auto operator<=>(const CommunicatorShape&) const = default;
};

struct Row {
  bool is_of_messages =
      false;  ///< between two ranks: `collective` is the function of MPI, "envelope" an algorithm, and a
              ///< mechanism a way; all ranks are added up
  std::string collective;
  long size_class = none;  ///< sizes above 2^(k-1) up to 2^k
  static constexpr long none = -1, varying = -2;
  CommunicatorShape communicator;
  std::string algorithm;  ///< "host": the MPI's own
  std::string parameter_name;
  int parameter = 0;
  std::string reason;

  std::uint64_t calls = 0, bytes = 0;               ///< of the lowest rank that has the row
  double seconds = 0;                               ///< of the slowest rank
  double least_seconds = 0;                         ///< of the fastest one that has the row
  int ranks = 1;                                    ///< that have the row
  std::map<std::string, std::uint64_t> mechanisms;  ///< calls of all ranks by how their buffers were reached

  bool by_host() const;
  std::string key() const;
};

/// Adds the rows of one rank to those of the ranks before it; or of one communicator, to others of the same rank.
enum class Merge { ranks, communicators };
void merge(std::vector<Row>& into, const std::vector<Row>& more, Merge how);

/// As they travel between ranks.
std::string packed(const std::vector<Row>& rows);
std::vector<Row> unpacked(const std::string& text);

/// How long one rank was in collectives, or in calls for messages.
struct Times {
  double seconds = 0, seconds_of_host = 0;
};
Times times_of(const std::vector<Row>& rows, bool of_messages = false);

/// What stands above the rows.
struct Heading {
  std::string version;  ///< of the library
  std::string host;     ///< the MPI, as it calls itself
  std::string program;
  std::string date;          ///< UTC, ISO 8601
  std::string why_inactive;  ///< empty: the library was active
  Source model;              ///< of the model's parameters; without words where the library was inactive
  Source table;              ///< of the decision table; without words if there was none
  Source network;            ///< of the parameters between nodes; without words where Tutti takes part in none of that
  std::vector<std::string> mechanisms;
  std::string no_window;             ///< why rank 0 has none; empty: it has one, or was inactive
  std::uint64_t staged_buffers = 0;  ///< of devices: copied to or from them, by all ranks together
  std::uint64_t staged_bytes = 0;    ///< in these copies
  int ranks = 1;
  int cores = 0;              ///< for the ranks of rank 0's node; 0: unknown
  double seconds = 0;         ///< from MPI_Init to MPI_Finalize, of the rank for which it was longest
  Times slowest;              ///< of the rank that was longest in collectives: rows have the slowest rank of each
  Times slowest_in_messages;  ///< the same of calls for messages
};

/// A line each, the longest time first; at most `lines_max` rows.
std::string table(const Heading& heading, std::vector<Row> rows, std::size_t lines_max);
/// One line: how much there was, and how much of it was carried out.
std::string summary(const Heading& heading, const std::vector<Row>& rows);
std::string json(const Heading& heading, std::vector<Row> rows);
/// What both files begin with, without the braces.
std::string json_heading(const Heading& heading);

}  // namespace tutti::mpi
