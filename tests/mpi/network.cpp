// Algorithms between nodes over the MPI's own messages. Each process is a node: its ranks share its memory, and its one
// thread goes on with each of them in turn; between processes there is nothing but messages. Without the library.
//
//   tutti-test-network-HOST 2,1,3 turns    process i has the i-th of these numbers of ranks, in turn; ranks are dealt out
//                                          in turns, or as blocks
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/affine.h"
#include "collectives/between_nodes_calls.h"
#include "mpi/network_channel.h"
#include "topology/machine.h"

namespace tutti::test {
namespace {

/// Addresses are ranks; the MPI's ranks are nodes. Which places of them are meant goes with the lane.
class OfPlaces final : public network::Channel {
 public:
  OfPlaces(network::Channel& channel, const network::Nodes& nodes, int rank)
      : channel_(channel), nodes_(nodes), place_(nodes.place_of(rank)) {}
  network::Ticket post_send(const network::Address& to, const std::byte* data, std::size_t bytes) override {
    return channel_.post_send(between(to, place_, nodes_.place_of(to.peer)), data, bytes);
  }
  network::Ticket post_receive(const network::Address& from, std::byte* data, std::size_t bytes) override {
    return channel_.post_receive(between(from, nodes_.place_of(from.peer), place_), data, bytes);
  }
  bool test(network::Ticket& ticket) override { return channel_.test(ticket); }
  void withdraw(network::Ticket& ticket) override { channel_.withdraw(ticket); }

  static int lanes(const network::Nodes& nodes) {
    return nodes.most_places() * nodes.most_places() * nodes.most_places();
  }

 private:
  network::Address between(const network::Address& address, int from, int to) const {
    const int places = nodes_.most_places();
    return {nodes_.node_of(address.peer), address.operation, address.step,
            (address.lane * places + from) * places + to};
  }
  network::Channel& channel_;
  const network::Nodes& nodes_;
  const int place_;
};

/// The ranks of this process.
class OwnRanks {
 public:
  OwnRanks(const network::Nodes& nodes, int self, network::Channel& channel) : nodes_(nodes) {
    const int places = nodes.places(self);
    std::string error;
    const auto machine = topology::Machine::load("package:1 core:8 pu:1", error);
    std::vector<memory::Peer> peers;
    CommunicatorLayout layout;
    for (int place = 0; place < places; ++place) {
      Rank& rank = ranks_[nodes.rank_at(self, place)];
      rank.node = std::make_unique<Node>();
      rank.node->rank = place;
      rank.node->size = places;
      rank.node->arena = memory::Arena::create(std::size_t{32} << 20, error);
      rank.node->ranks_are_threads = rank.node->window_shared = true;
      rank.node->placement = topology::place(*machine, std::vector<topology::CpuSet>(static_cast<std::size_t>(places)));
      rank.node->waiter = sync::make_waiter({});
      peers.push_back({getpid(), rank.node->arena->base()});
      layout.node_ranks.push_back(place);
      layout.offsets.push_back(*rank.node->arena->allocate(shared_bytes(rank.node->settings, places)));
    }
    for (auto& [number, rank] : ranks_) {
      rank.node->peers = peers;
      layout.rank = nodes.place_of(number);
      rank.communicator = std::make_unique<Communicator>(*rank.node, layout);
      rank.channel = std::make_unique<OfPlaces>(channel, nodes, number);
      rank.spanning.emplace(Spanning{*rank.communicator, nodes, *rank.channel, number});
    }
  }

  /// Calls an algorithm on all of them. arguments(rank).
  template <class Arguments>
  void call(const selection::Algorithm<Arguments>& algorithm, const std::function<Arguments(int)>& arguments) {
    std::vector<std::unique_ptr<PendingCall>> calls;
    for (auto& [number, rank] : ranks_) {
      calls.push_back(prepare_between_nodes(*rank.spanning, algorithm, arguments(number)));
      calls.back()->start();
    }
    for (bool over = false; !over;) {
      over = true;
      for (auto& each : calls) over = each->progress() && over;
    }
  }
  std::vector<int> numbers() const {
    std::vector<int> all;
    for (const auto& [number, rank] : ranks_) all.push_back(number);
    return all;
  }

 private:
  struct Rank {
    std::unique_ptr<Node> node;
    std::unique_ptr<Communicator> communicator;
    std::unique_ptr<OfPlaces> channel;
    std::optional<Spanning> spanning;
  };
  const network::Nodes& nodes_;
  std::map<int, Rank> ranks_;
};

std::byte pattern(int from, int to, std::size_t i, int call) {
  return static_cast<std::byte>(static_cast<std::size_t>(from * 31 + to * 7 + call * 3) + i);
}

using Bytes = std::vector<std::byte>;

/// One call after the other, of every algorithm; counts what is wrong.
class Checks {
 public:
  Checks(const network::Nodes& nodes, OwnRanks& ranks) : nodes_(nodes), ranks_(ranks) {}

  int wrong() const { return wrong_; }
  int calls() const { return call_; }

