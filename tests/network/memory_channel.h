// A network in memory, for ranks that are threads of one process: tests of what uses a channel. A message is copied by
// whoever comes second, so that a send is over only once it was received: who relies on more hangs here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "network/channel.h"
#include "sync/flag.h"

namespace tutti::network {

class MemoryNetwork {
 public:
  explicit MemoryNetwork(int ranks) : boxes_(static_cast<std::size_t>(ranks)) {}

  /// Messages that were posted and have found no other end: none once all operations are over.
  std::size_t unmatched();

 private:
  friend class MemoryChannel;
  /// One end of a message.
  struct End {
    bool is_send = false;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    sync::Flag over;
  };
  /// What has been posted for one receiver, by sender, operation, step and lane.
  struct Box {
    std::mutex mutex;
    std::map<Address, std::shared_ptr<End>> waiting;
  };
  std::vector<Box> boxes_;
};

class MemoryChannel final : public Channel {
 public:
  MemoryChannel(MemoryNetwork& network, int rank) : network_(network), rank_(rank) {}

  /// Both throw std::logic_error if the two ends differ in bytes, or something is posted twice.
  Ticket post_send(const Address& to, const std::byte* data, std::size_t bytes) override;
  Ticket post_receive(const Address& from, std::byte* data, std::size_t bytes) override;
  bool test(Ticket& ticket) override;
  void withdraw(Ticket& ticket) override;

 private:
  struct Posted {
    int receiver;
    Address address;  ///< as the receiver has it
    std::shared_ptr<MemoryNetwork::End> end;
  };
  Ticket post(int receiver, const Address& address, bool is_send, std::byte* data, std::size_t bytes);

  MemoryNetwork& network_;
  const int rank_;
  Ticket last_ = 0;
  std::map<Ticket, Posted> posted_;
};

}  // namespace tutti::network
