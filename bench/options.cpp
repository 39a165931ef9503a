#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <sstream>

namespace tutti::bench {

namespace {

/// Names that were given are of one kind; without any there is a default.
void check_names(const Known& known, Options& options) {
  const bool of_messages = options.form == Form::kMessages;
  const std::vector<std::string>& there = of_messages ? known.messages : known.collectives;
  if (options.collectives.empty())
    options.collectives.assign(there.begin(), of_messages ? there.end() : there.begin() + 4);
  for (const std::string& name : options.collectives)
    if (std::find(there.begin(), there.end(), name) == there.end())
      throw CLI::ValidationError("--collective",
                                 name + (of_messages ? " is not one of messages, as --form messages takes"
                                                     : " is measured with --form messages"));
}

void check(const Options& options, int ranks) {
  if (options.minimum_bytes == 0 || options.minimum_bytes % 4 != 0)
    throw CLI::ValidationError("--min", "must be a positive multiple of 4 bytes, the size of one MPI_FLOAT");
  if (options.maximum_bytes != 0 && options.maximum_bytes < options.minimum_bytes)
    throw CLI::ValidationError("--max", "is less than --min");
  if (options.factor < 2) throw CLI::ValidationError("--factor", "must be at least 2");
  if (options.root < 0 || options.root >= ranks)
    throw CLI::ValidationError("--root", "must be a rank of this job (0.." + std::to_string(ranks - 1) + ") or rotate");
  if (!options.algorithms.empty() && options.collectives.size() != 1)
    throw CLI::ValidationError("--algorithms", "compares those of one collective; name it with --collective");
  if (options.overlap && options.form == Form::kBlocking)
    throw CLI::ValidationError("--overlap", "needs another --form than blocking");
  if (options.overlap && options.compares())
    throw CLI::ValidationError("--overlap", "cannot be measured where algorithms or mechanisms are compared");
  if (options.form != Form::kMessages) return;
  if (ranks < 2) throw CLI::ValidationError("--form", "messages need two ranks");
  if (options.compares() || options.overlap || options.floor || options.in_place)
    throw CLI::ValidationError("--form",
                               "messages are measured without --algorithms, --mechanisms, --overlap, --floor "
                               "and --in-place");
}

}  // namespace

int parse_options(int argc, char** argv, int ranks, const Known& known, Options& options, std::string& message) {
  CLI::App app{
      "Measures what collectives and messages of the MPI (PMPI_) and of Tutti (MPI_) cost a program, side by side in "
      "one "
      "process: a loop that writes its data, calls, and uses the result, less the same loop without the call, on the "
      "slowest rank. "
      "Medians are printed.",
      "tutti-bench"};
  const std::map<std::string, Buffers> buffer_words{{"window", Buffers::kWindow},
                                                    {"static", Buffers::kStatic},
                                                    {"stack", Buffers::kStack},
                                                    {"mmap", Buffers::kMmap},
                                                    {"fresh", Buffers::kFresh}};
  const std::map<std::string, Form> form_words{{"blocking", Form::kBlocking},
                                               {"nonblocking", Form::kNonblocking},
                                               {"tested", Form::kTested},
                                               {"persistent", Form::kPersistent},
                                               {"messages", Form::kMessages}};
  const std::map<std::string, bool> memory_words{{"same", false}, {"private", true}};
  std::vector<std::string> names = known.collectives;
  names.insert(names.end(), known.messages.begin(), known.messages.end());
  std::string root = "0";
  app.add_option("--collective", options.collectives,
                 "Which collectives, separated by commas; without it the first four, and all of --form messages")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  app.add_option("--min", options.minimum_bytes, "Smallest message or block in bytes")->capture_default_str();
  app.add_option("--max", options.maximum_bytes,
                 "Largest message or block in bytes; 0: 16 MiB, and 4 MiB where a rank has a block for each other")
      ->capture_default_str();
  app.add_option("--factor", options.factor, "From one size to the next")->capture_default_str();
  app.add_option("--root", root, "A rank, or rotate: another root each call")->capture_default_str();
  app.add_flag("--in-place", options.in_place,
               "MPI_IN_PLACE wherever the collective has it, at the root of rooted ones");
  app.add_option("--buffers", options.buffers,
                 "window: memory of malloc; static: arrays of the program; stack: that of main(); mmap: pages from the "
                 "system; fresh: of malloc, the next of a pool for each call, flushed from the caches")
      ->transform(CLI::CheckedTransformer(buffer_words))
      ->option_text("window|static|stack|mmap|fresh [window]");
  app.add_option("--host-memory", options.host_private_memory,
                 "same: the host's own collective is measured on buffers of the same kind as Tutti's; private: on "
                 "anonymous memory that an interposed malloc has no part in")
      ->transform(CLI::CheckedTransformer(memory_words))
      ->option_text("same|private [same]");
  app.add_option("--form", options.form,
                 "blocking; nonblocking: started, and waited for at once; tested: started, and asked for by a loop of "
                 "MPI_Test; persistent: started and waited for, made ready before; messages: between two ranks, in the "
                 "place of collectives")
      ->transform(CLI::CheckedTransformer(form_words))
      ->option_text("blocking|nonblocking|tested|persistent|messages [blocking]");
  app.add_flag(
      "--overlap", options.overlap,
      "Measure also how much of a nonblocking call goes on while its rank computes, for as long as the call alone "
      "takes, between the start and the wait: 100 % if both together take no longer than the computation");
  app.add_option("--seconds-per-cell", options.seconds_per_cell, "Time to spend on each collective and size")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--minimum-repeats", options.minimum_repeats, "At least so many turns of each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--floor", options.floor,
               "Also time, between ranks 0 and 1, one flag and one copy through shared memory: what cannot be beaten");
  app.add_option("--state-flag-us", options.state_flag_us,
                 "Count only what was measured while a flag between ranks 0 and 1 took about so long: virtual machines "
                 "move their processors about; 0: everything")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option(
         "--algorithms", options.algorithms,
         "Compare these with each other and with Tutti's own choice, in turns of several calls: as TUTTI_ALGORITHM "
         "has them, one a word between semicolons, all of one collective")
      ->delimiter(';');
  app.add_option("--mechanisms", options.mechanisms,
                 "Compare these with each other, as TUTTI_MECHANISM has them; other memory than that of the window is "
                 "measured on pages that are not in it")
      ->delimiter(',');
  app.add_option("--within", options.within,
                 "Leave out of --algorithms what the library's model takes for more than so many times slower than the "
                 "best of its candidates; 0: nothing")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--json-lines", options.json_lines, "One JSON object a line into this file; - is standard output");
  try {
    app.parse(argc, argv);
    options.rotate_root = root == "rotate";
    if (!options.rotate_root && !CLI::detail::lexical_cast(root, options.root))
      throw CLI::ValidationError("--root", "must be a rank or the word rotate");
    check_names(known, options);
    check(options, ranks);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    const int status = app.exit(error, out, out);
    message = out.str();
    return status;
  }
  return -1;
}

std::vector<std::size_t> sizes_of(const Options& options, std::size_t default_maximum) {
  const std::size_t maximum = options.maximum_bytes ? options.maximum_bytes : default_maximum;
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = options.minimum_bytes; bytes <= maximum; bytes *= options.factor) sizes.push_back(bytes);
  return sizes;
}

}  // namespace tutti::bench
