// The differential fuzzer: random collectives on random communicators, each checked against the host's own result.
//
//     fuzz [--seconds S] [--seed N] [--first ROUND] [--maximum-bytes B]
//
// All ranks draw what they must agree on from one seed and the rest from their own, so a run is repeated by its seed; a
// round depends on nothing but the seed and its number, so a failure is repeated by starting at its round.
#include "fuzz.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

using namespace tutti::tests;

namespace {

struct Arguments {
  double seconds = 5;
  std::uint64_t seed = 0;
  std::uint64_t first = 0;
  std::size_t maximum_bytes = 4 << 20;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  arguments.seed = static_cast<std::uint64_t>(std::time(nullptr));
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) arguments.seconds = std::atof(argv[i + 1]);
    if (std::strcmp(argv[i], "--seed") == 0) arguments.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--first") == 0) arguments.first = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--maximum-bytes") == 0) arguments.maximum_bytes = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return arguments;
}

std::mt19937_64 generator(std::uint64_t seed, std::uint64_t round, std::uint64_t rank) {
  std::seed_seq sequence{seed & 0xffffffffu, seed >> 32, round, rank};
  return std::mt19937_64(sequence);
}

/// A communicator made from MPI_COMM_WORLD as the common numbers say. Free it.
MPI_Comm draw_communicator(const Context& context, std::mt19937_64& common) {
  MPI_Comm communicator = MPI_COMM_NULL;
  const unsigned kind = static_cast<unsigned>(common() % 4);
  const std::uint64_t draw = common();
  const int parts = 1 + static_cast<int>(draw % 3);
  switch (kind) {
    case 0:
      MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
      break;
    case 1:
      MPI_Comm_split(MPI_COMM_WORLD, 0, -context.rank(), &communicator);
      break;
    case 2:
      MPI_Comm_split(MPI_COMM_WORLD, context.rank() % parts, -context.rank(), &communicator);
      break;
    default:
      // Any rank anywhere, in any order.
      MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>((draw >> (8 + 2 * (context.rank() % 20))) % 2),
                     static_cast<int>((draw * static_cast<std::uint64_t>(context.rank() * 2 + 1)) >> 50),
                     &communicator);
  }
  return communicator;
}

class Fuzzer {
 public:
  Fuzzer(Context& context, const Arguments& arguments) : context_(context), arguments_(arguments) {}

  /// Goes on until the time is over or a rank saw a failure. Returns false after a failure.
  bool run();
  std::uint64_t rounds() const { return rounds_; }
  std::uint64_t operations() const { return operations_; }

 private:
  void run_round(std::uint64_t round);
  bool go_on(double start_seconds);
  void report(std::uint64_t round, const FuzzOperation& operation, const std::string& problem);

  Context& context_;
  const Arguments& arguments_;
  FuzzTables tables_;
  std::uint64_t rounds_ = 0;
  std::uint64_t operations_ = 0;
  int failures_ = 0;
};

void Fuzzer::report(std::uint64_t round, const FuzzOperation& operation, const std::string& problem) {
  if (++failures_ > 3) return;
  std::fprintf(stderr, "rank %d: %s: %s; to repeat: -n %d ... --seed %llu --first %llu\n", context_.rank(),
               operation.describe().c_str(), problem.c_str(), context_.size(),
               static_cast<unsigned long long>(arguments_.seed), static_cast<unsigned long long>(round));
}

/// Some collectives one after the other with nothing of the host in between, so that ranks may be several calls apart;
/// then the host's, then the comparison.
void Fuzzer::run_round(std::uint64_t round) {
  std::mt19937_64 common = generator(arguments_.seed, round, 1'000'003);
  std::mt19937_64 local = generator(arguments_.seed, round, static_cast<std::uint64_t>(context_.rank()));
  MPI_Comm communicator = MPI_COMM_WORLD;
  if (common() % 3 == 0) communicator = draw_communicator(context_, common);
  const std::size_t burst = 1 + (common() % 2 == 0 ? common() % 12 : 0);
  const std::size_t maximum = burst > 2 ? arguments_.maximum_bytes / 16 : arguments_.maximum_bytes;
  {
    std::vector<std::unique_ptr<FuzzOperation>> operations;
    for (std::size_t i = 0; i < burst; ++i) {
      const Draw draw = draw_operation(tables_, common, maximum);
      operations.push_back(std::make_unique<FuzzOperation>(context_, tables_, draw, communicator, local, burst == 1));
    }
    for (auto& operation : operations) operation->run();
    for (auto& operation : operations) operation->run_reference();
    for (auto& operation : operations) {
      const std::string problem = operation->check();
      if (!problem.empty()) report(round, *operation, problem);
    }
  }
  if (communicator != MPI_COMM_WORLD) MPI_Comm_free(&communicator);
  operations_ += burst;
  ++rounds_;
}

/// Asked every few rounds only, so that this is not what keeps the ranks together.
bool Fuzzer::go_on(double start_seconds) {
  int states[2] = {failures_, context_.rank() == 0 && PMPI_Wtime() - start_seconds > arguments_.seconds};
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
  MPI_Init(&argc, &argv);
  bool passed = false;
  {
    Context context(early, early_bytes);
    Arguments arguments = parse(argc, argv);
    PMPI_Bcast(&arguments, sizeof arguments, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (context.rank() == 0)
      std::printf("RUN fuzz --seed %llu\n", static_cast<unsigned long long>(arguments.seed)), std::fflush(stdout);
    Fuzzer fuzzer(context, arguments);
    passed = fuzzer.run();
    if (context.rank() == 0)
      std::printf("%s fuzz --seed %llu (%llu rounds, %llu collectives)\n", passed ? "PASS" : "FAIL",
                  static_cast<unsigned long long>(arguments.seed), static_cast<unsigned long long>(fuzzer.rounds()),
                  static_cast<unsigned long long>(fuzzer.operations()));
  }
  MPI_Finalize();
  std::free(early);
  return passed ? 0 : 1;
}
