#include "mpi/arguments/device_memory.h"

#include <array>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/ticks.h"
#include "memory/devices/host_pages.h"
#include "mpi/communicators.h"
#include "mpi/start/node_setup.h"
#include "preload/library_opener.h"
#include "preload/unmap.h"

namespace tutti::mpi {

namespace devices {

constinit std::atomic<bool> are_known{false};

namespace {

using memory::DeviceRuntime;
using Clock = std::chrono::steady_clock;

constexpr std::unique_ptr<DeviceRuntime> (*kinds[])() = {memory::cuda_runtime, memory::hip_runtime,
                                                         memory::level_zero_runtime};
constexpr std::size_t kind_count = sizeof kinds / sizeof *kinds;

/// dlopen says that it was called, and nothing says that it is over, unless it was called by the thread that looks. So long
/// it may take others, for which is looked every now and then: from a runtime that is there to the first memory of a
/// device it takes longer.
constexpr std::chrono::seconds opening_at_most{10};
constexpr std::uint64_t nanoseconds_between_looks = 500'000;

/// The runtimes of the process. What is found stays, as do their libraries.
class Runtimes {
 public:
  /// After the loader may have brought more.
  void look() noexcept {
    const std::lock_guard lock(mutex_);
    if (job()->node.settings.devices == "off")
      return tutti_libraries.store(TuttiLibraries::looked_at, std::memory_order_relaxed);
    // A call of dlopen from here on is noticed by the next look.
    auto state = tutti_libraries.exchange(TuttiLibraries::being_opened, std::memory_order_acq_rel);
    const std::uintptr_t opener = tutti_opener.exchange(preload::nobody, std::memory_order_acq_rel);
    const auto now = Clock::now();
    const bool is_over = opener == preload::nobody ? !has_looked_ : preload::is_this_thread(opener);
    if (state == TuttiLibraries::opened && !is_over) last_opened_ = now;
    has_looked_ = true;
    last_look_.store(ticks(), std::memory_order_relaxed);
    const unsigned long long loaded = memory::libraries_ever_loaded();
    if (loaded != loaded_) {
      loaded_ = loaded;
      find_new();
    }
    if (last_opened_ && now - *last_opened_ < opening_at_most) return;
    state = TuttiLibraries::being_opened;
    tutti_libraries.compare_exchange_strong(state, TuttiLibraries::looked_at, std::memory_order_acq_rel);
  }

  /// Whether another thread may have been in dlopen at the last look, which was just now.
  bool has_just_looked() const {
    return tutti_libraries.load(std::memory_order_relaxed) == TuttiLibraries::being_opened &&
           ticks() - last_look_.load(std::memory_order_relaxed) < ticks_in(nanoseconds_between_looks);
  }

  /// Null where it is none's, and then whether it is of no kind that a runtime knows.
  const DeviceRuntime* device_of(const void* address, bool& is_unknown) const {
    is_unknown = true;
    for (const auto& each : found_) {
      const DeviceRuntime* const runtime = each.load(std::memory_order_acquire);
      if (!runtime) continue;
      const auto what = runtime->find(address);
      if (what == DeviceRuntime::Memory::device) return runtime;
      if (what != DeviceRuntime::Memory::unknown) is_unknown = false;
    }
    return nullptr;
  }

 private:
  void find_new() {
    for (std::size_t i = 0; i < kind_count; ++i) {
      if (found_[i].load(std::memory_order_relaxed)) continue;
      const DeviceRuntime* const made = kinds[i]().release();
      if (!made) continue;
      memory::unmapping::count_changes();
      job()->node.log.note("device buffers: %s is loaded; what lies in its memory is staged", made->name());
      found_[i].store(made, std::memory_order_release);
      are_known.store(true, std::memory_order_relaxed);
    }
  }

  std::mutex mutex_;  ///< of the next
  unsigned long long loaded_ = 0;
  bool has_looked_ = false;
  std::optional<Clock::time_point> last_opened_{};  ///< by a thread that may be in it
  std::atomic<std::uint64_t> last_look_{0};
  /// Never destroyed: MPI may be called at the very end of the process.
  std::array<std::atomic<const DeviceRuntime*>, kind_count> found_{};
};
/// The window's own memory is never a device's.
bool is_in_window(const Node& node, const void* address) {
  return node.window_extent && static_cast<std::size_t>(static_cast<const std::byte*>(address) - node.window_base) <
                                   node.window_extent->load(std::memory_order_relaxed);
}

constinit Runtimes runtimes;
constinit memory::HostPages host_pages;

}  // namespace

const DeviceRuntime* find(const void* address) noexcept {
  const Job* const job = mpi::job();
  if (!address || !job) return nullptr;
  if (tutti_libraries.load(std::memory_order_relaxed) != TuttiLibraries::looked_at && !runtimes.has_just_looked())
    runtimes.look();
  if (!are_known.load(std::memory_order_relaxed)) return nullptr;
  if (is_in_window(job->node, address)) return nullptr;
  const std::uint64_t changes = memory::unmapping::changes.load(std::memory_order_acquire);
  if (host_pages.holds(address, changes)) return nullptr;
  bool is_unknown = false;
  const DeviceRuntime* const runtime = runtimes.device_of(address, is_unknown);
  // What a runtime has allocated it may turn into memory of a device without unmapping it.
  if (!runtime && is_unknown) {
    memory::unmapping::watch_stack_of_this_thread();
    host_pages.add(address, changes);
  }
  return runtime;
}

}  // namespace devices

namespace {

constinit std::atomic<std::uint64_t> staged_buffers{0}, staged_bytes{0};
constinit std::atomic<bool> has_failed{false};

}  // namespace

int copy_from_program(std::byte* to, const void* from, std::size_t bytes) {
  const memory::DeviceRuntime* const runtime = bytes ? device_of(from) : nullptr;
  if (!runtime) {
    if (bytes) std::memcpy(to, from, bytes);
    return MPI_SUCCESS;
  }
  count_staged(bytes);
  return runtime->copy_to_host(to, from, bytes) ? MPI_SUCCESS : device_copy_failed(*runtime, bytes, false);
}

int copy_to_program(void* to, const std::byte* from, std::size_t bytes) {
  const memory::DeviceRuntime* const runtime = bytes ? device_of(to) : nullptr;
  if (!runtime) {
    if (bytes) std::memcpy(to, from, bytes);
    return MPI_SUCCESS;
  }
  count_staged(bytes);
  return runtime->copy_to_device(to, from, bytes) ? MPI_SUCCESS : device_copy_failed(*runtime, bytes, true);
}

int device_copy_failed(const memory::DeviceRuntime& runtime, std::size_t bytes, bool to_device) {
  if (!has_failed.exchange(true))
    job()->node.log.warn("%s has refused to copy %zu bytes %s; the call ends with MPI_ERR_OTHER", runtime.name(), bytes,
                         to_device ? "to its device" : "from its device");
  return MPI_ERR_OTHER;
}

Staged staged_so_far() {
  return {staged_buffers.load(std::memory_order_relaxed), staged_bytes.load(std::memory_order_relaxed)};
}

void count_staged(std::size_t bytes) {
  staged_buffers.fetch_add(1, std::memory_order_relaxed);
  staged_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace tutti::mpi
