// Plain copies against copies past the caches, by size against the caches: what Store::streaming is worth, and from
// which size on.
//
// Each core has a source and a destination in shared memory. Before each copy every source is written anew by the core
// that owns it, as a program does before a collective; then a core copies its neighbour's source into its own
// destination, as a rank does in a collective; then it may read the destination, as a program does after. With one
// copier only the second core copies (a Bcast between two ranks), else all copy at once (what Allreduce and Allgather
// do).
//
//   footprint   all buffers that are touched, over the last-level caches: what the library compares
//               (Collectives::store_for)
//   copy        until the copies are finished: the destination is not read soon
//   and read    until the destination has been read too
//
// Microseconds of the slowest core, medians; gain: plain / streaming. The ways take turns call by call.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "clock.h"
#include "memory/arena.h"
#include "memory/stream.h"
#include "processors.h"
#include "statistics.h"
#include "team.h"
#include "topology/machine.h"

namespace {

using namespace tutti;
using namespace tutti::bench;

struct Options {
  std::vector<int> copiers;
  std::size_t minimum_bytes = 64 << 10;
  std::size_t maximum_bytes = 64 << 20;
  std::size_t factor = 2;
  double seconds = 0.4;
  std::size_t cache_bytes = 0;
  bool json = false;
};

/// Where the threads of one measurement meet. Each counts its own arrivals; nobody goes on before all have come.
class Meeting {
 public:
  explicit Meeting(int threads) : arrivals_(static_cast<std::size_t>(threads)) {}
  void wait(int self) {
    const std::uint64_t turn = arrivals_[static_cast<std::size_t>(self)].value.load(std::memory_order_relaxed) + 1;
    arrivals_[static_cast<std::size_t>(self)].value.store(turn, std::memory_order_release);
    for (const auto& each : arrivals_) poll(false, [&] { return each.value.load(std::memory_order_acquire) >= turn; });
  }

 private:
  struct alignas(128) Arrivals {
    std::atomic<std::uint64_t> value{0};
  };
  std::vector<Arrivals> arrivals_;
};

std::uint64_t sum_of(const std::byte* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof sum <= bytes; at += sizeof sum) {
    std::uint64_t word;
    std::memcpy(&word, data + at, sizeof word);
    sum += word;
  }
  return sum;
}

/// Nanoseconds, by call.
struct Times {
  std::vector<double> copy, copy_and_read;
};

struct Result {
  Times plain, streaming;
};

struct Buffers {
  std::vector<std::byte*> source, destination;
};

void copy(memory::Store store, std::byte* destination, const std::byte* source, std::size_t bytes) {
  if (store == memory::Store::streaming)
    memory::stream_copy(destination, source, bytes);
  else
    std::memcpy(destination, source, bytes);
}

Result measure(const Buffers& buffers, std::size_t bytes, int copiers, double seconds) {
  const int threads = static_cast<int>(buffers.source.size());
  const Clock clock;
  Meeting meeting(threads);
  Result result;
  std::atomic<std::uint64_t> kept{0};
  std::atomic<bool> enough{false};
  struct alignas(128) Mine {
    double copy = 0, copy_and_read = 0;
  };
  std::vector<Mine> taken(static_cast<std::size_t>(threads));
  run_team(threads, [&](int self) {
    const auto me = static_cast<std::size_t>(self);
    const auto neighbor = static_cast<std::size_t>((self + threads - 1) % threads);
    // One copier: the last thread, from the one before it.
    const bool copies = copiers > 1 || self == threads - 1;
    const bool is_source = copiers > 1 || self == threads - 2;
    const std::uint64_t begin = shared_now_ns();
    for (int call = 0;; ++call) {
      const auto store = call % 2 ? memory::Store::streaming : memory::Store::cached;
      if (is_source) std::memset(buffers.source[me], call & 0xff, bytes);
      meeting.wait(self);
      if (copies) {
        const std::uint64_t start = Clock::ticks();
        copy(store, buffers.destination[me], buffers.source[neighbor], bytes);
        taken[me].copy = clock.nanoseconds_between(start, Clock::ticks());
        kept += sum_of(buffers.destination[me], bytes);
        taken[me].copy_and_read = clock.nanoseconds_between(start, Clock::ticks());
      }
      meeting.wait(self);
      if (self == 0) {
        Mine slowest;
        for (const Mine& each : taken) {
          slowest.copy = std::max(slowest.copy, each.copy);
          slowest.copy_and_read = std::max(slowest.copy_and_read, each.copy_and_read);
        }
        Times& times = store == memory::Store::streaming ? result.streaming : result.plain;
        if (call >= 4) {  // the first touch memory
          times.copy.push_back(slowest.copy);
          times.copy_and_read.push_back(slowest.copy_and_read);
        }
        enough = call >= 24 && static_cast<double>(shared_now_ns() - begin) > 1e9 * seconds;
      }
      meeting.wait(self);
      if (enough) break;
    }
  });
  return result;
}

