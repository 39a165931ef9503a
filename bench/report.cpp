#include "report.h"

#include <cerrno>
#include <cmath>
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

double ratio_of(const Row& row, const Outcome* outcome) {
  return outcome && outcome->times.cost_us.value > 0 ? row.result.host.cost_us.value / outcome->times.cost_us.value : 0;
}

bool has_floor(const Row& row) {
  return row.result.flag_us >= 0 && row.copy_us >= 0;
}

/// One flag, and one copy for what moves data.
double floor_of(const Row& row) {
  return row.result.flag_us + row.copy_us;
}

double spread_of(const Row& row, const Outcome* outcome) {
  const Median& host = row.result.host.cost_us;
  if (outcome) return ratio_spread_percent(host, outcome->times.cost_us);
  return host.value > 0 ? 100 * (host.upper - host.lower) / 2 / host.value : 0;
}

bool is_correct(const Row& row, const Outcome* outcome) {
  return row.result.host_correct && (!outcome || outcome->correct);
}

/// The shape that the library chose by, as members of a JSON object; empty if it does not say.
std::string shape_of(const Prediction& prediction) {
  if (!prediction.known) return "";
  return "\"levels\": " + std::to_string(prediction.levels) +
         ", \"ranks_per_core\": " + number(true, prediction.ranks_per_core) +
         ", \"reach\": " + quoted(prediction.reach) + ", \"chosen_bytes\": " + std::to_string(prediction.chosen_bytes) +
         ", \"class_bytes\": " + std::to_string(prediction.class_bytes) +
         (prediction.nodes > 1 ? ", \"nodes\": " + std::to_string(prediction.nodes) +
                                     ", \"ranks_per_node\": " + std::to_string(prediction.ranks_per_node)
                               : "") +
         ", ";
}

/// The ends of the 95 % confidence interval as members of a JSON object.
std::string interval_of(const char* name, const Median& median) {
  return quoted(std::string(name) + "_low_us") + ": " + number(true, median.lower) + ", " +
         quoted(std::string(name) + "_high_us") + ": " + number(true, median.upper) + ", ";
}

/// "throttled,k=4, cma": what ran, with the parameter that was asked for.
std::string words_of(const Outcome* outcome) {
  if (!outcome) return "";
  std::string words = outcome->choice.algorithm;
  const std::string asked = outcome->contender.name();
  if (const auto comma = asked.find(','); comma != std::string::npos) words += asked.substr(comma);
  if (!outcome->choice.mechanism.empty()) words += ", " + outcome->choice.mechanism;
  return words;
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
  std::vector<const Outcome*> outcomes;
  for (const Outcome& outcome : row.result.outcomes) outcomes.push_back(&outcome);
  if (outcomes.empty()) outcomes.push_back(nullptr);
  for (const Outcome* outcome : outcomes) {
    if (json_)
      add_json(row, outcome);
    else
      add_text(row, outcome);
  }
  std::fflush(file_);
}

void Report::origin(const std::vector<std::pair<std::string, std::string>>& facts) {
  if (!file_ || !json_ || facts.empty()) return;
  std::string fields;
  for (const auto& [name, value] : facts) fields += (fields.empty() ? "" : ", ") + quoted(name) + ": " + quoted(value);
  std::fprintf(file_, "{\"origin\": {%s}}\n", fields.c_str());
  std::fflush(file_);
}

void Report::progress(double done) {
  if (!file_ || !json_) return;
  std::fprintf(file_, "{\"progress\": %.4f}\n", done);
  std::fflush(file_);
}

