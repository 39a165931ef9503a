// tutti-network-probe: measures what messages between nodes cost, for `tutti probe --network`. An MPI program, to be
// started on two nodes or more by the MPI's own launcher; without the library.
//
// Rank 0 prints one JSON object a line: {"network": {"nodes", "ranks_per_node", "ranks", "make_believe"}}, then the
// figures, each with "seconds": median, "lower", "upper": its 95 % confidence interval, "samples":
//
//   "ping_pong"         half a round trip of "bytes" between the first ranks of the nodes "between"
//   "messages_at_once"  a message of "bytes", of all that "senders" ranks of a node send to another one at once, each to a
//                       rank of its own (PiP-MColl, Fig. 1): the time of all together over their number
//
// and {"progress": fraction, "title"}. Ranks that have nothing to do sleep. {"error": words}, and exit status 2, if
// nothing can be measured: there is only one node.
#include <mpi.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "network/nodes.h"
#include "network/ranks_per_node.h"
#include "statistics.h"

namespace {

using namespace tutti;
using bench::Median;

/// Messages that a sender has under way, before the receiver says that they have come.
constexpr int window = 64, window_of_large = 8;
constexpr int samples_least = 5, samples_most = 2000;
/// Nodes whose distance from the first one is measured.
constexpr int far_nodes_most = 8;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int rank_of(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}

int size_of(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

/// Rank 0's TUTTI_RANKS_PER_NODE, on all ranks.
std::string ranks_per_node() {
  const char* const text = std::getenv("TUTTI_RANKS_PER_NODE");
  std::string list = text && rank_of(MPI_COMM_WORLD) == 0 ? text : "";
  int length = static_cast<int>(list.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  list.resize(static_cast<std::size_t>(length));
  MPI_Bcast(list.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  return list;
}

/// Of each rank a number that is its node's: ranks that can share memory are on one, or as `list` says.
std::vector<int> node_of_rank(const std::string& list) {
  int node = 0;
  if (const auto made = network::make_believe_node(list, rank_of(MPI_COMM_WORLD))) {
    node = *made;
  } else {
    MPI_Comm shared = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
    node = rank_of(MPI_COMM_WORLD);
    MPI_Bcast(&node, 1, MPI_INT, 0, shared);
    MPI_Comm_free(&shared);
  }
  std::vector<int> all(static_cast<std::size_t>(size_of(MPI_COMM_WORLD)));
  MPI_Allgather(&node, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  return all;
}

/// Waits for all without keeping a processor from those that measure.
void wait_for_all() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int over = 0;;) {
    MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    if (over) return;
    usleep(1000);
  }
}

/// Ranks that send, and as many that receive, each from the one at the same place.
struct Sides {
  std::vector<int> senders, receivers;
};

/// What a rank does once, a sender or a receiver, with its partner in MPI_COMM_WORLD.
using Step = std::function<void(bool sends, int partner)>;

/// Seconds of each time that the step was taken, by the slowest of the senders. together: they begin at the same time.
/// Empty on ranks other than 0 of MPI_COMM_WORLD, which is the first sender. Collective over MPI_COMM_WORLD.
std::vector<double> times_of(const Sides& sides, const Step& step, bool together, double seconds) {
  const int self = rank_of(MPI_COMM_WORLD);
  const auto place_in = [&](const std::vector<int>& side) {
    return static_cast<std::size_t>(std::find(side.begin(), side.end(), self) - side.begin());
  };
  const std::size_t sending = place_in(sides.senders), receiving = place_in(sides.receivers);
  const bool sends = sending < sides.senders.size(), receives = receiving < sides.receivers.size();
  MPI_Comm taking_part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, sends || receives ? 0 : MPI_UNDEFINED, sends ? 0 : 1, &taking_part);
  std::vector<double> samples;
  if (taking_part != MPI_COMM_NULL) {
    const int partner = sends ? sides.receivers[sending] : sides.senders[receiving];
    const auto once = [&] {
      if (together) MPI_Barrier(taking_part);
      const double begin = now();
      step(sends, partner);
      return sends ? now() - begin : 0.0;
    };
    for (int i = 0; i < 3; ++i) once();
    const double took = std::max(once(), once());
    double slowest = 0;
    MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, taking_part);
    const double wanted = seconds / std::max(2 * slowest, 1e-7);
    const int count = static_cast<int>(std::clamp<double>(wanted, samples_least, samples_most));
    std::vector<double> mine(static_cast<std::size_t>(count));
    for (double& each : mine) each = once();
    samples.resize(mine.size());
    MPI_Reduce(mine.data(), samples.data(), count, MPI_DOUBLE, MPI_MAX, 0, taking_part);
    if (rank_of(taking_part) != 0) samples.clear();
    MPI_Comm_free(&taking_part);
  }
  wait_for_all();
  return samples;
}

/// There and back.
Step ping_pong(std::vector<char>& buffer, int bytes) {
  return [&buffer, bytes](bool sends, int partner) {
    if (sends) MPI_Send(buffer.data(), bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer.data(), bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!sends) MPI_Send(buffer.data(), bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
  };
}

/// `count` messages, then a word that they have come.
Step many(std::vector<char>& buffer, int bytes, int count) {
  return [&buffer, bytes, count](bool sends, int partner) {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      char* const at = buffer.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(bytes);
      MPI_Request* const request = &requests[static_cast<std::size_t>(i)];
      if (sends)
        MPI_Isend(at, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, request);
      else
        MPI_Irecv(at, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, request);
    }
    MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    if (sends)
      MPI_Recv(nullptr, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(nullptr, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
  };
}

/// 1, 2, 4, ... and the last one.
std::vector<int> sender_counts(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

struct Figure {
  std::string words;  ///< members of its JSON object
  std::string title;
  Sides sides;
  int bytes;
  int messages;  ///< of each sender; 0: a ping-pong
};

std::string member(const char* name, int value) {
  return "\"" + std::string(name) + "\": " + std::to_string(value);
}

std::vector<Figure> figures_of(const network::Nodes& nodes) {
  std::vector<Figure> figures;
  const auto add_ping_pong = [&](int node, int bytes) {
    figures.push_back(
        {"\"measure\": \"ping_pong\", \"between\": [0, " + std::to_string(node) + "], " + member("bytes", bytes),
         "ping-pong",
         {{nodes.rank_at(0, 0)}, {nodes.rank_at(node, 0)}},
         bytes,
         0});
  };
  const int far = std::min(nodes.count() - 1, far_nodes_most);
  for (int i = 1; i <= far; ++i) add_ping_pong(1 + (i - 1) * (nodes.count() - 1) / far, 8);
  for (int bytes = 64; bytes <= 1 << 20; bytes *= 4) add_ping_pong(1, bytes);
  // The two that have the most ranks for it.
  int other = 1;
  for (int node = 2; node < nodes.count(); ++node)
    if (nodes.places(node) > nodes.places(other)) other = node;
  for (const int senders : sender_counts(std::min(nodes.places(0), nodes.places(other)))) {
    Sides sides;
    for (int place = 0; place < senders; ++place) {
      sides.senders.push_back(nodes.rank_at(0, place));
      sides.receivers.push_back(nodes.rank_at(other, place));
    }
    for (const int bytes : {8, 4096, 131072})
      figures.push_back(
          {"\"measure\": \"messages_at_once\", " + member("senders", senders) + ", " + member("bytes", bytes),
           std::to_string(senders) + (senders == 1 ? " sender" : " senders"), sides, bytes,
           bytes < 65536 ? window : window_of_large});
  }
  return figures;
}

void print(const std::string& line) {
  std::printf("{%s}\n", line.c_str());
  std::fflush(stdout);
}

void fail(const std::string& words) {
  print("\"error\": \"" + words + "\"");
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

void measure(const Figure& figure, double seconds) {
  const auto messages = static_cast<std::size_t>(std::max(1, figure.messages));
  std::vector<char> buffer(static_cast<std::size_t>(figure.bytes) * messages, 1);
  const Step step = figure.messages ? many(buffer, figure.bytes, figure.messages) : ping_pong(buffer, figure.bytes);
  std::vector<double> samples = times_of(figure.sides, step, figure.messages > 0, seconds);
  if (rank_of(MPI_COMM_WORLD) != 0) return;
  const double share =
      figure.messages ? 1.0 / (figure.messages * static_cast<double>(figure.sides.senders.size())) : 0.5;
  for (double& each : samples) each *= share;
  const Median median = bench::median_of(samples);
  print(figure.words + ", \"seconds\": " + number(median.value) + ", \"lower\": " + number(median.lower) +
        ", \"upper\": " + number(median.upper) + ", \"samples\": " + std::to_string(samples.size()));
}

/// Exit status.
int run(double seconds) {
  const std::string list = ranks_per_node();
  const bool first = rank_of(MPI_COMM_WORLD) == 0;
  if (!list.empty() && !network::make_believe_node(list, 0)) {
    if (first) fail("TUTTI_RANKS_PER_NODE: expected numbers of ranks with commas between, such as 2,3,1");
    return 2;
  }
  const network::Nodes nodes(node_of_rank(list));
  if (nodes.count() < 2) {
    const std::string ranks =
        nodes.ranks() == 1 ? "the only rank is" : "all " + std::to_string(nodes.ranks()) + " ranks are";
    if (first)
      fail(ranks +
           " on one node: start them on two nodes or more, as many on each as your programs have (mpirun -n 8 "
           "--hostfile FILE ..., mpiexec -n 8 -ppn 4 -f FILE ...); TUTTI_RANKS_PER_NODE=1,1 makes two nodes of one "
           "machine, to see how it works");
    return 2;
  }
  if (first)
    print("\"network\": {" + member("nodes", nodes.count()) + ", " + member("ranks_per_node", nodes.most_places()) +
          ", " + member("ranks", nodes.ranks()) + ", \"make_believe\": " + (list.empty() ? "false" : "true") + "}");
  const std::vector<Figure> figures = figures_of(nodes);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (first)
      print("\"progress\": " + number(static_cast<double>(i) / static_cast<double>(figures.size())) +
            ", \"title\": \"" + figures[i].title + "\"");
    measure(figures[i], seconds / static_cast<double>(figures.size()));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double seconds = 10;
  CLI::App app("Measures messages between nodes for tutti probe --network: JSON lines.", "tutti-network-probe");
  app.add_option("--seconds", seconds, "Time for all of it")->check(CLI::Range(0.1, 3600.0))->capture_default_str();
  int status = 2;
  try {
    app.parse(argc, argv);
    status = run(seconds);
  } catch (const CLI::ParseError& problem) {
    status = problem.get_exit_code() == 0 ? 0 : 2;
    if (rank_of(MPI_COMM_WORLD) == 0) app.exit(problem);
  }
  MPI_Finalize();
  return status;
}
