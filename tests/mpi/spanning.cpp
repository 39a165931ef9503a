// What only communicators that span nodes have: messages that go wrong, and tags that are used up. The library takes one
// machine for nodes (TUTTI_RANKS_PER_NODE). --threads before the names of tests: threads may call MPI at the same time.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "inits.h"
#include "support.h"

using namespace tutti::tests;

namespace {

/// The node of a rank, by TUTTI_RANKS_PER_NODE; -1 without.
int node_of(int rank) {
  const char* const list = std::getenv("TUTTI_RANKS_PER_NODE");
  if (!list) return -1;
  std::istringstream words(list);
  std::string word;
  for (int node = 0; std::getline(words, word, ','); ++node)
    if ((rank -= std::stoi(word)) < 0) return node;
  return -1;
}

int error_class(int code) {
  int result = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &result);
  return result;
}

/// A broadcast of `bytes`, in some form, that returns the call's code. neighbor: the rank of this node that waits for a word
/// of this one meanwhile; itself if it is alone.
using Broadcast = int (*)(char* buffer, int bytes, MPI_Comm communicator, int neighbor);

int blocking(char* buffer, int bytes, MPI_Comm communicator, int) {
  return MPI_Bcast(buffer, bytes, MPI_CHAR, 0, communicator);
}

