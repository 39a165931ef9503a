#include "mpi/report/explain_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "mpi/report/json_text.h"
#include "selection/words.h"

namespace tutti::mpi {

namespace {

constexpr char field_end = '\x1f', row_end = '\x1e';

/// "1.23 us", "45.6 ms", "7.89 s".
std::string words_of_seconds(double seconds) {
  static constexpr struct {
    double scale;
    const char* name;
  } units[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}};
  for (const auto& unit : units)
    if (seconds < 999.5 * unit.scale) return number(seconds / unit.scale, "%.3g ") + unit.name;
  return number(seconds, seconds < 999.5 ? "%.3g s" : "%.0f s");
}

std::string words_of_class(long size_class) {
  if (size_class == Row::varying) return "varying";
  if (size_class < 0) return "-";
  return "<=" + selection::words_of_bytes(std::size_t{1} << size_class);
}

std::string words_of(const CommunicatorShape& shape) {
  std::string words = std::to_string(shape.ranks) + (shape.ranks == 1 ? " rank" : " ranks");
  if (shape.nodes > 1) words += " on " + std::to_string(shape.nodes) + " nodes";
  if (shape.intercommunicator) words += ", inter";
  if (shape.levels > 1) words += ", " + std::to_string(shape.levels) + " levels";
  if (shape.ranks_per_core > 1) words += ", " + number(shape.ranks_per_core, "%.3g") + " a core";
  return words;
}

/// Those with most calls first.
std::string words_of(const std::map<std::string, std::uint64_t>& mechanisms) {
  std::vector<std::pair<std::uint64_t, std::string_view>> order;
  order.reserve(mechanisms.size());
  for (const auto& [name, calls] : mechanisms) order.emplace_back(calls, name);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string words;
  for (const auto& [calls, name] : order) words.append(words.empty() ? "" : "+").append(name);
  return words.empty() ? "-" : words;
}

void sort_by_time(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.key() < b.key();
  });
}

struct Totals {
  std::uint64_t calls = 0, calls_of_host = 0;
};

Totals totals_of(const std::vector<Row>& rows, bool of_messages = false) {
  Totals total;
  for (const Row& row : rows) {
    if (row.is_of_messages != of_messages) continue;
    total.calls += row.calls;
    if (row.by_host()) total.calls_of_host += row.calls;
  }
  return total;
}

/// How the first line begins.
std::string words_of_job(const Heading& heading, const Totals& total) {
  return "tutti: " + std::to_string(heading.ranks) + (heading.ranks == 1 ? " rank" : " ranks") + ", " +
         words_of_seconds(heading.seconds) + " from MPI_Init to MPI_Finalize; " + std::to_string(total.calls) +
         (total.calls == 1 ? " collective" : " collectives") + " in " + words_of_seconds(heading.slowest.seconds);
}

/// The same of messages; all ranks' calls, and the slowest rank's time.
std::string words_of_messages(const Heading& heading, const Totals& total) {
  return "; " + std::to_string(total.calls) + (total.calls == 1 ? " call" : " calls") + " for messages in " +
         words_of_seconds(heading.slowest_in_messages.seconds);
}

constexpr std::size_t columns = 10;
using Cells = std::array<std::string, columns>;

Cells cells_of(const Row& row) {
  const double calls = static_cast<double>(std::max<std::uint64_t>(1, row.calls));
  return {row.collective,
          words_of_class(row.size_class),
          words_of(row.communicator),
          selection::words_of(row.algorithm.c_str(), row.parameter),
          words_of(row.mechanisms),
          std::to_string(row.calls),
          row.bytes ? selection::words_of_bytes(row.bytes) : "-",
          words_of_seconds(row.seconds),
          words_of_seconds(row.seconds / calls),
          row.reason};
}

std::string line_of(const Cells& cells, const std::array<std::size_t, columns>& widths) {
  static constexpr std::array<bool, columns> right{false, true, false, false, false, true, true, true, true, false};
  std::string line = "tutti: ";
  for (std::size_t i = 0; i < columns; ++i) {
    const std::string fill(widths[i] - cells[i].size(), ' ');
    line += right[i] ? fill + cells[i] : cells[i] + (i + 1 < columns ? fill : "");
    if (i + 1 < columns) line += "  ";
  }
  return line + '\n';
}

