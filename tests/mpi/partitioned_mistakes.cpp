// Partitioned messages that are nothing, and calls that are wrong: the other side is the library's, and would wait for ever.
#include "partitioned.h"

namespace tutti::tests {

void a_message_to_nobody_is_over_at_once(Context& context) {
  if (!tutti_is_there()) return;  // MPICH does not outlive this
  int values[4] = {1, 2, 3, 4};
  MPI_Request all[2];
  MPI_Psend_init(values, 2, 2, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &all[0]);
  MPI_Precv_init(values, 2, 2, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &all[1]);
  for (int start = 0; start < 3; ++start) {
    MPI_Startall(2, all);
    MPI_Pready_range(0, 1, all[0]);
    int flag = 0, ints = -1;
    MPI_Parrived(all[1], 1, &flag);
    context.expect(flag == 1, "there is nothing to come");
    MPI_Status statuses[2];
    MPI_Waitall(2, all, statuses);
    MPI_Get_count(&statuses[1], MPI_INT, &ints);
    context.expect(statuses[1].MPI_SOURCE == MPI_PROC_NULL && statuses[1].MPI_TAG == MPI_ANY_TAG && ints == 0,
                   "source %d, tag %d, %d ints", statuses[1].MPI_SOURCE, statuses[1].MPI_TAG, ints);
  }
  context.expect(values[0] == 1 && values[3] == 4, "something was received");
  for (MPI_Request& each : all) MPI_Request_free(&each);
}

void messages_without_partitions_have_nothing(Context& context) {
  // One side may have as many partitions as it likes.
  int sent[6] = {}, received[6] = {1, 2, 3, 4, 5, 6};
  for (const int partitions : {0, 3}) {
    MPI_Request all[2];
    MPI_Psend_init(sent, 3 - partitions, 0, MPI_INT, next_of(context), 3, MPI_COMM_WORLD, MPI_INFO_NULL, &all[0]);
    MPI_Precv_init(received, partitions, 2, MPI_INT, before(context), 3, MPI_COMM_WORLD, MPI_INFO_NULL, &all[1]);
    for (int start = 0; start < 3; ++start) {
      MPI_Startall(2, all);
      for (int i = 0; i < 3 - partitions; ++i) MPI_Pready(i, all[0]);
      MPI_Status statuses[2];
      MPI_Waitall(2, all, statuses);
      int ints = -1;
      MPI_Get_count(&statuses[1], MPI_INT, &ints);
      context.expect(ints == 0 && received[0] == 1, "%d ints", ints);
    }
    for (MPI_Request& each : all) MPI_Request_free(&each);
  }
}

namespace {

/// What the handler of a communicator was called with last.
int told_class = MPI_SUCCESS, told_times = 0;

void note_error(MPI_Comm*, int* code, ...) {
  MPI_Error_class(*code, &told_class);
  ++told_times;
}

}  // namespace

void mistakes_are_refused_when_a_message_is_made(Context& context) {
  if (!tutti_is_there()) return;  // Open MPI takes most of them for good
  MPI_Comm communicator;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(note_error, &handler);
  MPI_Comm_set_errhandler(communicator, handler);
  int values[8] = {};
  constexpr auto too_many = MPI_Count{1} << 61;
  const int other = next_of(context);
  const struct {
    const char* what;
    void* buffer;
    int partitions;
    MPI_Count count;
    MPI_Datatype type;
    int rank, tag, error;
  } mistakes[] = {
      {"any source", values, 2, 2, MPI_INT, MPI_ANY_SOURCE, 0, MPI_ERR_RANK},
      {"any tag", values, 2, 2, MPI_INT, other, MPI_ANY_TAG, MPI_ERR_TAG},
      {"a rank that is not there", values, 2, 2, MPI_INT, context.size(), 0, MPI_ERR_RANK},
      {"a negative rank", values, 2, 2, MPI_INT, -1000, 0, MPI_ERR_RANK},
      {"a negative tag", values, 2, 2, MPI_INT, other, -1000, MPI_ERR_TAG},
      {"negative partitions", values, -2, 2, MPI_INT, other, 0, MPI_ERR_ARG},
      {"a negative count", values, 2, -2, MPI_INT, other, 0, MPI_ERR_COUNT},
      {"more than there can be", values, 4, too_many, MPI_INT, other, 0, MPI_ERR_COUNT},
      {"no type", values, 2, 2, MPI_DATATYPE_NULL, other, 0, MPI_ERR_TYPE},
      {"no buffer", nullptr, 2, 2, MPI_INT, other, 0, MPI_ERR_BUFFER},
  };
  for (const bool sends : {true, false})
    for (const auto& each : mistakes) {
      told_class = told_times = 0;
      MPI_Request request = MPI_REQUEST_NULL;
      if (sends)
        MPI_Psend_init(each.buffer, each.partitions, each.count, each.type, each.rank, each.tag, communicator,
                       MPI_INFO_NULL, &request);
      else
        MPI_Precv_init(each.buffer, each.partitions, each.count, each.type, each.rank, each.tag, communicator,
                       MPI_INFO_NULL, &request);
      context.expect(told_class == each.error && told_times == 1, "%s, %s: the handler was told of %d %d times",
                     each.what, sends ? "sent" : "received", told_class, told_times);
    }
  // None of them counts.
  PartitionedSide sent(context, Place::kHeap, false, 4, 400), received(context, Place::kHeap, false, 4, 400);
  MPI_Request all[2];
  sent.make(true, other, 0, communicator, all[0]);
  received.make(false, before(context), 0, communicator, all[1]);
  sent.fill(1);
  MPI_Startall(2, all);
  MPI_Pready_range(0, 3, all[0]);
  MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
  context.expect(received.wrong(1, 0, 400) == 0, "the next message is wrong");
  for (MPI_Request& each : all) MPI_Request_free(&each);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&communicator);
}

