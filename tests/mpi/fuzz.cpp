// The differential fuzzer: random collectives on random communicators, each checked against the host's own result.
//
//     fuzz [--seconds S | --rounds R] [--seed N] [--first ROUND] [--maximum-bytes B] [--only Scatter,Gatherv,...]
//          [--choices PERCENT] [--nonblocking PERCENT] [--summary 1] [--trace 1] [--threads 1]
//          [--without dist-graph-create,mixed-layouts] [--devices cuda|hip|level-zero]
//
// All ranks draw what they must agree on from one seed and the rest from their own, so a run is repeated by its seed; a
// round depends on nothing but the seed and its number, so a failure is repeated by starting at its round. --trace 1
// prints each collective before it runs, for failures that end the program.
//
// In some rounds (--nonblocking, 50) most collectives are started only, and some are persistent. Each rank completes them,
// together with messages, in ways of its own, some of them while it calls others; persistent ones it starts in an order of its
// own.
//
// In some rounds the communicator has a past, and more of it comes between the collectives: calls of no elements, which
// the host carries out, and calls that it refuses to one rank. (What others have left is there in any case: communicators
// are made, used and freed all the time.)
//
// In some rounds (--choices, 50) the library is asked for algorithms and mechanisms, drawn among those that it says it
// has; --choices 0 leaves all to its own choice, with the same collectives. --summary 1 prints at the end what ran.
//
// --without leaves out what a host does wrong between nodes: graphs are not made by MPI_Dist_graph_create; where ranks
// describe one message by different types, the host does nothing, neither for itself nor to compare with.
//
// --devices: about half of the buffers are in memory of devices, of a stand-in for that runtime. The program cannot touch
// them while collectives are under way. What the host would carry out has others.
#include "fuzz.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>

#include "completing.h"
#include "devices/stand_in.h"
#include "fuzz_choices.h"

using namespace tutti::tests;

namespace {

struct Arguments {
  double seconds = 5;
  std::uint64_t rounds = 0;  ///< unless 0, these are what ends the run, not the seconds
  std::uint64_t seed = 0;
  std::uint64_t first = 0;
  std::size_t maximum_bytes = 4 << 20;
  unsigned choices = 50;      ///< per cent of the rounds
  unsigned nonblocking = 50;  ///< the same
  bool summary = false;
  bool trace = false;
  bool threads = false;    ///< may call MPI at the same time, for who makes calls go on then
  char only[512] = "";     ///< names of collectives with commas between them; empty: all
  char without[128] = "";  ///< names of kWithout with commas between them
  char devices[16] = "";   ///< a runtime of them; empty: there are none
};

constexpr std::pair<const char*, bool Without::*> kWithout[] = {
    {"dist-graph-create", &Without::dist_graph_create},
    {"mixed-layouts", &Without::mixed_layouts},
};

std::vector<std::string> words_of(const char* list) {
  std::vector<std::string> words;
  std::stringstream rest(list);
  for (std::string word; std::getline(rest, word, ',');) words.push_back(word);
  return words;
}

/// Sets what a list names. Returns the first name that is unknown, or nothing.
std::string read_without(const char* list, Without& without) {
  for (const std::string& word : words_of(list)) {
    const auto* const found =
        std::find_if(std::begin(kWithout), std::end(kWithout), [&](const auto& each) { return word == each.first; });
    if (found == std::end(kWithout)) return word;
    without.*found->second = true;
  }
  return "";
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  arguments.seed = static_cast<std::uint64_t>(std::time(nullptr));
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) arguments.seconds = std::atof(argv[i + 1]);
    if (std::strcmp(argv[i], "--rounds") == 0) arguments.rounds = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--choices") == 0) arguments.choices = static_cast<unsigned>(std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--nonblocking") == 0)
      arguments.nonblocking = static_cast<unsigned>(std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--summary") == 0) arguments.summary = std::atoi(argv[i + 1]) != 0;
    if (std::strcmp(argv[i], "--seed") == 0) arguments.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--first") == 0) arguments.first = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--maximum-bytes") == 0) arguments.maximum_bytes = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--trace") == 0) arguments.trace = std::atoi(argv[i + 1]) != 0;
    if (std::strcmp(argv[i], "--threads") == 0) arguments.threads = std::atoi(argv[i + 1]) != 0;
    if (std::strcmp(argv[i], "--without") == 0)
      std::snprintf(arguments.without, sizeof arguments.without, "%s", argv[i + 1]);
    if (std::strcmp(argv[i], "--devices") == 0)
      std::snprintf(arguments.devices, sizeof arguments.devices, "%s", argv[i + 1]);
    if (std::strcmp(argv[i], "--only") == 0) std::snprintf(arguments.only, sizeof arguments.only, "%s", argv[i + 1]);
  }
  return arguments;
}

