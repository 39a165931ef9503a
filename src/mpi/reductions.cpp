#include "mpi/reductions.h"

#include <memory>
#include <utility>
#include <vector>

#include "mpi/datatypes.h"
#include "mpi/explain.h"
#include "reduction/fold.h"

namespace tutti::mpi {

namespace {

/// A user's operator on contiguous elements, or on elements that are packed between ranks.
struct UserOperator {
  MPI_Op operation;
  MPI_Datatype datatype;
  MPI_Comm communicator;
  TypeInfo info;
  MPI_Aint extent = 0;
  MPI_Aint true_lower = 0;
  MPI_Aint true_extent = 0;
  std::vector<std::byte> left, right;

  std::size_t layout_bytes(std::size_t elements) const {
    const auto span = static_cast<std::size_t>(extent < 0 ? -extent : extent) * (elements - 1);
    return span + static_cast<std::size_t>(true_extent);
  }
  /// Where element 0 of a buffer of this layout begins, given the memory that holds all its bytes.
  std::byte* origin(std::byte* memory, std::size_t elements) const {
    const MPI_Aint lowest = extent < 0 ? extent * static_cast<MPI_Aint>(elements - 1) : 0;
    return memory - true_lower - lowest;
  }

  void reduce_local(const void* in, void* inout, std::size_t elements) const {
    const std::size_t piece = std::size_t{1} << 30;
    for (std::size_t at = 0; at < elements; at += piece)
      host.Reduce_local(static_cast<const char*>(in) + static_cast<MPI_Aint>(at) * extent,
                        static_cast<char*>(inout) + static_cast<MPI_Aint>(at) * extent,
                        static_cast<int>(elements - at < piece ? elements - at : piece), datatype, operation);
  }

  /// ((sources[0] op sources[1]) op sources[2]) op ...: MPI_Reduce_local has the left operand as its first argument and
  /// overwrites the right one.
  void contiguous(void* destination, const void* const* sources, std::size_t count, std::size_t elements) {
    const std::size_t bytes = elements * info.bytes;
    if (left.size() < bytes) left.resize(bytes);
    if (right.size() < bytes) right.resize(bytes);
    reduction::fold(destination, sources, count, bytes, {left.data(), right.data()},
                    [&](const void* in, void* inout) { reduce_local(in, inout, elements); });
  }

