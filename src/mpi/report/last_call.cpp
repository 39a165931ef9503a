#include "mpi/report/last_call.h"

#include <cstring>

#include "collectives/common/buffers/exposure.h"

namespace tutti::mpi {

constinit thread_local LastCall last_call;

const char* mechanism_of(const LastCall& call) {
  if (!call.node) return "";
  if (call.spans_nodes) return "staged";
  if (call.bytes <= Post::inline_bytes) return "inline";
  const memory::Kind kind = call.node->reach(call.buffer, call.bytes);
  if (std::strcmp(call.algorithm, "eager") == 0) return "slot";
  const Settings& settings = call.node->settings;
  if (!memory::always_mapped(kind) && call.bytes <= ring_bytes(settings)) return "slot";
  const bool staged = kind == memory::Kind::none || (kind == memory::Kind::cma && call.lends_copies);
  return staged ? "staged" : memory::name_of(kind);
}

}  // namespace tutti::mpi

/// Names of the algorithm and the mechanism of this thread's last collective, cut to the sizes given. Returns 0.
extern "C" __attribute__((visibility("default"))) int tutti_last_choice(char* algorithm, int algorithm_bytes,
                                                                        char* mechanism, int mechanism_bytes) {
  const auto put = [](char* to, int bytes, const char* from) {
    if (!to || bytes <= 0) return;
    std::strncpy(to, from, static_cast<std::size_t>(bytes) - 1);
    to[bytes - 1] = '\0';
  };
  put(algorithm, algorithm_bytes, tutti::mpi::last_call.algorithm);
  put(mechanism, mechanism_bytes, mechanism_of(tutti::mpi::last_call));
  return 0;
}
