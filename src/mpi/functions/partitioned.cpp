// Partitioned messages (MPI 4.1, chapter 4) between ranks of a node. Whether a message is ours each side finds by itself,
// from what is the same on both: the communicator, and where its ranks are. Neither the buffers nor their types matter.

#include <cstdint>
#include <limits>
#include <new>

#include "mpi/errors.h"
#include "mpi/functions/interpose.h"
#include "mpi/requests/partitioned_calls.h"
#include "mpi/requests/requests.h"

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
  MPI_Request* request;
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

/// False if it is the host's. Mistakes in the arguments are: it has words for them.
bool init(const Init& call, bool is_sender, int& code) {
  if (call.partitions < 0 || call.count < 0 || call.other < 0 || call.tag < 0 || !call.request) return false;
  CommunicatorState* const state = state_for_messages(call.communicator);
  if (!state || call.other >= static_cast<int>(state->node_ranks.size())) return false;
  const int peer = state->node_ranks[static_cast<std::size_t>(call.other)];
  if (peer < 0) return false;
  TypeInfo room;
  const TypeInfo* const info = type_info(call.datatype, room);
  if (!info || !fits(call.partitions, call.count, info->bytes)) return false;
  if (!call.buffer && info->predefined && call.partitions > 0 && call.count > 0) return false;
  const partitioned::Envelope envelope{state->identity, is_sender ? state->rank : call.other,
                                       is_sender ? call.other : state->rank, call.tag, 0};
  code = guard(call.communicator, is_sender ? next.Psend_init.name() : next.Precv_init.name(), [&] {
    auto request = std::make_unique<Request>(call.communicator, *state);
    PartitionedBuffer buffer(call.buffer, call.partitions, static_cast<std::size_t>(call.count), call.datatype, *info);
    PartitionedCall* made = nullptr;
    if (is_sender)
      made = new (request->allocate(sizeof(PartitionedSend)))
          PartitionedSend(std::move(buffer), *job(), peer, envelope, policy_of(*job()));
    else
      made = new (request->allocate(sizeof(PartitionedReceive)))
          PartitionedReceive(std::move(buffer), *job(), peer, envelope, policy_of(*job()));
    request->persist_as(*made, is_sender ? "a partitioned send" : "a partitioned receive", peer);
    request->set(
        *made, [made](int before) { return made->after(before); }, false);
    request->set_before([made] { return made->before(); });
    request->handles().keep_type(call.datatype);
    last_call = {"partitioned", &job()->node, call.buffer, made->bytes(), false};
    request->set_report({});
    return requests.keep(std::move(request), call.request);
  });
  return true;
}

/// What the thread has found last: threads mark many partitions of one request.
struct Found {
  std::uintptr_t key = 0;
  std::uint64_t forgotten = 0;
  Request* request = nullptr;
};
constinit thread_local Found last_found;

/// Null if it is none of ours.
Request* find(MPI_Request handle) {
  if (!requests.any()) return nullptr;
  Found& last = last_found;
  const std::uint64_t forgotten = requests.forgotten();
  if (last.request && last.key == key_of(handle) && last.forgotten == forgotten) [[likely]]
    return last.request;
  Request* const found = requests.find(handle);
  if (!found || !found->partitioned()) return nullptr;
  last = {key_of(handle), forgotten, found};
  return found;
}

int raise(const Request& request, int code, const char* function) {
  return mpi::raise(request.communicator_for_errors(), code, function);
}

/// Marks what partition(i) gives for each i below count. function: of MPI.
template <class Partition>
int mark(Request& request, int count, const Partition& partition, const char* function) {
  PartitionedCall& call = *request.partitioned();
  if (!call.is_sender() || !request.is_active()) return raise(request, MPI_ERR_REQUEST, function);
  auto& send = static_cast<PartitionedSend&>(call);
  for (int i = 0; i < count; ++i)
    if (partition(i) < 0 || partition(i) >= call.partitions() || send.is_marked(partition(i)))
      return raise(request, MPI_ERR_ARG, function);
  try {
    for (int i = 0; i < count; ++i)
      if (const int code = send.mark(partition(i)); code != MPI_SUCCESS) return raise(request, code, function);
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
  if (init({buf, partitions, count, datatype, dest, tag, comm, request}, true, code)) return code;
  return started_by_host(next.Psend_init, buf, partitions, count, datatype, dest, tag, comm, info, request);
}

TUTTI_EXPORT int MPI_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                                MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  int code = MPI_SUCCESS;
  if (init({buf, partitions, count, datatype, source, tag, comm, request}, false, code)) return code;
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
  if (partition_low < 0 || partition_high >= ours->partitioned()->partitions() || partition_low > partition_high)
    return raise(*ours, MPI_ERR_ARG, next.Pready_range.name());
  return mark(
      *ours, partition_high - partition_low + 1, [=](int i) { return partition_low + i; }, next.Pready_range.name());
}

TUTTI_EXPORT int MPI_Pready_list(int length, TUTTI_CONST_INT array_of_partitions[], MPI_Request request) {
  Request* const ours = find(request);
  if (!ours) return next.Pready_list(length, array_of_partitions, request);
  if (length < 0 || (length > 0 && !array_of_partitions)) return raise(*ours, MPI_ERR_ARG, next.Pready_list.name());
  return mark(
      *ours, length, [=](int i) { return array_of_partitions[i]; }, next.Pready_list.name());
}

TUTTI_EXPORT int MPI_Parrived(MPI_Request request, int partition, int* flag) {
  Request* const ours = find(request);
  if (!ours) return next.Parrived(request, partition, flag);
  if (ours->partitioned()->is_sender()) return raise(*ours, MPI_ERR_REQUEST, next.Parrived.name());
  if (!flag || partition < 0 || partition >= ours->partitioned()->partitions())
    return raise(*ours, MPI_ERR_ARG, next.Parrived.name());
  auto& receive = static_cast<PartitionedReceive&>(*ours->partitioned());
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
  return code == MPI_SUCCESS ? code : raise(*ours, code, next.Parrived.name());
}
