// What collectives take between nodes that share a clock, as those of tests/nodes do: a line of JSON tells of the job, and
// one of each cell as soon as it is measured.
//
//     node-times [--collectives allgather,...] [--bytes 16,1024,...] [--cells bcast:16,scan:64,...] [--calls 10]
//
// Without --cells they are all sizes of all collectives.
//
// Rank 0 names an instant of CLOCK_MONOTONIC, at which all ranks begin; a call has taken from then until its last rank has come
// back. What is sent changes before each call, and what has come is looked at after it.
// Bytes are those of a block (allgather, alltoall, gather, scatter) or of the whole message (allreduce, bcast, reduce,
// reduce_scatter, scan). In pingpong ranks 0 and the last exchange such a message, and half the time is told.
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Nanoseconds = std::int64_t;
using Ints = std::vector<std::int32_t>;

constexpr Nanoseconds second = 1'000'000'000;
constexpr int root = 0;

Nanoseconds now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * second + time.tv_nsec;
}

/// Who has to wait sleeps: the processors are those of other nodes, too.
void sleep_until(Nanoseconds instant) {
  const timespec time{instant / second, instant % second};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
  }
}

struct World {
  int rank = 0;
  int ranks = 1;
};

/// The buffers of one cell.
struct Buffers {
  int count;  ///< ints of a block, or of the message
  Ints send;
  Ints receive;
};

struct Collective {
  bool sends_blocks;
  bool receives_blocks;
  std::function<void(const World&, Buffers&)> call;
  /// What has come: `round` is a number that every rank's data depended on.
  std::function<bool(const World&, const Buffers&, int round)> is_right;
};

std::int32_t value(int from, int to, int round) {
  return from * 1000 + to + round * 7;
}

std::int32_t sum_of_first(int ranks, int round) {
  std::int32_t sum = 0;
  for (int from = 0; from < ranks; ++from) sum += value(from, 0, round);
  return sum;
}

/// How many of `count` ints each rank gets: as equal as they can be.
Ints shares(const World& world, int count) {
  Ints result(static_cast<std::size_t>(world.ranks), count / world.ranks);
  std::fill_n(result.begin(), count % world.ranks, count / world.ranks + 1);
  return result;
}

/// Whether block i of what was received, or the only one, is of ints that `expected(i)` gives.
bool blocks_are(const Buffers& buffers, const std::function<std::int32_t(int)>& expected) {
  const auto count = static_cast<std::size_t>(buffers.count);
  for (std::size_t at = 0; at < buffers.receive.size(); ++at)
    if (buffers.receive[at] != expected(static_cast<int>(at / count))) return false;
  return true;
}

