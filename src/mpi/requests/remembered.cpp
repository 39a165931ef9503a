#include "mpi/requests/remembered.h"

#include <algorithm>
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

void RememberedReceives::grow() {
  std::vector<Place> before(places_.empty() ? 64 : 2 * places_.size());
  before.swap(places_);
  for (const Place& each : before)
    if (each.is_taken) places_[find(each.handle)] = each;
}

std::optional<RememberedReceives::Receive> RememberedReceives::take(MPI_Request handle, bool is_as_long) {
  const auto locked = lock();
  if (places_.empty()) return std::nullopt;
  const std::size_t at = find(handle);
  const Place& place = places_[at];
  if (!place.is_taken) return std::nullopt;
  std::optional<Receive> receive;
  if (is_as_long && (!place.is_known || place.receive.is_envelope)) [[unlikely]]
    receive = place.receive;
  remove(at);
  return receive;
}

bool RememberedReceives::take_others(const MPI_Request* handles, const MPI_Status* statuses, int count) {
  const auto locked = lock();
  bool left = false;
  for (int i = 0; i < count && !places_.empty(); ++i) {
    if (is_as_long_as_an_envelope(statuses[i])) [[unlikely]]
      left = true;
    else if (const std::size_t at = find(handles[i]); places_[at].is_taken)
      remove(at);
  }
  return left;
}

void RememberedReceives::remove(std::size_t hole) {
  const std::size_t mask = places_.size() - 1;
  for (std::size_t at = (hole + 1) & mask; places_[at].is_taken; at = (at + 1) & mask) {
    // It may move into the hole if it would be found there.
    if (((at - place_of(places_[at].handle)) & mask) < ((at - hole) & mask)) continue;
    places_[hole] = places_[at];
    hole = at;
  }
  places_[hole].is_taken = false;
  count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void RememberedReceives::look_ahead() {
  const auto locked = lock();
  for (Place& each : places_) {
    if (!each.is_taken || each.is_known || each.is_asked) continue;
    int over = 0;
    MPI_Status status{};
    if (host.Request_get_status(each.handle, &over, &status) != MPI_SUCCESS || !over) continue;
    each.is_over = true;
    const auto into = message_buffer(each.receive.buffer, each.receive.count, each.receive.datatype);
    each.is_known = into && is_as_long_as_an_envelope(status);
    if (each.is_known)
      each.receive.is_envelope = ReceivePart(*into, each.receive.matching.communicator).look_ahead(status);
  }
}

void RememberedReceives::set_asked(const MPI_Request* handles, const MPI_Request* now, int count, bool is_asked) {
  if (!shared_) return;
  const auto locked = lock();
  for (int i = 0; i < count && !places_.empty(); ++i)
    if (Place& place = places_[find(handles[i])]; place.is_taken && now[i] == handles[i]) place.is_asked = is_asked;
}

bool RememberedReceives::may_have(const Matching& message) {
  const auto locked = lock();
  return std::any_of(places_.begin(), places_.end(), [&](const Place& each) {
    return each.is_taken && !each.is_over && each.receive.matching.may_have(message);
  });
}

Completing::Completing(const char* function, int count, const MPI_Request* requests, MPI_Status* statuses)
    : function_(function), told_(statuses) {
  if (!remembered.any() || count <= 0 || !requests) return;
  count_ = count;
  const bool needs_own = statuses == MPI_STATUSES_IGNORE || !statuses;
  if (count > few) {
    many_before_.resize(static_cast<std::size_t>(count));
    before_ = many_before_.data();
    if (needs_own) many_own_.resize(static_cast<std::size_t>(count));
  }
  std::copy(requests, requests + count, before_);
  now_ = requests;
  remembered.set_asked(before_, now_, count_, true);
  if (needs_own) told_ = count > few ? many_own_.data() : few_own_;
}

int Completing::completed(int i, int at) {
  if (i < 0 || i >= count_) return MPI_SUCCESS;
  const auto receive = remembered.take(before_[i], is_as_long_as_an_envelope(told_[at]));
  if (!receive) [[likely]]
    return MPI_SUCCESS;
  const auto into = message_buffer(receive->buffer, receive->count, receive->datatype);
  if (!into) return MPI_SUCCESS;
  ReceivePart part(*into, receive->matching.communicator);
  if (!part.look(told_[at], receive->is_envelope)) return MPI_SUCCESS;
  wait_for_message(function_, part.peer(), [&] { return part.progress(); });
  const int code = part.end(told_[at]);
  return code == MPI_SUCCESS ? code : raise(receive->matching.communicator, code, function_);
}

int Completing::completed_all(int of_host) {
  if (of_host == MPI_SUCCESS && !remembered.take_others(before_, told_, count_)) [[likely]]
    return MPI_SUCCESS;
  int code = of_host;
  for (int i = 0; i < count_; ++i) {
    const int failed = of_host == MPI_ERR_IN_STATUS ? told_[i].MPI_ERROR : of_host;
    if (failed == MPI_ERR_PENDING) continue;  // the program has it still
    if (failed != MPI_SUCCESS) {
      remembered.take(before_[i], false);
      continue;
    }
    const int error = completed(i, i);
    if (error == MPI_SUCCESS) continue;
    for (int j = 0; code == MPI_SUCCESS && j < count_; ++j) told_[j].MPI_ERROR = MPI_SUCCESS;
    told_[i].MPI_ERROR = error;
    code = MPI_ERR_IN_STATUS;
  }
  return code;
}

}  // namespace tutti::mpi
