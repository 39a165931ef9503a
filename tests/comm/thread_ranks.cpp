// A communicator is a room that its ranks meet in: each says something, and goes on when all have.
#include "comm/thread_ranks.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "comm/mpi.h"
#include "topology/rank_partition.h"
#include "tutti.h"

namespace {

using tutti::test::Machines;
using tutti::test::Seat;

std::atomic<int> handles{0};
thread_local const Machines* machines = nullptr;
thread_local int own_rank = 0;
thread_local MPI_Comm world = nullptr;

class Room {
 public:
  explicit Room(std::vector<int> members) : members_(std::move(members)), said_(members_.size()) {}
  const std::vector<int>& members() const { return members_; }

  /// What all say.
  std::vector<std::vector<int>> meet(int rank, std::vector<int> mine) {
    std::unique_lock lock(mutex_);
    said_[static_cast<std::size_t>(rank)] = std::move(mine);
    const int meeting = meetings_;
    if (++arrived_ < members_.size()) {
      all_are_here_.wait(lock, [&] { return meetings_ != meeting; });
    } else {
      arrived_ = 0;
      heard_ = said_;
      ++meetings_;
      all_are_here_.notify_all();
    }
    return heard_;
  }

  /// The room of `members` that the n-th split has made: the same for each of them.
  std::shared_ptr<Room> room_of(int split, const std::vector<int>& members) {
    const std::lock_guard lock(mutex_);
    Made& made = made_[{split, members.front()}];
    if (!made.room) made.room = std::make_shared<Room>(members);
    std::shared_ptr<Room> room = made.room;
    if (++made.taken == members.size()) made_.erase({split, members.front()});
    return room;
  }

 private:
  struct Made {
    std::shared_ptr<Room> room;
    std::size_t taken = 0;
  };
  const std::vector<int> members_;
  std::mutex mutex_;
  std::condition_variable all_are_here_;
  std::vector<std::vector<int>> said_, heard_;
  std::size_t arrived_ = 0;
  int meetings_ = 0;
  std::map<std::pair<int, int>, Made> made_;
};

}  // namespace

struct ThreadComm {
  ThreadComm(std::shared_ptr<Room> of, int number) : room(std::move(of)), rank(number) { ++handles; }
  ~ThreadComm() { --handles; }
  ThreadComm(const ThreadComm&) = delete;
  ThreadComm& operator=(const ThreadComm&) = delete;
  int size() const { return static_cast<int>(room->members().size()); }

  std::shared_ptr<Room> room;
  int rank;
  int splits = 0;
};

struct ThreadInfo {
  std::map<std::string, std::string> values;
};

namespace {

/// By object: those with a negative one are in none. Then those of one object who are on one node share memory.
int split_by_objects(MPI_Comm comm, int object, int key, MPI_Comm* made) {
  return MPI_Comm_split(comm, object < 0 ? MPI_UNDEFINED : object, key, made);
}

const Seat& seat() {
  return machines->seats[static_cast<std::size_t>(own_rank)];
}

/// Numbers that tell objects of different nodes from each other.
int on_node(int object) {
  return object < 0 ? -1 : seat().node << 16 | object;
}

/// MPI 4.1, MPI_COMM_SPLIT_TYPE: the outermost level that parts the ranks; of several nodes, the nodes.
int unguided_object(MPI_Comm comm) {
  const std::vector<int> own = machines->objects_of(own_rank);
  std::vector<int> all;
  bool one_node = true;
  for (const std::vector<int>& said : comm->room->meet(comm->rank, {seat().node})) one_node &= said[0] == seat().node;
  if (!one_node) return on_node(0);
  for (const std::vector<int>& said : comm->room->meet(comm->rank, own))
    all.insert(all.end(), said.begin(), said.end());
  const int level = tutti::topology::next_level(all, static_cast<int>(own.size()));
  return level < 0 ? -1 : on_node(own[static_cast<std::size_t>(level)]);
}

int guided_object(const std::string& value) {
  using Kind = tutti::topology::AskedResource::Kind;
  const tutti::topology::AskedResource asked = tutti::topology::parse_resource(value);
  if (asked.kind == Kind::node) return on_node(0);
  const int type = asked.kind == Kind::type ? machines->resources.find(asked.type) : -1;
  return type < 0 ? -1 : on_node(machines->objects_of(own_rank)[static_cast<std::size_t>(type)]);
}

}  // namespace

