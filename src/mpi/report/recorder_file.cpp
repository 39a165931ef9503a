// How records of all ranks come into one file.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/ticks.h"
#include "mpi/communicators.h"
#include "mpi/report/explain_table.h"
#include "mpi/report/json_text.h"
#include "mpi/report/recorder.h"

namespace tutti::mpi::profile {

namespace {

constexpr int tag = 1;

/// With MPI_Count or without.
std::string_view function_of(const Row::Key& key) {
  std::string_view name = key.function;
  if (name.ends_with("_c")) name.remove_suffix(2);
  return name;
}

std::string json_of(const Row& row) {
  const Row::Key& key = row.key;
  std::string text = "{\"site\": " + std::to_string(key.site) + ", \"function\": " + quoted(function_of(key));
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

}  // namespace tutti::mpi::profile
