#include "mpi/network_channel.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tutti::mpi {

int NetworkChannel::tag_of(const network::Address& address, const Tags& tags) const {
  const long long within = static_cast<long long>(address.step) * lanes_ + address.lane;
  const auto operation = static_cast<long long>(address.operation % static_cast<std::uint64_t>(tags.operations));
  return static_cast<int>(tags.first + operation * tags.of_operation + within % tags.of_operation);
}

/// Counts are numbers of type int. And a few messages at once are quicker than one for which the receiver has to be asked,
/// which is one more round trip; what is long takes longer than that.
std::size_t NetworkChannel::piece_of(std::size_t bytes) const {
  constexpr std::size_t most_bytes = std::size_t{1} << 30;
  const bool in_a_few = unasked_.bytes > 0 && bytes <= unasked_.pieces * unasked_.bytes;
  return in_a_few ? std::min(unasked_.bytes, most_bytes) : most_bytes;
}

NetworkChannel::Message* NetworkChannel::find(network::Ticket ticket) {
  const auto number = static_cast<std::uint32_t>(ticket);
  return number < messages_.size() && messages_[number].ticket == ticket ? &messages_[number] : nullptr;
}

NetworkChannel::Message& NetworkChannel::make(bool is_send, std::size_t pieces) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(messages_.size()));
    messages_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  Message& message = messages_[number];
  if (pieces > 1) message.pieces.assign(pieces, MPI_REQUEST_NULL);
  free_.pop_back();
  if (++made_ == 0) ++made_;
  message.ticket = static_cast<network::Ticket>(made_) << 32 | number;
  message.is_send = is_send;
  return message;
}

void NetworkChannel::forget(Message& message) {
  free_.push_back(static_cast<std::uint32_t>(message.ticket));
  message.ticket = 0;
  message.single = MPI_REQUEST_NULL;
  message.pieces.clear();
}

/// What the host has not ended goes on, and might store into memory that is used again.
void NetworkChannel::withdraw(Message& message) {
  for (MPI_Request& request : message.requests()) {
    if (request == MPI_REQUEST_NULL) continue;
    if (message.is_send) {
      calls_.request_free(&request);
      continue;
    }
    // A receive that is cancelled is over without the sender.
    calls_.cancel(&request);
    calls_.wait(&request, MPI_STATUS_IGNORE);
  }
  forget(message);
}

void NetworkChannel::fail(Message& message, const char* function, int code) {
  withdraw(message);
  int kind = code;
  calls_.error_class(code, &kind);
  throw network::Failure(std::string(function) + " has failed with code " + std::to_string(code), code, kind);
}

template <class Byte, class Post>
network::Ticket NetworkChannel::post_pieces(bool is_send, Byte* data, std::size_t bytes, const char* function,
                                            const Post& post) {
  const std::size_t most = piece_of(bytes);
  Message& message = make(is_send, (bytes + most - 1) / most);
  std::size_t at = 0;
  for (MPI_Request& request : message.requests()) {
    const std::size_t piece = std::min(bytes - at, most);
    if (const int code = post(data + at, static_cast<int>(piece), &request); code != MPI_SUCCESS) {
      request = MPI_REQUEST_NULL;
      fail(message, function, code);
    }
    at += piece;
  }
  return message.ticket;
}

network::Ticket NetworkChannel::post_send(const network::Address& to, const std::byte* data, std::size_t bytes) {
  const Route route = route_to(to.peer);
  const int tag = tag_of(to, route.tags);
  return post_pieces(true, data, bytes, "MPI_Isend", [&](const std::byte* from, int count, MPI_Request* request) {
    return calls_.isend(from, count, MPI_BYTE, route.rank, tag, route.communicator, request);
  });
}

network::Ticket NetworkChannel::post_receive(const network::Address& from, std::byte* data, std::size_t bytes) {
  const Route route = route_from(from.peer);
  const int tag = tag_of(from, route.tags);
  return post_pieces(false, data, bytes, "MPI_Irecv", [&](std::byte* to, int count, MPI_Request* request) {
    return calls_.irecv(to, count, MPI_BYTE, route.rank, tag, route.communicator, request);
  });
}

bool NetworkChannel::test(network::Ticket& ticket) {
  if (ticket == 0) return true;
  Message* const message = find(ticket);
  if (!message) throw std::logic_error("no such ticket");
  // One by one: MPICH raises errors of several requests on MPI_COMM_WORLD, and so ends the program. All of them, since one may
  // have failed while another is pending.
  bool all_over = true;
  for (MPI_Request& request : message->requests()) {
    if (request == MPI_REQUEST_NULL) continue;
    int over = 0;
    if (const int code = calls_.test(&request, &over, MPI_STATUS_IGNORE); code != MPI_SUCCESS) {
      ticket = 0;
      fail(*message, "MPI_Test", code);
    }
    all_over = all_over && over;
  }
  if (!all_over) return false;
  forget(*message);
  ticket = 0;
  return true;
}

void NetworkChannel::withdraw(network::Ticket& ticket) {
  if (Message* const message = find(ticket); message && ticket != 0) withdraw(*message);
  ticket = 0;
}

}  // namespace tutti::mpi