void Report::add_json(const Row& row, const Outcome* outcome) {
  std::string asked;
  if (row.compares && outcome)
    asked = "\"asked\": " + quoted(outcome->contender.name()) +
            ", \"asked_mechanism\": " + quoted(outcome->contender.mechanism) + ", ";
  std::string more = shape_of(row.prediction);
  if (row.compares && outcome) {
    more += interval_of("host", row.result.host.cost_us) + interval_of("tutti", outcome->times.cost_us);
    more += "\"predicted_us\": " + number(outcome->predicted_us >= 0, outcome->predicted_us) + ", ";
  }
  if (row.result.host_overlap >= 0)
    more += "\"host_overlap_pct\": " + number(true, 100 * row.result.host_overlap) +
            ", \"tutti_overlap_pct\": " + number(outcome, outcome ? 100 * outcome->overlap : 0) + ", ";
  const Times& host = row.result.host;
  const Times tutti = outcome ? outcome->times : Times{};
  std::fprintf(file_,
               "{\"collective\": %s, \"ranks\": %d, \"bytes\": %zu, \"host\": %s, \"host_us\": %s, \"tutti_us\": %s, "
               "\"host_inside_us\": %s, \"tutti_inside_us\": %s, \"ratio\": %s, \"spread_pct\": %s, %s%s\"algorithm\": "
               "%s, \"mechanism\": %s, \"checked\": %s, "
               "\"floor_us\": %s, \"flag_us\": %s, \"copy_us\": %s, \"repeats\": %zu}\n",
               quoted(row.collective).c_str(), row.ranks, row.bytes, quoted(row.host).c_str(),
               number(true, host.cost_us.value).c_str(), number(outcome, tutti.cost_us.value).c_str(),
               number(true, host.inside_us).c_str(), number(outcome, tutti.inside_us).c_str(),
               number(outcome, ratio_of(row, outcome)).c_str(), number(true, spread_of(row, outcome)).c_str(),
               asked.c_str(), more.c_str(), quoted(outcome ? outcome->choice.algorithm : "").c_str(),
               quoted(outcome ? outcome->choice.mechanism : "").c_str(), is_correct(row, outcome) ? "true" : "false",
               number(has_floor(row), floor_of(row)).c_str(),
               number(row.result.flag_us >= 0, row.result.flag_us).c_str(),
               number(row.copy_us >= 0, row.copy_us).c_str(), row.result.repeats);
}

void Report::add_text(const Row& row, const Outcome* outcome) {
  if (!head_printed_) {
    head_printed_ = true;
    std::fprintf(file_,
                 "# %s, %d ranks; what a call costs the program, microseconds, slowest rank; ratio = host / Tutti\n",
                 row.host.c_str(), row.ranks);
    std::fprintf(file_, "# bytes: of a message, or of a block where a rank has one for each other\n");
    std::fprintf(file_, "# +-%%: half the 95 %% confidence interval; inside: from a call's entry to its exit\n");
    std::fprintf(file_, "# flag: between ranks 0 and 1; floor: a flag and a copy in shared memory\n");
    std::fprintf(file_, "%-20s %10s %12s %12s %8s %6s %12s %12s %8s %10s %8s %-7s %s\n", "collective", "bytes", "host",
                 "tutti", "ratio", "+-%", "inside: host", "tutti", "flag", "floor", "repeats", "results",
                 "algorithm, mechanism");
  }
  char tutti[32] = "-";
  char ratio[32] = "-";
  char inside[32] = "-";
  char flag[32] = "-";
  char floor[32] = "-";
  if (outcome) {
    std::snprintf(tutti, sizeof tutti, "%.3f", outcome->times.cost_us.value);
    std::snprintf(inside, sizeof inside, "%.3f", outcome->times.inside_us);
    std::snprintf(ratio, sizeof ratio, "%.2f", ratio_of(row, outcome));
  }
  if (row.result.flag_us >= 0) std::snprintf(flag, sizeof flag, "%.3f", row.result.flag_us);
  if (has_floor(row)) std::snprintf(floor, sizeof floor, "%.3f", floor_of(row));
  const bool own_choice = row.compares && outcome && outcome->contender.algorithm.empty();
  std::fprintf(file_, "%-20s %10zu %12.3f %12s %8s %6.1f %12.3f %12s %8s %10s %8zu %-7s %s%s\n", row.collective.c_str(),
               row.bytes, row.result.host.cost_us.value, tutti, ratio, spread_of(row, outcome),
               row.result.host.inside_us, inside, flag, floor, row.result.repeats,
               is_correct(row, outcome) ? "right" : "WRONG", own_choice ? "auto: " : "", words_of(outcome).c_str());
  if (row.result.host_overlap >= 0)
    std::fprintf(file_, "# overlapped: host %.0f %%, Tutti %s %%\n", 100 * row.result.host_overlap,
                 outcome ? number(true, std::round(100 * outcome->overlap)).c_str() : "-");
}

}  // namespace tutti::bench
