#include "mpi/requests/message_calls.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/ticks.h"
#include "mpi/arguments/device_memory.h"
#include "mpi/errors_returned.h"
#include "mpi/requests/host_hook.h"

namespace tutti::mpi {

namespace {

/// Whether the peer has a cache in common with this rank.
bool is_near(int peer) {
  const Node& node = job()->node;
  const auto& places = node.placement.ranks;
  return topology::distance_between(places[static_cast<std::size_t>(node.rank)],
                                    places[static_cast<std::size_t>(peer)]) == topology::Distance::cache;
}

/// From where on a host's own messages took longer (docs/measurements/messages.md): beyond what it copies twice by a way of its
/// own for short ones.
struct Bounds {
  const char* host;
  std::size_t near_min, far_min;
};
constexpr Bounds bounds[] = {{"Open MPI", std::size_t{4} << 10, std::size_t{4} << 10},
                             {"Intel MPI", std::size_t{1} << 20, std::size_t{2} << 20},
                             {"", std::size_t{8} << 10, std::size_t{8} << 10}};

/// How the sender has its part in the copy (docs/measurements/messages.md). Between cores with a common cache a copy in lines
/// that go to and fro is fastest, as long as a core keeps them beside the buffers; beyond that stores into the receiver's
/// buffer are, and what has gaps is read where it is. Cores without one read each other's fresh lines slowly: stores past the
/// caches are several times as fast, unless they are few bytes each.
void set_way(messages::Outgoing::Message& message) {
  const bool near = is_near(message.peer);
  const auto most = static_cast<std::size_t>(job()->knowledge.model.private_cache / 8);
  message.lent_most = near || message.layout ? most : 0;
  message.is_read_there = near && message.layout;
  message.store = near ? memory::Store::cached : memory::Store::streaming_to_peers;
}

/// In the time of a few hops, some microseconds, a sender that waits has begun.
constexpr std::uint64_t patience_of_receiver_nanoseconds = 4000;

bool lies_as_it_is(const MessageBuffer& elements) {
  return elements.info.contiguous && !device_of(elements.buffer);
}

/// Of elements with gaps in memory of this processor; nothing if they are to be packed.
std::optional<memory::Layout> layout_there(const MessageBuffer& elements) {
  if (elements.info.contiguous || !elements.buffer || devices::may_be_there()) return std::nullopt;
  return layout_of(elements.datatype, elements.count);
}

}  // namespace

constinit OurMessages our;

OurMessages::OurMessages(const Job& job) : all(job.messages.get()) {
  const Bounds* of = bounds;
  while (*of->host && job.origin.host != of->host) ++of;
  const std::size_t asked = job.node.settings.messages_min;
  near_min = asked ? asked : of->near_min;
  far_min = asked ? asked : of->far_min;
  looked_at_min = explain::counting ? 0 : least();
}

std::size_t envelope_min(int peer) {
  return is_near(peer) ? our.near_min : our.far_min;
}

void set_bytes(MPI_Status& status, std::size_t bytes) {
  host.Status_set_elements_x(&status, MPI_BYTE, static_cast<MPI_Count>(bytes));
}

SendPart::SendPart(const MessageBuffer& elements, const Destination& to, bool is_synchronous, bool is_copied)
    : to_(to), is_synchronous_(is_synchronous) {
  const auto* buffer = static_cast<const std::byte*>(elements.buffer);
  auto layout = is_copied ? std::nullopt : layout_there(elements);
  const bool is_there = layout || (!is_copied && lies_as_it_is(elements));
  if (layout && layout->loops() == 0) {
    buffer += layout->first();
    layout.reset();
  }
  messages::Outgoing::Message message;
  message.peer = to.peer;
  message.communicator = to.identity;
  message.tag = to.tag;
  message.buffer = is_there ? buffer : nullptr;
  message.bytes = elements.bytes();
  message.layout = layout ? &*layout : nullptr;
  set_way(message);
  outgoing_.emplace(*our_messages(), message);
  if (!is_there)
    packed_ =
        pack(elements.buffer, elements.count, elements.datatype, elements.info, outgoing_->staging(), to.communicator);
  if (explain::counting) tally_ = explain::by_envelope(to.communicator, message.bytes);
}

int SendPart::begin() {
  if (packed_ != MPI_SUCCESS) return packed_;
  const messages::Envelope envelope = outgoing_->announce();
  std::memset(letter_, 0, sizeof letter_);
  std::memcpy(letter_, &envelope, sizeof envelope);
  // A synchronous one is over only when the receiver has come, which the host knows.
  const int code = (is_synchronous_ ? host.Issend : host.Isend)(letter_, static_cast<int>(sizeof letter_), MPI_BYTE,
                                                                to_.rank, to_.tag, to_.communicator, &request_);
  if (code != MPI_SUCCESS) request_ = MPI_REQUEST_NULL;
  outgoing_->fill();
  return code;
}

bool SendPart::progress() {
  const bool is_over = outgoing_->progress();
  if (is_over && tally_) explain::went(*std::exchange(tally_, nullptr), outgoing_->way());
  if (request_ == MPI_REQUEST_NULL) return is_over;
  if (is_inside_host()) return false;
  int sent = 0;
  host.Test(&request_, &sent, MPI_STATUS_IGNORE);
  return is_over && sent;
}

std::optional<messages::Envelope> ReceivePart::open(const MPI_Status& status, bool is_known) {
  messages::Messages* const all = our_messages();
  if (!all || !is_as_long_as_an_envelope(status) || elements_.bytes() < messages::Envelope::bytes) return std::nullopt;
  messages::Envelope envelope;
  if (lies_as_it_is(elements_)) {
    std::memcpy(&envelope, elements_.buffer, sizeof envelope);
  } else if (const auto layout = layout_there(elements_)) {
    spread_.emplace(memory::Spread{*layout, static_cast<std::byte*>(elements_.buffer)});
    spread_->get(0, reinterpret_cast<std::byte*>(&envelope), sizeof envelope);
  } else {
    const std::size_t count = (sizeof envelope + elements_.info.bytes - 1) / elements_.info.bytes;
    std::vector<std::byte> begin(count * elements_.info.bytes);
    if (pack(elements_.buffer, count, elements_.datatype, elements_.info, begin.data(), communicator_) != MPI_SUCCESS)
      return std::nullopt;
    std::memcpy(&envelope, begin.data(), sizeof envelope);
  }
  // What MPI_Mprobe has found was told of then.
  const CommunicatorState* const state = communicator_ == MPI_COMM_SELF ? nullptr : state_for_messages(communicator_);
  if (!state || is_known) return all->is_envelope(envelope) ? std::optional(envelope) : std::nullopt;
  const int peer = state->node_ranks[static_cast<std::size_t>(status.MPI_SOURCE)];
  return peer < 0 ? std::nullopt : all->come(peer, state->identity, status.MPI_TAG, envelope);
}

bool ReceivePart::look(const MPI_Status& status, bool is_known) {
  const auto envelope = open(status, is_known);
  if (!envelope) return false;
  std::byte* to = static_cast<std::byte*>(elements_.buffer);
  if (spread_ && spread_->layout.loops() == 0) {
    to += spread_->layout.first();
  } else if (!lies_as_it_is(elements_)) {
    packed_.emplace(elements_.buffer, 1, elements_.count, elements_.datatype, elements_.info);
    // Cores without a common cache read each other's fresh lines slowly: the sender stores them, without gaps.
    const memory::Kind kind = memory::Region::from_bits(envelope->region).kind();
    const bool is_in_arena = kind == memory::Kind::filling || kind == memory::Kind::arena;
    is_spread_ = spread_ && (is_in_arena || is_near(envelope->sender));
    to = packed_->bytes();
  }
  const std::size_t room = elements_.bytes();
  incoming_.emplace(*our_messages(), *envelope, to, room, ticks_in(patience_of_receiver_nanoseconds),
                    is_spread_ ? &*spread_ : nullptr);
  return true;
}

int ReceivePart::end(MPI_Status& status) {
  if (!incoming_) return MPI_SUCCESS;
  const std::size_t sent = incoming_->sent_bytes(), bytes = incoming_->bytes();
  incoming_.reset();
  set_bytes(status, bytes);
  if (packed_) {
    const int code = is_spread_ ? static_cast<int>(MPI_SUCCESS) : packed_->unpack(0, bytes);
    packed_.reset();
    if (code != MPI_SUCCESS) return code;
  }
  return sent > bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

TwoSidedCall::~TwoSidedCall() {
  if (is_persistent_ && inner_ != MPI_REQUEST_NULL) host.Request_free(&inner_);
}

void TwoSidedCall::receive(const MessageBuffer& elements, const Matching& matching, MPI_Request inner,
                           bool is_persistent) {
  elements_ = elements;
  matching_ = matching;
  inner_ = inner;
  has_inner_ = !is_persistent;
  is_persistent_ = is_persistent;
  is_receive_ = true;
}

void TwoSidedCall::send_again(const MessageBuffer& elements, const Destination& to, bool is_synchronous,
                              bool by_envelope, MPI_Request inner) {
  elements_ = elements;
  matching_.communicator = to.communicator;
  inner_ = inner;
  is_persistent_ = true;
  to_.emplace(to);
  is_synchronous_ = is_synchronous;
  by_envelope_ = by_envelope;
}

void TwoSidedCall::start() {
  if (!is_persistent_) return;
  const std::uint64_t begin = to_ && explain::counting ? explain::begin_message(&next.Start, Refusal::brief) : 0;
  start_again();
  if (begin) explain::end_message(matching_.communicator, elements_.bytes(), begin, code_);
}

void TwoSidedCall::start_again() {
  receive_.reset();
  send_.reset();
  code_ = MPI_SUCCESS;
  if (by_envelope_) {
    try {
      send_.emplace(elements_, *to_, is_synchronous_);
      code_ = send_->begin();
      return;
    } catch (const ArenaFull&) {
      send_.reset();
      explain::by_host_after_all();
    }
  } else if (to_) {
    our_messages()->say(to_->peer, {to_->identity, to_->tag, elements_.bytes(), false});
  }
  code_ = host.Start(&inner_);
  has_inner_ = code_ == MPI_SUCCESS;
}

bool TwoSidedCall::progress() {
  const bool is_sent = !send_ || send_->progress();
  if (has_inner_) {
    if (is_inside_host()) return false;
    int over = 0;
    // MPICH tells of a persistent one but once.
    if (code_ = host.Request_get_status(inner_, &over, &status_); code_ == MPI_SUCCESS && !over) return false;
    // What goes wrong the program is told when it asks, and by its own function.
    const ErrorsReturned none(matching_.communicator);
    code_ = host.Wait(&inner_, MPI_STATUS_IGNORE);
    has_inner_ = false;
    if (code_ == MPI_SUCCESS && is_receive_ && is_as_long_as_an_envelope(status_))
      receive_.emplace(elements_, matching_.communicator).look(status_);
  }
  return (!receive_ || receive_->progress()) && is_sent;
}

int TwoSidedCall::after(int code) {
  if (receive_ && code_ == MPI_SUCCESS) code_ = receive_->end(status_);
  return code_ == MPI_SUCCESS ? code : code_;
}

void TwoSidedCall::tell(MPI_Status& status) const {
  if (!is_receive_) return;
  const int error = status.MPI_ERROR;
  status = status_;
  status.MPI_ERROR = error;
}

void TwoSidedCall::cancel() {
  if (has_inner_) host.Cancel(&inner_);
}

}  // namespace tutti::mpi
