// Messages between two ranks. A long one to a rank of the node goes as an envelope, which the host matches; whoever receives
// something that is as long as an envelope looks whether it is one (messages/messages.h).

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "mpi/errors.h"
#include "mpi/functions/interpose.h"
#include "mpi/requests/message_calls.h"
#include "mpi/requests/remembered.h"
#include "mpi/requests/requests.h"
#include "mpi/spanning_state.h"

namespace tutti::mpi {

namespace {

// What calls are given.

struct Sending {
  const void* buffer;
  MPI_Count count;
  MPI_Datatype datatype;
  int destination, tag;
  MPI_Comm communicator;
};
/// A receive of a message that MPI_Mprobe has matched is told no communicator: it has MPI_COMM_SELF then, and is counted among
/// the requests of MPI_COMM_WORLD.
struct Receiving {
  void* buffer;
  MPI_Count count;
  MPI_Datatype datatype;
  MPI_Comm communicator;
  bool is_matched = false;

  MPI_Comm carrier() const { return is_matched ? MPI_COMM_WORLD : communicator; }
};

enum class Mode { standard, synchronous };

/// Where a message goes that may be ours; nothing if it goes to another node, or the arguments are wrong.
std::optional<Destination> destination_of(const Sending& what) {
  static const int tags_max = largest_tag();
  const CommunicatorState* const state = state_for_messages(what.communicator);
  const auto none = [](Refusal why) {
    refuse(why);
    return std::nullopt;
  };
  if (what.destination == MPI_PROC_NULL) return none(Refusal::nobody);
  if (!state) return none(Refusal::communicator);
  if (what.destination < 0 || what.tag < 0 || what.tag > tags_max) return none(Refusal::arguments);
  if (static_cast<std::size_t>(what.destination) >= state->node_ranks.size()) return none(Refusal::arguments);
  const int peer = state->node_ranks[static_cast<std::size_t>(what.destination)];
  if (peer < 0) return none(Refusal::elsewhere);
  if (what.destination == state->rank) return none(Refusal::itself);
  return Destination{what.communicator, what.destination, what.tag, peer, state->identity};
}

/// A message that is to go as an envelope.
struct Envelopable {
  MessageBuffer elements;
  Destination to;
};

/// What is ours of a message; nothing if the host is to carry it (`refusal`). Of one that the host carries, and that is as long as
/// an envelope, the receiver is told.
[[gnu::noinline]] std::optional<Envelopable> look_at(const Sending& what, bool may_be_ours) {
  const auto elements = message_buffer(what.buffer, what.count, what.datatype);
  if (!elements) return std::nullopt;
  const std::size_t bytes = elements->bytes();
  refuse(may_be_ours ? Refusal::brief : Refusal::buffered);
  if (!may_be_ours && bytes != messages::Envelope::bytes) return std::nullopt;
  const auto to = destination_of(what);
  if (!to || (!what.buffer && elements->info.predefined)) return std::nullopt;
  if (may_be_ours && bytes >= envelope_min(to->peer)) return Envelopable{*elements, *to};
  try {
    if (bytes == messages::Envelope::bytes) our_messages()->say(to->peer, {to->identity, to->tag, bytes, false});
  } catch (const ArenaFull&) {
    // Who asks for the length of this one may be told that of the next.
  }
  return std::nullopt;
}
/// Bytes of the elements; none if the host is to say what is wrong with them.
inline std::size_t bytes_of(MPI_Count count, MPI_Datatype datatype) {
  TypeInfo room;
  const TypeInfo* const info = count > 0 ? type_info(datatype, room) : nullptr;
  return info ? static_cast<std::size_t>(count) * info->bytes : 0;
}
/// The host is to carry it, and nobody asks why.
inline bool is_plainly_the_hosts(const Sending& what) {
  if (!our_messages()) return true;
  const std::size_t bytes = bytes_of(what.count, what.datatype);
  return bytes < our.looked_at_min && bytes != messages::Envelope::bytes;
}
inline std::optional<Envelopable> envelopable(const Sending& what) {
  if (is_plainly_the_hosts(what)) [[likely]]
    return std::nullopt;
  return look_at(what, true);
}

/// Counts a call that sends a message, where that is asked for. function: its NextFunction.
template <class Call>
inline int counted(const Sending& what, const void* function, const Call& call) {
  const std::uint64_t begin = explain::counting ? explain::begin_message(function) : 0;
  const int code = call();
  if (begin) [[unlikely]]
    explain::end_message(what.communicator, bytes_of(what.count, what.datatype), begin, code);
  return code;
}

/// A blocking send by an envelope. Returns a code of MPI; nothing if there is no memory for it: the host's.
std::optional<int> send(const Envelopable& what, Mode mode, const char* function) {
  try {
    SendPart part(what.elements, what.to, mode == Mode::synchronous);
    if (const int code = part.begin(); code != MPI_SUCCESS) return code;
    wait_for_message(function, part.peer(), [&] { return part.progress(); });
    host_turns.after_call();
    return MPI_SUCCESS;
  } catch (const ArenaFull&) {
    explain::by_host_after_all();
    return std::nullopt;
  } catch (const std::exception& problem) {
    end_job(what.to.communicator, problem);
  }
}

template <class ByHost, class Next>
int send_or(const Sending& what, Mode mode, const Next& function, const ByHost& by_host) {
  if (is_plainly_the_hosts(what)) [[likely]]
    return by_host();
  return counted(what, &function, [&] {
    if (const auto ours = look_at(what, true))
      if (const auto code = send(*ours, mode, function.name())) return *code;
    return by_host();
  });
}

template <class ByHost, class Next>
int send_buffered(const Sending& what, const Next& function, const ByHost& by_host) {
  if (is_plainly_the_hosts(what)) [[likely]]
    return by_host();
  return counted(what, &function, [&] {
    look_at(what, false);
    return by_host();
  });
}

/// What the host has received may be an envelope: then the message comes. code: of the host.
int arrived(int code, const Receiving& into, MPI_Status& status, const char* function) {
  if (code != MPI_SUCCESS || !is_as_long_as_an_envelope(status)) [[likely]]
    return code;
  const auto elements = message_buffer(into.buffer, into.count, into.datatype);
  if (!elements) return code;
  return guard(into.communicator, function, [&] {
    ReceivePart part(*elements, into.communicator);
    if (!part.look(status)) return static_cast<int>(MPI_SUCCESS);
    wait_for_message(function, part.peer(), [&] { return part.progress(); });
    const int error = part.end(status);
    if (explain::counting) explain::came_by_envelope(into.carrier(), bytes_told_by(status));
    return error == MPI_SUCCESS ? error : raise(into.communicator, error, function);
  });
}

/// Where the program wants no status the host's is looked at all the same.
class StatusToLookAt {
 public:
  explicit StatusToLookAt(MPI_Status* wanted) : used_(wanted == MPI_STATUS_IGNORE ? &own_ : wanted) {}
  MPI_Status* get() { return used_; }
  MPI_Status& operator*() { return *used_; }