int nonblocking(char* buffer, int bytes, MPI_Comm communicator, int) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Ibcast(buffer, bytes, MPI_CHAR, 0, communicator, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

/// Ranks wait in the MPI while the call goes on, so that its progress finds the error, or a thread of ours.
int beside_messages(char* buffer, int bytes, MPI_Comm communicator, int neighbor) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Ibcast(buffer, bytes, MPI_CHAR, 0, communicator, &request);
  int word = 0;
  MPI_Request sent = MPI_REQUEST_NULL;
  usleep(20'000);
  PMPI_Isend(&word, 1, MPI_INT, neighbor, 7, MPI_COMM_WORLD, &sent);
  PMPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  PMPI_Wait(&sent, MPI_STATUS_IGNORE);
  usleep(20'000);
  return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

int persistent(char* buffer, int bytes, MPI_Comm communicator, int) {
  MPI_Request request = MPI_REQUEST_NULL;
  inits.Bcast(buffer, bytes, MPI_CHAR, 0, communicator, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) {  // no start of it comes to anything from now on
    MPI_Start(&request);
    if (MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS) std::fprintf(stderr, "it goes on after an error\n");
  }
  MPI_Request_free(&request);
  return code;
}

/// The ranks of the second node have less room than the root's send. More nodes are left out: who would have got the message
/// from there is not told.
void messages_that_are_too_long_are_errors_on_their_node(Context& context) {
  const int node = node_of(context.rank());
  MPI_Comm two = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, node == 0 || node == 1 ? 0 : MPI_UNDEFINED, 0, &two);
  struct Form {
    const char* name;
    Broadcast call;
  };
  for (const Form& form : {Form{"MPI_Bcast", blocking}, Form{"MPI_Ibcast", nonblocking},
                           Form{"MPI_Ibcast beside messages", beside_messages}, Form{"MPI_Bcast_init", persistent}}) {
    if (two == MPI_COMM_NULL) break;
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_dup(two, &communicator);
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // on which Intel MPI raises errors of all messages
    // Both are of one class of sizes.
    const int bytes = node == 0 ? 4 : 3;
    char buffer[5] = {'a', 'b', 'c', 'd', 'e'};
    if (context.rank() != 0) std::memset(buffer, 'x', sizeof buffer);
    // The next one of the node, around it, so that each is sent one word.
    int neighbor = (context.rank() + 1) % context.size();
    while (node_of(neighbor) != node) neighbor = (neighbor + 1) % context.size();
    const int code = form.call(buffer, bytes, communicator, neighbor);
    context.expect(error_class(code) == (node == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE), "%s: error class %d", form.name,
                   error_class(code));
    context.expect(buffer[3] == (context.rank() == 0 ? 'd'
                                 : node == 0         ? 'd'
                                                     : 'x'),
                   "%s: [3] is %c", form.name, buffer[3]);
    context.expect(buffer[4] == (context.rank() == 0 ? 'e' : 'x'), "%s: [4] is %c", form.name, buffer[4]);
    if (node == 1) {
      context.expect(error_class(MPI_Barrier(communicator)) == MPI_ERR_TRUNCATE, "%s: a Barrier after it", form.name);
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Ibarrier(communicator, &request);
      context.expect(error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE, "%s: an Ibarrier after it",
                     form.name);
    }
    MPI_Comm_free(&communicator);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    exercise(context, two, form.name);
  }
  if (two != MPI_COMM_NULL) MPI_Comm_free(&two);
  exercise(context, MPI_COMM_WORLD, "all, after that");
}

/// A persistent call of some kind, with a result that is known.
class Ready {
 public:
  Ready(MPI_Comm communicator, int number) : communicator_(communicator), number_(number) {
    MPI_Comm_rank(communicator, &rank_);
    MPI_Comm_size(communicator, &size_);
    if (number % 3 == 0)
      inits.Allreduce(MPI_IN_PLACE, value_.data(), 1, MPI_INT, MPI_SUM, communicator, MPI_INFO_NULL, &request);
    else if (number % 3 == 1)
      inits.Bcast(value_.data(), 1, MPI_INT, number % size_, communicator, MPI_INFO_NULL, &request);
    else
      inits.Barrier(communicator, MPI_INFO_NULL, &request);
  }
  void start(int round) {
    sum_ = size_ * (number_ + round);
    value_[0] = number_ % 3 == 1 ? (rank_ == number_ % size_ ? sum_ : -1) : number_ + round;
    MPI_Start(&request);
  }
  bool is_right() const { return number_ % 3 == 2 || value_[0] == sum_; }

  MPI_Request request = MPI_REQUEST_NULL;

 private:
  MPI_Comm communicator_;
  int number_, rank_ = 0, size_ = 1, sum_ = 0;
  std::vector<int> value_ = std::vector<int>(1);  // stays where it is when this moves
};

/// The messages of persistent calls have tags of their own, of which a communicator has enough for 256 calls.
void persistent_calls_need_the_tags_of_several_communicators(Context& context) {
  constexpr int calls = 300;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  std::vector<Ready> all;
  for (int number = 0; number < calls; ++number) all.emplace_back(communicator, number);
  std::mt19937_64 random(static_cast<unsigned>(context.rank()) + 5);
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Each rank starts and frees them in an order of its own. In the second round half of them are gone.
  std::size_t left = all.size();
  for (int round = 0; round < 2; ++round) {
    std::shuffle(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(left), random);
    for (std::size_t i = 0; i < left; ++i) all[order[i]].start(round);
    for (std::size_t i = 0; i < left; ++i) MPI_Wait(&all[order[i]].request, MPI_STATUS_IGNORE);
    int wrong = 0;
    for (std::size_t i = 0; i < left; ++i) wrong += all[order[i]].is_right() ? 0 : 1;
    context.expect(wrong == 0, "round %d: %d calls gave something else", round, wrong);
    if (round > 0) break;
    // The same ones on all ranks.
    std::sort(order.begin(), order.end());
    std::stable_partition(order.begin(), order.end(), [](std::size_t i) { return i % 2 == 0; });
    left = all.size() / 2;
    std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(left), order.end(), random);
    for (std::size_t i = left; i < all.size(); ++i) MPI_Request_free(&all[order[i]].request);
  }
  Ready late(communicator, calls);
  late.start(0);
  MPI_Wait(&late.request, MPI_STATUS_IGNORE);
  context.expect(late.is_right(), "one that was made after others had gone");
  MPI_Request_free(&late.request);
  // The communicator may go before its calls.
  MPI_Comm_free(&communicator);
  for (std::size_t i = 0; i < left; ++i) MPI_Request_free(&all[order[i]].request);
  exercise(context, MPI_COMM_WORLD, "all, after that");
}

#define TEST(name) \
  { #name, &name }

}  // namespace

int main(int argc, char** argv) {
  const int words = argc > 1 && std::strcmp(argv[1], "--threads") == 0 ? 1 : 0;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, words ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int status = 0;
  {
    Context context(nullptr, 0);
    const std::vector<Test> tests{
        TEST(messages_that_are_too_long_are_errors_on_their_node),
        TEST(persistent_calls_need_the_tags_of_several_communicators),
    };
    status = run_tests(context, tests, argc - words, argv + words);
  }
  MPI_Finalize();
  return status;
}
