// Blocks of a buffer between MPI's arguments (counts, displacements, datatypes) and the core's (bytes).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "collectives/arguments.h"
#include "engine/communicator.h"
#include "mpi/datatypes.h"
#include "mpi/explain.h"
#include "mpi/host.h"

namespace tutti::mpi {

/// The blocks of one buffer of a call. Those of contiguous types are given to the core where they are, others go through
/// private memory of this thread: pack() before the core sends from there, unpack() after it has received there.
/// At most one of each role at a time in a thread.
class UserBlocks {
 public:
  /// `copy`: blocks to send are copied into private memory whatever their type.
  enum class Role { send, receive, copy };

  /// count: of blocks.
  UserBlocks(Role role, std::size_t count, MPI_Comm communicator)
      : scratch_(scratch_of(role)), count_(count), communicator_(communicator), copy_(role == Role::copy) {}
  ~UserBlocks() { scratch_.give_back(); }
  UserBlocks(const UserBlocks&) = delete;
  UserBlocks& operator=(const UserBlocks&) = delete;

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
  void leave_out(std::size_t i);
  /// Makes block i of an irregular list shorter.
  void cut(std::size_t i, std::size_t bytes) { scratch_.sizes[i] = bytes; }

  /// As the core gets them; after describe() and all of the above.
  const Blocks& core() const { return blocks_; }
  std::size_t bytes(std::size_t i) const { return blocks_.size(i); }

  /// These return the host's error code.
  int pack();
  int pack(std::size_t i);
  /// `code`: of what went before, returned if it was an error.
  int unpack(int code);

 private:
  /// A block, or what there is room for of it, that goes through private memory.
  struct Packed {
    std::size_t index;
    const std::byte* user;
    std::size_t elements;
    MPI_Datatype type;
    TypeInfo info;
  };
  /// Kept by each thread, so that no call allocates for itself.
  struct Scratch {
    std::vector<std::size_t> sizes;
    std::vector<std::ptrdiff_t> offsets;
    std::vector<Packed> packed;
    std::unique_ptr<std::byte[]> memory;
    std::size_t memory_bytes = 0;

    std::byte* get(std::size_t bytes);
    void give_back();
  };
  static Scratch& scratch_of(Role role);

  void pack_regular(const std::byte* user, std::size_t elements, MPI_Datatype type, const TypeInfo& info,
                    std::size_t stride);
  int pack(const Packed& packed);
  void resize_arrays() {
    if (scratch_.sizes.size() >= count_) return;
    scratch_.sizes.resize(count_);
    scratch_.offsets.resize(count_);
  }
  /// Puts the packed blocks of an irregular list into private memory, one behind the other.
  void place_packed();

  Scratch& scratch_;
  std::size_t count_;
  MPI_Comm communicator_;
  bool copy_;
  MPI_Datatype type_{};       ///< of regular blocks
  std::size_t elements_ = 0;  ///< of each regular block
  Blocks blocks_;
};

template <class Count>
bool UserBlocks::describe(const void* buffer, Count elements, MPI_Datatype type) {
  const TypeInfo* info = type_info(type);
  if (!info) return refuse(Refusal::datatype);
  if (elements < 0) return false;
  const auto* user = static_cast<const std::byte*>(buffer);
  const std::size_t bytes = static_cast<std::size_t>(elements) * info->bytes;
  type_ = type;
  elements_ = static_cast<std::size_t>(elements);
  // MPI_BOTTOM is null on some hosts, but needs a type that holds addresses.
  if (!user && (info->predefined || info->contiguous) && bytes) return false;
  if ((info->contiguous && !copy_) || bytes == 0)
    blocks_ = Blocks::regular(user + info->offset, bytes);
  else
    pack_regular(user, elements_, type, *info, bytes);
  return true;
}

template <class Count, class Displacement>
bool UserBlocks::describe(const void* buffer, const Count* elements, const Displacement* displacements,
                          MPI_Datatype type) {
  const TypeInfo* known = type_info(type);
  if (!known) return refuse(Refusal::datatype);
  if ((!elements || !displacements) && count_) return false;
  const TypeInfo info = *known;
  const bool direct = info.contiguous && !copy_;
  MPI_Aint lower = 0, extent = static_cast<MPI_Aint>(info.bytes);
  if (!info.contiguous) host.Type_get_extent(type, &lower, &extent);
  const auto* user = static_cast<const std::byte*>(buffer);
  resize_arrays();
  for (std::size_t i = 0; i < count_; ++i) {
    if (elements[i] < 0) return false;
    const auto of_block = static_cast<std::size_t>(elements[i]);
    scratch_.sizes[i] = of_block * info.bytes;
    scratch_.offsets[i] = 0;
    if (scratch_.sizes[i] == 0) continue;
    if (!user && (info.predefined || info.contiguous)) return false;
    scratch_.offsets[i] = static_cast<std::ptrdiff_t>(displacements[i]) * extent;
    if (!direct) scratch_.packed.push_back({i, user + scratch_.offsets[i], of_block, type, info});
  }
  blocks_ = Blocks::irregular(user + info.offset, scratch_.sizes.data(), scratch_.offsets.data());
  place_packed();
  return true;
}

template <class Count, class Displacement>
bool UserBlocks::describe(const void* buffer, const Count* elements, const Displacement* displacements,
                          const MPI_Datatype* types) {
  if ((!elements || !displacements || !types) && count_) return false;
  const auto* user = static_cast<const std::byte*>(buffer);
  resize_arrays();
  for (std::size_t i = 0; i < count_; ++i) {
    if (elements[i] < 0) return false;
    scratch_.sizes[i] = 0;
    scratch_.offsets[i] = 0;
    if (elements[i] == 0) continue;
    const TypeInfo* info = type_info(types[i]);
    if (!info) return refuse(Refusal::datatype);
    const auto of_block = static_cast<std::size_t>(elements[i]);
    scratch_.sizes[i] = of_block * info->bytes;
    if (scratch_.sizes[i] == 0) continue;
    scratch_.offsets[i] = static_cast<std::ptrdiff_t>(displacements[i]) + info->offset;
    const std::byte* block = user + displacements[i];
    // Absolute addresses are displacements from MPI_BOTTOM.
    if (!block && (info->predefined || info->contiguous)) return false;
    if (!info->contiguous || copy_) scratch_.packed.push_back({i, block, of_block, types[i], *info});
  }
  blocks_ = Blocks::irregular(user, scratch_.sizes.data(), scratch_.offsets.data());
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

/// After a collective of the core: raises the host's MPI_ERR_TRUNCATE on `communicator` if this rank had less room than
/// was sent to it, by `too_long` or as the core noted. Returns the call's code.
int finish(Communicator& core, MPI_Comm communicator, int code, bool too_long = false);

}  // namespace tutti::mpi
