// tutti-bench: collectives of the host MPI and of Tutti side by side. An ordinary MPI program; run it under the preload:
//
//     tutti run mpirun -n 8 tutti-bench-mpich --collective bcast,allreduce --floor
//
// cell.cpp says how a call is timed, buffers.h what is in the buffers, node_memory.h what the floor is.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <vector>

#include "cell.h"
#include "node_memory.h"
#include "options.h"
#include "report.h"
#include "sides.h"

namespace {

using namespace tutti::bench;

struct Plan {
  std::string collective;
  std::size_t bytes;
};

std::vector<Plan> cells_of(const Options& options) {
  std::vector<Plan> cells;
  for (const auto& collective : options.collectives) {
    if (collective == "barrier") {
      cells.push_back({collective, 0});
      continue;
    }
    for (const std::size_t bytes : sizes_of(options)) cells.push_back({collective, bytes});
  }
  return cells;
}

/// Returns false if a result was wrong.
bool run(const Options& options, int rank, int ranks) {
  const Clock clock;
  const std::unique_ptr<NodeMemory> node = NodeMemory::create(options.floor ? options.maximum_bytes : 0);
  const bool measure_tutti = tutti_is_loaded();
  if (rank == 0 && !measure_tutti)
    std::fprintf(stderr, "tutti-bench: Tutti is not loaded (LD_PRELOAD); only the host MPI is measured\n");
  if (rank == 0 && !node)
    std::fprintf(stderr, "tutti-bench: the ranks share no memory; calls start from the host's barrier alone\n");
  StartLine start_line(node.get(), clock);
  const Bench bench{options, clock, start_line, measure_tutti};
  Report report(rank == 0, options.json_lines);
  Floor floor(node.get(), clock);
  bool correct = true;
  const double flag_us = options.floor ? floor.flag_us() : -1;
  const std::vector<Plan> cells = cells_of(options);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Row row;
    row.collective = cells[i].collective;
    row.ranks = ranks;
    row.bytes = cells[i].bytes;
    row.host = host_name();
    row.has_tutti = measure_tutti;
    row.flag_us = flag_us;
    if (options.floor && cells[i].bytes > 0) row.copy_us = floor.copy_us(cells[i].bytes);
    row.result = measure_cell(bench, cells[i].collective, cells[i].bytes);
    correct = correct && row.result.correct;
    report.add(row);
    report.progress(static_cast<double>(i + 1) / static_cast<double>(cells.size()));
  }
  return correct;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options;
  std::string message;
  int status = parse_options(argc, argv, ranks, options, message);
  if (status >= 0) {
    if (rank == 0) std::fputs(message.c_str(), status == 0 ? stdout : stderr);
  } else {
    try {
      status = run(options, rank, ranks) ? 0 : 1;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "tutti-bench: rank %d: %s\n", rank, error.what());
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  MPI_Finalize();
  return status;
}