 private:
  MPI_Status own_;
  MPI_Status* used_;
};

template <class ByHost, class Next>
int receive_by(const Receiving& into, MPI_Status* status, const Next& function, const ByHost& by_host) {
  if (!our_messages()) [[likely]]
    return by_host(status);
  const std::uint64_t begin = explain::counting ? explain::begin_message(&function, Refusal::sender) : 0;
  StatusToLookAt looked(status);
  int code = by_host(looked.get());
  if (profile::Call* const call = begin ? profile::Call::current() : nullptr) call->has_come();
  code = arrived(code, into, *looked, function.name());
  if (begin) [[unlikely]]
    explain::end_message(into.carrier(), bytes_told_by(*looked), begin, code);
  return code;
}

/// Gives the program a request for what `call`, in memory of `request`, does. Returns a code of MPI.
int start(std::unique_ptr<Request> request, TwoSidedCall& call, const char* what, int peer, MPI_Datatype one,
          MPI_Datatype other, MPI_Request* handle) {
  request->carry(call, what, peer, false);
  request->set(
      call, [&call](int before) { return call.after(before); }, false);
  if (one != MPI_DATATYPE_NULL) request->handles().keep_type(one);
  if (other != MPI_DATATYPE_NULL) request->handles().keep_type(other);
  return requests.start(std::move(request), handle);
}

/// The same of a persistent one.
int keep(std::unique_ptr<Request> request, TwoSidedCall& call, const char* what, int peer, MPI_Datatype datatype,
         MPI_Request* handle) {
  request->carry(call, what, peer, true);
  request->set(
      call, [&call](int before) { return call.after(before); }, false);
  request->set_before([] { return static_cast<int>(MPI_SUCCESS); });
  request->handles().keep_type(datatype);
  return requests.keep(std::move(request), handle);
}

/// It is asked what has come when it is over.
TwoSidedCall& make_call(Request& request) {
  static_assert(sizeof(TwoSidedCall) <= Request::room_bytes);
  return *new (request.allocate(sizeof(TwoSidedCall))) TwoSidedCall;
}

template <class ByHost, class Next>
int look_and_start_send(const Sending& what, Mode mode, MPI_Request* handle, const Next& function,
                        const ByHost& by_host) {
  const auto ours = look_at(what, true);
  if (!ours) return by_host();
  bool begun = false;
  const auto begin = [&] {
    auto request = std::make_unique<Request>(what.communicator, *state_for_messages(what.communicator));
    TwoSidedCall& call = make_call(*request);
    SendPart& part = call.send(ours->elements, ours->to, mode == Mode::synchronous, false);
    if (const int code = part.begin(); code != MPI_SUCCESS) return code;
    begun = true;
    return start(std::move(request), call, function.name(), ours->to.peer, what.datatype, MPI_DATATYPE_NULL, handle);
  };
  bool failed = false;
  const int code = code_of(function.name(), failed, begin);
  if (failed && !begun) {
    explain::by_host_after_all();
    return by_host();
  }
  return failed ? raise(what.communicator, code, function.name()) : code;
}

template <class ByHost, class Next>
int start_send_or(const Sending& what, Mode mode, MPI_Request* handle, const Next& function, const ByHost& by_host) {
  if (!handle || is_plainly_the_hosts(what)) [[likely]]
    return by_host();
  return counted(what, &function, [&] { return look_and_start_send(what, mode, handle, function, by_host); });
}

/// A persistent send that the host has made: the program gets one of ours in place of it where it may go as an envelope, or is as
/// long as one.
template <class ByHost, class Next>
int send_again_or(const Sending& what, Mode mode, bool may_be_ours, MPI_Request* handle, const Next& function,
                  const ByHost& by_host) {
  const int code = by_host();
  if (!our_messages() || code != MPI_SUCCESS || !handle) [[likely]]
    return code;
  const auto elements = message_buffer(what.buffer, what.count, what.datatype);
  if (!elements) return code;
  const auto to = destination_of(what);
  if (!to) return code;
  const bool is_long = may_be_ours && elements->bytes() >= envelope_min(to->peer);
  if (!is_long && elements->bytes() != messages::Envelope::bytes) return code;
  const MPI_Request inner = *handle;
  bool failed = false;
  code_of(function.name(), failed, [&] {
    auto request = std::make_unique<Request>(what.communicator, *state_for_messages(what.communicator));
    TwoSidedCall& call = make_call(*request);
    call.send_again(*elements, *to, mode == Mode::synchronous, is_long, inner);
    return keep(std::move(request), call, function.name(), to->peer, what.datatype, handle);
  });
  if (failed) *handle = inner;
  return MPI_SUCCESS;
}

/// Whether what is received may be an envelope that stands for a message for which there is room.
bool may_bring_envelope(const Receiving& into, int source, std::optional<MessageBuffer>& elements) {
  const CommunicatorState* const state = state_for_messages(into.carrier());
  if (!state) return false;
  if (source != MPI_ANY_SOURCE) {
    if (source < 0 || static_cast<std::size_t>(source) >= state->node_ranks.size() || source == state->rank ||
        state->node_ranks[static_cast<std::size_t>(source)] < 0)
      return false;
  }
  elements = message_buffer(into.buffer, into.count, into.datatype);
  return elements && elements->bytes() >= messages::Envelope::bytes;
}

/// A receive that the host has begun, or, persistent, is to begin: the program gets a request of ours in place of the host's.
int stand_for(const MessageBuffer& elements, const Receiving& into, const Matching& matching, bool is_persistent,
              MPI_Request* handle, const char* function) {
  bool failed = false;
  MPI_Request inner = *handle;
  code_of(function, failed, [&] {
    auto request = std::make_unique<Request>(into.carrier(), *state_for_messages(into.carrier()));
    TwoSidedCall& call = make_call(*request);
    call.receive(elements, matching, inner, is_persistent);
    if (!is_persistent)
      return start(std::move(request), call, function, -1, elements.datatype, MPI_DATATYPE_NULL, handle);
    return keep(std::move(request), call, function, -1, elements.datatype, handle);
  });
  if (failed) *handle = inner;  // what comes is the host's then
  return MPI_SUCCESS;
}

template <class ByHost, class Next>
int start_receive_by(const Receiving& into, int source, int tag, MPI_Request* handle, bool is_persistent,
                     const Next& function, const ByHost& by_host) {
  const int code = by_host();
  if (!our_messages()) [[likely]]
    return code;
  const std::size_t bytes = bytes_of(into.count, into.datatype);
  if (bytes < messages::Envelope::bytes) return code;
  if (code != MPI_SUCCESS || !handle) return code;
  const Matching matching{into.communicator, source, tag};
  if (!is_persistent && bytes < our.least()) {
    bool failed = false;
    code_of(function.name(), failed, [&] {
      remembered.add(*handle, into.buffer, into.count, into.datatype, matching);
      return static_cast<int>(MPI_SUCCESS);
    });
    return code;
  }
  std::optional<MessageBuffer> elements;
  if (!may_bring_envelope(into, source, elements)) return code;
  return stand_for(*elements, into, matching, is_persistent, handle, function.name());
}

/// For so long, in nanoseconds, a probe waits for what other receives have been matched with.
constexpr std::uint64_t patience_with_matched = 300'000'000;

/// What the host has found in its queue may be an envelope: then the status tells of the message. is_taken: a receive of it
/// is to come.
int found(int code, MPI_Comm communicator, MPI_Status& status, bool is_taken, const char* function) {
  if (code != MPI_SUCCESS || !is_as_long_as_an_envelope(status)) [[likely]]
    return code;
  const CommunicatorState* const state = state_for_messages(communicator);
  if (!state || status.MPI_SOURCE < 0) return code;
  const int peer = state->node_ranks[static_cast<std::size_t>(status.MPI_SOURCE)];
  if (peer < 0 || status.MPI_SOURCE == state->rank) return code;
  // What is matched already, and was not looked at, is not what was found. It may not be there yet: hosts fetch synchronous
  // messages when their sender comes, even if later ones are there.
  const Matching message{communicator, status.MPI_SOURCE, status.MPI_TAG};
  const std::uint64_t since = ticks();
  wait_for_message(function, peer, [&] {
    requests.drive();
    if (remembered.any()) remembered.look_ahead();
    return !our_messages()->has_several(peer, state->identity, status.MPI_TAG) ||
           !(requests.may_have(message) || remembered.may_have(message)) ||
           ticks() - since > ticks_in(patience_with_matched);
  });
  const auto record = our_messages()->next_from(peer, state->identity, status.MPI_TAG, is_taken);
  if (record && record->is_envelope) set_bytes(status, record->bytes);
  return code;
}

/// MPI_Isendrecv. in_place: the message is received where that which is sent lies.
template <class ByHost, class Next>
int look_and_start_both(const Sending& what, const Receiving& into, int source, int tag, bool in_place,
                        MPI_Request* handle, const Next& function, const ByHost& by_host) {
  const auto ours = handle && into.count <= std::numeric_limits<int>::max() ? envelopable(what) : std::nullopt;
  const auto elements = ours ? message_buffer(into.buffer, into.count, into.datatype) : std::nullopt;
  if (!elements) return start_receive_by(into, source, tag, handle, false, function, by_host);
  bool begun = false, failed = false;
  const int code = code_of(function.name(), failed, [&] {
    auto request = std::make_unique<Request>(what.communicator, *state_for_messages(what.communicator));
    TwoSidedCall& call = make_call(*request);
    request->carry(call, function.name(), ours->to.peer, false);
    SendPart& part = call.send(ours->elements, ours->to, false, in_place);
    if (const int error = part.begin(); error != MPI_SUCCESS) return error;
    begun = true;
    MPI_Request inner = MPI_REQUEST_NULL;
    if (const int error = host.Irecv(into.buffer, static_cast<int>(into.count), into.datatype, source, tag,
                                     into.communicator, &inner);
        error != MPI_SUCCESS) {
      wait_for_message(function.name(), part.peer(), [&] { return part.progress(); });
      return error;
    }
    call.receive(*elements, {into.communicator, source, tag}, inner, false);
    return start(std::move(request), call, function.name(), ours->to.peer, what.datatype, into.datatype, handle);
  });
  if (failed && !begun) {
    explain::by_host_after_all();
    return start_receive_by(into, source, tag, handle, false, function, by_host);
  }
  return failed ? raise(what.communicator, code, function.name()) : code;
}

template <class ByHost, class Next>
int start_send_and_receive(const Sending& what, const Receiving& into, int source, int tag, bool in_place,
                           MPI_Request* handle, const Next& function, const ByHost& by_host) {
  if (!our_messages()) [[likely]]
    return by_host();
  return counted(what, &function,
                 [&] { return look_and_start_both(what, into, source, tag, in_place, handle, function, by_host); });
}

/// MPI_Sendrecv.
template <class ByHost, class Next>
int look_and_do_both(const Sending& what, const Receiving& into, int source, int tag, bool in_place, MPI_Status* status,
                     const Next& function, const ByHost& by_host) {
  StatusToLookAt looked(status);
  const auto ours = into.count <= std::numeric_limits<int>::max() ? envelopable(what) : std::optional<Envelopable>();
  std::optional<SendPart> sent;
  int code = MPI_SUCCESS;
  if (ours) {
    try {
      sent.emplace(ours->elements, ours->to, false, in_place);
      code = sent->begin();
    } catch (const ArenaFull&) {
      explain::by_host_after_all();
      sent.reset();
    }
  }
  if (!sent) return arrived(by_host(looked.get()), into, *looked, function.name());
  if (code != MPI_SUCCESS) return code;
  MPI_Request receive = MPI_REQUEST_NULL;
  code = host.Irecv(into.buffer, static_cast<int>(into.count), into.datatype, source, tag, into.communicator, &receive);
  bool is_sent = false;
  int has_come = 0;
  wait_for_message(function.name(), -1, [&] {
    is_sent = is_sent || sent->progress();
    // What has been sent is to arrive, whatever becomes of what is received.
    if (code != MPI_SUCCESS) return is_sent;
    if (!has_come) code = host.Test(&receive, &has_come, looked.get());
    return has_come != 0;
  });
  if (code != MPI_SUCCESS) return code;
  const auto elements = message_buffer(into.buffer, into.count, into.datatype);
  std::optional<ReceivePart> part;
  if (is_as_long_as_an_envelope(*looked) && elements) part.emplace(*elements, into.communicator).look(*looked);
  bool is_received = !part;
  wait_for_message(function.name(), -1, [&] {
    is_sent = is_sent || sent->progress();
    is_received = is_received || part->progress();
    return is_sent && is_received;
  });
  const int error = part ? part->end(*looked) : static_cast<int>(MPI_SUCCESS);
  return error == MPI_SUCCESS ? error : raise(into.communicator, error, function.name());
}

template <class ByHost, class Next>
int send_and_receive(const Sending& what, const Receiving& into, int source, int tag, bool in_place, MPI_Status* status,
                     const Next& function, const ByHost& by_host) {
  if (!our_messages()) [[likely]]
    return by_host(status);
  return counted(what, &function,
                 [&] { return look_and_do_both(what, into, source, tag, in_place, status, function, by_host); });
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti::mpi;

// NOLINTBEGIN(bugprone-macro-parentheses)

#define TUTTI_SEND(name, mode, Int)                                                                                  \
  TUTTI_EXPORT int MPI_##name(const void* buf, Int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) { \
    return send_or({buf, count, datatype, dest, tag, comm}, Mode::mode, next.name,                                   \
                   [=] { return next.name(buf, count, datatype, dest, tag, comm); });                                \
  }
#define TUTTI_ISEND(name, mode, Int)                                                                               \
  TUTTI_EXPORT int MPI_##name(const void* buf, Int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, \
                              MPI_Request* request) {                                                              \
    return start_send_or({buf, count, datatype, dest, tag, comm}, Mode::mode, request, next.name,                  \
                         [=] { return next.name(buf, count, datatype, dest, tag, comm, request); });               \
  }
#define TUTTI_RECV(name, Int)                                                                                      \
  TUTTI_EXPORT int MPI_##name(void* buf, Int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,     \
                              MPI_Status* status) {                                                                \
    return receive_by({buf, count, datatype, comm}, status, next.name,                                             \
                      [=](MPI_Status* told) { return next.name(buf, count, datatype, source, tag, comm, told); }); \
  }
