// Messages between two ranks, measured as collectives are: all ranks call the same. The partner of rank 2 i is 2 i + 1; of an
// odd number of ranks the last has none.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "collective.h"

namespace tutti::bench {

class Messages : public Collective {
 public:
  using Collective::Collective;
  bool overwrites(int) const override { return false; }

 protected:
  bool has_partner() const { return partner() < ranks(); }
  int partner() const { return rank() ^ 1; }
  bool is_first() const { return rank() % 2 == 0; }
};

/// Messages with the partner, one each way.
class Pair : public Messages {
 public:
  using Messages::Messages;
  std::size_t send_count(bool) const override { return has_partner() ? block() : 0; }
  std::size_t receive_count(bool) const override { return send_count(true); }
  std::size_t incoming_count() const override { return block(); }
  void fill(const Call& call) const override {
    bench::fill(call.send, stretch(0, send_count(true)), call.salt, rank());
  }
  bool right(const Call& call) const override {
    return holds_data_of(call.receive, stretch(0, receive_count(true)), call.salt, partner());
  }
};

/// One message is answered by another. What is sent back was written before, as that of the first rank was.
class PingPong final : public Pair {
 public:
  using Pair::Pair;
  int messages() const override { return 2; }
  void perform(const Functions& mpi, const Call& call) const override {
    if (!has_partner()) return;
    if (is_first()) mpi.Send(call.send, count(), datatype(), partner(), 0, communicator());
    mpi.Recv(call.receive, count(), datatype(), partner(), 0, communicator(), MPI_STATUS_IGNORE);
    if (!is_first()) mpi.Send(call.send, count(), datatype(), partner(), 0, communicator());
  }
};

class Sendrecv final : public Pair {
 public:
  using Pair::Pair;
  void perform(const Functions& mpi, const Call& call) const override {
    if (has_partner())
      mpi.Sendrecv(call.send, count(), datatype(), partner(), 0, call.receive, count(), datatype(), partner(), 0,
                   communicator(), MPI_STATUS_IGNORE);
  }
};

/// Nonblocking receives and sends, each with a block of its own, and a wait for all of them.
class Exchange : public Messages {
 public:
  /// One message. block: its place at the sender.
  struct Route {
    int peer, tag;
    std::size_t block;
  };

  Exchange(const Place& place, std::vector<Route> outgoing, std::vector<Route> incoming)
      : Messages(place),
        outgoing_(std::move(outgoing)),
        incoming_(std::move(incoming)),
        requests_(std::make_unique<MPI_Request[]>(outgoing_.size() + incoming_.size())) {}
  std::size_t send_count(bool) const override { return outgoing_.size() * block(); }
  std::size_t receive_count(bool) const override { return incoming_.size() * block(); }
  std::size_t incoming_count() const override { return receive_count(true) / static_cast<std::size_t>(messages()); }
  void fill(const Call& call) const override {
    bench::fill(call.send, stretch(0, send_count(true)), call.salt, rank());
  }
  void perform(const Functions& mpi, const Call& call) const override {
    MPI_Request* next = requests_.get();
    std::byte* to = call.receive;
    for (const Route& each : incoming_) {
      mpi.Irecv(to, count(), datatype(), each.peer, each.tag, communicator(), next++);
      to += bytes_of(block());
    }
    for (const Route& each : outgoing_)
      mpi.Isend(at(call.send, each.block * block()), count(), datatype(), each.peer, each.tag, communicator(), next++);
    mpi.Waitall(static_cast<int>(next - requests_.get()), requests_.get(), MPI_STATUSES_IGNORE);
  }
  bool right(const Call& call) const override {
    bool right = true;
    std::byte* from = call.receive;
    for (const Route& each : incoming_) {
      right &= holds_data_of(from, stretch(each.block * block(), block()), call.salt, each.peer);
      from += bytes_of(block());
    }
    return right;
  }

 private:
  const std::vector<Route> outgoing_, incoming_;
  const std::unique_ptr<MPI_Request[]> requests_;
};

/// Many messages to the partner at once, from both, or from the first of the two, which then waits for an empty one that says
/// that they have come. Each has a buffer of its own: so many as have 4 MiB together.
class Window final : public Exchange {
 public:
  Window(const Place& place, bool both_ways)
      : Exchange(place, routes(place, place.rank % 2 == 0 || both_ways),
                 routes(place, place.rank % 2 == 1 || both_ways)),
        messages_(messages_of(place)),
        both_ways_(both_ways) {}
  int messages() const override { return messages_; }
  void perform(const Functions& mpi, const Call& call) const override {
    Exchange::perform(mpi, call);
    if (both_ways_ || !has_partner()) return;
    if (is_first())
      mpi.Recv(nullptr, 0, datatype(), partner(), 1, communicator(), MPI_STATUS_IGNORE);
    else
      mpi.Send(nullptr, 0, datatype(), partner(), 1, communicator());
  }

 private:
  static int messages_of(const Place& place) {
    constexpr std::size_t together = std::size_t{4} << 20;
    return static_cast<int>(std::clamp<std::size_t>(together / place.block.bytes, 2, 64));
  }
  static std::vector<Route> routes(const Place& place, bool has_any) {
    std::vector<Route> routes;
    if (has_any && (place.rank ^ 1) < place.ranks)
      for (int i = 0; i < messages_of(place); ++i) routes.push_back({place.rank ^ 1, 0, static_cast<std::size_t>(i)});
    return routes;
  }

  const int messages_;
  const bool both_ways_;
};

/// Each rank with neighbours at distance 1 on the ring of all ranks, and of four also at the length of a row, where the ranks
/// are cut into rows that are as long as there are of them, or longer. Two ranks are each other's neighbours on all sides.
class Halo final : public Exchange {
 public:
  Halo(const Place& place, int sides) : Exchange(place, routes(place, sides, 0), routes(place, sides, 1)) {}

 private:
  static int row_length(int ranks) {
    int rows = 1;
    for (int i = 2; i * i <= ranks; ++i)
      if (ranks % i == 0) rows = i;
    return rows == 1 ? 1 : ranks / rows;
  }
  /// opposite: 1 for what comes in, which its sender has sent to its other side.
  static std::vector<Route> routes(const Place& place, int sides, int opposite) {
    std::vector<Route> routes;
    for (int side = 0; side < sides; ++side) {
      const int distance = side < 2 ? 1 : row_length(place.ranks);
      const int peer = (place.rank + (side % 2 == 0 ? place.ranks - distance : distance)) % place.ranks;
      routes.push_back({peer, side ^ opposite, static_cast<std::size_t>(side ^ opposite)});
    }
    return routes;
  }
};

}  // namespace tutti::bench
