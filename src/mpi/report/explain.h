// TUTTI_EXPLAIN: every collective, and every message where Tutti takes part in them, is counted where the program calls it, and
// what ran is told at MPI_Finalize.
//
// Without the setting a call costs a test of a flag that never changes. With it, two readings of the clock and a few
// additions to counters that belong to the communicator: MPI forbids two collectives at once on one communicator, so
// that threads do not meet there. Calls that go to the host without a choice, and messages, are counted under a lock.
#pragma once

#include <cstdint>

#include "collectives/call_record.h"
#include "messages/messages.h"
#include "mpi/host.h"
#include "mpi/report/last_call.h"

namespace tutti::mpi {

struct CommunicatorState;
struct Job;

/// Why a call is the host's before any choice: words_of() has the words for each, in this order.
enum class Refusal {
  arguments,  ///< wrong or unusual: for the host to judge
  inactive,   ///< the library does nothing in this job
  intercommunicator,
  alone,    ///< a communicator of one rank
  jobs,     ///< of ranks that are not in one MPI_COMM_WORLD
  nodes,    ///< of ranks on several nodes
  revoked,  ///< a communicator that the program has revoked
  freed,    ///< a communicator that is just being freed
  memory,   ///< the memory for what ranks share was full when the communicator was made
  nothing,  ///< nothing to send
  datatype,
  operation,  ///< on this type
  topology,   ///< a collective of neighbours on a communicator without
  choice,     ///< the host's algorithm was chosen
  // Of messages alone.
  none,          ///< it was not the host's
  brief,         ///< shorter than what goes as an envelope
  buffered,      ///< MPI_Bsend
  nobody,        ///< to MPI_PROC_NULL
  itself,        ///< to the rank itself
  elsewhere,     ///< to another node
  communicator,  ///< of which not all ranks have seen how it was made
  sender,        ///< what was received the sender had given to the host
  // Of collectives again.
  comparison,  ///< TUTTI_PROFILE wants to know how long the host takes
};
const char* words_of(Refusal why);

/// Of the call that this thread is in; `arguments` until something else is found.
extern constinit thread_local Refusal refusal;
/// To be returned by what finds that a call is the host's.
inline bool refuse(Refusal why) {
  refusal = why;
  return false;
}
/// For what the core says: whether it has carried the call out.
inline bool carried_out(bool by_core) {
  return by_core || refuse(Refusal::choice);
}

namespace explain {

/// Set inside MPI_Init and at the end alone.
extern constinit bool counting;

/// Inside MPI_Init, on all ranks, also where the library is inactive. Warns if the file cannot be written.
void start(const Job& job);
/// A communicator was made, and is about to go: its counters are kept.
void made(const CommunicatorState& state);
void ends(const CommunicatorState& state);
/// Inside MPI_Finalize, on all ranks, while everything still works: rank 0 tells what all of them did.
void finish();

/// To be called around a collective of the program, if `counting`. begin: what begin_call() returned. function: the
/// address in `next` of the host's own, which tells the name. code: what the call returned.
std::uint64_t begin_call();
void end_call(MPI_Comm communicator, const void* function, std::uint64_t begin, int code);

/// Where the starts of a persistent collective are counted, and their size; null without TUTTI_EXPLAIN.
struct Counted {
  CallRecord* record = nullptr;
  std::size_t bytes = 0;
};
void count(const Counted& counted, const LastCall& call, std::uint64_t ticks);

/// Messages of one function, size, communicator and fate.
struct MessageTally;
/// Around a call of the program that sends a message, or waits in a receive (Refusal::sender), if `counting`. bytes: of the
/// message. Meanwhile `refusal` is to say why it is the host's, unless one of the next functions is called.
std::uint64_t begin_message(const void* function, Refusal unless_told = Refusal::arguments);
void end_message(MPI_Comm communicator, std::size_t bytes, std::uint64_t begin, int code);
/// It goes as an envelope. Returns where its way is to be counted once it is over: by went(). It may be the host's after all,
/// where there is no memory: by_host_after_all().
MessageTally* by_envelope(MPI_Comm communicator, std::size_t bytes);
void went(MessageTally& tally, messages::Way way);
void by_host_after_all();
/// What a receive has waited for has come as an envelope.
void came_by_envelope(MPI_Comm communicator, std::size_t bytes);

}  // namespace explain

}  // namespace tutti::mpi
