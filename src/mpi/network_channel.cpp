#include "mpi/network_channel.h"

#include <algorithm>
#include <utility>

namespace tutti::mpi {

/// Counts are numbers of type int. And a few messages at once are quicker than one for which the receiver has to be asked,
/// which is one more round trip; what is long takes longer than that.
std::size_t NetworkChannel::piece_of(std::size_t bytes) const {
  constexpr std::size_t most_unasked = 4;
  constexpr std::size_t most_bytes = std::size_t{1} << 30;
  return bytes <= most_unasked * unasked_bytes_ ? unasked_bytes_ : most_bytes;
}

network::Ticket NetworkChannel::keep(Message message) {
  messages_.emplace(++last_, std::move(message));
  return last_;
}

network::Ticket NetworkChannel::post_send(const network::Address& to, const std::byte* data, std::size_t bytes) {
  Message message{true, {}};
  const std::size_t most = piece_of(bytes);
  std::size_t at = 0;
  do {
    const std::size_t piece = std::min(bytes - at, most);
    message.requests.emplace_back();
    const int code = calls_.isend(data + at, static_cast<int>(piece), MPI_BYTE, end(to.peer).rank,
                                  tag_of(end(to.peer).first_tag, to), communicator_, &message.requests.back());
    if (code != MPI_SUCCESS) throw NetworkError("MPI_Isend", code);
    at += piece;
  } while (at < bytes);
  return keep(std::move(message));
}

network::Ticket NetworkChannel::post_receive(const network::Address& from, std::byte* data, std::size_t bytes) {
  Message message{false, {}};
  const std::size_t most = piece_of(bytes);
  std::size_t at = 0;
  do {
    const std::size_t piece = std::min(bytes - at, most);
    message.requests.emplace_back();
    const int code = calls_.irecv(data + at, static_cast<int>(piece), MPI_BYTE, end(from.peer).rank,
                                  tag_of(own_first_tag_, from), communicator_, &message.requests.back());
    if (code != MPI_SUCCESS) throw NetworkError("MPI_Irecv", code);
    at += piece;
  } while (at < bytes);
  return keep(std::move(message));
}

bool NetworkChannel::test(network::Ticket& ticket) {
  if (ticket == 0) return true;
  const auto found = messages_.find(ticket);
  if (found == messages_.end()) throw std::logic_error("no such ticket");
  std::vector<MPI_Request>& requests = found->second.requests;
  int over = 0;
  statuses_.resize(requests.size());
  int code = calls_.testall(static_cast<int>(requests.size()), requests.data(), &over, statuses_.data());
  if (code != MPI_SUCCESS) {
    const auto has_failed = [](const MPI_Status& status) {
      return status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING;
    };
    const auto failed = std::find_if(statuses_.begin(), statuses_.end(), has_failed);
    if (code == MPI_ERR_IN_STATUS && failed != statuses_.end()) code = failed->MPI_ERROR;
    messages_.erase(found);
    ticket = 0;
    has_lost_ = true;
    throw NetworkError("MPI_Testall", code);
  }
  if (!over) return false;
  messages_.erase(found);
  ticket = 0;
  return true;
}

void NetworkChannel::withdraw(network::Ticket& ticket) {
  const auto found = messages_.find(ticket);
  ticket = 0;
  if (found == messages_.end()) return;
  has_lost_ = true;
  for (MPI_Request& request : found->second.requests) {
    if (request == MPI_REQUEST_NULL) continue;
    if (found->second.is_send) {
      calls_.request_free(&request);
      continue;
    }
    // A receive that is cancelled is over without the sender.
    calls_.cancel(&request);
    calls_.wait(&request, MPI_STATUS_IGNORE);
  }
  messages_.erase(found);
}

}  // namespace tutti::mpi
