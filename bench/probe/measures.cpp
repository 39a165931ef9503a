#include "probe/measures.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/copy.h"
#include "base/settings.h"
#include "memory/stream.h"
#include "probe/rounds.h"
#include "probe/team.h"
#include "processors.h"
#include "reduction/reduction.h"
#include "sync/waiter.h"

namespace tutti::bench {

namespace {

/// One call of the kernel between own memory and the same addresses of another process.
void kernel_copy(pid_t process, void* local, std::size_t local_bytes, void* remote, std::size_t remote_bytes,
                 bool write) {
  std::size_t done = 0;
  // It copies at most 2 GiB a call, and less if it is interrupted.
  while (done < local_bytes) {
    const iovec here{static_cast<std::byte*>(local) + done, local_bytes - done};
    const iovec there{static_cast<std::byte*>(remote) + done, remote_bytes - done};
    const ssize_t got =
        write ? process_vm_writev(process, &here, 1, &there, 1, 0) : process_vm_readv(process, &here, 1, &there, 1, 0);
    if (got <= 0) throw std::runtime_error(std::string("process_vm_readv: ") + std::strerror(errno));
    done += static_cast<std::size_t>(got);
  }
}

void empty_call(pid_t process, bool write) {
  if (write)
    process_vm_writev(process, nullptr, 0, nullptr, 0, 0);
  else
    process_vm_readv(process, nullptr, 0, nullptr, 0, 0);
}

void copy_by(bool streaming, std::byte* to, const std::byte* from, std::size_t bytes) {
  streaming ? memory::stream_copy(to, from, bytes) : copy_bytes(to, from, bytes);
}

}  // namespace

std::size_t page_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool kernel_copies_work(std::string& reason) {
  const Clock clock;
  try {
    const std::vector<int> here(2, usable_processors().front());
    kernel_step({clock, 0.001}, here, KernelStep::copy, 1, false);
    return true;
  } catch (const std::exception& problem) {
    reason = problem.what();
    return false;
  }
}

std::optional<memory::Xpmem> usable_xpmem(std::string& reason) {
  Log log;
  log.set_quiet(true);  // the library says what is wrong with a setting
  return memory::load_xpmem(Settings::from_environment(environ, log).xpmem_device, reason);
}

std::vector<double> kernel_step(const Probing& probing, const std::vector<int>& processors, KernelStep step,
                                std::size_t pages, bool write) {
  const std::size_t bytes = pages * page_bytes();
  const OwnMemory local(bytes), remote(bytes);
  const auto samples = run_team(processors, probing.seconds + patience_seconds, [&](Member& member) {
    const bool caller = member.index() == 0;
    change(caller ? local.base() : remote.base(), bytes, 1);
    repeat(member, probing.seconds, [&](int round, bool counts) {
      if (caller == write) change(write ? local.base() : remote.base(), bytes, round);
      member.meet();
      if (caller) {
        const pid_t owner = member.process_of(1);
        const std::size_t part = step == KernelStep::copy ? bytes : 1;
        const Stopwatch watch(probing.clock);
        if (step == KernelStep::empty)
          empty_call(owner, write);
        else
          kernel_copy(owner, local.base(), part, remote.base(), step == KernelStep::access ? 1 : bytes, write);
        if (counts) member.keep(watch.seconds());
      }
      member.meet();
    });
  });
  return samples[0];
}

std::vector<double> concurrent_readers(const Probing& probing, const std::vector<int>& processors, Readers readers,
                                       std::size_t bytes, bool lock_only) {
  const std::size_t count = processors.size();
  const bool with_owner = readers != Readers::everybody;
  const std::size_t owned = readers == Readers::different ? bytes * count : bytes;
  const OwnMemory source(owned), destination(bytes);
  std::vector<int> places = processors;
  if (with_owner) places.insert(places.begin(), processors.front());
  const auto samples = run_team(places, probing.seconds + patience_seconds, [&](Member& member) {
    const int first = with_owner ? 1 : 0;
    const bool reads = member.index() >= first;
    const bool owns = !with_owner || member.index() == 0;
    if (reads) change(destination.base(), bytes, 1);
    repeat(member, probing.seconds, [&](int round, bool counts) {
      if (owns) change(source.base(), owned, round);
      member.meet();
      if (reads) {
        const int owner = with_owner ? 0 : (member.index() + 1) % member.size();
        const std::size_t offset =
            readers == Readers::different ? bytes * static_cast<std::size_t>(member.index() - 1) : 0;
        member.start_line(first);
        const Stopwatch watch(probing.clock);
        kernel_copy(member.process_of(owner), destination.base(), lock_only ? 1 : bytes, source.base() + offset, bytes,
                    false);
        if (counts) member.keep(watch.seconds());
      }
      member.meet();
    });
  });
  return slowest(with_owner ? TeamSamples(samples.begin() + 1, samples.end()) : samples);
}

std::vector<double> flag_hop(const Probing& probing, const std::vector<int>& processors) {
  constexpr std::uint64_t trips = 200;
  const auto samples = run_team(processors, probing.seconds + patience_seconds, [&](Member& member) {
    auto& mine = member.state().word[member.index()].value;
    auto& other = member.state().word[1 - member.index()].value;
    std::uint64_t trip = 0;
    repeat(member, probing.seconds, [&](int, bool counts) {
      const Stopwatch watch(probing.clock);
      for (std::uint64_t i = 0; i < trips; ++i) {
        ++trip;
        if (member.index() == 0) mine.store(trip, std::memory_order_release);
        while (other.load(std::memory_order_acquire) < trip) {
        }
        if (member.index() == 1) mine.store(trip, std::memory_order_release);
      }
      if (counts && member.index() == 0) member.keep(watch.seconds() / (2 * trips));
    });
  });
  return samples[0];
}

std::vector<double> turn(const Probing& probing, const std::vector<int>& processors, int ranks_per_core,
                         std::size_t copied_bytes) {
  constexpr std::uint64_t rounds = 20;
  std::vector<int> places;
  for (int i = 0; i < ranks_per_core; ++i) places.insert(places.end(), processors.begin(), processors.end());
  const std::size_t size = places.size();
  const SharedMemory memory(size * sizeof(sync::Doorbell));
  auto* const bells = reinterpret_cast<sync::Doorbell*>(memory.base());
  const auto samples = run_team(places, probing.seconds + patience_seconds, [&](Member& member) {
    sync::WaitOptions options;
    options.mode = sync::WaitOptions::Mode::sleep;
    options.spin = 1;
    options.rank = member.index();
    std::vector<int> others;
    for (std::size_t i = 0; i < size; ++i) {
      options.doorbells.push_back(&bells[i]);
      if (static_cast<int>(i) != member.index()) others.push_back(static_cast<int>(i));
    }
    const auto waiter = sync::make_waiter(std::move(options));
    TeamState& state = member.state();
    const auto set = [&](std::uint64_t round) {
      state.word[member.index()].value.store(round, std::memory_order_release);
      waiter->wake(others.data(), static_cast<int>(others.size()));
    };
    const auto wait_for = [&](int peer, std::uint64_t round) {
      const sync::WaitReason reason{"probe", nullptr, 0, peer};
      sync::wait(*waiter, reason, [&] { return state.word[peer].value.load(std::memory_order_acquire) >= round; });
    };
    std::vector<std::byte> own(2 * copied_bytes, std::byte{1});
    std::uint64_t round = 0;
    repeat(member, probing.seconds, [&](int, bool counts) {
      const Stopwatch watch(probing.clock);
      double copying = 0;
      for (std::uint64_t i = 0; i < rounds; ++i) {
        ++round;
        if (member.index() == 0) {
          set(round);
          for (const int other : others) wait_for(other, round);
        } else {
          wait_for(0, round);
          if (copied_bytes > 0) {
            const Stopwatch copy(probing.clock);
            copy_bytes(own.data(), own.data() + copied_bytes, copied_bytes);
            copying += copy.seconds();
          }
          set(round);
        }
      }
      if (counts) member.keep(member.index() == 0 ? watch.seconds() : copying);
    });
  });
  // Each time all wait for one, then one for all: two rounds, in which each core serves all of its ranks. Those of a core
  // copy one after the other.
  const double of_a_core = static_cast<double>(ranks_per_core);
  const double copiers = processors.size() > 1 ? of_a_core : of_a_core - 1;
  std::vector<double> turns;
  for (std::size_t i = 0; i < samples[0].size(); ++i) {
    double copying = 0;
    for (std::size_t member = 1; member < size; ++member) copying += samples[member][i];
    turns.push_back((samples[0][i] - copiers * copying / static_cast<double>(size - 1)) / (2 * rounds * of_a_core));
  }
  return turns;
}

std::vector<double> mapped_copy(const Probing& probing, const std::vector<int>& processors, Copy copy,
                                std::size_t bytes, bool streaming) {
  const SharedMemory first(bytes), second(bytes);
  const auto samples = run_team(processors, probing.seconds + patience_seconds, [&](Member& member) {
    const bool copier = member.index() == 1;
    repeat(member, probing.seconds, [&](int round, bool counts) {
      // In `first` lies what is copied; `second` is where to.
      const bool writes_source = copy == Copy::read ? !copier : copier;
      if (writes_source) change(first.base(), bytes, round);
      if (!copier && copy == Copy::slot) look_at(second.base(), bytes);
      if (!copier && copy == Copy::line) memory::take_lines(second.base(), bytes);
      member.meet();
      if (copier) {
        const Stopwatch watch(probing.clock);
        copy_by(streaming, second.base(), first.base(), bytes);
        keep_memory();
        if (counts) member.keep(watch.seconds());
      }
      member.meet();
    });
  });
  return samples[1];
}

std::vector<double> aftermath(const Probing& probing, const std::vector<int>& processors, Move move,
                              Afterwards afterwards, std::size_t bytes) {
  const SharedMemory first(bytes), second(bytes);
  const bool writes = afterwards == Afterwards::owner_writes;
  const auto samples = run_team(processors, probing.seconds + patience_seconds, [&](Member& member) {
    const bool owner = member.index() == 0;
    if (!owner) change(second.base(), bytes, 1);
    repeat(member, probing.seconds, [&](int round, bool counts) {
      const auto timed = [&](bool counts_here, auto&& work) {
        const Stopwatch watch(probing.clock);
        work();
        if (counts && counts_here) member.keep(watch.seconds());
      };
      if (owner) timed(writes, [&] { change(first.base(), bytes, round); });
      member.meet();
      const bool pushes = move == Move::push || move == Move::push_beyond;
      if (move != Move::none && owner == pushes) {
        copy_by(move == Move::push_beyond, second.base(), first.base(), bytes);
        keep_memory();
      }
      member.meet();
      if (!owner)
        timed(!writes, [&] {
          if (afterwards == Afterwards::reader_takes) return memory::take_lines(first.base(), bytes);
          if (move == Move::push) memory::take_lines(second.base(), bytes);
          add_up(second.base(), bytes);
        });
      member.meet();
    });
  });
  return samples[writes ? 0 : 1];
}

std::vector<double> spilled_copy(const Probing& probing, int processor, std::size_t bytes, std::size_t cache_bytes) {
  const OwnMemory source(bytes), destination(bytes), others(2 * cache_bytes);
  return run_team({processor}, probing.seconds + patience_seconds, [&](Member& member) {
    repeat(member, probing.seconds, [&](int round, bool counts) {
      change(source.base(), bytes, round);
      change(others.base(), 2 * cache_bytes, round);
      const Stopwatch watch(probing.clock);
      copy_bytes(destination.base(), source.base(), bytes);
      keep_memory();
      if (counts) member.keep(watch.seconds());
    });
  })[0];
}

namespace {

/// One pair's memory: shared for mapped and staged, the same for all processes.
struct PairMemory {
  PairMemory(std::size_t pool_bytes, std::size_t staging_bytes)
      : source(pool_bytes), own_source(pool_bytes), staging(staging_bytes) {}
  SharedMemory source;
  OwnMemory own_source;
  SharedMemory staging;
};

constexpr std::size_t staging_chunk = 128 << 10;

/// The owner copies chunk by chunk into one of two halves of the staging memory, the reader out of it.
void stage(Member& member, PairMemory& memory, const std::byte* source, std::byte* destination, std::size_t bytes,
           std::uint64_t& chunks_before) {
  const bool owner = member.index() % 2 == 0;
  auto& mine = member.state().word[member.index()].value;
  auto& other = member.state().word[member.index() ^ 1].value;
  std::uint64_t chunk = chunks_before;
  for (std::size_t at = 0; at < bytes; at += staging_chunk) {
    const std::size_t part = std::min(staging_chunk, bytes - at);
    std::byte* const stage = memory.staging.base() + chunk % 2 * staging_chunk;
    ++chunk;
    // The owner may be two chunks ahead of the reader.
    const std::uint64_t wanted = owner ? (chunk > 2 ? chunk - 2 : 0) : chunk;
    while (other.load(std::memory_order_acquire) < wanted) relax();
    if (owner)
      copy_bytes(stage, source + at, part);
    else
      copy_bytes(destination + at, stage, part);
    mine.store(chunk, std::memory_order_release);
  }
  chunks_before = chunk;
}

}  // namespace

std::vector<double> mapped_exchange(const Probing& probing, const std::vector<int>& processors, std::size_t bytes) {
  const SharedMemory first(bytes), second(bytes);
  const OwnMemory destination(bytes);
  return slowest(run_team(processors, probing.seconds + patience_seconds, [&](Member& member) {
    const bool one = member.index() == 0;
    std::byte* const mine = one ? first.base() : second.base();
    const std::byte* const theirs = one ? second.base() : first.base();
    repeat(member, probing.seconds, [&](int round, bool counts) {
      change(mine, bytes, round);
      member.meet();
      const Stopwatch watch(probing.clock);
      copy_bytes(destination.base(), theirs, bytes);
      keep_memory();
      if (counts) member.keep(watch.seconds());
      member.meet();
    });
  }));
}

namespace {

/// What the reader loads from: the owner's pool, where that is attached by xpmem.
const std::byte* attach_pool(Member& member, std::byte* pool, std::size_t bytes) {
  std::string reason;
  const auto xpmem = usable_xpmem(reason);
  if (!xpmem) throw std::runtime_error(reason);
  const bool owner = member.index() % 2 == 0;
  if (owner) member.state().segment[member.index()] = memory::expose_address_space(*xpmem);
  member.meet();
  if (owner) return pool;
  const std::int64_t segment = member.state().segment[member.index() ^ 1];
  const std::int64_t grant = segment < 0 ? -1 : memory::get_segment(*xpmem, segment);
  void* const at =
      grant < 0 ? nullptr
                : xpmem->attach({grant, static_cast<off_t>(reinterpret_cast<std::uintptr_t>(pool))}, bytes, nullptr);
  if (!at || at == reinterpret_cast<void*>(-1)) throw std::runtime_error("xpmem cannot attach");
  return static_cast<const std::byte*>(at);
}

}  // namespace

std::vector<double> concurrent_pairs(const Probing& probing, const std::vector<int>& processors, Way way,
                                     std::size_t bytes, bool cold) {
  const std::size_t pairs = processors.size() / 2;
  // Cold: as many buffers in turn as no cache holds.
  const std::size_t turns = cold ? std::max<std::size_t>(2, (std::size_t{96} << 20) / pairs / bytes) : 1;
  std::vector<std::unique_ptr<PairMemory>> memory;
  for (std::size_t i = 0; i < pairs; ++i)
    memory.push_back(std::make_unique<PairMemory>(bytes * turns, 2 * staging_chunk));
  const OwnMemory destination(bytes * turns);
  const auto samples = run_team(processors, probing.seconds + patience_seconds, [&](Member& member) {
    PairMemory& mine = *memory[static_cast<std::size_t>(member.index() / 2)];
    const bool owner = member.index() % 2 == 0;
    const int peer = member.index() ^ 1;
    std::byte* const pool = way == Way::mapped ? mine.source.base() : mine.own_source.base();
    std::uint64_t chunks = 0;
    if (owner) change(pool, bytes * turns, 1);
    if (!owner) change(destination.base(), bytes * turns, 1);
    const std::byte* const seen = way == Way::xpmem ? attach_pool(member, pool, bytes * turns) : pool;
    repeat(member, probing.seconds, [&](int round, bool counts) {
      const std::size_t at = static_cast<std::size_t>(round) % turns * bytes;
      if (owner && !cold) change(pool + at, bytes, round);
      // Written anew, but long before it is copied: half of the turns from now.
      if (owner && cold) change(pool + (at + turns / 2 * bytes) % (turns * bytes), bytes, round);
      member.meet();
      const Stopwatch watch(probing.clock);
      std::byte* const to = destination.base() + at;
      if (way == Way::staged)
        stage(member, mine, pool + at, to, bytes, chunks);
      else if (!owner && way != Way::cma)
        copy_bytes(to, seen + at, bytes);
      else if (!owner)
        kernel_copy(member.process_of(peer), to, bytes, pool + at, bytes, false);
      if (counts && !owner) member.keep(watch.seconds());
      member.meet();
    });
  });
  return slowest(samples);
}

namespace {

struct ReductionKernel {
  const char* name;
  reduction::Operator operation;
  reduction::Type type;
};
constexpr ReductionKernel reduction_kernels[] = {
    {"sum f64", reduction::Operator::sum, reduction::Type::f64},
    {"sum f32", reduction::Operator::sum, reduction::Type::f32},
    {"max i32", reduction::Operator::max, reduction::Type::i32},
    {"prod f64", reduction::Operator::prod, reduction::Type::f64},
};

}  // namespace

const char* reduction_kernel_name(int kernel) {
  return kernel < static_cast<int>(std::size(reduction_kernels)) ? reduction_kernels[kernel].name : nullptr;
}

std::vector<double> reduction_sum(const Probing& probing, int processor, std::size_t sources, std::size_t bytes,
                                  int kernel) {
  constexpr int calls = 16;
  const ReductionKernel& subject = reduction_kernels[kernel];
  const OwnMemory memory((bytes + 128) * (sources + 1));
  const auto samples = run_team({processor}, probing.seconds + patience_seconds, [&](Member& member) {
    change(memory.base(), (bytes + 128) * (sources + 1), 0);
    std::vector<const void*> arrays;
    for (std::size_t i = 1; i <= sources; ++i) arrays.push_back(memory.base() + i * (bytes + 128));
    const reduction::Kernel run = reduction::kernel(subject.operation, subject.type);
    const std::size_t elements = bytes / reduction::size_of(subject.type);
    repeat(member, probing.seconds, [&](int, bool counts) {
      const Stopwatch watch(probing.clock);
      for (int i = 0; i < calls; ++i) {
        run(memory.base(), arrays.data(), sources, elements, reduction::Order::in_pairs);
        keep_memory();
      }
      if (counts) member.keep(watch.seconds() / calls);
    });
  });
  return samples[0];
}

}  // namespace tutti::bench
