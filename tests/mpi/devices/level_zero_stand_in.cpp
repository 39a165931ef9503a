// libze_loader.so.1 for tests where there is no device: what of Level Zero the library calls. One driver, two devices; nothing
// works before zeInit, nor without a context and a command list of the device.
#include "device_pool.h"

namespace {

using namespace stand_in;

constexpr unsigned success = 0, uninitialised = 0x78000001, invalid_argument = 0x78000004;

bool initialised = false;
int driver, context, devices[2], lists[2];

struct Description {
  unsigned structure;
  const void* next;
};
struct Queue {
  unsigned structure;
  const void* next;
  unsigned ordinal, index, flags, mode, priority;
};
struct Properties {
  unsigned structure;
  void* next;
  unsigned type;
  std::uint64_t id, page_bytes;
};

}  // namespace

EXPORT unsigned zeInit(unsigned /*flags*/) {
  initialised = true;
  return success;
}

EXPORT unsigned zeDriverGet(unsigned* count, void** drivers) {
  if (!initialised) return uninitialised;
  if (drivers && *count > 0) drivers[0] = &driver;
  *count = 1;
  return success;
}

EXPORT unsigned zeContextCreate(void* of, const Description* description, void** made) {
  if (of != &driver || description->structure != 0xd) return invalid_argument;
  *made = &context;
  return success;
}

EXPORT unsigned zeMemGetAllocProperties(void* of, const void* pointer, Properties* properties, void** device) {
  ++queries;
  if (of != &context || properties->structure != 0x17) return invalid_argument;
  const Block block = pool().find(pointer);
  properties->type = !block.begin ? 0 : block.kind == managed ? 3 : block.kind == pinned ? 1 : 2;
  *device = block.begin ? &devices[block.device] : nullptr;
  return success;
}

EXPORT unsigned zeMemGetAddressRange(void* of, const void* pointer, void** begin, std::size_t* bytes) {
  const Block block = pool().find(pointer);
  if (of != &context || !block.begin) return invalid_argument;
  *begin = block.begin;
  *bytes = block.bytes;
  return success;
}

EXPORT unsigned zeCommandListCreateImmediate(void* of, void* device, const Queue* queue, void** list) {
  if (of != &context || queue->structure != 0xe || queue->mode != 1) return invalid_argument;
  *list = device == &devices[0] ? &lists[0] : device == &devices[1] ? &lists[1] : nullptr;
  return *list ? success : invalid_argument;
}

EXPORT unsigned zeCommandListAppendMemoryCopy(void* list, void* to, const void* from, std::size_t bytes, void* signal,
                                              unsigned waits, void** /*events*/) {
  ++copies;
  const bool is_to = is_of_device(to, bytes);
  const Block block = pool().find(is_to ? to : from, bytes);
  if (refuses || list != &lists[block.device] || signal || waits || !block.begin || is_of_device(is_to ? from : to, 1))
    return invalid_argument;
  std::memcpy(inside(to, bytes), inside(from, bytes), bytes);
  return success;
}
EXPORT int stand_in_is_clean() {
  return 1;
}
