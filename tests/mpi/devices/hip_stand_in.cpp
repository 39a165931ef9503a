// libamdhip64.so for tests where there is no device: what of HIP's runtime the library calls. Each call that fails is
// remembered, as by the runtime, until hipGetLastError takes it.
#include "device_pool.h"

namespace {

using namespace stand_in;

constexpr int success = 0, invalid_value = 1;

thread_local int last_error = success;

int fail() {
  return last_error = invalid_value;
}

/// What of a copy is on a device, and what is the host's.
bool is_right(const void* to, const void* from, std::size_t bytes, int kind) {
  return (kind == 1 && is_of_device(to, bytes) && !is_of_device(from, 1)) ||
         (kind == 2 && is_of_device(from, bytes) && !is_of_device(to, 1));
}

struct Attributes {
  int type, device;
  void *device_pointer, *host_pointer;
  int is_managed;
  unsigned allocation_flags;
};

}  // namespace

EXPORT int hipPointerGetAttributes(Attributes* attributes, const void* pointer) {
  ++queries;
  const Block block = pool().find(pointer);
  if (!block.begin) return fail();
  auto* const address = const_cast<void*>(pointer);
  *attributes = {block.is_closed() ? 2 : 1,
                 block.device,
                 address,
                 block.is_closed() ? nullptr : address,
                 block.kind == managed,
                 0};
  return success;
}

EXPORT int hipMemGetAddressRange(void** begin, std::size_t* bytes, void* pointer) {
  const Block block = pool().find(pointer);
  if (!block.begin) return fail();
  *begin = block.begin;
  *bytes = block.bytes;
  return success;
}

EXPORT int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  ++copies;
  if (!is_right(to, from, bytes, kind)) return fail();
  std::memcpy(inside(to, bytes), inside(from, bytes), bytes);
  return success;
}

EXPORT int hipMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                       std::size_t height, int kind) {
  ++copies;
  if (!is_right(to, from, to_pitch * (height - 1) + width, kind) || kind != 1) return fail();
  for (std::size_t row = 0; row < height; ++row)
    std::memcpy(inside(static_cast<char*>(to) + row * to_pitch, width),
                static_cast<const char*>(from) + row * from_pitch, width);
  return success;
}

EXPORT int hipStreamSynchronize(void* stream) {
  return stream ? fail() : success;
}
EXPORT int hipPeekAtLastError() {
  return last_error;
}
EXPORT int hipGetLastError() {
  const int error = last_error;
  last_error = success;
  return error;
}
EXPORT int stand_in_is_clean() {
  return last_error == success;
}