#define TUTTI_IRECV(name, Int, is_persistent)                                                                  \
  TUTTI_EXPORT int MPI_##name(void* buf, Int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, \
                              MPI_Request* request) {                                                          \
    return start_receive_by({buf, count, datatype, comm}, source, tag, request, is_persistent, next.name,      \
                            [=] { return next.name(buf, count, datatype, source, tag, comm, request); });      \
  }

#define TUTTI_SEND_INIT(name, mode, may_be_ours, Int)                                                              \
  TUTTI_EXPORT int MPI_##name(const void* buf, Int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, \
                              MPI_Request* request) {                                                              \
    return send_again_or({buf, count, datatype, dest, tag, comm}, Mode::mode, may_be_ours, request, next.name,     \
                         [=] { return next.name(buf, count, datatype, dest, tag, comm, request); });               \
  }

TUTTI_SEND_INIT(Send_init, standard, true, int)
TUTTI_SEND_INIT(Ssend_init, synchronous, true, int)
TUTTI_SEND_INIT(Rsend_init, standard, true, int)
TUTTI_SEND_INIT(Bsend_init, standard, false, int)
TUTTI_SEND_INIT(Send_init_c, standard, true, MPI_Count)
TUTTI_SEND_INIT(Ssend_init_c, synchronous, true, MPI_Count)
TUTTI_SEND_INIT(Rsend_init_c, standard, true, MPI_Count)
TUTTI_SEND_INIT(Bsend_init_c, standard, false, MPI_Count)
TUTTI_SEND(Send, standard, int)
TUTTI_SEND(Rsend, standard, int)
TUTTI_SEND(Ssend, synchronous, int)
TUTTI_SEND(Send_c, standard, MPI_Count)
TUTTI_SEND(Rsend_c, standard, MPI_Count)
TUTTI_SEND(Ssend_c, synchronous, MPI_Count)
TUTTI_ISEND(Isend, standard, int)
TUTTI_ISEND(Irsend, standard, int)
TUTTI_ISEND(Issend, synchronous, int)
TUTTI_ISEND(Isend_c, standard, MPI_Count)
TUTTI_ISEND(Irsend_c, standard, MPI_Count)
TUTTI_ISEND(Issend_c, synchronous, MPI_Count)
TUTTI_RECV(Recv, int)
TUTTI_RECV(Recv_c, MPI_Count)
TUTTI_IRECV(Irecv, int, false)
TUTTI_IRECV(Irecv_c, MPI_Count, false)
TUTTI_IRECV(Recv_init, int, true)
TUTTI_IRECV(Recv_init_c, MPI_Count, true)

