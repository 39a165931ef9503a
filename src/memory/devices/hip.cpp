// HIP by its runtime, libamdhip64.
#include <cstdint>

#include "memory/devices/device_runtime.h"
#include "memory/devices/look_up.h"

namespace tutti::memory {

namespace {

using Error = int;
constexpr Error success = 0;

// hipMemcpyKind.
constexpr int to_device_kind = 1, to_host_kind = 2;

/// hipPointerAttribute_t. The numbers of the type have changed between versions of HIP, the meaning of the pointers has not.
struct Attributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;  ///< null: the processor does not reach it
  int is_managed;
  unsigned allocation_flags;
  std::uint64_t room_for_more[8];
};

struct Functions {
  Error (*attributes)(Attributes* attributes, const void* pointer);
  Error (*range)(void** begin, std::size_t* bytes, void* pointer);
  Error (*copy)(void* to, const void* from, std::size_t bytes, int kind);
  Error (*copy_2d)(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width_bytes,
                   std::size_t height, int kind);
  Error (*synchronize)(void* stream);
  Error (*peek_at_last_error)();
  Error (*take_last_error)();
};

class Hip final : public DeviceRuntime {
 public:
  explicit Hip(const Functions& functions) : hip_(functions) {}

  const char* name() const override { return "HIP"; }

  Memory find(const void* address) const override {
    Attributes found{};
    if (!quietly([&] { return hip_.attributes(&found, address); }) || !found.device_pointer) return Memory::unknown;
    return found.host_pointer || found.is_managed ? Memory::host : Memory::device;
  }

  Allocation allocation_of(const void* address) const override {
    void* begin = nullptr;
    std::size_t bytes = 0;
    if (!quietly([&] { return hip_.range(&begin, &bytes, const_cast<void*>(address)); })) return {};
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    return {first, first + bytes};
  }

  bool copy_to_host(void* to, const void* from, std::size_t bytes) const override {
    return quietly([&] { return hip_.copy(to, from, bytes, to_host_kind); });
  }
  bool copy_to_device(void* to, const void* from, std::size_t bytes) const override {
    return quietly([&] { return hip_.copy(to, from, bytes, to_device_kind); }) && to_its_end();
  }
  bool copy_rows_to_device(void* to, const void* from, const Rows& rows) const override {
    return quietly([&] {
             return hip_.copy_2d(to, rows.pitch, from, rows.pitch, rows.bytes, rows.count, to_device_kind);
           }) &&
           to_its_end();
  }

 private:
  bool to_its_end() const {
    return quietly([&] { return hip_.synchronize(nullptr); });
  }

  /// Whether the call succeeds. What fails here is not to be found by the program in hipGetLastError.
  template <class Call>
  bool quietly(Call&& call) const {
    const bool was_clear = hip_.peek_at_last_error() == success;
    if (call() == success) return true;
    if (was_clear) hip_.take_last_error();
    return false;
  }

  const Functions hip_;
};

}  // namespace

std::unique_ptr<DeviceRuntime> hip_runtime() {
  void* const library = loaded_library("libamdhip64.so");
  Functions all{};
  if (!library || !look_up(library, "hipPointerGetAttributes", all.attributes) ||
      !look_up(library, "hipMemGetAddressRange", all.range) || !look_up(library, "hipMemcpy", all.copy) ||
      !look_up(library, "hipMemcpy2D", all.copy_2d) || !look_up(library, "hipStreamSynchronize", all.synchronize) ||
      !look_up(library, "hipPeekAtLastError", all.peek_at_last_error) ||
      !look_up(library, "hipGetLastError", all.take_last_error))
    return nullptr;
  return std::make_unique<Hip>(all);
}

}  // namespace tutti::memory
