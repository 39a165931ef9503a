#include "selection/words.h"

#include <cstdio>

namespace tutti::selection {

const char* name_of(Reason reason) {
  switch (reason) {
    case Reason::model:
      return "model";
    case Reason::table:
      return "table";
    case Reason::user:
      return "user";
    case Reason::refused:
      return "refused";
  }
  return "";
}

const char* words_of(Reason reason, bool by_host) {
  switch (reason) {
    case Reason::model:
      return by_host ? "none of ours can" : "cheapest by the model";
    case Reason::table:
      return "by the table";
    case Reason::user:
      return "asked for";
    case Reason::refused:
      return by_host ? "what was asked for cannot, nor can any other" : "what was asked for cannot; cheapest other";
  }
  return "";
}

std::string words_of(const char* algorithm, int parameter) {
  std::string text = algorithm;
  if (parameter) text.append("(").append(std::to_string(parameter)).append(")");
  return text;
}

std::string words_of_bytes(std::size_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, value < 9.995 && unit > 0 ? "%.3g %s" : "%.4g %s", value, units[unit]);
  return text;
}

}  // namespace tutti::selection
