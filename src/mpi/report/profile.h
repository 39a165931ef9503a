// TUTTI_PROFILE: what each call of MPI cost the program, by where it is made (docs/profile.md).
//
// With the setting, each function that is taken over has another one in front (Recorded in part.cpp), which reads the
// clock before and after it and adds the call to the row of its kind: call site, function, communicator, class of sizes,
// and what the call turned out to be. That is told by who carries it out: mpi/report/explain.cpp, which counts, too.
// Memory is bounded: rows by their number, and for each row calls of which the times are kept by their place in the
// sequence of the communicator, the same ones on all ranks, fewer and fewer of them as there are more. From these follows,
// once all ranks' are together, who came last. For the timeline long calls are kept, the longer the more there are, and
// of all calls how they fill each of a fixed number of stretches of the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mpi/host.h"

namespace tutti::mpi {

struct CommunicatorState;
struct Heading;
struct Job;

namespace profile {

enum class Category : std::uint8_t { collective, message, wait, other };

/// Where the arguments stand, from 0; -1: there is none. Those of blocking collectives, and of messages.
struct Arguments {
  Category category = Category::other;
  int communicator = -1;
  int count = -1, datatype = -1;                             ///< of the size: see CallRecord
  int other_count = -1, other_datatype = -1, in_place = -1;  ///< of the size where in_place is MPI_IN_PLACE
  int peer = -1;
  int root = -1;
  int operation = -1;
  bool sends = false;
  bool may_be_compared = false;  ///< now and then carried out by the MPI, to see how long it takes
};

/// name: as in mpi.h, without MPI_. count: of its arguments.
constexpr Arguments arguments_of(std::string_view name, int count);

/// Whether the environment asks for a profile: then the functions are handed over with others in front.
bool wanted();

/// From MPI_Init to MPI_Finalize, where it is asked for.
extern constinit bool recording;

/// Inside MPI_Init and MPI_Finalize, on all ranks.
void start(const Job& job);
void finish(const Heading& heading);
/// A communicator is about to go, and whatever has the handle later is another one.
void ends(const CommunicatorState& state);
void is_being_freed(MPI_Comm communicator);

/// A call of the program's, from when it comes until it returns. They hang on one another.
class Call {
 public:
  /// function: "MPI_Bcast", a constant.
  Call(const char* function, Category category, const void* site, const void* frame);
  ~Call() { innermost_ = outer_; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// The one that this thread is in; null without a profile.
  static Call* current() { return innermost_; }

  /// From the arguments.
  void is_on(MPI_Comm communicator) { communicator_ = communicator, has_communicator_ = true; }
  void has(MPI_Count count, MPI_Datatype datatype);
  void has_peer(int rank) { peer_ = rank; }
  void has_root(int rank) { root_ = rank; }
  /// Whether the MPI is to carry it out, so that its time is known: one of many calls, on all ranks alike, and one whose result
  /// is the same to the last bit.
  void look_whether_to_compare();
  void look_whether_to_compare(MPI_Datatype datatype, MPI_Op operation);
  bool is_for_comparison() const { return is_for_comparison_; }

  // What it turned out to be, by who carries it out. Words are constants.

  void was(const char* algorithm, const char* parameter_name, int parameter, const char* reason,
           const char* kept = nullptr);
  void went(const char* way) { way_ = way; }
  void had(std::size_t bytes) { bytes_ = bytes; }
  /// Sizes that differ between ranks.
  void varied(std::size_t bytes) { bytes_ = bytes, varies_ = true; }
  void came_from(int rank) { peer_ = rank; }
  /// What it has waited for is there: from here on it moves data.
  void has_come();

  /// Sends a message.
  void does_send() { sends_ = true; }
  bool sends() const { return sends_; }

  /// Records it, if it is of no other call. Returns the code.
  int ended(int code);

 private:
  friend class Recorder;
  static constinit thread_local Call* innermost_;

  Call* outer_;
  const char* function_;
  const void* site_;
  const void* frame_;
  MPI_Comm communicator_{};
  const char* algorithm_ = "";
  const char* parameter_name_ = nullptr;
  const char* reason_ = "";
  const char* kept_ = nullptr;
  const char* way_ = "";
  std::size_t bytes_ = 0;
  std::uint64_t begin_ = 0, come_ = 0;
  int parameter_ = 0;
  int peer_ = -1, root_ = -1;
  Category category_;
  bool has_communicator_ = false, has_bytes_ = false, varies_ = false, is_for_comparison_ = false, sends_ = false;
};

constexpr Arguments arguments_of(std::string_view name, int count) {
  const auto one_of = [name](auto... names) { return ((name == names) || ...); };
  if (name.ends_with("_c")) name.remove_suffix(2);
  Arguments all;
  // Messages between two ranks: (buffer, count, datatype, peer, tag, communicator, ...).
  if (one_of("Send", "Ssend", "Rsend", "Bsend", "Isend", "Issend", "Irsend", "Ibsend", "Recv", "Irecv")) {
    all = {.category = Category::message, .communicator = 5, .count = 1, .datatype = 2, .peer = 3};
    all.sends = !name.ends_with("ecv");
  } else if (one_of("Sendrecv", "Isendrecv")) {
    all = {.category = Category::message, .communicator = 10, .count = 1, .datatype = 2, .peer = 3};
    all.sends = true;
  } else if (one_of("Sendrecv_replace", "Isendrecv_replace")) {
    all = {.category = Category::message, .communicator = 7, .count = 1, .datatype = 2, .peer = 3};
    all.sends = true;
  } else if (one_of("Mrecv", "Imrecv", "Start", "Startall", "Psend_init", "Precv_init", "Pready", "Pready_range",
                    "Pready_list", "Send_init", "Ssend_init", "Rsend_init", "Bsend_init", "Recv_init", "Cancel",
                    "Request_free")) {
    all.category = Category::message;
  } else if (name.starts_with("Wait") || name.starts_with("Test") || name.starts_with("Request_get_status") ||
             one_of("Probe", "Iprobe", "Mprobe", "Improbe", "Parrived")) {
    all.category = Category::wait;
  } else {
    const bool is_persistent = name.ends_with("_init");
    if (is_persistent) name.remove_suffix(5);
    bool is_pending = false;
    if (name.starts_with("I") && name.size() > 2 && name[1] >= 'a') {
      // "Iallreduce", "Ineighbor_alltoall", but not "Init", "Intercomm_merge".
      const std::string_view rest = name.substr(1);
      for (const std::string_view each : {"barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "scatter",
                                          "gather", "allgather", "alltoall", "neighbor"})
        is_pending = is_pending || rest.starts_with(each);
    }
    bool is_collective = is_pending;
    for (const std::string_view each : {"Barrier", "Bcast", "Allreduce", "Reduce", "Scan", "Exscan", "Scatter",
                                        "Gather", "Allgather", "Alltoall", "Neighbor"})
      is_collective = is_collective || name.starts_with(each);
    if (!is_collective || name == "Reduce_local") return all;
    all.category = Category::collective;
    all.communicator = count - 1 - (is_pending ? 1 : 0) - (is_persistent ? 2 : 0);
    if (is_pending || is_persistent) return all;
    all.may_be_compared = true;
    if (one_of("Bcast")) all.count = 1, all.datatype = 2, all.root = 3;
    if (one_of("Reduce")) all.count = 2, all.datatype = 3, all.operation = 4, all.root = 5;
    if (one_of("Allreduce", "Scan", "Exscan", "Reduce_scatter_block"))
      all.count = 2, all.datatype = 3, all.operation = 4;
    if (one_of("Reduce_scatter")) all.datatype = 3, all.operation = 4;
    if (one_of("Gather", "Allgather", "Alltoall", "Neighbor_allgather", "Neighbor_alltoall"))
      all.count = 1, all.datatype = 2, all.other_count = 4, all.other_datatype = 5, all.in_place = 0;
    if (one_of("Scatter"))
      all.count = 4, all.datatype = 5, all.other_count = 1, all.other_datatype = 2, all.in_place = 3;
    if (one_of("Gather", "Scatter")) all.root = 6;
    if (one_of("Gatherv")) all.root = 7;
    if (one_of("Scatterv")) all.root = 7;
  }
  return all;
}

}  // namespace profile

}  // namespace tutti::mpi
