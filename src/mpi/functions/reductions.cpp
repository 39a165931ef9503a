// The reductions: Reduce, Allreduce, Reduce_scatter, Scan, Exscan; and Reduce_local. Datatypes are packed where needed, and
// operators are functions for the core.

#include <cxxabi.h>

#include <array>
#include <cstddef>
#include <exception>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "mpi/arguments/call_memory.h"
#include "mpi/arguments/datatypes.h"
#include "mpi/arguments/device_elements.h"
#include "mpi/arguments/device_memory.h"
#include "mpi/arguments/loan.h"
#include "mpi/arguments/recent.h"
#include "mpi/errors.h"
#include "mpi/functions/collective_function.h"
#include "mpi/teams/team_function.h"
#include "reduction/fold.h"
#include "reduction/members.h"

namespace tutti::mpi {

namespace {

/// The arguments of MPI.
struct ReductionCall {
  const void* send;
  void* receive;
  std::size_t count;
  MPI_Datatype datatype;
  MPI_Op operation;
  MPI_Comm communicator;
  std::size_t element_bytes = 0;  ///< as the core has carried it out

  std::size_t bytes() const { return count * element_bytes; }
};

/// A user's operator on contiguous elements, or on elements that are packed between ranks. It gets memory of the host,
/// wherever the program's buffers are.
struct UserOperator {
  MPI_Op operation{};
  MPI_Datatype datatype{};
  MPI_Comm communicator{};
  TypeInfo info{};
  MPI_Aint extent = 0;
  MPI_Aint true_lower = 0;
  MPI_Aint true_extent = 0;
  /// For most_operands() of as many ranks as an int counts.
  static constexpr std::size_t most_rooms = 32;
  std::array<CallMemory, most_rooms> rooms{};
  std::exception_ptr thrown{};  ///< by the operator, which is not run again in this call

  std::size_t layout_bytes(std::size_t elements) const {
    const auto span = static_cast<std::size_t>(extent < 0 ? -extent : extent) * (elements - 1);
    return span + static_cast<std::size_t>(true_extent);
  }
  /// Where element 0 of a buffer of this layout begins, given the memory that holds all its bytes.
  std::byte* origin(std::byte* memory, std::size_t elements) const {
    const MPI_Aint lowest = extent < 0 ? extent * static_cast<MPI_Aint>(elements - 1) : 0;
    return memory - true_lower - lowest;
  }

