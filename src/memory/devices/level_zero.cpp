// Level Zero by its loader, libze_loader.
//
// Memory belongs to a context there, which a pointer does not tell. Each driver gets a context of Tutti's: Intel's driver
// knows all its memory by the address whichever context is asked, and copies it with command lists of any. Other libraries
// for communication lean on the same.
#include <cstdint>
#include <mutex>
#include <vector>

#include "memory/devices/device_runtime.h"
#include "memory/devices/look_up.h"

namespace tutti::memory {

namespace {

using Result = std::uint32_t;
using Handle = void*;
constexpr Result success = 0;

// ze_structure_type_t.
constexpr std::uint32_t of_context = 0xd, of_command_queue = 0xe, of_allocation = 0x17;
// ze_memory_type_t.
constexpr std::uint32_t unknown_memory = 0, memory_of_device = 2;

/// ze_context_desc_t.
struct ContextDescription {
  std::uint32_t structure = of_context;
  const void* next = nullptr;
  std::uint32_t flags = 0;
};
/// ze_command_queue_desc_t. The first group of queues of a device computes and copies.
struct QueueDescription {
  std::uint32_t structure = of_command_queue;
  const void* next = nullptr;
  std::uint32_t ordinal = 0, index = 0, flags = 0;
  std::uint32_t mode = 1;  ///< a command is over when it was given
  std::uint32_t priority = 0;
};
/// ze_memory_allocation_properties_t.
struct AllocationProperties {
  std::uint32_t structure = of_allocation;
  void* next = nullptr;
  std::uint32_t type = unknown_memory;
  std::uint64_t id = 0, page_bytes = 0;
};

struct Functions {
  Result (*drivers)(std::uint32_t* count, Handle* drivers);
  Result (*make_context)(Handle driver, const ContextDescription* description, Handle* context);
  Result (*properties)(Handle context, const void* pointer, AllocationProperties* properties, Handle* device);
  Result (*range)(Handle context, const void* pointer, void** begin, std::size_t* bytes);
  Result (*make_list)(Handle context, Handle device, const QueueDescription* description, Handle* list);
  Result (*append_copy)(Handle list, void* to, const void* from, std::size_t bytes, Handle signal, std::uint32_t waits,
                        Handle* wait_for);
};

class LevelZero final : public DeviceRuntime {
 public:
  explicit LevelZero(const Functions& functions) : ze_(functions) {}

  const char* name() const override { return "Level Zero"; }

  Memory find(const void* address) const override {
    const std::lock_guard lock(mutex_);
    const Found found = ask(address);
    if (found.type == unknown_memory) return Memory::unknown;
    return found.type == memory_of_device ? Memory::device : Memory::host;
  }

  Allocation allocation_of(const void* address) const override {
    const std::lock_guard lock(mutex_);
    const Found found = ask(address);
    void* begin = nullptr;
    std::size_t bytes = 0;
    if (!found.context || ze_.range(found.context, address, &begin, &bytes) != success) return {};
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    return {first, first + bytes};
  }

  bool copy_to_host(void* to, const void* from, std::size_t bytes) const override {
    return copy(to, from, bytes, from);
  }
  bool copy_to_device(void* to, const void* from, std::size_t bytes) const override {
    return copy(to, from, bytes, to);
  }

 private:
  struct Found {
    Handle context = nullptr, device = nullptr;
    std::uint32_t type = unknown_memory;
  };
  struct List {
    Handle context, device, list;
  };

  /// The loader refuses everything until the program has initialised it.
  const std::vector<Handle>& contexts() const {
    std::uint32_t count = 0;
    if (!contexts_.empty() || ze_.drivers(&count, nullptr) != success) return contexts_;
    std::vector<Handle> drivers(count);
    if (count == 0 || ze_.drivers(&count, drivers.data()) != success) return contexts_;
    const ContextDescription description;
    for (const Handle driver : drivers) {
      Handle context = nullptr;
      if (ze_.make_context(driver, &description, &context) == success) contexts_.push_back(context);
    }
    return contexts_;
  }

  Found ask(const void* address) const {
    for (const Handle context : contexts()) {
      AllocationProperties properties;
      Handle device = nullptr;
      if (ze_.properties(context, address, &properties, &device) == success && properties.type != unknown_memory)
        return {context, device, properties.type};
    }
    return {};
  }

  /// A command list is for one thread at a time.
  bool copy(void* to, const void* from, std::size_t bytes, const void* on_device) const {
    const std::lock_guard lock(mutex_);
    const Found found = ask(on_device);
    if (!found.device) return false;
    const Handle list = list_for(found);
    return list && ze_.append_copy(list, to, from, bytes, nullptr, 0, nullptr) == success;
  }

  Handle list_for(const Found& found) const {
    for (const List& each : lists_)
      if (each.context == found.context && each.device == found.device) return each.list;
    const QueueDescription description;
    Handle list = nullptr;
    if (ze_.make_list(found.context, found.device, &description, &list) != success) return nullptr;
    lists_.push_back({found.context, found.device, list});
    return list;
  }

  const Functions ze_;
  mutable std::mutex mutex_;  ///< of the next
  mutable std::vector<Handle> contexts_;
  mutable std::vector<List> lists_;
};

}  // namespace

std::unique_ptr<DeviceRuntime> level_zero_runtime() {
  void* const library = loaded_library("libze_loader.so");
  Functions all{};
  if (!library || !look_up(library, "zeDriverGet", all.drivers) ||
      !look_up(library, "zeContextCreate", all.make_context) ||
      !look_up(library, "zeMemGetAllocProperties", all.properties) ||
      !look_up(library, "zeMemGetAddressRange", all.range) ||
      !look_up(library, "zeCommandListCreateImmediate", all.make_list) ||
      !look_up(library, "zeCommandListAppendMemoryCopy", all.append_copy))
    return nullptr;
  return std::make_unique<LevelZero>(all);
}

}  // namespace tutti::memory
