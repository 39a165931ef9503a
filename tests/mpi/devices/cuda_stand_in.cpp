// libcuda.so.1 for tests where there is no device: what of CUDA's driver the library calls, stricter than the driver.
//
// Nothing is known before cuInit. A copy needs the context of the memory, which is one of two in turn; what is of a pool
// needs any. What is copied to a device is there once the stream was waited for, and not before.
#include <vector>

#include "device_pool.h"

namespace {

using namespace stand_in;

constexpr int success = 0, invalid_value = 1, not_initialised = 3, invalid_context = 201;

bool initialised = false;
int contexts[2];
thread_local std::vector<void*> stack;
std::mutex pending_mutex;

struct Pending {
  char* to;
  std::vector<char> bytes;
};
std::vector<Pending> pending;

void* current() {
  return stack.empty() ? nullptr : stack.back();
}

void finish() {
  const std::lock_guard lock(pending_mutex);
  for (const Pending& each : pending) std::memcpy(each.to, each.bytes.data(), each.bytes.size());
  pending.clear();
}

int check(const void* on_device, const void* on_host, std::size_t bytes) {
  if (!is_of_device(on_device, bytes) || is_of_device(on_host, 1)) return invalid_value;
  const Block block = pool().find(on_device);
  if (!current() || (block.kind != pooled && current() != &contexts[block.device])) return invalid_context;
  return success;
}

void put(const void* to, const void* from, std::size_t bytes) {
  const auto* const begin = static_cast<const char*>(from);
  const std::lock_guard lock(pending_mutex);
  pending.push_back({inside(to, bytes), std::vector<char>(begin, begin + bytes)});
}

const void* address_of(unsigned long long pointer) {
  return reinterpret_cast<const void*>(pointer);
}

struct Side {
  std::size_t x_bytes, y;
  unsigned memory_type;
  const void* host;
  unsigned long long device;
  void* array;
  std::size_t pitch;
};
struct Copy2D {
  Side from, to;
  std::size_t width_bytes, height;
};

}  // namespace

EXPORT int cuInit(unsigned /*flags*/) {
  initialised = true;
  return success;
}

EXPORT int cuPointerGetAttribute(void* answer, int attribute, unsigned long long pointer) {
  ++queries;
  if (!initialised) return not_initialised;
  const Block block = pool().find(address_of(pointer));
  if (!block.begin) return invalid_value;
  const auto give = [answer](auto value) {
    std::memcpy(answer, &value, sizeof value);
    return success;
  };
  switch (attribute) {
    case 1:
      return give(block.kind == pooled ? nullptr : static_cast<void*>(&contexts[block.device]));
    case 2:
      return give(block.kind == pinned ? 1u : 2u);
    case 8:
      return give(block.kind == managed ? 1u : 0u);
    case 9:
      return give(block.device);
    case 11:
      return give(reinterpret_cast<unsigned long long>(block.begin));
    case 12:
      return give(block.bytes);
    default:
      return invalid_value;
  }
}

EXPORT int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  ++copies;
  if (const int error = check(address_of(from), to, bytes); error != success) return error;
  finish();
  std::memcpy(to, inside(address_of(from), bytes), bytes);
  return success;
}

EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  ++copies;
  if (const int error = check(address_of(to), from, bytes); error != success) return error;
  put(address_of(to), from, bytes);
  return success;
}

EXPORT int cuMemcpy2DUnaligned_v2(const Copy2D* copy) {
  ++copies;
  const std::size_t bytes = copy->to.pitch * (copy->height - 1) + copy->width_bytes;
  if (copy->from.memory_type != 1 || copy->to.memory_type != 2) return invalid_value;
  if (const int error = check(address_of(copy->to.device), copy->from.host, bytes); error != success) return error;
  for (std::size_t row = 0; row < copy->height; ++row)
    put(address_of(copy->to.device + row * copy->to.pitch),
        static_cast<const char*>(copy->from.host) + row * copy->from.pitch, copy->width_bytes);
  return success;
}

EXPORT int cuStreamSynchronize(void* stream) {
  if (stream) return invalid_value;
  finish();
  return success;
}

EXPORT int cuCtxPushCurrent_v2(void* context) {
  stack.push_back(context);
  return success;
}
EXPORT int cuCtxPopCurrent_v2(void** context) {
  if (stack.empty()) return invalid_context;
  *context = stack.back();
  stack.pop_back();
  return success;
}
EXPORT int cuCtxGetCurrent(void** context) {
  *context = current();
  return success;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = 100 + ordinal;
  return success;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (device != 100 && device != 101) return 101;
  *context = &contexts[device - 100];
  return success;
}
/// Whether a thread has the contexts that it had: none.
EXPORT int stand_in_is_clean() {
  return stack.empty();
}
