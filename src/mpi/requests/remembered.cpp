#include "mpi/requests/remembered.h"

#include <utility>

#include "mpi/errors.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

namespace {

RememberedReceives& make_remembered() {
  static RememberedReceives& made = *new RememberedReceives;  // never destroyed, as Requests
  return made;
}

}  // namespace

RememberedReceives& remembered = make_remembered();

std::size_t RememberedReceives::find(std::uintptr_t key) const {
  std::size_t at = place_of(key);
  while (places_[at].is_taken && places_[at].key != key) at = (at + 1) & (places_.size() - 1);
  return at;
}

void RememberedReceives::grow() {
  std::vector<Place> before(places_.empty() ? 64 : 2 * places_.size());
  before.swap(places_);
  for (const Place& each : before)
    if (each.is_taken) places_[find(each.key)] = each;
}

void RememberedReceives::add(MPI_Request handle, const Receive& receive) {
  const auto locked = lock();
  const std::size_t count = count_.load(std::memory_order_relaxed);
  if (2 * (count + 1) > places_.size()) grow();
  Place& place = places_[find(key_of(handle))];
  // The host has given a handle anew whose end was not seen.
  if (!place.is_taken) count_.store(count + 1, std::memory_order_relaxed);
  place = {key_of(handle), true, false, handle, receive};
}

std::optional<RememberedReceives::Receive> RememberedReceives::take(MPI_Request handle) {
  const auto locked = lock();
  if (places_.empty()) return std::nullopt;
  std::size_t hole = find(key_of(handle));
  if (!places_[hole].is_taken) return std::nullopt;
  const Receive receive = places_[hole].receive;
  const std::size_t mask = places_.size() - 1;
  for (std::size_t at = (hole + 1) & mask; places_[at].is_taken; at = (at + 1) & mask) {
    // It may move into the hole if it would be found there.
    if (((at - place_of(places_[at].key)) & mask) < ((at - hole) & mask)) continue;
    places_[hole] = places_[at];
    hole = at;
  }
  places_[hole].is_taken = false;
  count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return receive;
}

void RememberedReceives::look_ahead() {
  const auto locked = lock();
  for (Place& each : places_) {
    if (!each.is_taken || each.is_looked_at) continue;
    int over = 0;
    MPI_Status status{};
    if (host.Request_get_status(each.handle, &over, &status) != MPI_SUCCESS || !over) continue;
    each.is_looked_at = true;
    if (is_as_long_as_an_envelope(status))
      each.receive.is_none = !ReceivePart(each.receive.into, each.receive.communicator).look_ahead(status);
  }
}

Completing::Completing(const char* function, int count, const MPI_Request* requests, MPI_Status* statuses)
    : function_(function), told_(statuses), has_statuses_(statuses != MPI_STATUSES_IGNORE) {
  if (!remembered.any() || count <= 0 || !requests) return;
  before_.assign(requests, requests + count);
  if (has_statuses_ && statuses) return;
  own_.resize(before_.size());
  told_ = own_.data();
}

int Completing::completed(int i, int at) {
  if (i < 0 || static_cast<std::size_t>(i) >= before_.size()) return MPI_SUCCESS;
  const auto receive = remembered.take(before_[static_cast<std::size_t>(i)]);
  if (!receive || receive->is_none || !is_as_long_as_an_envelope(told_[at])) return MPI_SUCCESS;
  ReceivePart part(receive->into, receive->communicator);
  if (!part.look(told_[at])) return MPI_SUCCESS;
  wait_for_message(function_, part.peer(), [&] { return part.progress(); });
  const int code = part.end(told_[at]);
  return code == MPI_SUCCESS ? code : raise(receive->communicator, code, function_);
}

int Completing::completed_all(int code) {
  for (std::size_t i = 0; i < before_.size(); ++i) {
    if (code != MPI_SUCCESS) {
      remembered.take(before_[i]);
      continue;
    }
    const int error = completed(static_cast<int>(i), static_cast<int>(i));
    if (error == MPI_SUCCESS) continue;
    for (std::size_t j = 0; j < before_.size(); ++j) told_[j].MPI_ERROR = j == i ? error : static_cast<int>(MPI_SUCCESS);
    code = MPI_ERR_IN_STATUS;
  }
  return code;
}

}  // namespace tutti::mpi