void print(const Options& options, int copiers, std::size_t bytes, double footprint, const Result& result) {
  const Median copy[] = {median_of(result.plain.copy), median_of(result.streaming.copy)};
  const Median read[] = {median_of(result.plain.copy_and_read), median_of(result.streaming.copy_and_read)};
  if (options.json)
    std::printf(
        "{\"copiers\": %d, \"bytes\": %zu, \"footprint\": %.4f, \"copy_plain_us\": %.3f, \"copy_streaming_us\": %.3f, "
        "\"copy_spread_pct\": %.1f, \"read_plain_us\": %.3f, \"read_streaming_us\": %.3f, \"read_spread_pct\": %.1f}\n",
        copiers, bytes, footprint, copy[0].value / 1e3, copy[1].value / 1e3, ratio_spread_percent(copy[0], copy[1]),
        read[0].value / 1e3, read[1].value / 1e3, ratio_spread_percent(read[0], read[1]));
  else
    std::printf("%7d %10zu %9.3f %10.1f %10.1f %6.2f +-%4.1f%% %12.1f %10.1f %6.2f +-%4.1f%%\n", copiers, bytes,
                footprint, copy[0].value / 1e3, copy[1].value / 1e3, copy[0].value / copy[1].value,
                ratio_spread_percent(copy[0], copy[1]), read[0].value / 1e3, read[1].value / 1e3,
                read[0].value / read[1].value, ratio_spread_percent(read[0], read[1]));
  std::fflush(stdout);
}

/// The last-level caches of this machine together, as hwloc reports them.
std::size_t caches() {
  std::string error;
  const auto machine = topology::Machine::load("", error);
  if (!machine) return 0;
  return machine->l3_bytes() * static_cast<std::size_t>(std::max(1, machine->domain_count(topology::LevelKind::l3)));
}

}  // namespace

int main(int argc, char** argv) {
  const int processors = processor_count();
  Options options;
  CLI::App app{"Plain copies against copies past the caches.", "bench-copies"};
  app.add_option("--copiers", options.copiers, "1 and the number of processors if not given")->delimiter(',');
  app.add_option("--min", options.minimum_bytes, "Smallest copy in bytes")->capture_default_str();
  app.add_option("--max", options.maximum_bytes, "Largest copy in bytes")->capture_default_str();
  app.add_option("--factor", options.factor, "From one size to the next")
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Time to spend on each row")->capture_default_str();
  app.add_option("--cache", options.cache_bytes, "Last-level caches in bytes; 0: what hwloc reports")
      ->capture_default_str();
  app.add_flag("--json", options.json, "One JSON object a row");
  CLI11_PARSE(app, argc, argv);
  if (processors < 2) {
    std::fprintf(stderr, "bench-copies needs two processors: one owns what the other copies\n");
    return 1;
  }
  if (options.copiers.empty()) options.copiers = {1, processors};
  if (options.cache_bytes == 0) options.cache_bytes = caches();

  if (!options.json) {
    std::printf("# caches: %zu bytes; microseconds\n", options.cache_bytes);
    std::printf("%7s %10s %9s %10s %10s %6s %8s %12s %10s %6s\n", "copiers", "bytes", "footprint", "copy plain",
                "streaming", "gain", "", "and read", "streaming", "gain");
  }
  for (const int copiers : options.copiers) {
    const int threads = std::max(2, copiers);
    std::string reason;
    const auto arena =
        memory::Arena::create(2 * static_cast<std::size_t>(threads) * (options.maximum_bytes + 4096), reason);
    if (!arena) {
      std::fprintf(stderr, "%s\n", reason.c_str());
      return 1;
    }
    Buffers buffers;
    for (int i = 0; i < threads; ++i) {
      buffers.source.push_back(arena->base() + *arena->allocate(options.maximum_bytes));
      buffers.destination.push_back(arena->base() + *arena->allocate(options.maximum_bytes));
    }
    for (std::size_t bytes = options.minimum_bytes; bytes <= options.maximum_bytes; bytes *= options.factor) {
      const double touched = 2.0 * static_cast<double>(bytes) * copiers;
      print(options, copiers, bytes, touched / static_cast<double>(options.cache_bytes),
            measure(buffers, bytes, copiers, options.seconds));
    }
  }
}
