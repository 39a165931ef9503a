#include "fuzz_choices.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace tutti::tests {

namespace {

/// Half of the draws leave the mechanism alone. One that this job does not have is not asked for.
constexpr const char* kMechanisms[] = {"auto", "window", "auto", "cma", "auto", "staged", "auto", "xpmem"};

/// As TUTTI_ALGORITHM has it; null for what is not chosen.
const char* collective_of(Kind kind) {
  switch (kind) {
    case Kind::kBarrier:
      return "barrier";
    case Kind::kBcast:
      return "bcast";
    case Kind::kReduce:
      return "reduce";
    case Kind::kAllreduce:
      return "allreduce";
    case Kind::kReduceScatter:
    case Kind::kReduceScatterBlock:
      return "reduce_scatter";
    case Kind::kScan:
      return "scan";
    case Kind::kExscan:
      return "exscan";
    case Kind::kReduceLocal:
      return nullptr;
    case Kind::kScatter:
      return "scatter";
    case Kind::kScatterv:
      return "scatterv";
    case Kind::kGather:
      return "gather";
    case Kind::kGatherv:
      return "gatherv";
    case Kind::kAllgather:
      return "allgather";
    case Kind::kAllgatherv:
      return "allgatherv";
    case Kind::kAlltoall:
      return "alltoall";
    case Kind::kAlltoallv:
    case Kind::kAlltoallw:
      return "alltoallv";
    case Kind::kNeighborAllgather:
    case Kind::kNeighborAlltoall:
      return "neighbor";
    default:
      return "neighborv";
  }
}

/// Whether every host can do all that is drawn: not layouts that differ between ranks, nor, in MPICH, unequal parts in
/// place.
bool hosts_can(Kind kind) {
  return kind == Kind::kBarrier || kind == Kind::kReduce || kind == Kind::kAllreduce || kind == Kind::kScan ||
         kind == Kind::kExscan;
}

/// A function that the library exports; null without the preload.
template <class Function>
Function* exported(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

bool set_choice(MPI_Comm communicator, const std::string& algorithm, const char* mechanism) {
  static auto* const function = exported<int(MPI_Comm, const char*, const char*)>("tutti_set_choice");
  return function && function(communicator, algorithm.c_str(), mechanism) == 0;
}

/// The eligible algorithms, "name" or "name,k=4"; none where the communicator is the host's.
std::vector<std::string> eligible_on(MPI_Comm communicator, const char* collective, std::size_t bytes) {
  static auto* const function = exported<int(MPI_Comm, const char*, std::size_t, char*, int)>("tutti_predict");
  std::string text(16 << 10, '\0');
  std::vector<std::string> names;
  if (!function || function(communicator, collective, bytes, text.data(), static_cast<int>(text.size())) != 0)
    return names;
  std::istringstream lines(text.c_str());
  std::string line;
  std::getline(lines, line);  // of the communicator
  while (std::getline(lines, line)) names.push_back(line.substr(0, line.find(' ')));
  return names;
}

std::string without_parameter(const std::string& name) {
  return name.substr(0, name.find(','));
}

int size_of(MPI_Comm communicator) {
  int size = 0;
  PMPI_Comm_size(communicator, &size);
  return size;
}

}  // namespace

/// Now and then with a parameter that the library itself would not consider, or the host's own.
std::string Choices::draw_algorithm(MPI_Comm communicator, const FuzzOperation& operation, std::uint64_t draw) {
  const char* const collective = collective_of(operation.kind());
  const std::vector<std::string> names = eligible_on(communicator, collective, operation.chosen_by_bytes());
  if (names.empty()) return "";
  const bool all = size_of(communicator) == size_of(MPI_COMM_WORLD);
  // Each name is as likely as another, however many parameters are considered for it.
  std::vector<std::string> plain;
  for (const std::string& name : names) {
    if (plain.empty() || plain.back() != without_parameter(name)) plain.push_back(without_parameter(name));
    if (all) algorithms_[{collective, plain.back()}].eligible = true;
  }
  if (draw % 16 == 0 && hosts_can(operation.kind())) return "host";
  const std::string& chosen = plain[draw / 16 % plain.size()];
  std::vector<std::string> forms;
  for (const std::string& name : names)
    if (without_parameter(name) == chosen) forms.push_back(name);
  const std::uint64_t second = mix(draw, 0, 0);
  std::string form = forms[second / 4 % forms.size()];
  if (const auto equals = form.find('='); equals != std::string::npos && second % 4 == 0)
    form = form.substr(0, equals + 1) +
           std::to_string(1 + second / 4 % (2 * static_cast<std::uint64_t>(size_of(communicator))));
  return form;
}

void Choices::ask(MPI_Comm communicator, const std::vector<std::unique_ptr<FuzzOperation>>& operations,
                  std::uint64_t draw) {
  PMPI_Barrier(MPI_COMM_WORLD);  // nothing may be under way
  asked_ = true;
  if (communicator == MPI_COMM_NULL) return;
  // What is eligible depends on the mechanism.
  const char* mechanism = kMechanisms[draw % std::size(kMechanisms)];
  if (!set_choice(communicator, "", mechanism)) mechanism = "auto";
  if (!set_choice(communicator, "", mechanism)) return;
  std::string algorithms;
  for (const auto& operation : operations) {
    const char* const collective = collective_of(operation->kind());
    if (!collective || asked_names_.count(collective)) continue;
    const std::uint64_t own_draw = mix(draw, static_cast<std::int64_t>(operation->kind()), 1);
    const std::string name = draw_algorithm(communicator, *operation, own_draw);
    if (name.empty()) continue;
    asked_names_[collective] = without_parameter(name);
    if (!algorithms.empty()) algorithms += ';';
    algorithms.append(collective).append(1, ':').append(name);
  }
  set_choice(communicator, algorithms, mechanism);
  words_ = "TUTTI_ALGORITHM=\"" + algorithms + "\" TUTTI_MECHANISM=" + mechanism;
}

void Choices::forget() {
  if (!asked_) return;
  PMPI_Barrier(MPI_COMM_WORLD);
  const char* const of_job = std::getenv("TUTTI_ALGORITHM");
  set_choice(MPI_COMM_WORLD, of_job ? of_job : "", "auto");
  asked_ = false;
  asked_names_.clear();
  words_.clear();
}

void Choices::count(const FuzzOperation& operation) {
  static auto* const function = exported<int(char*, int, char*, int)>("tutti_last_choice");
  const char* const collective = collective_of(operation.kind());
  if (!function || !collective) return;
  char algorithm[64] = "";
  char mechanism[64] = "";
  function(algorithm, sizeof algorithm, mechanism, sizeof mechanism);
  ++algorithms_[{collective, algorithm}].ran[mechanism];
  if (const auto asked = asked_names_.find(collective); asked != asked_names_.end())
    ++algorithms_[{collective, asked->second}].asked;
}

void Choices::print() const {
  for (const auto& [name, algorithm] : algorithms_) {
    int times = 0;
    std::string by;
    for (const auto& [mechanism, calls] : algorithm.ran) {
      times += calls;
      if (mechanism.empty()) continue;
      by += by.empty() ? " (" : ", ";
      by += mechanism + " " + std::to_string(calls);
    }
    if (!by.empty()) by += ")";
    std::printf("RAN %s %s: %d times%s, asked for %d times%s\n", name.first.c_str(), name.second.c_str(), times,
                by.c_str(), algorithm.asked, algorithm.eligible ? ", eligible for all ranks" : "");
  }
}

}  // namespace tutti::tests
