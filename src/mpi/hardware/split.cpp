// How it works: all ranks tell each other what they ask for, so that ranks that ask for different things, or for nothing,
// are found before anything is split. Then the host splits by shared memory, and each of these parts by numbers, which
// each rank knows of itself: the object that it runs in.
#include "mpi/hardware/split.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/log.h"
#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/hardware/process_sets.h"
#include "mpi/hardware/split_request.h"
#include "mpi/hardware/this_process.h"
#include "topology/rank_partition.h"

namespace tutti::mpi::hardware {

namespace {

/// A communicator of the host's that goes away again.
class Passing {
 public:
  Passing() = default;
  ~Passing() {
    if (communicator_ != MPI_COMM_NULL) host.Comm_free(&communicator_);
  }
  Passing(const Passing&) = delete;
  Passing& operator=(const Passing&) = delete;
  MPI_Comm* out() { return &communicator_; }
  MPI_Comm get() const { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

/// The ranks of one call.
struct Call {
  MPI_Comm communicator;
  int size;
  bool takes_part;  ///< this rank is to be in a communicator
  int key;
  MPI_Info info;
  MPI_Comm* made;
};

int split_by_memory(MPI_Comm communicator, bool takes_part, int key, MPI_Comm* made) {
  return next.Comm_split_type.host(communicator, takes_part ? int{MPI_COMM_TYPE_SHARED} : int{MPI_UNDEFINED}, key,
                                   MPI_INFO_NULL, made);
}

/// color: negative for none.
int split_by_number(const Call& call, MPI_Comm of, int color) {
  return host.Comm_split(of, call.takes_part && color >= 0 ? color : MPI_UNDEFINED, call.key, call.made);
}

int split_by_type(const Call& call, const std::string& name) {
  Passing node;
  if (const int code = split_by_memory(call.communicator, true, 0, node.out()); code != MPI_SUCCESS) return code;
  const topology::Resources* const machine = resources();
  const int type = machine ? machine->find(name) : -1;
  return split_by_number(call, node.get(), type < 0 ? -1 : objects_of_this_thread()[static_cast<std::size_t>(type)]);
}

/// More types than any machine has.
constexpr std::size_t most_types = 31;

/// The level below that of all ranks, by its number among this thread's objects; -1 for none. Collective.
int level_below(const Call& call, const std::vector<int>& own) {
  struct Card {
    std::int32_t types;
    std::array<std::int32_t, most_types> objects;
  };
  Card mine{static_cast<std::int32_t>(std::min(own.size(), most_types)), {}};
  std::copy_n(own.begin(), mine.types, mine.objects.begin());
  std::vector<Card> all(static_cast<std::size_t>(call.size));
  if (host.Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, call.communicator) != MPI_SUCCESS)
    return -1;
  std::vector<int> objects;
  for (const Card& card : all) {
    if (card.types != mine.types) return -1;  // a machine that looks different to each
    objects.insert(objects.end(), card.objects.begin(), card.objects.begin() + card.types);
  }
  return topology::next_level(objects, mine.types);
}

/// The program is told by what it was split.
int tell_resource(const Call& call, int code, const std::string& resource) {
  if (code == MPI_SUCCESS && *call.made != MPI_COMM_NULL && call.info != MPI_INFO_NULL)
    host.Info_set(call.info, "mpi_hw_resource_type", resource.c_str());
  return code;
}

int split_unguided(const Call& call) {
  Passing node;
  if (const int code = split_by_memory(call.communicator, true, 0, node.out()); code != MPI_SUCCESS) return code;
  int on_node = 0;
  host.Comm_size(node.get(), &on_node);
  // Of several nodes none has all ranks, so that each finds the same.
  if (on_node < call.size) return tell_resource(call, split_by_number(call, node.get(), 0), "mpi_shared_memory");
  const std::vector<int> own = objects_of_this_thread();
  const int level = level_below(call, own);
  if (level < 0) return split_by_number(call, node.get(), -1);
  const auto type = static_cast<std::size_t>(level);
  return tell_resource(call, split_by_number(call, node.get(), own[type]),
                       "hwloc://" + resources()->types()[type].name);
}

int split_ours(const Call& call, SplitKind kind, const SplitRequest& request) {
  switch (kind) {
    case SplitKind::node:
      return split_by_memory(call.communicator, call.takes_part, call.key, call.made);
    case SplitKind::type:
      return split_by_type(call, request.name);
    case SplitKind::process_set:
      return split_by_number(call, call.communicator,
                             call.takes_part ? lowest_of_process_set(call.communicator, request.name) : -1);
    case SplitKind::unguided:
      return split_unguided(call);
    default:
      *call.made = MPI_COMM_NULL;
      return MPI_SUCCESS;
  }
}

int refuse_types(const Call& call) {
  int rank = 0;
  host.Comm_rank(call.communicator, &rank);
  if (rank == 0)
    Log().warn(
        "MPI_Comm_split_type: the ranks gave different split types; these must be the same on all ranks, except that "
        "MPI_UNDEFINED is allowed");
  *call.made = MPI_COMM_NULL;
  return raise(call.communicator, MPI_ERR_ARG, next.Comm_split_type.name());
}

/// Whether all ranks of the communicator are with us. Each finds the same by itself.
bool are_all_ours(MPI_Comm communicator, int& size) {
  if (!is_ours() || communicator == MPI_COMM_NULL) return false;
  int inter = 0;
  if (host.Comm_test_inter(communicator, &inter) != MPI_SUCCESS || inter) return false;
  host.Comm_size(communicator, &size);
  return of_one_job(communicator, size);
}

}  // namespace

int split(MPI_Comm communicator, int split_type, int key, MPI_Info info, MPI_Comm* made) {
  Call call{communicator, 0, split_type != MPI_UNDEFINED, key, info, made};
  if (!made || !are_all_ours(communicator, call.size))
    return next.Comm_split_type(communicator, split_type, key, info, made);
  const SplitRequest request = split_request(split_type, info);
  const SplitCard mine = card_of(split_type, request);
  std::vector<SplitCard> all(static_cast<std::size_t>(call.size));
  const int code = host.Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, communicator);
  if (code != MPI_SUCCESS) return code;
  SplitKind kind = SplitKind::host;
  const bool same = agree(all, kind);
  const bool any_ours = std::any_of(all.begin(), all.end(), [](const SplitCard& card) {
    return card.kind != SplitKind::host && card.kind != SplitKind::undefined;
  });
  // What is wrong with types of its own is the host's to say.
  if (!any_ours) return next.Comm_split_type(communicator, split_type, key, info, made);
  return same ? split_ours(call, kind, request) : refuse_types(call);
}

int resource_info(MPI_Info* info) {
  if (!is_ours() && next.Get_hw_resource_info.is_there()) return next.Get_hw_resource_info(info);
  if (const int code = host.Info_create(info); code != MPI_SUCCESS || !is_ours()) return code;
  host.Info_set(*info, "mpi://mpi_shared_memory", "true");
  host.Info_set(*info, "hwloc://Machine", "true");
  const topology::Resources* const machine = resources();
  const std::vector<int> objects = objects_of_this_thread();
  for (std::size_t i = 0; i < objects.size(); ++i)
    host.Info_set(*info, ("hwloc://" + machine->types()[i].name).c_str(), objects[i] >= 0 ? "true" : "false");
  return MPI_SUCCESS;
}

}  // namespace tutti::mpi::hardware
