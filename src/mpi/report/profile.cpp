#include "mpi/report/profile.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ticks.h"
#include "collectives/call_shape.h"
#include "mpi/arguments/datatypes.h"
#include "mpi/arguments/recent.h"
#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/report/call_site.h"
#include "mpi/report/explain.h"
#include "mpi/report/explain_table.h"
#include "mpi/report/json_text.h"

namespace tutti::mpi::profile {

constinit bool recording = false;
constinit thread_local Call* Call::innermost_ = nullptr;

bool wanted() {
  const char* const file = std::getenv("TUTTI_PROFILE");
  return file && *file;
}

namespace {

constexpr std::size_t rows_max = 4096;
constexpr std::size_t communicators_max = 1024;
constexpr std::size_t samples_a_row = 64;
constexpr std::size_t stretches = 1024;
constexpr std::size_t categories = 4;
/// Calls of one function on a communicator before the first is carried out by the MPI for comparison; then so many in turn, and
/// again each time there were twice as many.
constexpr std::uint64_t before_comparison = 512, compared_in_turn = 4;

constexpr std::int16_t no_class = -1, varying_class = -2;

struct Row {
  struct Key {
    std::uint32_t site = 0;
    std::uint32_t communicator = 0;
    const void* function = nullptr;
    const char* algorithm = nullptr;
    const char* parameter_name = nullptr;
    const char* reason = nullptr;
    const char* kept = nullptr;
    const char* way = nullptr;
    std::int32_t parameter = 0;
    std::int16_t size_class = no_class;
    bool is_for_comparison = false;
    bool operator==(const Key&) const = default;
  };
  Key key;
  Category category = Category::other;
  std::uint64_t calls = 0, bytes = 0, ticks = 0, waited = 0, least = ~std::uint64_t{0}, most = 0, most_at = 0;
  std::size_t samples = 0;
  int level = 0;  ///< of these calls one of 2^level is kept
};

std::uint64_t mixed(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15u;
  return value ^ value >> 32;
}

std::uint64_t hash_of(const Row::Key& key) {
  std::uint64_t hash = 0;
  const auto add = [&hash](auto value) { hash = mixed(hash + value); };
  add(std::uint64_t{key.site} << 32 | key.communicator);
  for (const void* const each :
       {key.function, static_cast<const void*>(key.algorithm), static_cast<const void*>(key.reason),
        static_cast<const void*>(key.kept), static_cast<const void*>(key.way)})
    add(reinterpret_cast<std::uintptr_t>(each));
  add(static_cast<std::uint64_t>(key.parameter) << 20 ^ static_cast<std::uint64_t>(key.size_class + 2) << 1 ^
      static_cast<std::uint64_t>(key.is_for_comparison));
  return hash;
}

/// A communicator on which something was called.
struct Communicator {
  std::uint64_t identity = 0;  ///< equal on its ranks; 0: unknown
  std::string name;
  int rank = 0, ranks = 0, nodes = 1, levels = 1;
  double ranks_per_core = 1;
  bool intercommunicator = false;
  std::vector<int> in_world;                                 ///< by rank
  std::uint64_t collectives = 0;                             ///< called on it so far: the same on all ranks
  std::vector<std::pair<const void*, std::uint64_t>> calls;  ///< by function, of blocking collectives
};

/// A call of which the times are kept.
struct Sample {
  std::uint64_t begin, end;
  std::uint64_t sequence;  ///< in its communicator
  std::uint32_t row;
  std::int32_t root;
};

/// A call on the timeline.
struct Event {
  std::uint64_t begin, end;
  std::uint32_t row;
  std::uint32_t thread;
};

/// How all calls fill the run: ticks in each category, a stretch after the other. They become twice as long when the run does.
class Filling {
 public:
  void begin(std::uint64_t origin) {
    origin_ = origin;
    width_ = ticks_in(1'000'000);
  }
  void add(std::uint64_t begin, std::uint64_t end, Category category) {
    begin = std::max(begin, origin_) - origin_;
    end = std::max(end, origin_) - origin_;
    while (end >= width_ * stretches) fold();
    for (std::uint64_t at = begin; at < end;) {
      const std::uint64_t stretch = at / width_, until = std::min(end, (stretch + 1) * width_);
      ticks_[stretch][static_cast<std::size_t>(category)] += static_cast<float>(until - at);
      at = until;
    }
  }
  std::uint64_t width() const { return width_; }
  const auto& ticks() const { return ticks_; }