#define TUTTI_SENDRECV(name, Int)                                                                                      \
  TUTTI_EXPORT int MPI_##name(const void* sendbuf, Int sendcount, MPI_Datatype sendtype, int dest, int sendtag,        \
                              void* recvbuf, Int recvcount, MPI_Datatype recvtype, int source, int recvtag,            \
                              MPI_Comm comm, MPI_Status* status) {                                                     \
    return send_and_receive({sendbuf, sendcount, sendtype, dest, sendtag, comm}, {recvbuf, recvcount, recvtype, comm}, \
                            source, recvtag, false, status, next.name, [=](MPI_Status* told) {                         \
                              return next.name(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,        \
                                               recvtype, source, recvtag, comm, told);                                 \
                            });                                                                                        \
  }
#define TUTTI_SENDRECV_REPLACE(name, Int)                                                                         \
  TUTTI_EXPORT int MPI_##name(void* buf, Int count, MPI_Datatype datatype, int dest, int sendtag, int source,     \
                              int recvtag, MPI_Comm comm, MPI_Status* status) {                                   \
    return send_and_receive({buf, count, datatype, dest, sendtag, comm}, {buf, count, datatype, comm}, source,    \
                            recvtag, true, status, next.name, [=](MPI_Status* told) {                             \
                              return next.name(buf, count, datatype, dest, sendtag, source, recvtag, comm, told); \
                            });                                                                                   \
  }
