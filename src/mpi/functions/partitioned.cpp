// Partitioned messages (MPI 4.1, chapter 4) between ranks of a node. Whether a message is ours each side finds by itself,
// from what is the same on both: the communicator, and where its ranks are. Neither the buffers nor their types matter.

#include <cstdint>
#include <limits>
#include <new>

#include "mpi/errors.h"
#include "mpi/functions/interpose.h"
#include "mpi/requests/partitioned_calls.h"
#include "mpi/requests/requests.h"
#include "mpi/spanning_state.h"

namespace tutti::mpi {

namespace {

/// The arguments of MPI_Psend_init and MPI_Precv_init.
struct Init {
  const void* buffer;
  int partitions;
  MPI_Count count;
  MPI_Datatype datatype;
  int other;  ///< rank
  int tag;
  MPI_Comm communicator;
  MPI_Info info;
  MPI_Request* request;
  bool is_sender;

  /// Its name.
  const char* function() const { return is_sender ? next.Psend_init.name() : next.Precv_init.name(); }
};

bool fits(int partitions, MPI_Count count, std::size_t element_bytes) {
  std::size_t bytes = 0;
  return !__builtin_mul_overflow(static_cast<std::size_t>(partitions), static_cast<std::size_t>(count), &bytes) &&
         !__builtin_mul_overflow(bytes, element_bytes, &bytes) && bytes <= PTRDIFF_MAX;
}

/// In multiples of what is copied in the time of a flag's way, as was fastest (docs/measurements/partitioned.md): to leave a
/// partition is worth it from a third of that on, and to be told of a copy takes several.
partitioned::Policy policy_of(const Job& job) {
  const selection::Model& model = job.knowledge.model;
  const double bytes_a_hop = model.hop / model.remote_byte;
  partitioned::Policy policy;
  policy.left_least = static_cast<std::size_t>(bytes_a_hop / 3);
  policy.left_bytes = static_cast<std::size_t>(bytes_a_hop * 20);
  policy.told_bytes = 1 + static_cast<std::size_t>(bytes_a_hop * 4);
  return policy;
}

/// What is wrong with the arguments, as an error class. Neither MPI_ANY_SOURCE nor MPI_ANY_TAG is right.
int mistake_in(const Init& call, const CommunicatorState& state, const TypeInfo* type) {
  static const int tags_max = largest_tag();
  const bool is_rank = call.other >= 0 && call.other < static_cast<int>(state.node_ranks.size());
  if (call.partitions < 0) return MPI_ERR_ARG;
  if (call.count < 0) return MPI_ERR_COUNT;
  if (!type) return MPI_ERR_TYPE;
  if (!fits(call.partitions, call.count, type->bytes)) return MPI_ERR_COUNT;
  if (!is_rank && call.other != MPI_PROC_NULL) return MPI_ERR_RANK;
  if (call.tag < 0 || call.tag > tags_max) return MPI_ERR_TAG;
  if (is_rank && !call.buffer && type->predefined && call.partitions > 0 && call.count > 0) return MPI_ERR_BUFFER;
  return MPI_SUCCESS;
}

/// The host's own function has the better words, where it looks at its arguments. Open MPI's does not, and no host's asks
/// whether there are too many elements to be counted: a message of its own would wait for ever for the other side.
int refuse(const Init& call, int error) {
#ifndef OPEN_MPI
  if (error != MPI_ERR_COUNT || call.count < 0)
    return call.is_sender ? next.Psend_init(call.buffer, call.partitions, call.count, call.datatype, call.other,
                                            call.tag, call.communicator, call.info, call.request)
                          : next.Precv_init(const_cast<void*>(call.buffer), call.partitions, call.count, call.datatype,
                                            call.other, call.tag, call.communicator, call.info, call.request);
#endif
  return mpi::raise(call.communicator, error, call.function());
}

/// In memory of the request. peer: node rank of the other side; -1: there is none.
PartitionedCall& make_call(Request& request, const Init& call, const CommunicatorState& state, const TypeInfo& type,
                           int peer) {
  const auto count = static_cast<std::size_t>(peer < 0 ? 0 : call.count);
  PartitionedBuffer buffer(call.buffer, call.partitions, count, call.datatype, type);
  const partitioned::Envelope envelope{state.identity, call.is_sender ? state.rank : call.other,
                                       call.is_sender ? call.other : state.rank, call.tag, 0};
  if (peer < 0)
    return *new (request.allocate(sizeof(PartitionedCall))) PartitionedCall(std::move(buffer), call.is_sender);
  if (call.is_sender)
    return *new (request.allocate(sizeof(PartitionedSend)))
        PartitionedSend(std::move(buffer), *job(), peer, envelope, policy_of(*job()));
  return *new (request.allocate(sizeof(PartitionedReceive)))
      PartitionedReceive(std::move(buffer), *job(), peer, envelope, policy_of(*job()));
}

/// Returns a code of the host. Whoever is told of an error has no side of a message that the other one would count.
int make(const Init& call, CommunicatorState& state, const TypeInfo& type, int peer) {
  auto request = std::make_unique<Request>(call.communicator, state);
  PartitionedCall& made = make_call(*request, call, state, type, peer);
  request->carry(made, call.is_sender ? "a partitioned send" : "a partitioned receive", peer, true);
  request->set(
      made, [&made](int before) { return made.after(before); }, false);
  request->set_before([&made] { return made.before(); });
  request->handles().keep_type(call.datatype);
  last_call = {"partitioned", &job()->node, call.buffer, made.bytes(), false};
  request->set_report({});
  Request& kept = *request;
  if (const int code = requests.keep(std::move(request), call.request); code != MPI_SUCCESS) return code;
  try {
    made.introduce();
  } catch (...) {
    requests.free(kept);
    *call.request = MPI_REQUEST_NULL;
    throw;
  }
  return MPI_SUCCESS;
}

/// False if it is the host's.
bool init(const Init& call, int& code) {
  CommunicatorState* const state = call.request ? state_for_messages(call.communicator) : nullptr;
  if (!state) return false;
  TypeInfo room;
  const TypeInfo* const type = type_info(call.datatype, room);
  if (const int error = mistake_in(call, *state, type); error != MPI_SUCCESS) {
    code = refuse(call, error);
    return true;
  }
  const bool is_to_nobody = call.other == MPI_PROC_NULL;
  const int peer = is_to_nobody ? -1 : state->node_ranks[static_cast<std::size_t>(call.other)];
  if (peer < 0 && !is_to_nobody) return false;
  code = guard(call.communicator, call.function(), [&] { return make(call, *state, *type, peer); });
  return true;
}

/// What the thread has found last: threads mark many partitions of one request.
struct Found {
  std::uintptr_t key = 0;
  std::uint64_t forgotten = 0;
  Request* request = nullptr;
};
constinit thread_local Found last_found;

/// Of find().
PartitionedCall* side_of(const Request& request) {
  return request.message() ? request.message()->as_partitioned() : nullptr;
}

/// Null if it is none of ours.
Request* find(MPI_Request handle) {
  if (!requests.any()) return nullptr;
  Found& last = last_found;
  const std::uint64_t forgotten = requests.forgotten();
  if (last.request && last.key == key_of(handle) && last.forgotten == forgotten) [[likely]]
    return last.request;
  Request* const found = requests.find(handle);
  if (!found || !side_of(*found)) return nullptr;
  last = {key_of(handle), forgotten, found};
  return found;
}

int raise_for(const Request& request, int code, const char* function) {
  return mpi::raise(request.communicator_for_errors(), code, function);
}

/// Marks what partition(i) gives for each i below count, up to one that is marked already. function: of MPI.
template <class Partition>
int mark(Request& request, int count, const Partition& partition, const char* function) {
  PartitionedCall& call = *side_of(request);
  if (!call.is_sender() || !request.is_active()) return raise_for(request, MPI_ERR_REQUEST, function);
  for (int i = 0; i < count; ++i)
    if (partition(i) < 0 || partition(i) >= call.partitions()) return raise_for(request, MPI_ERR_ARG, function);
  try {
    for (int i = 0; i < count; ++i)
      if (const int code = call.mark(partition(i)); code != MPI_SUCCESS) return raise_for(request, code, function);
  } catch (const std::exception& problem) {
    end_job(request.communicator_for_errors(), problem);
  }
  return MPI_SUCCESS;
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_EXPORT int MPI_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                                int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  int code = MPI_SUCCESS;
  if (init({buf, partitions, count, datatype, dest, tag, comm, info, request, true}, code)) return code;
  return started_by_host(next.Psend_init, buf, partitions, count, datatype, dest, tag, comm, info, request);
}

TUTTI_EXPORT int MPI_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                                MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  int code = MPI_SUCCESS;
  if (init({buf, partitions, count, datatype, source, tag, comm, info, request, false}, code)) return code;
  return started_by_host(next.Precv_init, buf, partitions, count, datatype, source, tag, comm, info, request);
}

TUTTI_EXPORT int MPI_Pready(int partition, MPI_Request request) {
  Request* const ours = find(request);
  return ours ? mark(
                    *ours, 1, [=](int) { return partition; }, next.Pready.name())
              : next.Pready(partition, request);
}

TUTTI_EXPORT int MPI_Pready_range(int partition_low, int partition_high, MPI_Request request) {
  Request* const ours = find(request);
  if (!ours) return next.Pready_range(partition_low, partition_high, request);
  if (partition_low < 0 || partition_high >= side_of(*ours)->partitions() || partition_low > partition_high)
    return raise_for(*ours, MPI_ERR_ARG, next.Pready_range.name());
  return mark(
      *ours, partition_high - partition_low + 1, [=](int i) { return partition_low + i; }, next.Pready_range.name());
}

TUTTI_EXPORT int MPI_Pready_list(int length, TUTTI_CONST_INT array_of_partitions[], MPI_Request request) {
  Request* const ours = find(request);
  if (!ours) return next.Pready_list(length, array_of_partitions, request);
  if (length < 0 || (length > 0 && !array_of_partitions)) return raise_for(*ours, MPI_ERR_ARG, next.Pready_list.name());
  return mark(
      *ours, length, [=](int i) { return array_of_partitions[i]; }, next.Pready_list.name());
}

TUTTI_EXPORT int MPI_Parrived(MPI_Request request, int partition, int* flag) {
  Request* const ours = find(request);
  if (!ours) return next.Parrived(request, partition, flag);
  if (side_of(*ours)->is_sender()) return raise_for(*ours, MPI_ERR_REQUEST, next.Parrived.name());
  if (!flag || partition < 0 || partition >= side_of(*ours)->partitions())
    return raise_for(*ours, MPI_ERR_ARG, next.Parrived.name());
  PartitionedCall& receive = *side_of(*ours);
  if (!ours->is_active()) {
    *flag = 1;
    return MPI_SUCCESS;
  }
  const auto is_here = [&] { return ours->is_complete() || receive.has_arrived(partition); };
  *flag = is_here();
  if (!*flag) {
    requests.drive();
    *flag = is_here();
  }
  if (!*flag) {
    // The sender may wait for a message of the host's before it marks the partition.
    requests.asked_in_vain();
    return MPI_SUCCESS;
  }
  const int code = receive.hand_over(partition);
  return code == MPI_SUCCESS ? code : raise_for(*ours, code, next.Parrived.name());
}
