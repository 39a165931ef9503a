// Messages to the user. Nothing is printed unless something is wrong or the user asked (TUTTI_VERBOSE).
#pragma once

#include <cstdarg>
#include <string>

namespace tutti {

/// Where the messages of one process go: standard error, prefixed with the rank once it is known.
/// Thread-safe; a message is one write, so that lines of several ranks do not mix.
class Log {
 public:
  /// rank: the number printed in front of each line; negative: none. verbose: print what `note` says.
  explicit Log(int rank = -1, bool verbose = false) : rank_(rank), verbose_(verbose) {}

  void set_rank(int rank) { rank_ = rank; }
  int rank() const { return rank_; }
  void set_verbose(bool verbose) { verbose_ = verbose; }
  bool verbose() const { return verbose_; }
  /// Silence warnings too, e.g. on every rank but one when all ranks would say the same.
  void set_quiet(bool quiet) { quiet_ = quiet; }

  /// Something is wrong, but the program goes on.
  void warn(const char* format, ...) const __attribute__((format(printf, 2, 3)));
  /// The program cannot go on; printed even when quiet.
  void error(const char* format, ...) const __attribute__((format(printf, 2, 3)));
  /// Only with TUTTI_VERBOSE.
  void note(const char* format, ...) const __attribute__((format(printf, 2, 3)));

 private:
  void write(const char* kind, const char* format, va_list arguments) const;

  int rank_;
  bool verbose_;
  bool quiet_ = false;
};

}  // namespace tutti