  void blocks(std::size_t bytes) {
    const auto count = static_cast<std::size_t>(nodes_.ranks());
    for (const auto* algorithm : algorithms_between_nodes<BarrierArguments>()) {
      ++call_;
      ranks_.call<BarrierArguments>(*algorithm, [](int) { return BarrierArguments{}; });
    }
    for (const auto* algorithm : algorithms_between_nodes<AllgatherArguments>())
      exchange<AllgatherArguments>(
          *algorithm, bytes, bytes * count,
          [&](int rank, Bytes& send, Bytes& receive, AllgatherArguments& arguments) {
            fill(send, rank, 0);
            arguments.send = send.data();
            arguments.bytes = bytes;
            arguments.receive = Blocks::regular(receive.data(), bytes);
          },
          [&](int, std::size_t at) { return pattern(static_cast<int>(at / bytes), 0, at % bytes, call_); });
    for (const auto* algorithm : algorithms_between_nodes<AlltoallArguments>())
      exchange<AlltoallArguments>(
          *algorithm, bytes * count, bytes * count,
          [&](int rank, Bytes& send, Bytes& receive, AlltoallArguments& arguments) {
            for (std::size_t at = 0; at < send.size(); ++at)
              send[at] = pattern(rank, static_cast<int>(at / bytes), at % bytes, call_);
            arguments.send = Blocks::regular(send.data(), bytes);
            arguments.receive = Blocks::regular(receive.data(), bytes);
          },
          [&](int rank, std::size_t at) { return pattern(static_cast<int>(at / bytes), rank, at % bytes, call_); });
    const int root = nodes_.ranks() / 2;
    for (const auto* algorithm : algorithms_between_nodes<BcastArguments>())
      exchange<BcastArguments>(
          *algorithm, 0, bytes,
          [&](int rank, Bytes&, Bytes& buffer, BcastArguments& arguments) {
            if (rank == root) fill(buffer, root, 0);
            arguments.buffer = buffer.data();
            arguments.bytes = bytes;
            arguments.root = root;
          },
          [&](int, std::size_t at) { return pattern(root, 0, at, call_); });
    for (const auto* algorithm : algorithms_between_nodes<ScatterArguments>())
      exchange<ScatterArguments>(
          *algorithm, bytes * count, bytes,
          [&](int rank, Bytes& send, Bytes& receive, ScatterArguments& arguments) {
            for (std::size_t at = 0; at < send.size(); ++at)
              send[at] = pattern(root, static_cast<int>(at / bytes), at % bytes, call_);
            if (rank == root) arguments.send = Blocks::regular(send.data(), bytes);
            arguments.receive = receive.data();
            arguments.bytes = bytes;
            arguments.root = root;
          },
          [&](int rank, std::size_t at) { return pattern(root, rank, at, call_); });
    for (const auto* algorithm : algorithms_between_nodes<GatherArguments>())
      exchange<GatherArguments>(
          *algorithm, bytes, bytes * count,
          [&](int rank, Bytes& send, Bytes& receive, GatherArguments& arguments) {
            fill(send, rank, 0);
            arguments.send = send.data();
            arguments.bytes = bytes;
            if (rank == root) arguments.receive = Blocks::regular(receive.data(), bytes);
            arguments.root = root;
          },
          [&](int rank, std::size_t at) {
            return rank == root ? pattern(static_cast<int>(at / bytes), 0, at % bytes, call_) : untouched;
          });
  }

  void reductions(std::size_t count) {
    std::size_t element_bytes = 1;
    const Combiner combiner = composition(element_bytes, false);
    const int root = nodes_.ranks() / 2;
    const auto set = [&](int rank, Bytes& send, Bytes& receive, auto& arguments) {
      test::fill(send, count, call_, rank);
      arguments.send = send.data();
      arguments.receive = receive.data();
      arguments.count = count;
      arguments.combiner = &combiner;
    };
    std::vector<std::array<std::byte, 256>> tables;
    for (int ranks = 1; ranks <= nodes_.ranks(); ++ranks) tables.push_back(composed(ranks));
    const auto combined = [&](int ranks, std::size_t at) {
      return tables[static_cast<std::size_t>(ranks) - 1][contribution(at, call_, 0)];
    };
    for (const auto* algorithm : algorithms_between_nodes<AllreduceArguments>())
      exchange<AllreduceArguments>(*algorithm, count, count, set,
                                   [&](int, std::size_t at) { return combined(nodes_.ranks(), at); });
    for (const auto* algorithm : algorithms_between_nodes<ScanArguments>())
      exchange<ScanArguments>(*algorithm, count, count, set,
                              [&](int rank, std::size_t at) { return combined(rank + 1, at); });
    for (const auto* algorithm : algorithms_between_nodes<ReduceArguments>())
      exchange<ReduceArguments>(
          *algorithm, count, count,
          [&](int rank, Bytes& send, Bytes& receive, ReduceArguments& arguments) {
            set(rank, send, receive, arguments);
            arguments.root = root;
            if (rank != root) arguments.receive = nullptr;
          },
          [&](int rank, std::size_t at) { return rank == root ? combined(nodes_.ranks(), at) : untouched; });
    std::vector<std::size_t> counts(static_cast<std::size_t>(nodes_.ranks()));
    for (std::size_t i = 0; i < count; ++i) ++counts[i % counts.size()];
    for (const auto* algorithm : algorithms_between_nodes<ReduceScatterArguments>())
      exchange<ReduceScatterArguments>(
          *algorithm, count, count,
          [&](int rank, Bytes& send, Bytes& receive, ReduceScatterArguments& arguments) {
            set(rank, send, receive, arguments);
            arguments.counts = counts.data();
          },
          [&](int rank, std::size_t at) {
            std::size_t before = 0;
            for (int i = 0; i < rank; ++i) before += counts[static_cast<std::size_t>(i)];
            return at < counts[static_cast<std::size_t>(rank)] ? combined(nodes_.ranks(), before + at) : untouched;
          });
  }