 private:
  void fold() {
    for (std::size_t i = 0; i < stretches; ++i)
      for (std::size_t category = 0; category < categories; ++category) {
        const float sum = 2 * i + 1 < stretches ? ticks_[2 * i][category] + ticks_[2 * i + 1][category] : 0;
        ticks_[i][category] = sum;
      }
    width_ *= 2;
  }

  std::uint64_t origin_ = 0, width_ = 1;
  std::array<std::array<float, categories>, stretches> ticks_{};
};

struct Sent {
  std::uint64_t messages = 0, bytes = 0;
};

}  // namespace

class Recorder {
 public:
  explicit Recorder(const Job& job);

  void record(const Call& call, std::uint64_t end);
  bool is_turn_of_host(const Call& call, bool same_result);
  void forget(const CommunicatorState& state) {
    by_state_.erase(&state);
    last_state_ = nullptr;
  }
  void forget(MPI_Comm communicator) { by_handle_.erase(key_of(communicator)); }
  void finish(const Heading& heading);

  std::mutex mutex;

 private:
  /// When the clock of rank 0 says `zero`, that of this rank says `own`.
  struct Meeting {
    std::uint64_t own = 0, zero = 0;
  };

  std::uint32_t communicator_of(const Call& call);
  std::uint32_t new_communicator(MPI_Comm communicator, const CommunicatorState* state);
  std::uint32_t row_of(const Row::Key& key, Category category);
  void keep_sample(std::uint32_t row, const Sample& sample);
  void keep_event(const Event& event);
  std::uint32_t this_thread();
  Meeting meet() const;
  std::string told(const Meeting& end) const;
  void send_to_rank_0(const char* bytes, int count) const;

  MPI_Comm own_ = MPI_COMM_NULL;  ///< of all ranks, for nothing else
  int rank_ = 0, ranks_ = 1;
  bool all_record_ = false;
  bool has_clock_of_rank_0_ = false;
  int node_ = 0;  ///< the lowest rank of it
  std::uint64_t first_tick_ = 0;
  Meeting begin_;
  std::chrono::steady_clock::time_point first_time_;
  std::string file_;