#define TUTTI_ISENDRECV(name, Int)                                                                                    \
  TUTTI_EXPORT int MPI_##name(const void* sendbuf, Int sendcount, MPI_Datatype sendtype, int dest, int sendtag,       \
                              void* recvbuf, Int recvcount, MPI_Datatype recvtype, int source, int recvtag,           \
                              MPI_Comm comm, MPI_Request* request) {                                                  \
    return start_send_and_receive({sendbuf, sendcount, sendtype, dest, sendtag, comm},                                \
                                  {recvbuf, recvcount, recvtype, comm}, source, recvtag, false, request, next.name,   \
                                  [=] {                                                                               \
                                    return next.name(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, \
                                                     recvtype, source, recvtag, comm, request);                       \
                                  });                                                                                 \
  }
#define TUTTI_ISENDRECV_REPLACE(name, Int)                                                                          \
  TUTTI_EXPORT int MPI_##name(void* buf, Int count, MPI_Datatype datatype, int dest, int sendtag, int source,       \
                              int recvtag, MPI_Comm comm, MPI_Request* request) {                                   \
    return start_send_and_receive(                                                                                  \
        {buf, count, datatype, dest, sendtag, comm}, {buf, count, datatype, comm}, source, recvtag, true, request,  \
        next.name, [=] { return next.name(buf, count, datatype, dest, sendtag, source, recvtag, comm, request); }); \
  }