std::string json_of(const Row& row) {
  std::string text = (row.is_of_messages ? "{\"function\": " : "{\"collective\": ") + quoted(row.collective);
  const bool sized = row.size_class >= 0;
  const std::size_t least = row.size_class > 0 ? (std::size_t{1} << (row.size_class - 1)) + 1 : 0;
  text += ", \"bytes_from\": " + (sized ? std::to_string(least) : "null");
  text += ", \"bytes_to\": " + (sized ? std::to_string(std::size_t{1} << row.size_class) : "null");
  const CommunicatorShape& shape = row.communicator;
  text += ", \"communicator\": {\"ranks\": " + std::to_string(shape.ranks) +
          ", \"nodes\": " + std::to_string(shape.nodes) + ", \"levels\": " + std::to_string(shape.levels) +
          ", \"ranks_per_core\": " + number(shape.ranks_per_core) +
          ", \"intercommunicator\": " + (shape.intercommunicator ? "true" : "false") + "}";
  text += ", \"algorithm\": " + quoted(row.algorithm) + ", \"parameter_name\": " + quoted(row.parameter_name) +
          ", \"parameter\": " + std::to_string(row.parameter) + ", \"reason\": " + quoted(row.reason);
  text += ", \"mechanisms\": {";
  const char* separator = "";
  for (const auto& [name, calls] : row.mechanisms) {
    text.append(separator).append(quoted(name)).append(": ").append(std::to_string(calls));
    separator = ", ";
  }
  text += "}, \"calls\": " + std::to_string(row.calls) + ", \"bytes\": " + std::to_string(row.bytes) +
          ", \"seconds\": " + number(row.seconds) + ", \"least_seconds\": " + number(row.least_seconds) +
          ", \"ranks\": " + std::to_string(row.ranks) + "}";
  return text;
}

std::string words_of(const Source& source) {
  return source.path.empty() ? source.words : source.words + " (" + source.path + ")";
}

/// What 'by the model' and 'by the table' in the rows rest on.
std::string lines_of_sources(const Heading& heading) {
  if (heading.model.words.empty()) return "";
  return "tutti: model: " + words_of(heading.model) +
         (heading.network.words.empty() ? "" : "\ntutti: between nodes: " + words_of(heading.network)) +
         "\ntutti: table: " + (heading.table.words.empty() ? "none" : words_of(heading.table)) + "\n";
}

std::string json_of(const Source& source) {
  if (source.words.empty()) return "null";
  return "{\"path\": " + (source.path.empty() ? "null" : quoted(source.path)) + ", \"words\": " + quoted(source.words) +
         "}";
}

std::vector<std::string_view> split(std::string_view text, char end) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto at = text.find(end);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  return parts;
}

/// What rows travel as, in this order; the mechanisms come after it.
template <class SomeRow, class Visit>
void for_each_field(SomeRow& row, const Visit& visit) {
  auto& [is_of_messages, collective, size_class, communicator, algorithm, parameter_name, parameter, reason, calls,
         bytes, seconds, least_seconds, ranks, mechanisms] = row;
  auto& [of_ranks, nodes, levels, ranks_per_core, intercommunicator] = communicator;
  const auto visit_all = [&](auto&... fields) { (visit(fields), ...); };
  visit_all(is_of_messages, collective, size_class, of_ranks, nodes, levels, ranks_per_core, intercommunicator,
            algorithm, parameter_name, parameter, reason, calls, bytes, seconds, least_seconds, ranks);
}

/// A number, or a word.
template <class Value>
std::string text_of(const Value& value) {
  if constexpr (std::is_same_v<Value, double>)
    return number(value, "%.17g");
  else if constexpr (std::is_arithmetic_v<Value>)
    return std::to_string(value);
  else
    return value;
}
template <class Value>
void set_from(std::string_view text, Value& value) {
  if constexpr (std::is_same_v<Value, bool>)
    value = text == "1";
  else if constexpr (std::is_arithmetic_v<Value>)
    std::from_chars(text.data(), text.data() + text.size(), value);
  else
    value = text;
}

}  // namespace