  CallSites sites_;
  std::vector<Communicator> communicators_;
  std::unordered_map<const CommunicatorState*, std::uint32_t> by_state_;
  std::map<std::uintptr_t, std::uint32_t> by_handle_;  ///< without a state
  const CommunicatorState* last_state_ = nullptr;
  std::uint32_t last_communicator_ = 0;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> places_ = std::vector<std::uint32_t>(4 * rows_max);  ///< by hash: 1 + number of the row
  std::vector<Sample> samples_;
  std::vector<Event> events_;
  std::size_t events_max_ = 0;
  std::uint64_t least_event_ = 0;  ///< shorter ones are not kept
  std::uint64_t left_out_ = 0;     ///< of these
  Filling filling_;
  std::map<int, Sent> sent_;  ///< by rank of MPI_COMM_WORLD
  std::vector<const void*> threads_;
};

namespace {

/// Never freed: threads may still be in calls when the process ends.
Recorder* recorder = nullptr;

constexpr int tag = 1;

}  // namespace

// --- A call.

Call::Call(const void* function, Category category, const void* site, const void* frame)
    : outer_(innermost_), function_(function), site_(site), frame_(frame), category_(category) {
  innermost_ = this;
  begin_ = ticks();
}

void Call::has(MPI_Count count, MPI_Datatype datatype) {
  TypeInfo room;
  const TypeInfo* const info = count > 0 ? type_info(datatype, room) : nullptr;
  bytes_ = info ? static_cast<std::size_t>(count) * info->bytes : 0;
  has_bytes_ = true;
}

void Call::has_come() {
  if (come_ == 0) come_ = ticks();
}

void Call::was(const char* algorithm, const char* parameter_name, int parameter, const char* reason, const char* kept) {
  algorithm_ = algorithm;
  parameter_name_ = parameter_name;
  parameter_ = parameter;
  reason_ = reason;
  kept_ = kept;
}

void Call::look_whether_to_compare() {
  if (outer_ || !recorder) return;
  is_for_comparison_ = recorder->is_turn_of_host(*this, true);
}

void Call::look_whether_to_compare(MPI_Datatype datatype, MPI_Op operation) {
  if (outer_ || !recorder) return;
  const OperatorInfo info = operator_info(operation);
  TypeInfo room;
  const TypeInfo* const type = type_info(datatype, room);
  bool same = info.kind == OperatorKind::predefined && type && type->kernel_type;
  if (same && (info.operation == reduction::Operator::sum || info.operation == reduction::Operator::prod)) {
    using enum reduction::Type;
    const reduction::Type element = *type->kernel_type;
    const CommunicatorState* const state = known_state(communicator_);
    const bool is_whole = element <= u64 || element == byte;
    same = is_whole || (state && state->node_ranks.size() == 2);
  }
  is_for_comparison_ = recorder->is_turn_of_host(*this, same);
}

int Call::ended(int code) {
  if (outer_ || !recording || code != MPI_SUCCESS) return code;
  const std::uint64_t end = ticks();
  bool failed = false;
  code_of("TUTTI_PROFILE", failed, [&] {
    recorder->record(*this, end);
    return MPI_SUCCESS;
  });
  return code;
}

// --- What is recorded.

Recorder::Recorder(const Job& job) : file_(job.node.settings.profile) {
  host.Comm_rank(MPI_COMM_WORLD, &rank_);
  host.Comm_size(MPI_COMM_WORLD, &ranks_);
  host.Comm_split(MPI_COMM_WORLD, 0, rank_, &own_);
  const int records = wanted() ? 1 : 0;
  std::vector<int> all(static_cast<std::size_t>(ranks_));
  host.Allgather(&records, 1, MPI_INT, all.data(), 1, MPI_INT, own_);
  all_record_ = std::find(all.begin(), all.end(), 0) == all.end();
  const auto mine = static_cast<std::size_t>(rank_);
  has_clock_of_rank_0_ = rank_ == 0;
  if (job.world.size() == all.size()) {
    has_clock_of_rank_0_ = job.world[mine].node == job.world[0].node;
    while (job.world[static_cast<std::size_t>(node_)].node != job.world[mine].node) ++node_;
  }
  first_tick_ = ticks();
  first_time_ = std::chrono::steady_clock::now();
  begin_ = meet();
  filling_.begin(first_tick_);
  events_max_ = std::clamp<std::size_t>((std::size_t{1} << 20) / static_cast<std::size_t>(ranks_), 2048, 65536);
  events_.reserve(events_max_);
  rows_.reserve(64);
}

/// Of which rank 0's clock is not this one's the middle of the quickest of some exchanges is taken.
Recorder::Meeting Recorder::meet() const {
  constexpr int exchanges = 16;
  Meeting meeting{ticks(), 0};
  meeting.zero = meeting.own;
  std::vector<int> asks(static_cast<std::size_t>(ranks_));
  const int ask = has_clock_of_rank_0_ ? 0 : 1;
  host.Allgather(&ask, 1, MPI_INT, asks.data(), 1, MPI_INT, own_);
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int other = 1; other < ranks_; ++other) {
    if (!asks[static_cast<std::size_t>(other)] || (rank_ != 0 && rank_ != other)) continue;
    for (int i = 0; i < exchanges; ++i) {
      const int peer = rank_ == 0 ? other : 0;
      std::uint64_t mine = ticks(), theirs = 0;
      if (rank_ == 0) {
        host.Recv(&theirs, 1, MPI_UINT64_T, peer, tag, own_, MPI_STATUS_IGNORE);
        mine = ticks();
        host.Send(&mine, 1, MPI_UINT64_T, peer, tag, own_);
        continue;
      }
      host.Send(&mine, 1, MPI_UINT64_T, peer, tag, own_);
      host.Recv(&theirs, 1, MPI_UINT64_T, peer, tag, own_, MPI_STATUS_IGNORE);
      const std::uint64_t passed = ticks() - mine;
      if (passed >= shortest) continue;
      shortest = passed;
      meeting = {mine + passed / 2, theirs};
    }
  }
  return meeting;
}

