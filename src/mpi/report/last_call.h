// What this thread's last collective was: for tutti_last_choice() and for counting. Put into words only when asked for.
#pragma once

#include <cstddef>

#include "collectives/collectives.h"

namespace tutti::mpi {

struct LastCall {
  const char* algorithm = "";  ///< "host"; empty if the call ended with an error of ours
  const Node* node = nullptr;  ///< null if the host has carried it out
  const void* buffer = nullptr;
  std::size_t bytes = 0;
  bool lends_copies = false;  ///< of what the kernel would have reached
  bool spans_nodes = false;   ///< then bytes are staged: most go through memory that one rank of the node lends
};
extern constinit thread_local LastCall last_call;

/// How the bytes of this rank were reached: inline, slot, window, xpmem, cma, staged; empty for the host.
const char* mechanism_of(const LastCall& call);

/// Notes what the collective that just ended was: one of ours, `bytes` of `buffer` of this rank (one block of them
/// where all are of one size), or the host's.
inline void remember(Collectives& collectives, const void* buffer, std::size_t bytes, bool lends_copies = false) {
  Communicator& communicator = collectives.communicator();
  last_call = {collectives.last_algorithm(), &communicator.node(), buffer, bytes, lends_copies,
               collectives.spans_nodes()};
}
inline void remember_host() {
  last_call = {selection::host_algorithm, nullptr, nullptr, 0};
}

}  // namespace tutti::mpi