std::mt19937_64 generator(std::uint64_t seed, std::uint64_t round, std::uint64_t rank) {
  std::seed_seq sequence{seed & 0xffffffffu, seed >> 32, round, rank};
  return std::mt19937_64(sequence);
}

/// The collectives to choose from, the Barrier and what is none seldom. neighbors: with a topology those of neighbours
/// are half of all.
std::vector<Kind> kinds_of(const Arguments& arguments, bool neighbors) {
  const std::vector<std::string> only = words_of(arguments.only);
  const auto wanted = [&](Kind kind) {
    return only.empty() || std::find(only.begin(), only.end(), name_of(kind)) != only.end();
  };
  std::vector<Kind> kinds;
  for (int i = 0; i < kKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    if (is_neighbor(kind) && !neighbors) continue;
    if (!wanted(kind)) continue;
    if (*arguments.devices && kind == Kind::kReduceLocal) continue;
    const int times = kind == Kind::kBarrier || kind == Kind::kReduceLocal ? 1 : is_neighbor(kind) ? 7 : 2;
    kinds.insert(kinds.end(), static_cast<std::size_t>(times), kind);
  }
  return kinds;
}

/// Null where there is none.
const StandIn* stand_in = nullptr;

/// The program's own use of memory of devices begins or ends.
void set_devices_open(bool open) {
  if (stand_in) stand_in->set_open(open);
}

/// A message to the next rank and one from the one before, which are under way while collectives are.
class Messages {
 public:
  Messages(const Context& context, std::size_t count)
      : from_((context.rank() + context.size() - 1) % context.size()),
        sent_(count, context.rank()),
        received_(count, -1) {
    MPI_Irecv(received_.data(), static_cast<int>(count), MPI_INT, from_, 7, MPI_COMM_WORLD, &requests_[0]);
    MPI_Isend(sent_.data(), static_cast<int>(count), MPI_INT, (context.rank() + 1) % context.size(), 7, MPI_COMM_WORLD,
              &requests_[1]);
  }
  MPI_Request& request(std::size_t i) { return requests_[i]; }
  bool are_right() const {
    return std::all_of(received_.begin(), received_.end(), [this](int value) { return value == from_; });
  }

 private:
  int from_;
  std::vector<int> sent_, received_;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

/// What a communicator goes through besides the collectives of a round; the same on all ranks but for what is refused.
class Past {
 public:
  Past(MPI_Comm communicator, std::mt19937_64 common)
      : communicator_(communicator), common_(common), there_is_one_(common_() % 3 == 0) {
    if (communicator == MPI_COMM_NULL || !there_is_one_) return;
    // As many as a flag of the engine counts, and more; or a few.
    const std::uint64_t calls = common_() % 2 == 0 ? 64 + common_() % 128 : common_() % 4;
    for (std::uint64_t i = 0; i < calls; ++i) of_no_elements();
  }
  /// Before one of the collectives.
  void go_on() {
    if (!there_is_one_) return;
    for (std::uint64_t calls = common_() % 3; calls > 0; --calls) of_no_elements();
    if (const std::uint64_t draw = common_(); draw % 8 == 0) be_refused(draw / 8);
  }

 private:
  void of_no_elements() {
    int nothing = 0, result = 0;
    if (common_() % 2)
      MPI_Bcast(&nothing, 0, MPI_INT, 0, communicator_);
    else
      MPI_Allreduce(&nothing, &result, 0, MPI_INT, MPI_SUM, communicator_);
  }
  void be_refused(std::uint64_t draw) {
    int rank = 0, size = 1, nothing = 0;
    PMPI_Comm_rank(communicator_, &rank);
    PMPI_Comm_size(communicator_, &size);
    if (draw % static_cast<std::uint64_t>(size) != static_cast<std::uint64_t>(rank)) return;
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(communicator_, &before);
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
    MPI_Bcast(&nothing, -1, MPI_INT, 0, communicator_);
    MPI_Comm_set_errhandler(communicator_, before);
    MPI_Errhandler_free(&before);
  }

