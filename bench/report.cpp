#include "report.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace tutti::bench {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

std::string number(bool known, double value) {
  if (!known) return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

double ratio_of(const Row& row) {
  return row.result.tutti_us.value > 0 ? row.result.host_us.value / row.result.tutti_us.value : 0;
}

/// One flag for a barrier; one flag and one copy for what moves data.
double floor_of(const Row& row) {
  return row.bytes == 0 ? row.flag_us : row.flag_us + row.copy_us;
}

double spread_of(const Row& row) {
  if (row.has_tutti) return ratio_spread_percent(row.result.host_us, row.result.tutti_us);
  const Median& host = row.result.host_us;
  return host.value > 0 ? 100 * (host.upper - host.lower) / 2 / host.value : 0;
}

}  // namespace

Report::Report(bool active, const std::string& json_lines) : json_(!json_lines.empty()) {
  if (!active) return;
  file_ = json_lines.empty() || json_lines == "-" ? stdout : std::fopen(json_lines.c_str(), "w");
  if (!file_) throw std::runtime_error("cannot write " + json_lines + ": " + std::strerror(errno));
}

Report::~Report() {
  if (file_ && file_ != stdout) std::fclose(file_);
}

void Report::add(const Row& row) {
  if (!file_) return;
  if (json_)
    add_json(row);
  else
    add_text(row);
  std::fflush(file_);
}

void Report::progress(double done) {
  if (!file_ || !json_) return;
  std::fprintf(file_, "{\"progress\": %.4f}\n", done);
  std::fflush(file_);
}

void Report::add_json(const Row& row) {
  const bool has_flag = row.flag_us >= 0;
  const bool has_copy = row.copy_us >= 0;
  std::fprintf(file_,
               "{\"collective\": %s, \"ranks\": %d, \"bytes\": %zu, \"host\": %s, \"host_us\": %s, \"tutti_us\": %s, "
               "\"ratio\": %s, \"spread_pct\": %s, \"algorithm\": %s, \"mechanism\": %s, \"checked\": %s, "
               "\"floor_us\": %s, \"flag_us\": %s, \"copy_us\": %s, \"repeats\": %zu}\n",
               quoted(row.collective).c_str(), row.ranks, row.bytes, quoted(row.host).c_str(),
               number(true, row.result.host_us.value).c_str(), number(row.has_tutti, row.result.tutti_us.value).c_str(),
               number(row.has_tutti, ratio_of(row)).c_str(), number(true, spread_of(row)).c_str(),
               quoted(row.result.choice.algorithm).c_str(), quoted(row.result.choice.mechanism).c_str(),
               row.result.correct ? "true" : "false",
               number(has_flag && (has_copy || row.bytes == 0), floor_of(row)).c_str(),
               number(has_flag, row.flag_us).c_str(), number(has_copy, row.copy_us).c_str(), row.result.repeats);
}

void Report::add_text(const Row& row) {
  if (!head_printed_) {
    head_printed_ = true;
    std::fprintf(file_, "# %s, %d ranks; microseconds, medians of the slowest rank; ratio = host / Tutti\n",
                 row.host.c_str(), row.ranks);
    std::fprintf(file_, "# +-%%: half the 95 %% confidence interval; floor: one flag and one copy in shared memory\n");
    std::fprintf(file_, "%-10s %10s %12s %12s %8s %6s %10s %8s %-7s %s\n", "collective", "bytes", "host", "tutti",
                 "ratio", "+-%", "floor", "repeats", "results", "algorithm, mechanism");
  }
  char tutti[32] = "-";
  char ratio[32] = "-";
  char floor[32] = "-";
  if (row.has_tutti) {
    std::snprintf(tutti, sizeof tutti, "%.3f", row.result.tutti_us.value);
    std::snprintf(ratio, sizeof ratio, "%.2f", ratio_of(row));
  }
  if (row.flag_us >= 0 && (row.copy_us >= 0 || row.bytes == 0))
    std::snprintf(floor, sizeof floor, "%.3f", floor_of(row));
  std::fprintf(file_, "%-10s %10zu %12.3f %12s %8s %6.1f %10s %8zu %-7s %s%s%s\n", row.collective.c_str(), row.bytes,
               row.result.host_us.value, tutti, ratio, spread_of(row), floor, row.result.repeats,
               row.result.correct ? "right" : "WRONG", row.result.choice.algorithm.c_str(),
               row.result.choice.mechanism.empty() ? "" : ", ", row.result.choice.mechanism.c_str());
}

}  // namespace tutti::bench
