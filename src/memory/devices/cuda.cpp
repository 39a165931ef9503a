// CUDA by its driver's interface, which every program of CUDA has loaded, also one that has the runtime linked into it. A
// query there leaves no error behind that the program would see, unlike the runtime's.
#include <cstdint>

#include "memory/devices/device_runtime.h"
#include "memory/devices/look_up.h"

namespace tutti::memory {

namespace {

using Result = int;
using Context = void*;
using Stream = void*;
using DevicePointer = unsigned long long;
using Device = int;

constexpr Result success = 0;

// What is asked of a pointer (CUpointer_attribute), and answers (CUmemorytype).
constexpr int context_attribute = 1;
constexpr int memory_type_attribute = 2;
constexpr int is_managed_attribute = 8;
constexpr int device_ordinal_attribute = 9;
constexpr int range_start_attribute = 11;
constexpr int range_bytes_attribute = 12;
constexpr unsigned memory_of_host = 1, memory_of_device = 2;

/// CUDA_MEMCPY2D: a side is memory of the host or of a device, or an array, of which there is none here.
struct Copy2D {
  struct Side {
    std::size_t x_bytes, y;
    unsigned memory_type;
    const void* host;
    DevicePointer device;
    void* array;
    std::size_t pitch;
  };
  Side from, to;
  std::size_t width_bytes, height;
};

struct Functions {
  Result (*pointer_attribute)(void* answer, int attribute, DevicePointer pointer);
  Result (*to_host)(void* to, DevicePointer from, std::size_t bytes);
  Result (*to_device)(DevicePointer to, const void* from, std::size_t bytes);
  Result (*copy_2d)(const Copy2D* copy);
  Result (*synchronize)(Stream stream);
  Result (*push_context)(Context context);
  Result (*pop_context)(Context* context);
  Result (*current_context)(Context* context);
  Result (*device_of_ordinal)(Device* device, int ordinal);
  Result (*retain_primary)(Context* context, Device device);
};

DevicePointer number_of(const void* address) {
  return static_cast<DevicePointer>(reinterpret_cast<std::uintptr_t>(address));
}

class Cuda final : public DeviceRuntime {
 public:
  explicit Cuda(const Functions& functions) : cuda_(functions) {}

  const char* name() const override { return "CUDA"; }

  Memory find(const void* address) const override {
    unsigned type = 0;
    if (!ask(type, memory_type_attribute, address)) return Memory::unknown;
    if (type != memory_of_device) return Memory::host;
    // Managed memory is said to be the device's, too.
    unsigned managed = 0;
    return ask(managed, is_managed_attribute, address) && managed ? Memory::host : Memory::device;
  }

  Allocation allocation_of(const void* address) const override {
    DevicePointer begin = 0;
    std::size_t bytes = 0;
    if (!ask(begin, range_start_attribute, address) || !ask(bytes, range_bytes_attribute, address)) return {};
    return {static_cast<std::uintptr_t>(begin), static_cast<std::uintptr_t>(begin) + bytes};
  }

  bool copy_to_host(void* to, const void* from, std::size_t bytes) const override {
    return with_context_of(from, [&] { return cuda_.to_host(to, number_of(from), bytes) == success; });
  }

  bool copy_to_device(void* to, const void* from, std::size_t bytes) const override {
    return with_context_of(to, [&] { return cuda_.to_device(number_of(to), from, bytes) == success && to_its_end(); });
  }

  bool copy_rows_to_device(void* to, const void* from, const Rows& rows) const override {
    Copy2D copy{};
    copy.from.memory_type = memory_of_host;
    copy.from.host = from;
    copy.to.memory_type = memory_of_device;
    copy.to.device = number_of(to);
    copy.from.pitch = copy.to.pitch = rows.pitch;
    copy.width_bytes = rows.bytes;
    copy.height = rows.count;
    return with_context_of(to, [&] { return cuda_.copy_2d(&copy) == success && to_its_end(); });
  }

 private:
  template <class Answer>
  bool ask(Answer& answer, int attribute, const void* address) const {
    return cuda_.pointer_attribute(&answer, attribute, number_of(address)) == success;
  }

  /// The copy of pageable memory to a device returns when the bytes have left there, not when they have arrived.
  bool to_its_end() const { return cuda_.synchronize(nullptr) == success; }

  /// The thread may be one that has no context, or one of another device.
  template <class Copy>
  bool with_context_of(const void* address, Copy&& copy) const {
    const Context context = context_of(address);
    if (context && cuda_.push_context(context) != success) return false;
    const bool copied = copy();
    Context popped = nullptr;
    return (!context || cuda_.pop_context(&popped) == success) && copied;
  }

  /// Null if the one that the thread has will do: memory from pools and what was mapped piece by piece belongs to none.
  Context context_of(const void* address) const {
    Context context = nullptr;
    if (ask(context, context_attribute, address) && context) return context;
    if (cuda_.current_context(&context) == success && context) return nullptr;
    int ordinal = 0;
    Device device = 0;
    if (!ask(ordinal, device_ordinal_attribute, address) || cuda_.device_of_ordinal(&device, ordinal) != success ||
        cuda_.retain_primary(&context, device) != success)
      return nullptr;
    return context;
  }

  const Functions cuda_;
};

}  // namespace

std::unique_ptr<DeviceRuntime> cuda_runtime() {
  void* const library = loaded_library("libcuda.so");
  Functions all{};
  if (!library || !look_up(library, "cuPointerGetAttribute", all.pointer_attribute) ||
      !look_up(library, "cuMemcpyDtoH_v2", all.to_host) || !look_up(library, "cuMemcpyHtoD_v2", all.to_device) ||
      !look_up(library, "cuMemcpy2DUnaligned_v2", all.copy_2d) ||
      !look_up(library, "cuStreamSynchronize", all.synchronize) ||
      !look_up(library, "cuCtxPushCurrent_v2", all.push_context) ||
      !look_up(library, "cuCtxPopCurrent_v2", all.pop_context) ||
      !look_up(library, "cuCtxGetCurrent", all.current_context) ||
      !look_up(library, "cuDeviceGet", all.device_of_ordinal) ||
      !look_up(library, "cuDevicePrimaryCtxRetain", all.retain_primary))
    return nullptr;
  return std::make_unique<Cuda>(all);
}

}  // namespace tutti::memory
