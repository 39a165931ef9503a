#include "mpi/report/explain.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <compare>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/ticks.h"
#include "collectives/call_shape.h"
#include "mpi/arguments/device_memory.h"
#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/report/explain_table.h"
#include "mpi/report/last_call.h"
#include "mpi/report/profile.h"
#include "mpi/start/knowledge.h"
#include "selection/words.h"

namespace tutti::mpi {

constinit thread_local Refusal refusal = Refusal::arguments;

const char* words_of(Refusal why) {
  static constexpr const char* words[] = {
      "arguments that the MPI has to judge",
      "the library is inactive",
      "intercommunicator",
      "a rank alone",
      "ranks of several jobs",
      "ranks on several nodes",
      "revoked communicator",
      "communicator that is being freed",
      "no memory left for what ranks share",
      "no data",
      "datatype not ours",
      "operator not ours on this type",
      "communicator without neighbours",
      "chosen",
      "long, to a rank of the node",
      "shorter than what goes as an envelope",
      "buffered by the MPI",
      "to MPI_PROC_NULL",
      "to the rank itself",
      "to another node",
      "communicator whose making was not seen on all ranks",
      "as it was sent",
      "to see how long the MPI takes",
  };
  return words[static_cast<std::size_t>(why)];
}

namespace explain {

constinit bool counting = false;

struct MessageTally {
  std::uint64_t calls = 0, bytes = 0, ticks = 0;
  std::array<std::uint64_t, messages::ways> ways{};
};

namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::size_t lines_max = 40;

/// Calls that went to the host before any choice.
struct HostCalls {
  const void* function;
  Refusal why;
  CommunicatorShape shape;
  auto operator<=>(const HostCalls&) const = default;
};
struct Tally {
  std::uint64_t calls = 0;
  std::uint64_t ticks = 0;
};

/// Messages that are counted together.
struct Messages {
  const void* function;
  Refusal why;
  std::size_t size_class;
  int ranks;            ///< of the communicator
  bool between_groups;  ///< an intercommunicator
  auto operator<=>(const Messages&) const = default;
};

/// The message that this thread is sending, or waits for.
struct Message {
  const void* function = nullptr;
  MessageTally* tally = nullptr;  ///< null: it is the host's
};
constinit thread_local Message message;

/// What this process has counted; the open communicators count for themselves.
struct Book {
  std::mutex mutex;
  std::map<HostCalls, Tally> host_calls;
  std::map<Messages, MessageTally> messages;  ///< what is in it stays where it is
  std::vector<Row> ended;                     ///< of communicators that are no more; `seconds` are ticks until the end
  std::vector<const CommunicatorState*> open;
  std::uint64_t first_tick = 0;
  std::chrono::steady_clock::time_point first_time;
  int rank = 0;
  Log log;
  std::string file;      ///< empty: standard error
  bool summary = false;  ///< one line there, no table
  bool tells = false;    ///< false: it is for the profile alone
  Heading heading;       ///< what is known of it from the beginning
};
/// Never freed: threads may still be in calls when the process ends.
Book* book = nullptr;

/// "bcast", for the address of next.Bcast or next.Bcast_c.
std::string name_of(const void* function) {
  const char* found = "";
#define TUTTI_MEMBER(name) \
  if (function == &next.name) found = #name;
  TUTTI_INTERPOSED(TUTTI_MEMBER)
#undef TUTTI_MEMBER
#define TUTTI_MEMBER(name) \
  if (function == &next.X_##name) found = #name;
  TUTTI_INTERPOSED_INITS(TUTTI_MEMBER)
#undef TUTTI_MEMBER
  std::string name = found;
  if (name.ends_with("_c")) name.resize(name.size() - 2);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return name;
}

CommunicatorShape shape_of(const Collectives& collectives) {
  const selection::Shape& shape = collectives.shape();
  return {shape.ranks, collectives.nodes(), shape.levels, shape.ranks_per_core, false};
}

CommunicatorShape shape_of(MPI_Comm communicator, const CommunicatorState* state) {
  if (state && state->collectives) return shape_of(*state->collectives);
  CommunicatorShape shape;
  int inter = 0;
  host.Comm_size(communicator, &shape.ranks);
  host.Comm_test_inter(communicator, &inter);
  shape.intercommunicator = inter != 0;
  return shape;
}

/// `seconds` are ticks.
std::vector<Row> rows_of(const Collectives& collectives) {
  std::vector<Row> rows;
  for (const CallRecord& record : collectives.records()) {
    if (record.calls == 0) continue;
    Row row;
    row.collective = record.collective;
    row.size_class = record.regular ? static_cast<long>(record.size_class) : Row::varying;
    if (row.collective == "barrier") row.size_class = Row::none;
    row.communicator = shape_of(collectives);
    row.algorithm = record.algorithm;
    row.parameter_name = record.parameter_name ? record.parameter_name : "";
    row.parameter = record.parameter;
    row.reason = selection::words_of(record.reason, row.by_host());
    if (record.kept) row.reason += std::string("; persistent, keeps the ") + record.kept;
    row.calls = record.calls;
    row.bytes = record.bytes;
    row.seconds = row.least_seconds = static_cast<double>(record.ticks);
    for (const CallRecord::Mechanism& mechanism : record.mechanisms)
      if (mechanism.name && *mechanism.name) row.mechanisms[mechanism.name] = mechanism.calls;
    rows.push_back(std::move(row));
  }
  return rows;
}

Row row_of(const HostCalls& calls, const Tally& tally) {
  Row row;
  row.collective = name_of(calls.function);
  row.communicator = calls.shape;
  row.algorithm = selection::host_algorithm;
  row.reason = words_of(calls.why);
  row.calls = tally.calls;
  row.seconds = row.least_seconds = static_cast<double>(tally.ticks);
  return row;
}

Row row_of(const Messages& some, const MessageTally& tally) {
  Row row;
  row.is_of_messages = true;
  row.collective = name_of(some.function);
  row.size_class = static_cast<long>(some.size_class);
  row.communicator.ranks = some.ranks;
  row.communicator.intercommunicator = some.between_groups;
  row.algorithm = some.why == Refusal::none ? "envelope" : selection::host_algorithm;
  row.reason = words_of(some.why);
  row.calls = tally.calls;
  row.bytes = tally.bytes;
  row.seconds = row.least_seconds = static_cast<double>(tally.ticks);
  for (std::size_t way = 0; way < tally.ways.size(); ++way)
    if (tally.ways[way] > 0) row.mechanisms[messages::name_of(static_cast<messages::Way>(way))] = tally.ways[way];
  return row;
}

/// All that this rank has counted, in seconds.
std::vector<Row> rows_of_this_rank(double seconds_per_tick) {
  const std::lock_guard<std::mutex> lock(book->mutex);
  std::vector<Row> rows = book->ended;
  for (const CommunicatorState* state : book->open) merge(rows, rows_of(*state->collectives), Merge::communicators);
  for (const auto& [calls, tally] : book->host_calls) merge(rows, {row_of(calls, tally)}, Merge::communicators);
  for (const auto& [some, tally] : book->messages) merge(rows, {row_of(some, tally)}, Merge::communicators);
  for (Row& row : rows) row.seconds = row.least_seconds = row.seconds * seconds_per_tick;
  return rows;
}

/// What a rank tells beside its rows.
struct OfRank {
  double seconds;  ///< from MPI_Init to MPI_Finalize
  Staged staged;
};

/// On rank 0 the rows of all ranks put together, and in the heading what all have together. The communicator is for nothing else.
std::vector<Row> gathered(const OfRank& own, const std::vector<Row>& mine, Heading& heading) {
  const std::string text = std::string(reinterpret_cast<const char*>(&own), sizeof own) + packed(mine);
  const int length = static_cast<int>(text.size());
  const auto ranks = static_cast<std::size_t>(heading.ranks);
  std::vector<int> lengths(ranks), offsets(ranks);
  host.Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  int total = 0;
  for (std::size_t i = 0; i < ranks && book->rank == 0; ++i) {
    offsets[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  host.Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < ranks && book->rank == 0; ++i) {
    const std::string said = all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i]));
    OfRank their;
    std::memcpy(&their, said.data(), sizeof their);
    heading.seconds = std::max(heading.seconds, their.seconds);
    heading.staged_buffers += their.staged.buffers;
    heading.staged_bytes += their.staged.bytes;
    const std::vector<Row> theirs = unpacked(said.substr(sizeof their));
    for (const bool of_messages : {false, true}) {
      Times& slowest = of_messages ? heading.slowest_in_messages : heading.slowest;
      if (const Times times = times_of(theirs, of_messages); times.seconds >= slowest.seconds) slowest = times;
    }
    merge(rows, theirs, Merge::ranks);
  }
  return rows;
}

/// Our own barrier first: its ranks notice who has died, which the host's gather would wait for. Not between nodes, of which
/// one may have given up on messages of ours.
void wait_for_everybody() {
  const CommunicatorState* const world = known_state(MPI_COMM_WORLD);
  Collectives* collectives = collectives_of(MPI_COMM_WORLD);
  if (!collectives || (world && world->spanning)) return;
  try {
    collectives->barrier({});
  } catch (const Disagreement&) {
  }
}

std::string program_name() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

std::string now_in_words() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return date;
}

