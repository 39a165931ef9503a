// TUTTI_EXPLAIN: every collective is counted where the program calls it, and what ran is told at MPI_Finalize.
//
// Without the setting a call costs a test of a flag that never changes. With it, two readings of the clock and a few
// additions to counters that belong to the communicator: MPI forbids two collectives at once on one communicator, so
// that threads do not meet there. Calls that go to the host without a choice are counted under a lock.
#pragma once

#include <cstdint>

#include "collectives/call_record.h"
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

}  // namespace explain

}  // namespace tutti::mpi
