#include "base/settings.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <variant>
#include <vector>

#include "base/nearest.h"

namespace tutti {

namespace {

using Member = std::variant<bool Settings::*, std::string Settings::*, std::size_t Settings::*, double Settings::*>;

struct Row {
  SettingDescription description;
  Member member;
};

constexpr std::size_t settings_count = 38;

const std::array<Row, settings_count>& table() {
  static const std::array<Row, settings_count> rows{{
      {{"ENABLE", "bool", "1", "Off: the library forwards every call to the MPI untouched."}, &Settings::enable},
      {{"VERBOSE", "bool", "0", "Say at start-up what was found and chosen."}, &Settings::verbose},
      {{"ALGORITHM", "string", "",
        "Which algorithm a collective uses, e.g. \"bcast:xhc;allreduce:^share\" (^ excludes; host is the MPI's own)."},
       &Settings::algorithm},
      {{"PROBE", "string", "",
        "File of tutti probe to take the model's parameters from; off: the shipped ones; without it the user's, else "
        "the "
        "site's."},
       &Settings::probe},
      {{"TABLE", "string", "",
        "Decision table of tutti tune; off: none; without it the first that fits of the user's folder, else the "
        "site's."},
       &Settings::decision_table},
      {{"SITE", "string", "/etc/tutti",
        "Folder of the site's probe.json and tables/, which are looked at after the user's."},
       &Settings::site},
      {{"MECHANISM", "string", "auto",
        "How peers' memory is read: window, xpmem, cma, staged; a list allows those only, ^name forbids one. A line "
        "says so if one that is named cannot be used."},
       &Settings::mechanism},
      {{"HIERARCHY", "string", "auto",
        "Levels of the hierarchy, innermost first: flat, or l2, l3, numa, socket joined by +, e.g. numa+socket. A "
        "number among them cuts wider groups into neighbours, e.g. socket+16; auto does so with 16 where ranks have "
        "cores of their own."},
       &Settings::hierarchy},
      {{"TOPOLOGY", "string", "", "An hwloc synthetic description or an XML file to plan for instead of this machine."},
       &Settings::topology},
      {{"CHUNK", "auto or sizes", "auto",
        "Pipeline chunk of each level of the hierarchy, innermost first, e.g. 64K or 16K,64K,256K; reductions take the "
        "innermost one."},
       &Settings::chunk},
      {{"WAIT", "auto|spin|yield|sleep", "auto", "How a rank waits; auto looks at ranks per core."}, &Settings::wait},
      {{"EAGER_MAX", "bytes", "16K",
        "Up to this many bytes go through the shared slots (copy-in/copy-out); blocks for several ranks up to four "
        "times as many."},
       &Settings::eager_max},
      {{"FLAT_MAX", "count", "16", "Up to this many ranks, algorithms without a hierarchy are considered."},
       &Settings::flat_max},
      {{"WINDOW_MIN", "bytes", "2K", "Allocations of at least this size come from the window that peers can read."},
       &Settings::window_min},
      {{"WINDOW_SIZE", "bytes", "0",
        "The most that the window of each rank holds; 0: the size of the memory; 1: no window."},
       &Settings::window_size},
      {{"WINDOW_RETAIN", "bytes", "64M",
        "Freed memory of the window that a rank keeps for reuse; what is more, and a block of more than half of it, "
        "goes back to the system as it is freed."},
       &Settings::window_retain},
      {{"STATIC", "bool", "1",
        "Static data of the program and its libraries (Fortran's COMMON blocks and module arrays, C's globals) becomes "
        "memory of the window at MPI_Init."},
       &Settings::static_data},
      {{"DEVICES", "auto|off", "auto",
        "Buffers in memory of devices (CUDA, HIP, Level Zero) are found by the runtime that the program has loaded, "
        "and "
        "copied by it; off: no buffer is taken for one."},
       &Settings::devices},
      {{"VIEW_RETAIN", "bytes", "64M",
        "Memory of other ranks that a rank has used and that may go on counting as its own; what is more it gives up "
        "after a call, by and by."},
       &Settings::view_retain},
      {{"HUGE", "auto|mount|advise|collapse|off", "auto",
        "How blocks of the window come to pages of 2 MiB: mount: a tmpfs of this process alone; advise: as the "
        "system gives them to shared memory; collapse: put together once they were used; each with those after it "
        "where it cannot be had; auto: the same as mount, but not while such pages come more slowly than small ones."},
       &Settings::huge},
      {{"XPMEM_CACHE", "count", "128", "Attachments by xpmem that a rank keeps of the memory of each peer."},
       &Settings::xpmem_cache},
      {{"XPMEM_DEVICE", "string", "/dev/xpmem",
        "Device of the XPMEM kernel module; xpmem is tried if it can be opened and libxpmem is found."},
       &Settings::xpmem_device},
      {{"MOVE", "auto|plain|caches|memory", "auto",
        "How bytes come from rank to rank where peers map each other's buffers: plain: they are read where they lie, "
        "and "
        "stored past the caches of the one they are for; caches: through the caches, by a copy of what is read, and "
        "whoever "
        "gets them takes the lines over; memory: past the caches, by a copy as well; auto: as is predicted "
        "to be fastest."},
       &Settings::move},
      {{"SEGMENT", "bytes", "8M",
        "Staged messages are cut into pieces of this size, which bounds the memory they need; those of neighbours, and "
        "blocks of different sizes, are staged whole."},
       &Settings::segment},
      {{"BLOCK", "bytes", "16K", "Reductions work in blocks of this size, so that a block stays in the cache."},
       &Settings::block},
      {{"CACHE", "bytes", "0",
        "Messages whose buffers fill this together are copied past all caches; 0: the last-level caches of the "
        "node."},
       &Settings::cache},
      {{"SPIN", "count", "2000", "Polls of a flag before the processor is offered to others."}, &Settings::spin},
      {{"TIMEOUT", "seconds", "0",
        "After this long in one collective, or at start-up, report who waits for whom; 0: never."},
       &Settings::timeout},
      {{"PROGRESS", "auto|thread", "auto",
        "What makes nonblocking collectives go on while a rank computes, or waits in a call that neither Tutti nor "
        "they "
        "are driven by: auto: a thread, where needed, after a millisecond; thread: that at once."},
       &Settings::progress},
      {{"PERSISTENT", "naive|plan", "plan",
        "What is kept of a persistent collective from one start to the next: naive: its arguments; plan: its "
        "algorithm, "
        "too, and how it is cut."},
       &Settings::persistent},
      {{"MESSAGES", "bool", "1",
        "Messages between two ranks of a node (MPI_Send, MPI_Irecv, and so on) are copied once, out of one buffer into "
        "the other; the MPI matches them, and carries a short envelope in their place."},
       &Settings::messages},
      {{"MESSAGES_MIN", "bytes", "0",
        "Messages of fewer bytes stay with the MPI; 0: from the size on from which this MPI takes longer."},
       &Settings::messages_min},
      {{"CHECK", "bool", "0",
        "The pages of a block that was given away (TUTTI_Give) are closed to the giver until it has the block again: "
        "touching them is a fault that is told with words."},
       &Settings::check},
      {{"EXPLAIN", "string", "0",
        "Count what ran: 1 prints it at MPI_Finalize, summary prints one line, the name of a file writes it there as "
        "JSON."},
       &Settings::explain},
      {{"PROFILE", "string", "",
        "File that gets a profile of the run at MPI_Finalize: calls of MPI by where the program makes them, waiting, "
        "and a timeline; tutti profile makes a page of it."},
       &Settings::profile},
      {{"INTERNODE", "auto|0|1", "auto",
        "Carry out collectives of communicators whose ranks sit on several nodes, too, over the MPI's own messages; "
        "auto: where tutti probe --network has measured the network."},
       &Settings::internode},
      {{"RANKS_PER_NODE", "string", "",
        "For tests: cut the job's ranks into make-believe nodes of so many each, in turn, e.g. 2,3,1, which share no "
        "memory with each other."},
       &Settings::ranks_per_node},
  }};
  return rows;
}

bool parse_bool(std::string_view text, bool& value) {
  for (const char* yes : {"1", "yes", "true", "on"})
    if (edit_distance(text, yes) == 0) return value = true, true;
  for (const char* no : {"0", "no", "false", "off"})
    if (edit_distance(text, no) == 0) return value = false, true;
  return false;
}

std::vector<std::string> words(std::string_view type) {
  std::vector<std::string> out;
  while (!type.empty()) {
    const auto bar = type.find('|');
    out.emplace_back(type.substr(0, bar));
    type = bar == std::string_view::npos ? std::string_view() : type.substr(bar + 1);
  }
  return out;
}

/// Whether it is a list of numbers with commas between them.
bool are_sizes(std::string_view text) {
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    std::size_t bytes = 0;
    if (!parse_bytes(text.substr(0, comma), bytes) || bytes == 0) return false;
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return true;
}

/// Stores `text` in the setting of `row`; on failure returns what would be right.
std::string store(const Row& row, std::string_view text, Settings& settings) {
  if (const auto* member = std::get_if<bool Settings::*>(&row.member))
    return parse_bool(text, settings.*(*member)) ? "" : "0 or 1";
  if (const auto* member = std::get_if<std::size_t Settings::*>(&row.member))
    return parse_bytes(text, settings.*(*member)) ? "" : "a number such as 4096 or 64K";
  if (const auto* member = std::get_if<double Settings::*>(&row.member)) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || !(value >= 0)) return "a number of seconds";
    settings.*(*member) = value;
    return "";
  }
  if (row.description.type == "auto or sizes" && text != "auto" && !are_sizes(text))
    return "auto, or sizes such as 64K or 16K,64K,256K";
  if (row.description.type.find('|') != std::string_view::npos) {
    const auto allowed = words(row.description.type);
    std::string best = nearest(text, allowed);
    if (best != text) return best;
  }
  settings.*std::get<std::string Settings::*>(row.member) = std::string(text);
  return "";
}

}  // namespace