#define TUTTI_MRECV(name, Int)                                                                                         \
  TUTTI_EXPORT int MPI_##name(void* buf, Int count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status) { \
    return receive_by({buf, count, datatype, MPI_COMM_SELF, true}, status, next.name,                                  \
                      [=](MPI_Status* told) { return next.name(buf, count, datatype, message, told); });               \
  }
#define TUTTI_IMRECV(name, Int)                                                                                       \
  TUTTI_EXPORT int MPI_##name(void* buf, Int count, MPI_Datatype datatype, MPI_Message* message,                      \
                              MPI_Request* request) {                                                                 \
    return start_receive_by({buf, count, datatype, MPI_COMM_SELF, true}, MPI_ANY_SOURCE, MPI_ANY_TAG, request, false, \
                            next.name, [=] { return next.name(buf, count, datatype, message, request); });            \
  }
#define TUTTI_BSEND(name, Int)                                                                                       \
  TUTTI_EXPORT int MPI_##name(const void* buf, Int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) { \
    return send_buffered({buf, count, datatype, dest, tag, comm}, next.name,                                         \
                         [=] { return next.name(buf, count, datatype, dest, tag, comm); });                          \
  }
#define TUTTI_IBSEND(name, Int)                                                                                    \
  TUTTI_EXPORT int MPI_##name(const void* buf, Int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, \
                              MPI_Request* request) {                                                              \
    return send_buffered({buf, count, datatype, dest, tag, comm}, next.name,                                       \
                         [=] { return next.name(buf, count, datatype, dest, tag, comm, request); });               \
  }