  MPI_Comm communicator_;
  std::mt19937_64 common_;
  bool there_is_one_;
};

/// Completes what has been started, in any way.
void complete_all(const std::vector<MPI_Request*>& all, std::mt19937_64& local) {
  std::vector<MPI_Request> requests;
  for (const MPI_Request* each : all) requests.push_back(*each);
  complete(requests, kWays[local() % std::size(kWays)], local);
  for (std::size_t i = 0; i < all.size(); ++i) *all[i] = requests[i];
}

class Fuzzer {
 public:
  Fuzzer(Context& context, const Arguments& arguments, const Without& without)
      : context_(context),
        arguments_(arguments),
        kinds_{kinds_of(arguments, false), kinds_of(arguments, true)},
        without_(without) {}

  /// Goes on until the time is over or a rank saw a failure. Returns false after a failure.
  bool run();
  std::uint64_t rounds() const { return rounds_; }
  std::uint64_t operations() const { return operations_; }
  const Choices& choices() const { return choices_; }

 private:
  void run_round(std::uint64_t round);
  bool go_on(double start_seconds);
  void report(std::uint64_t round, const DrawnCommunicator& communicator, const FuzzOperation& operation,
              const std::string& problem);

  Context& context_;
  const Arguments& arguments_;
  std::vector<Kind> kinds_[2];  ///< without and with neighbours
  const Without without_;
  FuzzTables tables_;
  Choices choices_;
  std::uint64_t rounds_ = 0;
  std::uint64_t operations_ = 0;
  int failures_ = 0;
};

void Fuzzer::report(std::uint64_t round, const DrawnCommunicator& communicator, const FuzzOperation& operation,
                    const std::string& problem) {
  if (!problem.empty() && ++failures_ > 3) return;
  std::string more = *arguments_.only ? std::string(" --only ") + arguments_.only : "";
  if (*arguments_.without) more += std::string(" --without ") + arguments_.without;
  if (arguments_.choices != Arguments().choices) more += " --choices " + std::to_string(arguments_.choices);
  if (*arguments_.devices) more += std::string(" --devices ") + arguments_.devices;
  if (arguments_.nonblocking != Arguments().nonblocking)
    more += " --nonblocking " + std::to_string(arguments_.nonblocking);
  const std::string by = choices_.words().empty() ? "" : ", asked for by " + choices_.words();
  std::fprintf(stderr, "rank %d: %s on %s%s: %s; to repeat: -n %d ... --seed %llu --first %llu%s\n", context_.rank(),
               operation.describe().c_str(), communicator.description().c_str(), by.c_str(), problem.c_str(),
               context_.size(), static_cast<unsigned long long>(arguments_.seed),
               static_cast<unsigned long long>(round), more.c_str());
}

/// Some collectives one after the other with nothing of the host in between, so that ranks may be several calls apart;
/// then the host's, then the comparison.
void Fuzzer::run_round(std::uint64_t round) {
  choices_.forget();
  std::mt19937_64 common = generator(arguments_.seed, round, 1'000'003);
  std::mt19937_64 choice = generator(arguments_.seed, round, 1'000'004);
  std::mt19937_64 local = generator(arguments_.seed, round, static_cast<std::uint64_t>(context_.rank()));
  const unsigned kind = static_cast<unsigned>(common() % 6);
  const bool topology = kinds_[0].empty() || kind == 0;
  std::unique_ptr<DrawnCommunicator> communicator;
  if (topology || kind == 1)
    communicator = std::make_unique<DrawnCommunicator>(common, local, topology, without_);
  else
    communicator = std::make_unique<DrawnCommunicator>();
  std::mt19937_64 form = generator(arguments_.seed, round, 1'000'005);
  const bool nonblocking = form() % 100 < arguments_.nonblocking;
  const bool many = nonblocking && form() % 16 == 0;
  const std::size_t burst = 1 + (many ? 40 + form() % 100 : common() % 2 == 0 ? common() % 12 : 0);
  const std::size_t maximum = many        ? arguments_.maximum_bytes / 1024
                              : burst > 2 ? arguments_.maximum_bytes / 16
                                          : arguments_.maximum_bytes;
  ++rounds_;
  int ranks = 1;
  if (communicator->get() != MPI_COMM_NULL) MPI_Comm_size(communicator->get(), &ranks);
  const FuzzPlace place{context_, tables_, *communicator, local, burst == 1, stand_in && ranks > 1};
  std::vector<std::unique_ptr<FuzzOperation>> operations;
  for (std::size_t i = 0; i < burst && communicator->get() != MPI_COMM_NULL; ++i)
    operations.push_back(
        make_operation(place, draw_operation(tables_, kinds_[topology], common, maximum, nonblocking, without_)));
  if (tutti_is_there() && choice() % 100 < arguments_.choices) choices_.ask(communicator->get(), operations, choice());
  std::vector<MPI_Request*> started;
  std::unique_ptr<Messages> messages;
  if (nonblocking && form() % 3 == 0) {
    messages = std::make_unique<Messages>(context_, 1 + form() % 30'000);
    for (std::size_t i = 0; i < 2; ++i) started.push_back(&messages->request(i));
  }
  set_devices_open(false);
  std::vector<FuzzOperation*> later;
  Past past(communicator->get(), generator(arguments_.seed, round, 1'000'006));
  for (auto& operation : operations) {
    past.go_on();
    if (arguments_.trace) report(round, *communicator, *operation, "");
    operation->run();
    choices_.count(*operation);
    started.push_back(&operation->request());
    if (operation->is_persistent() && operation->is_ours() && local() % 2) {
      later.push_back(operation.get());
      continue;
    }
    if (operation->is_persistent()) operation->start();
    // Hosts do not know all of theirs in arrays, nor in other orders.
    if (operation->is_persistent() && !operation->is_ours())
      MPI_Wait(&operation->request(), MPI_STATUS_IGNORE), operation->free();
    // Others may wait for persistent ones that this rank has yet to start.
    if (local() % 8 == 0 && !operation->is_persistent()) complete_all({&operation->request()}, local);
  }
  std::shuffle(later.begin(), later.end(), local);
  for (FuzzOperation* each : later) each->start();
  complete_all(started, local);
  if (messages && !messages->are_right() && ++failures_ <= 3)
    std::fprintf(stderr, "rank %d: a message beside collectives is wrong; to repeat: --seed %llu --first %llu\n",
                 context_.rank(), static_cast<unsigned long long>(arguments_.seed),
                 static_cast<unsigned long long>(round));
  for (auto& operation : operations) operation->free();
  set_devices_open(true);
  for (auto& operation : operations) operation->run_reference();
  for (auto& operation : operations) {
    const std::string problem = operation->check();
    if (!problem.empty()) report(round, *communicator, *operation, problem);
  }
  operations_ += operations.size();
}

/// Asked every few rounds only, so that this is not what keeps the ranks together.
bool Fuzzer::go_on(double start_seconds) {
  const bool over =
      arguments_.rounds > 0 ? rounds_ >= arguments_.rounds : PMPI_Wtime() - start_seconds > arguments_.seconds;
  int states[2] = {failures_, context_.rank() == 0 && over};
  PMPI_Allreduce(MPI_IN_PLACE, states, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  failures_ = states[0];
  return states[0] == 0 && states[1] == 0;
}

bool Fuzzer::run() {
  const double start_seconds = PMPI_Wtime();
  std::uint64_t round = arguments_.first;
  do {
    for (int i = 0; i < 8; ++i) run_round(round++);
  } while (go_on(start_seconds));
  return failures_ == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t early_bytes = 2 * Memory::kLentBytes;
  void* early = std::malloc(early_bytes);
  char stack[2 * Memory::kLentBytes];
  std::memset(stack, 0, sizeof stack);
  lend_stack(stack, sizeof stack);
  Arguments arguments = parse(argc, argv);
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, arguments.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  bool passed = false;
  {
    Context context(early, early_bytes);
    PMPI_Bcast(&arguments, sizeof arguments, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (kinds_of(arguments, true).empty()) {
      if (context.rank() == 0) std::fprintf(stderr, "no such collective: %s\n", arguments.only);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    Without without;
    if (const std::string unknown = read_without(arguments.without, without); !unknown.empty()) {
      if (context.rank() == 0) std::fprintf(stderr, "nothing to leave out is called %s\n", unknown.c_str());
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (*arguments.devices) {
      static const StandIn devices(arguments.devices);
      stand_in = &devices;
      set_devices_open(true);
      lend_devices(
          {[](std::size_t bytes) { return stand_in->allocate(bytes); }, [](void* begin) { stand_in->free(begin); }});
    }
    if (context.rank() == 0)
      std::printf("RUN fuzz --seed %llu\n", static_cast<unsigned long long>(arguments.seed)), std::fflush(stdout);
    Fuzzer fuzzer(context, arguments, without);
    passed = fuzzer.run();
    if (context.rank() == 0 && arguments.summary) fuzzer.choices().print();
    if (context.rank() == 0)
      std::printf("%s fuzz --seed %llu (%llu rounds, %llu collectives)\n", passed ? "PASS" : "FAIL",
                  static_cast<unsigned long long>(arguments.seed), static_cast<unsigned long long>(fuzzer.rounds()),
                  static_cast<unsigned long long>(fuzzer.operations()));
  }
  MPI_Finalize();
  std::free(early);
  return passed ? 0 : 1;
}
