#include "network/memory_channel.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace tutti::network {

namespace {

std::string words(const Address& address, int receiver) {
  return "message from rank " + std::to_string(address.peer) + " to rank " + std::to_string(receiver) +
         " in operation " + std::to_string(address.operation) + ", step " + std::to_string(address.step) + ", lane " +
         std::to_string(address.lane);
}

}  // namespace

std::size_t MemoryNetwork::unmatched() {
  std::size_t count = 0;
  for (Box& box : boxes_) {
    const std::lock_guard lock(box.mutex);
    count += box.waiting.size();
  }
  return count;
}

Ticket MemoryChannel::post_send(const Address& to, const std::byte* data, std::size_t bytes) {
  return post(to.peer, {rank_, to.operation, to.step, to.lane}, true, const_cast<std::byte*>(data), bytes);
}

Ticket MemoryChannel::post_receive(const Address& from, std::byte* data, std::size_t bytes) {
  return post(rank_, from, false, data, bytes);
}

Ticket MemoryChannel::post(int receiver, const Address& address, bool is_send, std::byte* data, std::size_t bytes) {
  const auto end = std::make_shared<MemoryNetwork::End>();
  end->is_send = is_send;
  end->data = data;
  end->bytes = bytes;
  MemoryNetwork::Box& box = network_.boxes_.at(static_cast<std::size_t>(receiver));
  std::shared_ptr<MemoryNetwork::End> other;
  {
    const std::lock_guard lock(box.mutex);
    const auto [found, is_first] = box.waiting.try_emplace(address, end);
    if (!is_first) {
      other = found->second;
      if (other->is_send == is_send) throw std::logic_error(words(address, receiver) + " was posted twice");
      if (other->bytes != bytes)
        throw std::logic_error(words(address, receiver) + " has " + std::to_string((is_send ? *end : *other).bytes) +
                               " bytes, but " + std::to_string((is_send ? *other : *end).bytes) + " are expected");
      if (bytes > 0) std::memcpy(is_send ? other->data : data, is_send ? data : other->data, bytes);
      box.waiting.erase(found);
    }
  }
  if (other) {
    other->over.set(1);
    end->over.set(1);
  }
  posted_.emplace(++last_, Posted{receiver, address, end});
  return last_;
}

bool MemoryChannel::test(Ticket& ticket) {
  if (ticket == 0) return true;
  const auto found = posted_.find(ticket);
  if (found == posted_.end()) throw std::logic_error("no such ticket");
  if (found->second.end->over.get() == 0) return false;
  posted_.erase(found);
  ticket = 0;
  return true;
}

void MemoryChannel::withdraw(Ticket& ticket) {
  const auto found = posted_.find(ticket);
  ticket = 0;
  if (found == posted_.end()) return;
  MemoryNetwork::Box& box = network_.boxes_[static_cast<std::size_t>(found->second.receiver)];
  {
    const std::lock_guard lock(box.mutex);
    const auto waiting = box.waiting.find(found->second.address);
    if (waiting != box.waiting.end() && waiting->second == found->second.end) box.waiting.erase(waiting);
  }
  posted_.erase(found);
}

}  // namespace tutti::network
