// Calls that the host refuses, on some ranks alone: they are no calls, as far as the others are concerned.
#include <algorithm>
#include <functional>
#include <vector>

#include "semantics.h"

namespace tutti::tests {

namespace {

/// What a call needs.
struct Arguments {
  MPI_Comm comm;
  bool wrong;  ///< in a way that every host finds before it communicates
  int ranks;
  int n;  ///< ints of a message or a block
  int* send;
  int* receive;
};

struct Refusable {
  const char* what;
  std::function<int(const Arguments&)> own;
  std::function<int(const Arguments&)> host;
};

std::vector<Refusable> refusable_calls() {
  std::vector<Refusable> calls;
#define REFUSABLE(what, call)                                      \
  calls.push_back({what,                                           \
                   [](const Arguments& a) {                        \
                     const auto [comm, wrong, ranks, n, s, r] = a; \
                     static_cast<void>(s), static_cast<void>(n);   \
                     static_cast<void>(ranks);                     \
                     return MPI_##call;                            \
                   },                                              \
                   [](const Arguments& a) {                        \
                     const auto [comm, wrong, ranks, n, s, r] = a; \
                     static_cast<void>(s), static_cast<void>(n);   \
                     static_cast<void>(ranks);                     \
                     return PMPI_##call;                           \
                   }})
  REFUSABLE("Bcast with a root beyond the last", Bcast(r, n, MPI_INT, wrong ? ranks : 0, comm));
  REFUSABLE("Bcast with a negative count", Bcast(r, wrong ? -1 : n, MPI_INT, 0, comm));
  REFUSABLE("Bcast without a type", Bcast(r, n, wrong ? MPI_DATATYPE_NULL : MPI_INT, ranks - 1, comm));
  REFUSABLE("Reduce with a root beyond the last", Reduce(s, r, n, MPI_INT, MPI_SUM, wrong ? ranks : 0, comm));
  REFUSABLE("Allreduce without an operator", Allreduce(s, r, n, MPI_INT, wrong ? MPI_OP_NULL : MPI_SUM, comm));
  REFUSABLE("Scan without an operator", Scan(s, r, n, MPI_INT, wrong ? MPI_OP_NULL : MPI_SUM, comm));
  REFUSABLE("Reduce_scatter_block without an operator",
            Reduce_scatter_block(s, r, n, MPI_INT, wrong ? MPI_OP_NULL : MPI_SUM, comm));
  REFUSABLE("Allgather with negative counts", Allgather(s, wrong ? -1 : n, MPI_INT, r, wrong ? -1 : n, MPI_INT, comm));
  REFUSABLE("Alltoall without types",
            Alltoall(s, n, wrong ? MPI_DATATYPE_NULL : MPI_INT, r, n, wrong ? MPI_DATATYPE_NULL : MPI_INT, comm));
  REFUSABLE("Gather with a root beyond the last", Gather(s, n, MPI_INT, r, n, MPI_INT, wrong ? ranks : 0, comm));
  REFUSABLE("Scatter with a root beyond the last", Scatter(s, n, MPI_INT, r, n, MPI_INT, wrong ? ranks : 0, comm));
#undef REFUSABLE
  return calls;
}

/// A duplicate of MPI_COMM_WORLD that returns errors, and buffers for the calls on it.
class Stage {
 public:
  explicit Stage(const Context& context) : context_(context) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    send_.resize(ints_max * static_cast<std::size_t>(context.size()));
    for (std::size_t i = 0; i < send_.size(); ++i) send_[i] = static_cast<int>(i) + 7 * context.rank();
    receive_.resize(send_.size());
  }
  ~Stage() { MPI_Comm_free(&comm_); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  static constexpr int ints_max = 5000;
  MPI_Comm comm() const { return comm_; }
  /// What is received is made anew: another on each rank.
  Arguments arguments(bool wrong, int n) {
    std::fill(receive_.begin(), receive_.end(), -1 - context_.rank());
    return {comm_, wrong, context_.size(), n, send_.data(), receive_.data()};
  }
  const std::vector<int>& received() const { return receive_; }

 private:
  const Context& context_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<int> send_, receive_;
};

/// On which ranks a call is wrong.
enum class Who { first, last, all };
constexpr Who everybody[] = {Who::first, Who::last, Who::all};

bool is_among(Who who, const Context& context) {
  return who == Who::all || context.rank() == (who == Who::first ? 0 : context.size() - 1);
}

}  // namespace

void refused_calls_of_some_ranks_count_nothing(Context& context) {
  Stage stage(context);
  exercise(context, stage.comm(), "before refused calls", 10);
  for (const Refusable& call : refusable_calls())
    for (const Who who : everybody) {
      if (is_among(who, context)) {
        const int code = call.own(stage.arguments(true, 10));
        context.expect(code != MPI_SUCCESS, "%s: no error", call.what);
      }
      exercise(context, stage.comm(), call.what, 10);
    }
  for (const int times : {40, 300}) {
    for (int i = 0; i < times && is_among(Who::last, context); ++i)
      for (const Refusable& call : refusable_calls()) call.own(stage.arguments(true, 10));
    for (const int count : {1, 2000}) exercise(context, stage.comm(), "after many refused calls", count);
  }
}

void a_refused_call_is_made_up_for_by_the_next(Context& context) {
  Stage stage(context);
  for (const Refusable& call : refusable_calls())
    for (const Who who : everybody)
      for (const int n : {1, Stage::ints_max}) {
        call.host(stage.arguments(false, n));
        const std::vector<int> expected = stage.received();
        if (is_among(who, context)) {
          const int refused = call.own(stage.arguments(true, n));
          context.expect(refused != MPI_SUCCESS, "%s: no error", call.what);
        }
        const int code = call.own(stage.arguments(false, n));
        context.expect(code == MPI_SUCCESS && stage.received() == expected, "%s, and made anew with %d ints: %s",
                       call.what, n, code == MPI_SUCCESS ? "wrong data" : "an error");
      }
  exercise(context, stage.comm(), "after calls that were made anew", 10);
}

namespace {

int handler_calls = 0;
int sum_of_handler = 0;

/// A handler that communicates, where every rank's does.
void communicate(MPI_Comm* comm, int*, ...) {
  ++handler_calls;
  const int one = 1;
  MPI_Allreduce(&one, &sum_of_handler, 1, MPI_INT, MPI_SUM, *comm);
}

void count(MPI_Comm*, int*, ...) {
  ++handler_calls;
}

/// The communicator gets another handler until the end of the scope.
class Handler {
 public:
  Handler(MPI_Comm comm, MPI_Comm_errhandler_function* function) : comm_(comm) {
    handler_calls = 0;
    MPI_Comm_create_errhandler(function, &handler_);
    MPI_Comm_set_errhandler(comm, handler_);
  }
  ~Handler() {
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler_);
  }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

}  // namespace

void error_handlers_may_call_collectives(Context& context) {
  Stage stage(context);
  for (const Refusable& call : refusable_calls())
    for (const Who who : {Who::all, Who::last}) {
      const Handler handler(stage.comm(), &communicate);
      const bool wrong = is_among(who, context);
      sum_of_handler = 0;
      if (wrong) {
        call.own(stage.arguments(true, 10));
      } else {  // what that rank's handler calls
        const int one = 1;
        MPI_Allreduce(&one, &sum_of_handler, 1, MPI_INT, MPI_SUM, stage.comm());
      }
      context.expect(handler_calls == (wrong ? 1 : 0) && sum_of_handler == context.size(),
                     "%s: %d calls of the handler, which got %d", call.what, handler_calls, sum_of_handler);
      exercise(context, stage.comm(), "after a handler that communicates", 10);
    }
}

namespace {

/// The last rank's call is refused, and the others are in it. Its next one is another than theirs.
struct OutOfStep {
  const char* what;
  std::function<void(const Context&, MPI_Comm)> run;
};

void refused_bcast(const Context& context, MPI_Comm comm) {
  int value = 0;
  MPI_Bcast(&value, 1, MPI_INT, context.size(), comm);
}
void good_bcast(MPI_Comm comm, int root) {
  int value = 0;
  MPI_Bcast(&value, 1, MPI_INT, root, comm);
}
int allreduce_of_one(MPI_Comm comm) {
  int one = 1, sum = 0;
  return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
}

const std::vector<OutOfStep>& ways_out_of_step() {
  static const std::vector<OutOfStep> ways{
      {"all wait for the rank that was refused",
       [](const Context& context, MPI_Comm comm) {
         const bool odd = context.rank() == context.size() - 1;
         if (odd) {
           refused_bcast(context, comm);
           MPI_Barrier(comm);
         } else {
           allreduce_of_one(comm);
         }
       }},
      {"the others have gone on",
       [](const Context& context, MPI_Comm comm) {
         if (context.rank() == context.size() - 1)
           refused_bcast(context, comm);
         else
           good_bcast(comm, 0);
         allreduce_of_one(comm);
       }},
      {"the rank that was refused has gone on",
       [](const Context& context, MPI_Comm comm) {
         const int last = context.size() - 1;
         if (context.rank() == last)
           refused_bcast(context, comm);
         else
           good_bcast(comm, 0);
         good_bcast(comm, last);
         allreduce_of_one(comm);
       }},
      {"a reader of a long message has too little room",
       [](const Context& context, MPI_Comm comm) {
         const bool odd = context.rank() == context.size() - 1;
         std::vector<int> values(std::size_t{1} << 20);
         MPI_Bcast(values.data(), odd ? 1 << 18 : 1 << 20, MPI_INT, 0, comm);
       }},
  };
  return ways;
}

}  // namespace

void ranks_out_of_step_are_told_at_once(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;  // hosts pair what does not belong together, or wait for ever
  for (const OutOfStep& way : ways_out_of_step()) {
    Stage stage(context);
    const Handler handler(stage.comm(), &count);
    way.run(context, stage.comm());
    // From now on either all calls work, or none does, on any rank.
    handler_calls = 0;
    int good = 0;
    constexpr int calls = 100;
    for (int i = 0; i < calls; ++i) {
      int value = context.rank() + i, sum = 0;
      if (MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, stage.comm()) != MPI_SUCCESS) continue;
      ++good;
      const int ranks = context.size();
      context.expect(sum == ranks * (ranks - 1) / 2 + ranks * i, "%s: call %d is paired with another", way.what, i);
    }
    context.expect((good == calls && handler_calls == 0) || (good == 0 && handler_calls == calls),
                   "%s: %d of %d calls were good, %d calls of the handler", way.what, good, calls, handler_calls);
  }
  exercise(context, MPI_COMM_WORLD, "another communicator after ranks were out of step", 10);
}

}  // namespace tutti::tests
