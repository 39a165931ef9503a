#include "mpi/arguments/blocks.h"

#include <utility>

#include "mpi/report/explain.h"

namespace tutti::mpi {

namespace {

/// Private memory that a thread keeps for its own calls; more is for all threads.
constexpr std::size_t kept_bytes = std::size_t{1} << 20;

/// It takes a microsecond to find out what a datatype is made of.
constexpr std::size_t least_spread_bytes = 4096;

std::optional<memory::Spread> spread_at(const std::byte* block, const std::optional<memory::Layout>& layout) {
  if (!layout) return std::nullopt;
  return memory::Spread{*layout, const_cast<std::byte*>(block)};
}

}  // namespace

void UserBlocks::Scratch::give_back() {
  packed.clear();
  if (memory.bytes() > kept_bytes) memory.give_back();
}

bool UserBlocks::describe_regular(const BlockList& list) {
  TypeInfo room;
  const TypeInfo* info = type_info(list.type, room);
  if (!info) return refuse(Refusal::datatype);
  if (list.elements_each < 0) return false;
  const auto* const user = user_ = static_cast<const std::byte*>(list.buffer);
  type_ = list.type;
  elements_ = static_cast<std::size_t>(list.elements_each);
  const std::size_t bytes = elements_ * info->bytes;
  // MPI_BOTTOM is null on some hosts, but needs a type that holds addresses.
  if (!user && (info->predefined || info->contiguous) && bytes && is_anywhere()) return false;
  if (bytes == 0 || is_direct(*info, user)) {
    blocks_ = Blocks::regular(user, bytes);
    return true;
  }
  const std::optional<memory::Layout> layout = layout_of_packed(user, bytes, type_, elements_);
  if (count_ == 1 && layout && layout->loops() == 0)
    blocks_ = Blocks::regular(user + layout->first(), bytes);
  else
    pack_regular(user, elements_, type_, *info, bytes, layout);
  return true;
}

bool UserBlocks::describe_irregular(const BlockList& list) {
  TypeInfo room;
  const TypeInfo* info = list.has_types ? nullptr : type_info(list.type, room);
  if (!list.has_types && !info) return refuse(Refusal::datatype);
  if ((!list.elements || !list.displacements || (list.has_types && !list.types)) && count_) return false;
  MPI_Aint lower = 0, unit = info ? static_cast<MPI_Aint>(info->bytes) : 1;
  if (info && !info->contiguous) host.Type_get_extent(list.type, &lower, &unit);
  const auto* user = static_cast<const std::byte*>(list.buffer);
  Scratch& scratch = this->scratch();
  if (scratch.sizes.size() < count_) {
    scratch.sizes.resize(count_);
    scratch.offsets.resize(count_);
  }
  for (std::size_t i = 0; i < count_; ++i) {
    if (list.elements[i] < 0) return false;
    const auto elements = static_cast<std::size_t>(list.elements[i]);
    scratch.sizes[i] = 0;
    scratch.offsets[i] = 0;
    if (elements == 0 || is_nowhere(i)) continue;
    if (list.has_types) info = type_info(list.types[i], room);
    if (!info) return refuse(Refusal::datatype);
    scratch.sizes[i] = elements * info->bytes;
    if (scratch.sizes[i] == 0) continue;
    scratch.offsets[i] = static_cast<std::ptrdiff_t>(list.displacements[i]) * unit;
    const std::byte* const block = user + scratch.offsets[i];
    // Absolute addresses are displacements from MPI_BOTTOM.
    if (!(list.has_types ? block : user) && (info->predefined || info->contiguous)) return false;
    if (is_direct(*info, block)) continue;
    const MPI_Datatype type = list.has_types ? list.types[i] : list.type;
    std::optional<memory::Layout> layout = layout_of_packed(block, scratch.sizes[i], type, elements);
    if (layout && layout->loops() == 0)
      scratch.offsets[i] += layout->first();
    else
      scratch.packed.push_back({i, block, elements, type, *info, spread_at(block, layout)});
  }
  blocks_ = Blocks::irregular(user, scratch.sizes.data(), scratch.offsets.data());
  place_packed();
  return true;
}

std::optional<memory::Layout> UserBlocks::layout_of_packed(const std::byte* address, std::size_t bytes,
                                                           MPI_Datatype type, std::size_t elements) const {
  // Memory of devices may be nothing to this processor.
  if (bytes < least_spread_bytes || copies_ || !address || devices::may_be_there()) return std::nullopt;
  return layout_of(type, elements);
}

void UserBlocks::pack_regular(const std::byte* user, std::size_t elements, MPI_Datatype type, const TypeInfo& info,
                              std::size_t stride, const std::optional<memory::Layout>& layout) {
  MPI_Aint lower = 0, extent = static_cast<MPI_Aint>(info.bytes);
  if (!info.contiguous) host.Type_get_extent(type, &lower, &extent);
  const MPI_Aint distance = static_cast<MPI_Aint>(elements) * extent;
  Scratch& scratch = this->scratch();
  scratch.packed.clear();
  for (std::size_t i = 0; i < count_ && elements * info.bytes > 0; ++i)
    if (const std::byte* const block = user + static_cast<MPI_Aint>(i) * distance; !is_nowhere(i))
      scratch.packed.push_back({i, block, elements, type, info, spread_at(block, layout)});
  blocks_ = Blocks::regular(scratch.memory.at_least(count_ * stride), stride);
}

void UserBlocks::place_packed() {
  Scratch& scratch = this->scratch();
  if (scratch.packed.empty()) return;
  std::size_t total = 0;
  for (const Packed& packed : scratch.packed) total += scratch.sizes[packed.index];
  std::byte* next = scratch.memory.at_least(total);
  for (const Packed& packed : scratch.packed) {
    scratch.offsets[packed.index] = next - blocks_.base;
    next += scratch.sizes[packed.index];
  }
}

void UserBlocks::widen(std::size_t bytes) {
  TypeInfo room;
  const TypeInfo& info = *type_info(type_, room);
  pack_regular(user_, elements_, type_, info, bytes, std::nullopt);
}

Spreads UserBlocks::spreads() {
  if (!scratch_ || scratch_->packed.empty()) return {};
  Scratch& scratch = *scratch_;
  scratch.spread_of.assign(count_, nullptr);
  for (Packed& packed : scratch.packed) {
    // One that was made shorter or longer is none of the core's.
    if (packed.index == left_out_ || !packed.spread) continue;
    if (packed.spread->layout.bytes() != blocks_.size(packed.index)) continue;
    scratch.spread_of[packed.index] = &*packed.spread;
    packed.is_the_cores = true;
  }
  return {scratch.spread_of.data()};
}

int UserBlocks::pack(const Packed& packed) {
  if (packed.spread) {
    packed.spread->get(0, blocks_.at(packed.index), packed.spread->layout.bytes());
    return MPI_SUCCESS;
  }
  return mpi::pack(packed.user, packed.elements, packed.type, packed.info, blocks_.at(packed.index), communicator_);
}

int UserBlocks::pack_all() {
  int code = MPI_SUCCESS;
  for (const Packed& packed : scratch().packed) {
    if (packed.index == left_out_ || packed.is_the_cores) continue;
    if (const int failed = pack(packed); failed != MPI_SUCCESS) code = failed;
  }
  return code;
}

int UserBlocks::pack(std::size_t i) {
  if (!scratch_) return MPI_SUCCESS;
  for (const Packed& packed : scratch().packed)
    if (packed.index == i) return pack(packed);
  return MPI_SUCCESS;
}

int UserBlocks::unpack_all(int code) {
  for (Packed& packed : scratch().packed) {
    if (packed.index == left_out_) continue;
    if (packed.spread && std::exchange(packed.spread->is_there, false)) continue;
    auto* user = const_cast<std::byte*>(packed.user);
    if (const int failed =
            mpi::unpack(blocks_.at(packed.index), user, packed.elements, packed.type, packed.info, communicator_);
        failed != MPI_SUCCESS && code == MPI_SUCCESS)
      code = failed;
  }
  return code;
}

}  // namespace tutti::mpi
