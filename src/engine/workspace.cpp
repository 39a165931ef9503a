#include "engine/workspace.h"

namespace tutti {

std::byte* Workspace::staging(int which, std::size_t bytes) {
  Staging& staging = staging_[static_cast<std::size_t>(which)];
  if (staging.bytes < bytes) {
    if (staging.bytes) node_.arena->release(staging.offset, memory::Arena::Contents::used);
    staging = {};
    const auto offset = node_.arena->allocate_used(sizeof(memory::Filled) + bytes);
    if (!offset) throw std::bad_alloc();
    staging = {*offset, bytes};
    new (node_.arena->base() + *offset) memory::Filled{};
  }
  return node_.arena->base() + staging.offset + sizeof(memory::Filled);
}

}  // namespace tutti