std::uint32_t Recorder::new_communicator(MPI_Comm communicator, const CommunicatorState* state) {
  if (communicators_.size() == communicators_max) return communicators_max - 1;
  Communicator made;
  host.Comm_rank(communicator, &made.rank);
  host.Comm_size(communicator, &made.ranks);
  int inter = 0, length = 0;
  host.Comm_test_inter(communicator, &inter);
  made.intercommunicator = inter != 0;
  std::array<char, MPI_MAX_OBJECT_NAME + 1> name{};
  if (host.Comm_get_name) host.Comm_get_name(communicator, name.data(), &length);
  made.name = name.data();
  if (state) made.identity = state->identity;
  if (state && state->collectives) {
    const selection::Shape& shape = state->collectives->shape();
    made.nodes = state->collectives->nodes();
    made.levels = shape.levels;
    made.ranks_per_core = shape.ranks_per_core;
  }
  if (!inter) {
    MPI_Group members = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    host.Comm_group(communicator, &members);
    host.Comm_group(MPI_COMM_WORLD, &world);
    std::vector<int> ranks(static_cast<std::size_t>(made.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    made.in_world.resize(ranks.size(), -1);
    host.Group_translate_ranks(members, made.ranks, ranks.data(), world, made.in_world.data());
    host.Group_free(&members);
    host.Group_free(&world);
  }
  communicators_.push_back(std::move(made));
  return static_cast<std::uint32_t>(communicators_.size() - 1);
}

/// communicators_max for a call on none.
std::uint32_t Recorder::communicator_of(const Call& call) {
  if (!call.has_communicator_ || call.communicator_ == MPI_COMM_NULL)
    return static_cast<std::uint32_t>(communicators_max);
  const CommunicatorState* const state = known_state(call.communicator_);
  if (state && state == last_state_) return last_communicator_;
  if (!state) {
    const auto [place, is_new] = by_handle_.try_emplace(key_of(call.communicator_), 0);
    if (is_new) place->second = new_communicator(call.communicator_, nullptr);
    return place->second;
  }
  const auto [place, is_new] = by_state_.try_emplace(state, 0);
  if (is_new) place->second = new_communicator(call.communicator_, state);
  last_state_ = state;
  last_communicator_ = place->second;
  return place->second;
}

bool Recorder::is_turn_of_host(const Call& call, bool same_result) {
  // Of what may be no communicator nothing is asked before the call.
  if (call.communicator_ == MPI_COMM_NULL || !known_state(call.communicator_)) return false;
  const std::lock_guard lock(mutex);
  const std::uint32_t number = communicator_of(call);
  if (number >= communicators_.size()) return false;
  auto& calls = communicators_[number].calls;
  auto found = std::find_if(calls.begin(), calls.end(), [&](const auto& each) { return each.first == call.function_; });
  if (found == calls.end()) found = calls.insert(calls.end(), {call.function_, 0});
  const std::uint64_t count = found->second++;
  return all_record_ && same_result && count >= before_comparison && count - std::bit_floor(count) < compared_in_turn;
}

std::uint32_t Recorder::row_of(const Row::Key& key, Category category) {
  for (std::size_t at = hash_of(key);; ++at) {
    std::uint32_t& place = places_[at % places_.size()];
    if (place == 0) {
      if (rows_.size() == rows_max) return rows_max - 1;
      rows_.push_back({key, category});
      place = static_cast<std::uint32_t>(rows_.size());
      return place - 1;
    }
    if (rows_[place - 1].key == key) return place - 1;
  }
}

std::uint32_t Recorder::this_thread() {
  const void* const here = &refusal;  // each thread has its own
  for (std::size_t i = 0; i < threads_.size(); ++i)
    if (threads_[i] == here) return static_cast<std::uint32_t>(i);
  if (threads_.size() < 255) threads_.push_back(here);
  return static_cast<std::uint32_t>(threads_.size() - 1);
}

/// Ranks keep the same calls: which depends on their place in the sequence of the communicator, and on how many calls the row
/// has, which differs little between ranks.
void Recorder::keep_sample(std::uint32_t row, const Sample& sample) {
  Row& of = rows_[row];
  const auto is_kept = [&of](std::uint64_t sequence) {
    return (mixed(sequence) & ((std::uint64_t{1} << of.level) - 1)) == 0;
  };
  if (!is_kept(sample.sequence)) return;
  samples_.push_back(sample);
  if (++of.samples <= samples_a_row) return;
  ++of.level;
  std::erase_if(samples_, [&](const Sample& each) { return each.row == row && !is_kept(each.sequence); });
  of.samples = static_cast<std::size_t>(
      std::count_if(samples_.begin(), samples_.end(), [row](const Sample& each) { return each.row == row; }));
}

void Recorder::keep_event(const Event& event) {
  const std::uint64_t passed = event.end - event.begin;
  if (passed < least_event_) {
    ++left_out_;
    return;
  }
  if (events_.size() == events_max_) {
    least_event_ = std::max<std::uint64_t>(2 * least_event_, ticks_in(200));
    left_out_ += std::erase_if(events_, [this](const Event& each) { return each.end - each.begin < least_event_; });
    if (events_.size() == events_max_) return keep_event(event);
  }
  events_.push_back(event);
}

void Recorder::record(const Call& call, std::uint64_t end) {
  const std::lock_guard lock(mutex);
  Row::Key key;
  key.site = sites_.of(call.site_, call.frame_);
  key.communicator = communicator_of(call);
  key.function = call.function_;
  key.algorithm = call.algorithm_;
  key.parameter_name = call.parameter_name_;
  key.parameter = call.parameter_;
  key.reason = call.reason_;
  key.kept = call.kept_;
  key.way = call.way_;
  key.is_for_comparison = call.is_for_comparison_;
  if (call.varies_)
    key.size_class = varying_class;
  else if (call.has_bytes_ || call.bytes_ > 0)
    key.size_class = static_cast<std::int16_t>(size_class_of(call.bytes_));
  const std::uint32_t number = row_of(key, call.category_);
  Row& row = rows_[number];
  const std::uint64_t passed = end > call.begin_ ? end - call.begin_ : 0;
  ++row.calls;
  row.bytes += call.bytes_;
  row.ticks += passed;
  row.least = std::min(row.least, passed);
  if (passed >= row.most) row.most = passed, row.most_at = call.begin_;
  if (call.come_ > call.begin_) row.waited += call.come_ - call.begin_;
  filling_.add(call.begin_, end, call.category_);
  keep_event({call.begin_, end, number, this_thread()});
  if (key.communicator >= communicators_.size()) return;
  Communicator& on = communicators_[key.communicator];
  if (call.category_ == Category::collective) {
    keep_sample(number, {call.begin_, end, on.collectives, number, call.root_});
    ++on.collectives;
  }
  if (call.category_ == Category::message && call.peer_ >= 0 &&
      static_cast<std::size_t>(call.peer_) < on.in_world.size() && call.sends()) {
    Sent& sent = sent_[on.in_world[static_cast<std::size_t>(call.peer_)]];
    ++sent.messages;
    sent.bytes += call.bytes_;
  }
}

// --- What is told.

namespace {

/// "MPI_Bcast", for the address of next.Bcast or next.Bcast_c.
std::string name_of(const void* function) {
  std::string name = "MPIX";
#define TUTTI_MEMBER(name_) \
  if (function == &next.name_) name = "MPI_" #name_;
  TUTTI_INTERPOSED(TUTTI_MEMBER)
#undef TUTTI_MEMBER
#define TUTTI_MEMBER(name_) \
  if (function == &next.X_##name_) name = "MPIX_" #name_;
  TUTTI_INTERPOSED_INITS(TUTTI_MEMBER)
#undef TUTTI_MEMBER
  if (name.ends_with("_c")) name.resize(name.size() - 2);
  return name;
}

std::string json_of(const Row& row) {
  const Row::Key& key = row.key;
  std::string text = "{\"site\": " + std::to_string(key.site) + ", \"function\": " + quoted(name_of(key.function));
  if (key.communicator < communicators_max) text += ", \"communicator\": " + std::to_string(key.communicator);
  static constexpr std::array<const char*, categories> names{"collective", "message", "wait", "other"};
  text += ", \"category\": " + quoted(names[static_cast<std::size_t>(row.category)]);
  text += ", \"size_class\": " + (key.size_class == varying_class ? "\"varying\""
                                  : key.size_class == no_class    ? "null"
                                                                  : std::to_string(key.size_class));
  text += ", \"algorithm\": " + quoted(key.algorithm);
  if (key.parameter_name)
    text += ", \"parameter\": " + quoted(std::string(key.parameter_name) + "=" + std::to_string(key.parameter));
  text += ", \"reason\": " + quoted(key.reason) + ", \"way\": " + quoted(key.way);
  if (key.kept) text += ", \"kept\": " + quoted(key.kept);
  if (key.is_for_comparison) text += ", \"for_comparison\": true";
  return text + ", \"calls\": " + std::to_string(row.calls) + ", \"bytes\": " + std::to_string(row.bytes) +
         ", \"ticks\": " + std::to_string(row.ticks) + ", \"waited\": " + std::to_string(row.waited) +
         ", \"least\": " + std::to_string(row.least) + ", \"most\": " + std::to_string(row.most) +
         ", \"most_at\": " + std::to_string(row.most_at) + ", \"level\": " + std::to_string(row.level) + "}";
}

std::string json_of(const Communicator& communicator) {
  std::string text =
      "{\"identity\": \"" + std::to_string(communicator.identity) + "\", \"name\": " + quoted(communicator.name) +
      ", \"rank\": " + std::to_string(communicator.rank) + ", \"ranks\": " + std::to_string(communicator.ranks) +
      ", \"nodes\": " + std::to_string(communicator.nodes) + ", \"levels\": " + std::to_string(communicator.levels) +
      ", \"ranks_per_core\": " + number(communicator.ranks_per_core) +
      ", \"intercommunicator\": " + (communicator.intercommunicator ? "true" : "false") +
      ", \"collectives\": " + std::to_string(communicator.collectives) + ", \"in_world\": [";
  for (std::size_t i = 0; i < communicator.in_world.size(); ++i)
    text.append(i ? "," : "").append(std::to_string(communicator.in_world[i]));
  return text + "]}";
}

std::string json_of(const CallSite& site) {
  std::string text = "{\"python\": [";
  for (std::size_t i = 0; i < site.python.size(); ++i) text.append(i ? ", " : "").append(quoted(site.python[i]));
  text += "], \"frames\": [";
  for (std::size_t i = 0; i < site.frames.size(); ++i)
    text.append(i ? ", " : "")
        .append("[" + quoted(site.frames[i].module) + ", " + std::to_string(site.frames[i].offset) + ", " +
                quoted(site.frames[i].symbol) + "]");
  return text + "]}";
}

template <class Elements, class Text>
std::string list_of(const Elements& elements, const Text& text) {
  std::string list = "[";
  const char* separator = "";
  for (const auto& element : elements) {
    list.append(separator).append(text(element));
    separator = ",\n  ";
  }
  return list + "]";
}

/// Words of this process's command, blanks between.
std::string command_line() {
  std::string words;
  if (std::FILE* const file = std::fopen("/proc/self/cmdline", "re")) {
    std::array<char, 4096> room;
    words.assign(room.data(), std::fread(room.data(), 1, room.size(), file));
    std::fclose(file);
  }
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

template <class Value>
void put(std::string& bytes, const Value& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

/// A part of the file: lengths of what comes, JSON, kept calls, those of the timeline.
std::string Recorder::told(const Meeting& end) const {
  char node[256] = "";
  gethostname(node, sizeof node - 1);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - first_time_).count();
  std::string text =
      "{\"rank\": " + std::to_string(rank_) + ", \"host\": " + quoted(node) + ", \"node\": " + std::to_string(node_) +
      ", \"process\": " + std::to_string(getpid()) + ", \"seconds\": " + number(seconds) +
      ", \"first_tick\": " + std::to_string(first_tick_) + ", \"last_tick\": " + std::to_string(ticks()) +
      ", \"meetings\": [[" + std::to_string(begin_.own) + ", " + std::to_string(begin_.zero) + "], [" +
      std::to_string(end.own) + ", " + std::to_string(end.zero) + "]]" +
      ", \"recorded\": " + (wanted() ? "true" : "false") + ", \"least_event\": " + std::to_string(least_event_) +
      ", \"events_left_out\": " + std::to_string(left_out_) + ", \"threads\": " + std::to_string(threads_.size()) +
      ", \"stretch\": " + std::to_string(filling_.width());
  text += ",\n \"sites\": " + list_of(sites_.all(), [](const CallSite& each) { return json_of(each); });
  text += ",\n \"communicators\": " + list_of(communicators_, [](const Communicator& each) { return json_of(each); });
  text += ",\n \"rows\": " + list_of(rows_, [](const Row& each) { return json_of(each); });
  text += ",\n \"sent\": " + list_of(sent_, [](const auto& each) {
            return "[" + std::to_string(each.first) + ", " + std::to_string(each.second.messages) + ", " +
                   std::to_string(each.second.bytes) + "]";
          });
  // Up to the last stretch in which there is something.
  const auto& filled = filling_.ticks();
  std::size_t used = filled.size();
  while (used > 0 && filled[used - 1] == std::array<float, categories>{}) --used;
  text += ",\n \"filled\": " + list_of(std::vector(filled.begin(), filled.begin() + static_cast<std::ptrdiff_t>(used)),
                                       [](const auto& each) {
                                         return "[" + number(each[0], "%.0f") + "," + number(each[1], "%.0f") + "," +
                                                number(each[2], "%.0f") + "," + number(each[3], "%.0f") + "]";
                                       });
  text += "}\n";
  std::string bytes;
  put(bytes, std::uint64_t{text.size()});
  put(bytes, std::uint64_t{samples_.size()});
  put(bytes, std::uint64_t{events_.size()});
  bytes += text;
  for (const Sample& each : samples_) {
    put(bytes, each.begin);
    put(bytes, each.end);
    put(bytes, each.sequence);
    put(bytes, each.row);
    put(bytes, each.root);
  }
  for (const Event& each : events_) {
    put(bytes, each.begin);
    put(bytes, each.end);
    put(bytes, each.row);
    put(bytes, each.thread);
  }
  return bytes;
}

/// Ranks that wait for their turn leave the processors to those who have it.
void Recorder::send_to_rank_0(const char* bytes, int count) const {
  MPI_Request request = MPI_REQUEST_NULL;
  host.Isend(bytes, count, MPI_CHAR, 0, tag, own_, &request);
  int is_over = 0;
  for (useconds_t pause = 20;; pause = std::min<useconds_t>(2 * pause, 2000)) {
    host.Test(&request, &is_over, MPI_STATUS_IGNORE);
    if (is_over) return;
    usleep(pause);
  }
}

void Recorder::finish(const Heading& heading) {
  const Meeting end = meet();
  std::string bytes;
  {
    const std::lock_guard lock(mutex);
    bytes = told(end);
  }
  constexpr std::size_t piece = std::size_t{1} << 26;
  const std::uint64_t length = bytes.size();
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(ranks_));
  host.Gather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, 0, own_);
  if (rank_ != 0) {
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      send_to_rank_0(bytes.data() + at, static_cast<int>(std::min(piece, bytes.size() - at)));
  } else {
    std::FILE* const file = std::fopen(file_.c_str(), "we");
    int error = file ? 0 : errno;
    const auto write = [&](const std::string& some) {
      if (error == 0 && std::fwrite(some.data(), 1, some.size(), file) != some.size()) error = errno ? errno : EIO;
    };
    std::string head = "tutti-profile-1\n";
    const std::string about = "{\n \"schema\": \"tutti-profile-1\",\n" + json_heading(heading) +
                              ",\n \"command\": " + quoted(command_line()) + "\n}\n";
    put(head, std::uint64_t{about.size()});
    put(head, std::uint64_t{static_cast<std::uint64_t>(ranks_)});
    write(head + about);
    write(bytes);
    for (int rank = 1; rank < ranks_; ++rank) {
      const std::uint64_t theirs = lengths[static_cast<std::size_t>(rank)];
      for (std::uint64_t at = 0; at < theirs; at += piece) {
        bytes.resize(std::min<std::uint64_t>(piece, theirs - at));
        host.Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_CHAR, rank, tag, own_, MPI_STATUS_IGNORE);
        write(bytes);
      }
    }
    if (file && std::fclose(file) != 0 && error == 0) error = errno;
    if (error != 0) {
      Log log;
      log.set_rank(0);
      log.warn("TUTTI_PROFILE=%s: %s; there is no profile", file_.c_str(), std::strerror(error));
    }
  }
  host.Comm_free(&own_);
}

void start(const Job& job) {
  if (recorder || job.node.settings.profile.empty()) return;
  recorder = new Recorder(job);
  recording = wanted();
}

void ends(const CommunicatorState& state) {
  if (!recorder) return;
  const std::lock_guard lock(recorder->mutex);
  recorder->forget(state);
}

void is_being_freed(MPI_Comm communicator) {
  if (!recorder) return;
  const std::lock_guard lock(recorder->mutex);
  recorder->forget(communicator);
}

void finish(const Heading& heading) {
  if (!recorder) return;
  recording = false;
  recorder->finish(heading);
}

}  // namespace tutti::mpi::profile