const std::map<std::string, Collective>& collectives() {
  static const std::map<std::string, Collective> all{
      {"allgather",
       {false, true,
        [](const World&, Buffers& b) {
          MPI_Allgather(b.send.data(), b.count, MPI_INT, b.receive.data(), b.count, MPI_INT, MPI_COMM_WORLD);
        },
        [](const World&, const Buffers& b, int round) {
          return blocks_are(b, [&](int from) { return value(from, 0, round); });
        }}},
      {"allreduce",
       {false, false,
        [](const World&, Buffers& b) {
          MPI_Allreduce(b.send.data(), b.receive.data(), b.count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        },
        [](const World& world, const Buffers& b, int round) {
          return blocks_are(b, [&](int) { return sum_of_first(world.ranks, round); });
        }}},
      {"alltoall",
       {true, true,
        [](const World&, Buffers& b) {
          MPI_Alltoall(b.send.data(), b.count, MPI_INT, b.receive.data(), b.count, MPI_INT, MPI_COMM_WORLD);
        },
        [](const World& world, const Buffers& b, int round) {
          return blocks_are(b, [&](int from) { return value(from, world.rank, round); });
        }}},
      {"barrier",
       {false, false, [](const World&, Buffers&) { MPI_Barrier(MPI_COMM_WORLD); },
        [](const World&, const Buffers&, int) { return true; }}},
      {"bcast",
       {false, false,
        [](const World& world, Buffers& b) {
          if (world.rank == root) b.receive = b.send;
          MPI_Bcast(b.receive.data(), b.count, MPI_INT, root, MPI_COMM_WORLD);
        },
        [](const World&, const Buffers& b, int round) {
          return blocks_are(b, [&](int) { return value(root, 0, round); });
        }}},
      {"gather",
       {false, true,
        [](const World&, Buffers& b) {
          MPI_Gather(b.send.data(), b.count, MPI_INT, b.receive.data(), b.count, MPI_INT, root, MPI_COMM_WORLD);
        },
        [](const World& world, const Buffers& b, int round) {
          return world.rank != root || blocks_are(b, [&](int from) { return value(from, 0, round); });
        }}},
      {"reduce",
       {false, false,
        [](const World&, Buffers& b) {
          MPI_Reduce(b.send.data(), b.receive.data(), b.count, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
        },
        [](const World& world, const Buffers& b, int round) {
          return world.rank != root || blocks_are(b, [&](int) { return value(world.ranks - 1, 0, round); });
        }}},
      {"reduce_scatter",
       {false, false,
        [](const World& world, Buffers& b) {
          const Ints counts = shares(world, b.count);
          MPI_Reduce_scatter(b.send.data(), b.receive.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        },
        [](const World& world, const Buffers& b, int round) {
          const auto mine = b.receive.begin() + shares(world, b.count)[static_cast<std::size_t>(world.rank)];
          const std::int32_t sum = sum_of_first(world.ranks, round);
          return std::all_of(b.receive.begin(), mine, [&](std::int32_t each) { return each == sum; });
        }}},
      {"scan",
       {false, false,
        [](const World&, Buffers& b) {
          MPI_Scan(b.send.data(), b.receive.data(), b.count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        },
        [](const World& world, const Buffers& b, int round) {
          return blocks_are(b, [&](int) { return sum_of_first(world.rank + 1, round); });
        }}},
      {"scatter",
       {true, false,
        [](const World&, Buffers& b) {
          MPI_Scatter(b.send.data(), b.count, MPI_INT, b.receive.data(), b.count, MPI_INT, root, MPI_COMM_WORLD);
        },
        [](const World& world, const Buffers& b, int round) {
          return blocks_are(b, [&](int) { return value(root, world.rank, round); });
        }}},
      {"pingpong",
       {false, false,
        [](const World& world, Buffers& b) {
          const int last = world.ranks - 1;
          const auto send = [&](int to) { MPI_Send(b.send.data(), b.count, MPI_INT, to, 0, MPI_COMM_WORLD); };
          const auto receive = [&](int from) {
            MPI_Recv(b.receive.data(), b.count, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          };
          if (world.rank == 0) send(last), receive(last);
          if (world.rank == last) receive(0), send(0);
        },
        [](const World& world, const Buffers& b, int round) {
          const int last = world.ranks - 1;
          if (world.rank != 0 && world.rank != last) return true;
          return blocks_are(b, [&](int) { return value(world.rank == 0 ? last : 0, 0, round); });
        }}},
  };
  return all;
}

struct Cell {
  std::string name;
  std::size_t bytes = 0;
};

struct Options {
  std::vector<Cell> cells;
  int calls = 10;
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

std::size_t number_of(const std::string& word) {
  return std::strtoull(word.c_str(), nullptr, 10);
}

/// False if they are not understood.
bool read_options(int argc, char** argv, Options& options) {
  std::vector<std::string> names;
  std::vector<std::size_t> sizes{16, 64, 256, 1024, 4096, 16384, 65536};
  for (const auto& each : collectives()) names.push_back(each.first);
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    const std::string given = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--collectives") {
      names = words_of(given);
    } else if (option == "--bytes") {
      sizes.clear();
      for (const std::string& word : words_of(given)) sizes.push_back(number_of(word));
    } else if (option == "--cells") {
      for (const std::string& word : words_of(given))
        options.cells.push_back({word.substr(0, word.find(':')), number_of(word.substr(word.find(':') + 1))});
    } else if (option == "--calls") {
      options.calls = std::atoi(given.c_str());
    } else {
      return false;
    }
  }
  if (options.cells.empty()) {
    for (const std::string& name : names) {
      if (name == "barrier") {
        options.cells.push_back({name, 0});
        continue;
      }
      for (const std::size_t bytes : sizes) options.cells.push_back({name, bytes});
    }
  }
  return options.calls > 0 && std::all_of(options.cells.begin(), options.cells.end(), [](const Cell& cell) {
           const bool is_size = cell.bytes > 0 && cell.bytes % sizeof(std::int32_t) == 0;
           return collectives().count(cell.name) != 0 && (is_size || cell.name == "barrier");
         });
}

/// One call of all ranks at once, in nanoseconds on rank 0. lead: from the naming of the instant to it.
Nanoseconds time_of_call(const World& world, const Collective& collective, Buffers& buffers, Nanoseconds lead) {
  MPI_Barrier(MPI_COMM_WORLD);
  Nanoseconds start = now() + lead;
  MPI_Bcast(&start, 1, MPI_INT64_T, root, MPI_COMM_WORLD);
  const bool is_late = now() > start;
  sleep_until(start);
  collective.call(world, buffers);
  const Nanoseconds end = now();
  // A rank that has heard of the instant too late: the call does not count.
  struct {
    Nanoseconds end, is_late;
  } own{end, is_late ? 1 : 0}, last{};
  MPI_Reduce(&own, &last, 2, MPI_INT64_T, MPI_MAX, root, MPI_COMM_WORLD);
  return last.is_late ? -1 : last.end - start;
}

/// Whether it holds on all ranks; all of them are told.
bool on_all(bool holds) {
  int own = holds ? 1 : 0, all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

nlohmann::json measure(const World& world, const Cell& cell, int calls) {
  const Collective& collective = collectives().at(cell.name);
  const auto count = cell.bytes / sizeof(std::int32_t);
  const auto ranks = static_cast<std::size_t>(world.ranks);
  Buffers buffers{static_cast<int>(count), Ints(collective.sends_blocks ? count * ranks : count),
                  Ints(collective.receives_blocks ? count * ranks : count)};
  constexpr int warm_up = 2, most_tries = 4;
  std::vector<double> seconds;
  Nanoseconds lead = second / 100;
  bool right = true;
  for (int round = 0, late = 0; static_cast<int>(seconds.size()) < calls && round < most_tries * (calls + warm_up);
       ++round) {
    for (std::size_t at = 0; at < buffers.send.size(); ++at)
      buffers.send[at] = value(world.rank, static_cast<int>(at / count), round);
    std::fill(buffers.receive.begin(), buffers.receive.end(), -1);
    Nanoseconds taken = time_of_call(world, collective, buffers, lead);
    right = on_all(collective.is_right(world, buffers, round)) && right;
    MPI_Bcast(&taken, 1, MPI_INT64_T, root, MPI_COMM_WORLD);
    if (taken < 0)
      lead = std::min(second, lead * 2), ++late;
    else if (round - late >= warm_up)
      seconds.push_back(1e-9 * static_cast<double>(taken) / (cell.name == "pingpong" ? 2 : 1));
  }
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  double sum = 0;
  for (const double each : sorted) sum += each;
  nlohmann::json result{{"collective", cell.name}, {"bytes", cell.bytes}, {"right", right}};
  result["calls"] = sorted.size();
  if (!sorted.empty()) {
    result["mean_seconds"] = sum / static_cast<double>(sorted.size());
    result["median_seconds"] = sorted[sorted.size() / 2];
    result["least_seconds"] = sorted.front();
    result["seconds"] = seconds;
  }
  return result;
}

/// How many ranks each node has; in the order of the nodes' first ranks.
nlohmann::json shape(const World& world) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int first = world.rank;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, node);
  std::vector<int> firsts(static_cast<std::size_t>(world.ranks));
  MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Comm_free(&node);
  nlohmann::json result = nlohmann::json::array();
  for (int rank = 0; rank < world.ranks; ++rank)
    if (firsts[static_cast<std::size_t>(rank)] == rank)
      result.push_back(std::count(firsts.begin(), firsts.end(), rank));
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
  Options options;
  if (!read_options(argc, argv, options)) {
    if (world.rank == 0)
      std::fprintf(stderr, "node-times: --collectives, --bytes (multiples of 4), --cells, --calls\n");
    MPI_Finalize();
    return 2;
  }
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  const nlohmann::json ranks_per_node = shape(world);
  const auto tell = [&](const nlohmann::json& what) {
    if (world.rank != 0) return;
    std::printf("%s\n", what.dump().c_str());
    std::fflush(stdout);
  };
  tell({{"schema", "tutti-node-times-2"},
        {"mpi", std::string(version).substr(0, std::string(version).find('\n'))},
        {"ranks_per_node", ranks_per_node}});
  bool right = true;
  for (const Cell& cell : options.cells) {
    const nlohmann::json measured = measure(world, cell, options.calls);
    right = right && measured["right"].get<bool>();
    tell(measured);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
