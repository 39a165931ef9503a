#include <algorithm>
#include <functional>
#include <vector>

#include "semantics.h"

namespace tutti::tests {

namespace {

int error_class(int code) {
  int result = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &result);
  return result;
}

int handler_calls = 0;
int handler_class = MPI_SUCCESS;

void count_errors(MPI_Comm*, int* code, ...) {
  ++handler_calls;
  handler_class = error_class(*code);
}

struct BadCall {
  const char* what;
  std::function<int(MPI_Comm)> own;
  std::function<int(MPI_Comm)> host;
};

int buffer[4];
int other_buffer[4];

/// The same wrong call to both sides. Only calls that every host finds wrong before it communicates: MPICH 5.0 does not
/// see a negative count of Reduce and Allreduce, nor a type or an operator that does not fit.
std::vector<BadCall> bad_calls(int ranks) {
  std::vector<BadCall> calls;
#define BAD(what, call)                                                              \
  calls.push_back({what, [=]([[maybe_unused]] MPI_Comm comm) { return MPI_##call; }, \
                   [=]([[maybe_unused]] MPI_Comm comm) { return PMPI_##call; }})
  BAD("Bcast with a root beyond the last", Bcast(buffer, 1, MPI_INT, ranks, comm));
  BAD("Bcast with a negative root", Bcast(buffer, 1, MPI_INT, -7, comm));
  BAD("Bcast with a negative count", Bcast(buffer, -1, MPI_INT, 0, comm));
  BAD("Bcast without a type", Bcast(buffer, 1, MPI_DATATYPE_NULL, 0, comm));
  BAD("Bcast without a communicator", Bcast(buffer, 1, MPI_INT, 0, MPI_COMM_NULL));
  BAD("Reduce with a root beyond the last", Reduce(buffer, other_buffer, 1, MPI_INT, MPI_SUM, ranks, comm));
  BAD("Reduce without an operator", Reduce(buffer, other_buffer, 1, MPI_INT, MPI_OP_NULL, 0, comm));
  BAD("Reduce without a communicator", Reduce(buffer, other_buffer, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_NULL));
  BAD("Allreduce without an operator", Allreduce(buffer, other_buffer, 1, MPI_INT, MPI_OP_NULL, comm));
  BAD("Allreduce without a communicator", Allreduce(buffer, other_buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
  BAD("Scan without an operator", Scan(buffer, other_buffer, 1, MPI_INT, MPI_OP_NULL, comm));
  BAD("Exscan from where it receives", Exscan(buffer, buffer, 1, MPI_INT, MPI_SUM, comm));
  BAD("Exscan without a communicator", Exscan(buffer, other_buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
  BAD("Reduce_scatter_block without an operator",
      Reduce_scatter_block(buffer, other_buffer, 1, MPI_INT, MPI_OP_NULL, comm));
  BAD("Reduce_scatter_block without a communicator",
      Reduce_scatter_block(buffer, other_buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
  BAD("Barrier without a communicator", Barrier(MPI_COMM_NULL));
#undef BAD
  return calls;
}

}  // namespace

void errors_are_those_of_the_host(Context& context) {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  for (MPI_Comm each : {communicator, MPI_COMM_WORLD, MPI_COMM_SELF}) PMPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN);
  for (const BadCall& call : bad_calls(context.size())) {
    const int host = error_class(call.host(communicator));
    const int own = error_class(call.own(communicator));
    context.expect(own == host, "%s: error class %d, the host's is %d", call.what, own, host);
  }
  // A handler of the program is called, once, with the communicator's error.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&count_errors, &handler);
  MPI_Comm_set_errhandler(communicator, handler);
  handler_calls = 0;
  PMPI_Bcast(buffer, 1, MPI_INT, context.size(), communicator);
  const int host_calls = handler_calls;
  const int host_class = handler_class;
  handler_calls = 0;
  MPI_Bcast(buffer, 1, MPI_INT, context.size(), communicator);
  context.expect(handler_calls == host_calls && handler_class == host_class,
                 "the program's error handler was called %d times with class %d, by the host %d times with class %d",
                 handler_calls, handler_class, host_calls, host_class);
  MPI_Errhandler_free(&handler);
  // All is well afterwards.
  PMPI_Comm_set_errhandler(communicator, MPI_ERRORS_ARE_FATAL);
  exercise(context, communicator, "a communicator after errors", 10);
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) PMPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&communicator);
}

namespace {

/// A call in which the last rank does something else than the others.
struct OddCall {
  const char* what;
  std::size_t room;  ///< ints that may be stored on the odd rank
  std::function<int(MPI_Comm, bool odd, int* send, int* receive)> run;
};

std::vector<OddCall> odd_calls(int last) {
  std::vector<OddCall> calls;
#define ODD(what, room, call)                                                                                 \
  calls.push_back({what, room,                                                                                \
                   [=]([[maybe_unused]] MPI_Comm comm, [[maybe_unused]] bool odd, [[maybe_unused]] int* send, \
                       [[maybe_unused]] int* receive) { return call; }})
  ODD("Bcast of 1 MB to a rank with 64 KB", 16'384, MPI_Bcast(receive, odd ? 16'384 : 262'144, MPI_INT, 0, comm));
  ODD("Bcast of 100 ints to a rank with 2", 2, MPI_Bcast(receive, odd ? 2 : 100, MPI_INT, 0, comm));
  ODD("Bcast of 2 ints to a rank with 100", 100, MPI_Bcast(receive, odd ? 100 : 2, MPI_INT, 0, comm));
  ODD("Allreduce of more on one rank", 100'000,
      MPI_Allreduce(send, receive, odd ? 100'000 : 90'000, MPI_INT, MPI_SUM, comm));
  ODD("Allreduce of less on one rank", 5, MPI_Allreduce(send, receive, odd ? 5 : 10, MPI_INT, MPI_SUM, comm));
  ODD("Reduce to a rank with less", 5'000,
      MPI_Reduce(send, receive, odd ? 5'000 : 70'000, MPI_INT, MPI_SUM, last, comm));
  ODD("Gather to a rank with less", static_cast<std::size_t>(4'000 * (last + 1)),
      MPI_Gather(send, 5'000, MPI_INT, receive, odd ? 4'000 : 0, MPI_INT, last, comm));
  ODD("Barrier on one rank, Bcast on the others", 0,
      odd ? MPI_Barrier(comm) : MPI_Bcast(receive, 100'000, MPI_INT, 0, comm));
  ODD("Bcast on one rank, Barrier on the others", 4, odd ? MPI_Bcast(receive, 4, MPI_INT, 0, comm) : MPI_Barrier(comm));
#undef ODD
  return calls;
}

}  // namespace

void ranks_in_different_calls_are_told(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;  // some hosts wait for ever
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&count_errors, &handler);
  constexpr std::size_t ints = 270'000;
  std::vector<int> send(ints, 1), receive(ints);
  const bool odd = context.rank() == context.size() - 1;
  for (const OddCall& call : odd_calls(context.size() - 1)) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    std::fill(receive.begin(), receive.end(), -1);
    handler_calls = 0;
    handler_class = MPI_SUCCESS;
    const int code = error_class(call.run(comm, odd, send.data(), receive.data()));
    context.expect(code == handler_class && handler_calls == (code == MPI_SUCCESS ? 0 : 1) &&
                       (code == MPI_ERR_TRUNCATE || (!odd && code == MPI_SUCCESS)),
                   "%s: error class %d, the handler was called %d times with class %d", call.what, code, handler_calls,
                   handler_class);
    const auto behind = receive.begin() + static_cast<std::ptrdiff_t>(call.room);
    context.expect(!odd || std::all_of(behind, receive.end(), [](int value) { return value == -1; }),
                   "%s: bytes behind the buffer were overwritten", call.what);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
  }
  MPI_Errhandler_free(&handler);
  exercise(context, MPI_COMM_WORLD, "another communicator after calls that did not match", 10);
}

}  // namespace tutti::tests
