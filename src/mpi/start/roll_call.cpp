#include "mpi/start/roll_call.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>

#include "base/slurm_step.h"

namespace tutti::mpi {

namespace {

/// Who bears this name has decided. One that is connected to another says `some`: the system refuses to connect to it
/// (EPERM). One that is not says `all`.
constexpr const char* decision = "decision";

/// A number that a launcher has set; -1 if it has not.
int number(const char* variable) {
  const char* const text = std::getenv(variable);
  return text && *text ? std::atoi(text) : -1;
}

/// The process at the other end of a socket, which made it; 0 if this is none.
pid_t maker_of(int descriptor) {
  ucred maker{};
  socklen_t length = sizeof maker;
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &maker, &length) == 0 ? maker.pid : 0;
}

/// What tells a job of Hydra from others, on all nodes alike, as the process that looks after its ranks on this node was told:
/// where mpiexec listens. Names of a job may outlive it (mpiexec -nameserver).
std::string hydra_job(pid_t proxy) {
  std::ifstream file("/proc/" + std::to_string(proxy) + "/cmdline", std::ios::binary);
  std::string argument;
  while (std::getline(file, argument, '\0'))
    if (argument == "--control-port" && std::getline(file, argument, '\0'))
      return "hydra-" + std::to_string(std::hash<std::string>()(argument));
  return "hydra";
}

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;

  /// An abstract one: no file. The job goes in as a number, since there is room for 107 letters.
  Address(const LaunchedRank& rank, const std::string& what) {
    name.sun_family = AF_UNIX;
    const std::string text = "tutti-start-" + std::to_string(std::hash<std::string>()(rank.job)) + "-" + what;
    std::memcpy(name.sun_path + 1, text.data(), text.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

int make_socket() {
  return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

int connect_to(int socket, const Address& address) {
  return connect(socket, address.get(), address.length) == 0 ? 0 : errno;
}

/// A socket that bears the name, connected to `peer` if there is one; or -1 with errno.
int bind_to_name(const Address& address, const Address* peer) {
  const int made = make_socket();
  if (made < 0) return -1;
  if ((!peer || connect_to(made, *peer) == 0) && bind(made, address.get(), address.length) == 0) return made;
  const int error = errno;
  close(made);
  errno = error;
  return -1;
}

}  // namespace

namespace {

/// A task of srun. step: what tells it from other steps on this machine. Tasks of several components of a job are ranks of one
/// job of MPI, but each component counts for itself.
LaunchedRank task_of_slurm(const std::string& step) {
  if (std::getenv("SLURM_HET_SIZE")) return {};
  return {step, number("SLURM_LOCALID"), slurm_tasks_on_node(), ""};
}

LaunchedRank rank_of_openmpi(const std::string& job, const std::string& server) {
  // Names of Open MPI 4 are hashes of 16 bits: the address of the server that is asked by its ranks tells them apart.
  return {job + server, number("OMPI_COMM_WORLD_LOCAL_RANK"), number("OMPI_COMM_WORLD_LOCAL_SIZE"), job};
}

/// proxy: the process that looks after the ranks of one job on this node.
LaunchedRank rank_of_hydra(pid_t proxy) {
  const char* const id = std::getenv("I_MPI_HYDRA_UUID");
  return {"hydra-" + std::to_string(proxy), number("MPI_LOCALRANKID"), number("MPI_LOCALNRANKS"),
          id ? id : hydra_job(proxy)};
}

}  // namespace

std::optional<LaunchedRank> launched_rank(std::uint64_t version) {
  LaunchedRank rank;
  if (const char* const text = std::getenv("PMIX_NAMESPACE"); text && *text) {
    const std::string name = text;
    const char* const uri = std::getenv("PMIX_SERVER_URI2");
    const std::string server = uri ? uri : "";
    if (name.starts_with("slurm.pmix."))
      rank = task_of_slurm(name + server);
    else if (number("OMPI_COMM_WORLD_SIZE") > 0)
      rank = rank_of_openmpi(name, server);
  }
  if (const int descriptor = number("PMI_FD"); rank.job.empty() && descriptor >= 0 && number("PMI_SPAWNED") <= 0) {
    // Its other end was made by who looks after the ranks of one job on this node.
    const pid_t maker = maker_of(descriptor);
    if (maker > 0)
      rank = number("MPI_LOCALNRANKS") > 0 ? rank_of_hydra(maker) : task_of_slurm("slurm-" + std::to_string(maker));
  }
  if (rank.job.empty() || rank.local_rank < 0 || rank.local_rank >= rank.local_ranks) return std::nullopt;
  rank.job.append("-").append(std::to_string(version));
  return rank;
}

void RollCall::announce() {
  if (!self_ || own_ >= 0) return;
  own_ = bind_to_name(Address(*self_, std::to_string(self_->local_rank)), nullptr);
  // The name may be taken already where a program has changed into another: it is there, which is what counts.
  if (own_ < 0 && errno != EADDRINUSE) self_.reset();
}

/// The local ranks whose names nobody bears. If the system does not let us look, nobody is said to be absent.
std::vector<int> RollCall::absent() const {
  std::vector<int> found;
  const int probe = make_socket();
  if (probe < 0) return found;
  for (int i = 0; i < self_->local_ranks; ++i) {
    if (connect_to(probe, Address(*self_, std::to_string(i))) == ECONNREFUSED) found.push_back(i);
  }
  close(probe);
  return found;
}

/// What the socket that bears the decision says; unknown if there is none.
RollCall::Result RollCall::decided() const {
  const int probe = make_socket();
  if (probe < 0) return Result::unknown;
  const int refused = connect_to(probe, Address(*self_, decision));
  close(probe);
  if (refused == 0) return Result::all;
  return refused == EPERM ? Result::some : Result::unknown;
}

RollCall::Result RollCall::take(double patience, OtherNodes* others) {
  if (!self_) return Result::unknown;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
  std::vector<int> missing;
  for (;;) {
    if (const Result result = decided(); result != Result::unknown) return result;
    missing = absent();
    // It is there, and will decide.
    const bool leave_it_to_first = others && self_->local_rank != 0;
    if (missing.empty() ? !leave_it_to_first : std::chrono::steady_clock::now() >= deadline) break;
    usleep(1000);
  }
  bool all = missing.empty();
  if (others && !all) others->refuse();
  if (others && all) all = others->all_take_part();
  const Address own(*self_, std::to_string(self_->local_rank));
  decision_ = bind_to_name(Address(*self_, decision), all ? nullptr : &own);
  if (decision_ < 0) return decided();  // another rank was quicker
  missing_ = std::move(missing);
  return all ? Result::all : Result::some;
}

void RollCall::close_all() {
  for (int* const socket : {&own_, &decision_}) {
    if (*socket >= 0) close(*socket);
    *socket = -1;
  }
}

}  // namespace tutti::mpi
