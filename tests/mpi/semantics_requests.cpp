// What requests of ours are to a program that looks at them closely: statuses, errors, wrong use, and what goes wrong in
// functions of the program. Without the preload all of it is the host's own.
#include <cstring>
#include <stdexcept>
#include <vector>

#include "block_buffers.h"
#include "semantics.h"

namespace tutti::tests {

namespace {

constexpr int unlike_any = 0x5a5a5a5a;

int error_class(int code) {
  int result = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &result);
  return result;
}

enum class Function { wait, test, waitany, testany, waitall, testall, waitsome, testsome };
constexpr const char* kFunctions[] = {"Wait",    "Test",    "Waitany",  "Testany",
                                      "Waitall", "Testall", "Waitsome", "Testsome"};

/// MPI_ERROR of the first status that the function writes for these two requests, where another value stood before.
int error_after(Function function, MPI_Request (&requests)[2]) {
  MPI_Status statuses[2];
  for (MPI_Status& each : statuses) {
    std::memset(&each, 0, sizeof each);
    each.MPI_ERROR = unlike_any;
  }
  int flag = 0, index = 0, count = 0, indices[2];
  switch (function) {
    case Function::wait:
      MPI_Wait(&requests[0], &statuses[0]);
      break;
    case Function::test:
      while (!flag) MPI_Test(&requests[0], &flag, &statuses[0]);
      break;
    case Function::waitany:
      MPI_Waitany(2, requests, &index, &statuses[0]);
      break;
    case Function::testany:
      while (!flag) MPI_Testany(2, requests, &index, &flag, &statuses[0]);
      break;
    case Function::waitall:
      MPI_Waitall(2, requests, statuses);
      break;
    case Function::testall:
      while (!flag) MPI_Testall(2, requests, &flag, statuses);
      break;
    case Function::waitsome:
      MPI_Waitsome(2, requests, &count, indices, statuses);
      break;
    case Function::testsome:
      while (count == 0) MPI_Testsome(2, requests, &count, indices, statuses);
  }
  const int error = statuses[0].MPI_ERROR;
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  return error;
}

int handler_calls = 0;
void count_errors(MPI_Comm*, int*, ...) {
  ++handler_calls;
}

bool throws = false;
void sum_or_throw(void* in, void* inout, int* count, MPI_Datatype*) {
  if (throws) throw std::runtime_error("of the program");
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

template <class Call>
bool is_thrown_out_of(const Call& call) {
  throws = true;
  bool thrown = false;
  try {
    call();
  } catch (const std::runtime_error& exception) {
    thrown = std::strcmp(exception.what(), "of the program") == 0;
  }
  throws = false;
  return thrown;
}

}  // namespace

void errors_stand_in_statuses_where_the_host_writes_them(Context& context) {
  for (int i = 0; i <= static_cast<int>(Function::testsome); ++i) {
    const auto function = static_cast<Function>(i);
    int sent = 1, got[2] = {0, 0};
    MPI_Request requests[2];
    for (int j = 0; j < 2; ++j) MPI_Irecv(&got[j], 1, MPI_INT, 0, j, MPI_COMM_SELF, &requests[j]);
    for (int j = 0; j < 2; ++j) MPI_Send(&sent, 1, MPI_INT, 0, j, MPI_COMM_SELF);
    const int of_messages = error_after(function, requests);
    for (MPI_Request& each : requests) MPI_Ibarrier(MPI_COMM_WORLD, &each);
    const int of_collectives = error_after(function, requests);
    context.expect(of_messages == of_collectives, "MPI_%s: %x after messages, %x after collectives", kFunctions[i],
                   static_cast<unsigned>(of_messages), static_cast<unsigned>(of_collectives));
  }
}

void wrong_use_of_requests_is_answered_as_by_the_host(Context& context) {
  if (context.size() < 2 || !tutti_is_there()) return;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&count_errors, &handler);
  MPI_Comm_set_errhandler(communicator, handler);
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN);
  handler_calls = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(communicator, &request);
  context.expect(error_class(MPI_Start(&request)) == MPI_ERR_REQUEST, "MPI_Start of what is not persistent");
  context.expect(error_class(MPI_Startall(1, &request)) == MPI_ERR_REQUEST, "MPI_Startall of what is not persistent");
  context.expect(
      error_class(MPI_Startall(-1, &request)) == error_class(PMPI_Waitall(-1, &request, MPI_STATUSES_IGNORE)),
      "MPI_Startall of -1");
  context.expect(MPI_Cancel(&request) != MPI_SUCCESS, "MPI_Cancel of a collective");
  context.expect(handler_calls == 0, "they are no errors of the communicator");
  const int code = MPI_Request_free(&request);
#ifdef OPEN_MPI
  context.expect(error_class(code) == MPI_ERR_REQUEST || request == MPI_REQUEST_NULL, "MPI_Request_free: %d", code);
#else
  context.expect(code == MPI_SUCCESS && request == MPI_REQUEST_NULL, "MPI_Request_free: %d", code);
#endif
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
  // One request twice: hosts bear it.
  MPI_Ibarrier(communicator, &request);
  MPI_Request twice[2] = {request, request};
  MPI_Waitall(2, twice, MPI_STATUSES_IGNORE);
  context.expect(twice[0] == MPI_REQUEST_NULL && twice[1] == MPI_REQUEST_NULL, "both places are null");
  MPI_Barrier(communicator);
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  exercise(context, communicator, "after wrong use");
  MPI_Comm_free(&communicator);
}

void the_error_handler_outlives_its_communicator(Context& context) {
  // What hosts say of too little room is theirs.
  if (!tutti_is_there() || context.size() < 2) return;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&count_errors, &handler);
  MPI_Comm_set_errhandler(communicator, handler);
  MPI_Errhandler_free(&handler);
  handler_calls = 0;
  int values[4] = {1, 2, 3, 4};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(values, context.rank() == 0 ? 4 : 2, MPI_INT, 0, communicator, &request);
  MPI_Comm_free(&communicator);
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  const bool too_little = context.rank() > 0;
  context.expect(handler_calls == (too_little ? 1 : 0), "it was called %d times", handler_calls);
  context.expect(error_class(code) == (too_little ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "the error is %d", code);
}

void what_operators_throw_arrives_at_the_program(Context& context) {
  // Hosts let it pass, but in some their other ranks wait for ever then.
  if (!tutti_is_there() || context.size() < 2) return;
  MPI_Op operation = MPI_OP_NULL;
  MPI_Op_create(&sum_or_throw, 1, &operation);
  int one = 1, sum = 0, all = 0;
  int thrown = is_thrown_out_of([&] { MPI_Allreduce(&one, &sum, 1, MPI_INT, operation, MPI_COMM_WORLD); });
  // Algorithms differ in who runs the operator.
  MPI_Allreduce(&thrown, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  context.expect(all > 0, "MPI_Allreduce throws");
  // With some hosts it is theirs (docs/decisions/nonblocking.md), and what is thrown through them leaves them in disorder.
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, operation, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (last_was_ours()) {
    thrown = is_thrown_out_of([&] {
      MPI_Iallreduce(&one, &sum, 1, MPI_INT, operation, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    MPI_Allreduce(&thrown, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    context.expect(all > 0, "MPI_Iallreduce or MPI_Wait throws");
  }
  MPI_Allreduce(&one, &sum, 1, MPI_INT, operation, MPI_COMM_WORLD);
  context.expect(sum == context.size(), "the next call: %d", sum);
  MPI_Op_free(&operation);
  exercise(context, MPI_COMM_WORLD, "after exceptions", 10);
}

}  // namespace tutti::tests