  void packed(void* destination, const void* const* sources, std::size_t count, std::size_t elements) {
    const std::size_t bytes = layout_bytes(elements);
    if (left.size() < bytes) left.resize(bytes);
    if (right.size() < bytes) right.resize(bytes);
    std::byte* in = origin(left.data(), elements);
    std::byte* inout = origin(right.data(), elements);
    unpack(static_cast<const std::byte*>(sources[0]), in, elements, datatype, info, communicator);
    for (std::size_t i = 1; i < count; ++i) {
      unpack(static_cast<const std::byte*>(sources[i]), inout, elements, datatype, info, communicator);
      reduce_local(in, inout, elements);
      std::swap(in, inout);
    }
    pack(in, elements, datatype, info, static_cast<std::byte*>(destination), communicator);
  }
};

void combine_contiguous(void* context, void* destination, const void* const* sources, std::size_t count,
                        std::size_t elements) {
  static_cast<UserOperator*>(context)->contiguous(destination, sources, count, elements);
}
void combine_packed(void* context, void* destination, const void* const* sources, std::size_t count,
                    std::size_t elements) {
  static_cast<UserOperator*>(context)->packed(destination, sources, count, elements);
}

/// What is sent and received are one buffer, which is for the host to judge.
bool is_aliased(const ReductionCall& call) {
  return call.send != MPI_IN_PLACE && call.send == call.receive;
}
/// The same where Open MPI, unlike others, takes it for MPI_IN_PLACE, as programs have found.
bool host_objects(ReductionCall& call) {
#ifdef OPEN_MPI
  if (is_aliased(call)) call.send = MPI_IN_PLACE;
  return false;
#else
  return is_aliased(call);
#endif
}

/// The kernel of a predefined operator on a predefined type; nullptr if there is none.
reduction::Kernel kernel_of(const OperatorInfo& operation, const TypeInfo& info) {
  if (operation.kind != OperatorKind::predefined || !info.predefined || !info.kernel_type) return nullptr;
  return reduction::kernel(operation.operation, *info.kernel_type);
}

/// What combines elements of a predefined type by a predefined operator; null for others. Valid until the next call in
/// this thread. These handles stay what they are, and most calls have those of the call before: looking both up took 10
/// to 30 ns of the 120 of a small reduction.
const Combiner* predefined_combiner(const ReductionCall& call) {
  struct Last {
    MPI_Op operation = MPI_OP_NULL;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    Combiner combiner;
  };
  static thread_local Last last;
  if (last.operation == call.operation && last.datatype == call.datatype && last.combiner.kernel) return &last.combiner;
  const TypeInfo* info = type_info(call.datatype);
  if (!info) return nullptr;
  const reduction::Kernel kernel = kernel_of(operator_info(call.operation), *info);
  if (!kernel) return nullptr;
  last = {call.operation, call.datatype, {}};
  last.combiner.kernel = kernel;
  last.combiner.element_bytes = reduction::size_of(*info->kernel_type);
  return &last.combiner;
}

/// The call as the core can do it. received: elements of the result that this rank gets; `receive` may be anything if
/// there are none, unless it holds the contribution.
template <class Run>
bool with_core_arguments(const ReductionCall& call, std::size_t received, const Run& run, int& code) {
  const bool in_place = call.send == MPI_IN_PLACE;
  // Wrong buffers are for the host to report; MPI_BOTTOM is null on some hosts, but needs a derived datatype.
  const auto lacks_buffer = [&] { return (!in_place && !call.send) || ((in_place || received > 0) && !call.receive); };
  code = MPI_SUCCESS;
  if (const Combiner* known = predefined_combiner(call)) [[likely]] {
    if (lacks_buffer()) return false;
    return run(static_cast<const std::byte*>(in_place ? call.receive : call.send),
               static_cast<std::byte*>(call.receive), *known);
  }
  const OperatorInfo operation = operator_info(call.operation);
  if (operation.kind == OperatorKind::unknown) return refuse(Refusal::operation);
  const TypeInfo* info = type_info(call.datatype);
  if (!info) return refuse(Refusal::datatype);
  if (info->bytes == 0) return refuse(Refusal::nothing);
  if ((info->predefined || info->contiguous) && lacks_buffer()) return false;

  const void* send = in_place ? call.receive : call.send;
  if (operation.kind == OperatorKind::predefined) return refuse(Refusal::operation);  // no kernel for this type

  Combiner combiner;
  UserOperator user{call.operation, call.datatype, call.communicator, *info, 0, 0, 0, {}, {}};
  int commutes = 0;
  MPI_Aint lower = 0;
  if (host.Op_commutative(call.operation, &commutes) != MPI_SUCCESS) return false;
  host.Type_get_extent(call.datatype, &lower, &user.extent);
  host.Type_get_true_extent(call.datatype, &user.true_lower, &user.true_extent);
  combiner.commutative = commutes != 0;
  combiner.element_bytes = info->bytes;
  combiner.context = &user;
  combiner.function = info->contiguous ? combine_contiguous : combine_packed;
  if (info->contiguous)
    return run(static_cast<const std::byte*>(send), static_cast<std::byte*>(call.receive), combiner);

  const std::unique_ptr<std::byte[]> packed(new std::byte[call.count * info->bytes]);
  code = pack(send, call.count, call.datatype, *info, packed.get(), call.communicator);
  if (!run(packed.get(), packed.get(), combiner)) return false;
  if (received > 0) code = unpack(packed.get(), call.receive, received, call.datatype, user.info, call.communicator);
  return true;
}

}  // namespace

bool reduce(Collectives& collectives, const ReductionCall& call, int root, int& code) {
  const Communicator& communicator = collectives.communicator();
  if (root < 0 || root >= communicator.size()) return false;
  const bool is_root = communicator.rank() == root;
  if (!is_root && call.send == MPI_IN_PLACE) return false;
  if (is_root && is_aliased(call)) return false;
  return with_core_arguments(
      call, is_root ? call.count : 0,
      [&](const std::byte* send, std::byte* receive, const Combiner& combiner) {
        return carried_out(collectives.reduce({send, is_root ? receive : nullptr, call.count, &combiner, root}));
      },
      code);
}

bool allreduce(Collectives& collectives, const ReductionCall& call, int& code) {
  if (is_aliased(call)) return false;
  return with_core_arguments(
      call, call.count,
      [&](const std::byte* send, std::byte* receive, const Combiner& combiner) {
        return carried_out(collectives.allreduce({send, receive, call.count, &combiner}));
      },
      code);
}

bool reduce_scatter(Collectives& collectives, ReductionCall call, const std::size_t* counts, int& code) {
  const std::size_t received = counts[collectives.communicator().rank()];
  if (received > 0 && host_objects(call)) return false;
  return with_core_arguments(
      call, received,
      [&](const std::byte* send, std::byte* receive, const Combiner& combiner) {
        return carried_out(collectives.reduce_scatter({send, receive, counts, call.count, &combiner}));
      },
      code);
}

bool scan(Collectives& collectives, ReductionCall call, bool exclusive, int& code) {
  // Also on rank 0 of an exclusive one, where nothing is received: else it alone would take part.
  if (host_objects(call)) return false;
  const bool receives = !exclusive || collectives.communicator().rank() > 0;
  return with_core_arguments(
      call, receives ? call.count : 0,
      [&](const std::byte* send, std::byte* receive, const Combiner& combiner) {
        return carried_out(collectives.scan({send, receive, call.count, &combiner, exclusive}));
      },
      code);
}

bool reduce_local(const ReductionCall& call) {
  if (!call.send || !call.receive || call.send == call.receive || call.send == MPI_IN_PLACE) return false;
  const Combiner* combiner = predefined_combiner(call);
  if (!combiner) return false;
  const void* sources[2] = {call.send, call.receive};
  (*combiner)(call.receive, sources, 2, call.count);
  return true;
}

}  // namespace tutti::mpi