TUTTI_BSEND(Bsend, int)
TUTTI_BSEND(Bsend_c, MPI_Count)
TUTTI_IBSEND(Ibsend, int)
TUTTI_IBSEND(Ibsend_c, MPI_Count)
TUTTI_SENDRECV(Sendrecv, int)
TUTTI_SENDRECV(Sendrecv_c, MPI_Count)
TUTTI_SENDRECV_REPLACE(Sendrecv_replace, int)
TUTTI_SENDRECV_REPLACE(Sendrecv_replace_c, MPI_Count)
TUTTI_ISENDRECV(Isendrecv, int)
TUTTI_ISENDRECV(Isendrecv_c, MPI_Count)
TUTTI_ISENDRECV_REPLACE(Isendrecv_replace, int)
TUTTI_ISENDRECV_REPLACE(Isendrecv_replace_c, MPI_Count)
TUTTI_MRECV(Mrecv, int)
TUTTI_MRECV(Mrecv_c, MPI_Count)
TUTTI_IMRECV(Imrecv, int)
TUTTI_IMRECV(Imrecv_c, MPI_Count)

// NOLINTEND(bugprone-macro-parentheses)

TUTTI_EXPORT int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!our_messages() || status == MPI_STATUS_IGNORE) return next.Probe(source, tag, comm, status);
  return found(next.Probe(source, tag, comm, status), comm, *status, false, next.Probe.name());
}

TUTTI_EXPORT int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  requests.drive();
  const int code = next.Iprobe(source, tag, comm, flag, status);
  if (!our_messages() || status == MPI_STATUS_IGNORE || code != MPI_SUCCESS || !*flag) return code;
  return found(code, comm, *status, false, next.Iprobe.name());
}

TUTTI_EXPORT int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  if (!our_messages()) return next.Mprobe(source, tag, comm, message, status);
  StatusToLookAt looked(status);
  return found(next.Mprobe(source, tag, comm, message, looked.get()), comm, *looked, true, next.Mprobe.name());
}

TUTTI_EXPORT int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  requests.drive();
  if (!our_messages()) return next.Improbe(source, tag, comm, flag, message, status);
  StatusToLookAt looked(status);
  const int code = next.Improbe(source, tag, comm, flag, message, looked.get());
  return code == MPI_SUCCESS && *flag ? found(code, comm, *looked, true, next.Improbe.name()) : code;
}