/// In one piece, so that it is not mixed with what other ranks say.
void print(const std::string& text) {
  std::fflush(stderr);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(STDERR_FILENO, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

/// Nothing, or why the file cannot be written.
std::string write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (!file) return std::strerror(errno);
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  return std::fclose(file) == 0 && whole ? "" : std::strerror(whole ? errno : error);
}

/// The same before there is anything to write, without making the file.
std::string cannot_write(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const bool there = access(path.c_str(), F_OK) == 0;
  if (const int file = there ? open(path.c_str(), O_WRONLY | O_CLOEXEC) : -1; file >= 0) {
    close(file);
    return "";
  }
  if (!there && access(folder.c_str(), W_OK | X_OK) == 0) return "";
  return std::strerror(errno);
}

}  // namespace

void start(const Job& job) {
  const Settings& settings = job.node.settings;
  if (!settings.counts() || book) return;
  book = new Book;
  book->tells = settings.explains();
  book->first_tick = ticks();
  book->first_time = std::chrono::steady_clock::now();
  host.Comm_rank(MPI_COMM_WORLD, &book->rank);
  Heading& heading = book->heading;
  host.Comm_size(MPI_COMM_WORLD, &heading.ranks);
  book->log.set_rank(book->rank);
  heading.version = TUTTI_VERSION;
  const HostName mpi = host_name();
  heading.host = mpi.version.empty() ? mpi.name : mpi.name + " " + mpi.version;
  heading.program = program_name();
  heading.cores = job.node.placement.cores_available;
  heading.why_inactive = job.why_inactive;
  if (job.active) {
    heading.model = {job.model_file, job.knowledge.model_source};
    if (job.spans_nodes && job.node.size < heading.ranks)
      heading.network = {job.network_file, job.knowledge.network_source};
    heading.table = job.table_source;
  }
  heading.mechanisms = names_of_mechanisms(job);
  heading.no_window = job.no_window;
  book->file = settings.explain_file();
  if (book->file == "summary") {
    book->summary = true;
    book->file.clear();
  }
  counting = true;
  profile::start(job);
  if (book->rank != 0 || book->file.empty() || !book->tells) return;
  const std::string error = cannot_write(book->file);
  if (error.empty()) return;
  book->log.warn("TUTTI_EXPLAIN=%s: %s; the table is printed instead", book->file.c_str(), error.c_str());
  book->file.clear();
}

