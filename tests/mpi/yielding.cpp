// Whether a rank gives its processor away while the program asks for a request again and again: sched_yield of this program
// comes before that of libc, and counts.
//
//     yielding [TEST]

#include <mpi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support.h"

using namespace tutti::tests;

namespace {

constinit thread_local long yields = 0;

}  // namespace

extern "C" __attribute__((visibility("default"))) int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace {

constexpr int asked = 100;
/// In some of the turns of a host something of its own may come to an end.
constexpr int most = asked / 2;

struct Start {
  const char* name;
  int (*start)(MPI_Request*);
};
constexpr Start starts[] = {
    {"Ibarrier", [](MPI_Request* request) { return MPI_Ibarrier(MPI_COMM_WORLD, request); }},
    {"Ibcast",
     [](MPI_Request* request) {
       static int value = 0;
       int size = 0;
       MPI_Comm_size(MPI_COMM_WORLD, &size);
       return MPI_Ibcast(&value, 1, MPI_INT, size - 1, MPI_COMM_WORLD, request);
     }},
};

/// Rank 0 asks for what cannot end before it has stopped asking: the last rank begins when it is told to. check(what, how
/// often the processor was given away).
template <class Check>
void ask_in_vain(Context& context, const Check& check) {
  const int last = context.size() - 1;
  for (const Start& each : starts) {
    int word = 0;
    if (last > 0 && context.rank() == last) MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request request = MPI_REQUEST_NULL;
    each.start(&request);
    if (last > 0 && context.rank() == 0) {
      const long before = yields;
      int flag = 0;
      for (int i = 0; i < asked && !flag; ++i) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      context.expect(!flag, "%s has ended before the last rank came", each.name);
      check(each.name, yields - before);
      MPI_Send(&word, 1, MPI_INT, last, 0, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

void who_asks_in_vain_gives_the_processor_away(Context& context) {
  ask_in_vain(context, [&](const char* what, long found) {
    if (tutti_is_there()) context.expect(found >= most, "%s: %ld times of %d", what, found, asked);
  });
}

void who_has_a_processor_keeps_it(Context& context) {
  ask_in_vain(context, [&](const char* what, long found) {
    if (tutti_is_there()) context.expect(found < most, "%s: given away %ld times of %d", what, found, asked);
  });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    Context context(nullptr, 0);
    status = run_tests(context,
                       {{"who_asks_in_vain_gives_the_processor_away", &who_asks_in_vain_gives_the_processor_away},
                        {"who_has_a_processor_keeps_it", &who_has_a_processor_keeps_it}},
                       argc, argv);
  }
  MPI_Finalize();
  return status;
}
