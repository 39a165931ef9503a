// Copies of all processors at once: what several share, and get no more of however fast each could copy.
#include "base/copy.h"
#include "memory/stream.h"
#include "probe/measures.h"
#include "probe/rounds.h"
#include "probe/team.h"

namespace tutti::bench {

std::vector<double> mapped_readers(const Probing& probing, const std::vector<int>& processors, std::size_t bytes) {
  const std::size_t owned = bytes * (processors.size() - 1);
  const SharedMemory source(owned);
  const OwnMemory destination(bytes);
  const auto samples = run_team(processors, probing.seconds + patience_seconds, [&](Member& member) {
    const bool owns = member.index() == 0;
    repeat(member, probing.seconds, [&](int round, bool counts) {
      if (owns) change(source.base(), owned, round);
      member.meet();
      if (!owns) {
        const std::byte* const part = source.base() + bytes * static_cast<std::size_t>(member.index() - 1);
        member.start_line(1);
        const Stopwatch watch(probing.clock);
        copy_bytes(destination.base(), part, bytes);
        keep_memory();
        if (counts) member.keep(watch.seconds());
      }
      member.meet();
    });
  });
  return slowest(TeamSamples(samples.begin() + 1, samples.end()));
}

std::vector<double> mapped_ring(const Probing& probing, const std::vector<int>& processors, std::size_t bytes) {
  const std::size_t members = processors.size();
  const SharedMemory all(bytes * members);
  const OwnMemory destination(bytes);
  return slowest(run_team(processors, probing.seconds + patience_seconds, [&](Member& member) {
    const auto index = static_cast<std::size_t>(member.index());
    repeat(member, probing.seconds, [&](int round, bool counts) {
      change(all.base() + index * bytes, bytes, round);
      member.meet();
      const Stopwatch watch(probing.clock);
      copy_bytes(destination.base(), all.base() + (index + 1) % members * bytes, bytes);
      keep_memory();
      if (counts) member.keep(watch.seconds());
      member.meet();
    });
  }));
}

std::vector<double> mapped_streams(const Probing& probing, const std::vector<int>& processors, std::size_t bytes) {
  const std::size_t members = processors.size();
  const SharedMemory all(bytes * members);
  const OwnMemory source(bytes);
  return slowest(run_team(processors, probing.seconds + patience_seconds, [&](Member& member) {
    const auto index = static_cast<std::size_t>(member.index());
    repeat(member, probing.seconds, [&](int round, bool counts) {
      change(source.base(), bytes, round);
      look_at(all.base() + index * bytes, bytes);
      member.meet();
      const Stopwatch watch(probing.clock);
      memory::stream_copy(all.base() + (index + 1) % members * bytes, source.base(), bytes);
      keep_memory();
      if (counts) member.keep(watch.seconds());
      member.meet();
    });
  }));
}

}  // namespace tutti::bench