void made(const CommunicatorState& state) {
  if (!book || !state.collectives) return;
  const std::lock_guard<std::mutex> lock(book->mutex);
  book->open.push_back(&state);
}

void ends(const CommunicatorState& state) {
  profile::ends(state);
  if (!book || !state.collectives) return;
  const std::lock_guard<std::mutex> lock(book->mutex);
  std::erase(book->open, &state);
  merge(book->ended, rows_of(*state.collectives), Merge::communicators);
}

void finish() {
  if (!counting) return;
  counting = false;
  const double seconds = Seconds(std::chrono::steady_clock::now() - book->first_time).count();
  const auto passed = static_cast<double>(ticks() - book->first_tick);
  const std::vector<Row> mine = rows_of_this_rank(passed > 0 ? seconds / passed : 0);
  if (job()) wait_for_everybody();
  Heading heading = book->heading;
  heading.date = now_in_words();
  heading.seconds = seconds;
  profile::finish(heading);
  if (!book->tells) return;
  const std::vector<Row> rows = gathered({seconds, staged_so_far()}, mine, heading);
  if (book->rank != 0) return;
  if (!book->file.empty()) {
    const std::string error = write_file(book->file, json(heading, rows));
    if (error.empty()) return;
    book->log.warn("TUTTI_EXPLAIN=%s: %s; the table is printed instead", book->file.c_str(), error.c_str());
  }
  print(book->summary ? summary(heading, rows) : table(heading, rows, lines_max));
}

std::uint64_t begin_call() {
  last_call = {};
  refusal = Refusal::arguments;
  return ticks();
}

void count(const Counted& counted, const LastCall& call, std::uint64_t ticks) {
  const std::size_t bytes = counted.record->regular ? counted.bytes : call.bytes;
  counted.record->count(mechanism_of(call), bytes, ticks);
}