bool Row::by_host() const {
  return algorithm == "host";
}

std::string Row::key() const {
  std::string text;
  for (const std::string& part :
       {std::string(is_of_messages ? "1" : "0"), collective, std::to_string(size_class),
        std::to_string(communicator.ranks), std::to_string(communicator.nodes), std::to_string(communicator.levels),
        number(communicator.ranks_per_core), std::string(communicator.intercommunicator ? "1" : "0"), algorithm,
        std::to_string(parameter), reason})
    text.append(part) += field_end;
  return text;
}

Times times_of(const std::vector<Row>& rows, bool of_messages) {
  Times times;
  for (const Row& row : rows) {
    if (row.is_of_messages != of_messages) continue;
    times.seconds += row.seconds;
    if (row.by_host()) times.seconds_of_host += row.seconds;
  }
  return times;
}

void merge(std::vector<Row>& into, const std::vector<Row>& more, Merge how) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < into.size(); ++i) places[into[i].key()] = i;
  for (const Row& row : more) {
    const auto [place, is_new] = places.try_emplace(row.key(), into.size());
    if (is_new) {
      into.push_back(row);
      continue;
    }
    Row& sum = into[place->second];
    for (const auto& [name, calls] : row.mechanisms) sum.mechanisms[name] += calls;
    const bool all_count = how == Merge::communicators || row.is_of_messages;
    if (all_count) {
      sum.calls += row.calls;
      sum.bytes += row.bytes;
    }
    sum.seconds = all_count ? sum.seconds + row.seconds : std::max(sum.seconds, row.seconds);
    if (how == Merge::communicators) {
      sum.least_seconds += row.least_seconds;
    } else {
      sum.least_seconds = std::min(sum.least_seconds, row.least_seconds);
      sum.ranks += row.ranks;
    }
  }
}

std::string packed(const std::vector<Row>& rows) {
  std::string text;
  const auto put = [&text](const auto& field) { text.append(text_of(field)) += field_end; };
  for (const Row& row : rows) {
    for_each_field(row, put);
    for (const auto& [name, calls] : row.mechanisms) put(name), put(calls);
    text += row_end;
  }
  return text;
}

std::vector<Row> unpacked(const std::string& text) {
  std::vector<Row> rows;
  for (const std::string_view line : split(text, row_end)) {
    const auto fields = split(line, field_end);
    std::size_t at = 0;
    const auto take = [&](auto& field) {
      if (at < fields.size()) set_from(fields[at++], field);
    };
    Row row;
    for_each_field(row, take);
    while (at + 1 < fields.size()) {
      std::string name;
      take(name);
      take(row.mechanisms[name]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

/// Of collectives, or of messages: a line each, below their head.
std::string lines_of(const std::vector<Row>& all, bool of_messages, std::size_t lines_max) {
  std::vector<Row> rows;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rows),
               [&](const Row& row) { return row.is_of_messages == of_messages; });
  if (rows.empty()) return "";
  static const Cells head{"collective", "size",  "communicator", "algorithm", "mechanism",
                          "calls",      "bytes", "time",         "a call",    "why"};
  static const Cells head_of_messages{"message", "size",  "communicator", "carried by", "way",
                                      "calls",   "bytes", "time",         "a call",     "why"};
  std::vector<Cells> lines{of_messages ? head_of_messages : head};
  for (std::size_t i = 0; i < std::min(rows.size(), lines_max); ++i) lines.push_back(cells_of(rows[i]));
  std::array<std::size_t, columns> widths{};
  for (const Cells& cells : lines)
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], cells[i].size());
  std::string text;
  for (const Cells& cells : lines) text += line_of(cells, widths);
  if (rows.size() > lines_max) {
    double rest = 0;
    for (std::size_t i = lines_max; i < rows.size(); ++i) rest += rows[i].seconds;
    text += "tutti: " + std::to_string(rows.size() - lines_max) + " more rows, together " + words_of_seconds(rest) +
            "; TUTTI_EXPLAIN=FILE writes all of them\n";
  }
  return text;
}