  void reduce_local(const void* in, void* inout, std::size_t elements) {
    if (thrown) return;
    try {
      run(in, inout, elements);
    } catch (const abi::__forced_unwind&) {
      throw;  // the thread ends
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  /// At the end of the call: the program gets what its operator has thrown.
  void hand_on() {
    if (thrown) [[unlikely]]
      throw OfProgram{std::exchange(thrown, nullptr)};
  }
  void run(const void* in, void* inout, std::size_t elements) const {
    const std::size_t piece = std::size_t{1} << 30;
    for (std::size_t at = 0; at < elements; at += piece)
      host.Reduce_local(static_cast<const char*>(in) + static_cast<MPI_Aint>(at) * extent,
                        static_cast<char*>(inout) + static_cast<MPI_Aint>(at) * extent,
                        static_cast<int>(elements - at < piece ? elements - at : piece), datatype, operation);
  }

  /// sources[0] op sources[1] op sources[2] op ...: MPI_Reduce_local has the left operand as its first argument and
  /// overwrites the right one.
  void contiguous(void* destination, const void* const* sources, std::size_t count, std::size_t elements,
                  reduction::Order order) {
    const std::size_t bytes = elements * info.bytes;
    void* memory[most_rooms];
    for (std::size_t i = 0; i < reduction::most_operands(count); ++i) memory[i] = rooms[i].at_least(bytes);
    reduction::fold(destination, sources, count, bytes, order, memory,
                    [&](const void* in, void* inout) { reduce_local(in, inout, elements); });
  }

  void packed(void* destination, const void* const* sources, std::size_t count, std::size_t elements,
              reduction::Order order) {
    const std::size_t bytes = layout_bytes(elements);
    std::byte* values[most_rooms];
    for (std::size_t i = 0; i < reduction::most_operands(count); ++i)
      values[i] = origin(rooms[i].at_least(bytes), elements);
    reduction::combine(
        count, order,
        [&](std::size_t source, std::size_t at) {
          unpack(static_cast<const std::byte*>(sources[source]), values[at], elements, datatype, info, communicator);
        },
        [&](std::size_t at) {
          reduce_local(values[at], values[at + 1], elements);
          std::swap(values[at], values[at + 1]);
        });
    pack(values[0], elements, datatype, info, static_cast<std::byte*>(destination), communicator);
  }
};

void combine_contiguous(void* context, void* destination, const void* const* sources, std::size_t count,
                        std::size_t elements, reduction::Order order) {
  static_cast<UserOperator*>(context)->contiguous(destination, sources, count, elements, order);
}
void combine_packed(void* context, void* destination, const void* const* sources, std::size_t count,
                    std::size_t elements, reduction::Order order) {
  static_cast<UserOperator*>(context)->packed(destination, sources, count, elements, order);
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

/// A predefined operator on a predefined type.
struct Predefined {
  Combiner combiner;
  reduction::Type type{};
  bool has_gaps = false;
};
using PredefinedTable = std::array<std::array<Predefined, reduction::type_count>, reduction::operator_count>;

PredefinedTable make_predefined() {
  PredefinedTable all;
  for (int o = 0; o < reduction::operator_count; ++o) {
    for (int t = 0; t < reduction::type_count; ++t) {
      const auto type = static_cast<reduction::Type>(t);
      Predefined& each = all[static_cast<std::size_t>(o)][static_cast<std::size_t>(t)];
      each.combiner.kernel = reduction::kernel(static_cast<reduction::Operator>(o), type);
      each.combiner.element_bytes = reduction::size_of(type);
      each.type = type;
      each.has_gaps = reduction::has_gaps(type);
    }
  }
  return all;
}

/// Null if there is no kernel. What is returned stays as it is: calls point to it while they wait, in which time the host
/// may run the program's operators, and these call us.
const Predefined* look_up_predefined(const ReductionCall& call) {
  static const PredefinedTable& all = *new PredefinedTable(make_predefined());
  TypeInfo room;
  const TypeInfo* info = type_info(call.datatype, room);
  if (!info || !info->kernel_type) return nullptr;
  const OperatorInfo operation = operator_info(call.operation);
  if (operation.kind != OperatorKind::predefined) return nullptr;
  const Predefined& found =
      all[static_cast<std::size_t>(operation.operation)][static_cast<std::size_t>(*info->kernel_type)];
  return found.combiner.kernel ? &found : nullptr;
}

/// What combines elements of a predefined type by a predefined operator; null for others. These handles stay what they
/// are, and most calls of a thread have those of some call before: looking both up took 10 to 30 ns of the 120 of a small
/// reduction.
const Predefined* predefined(const ReductionCall& call) {
  struct Found {
    MPI_Op operation{};
    MPI_Datatype datatype{};
    const Predefined* found = nullptr;
  };
  static constinit thread_local Recent<Found, 1> recent;
  Found& last = recent.place(key_of(call.datatype) + key_of(call.operation));
  if (last.found && last.operation == call.operation && last.datatype == call.datatype) [[likely]]
    return last.found;
  const Predefined* const found = look_up_predefined(call);
  if (found) last = {call.operation, call.datatype, found};
  return found;
}

/// Private memory for results, on the stack for few.
class Room {
 public:
  explicit Room(std::size_t bytes) {
    if (bytes > sizeof few_) many_ = CallMemory(bytes);
  }
  std::byte* data() { return many_.get() ? many_.get() : few_; }

 private:
  alignas(std::max_align_t) std::byte few_[1024];
  CallMemory many_;
};

/// A call as the core can do it: make(send, receive, combiner) gives its arguments. received: elements of the result that
/// this rank gets; `receive` may be anything if there are none, unless it holds the contribution.
template <class Form, class Make>
struct Reduction {
  Form& form;
  Collectives& collectives;
  ReductionCall& call;
  const void* shown;
  std::size_t received;
  Make make;

  template <class Before, class After>
  bool run(const void* send, void* receive, const Combiner& combiner, const Before& before, const After& after) const {
    return form.run(call.communicator, collectives,
                    make(static_cast<const std::byte*>(send), static_cast<std::byte*>(receive), combiner),
                    Shown{shown, call.bytes()}, false, before, after);
  }

  bool is_received_on_device() const { return received > 0 && device_of(call.receive); }

  bool carry_out() const {
    const bool in_place = call.send == MPI_IN_PLACE;
    // Wrong buffers are for the host to report; MPI_BOTTOM is null on some hosts, but needs a derived datatype.
    const bool lacks_buffer = (!in_place && !call.send) || ((in_place || received > 0) && !call.receive);
    const void* const send = in_place ? call.receive : call.send;
    if (const Predefined* known = predefined(call)) [[likely]] {
      if (lacks_buffer) return false;
      call.element_bytes = known->combiner.element_bytes;
      const bool with_device = devices::may_be_there() && (device_of(send) || is_received_on_device());
      if (known->has_gaps || with_device) [[unlikely]]
        return through_memory(send, *known);
      return run(send, call.receive, known->combiner, nothing_before, nothing_after);
    }
    return with_operator_of_program(send, lacks_buffer);
  }

  /// Elements in memory of a device: what is sent, what is received, or both. And elements with gaps, where the program may
  /// keep something: ranks store whole elements for each other, so that the result comes to private memory, and its members
  /// from there to where they belong.
  [[gnu::noinline]] bool through_memory(const void* send, const Predefined& known) const {
    const std::size_t element_bytes = known.combiner.element_bytes;
    const bool is_sent_from_device = device_of(send), to_device = is_received_on_device();
    const std::size_t staged = is_sent_from_device || to_device ? call.count : received;
    const std::size_t packed = known.has_gaps && to_device ? received : 0;
    auto&& memory = form.template keep<Room>((staged + packed) * element_bytes);
    std::byte* const between = memory.data();
    std::byte* const members = between + staged * element_bytes;
    const MPI_Comm on = form.lasting(call.communicator);
    const auto before = [=, bytes = call.count * element_bytes] {
      return is_sent_from_device ? raised_if_failed(copy_from_program(between, send, bytes), on) : MPI_SUCCESS;
    };
    const void* const from = is_sent_from_device ? between : send;
    if (!known.has_gaps && !to_device) return run(from, call.receive, known.combiner, before, nothing_after);
    return run(from, between, known.combiner, before,
               [=, to = call.receive, count = received, datatype = call.datatype, type = known.type,
                has_gaps = known.has_gaps](int code) {
                 if (count == 0) return code;
                 int copied = MPI_SUCCESS;
                 if (!has_gaps) {
                   copied = raised_if_failed(copy_to_program(to, between, count * element_bytes), on);
                 } else if (!to_device) {
                   reduction::copy_members(type, to, between, count);
                 } else {
                   TypeInfo info_room;
                   const TypeInfo& info = *type_info(datatype, info_room);
                   copied = pack(between, count, datatype, info, members, MPI_COMM_SELF);
                   if (copied == MPI_SUCCESS) copied = unpack(members, to, count, datatype, info, on);
                 }
                 return code == MPI_SUCCESS ? copied : code;
               });
  }

  [[gnu::noinline]] bool with_operator_of_program(const void* send, bool lacks_buffer) const {
    const OperatorInfo operation = operator_info(call.operation);
    if (operation.kind == OperatorKind::unknown) return refuse(Refusal::operation);
    auto&& user = form.template keep<UserOperator>();
    const TypeInfo* const known_type = type_info(call.datatype, user.info);
    if (!known_type) return refuse(Refusal::datatype);
    user.info = *known_type;
    const TypeInfo& info = user.info;
    if (info.bytes == 0) return refuse(Refusal::nothing);
    if ((info.predefined || info.contiguous) && lacks_buffer) return false;
    // There is no kernel: for this operator, or, as with Fortran's types of 16 bytes, for none.
    if (operation.kind == OperatorKind::predefined)
      return refuse(info.kernel_type ? Refusal::operation : Refusal::datatype);

    int commutes = 0;
    MPI_Aint lower = 0;
    if (host.Op_commutative(call.operation, &commutes) != MPI_SUCCESS) return false;
    if (!form.runs_operator(call.operation)) return false;
    if (!info.predefined) form.keep_type(call.datatype);
    user.operation = call.operation;
    user.datatype = call.datatype;
    user.communicator = form.lasting(call.communicator);
    host.Type_get_extent(call.datatype, &lower, &user.extent);
    host.Type_get_true_extent(call.datatype, &user.true_lower, &user.true_extent);
    auto&& combiner = form.template keep<Combiner>();
    combiner.commutative = commutes != 0;
    combiner.element_bytes = call.element_bytes = info.bytes;
    combiner.context = &user;
    combiner.function = info.contiguous ? combine_contiguous : combine_packed;
    if (info.contiguous && !device_of(send) && !is_received_on_device())
      return run(static_cast<const std::byte*>(send), static_cast<std::byte*>(call.receive), combiner, nothing_before,
                 [&user](int code) {
                   user.hand_on();
                   return code;
                 });

    auto&& packed = form.template keep<CallMemory>(call.count * info.bytes);
    return run(
        packed.get(), packed.get(), combiner,
        [send, count = call.count, to = packed.get(), &user] {
          return pack(send, count, user.datatype, user.info, to, user.communicator);
        },
        [from = packed.get(), to = call.receive, count = received, &user](int before) {
          user.hand_on();
          if (count == 0) return before;
          return unpack(from, to, count, user.datatype, user.info, user.communicator);
        });
  }
};

template <class Form, class Make>
bool carry_out(Form& form, Collectives& collectives, ReductionCall& call, const void* shown, std::size_t received,
               Make make) {
  return Reduction<Form, Make>{form, collectives, call, shown, received, make}.carry_out();
}

const void* contribution(const ReductionCall& call) {
  return call.send == MPI_IN_PLACE ? call.receive : call.send;
}

struct Reduce {
  template <class Form>
  static bool describe(Form& form, const void* send, void* receive, MPI_Count count, MPI_Datatype datatype,
                       MPI_Op operation, int root, MPI_Comm comm) {
    if (count <= 0) return form.refuse_count(count, comm);
    Collectives* collectives = form.collectives(comm);
    if (!collectives || root < 0 || root >= collectives->size()) return false;
    ReductionCall call{send, receive, static_cast<std::size_t>(count), datatype, operation, comm};
    const bool is_root = collectives->rank() == root;
    if (is_root ? is_aliased(call) : send == MPI_IN_PLACE) return false;
    return carry_out(form, *collectives, call, contribution(call), is_root ? call.count : 0,
                     [=, count = call.count](const std::byte* from, std::byte* to, const Combiner& combiner) {
                       return ReduceArguments{from, is_root ? to : nullptr, count, &combiner, root};
                     });
  }
};

struct Allreduce {
  template <class Form>
  static bool describe(Form& form, const void* send, void* receive, MPI_Count count, MPI_Datatype datatype,
                       MPI_Op operation, MPI_Comm comm) {
    if (count <= 0) return form.refuse_count(count, comm);
    Collectives* collectives = form.collectives(comm);
    ReductionCall call{send, receive, static_cast<std::size_t>(count), datatype, operation, comm};
    if (!collectives || is_aliased(call)) return false;
    return carry_out(form, *collectives, call, receive, call.count,
                     [count = call.count](const std::byte* from, std::byte* to, const Combiner& combiner) {
                       return AllreduceArguments{from, to, count, &combiner};
                     });
  }
};

template <bool exclusive>
struct ScanOrExscan {
  template <class Form>
  static bool describe(Form& form, const void* send, void* receive, MPI_Count count, MPI_Datatype datatype,
                       MPI_Op operation, MPI_Comm comm) {
    if (count <= 0) return form.refuse_count(count, comm);
    Collectives* collectives = form.collectives(comm);
    ReductionCall call{send, receive, static_cast<std::size_t>(count), datatype, operation, comm};
    // Also on rank 0 of an exclusive one, where nothing is received: else it alone would take part.
    if (!collectives || host_objects(call)) return false;
    const bool receives = !exclusive || collectives->rank() > 0;
    return carry_out(form, *collectives, call, contribution(call), receives ? call.count : 0,
                     [count = call.count](const std::byte* from, std::byte* to, const Combiner& combiner) {
                       return ScanArguments{from, to, count, &combiner, exclusive};
                     });
  }
};

/// Counts of elements, lent where calls come one after the other.
class OwnCounts {
 public:
  std::vector<std::size_t>& operator*() { return counts_; }

 private:
  std::vector<std::size_t> counts_;
};
template <class Form>
using CountsOf = std::conditional_t<Form::is_pending, OwnCounts, Loan<std::vector<std::size_t>>>;

/// counts: the elements of each rank.
template <class Form>
bool reduce_scatter(Form& form, Collectives& collectives, ReductionCall call, const std::vector<std::size_t>& counts) {
  call.count = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  if (call.count == 0) return refuse(Refusal::nothing);
  const std::size_t received = counts[static_cast<std::size_t>(collectives.rank())];
  if (received > 0 && host_objects(call)) return false;
  return carry_out(
      form, collectives, call, contribution(call), received,
      [counts = counts.data(), count = call.count](const std::byte* from, std::byte* to, const Combiner& combiner) {
        return ReduceScatterArguments{from, to, counts, count, &combiner};
      });
}

struct ReduceScatter {
  template <class Form, class Count>
  static bool describe(Form& form, const void* send, void* receive, const Count* receive_counts, MPI_Datatype datatype,
                       MPI_Op operation, MPI_Comm comm) {
    Collectives* collectives = form.collectives(comm);
    if (!collectives || !receive_counts) return false;
    auto&& kept = form.template keep<CountsOf<Form>>();
    std::vector<std::size_t>& counts = *kept;
    counts.clear();
    for (int rank = 0; rank < collectives->size(); ++rank) {
      if (receive_counts[rank] < 0) return false;
      counts.push_back(static_cast<std::size_t>(receive_counts[rank]));
    }
    return reduce_scatter(form, *collectives, {send, receive, 0, datatype, operation, comm}, counts);
  }
};

struct ReduceScatterBlock {
  template <class Form>
  static bool describe(Form& form, const void* send, void* receive, MPI_Count receive_count, MPI_Datatype datatype,
                       MPI_Op operation, MPI_Comm comm) {
    if (receive_count <= 0) return form.refuse_count(receive_count, comm);
    Collectives* collectives = form.collectives(comm);
    if (!collectives) return false;
    auto&& kept = form.template keep<CountsOf<Form>>();
    std::vector<std::size_t>& counts = *kept;
    counts.assign(static_cast<std::size_t>(collectives->size()), static_cast<std::size_t>(receive_count));
    return reduce_scatter(form, *collectives, {send, receive, 0, datatype, operation, comm}, counts);
  }
};

/// receive = send op receive, by our kernel; false if there is none for it. No collective: what ran last stays what it was.
bool reduce_local(const ReductionCall& call) {
  if (!job() || !call.send || !call.receive || call.send == call.receive || call.send == MPI_IN_PLACE) return false;
  const Predefined* known = predefined(call);
  // A kernel stores whole elements, the host their members.
  if (!known || known->has_gaps || device_of(call.send) || device_of(call.receive)) return false;
  const void* sources[2] = {call.send, call.receive};
  known->combiner(call.receive, sources, 2, call.count);
  return true;
}

template <class Count, class Function>
int reduce_local_or(const void* in, void* inout, Count count, MPI_Datatype datatype, MPI_Op operation,
                    Function& forward) {
  if (count > 0 && reduce_local({in, inout, static_cast<std::size_t>(count), datatype, operation, MPI_COMM_NULL}))
    return MPI_SUCCESS;
  return forward(in, inout, count, datatype, operation);
}

}  // namespace

void add_reductions(OurFunctions& functions) {
  TUTTI_COLLECTIVE(Reduce, Ireduce, Reduce);
  TUTTI_COLLECTIVE(Allreduce, Iallreduce, Allreduce);
  TUTTI_COLLECTIVE(Reduce_scatter, Ireduce_scatter, ReduceScatter);
  TUTTI_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, ReduceScatterBlock);
  TUTTI_COLLECTIVE(Scan, Iscan, ScanOrExscan<false>);
  TUTTI_COLLECTIVE(Exscan, Iexscan, ScanOrExscan<true>);
}

void add_reductions(TUTTI_Team_functions& functions) {
  TUTTI_TEAM_COLLECTIVE(reduce, Reduce, Reduce);
  TUTTI_TEAM_COLLECTIVE(allreduce, Allreduce, Allreduce);
  TUTTI_TEAM_COLLECTIVE(reduce_scatter, Reduce_scatter, ReduceScatter);
  TUTTI_TEAM_COLLECTIVE(reduce_scatter_c, Reduce_scatter, ReduceScatter);
  TUTTI_TEAM_COLLECTIVE(reduce_scatter_block, Reduce_scatter_block, ReduceScatterBlock);
  TUTTI_TEAM_COLLECTIVE(scan, Scan, ScanOrExscan<false>);
  TUTTI_TEAM_COLLECTIVE(exscan, Exscan, ScanOrExscan<true>);
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_EXPORT int MPI_Reduce_local(const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op) {
  return reduce_local_or(inbuf, inoutbuf, count, datatype, op, next.Reduce_local);
}

TUTTI_EXPORT int MPI_Reduce_local_c(const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype,
                                    MPI_Op op) {
  return reduce_local_or(inbuf, inoutbuf, count, datatype, op, next.Reduce_local_c);
}
