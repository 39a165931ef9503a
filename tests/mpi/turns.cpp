// Whether the host gets its turns from ranks that only call collectives: what it has to do for the program's other calls
// goes on, and where it has nothing to do it costs little.
//
//     turns [TEST...]

#include <dlfcn.h>
#include <mpi.h>
#include <sys/resource.h>

#include <vector>

#include "support.h"

using namespace tutti::tests;

namespace {

struct Meeting {
  const char* name;
  void (*run)();
};

/// Nobody leaves one of these before all have come.
const Meeting meetings[] = {
    {"Barrier", [] { MPI_Barrier(MPI_COMM_WORLD); }},
    {"Allreduce",
     [] {
       int one = 1, sum = 0;
       MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
     }},
    {"Ibarrier",
     [] {
       MPI_Request request = MPI_REQUEST_NULL;
       MPI_Ibarrier(MPI_COMM_WORLD, &request);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    {"loop of MPI_Test",
     [] {
       MPI_Request request = MPI_REQUEST_NULL;
       MPI_Ibarrier(MPI_COMM_WORLD, &request);
       for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
     }},
};

/// A buffer with room for one message: it is free again after a meeting, before which the message has been received.
void buffered_sends_are_over_after_a_meeting(Context& context) {
  constexpr int bytes = 1 << 20, times = 10;
  if (context.size() < 2) return;
  std::vector<char> message(bytes), buffer(bytes + MPI_BSEND_OVERHEAD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  for (const Meeting& meeting : meetings) {
    int refused = 0;
    for (int i = 0; i < times; ++i) {
      if (context.rank() == 0 && MPI_Bsend(message.data(), bytes, MPI_CHAR, 1, i, MPI_COMM_WORLD) != MPI_SUCCESS) {
        ++refused;
        MPI_Send(message.data(), bytes, MPI_CHAR, 1, i, MPI_COMM_WORLD);
      }
      if (context.rank() == 1)
        MPI_Recv(message.data(), bytes, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      meeting.run();
    }
    context.expect(refused == 0, "%d of %d buffered sends were refused after %s", refused, times, meeting.name);
  }
  void* detached = nullptr;
  int size = 0;
  MPI_Buffer_detach(&detached, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

long sleeps() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

/// Ranks that share processors sleep in long waits, but not where others may at any time want something of a window here.
void who_has_a_window_does_not_sleep(Context& context) {
  constexpr int accesses = 50;
  double* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(static_cast<MPI_Aint>(64 * sizeof(double)), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                   static_cast<void*>(&memory), &window);
  MPI_Datatype apart = MPI_DATATYPE_NULL;
  MPI_Type_vector(8, 1, 2, MPI_DOUBLE, &apart);
  MPI_Type_commit(&apart);
  double values[16] = {};
  for (double& value : values) value = 1;
  for (int i = 0; i < 64; ++i) memory[i] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const long before = sleeps();
  if (context.rank() != 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    for (int i = 0; i < accesses; ++i) {
      MPI_Accumulate(values, 1, apart, 0, 0, 1, apart, MPI_SUM, window);
      MPI_Win_flush(0, window);
    }
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (context.rank() == 0) {
    const long slept = sleeps() - before;
    if (tutti_is_there()) context.expect(slept < 5, "%ld sleeps in a Barrier", slept);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    const double expected = accesses * (context.size() - 1);
    context.expect(memory[0] == expected && memory[2] == expected, "accumulated %g, not %g", memory[0], expected);
    MPI_Win_unlock(0, window);
  }
  MPI_Type_free(&apart);
  MPI_Win_free(&window);
}

long turns = 0;

int count_turn() {
  ++turns;
  return 0;
}

/// Open MPI tells of its turns. Broadcasts of which rank 0 finds everything there, so that it does not wait.
long turns_of_broadcasts(Context& context, int rounds, int each) {
  long found = 0;
  for (int i = 0; i < rounds; ++i) {
    int word = 0;
    if (context.rank() == 0) MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const long before = turns;
    for (int k = 0; k < each; ++k) MPI_Bcast(&word, 1, MPI_INT, 1, MPI_COMM_WORLD);
    found += turns - before;
    if (context.rank() == 1) MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return found;
}

void turns_that_nobody_needs_are_few(Context& context) {
  using Register = int(int (*)());
  auto* const begin = reinterpret_cast<Register*>(dlsym(RTLD_DEFAULT, "opal_progress_register"));
  if (!begin || !tutti_is_there() || context.size() != 2) return;
  begin(count_turn);
  constexpr int rounds = 100, each = 10, calls = rounds * each;
  turns_of_broadcasts(context, rounds, each);  // what a turn costs has been seen
  const long without = turns_of_broadcasts(context, rounds, each);
  std::vector<char> buffer(1000 + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  const long with = turns_of_broadcasts(context, rounds, each);
  void* detached = nullptr;
  int size = 0;
  MPI_Buffer_detach(&detached, &size);
  turns_of_broadcasts(context, 1, each);
  const long after = turns_of_broadcasts(context, rounds, each);
  if (context.rank() != 0) return;
  context.expect(without > 0 && without < calls / 5, "%ld turns in %d calls where nothing needs one", without, calls);
  context.expect(with >= calls, "%ld turns in %d calls while a buffer is attached", with, calls);
  context.expect(after < calls / 5, "%ld turns in %d calls after it was detached", after, calls);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    Context context(nullptr, 0);
    status = run_tests(context,
                       {{"buffered_sends_are_over_after_a_meeting", &buffered_sends_are_over_after_a_meeting},
                        {"who_has_a_window_does_not_sleep", &who_has_a_window_does_not_sleep},
                        {"turns_that_nobody_needs_are_few", &turns_that_nobody_needs_are_few}},
                       argc, argv);
  }
  MPI_Finalize();
  return status;
}
