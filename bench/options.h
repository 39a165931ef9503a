// What the benchmark was asked to do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::bench {

/// What buffers a program has; see `tutti-bench --help`. kFresh: of kWindow, another one for each call.
enum class Buffers { kWindow, kStatic, kStack, kMmap, kFresh };

/// How a collective is called: nonblocking or persistent ones are waited for at once; kTested: nonblocking ones, asked for by
/// MPI_Test again and again. kMessages: messages between two ranks in the place of collectives.
enum class Form { kBlocking, kNonblocking, kTested, kPersistent, kMessages };

struct Options {
  std::vector<std::string> collectives;
  std::size_t minimum_bytes = 4;
  std::size_t maximum_bytes = 0;  ///< 0: as each collective's row in the table says
  std::size_t factor = 4;
  bool rotate_root = false;
  int root = 0;
  bool in_place = false;
  Buffers buffers = Buffers::kWindow;
  bool host_private_memory = false;
  Form form = Form::kBlocking;
  bool overlap = false;  ///< measure also how much of a nonblocking call goes on while its rank computes
  double seconds_per_cell = 0.3;
  std::size_t minimum_repeats = 10;
  bool floor = false;
  double state_flag_us = 0;             ///< count only what is measured while a flag takes about so long; 0: everything
  std::vector<std::string> algorithms;  ///< to compare with each other, as in TUTTI_ALGORITHM; for one collective only
  std::vector<std::string> mechanisms;  ///< to compare with each other, as in TUTTI_MECHANISM
  double within = 0;                    ///< leave out what the model takes for so many times slower; 0: nothing
  std::string json_lines;               ///< file name, "-" for standard output, empty for a table

  /// Several of Tutti's ways take turns with the host's one.
  bool compares() const { return !algorithms.empty() || !mechanisms.empty(); }
};

/// What can be measured, by name.
struct Known {
  std::vector<std::string> collectives;  ///< the first four are the default
  std::vector<std::string> messages;     ///< with the form of messages, in place of those; the default are all
};

/// Parses the command line. Returns a negative number if the program should go on; otherwise its exit status, with
/// `message` holding what to print (help or what was wrong).
int parse_options(int argc, char** argv, int ranks, const Known& known, Options& options, std::string& message);

/// The sizes to measure: from the minimum to the maximum by the factor. default_maximum: where the options have none.
std::vector<std::size_t> sizes_of(const Options& options, std::size_t default_maximum);

}  // namespace tutti::bench