void mistakes_are_told(Context& context) {
  if (!tutti_is_there() || context.size() == 1) return;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int sent[6] = {}, received[6] = {};
  MPI_Request all[2];
  MPI_Psend_init(sent, 3, 2, MPI_INT, next_of(context), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &all[0]);
  MPI_Precv_init(received, 2, 2, MPI_INT, before(context), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &all[1]);
  int flag = 0;
  context.expect(MPI_Pready(0, all[0]) == MPI_ERR_REQUEST, "a message that was not started is marked");
  MPI_Startall(2, all);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);  // where some hosts raise what they say of requests
  int error_class = MPI_SUCCESS;
  MPI_Error_class(MPI_Start(&all[0]), &error_class);
  context.expect(error_class == MPI_ERR_REQUEST, "it is started twice");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  context.expect(MPI_Pready(3, all[0]) == MPI_ERR_ARG, "there is no partition 3");
  context.expect(MPI_Pready_range(-1, 1, all[0]) == MPI_ERR_ARG, "there is no partition -1");
  context.expect(MPI_Pready(0, all[1]) == MPI_ERR_REQUEST, "a receiver marks nothing");
  context.expect(MPI_Parrived(all[0], 0, &flag) == MPI_ERR_REQUEST, "a sender gets nothing");
  context.expect(MPI_Parrived(all[1], 2, &flag) == MPI_ERR_ARG, "it has no partition 2");
  MPI_Pready(1, all[0]);
  context.expect(MPI_Pready(1, all[0]) == MPI_ERR_ARG, "a partition is marked twice");
  int twice[] = {0, 0}, far[] = {2, 3};
  context.expect(MPI_Pready_list(2, far, all[0]) == MPI_ERR_ARG, "there is no partition 3 in a list");
  context.expect(MPI_Pready_list(2, twice, all[0]) == MPI_ERR_ARG, "a partition is marked twice in one list");
  context.expect(MPI_Parrived(all[1], -1, &flag) == MPI_ERR_ARG, "it has no partition -1");
  context.expect(MPI_Pready_range(2, 1, all[0]) == MPI_ERR_ARG, "a range ends before it begins");
  MPI_Pready(2, all[0]);
  MPI_Wait(&all[0], MPI_STATUS_IGNORE);
  // The receiver has no room for the third.
  MPI_Status status;
  int error = MPI_SUCCESS;
  MPI_Error_class(MPI_Wait(&all[1], &status), &error);
  context.expect(error == MPI_ERR_TRUNCATE, "error class %d", error);
  for (MPI_Request& each : all) MPI_Request_free(&each);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

}  // namespace tutti::tests