extern "C" {

// What libtutti.so has for lib/comm.c, which looks it up by name.
__attribute__((visibility("default"))) int tutti_splits_by_hardware(void) {
  return machines->with_tutti;
}
__attribute__((visibility("default"))) int tutti_network_distance(void) {
  return machines->resources.network_distance(machines->cards, {}, seat().unit);
}

MPI_Comm thread_world(void) {
  return world;
}

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  *rank = comm->rank;
  return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int* size) {
  *size = comm->size();
  return MPI_SUCCESS;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  const std::vector<std::vector<int>> all = comm->room->meet(comm->rank, {color, key});
  const int split = comm->splits++;
  *made = MPI_COMM_NULL;
  if (color == MPI_UNDEFINED) return MPI_SUCCESS;
  std::vector<std::pair<int, int>> order;  // by key, then by rank
  for (int rank = 0; rank < comm->size(); ++rank)
    if (const auto& said = all[static_cast<std::size_t>(rank)]; said[0] == color) order.emplace_back(said[1], rank);
  std::sort(order.begin(), order.end());
  std::vector<int> members;
  int place = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].second == comm->rank) place = static_cast<int>(i);
    members.push_back(comm->room->members()[static_cast<std::size_t>(order[i].second)]);
  }
  *made = new ThreadComm(comm->room->room_of(split, members), place);
  return MPI_SUCCESS;
}

int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* made) {
  if (split_type == MPI_COMM_TYPE_SHARED) return split_by_objects(comm, on_node(0), key, made);
  if (!machines->with_tutti) return MPI_ERR_ARG;
  if (split_type == TUTTI_COMM_TYPE_HW_UNGUIDED) return split_by_objects(comm, unguided_object(comm), key, made);
  return split_by_objects(comm, guided_object(info->values.at("mpi_hw_resource_type")), key, made);
}

int MPI_Comm_free(MPI_Comm* comm) {
  delete *comm;
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

int MPI_Comm_call_errhandler(MPI_Comm, int) {
  return MPI_SUCCESS;
}

int MPI_Allreduce(const void* mine, void* all, int count, MPI_Datatype, MPI_Op op, MPI_Comm comm) {
  const int* const own = static_cast<const int*>(mine);
  const auto said = comm->room->meet(comm->rank, std::vector<int>(own, own + count));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    int value = said[0][i];
    for (const std::vector<int>& each : said)
      value = op == MPI_MIN ? std::min(value, each[i]) : std::max(value, each[i]);
    static_cast<int*>(all)[i] = value;
  }
  return MPI_SUCCESS;
}

int MPI_Info_create(MPI_Info* info) {
  ++handles;
  *info = new ThreadInfo;
  return MPI_SUCCESS;
}

int MPI_Info_set(MPI_Info info, const char* key, const char* value) {
  info->values[key] = value;
  return MPI_SUCCESS;
}

int MPI_Info_get(MPI_Info info, const char* key, int length, char* value, int* found) {
  const auto entry = info->values.find(key);
  *found = entry != info->values.end();
  if (*found) std::strncpy(value, entry->second.c_str(), static_cast<std::size_t>(length));
  return MPI_SUCCESS;
}

int MPI_Info_free(MPI_Info* info) {
  --handles;
  delete *info;
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm, int) {
  std::abort();
}

int MPI_Initialized(int* flag) {
  *flag = 1;
  return MPI_SUCCESS;
}

}  // extern "C"

namespace tutti::test {

std::vector<int> Machines::objects_of(int rank) const {
  const Seat& where = seats[static_cast<std::size_t>(rank)];
  std::vector<int> objects = resources.objects_of({}, where.unit);
  if (!where.or_unit) return objects;
  const std::vector<int> others = resources.objects_of({}, *where.or_unit);
  for (std::size_t type = 0; type < objects.size(); ++type)
    if (others[type] != objects[type]) objects[type] = -1;
  return objects;
}

void run(const Machines& where, const std::function<void(int)>& rank) {
  const int ranks = static_cast<int>(where.seats.size());
  std::vector<int> all;
  for (int i = 0; i < ranks; ++i) all.push_back(i);
  const auto room = std::make_shared<Room>(all);
  std::vector<std::thread> threads;
  for (const int number : all)
    threads.emplace_back([&, number] {
      ThreadComm everybody(room, number);
      machines = &where;
      own_rank = number;
      world = &everybody;
      rank(number);
    });
  for (std::thread& thread : threads) thread.join();
}

std::vector<int> members_of(MPI_Comm comm) {
  return comm == MPI_COMM_NULL ? std::vector<int>{} : comm->room->members();
}

int handles_left() {
  return handles.load();
}

}  // namespace tutti::test
