// Programs on several nodes, which tests/nodes makes of one machine. The first argument says which:
//
//     collectives [TEST...]    on communicators of every relation to the nodes; "SHAPE 2,2,1" tells the ranks of each node
//     ends WAY [pending]       the last rank ends in that way (endings.h); those of its node wait in a collective of the node,
//                              all others in one of all; pending: all have started nonblocking and persistent ones of all,
//                              and wait for these. Each prints PID, its rank and its process before
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "endings.h"
#include "inits.h"
#include "support.h"

using namespace tutti::tests;

namespace {

constexpr int some = 7, many = 20'000;

/// A communicator that is freed.
class Part {
 public:
  explicit Part(MPI_Comm made) : made_(made) {}
  ~Part() {
    if (made_ != MPI_COMM_NULL) MPI_Comm_free(&made_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  MPI_Comm get() const { return made_; }
  bool is_of_us() const { return made_ != MPI_COMM_NULL; }
  int rank() const { return ask(MPI_Comm_rank); }
  int size() const { return ask(MPI_Comm_size); }

 private:
  int ask(int (*question)(MPI_Comm, int*)) const {
    int answer = 0;
    question(made_, &answer);
    return answer;
  }
  MPI_Comm made_;
};

MPI_Comm node_of(MPI_Comm all, int key) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, &node);
  return node;
}

MPI_Comm split(MPI_Comm all, int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(all, color, key, &part);
  return part;
}

/// A number for each node: the lowest of its ranks.
int number_of_node(const Context& context, const Part& node) {
  int lowest = context.rank();
  MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, node.get());
  return lowest;
}

/// Exchanges of blocks, with results known beforehand.
void exercise_blocks(Context& context, const Part& part, const char* what, int count) {
  const int rank = part.rank(), size = part.size();
  const auto ints = static_cast<std::size_t>(count);
  const auto value = [&](int from, int to, int at) { return 1'000'000 * from + 1000 * to + at % 1000; };
  std::vector<int> send(ints * static_cast<std::size_t>(size)), receive(send.size(), -1), one(ints, -1);
  const auto is_from_each_to = [&](int to) {
    for (int from = 0, index = 0; from < size; ++from)
      for (int at = 0; at < count; ++at, ++index)
        if (receive[static_cast<std::size_t>(index)] != value(from, to, at)) return false;
    return true;
  };
  for (int to = 0, index = 0; to < size; ++to)
    for (int at = 0; at < count; ++at) send[static_cast<std::size_t>(index++)] = value(rank, to, at);
  MPI_Alltoall(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, part.get());
  context.expect(is_from_each_to(rank), "%s: Alltoall of %d ints", what, count);

  std::fill(receive.begin(), receive.end(), -1);
  MPI_Allgather(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, part.get());
  context.expect(is_from_each_to(0), "%s: Allgather of %d ints", what, count);

  const int root = size - 1;
  std::fill(receive.begin(), receive.end(), -1);
  MPI_Gather(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, root, part.get());
  context.expect(rank != root || is_from_each_to(0), "%s: Gather of %d ints", what, count);

  MPI_Scatter(send.data(), count, MPI_INT, one.data(), count, MPI_INT, root, part.get());
  for (int at = 0; at < count; ++at)
    if (!context.expect(one[static_cast<std::size_t>(at)] == value(root, rank, at), "%s: Scatter of %d ints", what,
                        count))
      break;
}

void exercise_all(Context& context, const Part& part, const char* what) {
  if (!part.is_of_us()) return;
  for (const int count : {1, some, many}) {
    exercise(context, part.get(), what, count);
    exercise_blocks(context, part, what, count);
  }
}

// --- tests -----------------------------------------------------------------------------------------------------------

void nodes_have_names_of_their_own(Context& context) {
  const Part node(node_of(MPI_COMM_WORLD, 0));
  struct Name {
    char text[256];
  };
  Name own{};
  gethostname(own.text, sizeof own.text - 1);
  const int here = number_of_node(context, node);
  std::vector<Name> names(static_cast<std::size_t>(context.size()));
  std::vector<int> numbers(names.size());
  MPI_Allgather(&own, sizeof own, MPI_BYTE, names.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD);
  MPI_Allgather(&here, 1, MPI_INT, numbers.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < names.size(); ++i)
    context.expect((std::strcmp(names[i].text, own.text) == 0) == (numbers[i] == here),
                   "rank %zu is on %s, and shares memory with rank %d", i, names[i].text, numbers[i]);
  std::string shape;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] == static_cast<int>(i))
      shape += (shape.empty() ? "" : ",") + std::to_string(std::count(numbers.begin(), numbers.end(), numbers[i]));
  if (context.rank() == 0) std::printf("SHAPE %s\n", shape.c_str());
}

void collectives_within_nodes(Context& context) {
  exercise_all(context, Part(node_of(MPI_COMM_WORLD, 0)), "a node");
  exercise_all(context, Part(node_of(MPI_COMM_WORLD, -context.rank())), "a node, backwards");
}

void collectives_of_all(Context& context) {
  exercise_all(context, Part(split(MPI_COMM_WORLD, 0, 0)), "all");
  exercise_all(context, Part(split(MPI_COMM_WORLD, 0, -context.rank())), "all, backwards");
}