bool parse_bytes(std::string_view text, std::size_t& bytes) {
  std::size_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end == text.data()) return false;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  int shift = 0;
  if (!unit.empty()) {
    switch (std::toupper(static_cast<unsigned char>(unit[0]))) {
      case 'K':
        shift = 10;
        break;
      case 'M':
        shift = 20;
        break;
      case 'G':
        shift = 30;
        break;
      case 'T':
        shift = 40;
        break;
      case 'B':
        break;
      default:
        return false;
    }
    if (shift) unit.remove_prefix(1);
    if (!unit.empty() && edit_distance(unit, "B") != 0 && edit_distance(unit, "iB") != 0) return false;
  }
  if (shift && value > (SIZE_MAX >> shift)) return false;
  bytes = value << shift;
  return true;
}

std::span<const SettingDescription> setting_descriptions() {
  static const auto descriptions = [] {
    std::array<SettingDescription, settings_count> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = table()[i].description;
    return out;
  }();
  return descriptions;
}

bool Settings::explains() const {
  bool value = true;
  return !explain.empty() && (!parse_bool(explain, value) || value);
}

std::string Settings::explain_file() const {
  bool value = true;
  return parse_bool(explain, value) ? std::string() : explain;
}

Settings Settings::from_environment(const char* const* environment, const Log& log) {
  Settings settings;
  constexpr std::string_view prefix = "TUTTI_";
  for (; environment && *environment; ++environment) {
    std::string_view entry(*environment);
    if (entry.substr(0, prefix.size()) != prefix) continue;
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(entry.substr(prefix.size(), equals - prefix.size()));
    const std::string value(entry.substr(equals + 1));
    const Row* found = nullptr;
    std::vector<std::string> names;
    for (const Row& row : table()) {
      names.emplace_back(row.description.name);
      if (row.description.name == name) found = &row;
    }
    if (!found) {
      log.warn("unknown setting TUTTI_%s; the nearest is TUTTI_%s", name.c_str(), nearest(name, names).c_str());
      continue;
    }
    if (value.empty()) continue;
    const std::string right = store(*found, value, settings);
    if (!right.empty())
      log.warn("TUTTI_%s=%s is not usable: expected %s; the default (%s) is used", name.c_str(), value.c_str(),
               right.c_str(), std::string(found->description.fallback).c_str());
  }
  return settings;
}

}  // namespace tutti
