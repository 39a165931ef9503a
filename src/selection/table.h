// A decision table, as `tutti tune` writes it (docs/tune.md): what was fastest when it was measured. Read here, found
// and agreed upon by src/mpi/start/knowledge.cpp, asked by choose(), which looks at eligibility in any case.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "selection/known.h"
#include "selection/machine.h"
#include "selection/model.h"

namespace tutti::selection {

/// The schema that is written and read.
inline constexpr std::string_view table_schema = "tutti-table-1";

/// Where a table was measured, or where it would be used. Equal on all ranks of a node.
struct TableOrigin {
  MachineIdentity machine;
  std::string host;          ///< "MPICH", "Open MPI", "Intel MPI"
  std::string host_version;  ///< "5.0.2"
  std::string date = "";     ///< when; nothing is chosen by it
};

/// What to use for one collective, one kind of communicator and a range of sizes.
struct TableEntry {
  std::string collective;  ///< as in TUTTI_ALGORITHM
  bool commutative = true;
  std::size_t bytes_from = 0, bytes_to = 0;  ///< Shape::bytes, both included
  std::string algorithm;                     ///< "host" is the MPI's own
  // Of communicators whose ranks share memory.
  int ranks_from = 2, ranks_to = 2;
  int levels = 1;
  double ranks_per_core = 1;
  Reach reach = Reach::mapped;
  int parameter = 0;
  // Of those that span nodes.
  int nodes_from = 0, nodes_to = 0;    ///< 0: it is for none of these
  int places_from = 1, places_to = 1;  ///< ranks of the node that has most of them

  bool spans_nodes() const { return nodes_to > 0; }
  bool fits(const Shape& shape) const;
};

class Table {
 public:
  Table() = default;
  Table(TableOrigin origin, std::vector<TableEntry> entries)
      : origin_(std::move(origin)), entries_(std::move(entries)) {}

  const TableOrigin& origin() const { return origin_; }
  const std::vector<TableEntry>& entries() const { return entries_; }
  /// The first entry for this collective and shape; null if there is none.
  const TableEntry* find(std::string_view collective, const Shape& shape) const;

 private:
  TableOrigin origin_;
  std::vector<TableEntry> entries_;
};

struct ParsedTable {
  std::optional<Table> table;         ///< nothing if the text is no such table
  std::string error;                  ///< in words, then
  std::vector<std::string> left_out;  ///< entries that cannot be used, each in words; the others are in the table
};

/// known: the algorithms by collective; known_between_nodes: those for communicators that span nodes. Entries that name
/// others, or a parameter that an algorithm does not have, are left out; so is nothing else: a table in which an entry is
/// no entry is no table.
ParsedTable parse_table(std::string_view text, std::span<const Known> known,
                        std::span<const Known> known_between_nodes = {});

/// Why a table of `measured` is not for `here`; empty if it is.
std::string why_other_origin(const TableOrigin& measured, const TableOrigin& here);

/// "mapped", "kernel", "staged"
std::string_view name_of(Reach reach);

}  // namespace tutti::selection
