// Blocks of a buffer between MPI's arguments (counts, displacements, datatypes) and the core's (bytes).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/arguments.h"
#include "engine/communicator.h"
#include "mpi/arguments/call_memory.h"
#include "mpi/arguments/datatypes.h"
#include "mpi/arguments/device_memory.h"
#include "mpi/arguments/loan.h"
#include "mpi/host.h"
#include "mpi/report/explain.h"

namespace tutti::mpi {

/// The blocks of one buffer of a call. Those of contiguous types are given to the core where they are. Others, and those
/// in memory of devices, go through private memory: pack() before the core sends from there, unpack() after it has
/// received there.
class UserBlocks {
 public:
  /// `copy`: blocks to send are copied into private memory whatever their type.
  enum class Role { send, receive, copy };

  /// Whether private memory is one that the thread keeps for its calls, one after the other, or is this call's own, of
  /// which there may be many at once.
  enum class Memory { lent, own };

  /// count: of blocks.
  UserBlocks(Role role, std::size_t count, MPI_Comm communicator, Memory memory = Memory::lent)
      : role_(role), has_own_memory_(memory == Memory::own), count_(count), communicator_(communicator) {}
  ~UserBlocks() {
    if (loan_) scratch_->give_back();
  }
  UserBlocks(const UserBlocks&) = delete;
  UserBlocks& operator=(const UserBlocks&) = delete;

  /// One block for each of `neighbors`, before describe(). Those of negative ranks, null processes, are nowhere.
  void belong_to(const std::vector<int>& neighbors) { neighbors_ = &neighbors; }

  // What the blocks are; once. False if something is wrong with the arguments: then the call is the host's, to say so.

  /// All of `elements`, one behind the other.
  template <class Count>
  bool describe(const void* buffer, Count elements, MPI_Datatype type);
  /// Displacements in extents of the type.
  template <class Count, class Displacement>
  bool describe(const void* buffer, const Count* elements, const Displacement* displacements, MPI_Datatype type);
  /// Each of its own type, displacements in bytes.
  template <class Count, class Displacement>
  bool describe(const void* buffer, const Count* elements, const Displacement* displacements,
                const MPI_Datatype* types);

  /// Blocks that arrive are of `bytes`, more than there is room for: they go through private memory, and what there is
  /// room for is unpacked. For blocks of one size.
  void widen(std::size_t bytes);
  /// Block i of the user's memory is neither read by pack() nor written by unpack().
  void leave_out(std::size_t i) { left_out_ = i; }
  /// Makes block i of an irregular list shorter.
  void cut(std::size_t i, std::size_t bytes) { scratch().sizes[i] = bytes; }

  /// As the core gets them; after describe() and all of the above.
  const Blocks& core() const { return blocks_; }
  std::size_t bytes(std::size_t i) const { return blocks_.size(i); }

  /// use(type): for each type that pack() and unpack() need.
  template <class Use>
  void for_each_type(Use&& use) const {
    for (std::size_t i = 0; scratch_ && i < scratch_->packed.size(); ++i) use(scratch_->packed[i].type);
  }

  // As often as it is wanted. These return the host's error code.
  int pack() { return scratch_ ? pack_all() : MPI_SUCCESS; }
  int pack(std::size_t i);  ///< also if it is left out
  /// `code`: of what went before, returned if it was an error.
  int unpack(int code) { return scratch_ ? unpack_all(code) : code; }

 private:
  /// A block, or what there is room for of it, that goes through private memory.
  struct Packed {
    std::size_t index;
    const std::byte* user;
    std::size_t elements;
    MPI_Datatype type;
    TypeInfo info;
  };
  struct Scratch {
    std::vector<std::size_t> sizes;
    std::vector<std::ptrdiff_t> offsets;
    std::vector<Packed> packed;
    CallMemory memory;

    void give_back();
  };
  /// Regular blocks of a contiguous type, which most calls have, need none.
  Scratch& scratch() {
    if (!scratch_) make_scratch();
    return *scratch_;
  }
  void make_scratch() {
    if (has_own_memory_)
      own_ = std::make_unique<Scratch>();
    else
      loan_.emplace();
    scratch_ = has_own_memory_ ? own_.get() : &**loan_;
  }
  bool copies() const { return role_ == Role::copy; }
  /// Whether the core is given a block of this type where it begins, at `address`.
  bool is_direct(const TypeInfo& info, const std::byte* address) const {
    return info.contiguous && !copies() && !device_of(address + info.offset);
  }

  int pack_all();
  int unpack_all(int code);
  void pack_regular(const std::byte* user, std::size_t elements, MPI_Datatype type, const TypeInfo& info,
                    std::size_t stride);
  int pack(const Packed& packed);
  bool is_nowhere(std::size_t i) const { return neighbors_ && (*neighbors_)[i] < 0; }
  /// Whether there is a block at all: without, nobody looks at the buffer, and what is passed as one may differ between
  /// ranks.
  bool is_anywhere() const {
    for (std::size_t i = 0; i < count_; ++i)
      if (!is_nowhere(i)) return true;
    return false;
  }
  /// With room for the sizes and offsets of all blocks.
  Scratch& scratch_for_lists() {
    Scratch& scratch = this->scratch();
    if (scratch.sizes.size() < count_) {
      scratch.sizes.resize(count_);
      scratch.offsets.resize(count_);
    }
    return scratch;
  }
  /// Puts the packed blocks of an irregular list into private memory, one behind the other.
  void place_packed();