void collectives_between_nodes(Context& context) {
  const Part node(node_of(MPI_COMM_WORLD, 0));
  exercise_all(context, Part(split(MPI_COMM_WORLD, node.rank(), 0)), "one of each node");
}

void collectives_of_parts_of_nodes(Context& context) {
  const int ranks = context.size();
  const bool inside = context.rank() > 0 && context.rank() < ranks - 1;
  exercise_all(context, Part(split(MPI_COMM_WORLD, inside ? 0 : MPI_UNDEFINED, 0)), "all but the first and the last");
  exercise_all(context, Part(split(MPI_COMM_WORLD, context.rank() % 2, 0)), "every second");
}

/// Each node is as often in a collective of its own as its place among the nodes says, and then all meet.
void nodes_go_on_for_themselves(Context& context) {
  const Part node(node_of(MPI_COMM_WORLD, 0));
  const int here = number_of_node(context, node);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 10 * (here % 3); ++i) exercise(context, node.get(), "a node in a round", some);
    exercise(context, MPI_COMM_WORLD, "all in a round", some);
  }
}

void nonblocking_within_nodes_beside_those_of_all(Context& context) {
  const Part node(node_of(MPI_COMM_WORLD, 0));
  for (const int count : {1, many}) {
    const auto ints = static_cast<std::size_t>(count);
    const std::vector<int> ones(ints, 1);
    std::vector<int> here(ints), everywhere(ints);
    MPI_Request requests[2];
    const bool other_order = node.rank() % 2 != 0;
    const auto start_here = [&] {
      MPI_Iallreduce(ones.data(), here.data(), count, MPI_INT, MPI_SUM, node.get(), &requests[0]);
    };
    if (!other_order) start_here();
    MPI_Iallreduce(ones.data(), everywhere.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    if (other_order) start_here();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    context.expect(std::count(here.begin(), here.end(), node.size()) == count, "a node's, of %d ints", count);
    context.expect(std::count(everywhere.begin(), everywhere.end(), context.size()) == count, "all's, of %d ints",
                   count);
  }
}

void messages_between_nodes_arrive_while_their_node_waits(Context& context) {
  const Part node(node_of(MPI_COMM_WORLD, 0));
  const int right = (context.rank() + 1) % context.size();
  const int left = (context.rank() + context.size() - 1) % context.size();
  const std::vector<int> sent(many, context.rank());
  std::vector<int> received(many, -1);
  MPI_Request requests[2];
  MPI_Irecv(received.data(), many, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(sent.data(), many, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Barrier(node.get());
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  context.expect(std::count(received.begin(), received.end(), left) == many, "a message from rank %d", left);
}

/// Nonblocking and persistent collectives of all, started and not waited for.
class StartedByAll {
 public:
  StartedByAll() : given_(ints, 1), sums_(ints), cast_(ints), kept_(ints) {
    inits.Allreduce(given_.data(), kept_.data(), many, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests_[0]);
    MPI_Start(&requests_[0]);
    MPI_Iallreduce(given_.data(), sums_.data(), many, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests_[1]);
    MPI_Ibcast(cast_.data(), many, MPI_INT, 0, MPI_COMM_WORLD, &requests_[2]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests_[3]);
  }
  void wait() { MPI_Waitall(4, requests_, MPI_STATUSES_IGNORE); }

 private:
  static constexpr std::size_t ints = many;
  std::vector<int> given_, sums_, cast_, kept_;
  MPI_Request requests_[4];
};

void ends_on_nodes(const std::string& way, bool pending) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::printf("PID %d %d\n", rank, static_cast<int>(getpid()));
  std::fflush(stdout);
  const Part node(node_of(MPI_COMM_WORLD, 0));
  int last = rank;
  MPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_INT, MPI_MAX, node.get());
  for (int i = 0; i < 3; ++i) MPI_Barrier(node.get());
  MPI_Barrier(MPI_COMM_WORLD);
  std::optional<StartedByAll> started;
  if (pending) started.emplace();
  if (rank == ranks - 1) {
    usleep(200'000);  // the others wait by now
    std::printf("ENDS %d\n", rank);
    std::fflush(stdout);
    end_in(way);
  }
  if (started) started->wait();
  if (last == ranks - 1) MPI_Barrier(node.get());
  MPI_Barrier(MPI_COMM_WORLD);
}

#define TEST(name) \
  { #name, &name }

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "collectives";
  const bool pending = argc > 3 && what == "ends";
  int status = 0, provided = MPI_THREAD_SINGLE;
  // Some hosts can be made to go on with what is pending by threads alone.
  MPI_Init_thread(&argc, &argv, pending ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (what == "ends" && argc > 2) {
    ends_on_nodes(argv[2], pending);
  } else {
    Context context(nullptr, 0);
    const std::vector<Test> tests{
        TEST(nodes_have_names_of_their_own),
        TEST(collectives_within_nodes),
        TEST(collectives_of_all),
        TEST(collectives_between_nodes),
        TEST(collectives_of_parts_of_nodes),
        TEST(nodes_go_on_for_themselves),
        TEST(nonblocking_within_nodes_beside_those_of_all),
        TEST(messages_between_nodes_arrive_while_their_node_waits),
    };
    status = run_tests(context, tests, std::max(1, argc - 1), argv + std::min(1, argc - 1));
  }
  MPI_Finalize();
  return status;
}