 private:
  static constexpr std::byte untouched{0x5a};

  void fill(Bytes& bytes, int from, int to) const {
    for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = pattern(from, to, at, call_);
  }

  /// set(rank, send buffer, receive buffer, arguments); expected(rank, at): what is to be received.
  template <class Arguments>
  void exchange(const selection::Algorithm<Arguments>& algorithm, std::size_t sent, std::size_t received,
                const std::function<void(int, Bytes&, Bytes&, Arguments&)>& set,
                const std::function<std::byte(int, std::size_t)>& expected) {
    ++call_;
    std::map<int, Bytes> send, receive;
    std::map<int, Arguments> arguments;
    for (const int rank : ranks_.numbers()) {
      send[rank].resize(sent);
      receive[rank].assign(received, untouched);
      set(rank, send[rank], receive[rank], arguments[rank]);
    }
    if (!can_do(algorithm, nodes_, arguments.begin()->second)) return;
    ranks_.call<Arguments>(algorithm, [&](int rank) { return arguments[rank]; });
    for (const int rank : ranks_.numbers())
      for (std::size_t at = 0; at < received; ++at)
        if (receive[rank][at] != expected(rank, at)) {
          std::printf("%s: rank %d, byte %zu of %zu is wrong\n", algorithm.name, rank, at, received);
          ++wrong_;
          break;
        }
  }

  const network::Nodes& nodes_;
  OwnRanks& ranks_;
  int call_ = 0;
  int wrong_ = 0;
};

/// The node of each rank.
std::vector<int> dealt_out(const std::string& numbers, bool in_turns, int processes) {
  std::vector<int> places;
  for (std::size_t at = 0; at < numbers.size();
       at = numbers.find(',', at) == std::string::npos ? numbers.size() : numbers.find(',', at) + 1)
    places.push_back(std::stoi(numbers.substr(at)));
  std::vector<int> nodes;
  const auto of = [&](int process) { return places[static_cast<std::size_t>(process) % places.size()]; };
  if (!in_turns)
    for (int process = 0; process < processes; ++process)
      nodes.insert(nodes.end(), static_cast<std::size_t>(of(process)), process);
  for (int place = 0; in_turns && place < 64; ++place)
    for (int process = 0; process < processes; ++process)
      if (place < of(process)) nodes.push_back(process);
  return nodes;
}

int run(const std::string& numbers, bool in_turns) {
  int self = 0, processes = 0, found = 0;
  MPI_Comm communicator = MPI_COMM_NULL;
  PMPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  PMPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  PMPI_Comm_rank(communicator, &self);
  PMPI_Comm_size(communicator, &processes);
  int* tag_max = nullptr;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_max, &found);
  const network::Nodes nodes(dealt_out(numbers, in_turns, processes));
  constexpr mpi::Unasked unasked{1000, 4};  // so that some go in pieces
  mpi::NetworkChannel channel(
      communicator, {PMPI_Isend, PMPI_Irecv, PMPI_Test, PMPI_Cancel, PMPI_Request_free, PMPI_Wait, PMPI_Error_class},
      OfPlaces::lanes(nodes), mpi::Tags::all(*tag_max), unasked);
  int wrong = 0, all_wrong = 0;
  {
    OwnRanks ranks(nodes, self, channel);
    Checks checks(nodes, ranks);
    // The longest are sent as rendezvous messages.
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{3000}, std::size_t{100000}}) {
      checks.blocks(bytes);
      checks.reductions(bytes);
    }
    wrong = checks.wrong();
    PMPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (self == 0)
      std::printf("%d calls on %d ranks of %d nodes, %d wrong\n", checks.calls(), nodes.ranks(), processes, all_wrong);
  }
  // What is posted and finds no other end is taken back.
  std::byte nothing{};
  network::Ticket ticket = channel.post_receive({self, 1, 0, 0}, &nothing, 1);
  channel.withdraw(ticket);
  PMPI_Comm_free(&communicator);
  return all_wrong == 0 && ticket == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tutti::test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = tutti::test::run(argc > 1 ? argv[1] : "1", argc > 2 && std::string(argv[2]) == "turns");
  MPI_Finalize();
  return status;
}