/// The elements of a JSON list, and its end.
std::string json_list_of(const std::vector<Row>& rows, bool of_messages) {
  std::string text;
  for (const Row& row : rows)
    if (row.is_of_messages == of_messages) text.append(text.empty() ? "\n  " : ",\n  ").append(json_of(row));
  return text + (text.empty() ? "]" : "\n ]");
}

}  // namespace

std::string table(const Heading& heading, std::vector<Row> rows, std::size_t lines_max) {
  sort_by_time(rows);
  const Totals total = totals_of(rows), of_messages = totals_of(rows, true);
  std::string text =
      words_of_job(heading, total) + ", " + std::to_string(total.calls_of_host) + " of them by the MPI itself";
  if (of_messages.calls > 0)
    text += words_of_messages(heading, of_messages) + ", " + std::to_string(of_messages.calls_of_host) +
            " of them by the MPI itself";
  text += "\n";
  if (!heading.why_inactive.empty()) text += "tutti: the library was inactive: " + heading.why_inactive + "\n";
  if (!heading.no_window.empty()) text += "tutti: no window: " + heading.no_window + "\n";
  if (heading.staged_buffers > 0)
    text += "tutti: device buffers staged: " + std::to_string(heading.staged_buffers) + ", " +
            selection::words_of_bytes(heading.staged_bytes) + "\n";
  return text + lines_of_sources(heading) + lines_of(rows, false, lines_max) + lines_of(rows, true, lines_max);
}

std::string summary(const Heading& heading, const std::vector<Row>& rows) {
  const auto of_tutti = [](const Totals& total, const Times& slowest) {
    return ", of these " + std::to_string(total.calls - total.calls_of_host) + " by Tutti in " +
           words_of_seconds(slowest.seconds - slowest.seconds_of_host);
  };
  const Totals total = totals_of(rows), of_messages = totals_of(rows, true);
  std::string text = words_of_job(heading, total);
  if (!heading.why_inactive.empty()) return text + ", all of them by the MPI itself: " + heading.why_inactive + "\n";
  if (total.calls > 0) text += of_tutti(total, heading.slowest);
  if (of_messages.calls > 0)
    text += words_of_messages(heading, of_messages) + of_tutti(of_messages, heading.slowest_in_messages);
  return text + "\n";
}

std::string json_heading(const Heading& heading) {
  std::string text = " \"version\": " + quoted(heading.version) + ",\n \"date\": " + quoted(heading.date) +
                     ",\n \"program\": " + quoted(heading.program) + ",\n \"mpi\": " + quoted(heading.host) +
                     ",\n \"active\": " + (heading.why_inactive.empty() ? "true" : "false") +
                     ",\n \"why_inactive\": " + quoted(heading.why_inactive) +
                     ",\n \"model_source\": " + json_of(heading.model) + ",\n \"table\": " + json_of(heading.table) +
                     ",\n \"network_source\": " + json_of(heading.network) + ",\n \"mechanisms\": [";
  for (std::size_t i = 0; i < heading.mechanisms.size(); ++i)
    text.append(i ? ", " : "").append(quoted(heading.mechanisms[i]));
  return text + "],\n \"no_window\": " + quoted(heading.no_window) +
         ",\n \"device_buffers_staged\": " + std::to_string(heading.staged_buffers) +
         ",\n \"device_bytes_staged\": " + std::to_string(heading.staged_bytes) +
         ",\n \"ranks\": " + std::to_string(heading.ranks) + ",\n \"cores\": " + std::to_string(heading.cores) +
         ",\n \"seconds\": " + number(heading.seconds);
}

std::string json(const Heading& heading, std::vector<Row> rows) {
  sort_by_time(rows);
  return "{\n \"schema\": \"tutti-explain-1\",\n" + json_heading(heading) + ",\n \"rows\": [" +
         json_list_of(rows, false) + ",\n \"messages\": [" + json_list_of(rows, true) + "\n}\n";
}

}  // namespace tutti::mpi