namespace {

/// For the profile: what the call was.
void tell(profile::Call& call, const CallRecord& record, std::size_t bytes) {
  const bool by_host = std::strcmp(record.algorithm, selection::host_algorithm) == 0;
  call.was(record.algorithm, record.parameter_name, record.parameter, selection::words_of(record.reason, by_host),
           record.kept);
  call.went(mechanism_of(last_call));
  if (record.regular)
    call.had(bytes);
  else
    call.varied(last_call.bytes);
}

void count_call(MPI_Comm communicator, const void* function, std::uint64_t passed, int code) {
  const CommunicatorState* const state = known_state(communicator);
  Collectives* const collectives = state ? state->collectives.get() : nullptr;
  CallRecord* const record = collectives ? collectives->take_last_record() : nullptr;
  if (code != MPI_SUCCESS || !*last_call.algorithm) return;  // errors are not counted
  profile::Call* const call = profile::Call::current();
  if (record) {
    if (call) tell(*call, *record, collectives->last_bytes());
    return count({record, collectives->last_bytes()}, last_call, passed);
  }
  if (last_call.node) return;
  Refusal why = refusal;
  if (!job())
    why = Refusal::inactive;
  else if (state && !state->is_ours())
    why = state->refusal;
  if (call) call->was(selection::host_algorithm, nullptr, 0, words_of(why));
  const HostCalls calls{function, why, shape_of(communicator, state)};
  const std::lock_guard<std::mutex> lock(book->mutex);
  Tally& tally = book->host_calls[calls];
  ++tally.calls;
  tally.ticks += passed;
}

}  // namespace

namespace {

/// Where messages of the function that this thread is in are counted. The book is locked.
MessageTally& tally_of(MPI_Comm communicator, Refusal why, std::size_t bytes) {
  const CommunicatorState* const state = known_state(communicator);
  if (why == Refusal::communicator && state && !state->is_ours()) why = state->refusal;
  int ranks = 0, between_groups = 0;
  host.Comm_size(communicator, &ranks);
  host.Comm_test_inter(communicator, &between_groups);
  return book->messages[{message.function, why, size_class_of(bytes), ranks, between_groups != 0}];
}

}  // namespace

std::uint64_t begin_message(const void* function, Refusal unless_told) {
  message = {function, nullptr};
  refusal = unless_told;
  return ticks();
}

MessageTally* by_envelope(MPI_Comm communicator, std::size_t bytes) {
  bool failed = false;
  code_of("TUTTI_EXPLAIN", failed, [&] {
    const std::lock_guard<std::mutex> lock(book->mutex);
    message.tally = &tally_of(communicator, Refusal::none, bytes);
    return MPI_SUCCESS;
  });
  return message.tally;
}

void went(MessageTally& tally, messages::Way way) {
  const std::lock_guard<std::mutex> lock(book->mutex);
  ++tally.ways[static_cast<std::size_t>(way)];
  if (profile::Call* const call = profile::Call::current(); call && &tally == message.tally)
    call->went(messages::name_of(way));
}

void came_by_envelope(MPI_Comm communicator, std::size_t bytes) {
  if (refusal == Refusal::sender) by_envelope(communicator, bytes);
}

void by_host_after_all() {
  message.tally = nullptr;
  refusal = Refusal::memory;
}

void end_message(MPI_Comm communicator, std::size_t bytes, std::uint64_t begin, int code) {
  const std::uint64_t now = ticks();
  const Refusal why = std::exchange(refusal, Refusal::arguments);
  if (code != MPI_SUCCESS) return;
  if (profile::Call* const call = profile::Call::current()) {
    call->was(message.tally ? "envelope" : selection::host_algorithm, nullptr, 0,
              words_of(message.tally ? Refusal::none : why));
    call->had(bytes);
  }
  bool failed = false;
  code_of("TUTTI_EXPLAIN", failed, [&] {
    const std::lock_guard<std::mutex> lock(book->mutex);
    MessageTally& tally = message.tally ? *message.tally : tally_of(communicator, why, bytes);
    ++tally.calls;
    tally.bytes += bytes;
    tally.ticks += now > begin ? now - begin : 0;
    return MPI_SUCCESS;
  });
}

void end_call(MPI_Comm communicator, const void* function, std::uint64_t begin, int code) {
  const std::uint64_t now = ticks();
  bool failed = false;
  code_of("TUTTI_EXPLAIN", failed, [&] {
    count_call(communicator, function, now > begin ? now - begin : 0, code);
    return MPI_SUCCESS;
  });
}

}  // namespace explain

}  // namespace tutti::mpi