  Role role_;
  bool has_own_memory_;
  Scratch* scratch_ = nullptr;
  std::optional<Loan<Scratch>> loan_;
  std::unique_ptr<Scratch> own_;
  std::size_t count_;
  MPI_Comm communicator_;
  const std::vector<int>* neighbors_ = nullptr;
  std::size_t left_out_ = SIZE_MAX;
  MPI_Datatype type_{};       ///< of regular blocks
  std::size_t elements_ = 0;  ///< of each regular block
  Blocks blocks_;
};

template <class Count>
bool UserBlocks::describe(const void* buffer, Count elements, MPI_Datatype type) {
  TypeInfo room;
  const TypeInfo* info = type_info(type, room);
  if (!info) return refuse(Refusal::datatype);
  if (elements < 0) return false;
  const auto* user = static_cast<const std::byte*>(buffer);
  const std::size_t bytes = static_cast<std::size_t>(elements) * info->bytes;
  type_ = type;
  elements_ = static_cast<std::size_t>(elements);
  // MPI_BOTTOM is null on some hosts, but needs a type that holds addresses.
  if (!user && (info->predefined || info->contiguous) && bytes && is_anywhere()) return false;
  if (bytes == 0 || is_direct(*info, user))
    blocks_ = Blocks::regular(user + info->offset, bytes);
  else
    pack_regular(user, elements_, type, *info, bytes);
  return true;
}

template <class Count, class Displacement>
bool UserBlocks::describe(const void* buffer, const Count* elements, const Displacement* displacements,
                          MPI_Datatype type) {
  TypeInfo room;
  const TypeInfo* known = type_info(type, room);
  if (!known) return refuse(Refusal::datatype);
  if ((!elements || !displacements) && count_) return false;
  const TypeInfo& info = *known;
  MPI_Aint lower = 0, extent = static_cast<MPI_Aint>(info.bytes);
  if (!info.contiguous) host.Type_get_extent(type, &lower, &extent);
  const auto* user = static_cast<const std::byte*>(buffer);
  Scratch& scratch = scratch_for_lists();
  for (std::size_t i = 0; i < count_; ++i) {
    if (elements[i] < 0) return false;
    const auto of_block = static_cast<std::size_t>(elements[i]);
    scratch.sizes[i] = of_block * info.bytes;
    scratch.offsets[i] = 0;
    if (is_nowhere(i)) scratch.sizes[i] = 0;
    if (scratch.sizes[i] == 0) continue;
    if (!user && (info.predefined || info.contiguous)) return false;
    scratch.offsets[i] = static_cast<std::ptrdiff_t>(displacements[i]) * extent;
    const std::byte* const block = user + scratch.offsets[i];
    if (!is_direct(info, block)) scratch.packed.push_back({i, block, of_block, type, info});
  }
  blocks_ = Blocks::irregular(user + info.offset, scratch.sizes.data(), scratch.offsets.data());
  place_packed();
  return true;
}

template <class Count, class Displacement>
bool UserBlocks::describe(const void* buffer, const Count* elements, const Displacement* displacements,
                          const MPI_Datatype* types) {
  if ((!elements || !displacements || !types) && count_) return false;
  const auto* user = static_cast<const std::byte*>(buffer);
  Scratch& scratch = scratch_for_lists();
  TypeInfo room;
  for (std::size_t i = 0; i < count_; ++i) {
    if (elements[i] < 0) return false;
    scratch.sizes[i] = 0;
    scratch.offsets[i] = 0;
    if (elements[i] == 0 || is_nowhere(i)) continue;
    const TypeInfo* info = type_info(types[i], room);
    if (!info) return refuse(Refusal::datatype);
    const auto of_block = static_cast<std::size_t>(elements[i]);
    scratch.sizes[i] = of_block * info->bytes;
    if (scratch.sizes[i] == 0) continue;
    scratch.offsets[i] = static_cast<std::ptrdiff_t>(displacements[i]) + info->offset;
    const std::byte* block = user + displacements[i];
    // Absolute addresses are displacements from MPI_BOTTOM.
    if (!block && (info->predefined || info->contiguous)) return false;
    if (!is_direct(*info, block)) scratch.packed.push_back({i, block, of_block, types[i], *info});
  }
  blocks_ = Blocks::irregular(user, scratch.sizes.data(), scratch.offsets.data());
  place_packed();
  return true;
}

// The lists of blocks of MPI's functions: all of one size, or with displacements, or with displacements and types.

template <class Count>
struct EqualBlocks {
  static constexpr bool regular = true;
  const void* buffer;
  Count elements;
  MPI_Datatype type;

  bool describe(UserBlocks& blocks) const { return blocks.describe(buffer, elements, type); }
};
template <class Count, class Displacement>
struct VaryingBlocks {
  static constexpr bool regular = false;
  const void* buffer;
  const Count* elements;
  const Displacement* displacements;
  MPI_Datatype type;

  bool describe(UserBlocks& blocks) const { return blocks.describe(buffer, elements, displacements, type); }
};
template <class Count, class Displacement>
struct TypedBlocks {
  static constexpr bool regular = false;
  const void* buffer;
  const Count* elements;
  const Displacement* displacements;
  const MPI_Datatype* types;

  bool describe(UserBlocks& blocks) const { return blocks.describe(buffer, elements, displacements, types); }
};

/// Any of these, so that what is done with a list is compiled once, and not for each type of counts. It refers to the list.
class BlockList {
 public:
  template <class List>
  BlockList(const List& list)
      : buffer(list.buffer), regular(List::regular), list_(&list), describe_([](const void* same, UserBlocks& blocks) {
          return static_cast<const List*>(same)->describe(blocks);
        }) {}

  const void* const buffer;
  const bool regular;

  bool describe(UserBlocks& blocks) const { return describe_(list_, blocks); }

 private:
  const void* list_;
  bool (*describe_)(const void* list, UserBlocks& blocks);
};

}  // namespace tutti::mpi
