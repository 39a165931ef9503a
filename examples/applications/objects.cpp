// Boost.MPI: maps and vectors that are serialized are broadcast, gathered and added up. objects TIMES
#include <boost/mpi.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mpi = boost::mpi;

int main(int argc, char** argv) {
  mpi::environment environment(argc, argv);
  const mpi::communicator world;
  std::map<std::string, std::vector<double>> table;
  std::vector<double> sums(10'000, 0.0), mine(10'000, 1.0 + world.rank());
  double total = 0;
  const mpi::timer timer;
  for (int t = 0; t < std::atoi(argv[1]); ++t) {
    if (world.rank() == 0)
      for (int i = 0; i < 20; ++i) table["row " + std::to_string(i)] = std::vector<double>(1000, i + t);
    mpi::broadcast(world, table, 0);
    mpi::all_reduce(world, mine.data(), static_cast<int>(mine.size()), sums.data(), std::plus<double>());
    std::vector<std::string> names;
    mpi::all_gather(world, "rank " + std::to_string(world.rank() * t), names);
    total += sums[7] + table["row 3"][5] + static_cast<double>(names.back().size());
  }
  if (world.rank() == 0) std::printf("total %.6f\nseconds %.3f\n", total, timer.elapsed());
}
