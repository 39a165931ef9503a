// tutti-bench: collectives, or messages, of the host MPI and of Tutti side by side. An ordinary MPI program; run it under
// the preload:
//
//     tutti run mpirun -n 8 tutti-bench-mpich --collective bcast,allreduce --floor
//
// cell.cpp says how a call is timed, buffers.h what is in the buffers, node_memory.h what the floor is, collectives/
// what there is to measure. `--list` prints the collectives, one a line, each with its name in TUTTI_ALGORITHM, and
// starts no MPI.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cell.h"
#include "collectives/collective.h"
#include "node_memory.h"
#include "options.h"
#include "report.h"
#include "sides.h"

namespace {

using namespace tutti::bench;

struct Plan {
  const CollectiveEntry* entry;
  std::size_t bytes;
};

std::vector<Plan> cells_of(const Options& options) {
  std::vector<Plan> cells;
  for (const auto& name : options.collectives) {
    const CollectiveEntry* entry = find_collective(name);
    if (!entry->has_sizes) {
      cells.push_back({entry, 0});
      continue;
    }
    for (const std::size_t bytes : sizes_of(options, entry->maximum_bytes())) cells.push_back({entry, bytes});
  }
  return cells;
}

/// Bytes that processes may still take from this machine; rank 0's word.
std::size_t available_bytes() {
  unsigned long long kib = 0;
  if (std::FILE* file = std::fopen("/proc/meminfo", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file))
      if (std::sscanf(line, "MemAvailable: %llu", &kib) == 1) break;
    std::fclose(file);
  }
  PMPI_Bcast(&kib, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  return kib ? static_cast<std::size_t>(kib) << 10 : SIZE_MAX;
}

/// The largest of all ranks' values.
std::size_t everybodys_largest(std::size_t mine) {
  unsigned long long value = mine;
  PMPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

std::size_t everybodys_smallest(std::size_t mine) {
  return SIZE_MAX - everybodys_largest(SIZE_MAX - mine);
}

/// A periodic ring of all ranks, freed with the object. Made by MPI_, so that Tutti knows it.
class Ring {
 public:
  explicit Ring(int ranks) {
    const int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &communicator_);
  }
  ~Ring() { MPI_Comm_free(&communicator_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  MPI_Comm communicator() const { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

/// All cells of one start of the program.
class Measurement {
 public:
  Measurement(const Options& options, int rank, int ranks)
      : options_(options),
        rank_(rank),
        ranks_(ranks),
        cells_(cells_of(options)),
        node_(NodeMemory::create(largest_copy())),
        start_line_(node_.get(), clock_),
        floor_(node_.get(), clock_),
        report_(rank == 0, options.json_lines) {}

  /// Returns false if a result was wrong.
  bool run();

 private:
  Place place_of(const Plan& cell) {
    if (cell.entry->neighbors && !ring_) ring_ = std::make_unique<Ring>(ranks_);
    MPI_Comm communicator = cell.entry->neighbors ? ring_->communicator() : MPI_COMM_WORLD;
    return {communicator, rank_, ranks_, Shape{cell.bytes}, options_.in_place};
  }
  /// Bytes that some rank must copy from others.
  std::size_t copy_bytes(const Collective& collective) const {
    return everybodys_largest(collective.bytes_of(collective.incoming_count()));
  }
  std::size_t largest_copy() {
    std::size_t largest = 0;
    for (const Plan& cell : cells_)
      if (options_.floor && fits(cell)) largest = std::max(largest, copy_bytes(*cell.entry->make(place_of(cell))));
    return largest;
  }
  /// Half of what there is may be used; and MPI's counts are numbers of type int.
  bool fits(const Plan& cell) {
    const double bytes_of_int = 2147483647;
    if (static_cast<double>(cell.bytes) * 1.25 * (cell.entry->has_blocks ? ranks_ : 1) > bytes_of_int) return false;
    const std::size_t largest = everybodys_largest(buffer_bytes(options_, *cell.entry->make(place_of(cell)), rank_));
    return largest * static_cast<std::size_t>(ranks_) <= available_bytes_ / 2 && largest <= capacity_;
  }
  std::vector<Row> measure(const Plan& cell, const Bench& bench);
  void leave_out(const Plan& cell, const char* why) const {
    if (rank_ == 0)
      std::fprintf(stderr, "tutti-bench: %s of %zu bytes is left out: %s\n", cell.entry->name, cell.bytes, why);
  }

  const Options& options_;
  const int rank_;
  const int ranks_;
  const std::size_t available_bytes_ = available_bytes();
  const std::size_t capacity_ = everybodys_smallest(buffer_capacity(options_));
  const std::vector<Plan> cells_;
  const Clock clock_;
  std::unique_ptr<Ring> ring_;
  const std::unique_ptr<NodeMemory> node_;
  StartLine start_line_;
  Floor floor_;
  Report report_;
};

/// A row for each state of the machine.
std::vector<Row> Measurement::measure(const Plan& cell, const Bench& bench) {
  const Place place = place_of(cell);
  const auto collective = cell.entry->make(place);
  Row row;
  row.collective = cell.entry->name;
  row.ranks = ranks_;
  row.bytes = cell.bytes;
  row.host = host_name();
  row.compares = options_.compares();
  if (options_.floor) {
    const std::size_t copied = copy_bytes(*collective);
    row.copy_us = copied > 0 ? floor_.copy_us(copied) : 0;
  }
  if (bench.measure_tutti && !cell.entry->is_of_messages())
    row.prediction = predict(place.communicator, cell.entry->chosen_as, cell.entry->chosen_by(cell.bytes, ranks_));
  std::vector<Row> rows;
  for (CellResult& result : measure_cell(bench, *collective, place, row.prediction)) {
    rows.push_back(row);
    rows.back().result = std::move(result);
  }
  return rows;
}

bool Measurement::run() {
  const bool measure_tutti = tutti_is_loaded();
  if (rank_ == 0 && !measure_tutti)
    std::fprintf(stderr, "tutti-bench: Tutti is not loaded (LD_PRELOAD); only the host MPI is measured\n");
  if (rank_ == 0 && !node_)
    std::fprintf(stderr, "tutti-bench: the ranks share no memory; calls start from the host's barrier alone\n");
  const Bench bench{options_, clock_, start_line_, floor_, measure_tutti};
  bool correct = true;
  report_.origin(origin());
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (fits(cells_[i])) {
      const std::vector<Row> rows = measure(cells_[i], bench);
      for (const Row& row : rows) {
        correct = correct && row.result.host_correct;
        for (const Outcome& outcome : row.result.outcomes) correct = correct && outcome.correct;
        report_.add(row);
      }
      if (rows.empty())
        leave_out(cells_[i], "the machine was too seldom in one state, or in the one that is asked for");
    } else {
      leave_out(cells_[i],
                "its buffers would take more than half of the free memory, than there is of their kind, or than counts "
                "of int");
    }
    report_.progress(static_cast<double>(i + 1) / static_cast<double>(cells_.size()));
  }
  return correct;
}

}  // namespace

int main(int argc, char** argv) {
  const auto table = collective_table();
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const CollectiveEntry& entry : table)
      std::printf("%s %s\n", entry.name, entry.is_of_messages() ? entry.name : entry.chosen_as);
    return 0;
  }
  Known known;
  for (const CollectiveEntry& entry : table)
    (entry.is_of_messages() ? known.messages : known.collectives).emplace_back(entry.name);
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options;
  std::string message;
  int status = parse_options(argc, argv, ranks, known, options, message);
  if (status >= 0) {
    if (rank == 0) std::fputs(message.c_str(), status == 0 ? stdout : stderr);
  } else {
    try {
      const auto run = [&] { status = Measurement(options, rank, ranks).run() ? 0 : 1; };
      options.buffers == Buffers::kStack ? with_stack_buffers(run) : run();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "tutti-bench: rank %d: %s\n", rank, error.what());
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  MPI_Finalize();
  return status;
}
