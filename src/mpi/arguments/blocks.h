// Blocks of a buffer between MPI's arguments (counts, displacements, datatypes) and the core's (bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/kinds.h"
#include "mpi/arguments/call_memory.h"
#include "mpi/arguments/datatypes.h"
#include "mpi/arguments/device_memory.h"
#include "mpi/arguments/loan.h"
#include "mpi/host.h"

namespace tutti::mpi {

/// Counts or displacements among MPI's arguments, one for each block, of whichever type they are.
class Numbers {
 public:
  Numbers() = default;
  template <class Number>
  Numbers(const Number* first) : first_(first), is_wide_(sizeof(Number) == sizeof(std::int64_t)) {
    static_assert(sizeof(Number) == sizeof(std::int64_t) || sizeof(Number) == sizeof(std::int32_t));
  }

  explicit operator bool() const { return first_; }
  std::int64_t operator[](std::size_t i) const { return is_wide_ ? at<std::int64_t>(i) : at<std::int32_t>(i); }

 private:
  template <class Number>
  Number at(std::size_t i) const {
    Number number;
    std::memcpy(&number, static_cast<const char*>(first_) + i * sizeof(Number), sizeof(Number));
    return number;
  }

  const void* first_ = nullptr;
  bool is_wide_ = false;
};

/// The list of blocks that a function of MPI is given.
struct BlockList {
  const void* buffer;
  std::int64_t elements_each = 0;   ///< of regular blocks, which lie one behind the other
  Numbers elements, displacements;  ///< of others, displacements in extents of the type; in bytes with types of each
  MPI_Datatype type{};              ///< of all
  const MPI_Datatype* types = nullptr;  ///< or one each
  bool is_regular = true;
  bool has_types = false;

  BlockList(const void* of, MPI_Count count, MPI_Datatype of_all) : buffer(of), elements_each(count), type(of_all) {}
  BlockList(const void* of, Numbers counts, Numbers places, MPI_Datatype of_all)
      : buffer(of), elements(counts), displacements(places), type(of_all), is_regular(false) {}
  BlockList(const void* of, Numbers counts, Numbers places, const MPI_Datatype* of_each)
      : buffer(of), elements(counts), displacements(places), types(of_each), is_regular(false), has_types(true) {}

  bool is_in_place() const { return buffer == MPI_IN_PLACE; }
};

/// The blocks of one buffer of a call. Those of contiguous types are given to the core where they are. Others, and those
/// in memory of devices, go through private memory: pack() before the core sends from there, unpack() after it has
/// received there.
class UserBlocks {
 public:
  /// Whether private memory is one that the thread keeps for its calls, one after the other, or is this call's own, of
  /// which there may be many at once.
  enum class Memory { lent, own };

  /// count: of blocks.
  UserBlocks(std::size_t count, MPI_Comm communicator, Memory memory)
      : has_own_memory_(memory == Memory::own), count_(count), communicator_(communicator) {}
  ~UserBlocks() {
    if (loan_) scratch_->give_back();
  }
  UserBlocks(const UserBlocks&) = delete;
  UserBlocks& operator=(const UserBlocks&) = delete;

  // Before describe().

  /// One block for each of `neighbors`. Those of negative ranks, null processes, are nowhere.
  void belong_to(const std::vector<int>& neighbors) { neighbors_ = &neighbors; }
  /// They go through private memory whatever their type.
  void copy() { copies_ = true; }

  /// What the blocks are; once. False if something is wrong with the arguments: then the call is the host's, to say so.
  bool describe(const BlockList& list) { return list.is_regular ? describe_regular(list) : describe_irregular(list); }

  /// Blocks that arrive are of `bytes`, more than there is room for: they go through private memory, and what there is
  /// room for is unpacked. For blocks of one size.
  void widen(std::size_t bytes);
  /// Block i of the user's memory is neither read by pack() nor written by unpack().
  void leave_out(std::size_t i) { left_out_ = i; }
  /// Makes block i of an irregular list shorter.
  void cut(std::size_t i, std::size_t bytes) { scratch().sizes[i] = bytes; }

  /// Blocks whose elements have gaps where these are. pack() leaves them to the core then, unpack() if they are there.
  Spreads spreads();

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
    std::optional<memory::Spread> spread;  ///< if its layout is known
    bool is_the_cores = false;             ///< who has that, and packs what is sent
  };
  struct Scratch {
    std::vector<std::size_t> sizes;
    std::vector<std::ptrdiff_t> offsets;
    std::vector<Packed> packed;
    std::vector<memory::Spread*> spread_of;  ///< each block
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
  /// Whether the core is given a block of this type where it begins, at `address`.
  bool is_direct(const TypeInfo& info, const std::byte* address) const {
    return info.contiguous && !copies_ && !device_of(address);
  }

  /// The layout of a block of so many bytes that is not direct, if it pays to find it out.
  std::optional<memory::Layout> layout_of_packed(const std::byte* address, std::size_t bytes, MPI_Datatype type,
                                                 std::size_t elements) const;

  bool describe_regular(const BlockList& list);
  bool describe_irregular(const BlockList& list);
  int pack_all();
  int unpack_all(int code);
  void pack_regular(const std::byte* user, std::size_t elements, MPI_Datatype type, const TypeInfo& info,
                    std::size_t stride, const std::optional<memory::Layout>& layout);
  int pack(const Packed& packed);
  bool is_nowhere(std::size_t i) const { return neighbors_ && (*neighbors_)[i] < 0; }
  /// Whether there is a block at all: without, nobody looks at the buffer, and what is passed as one may differ between
  /// ranks.
  bool is_anywhere() const {
    for (std::size_t i = 0; i < count_; ++i)
      if (!is_nowhere(i)) return true;
    return false;
  }
  /// Puts the packed blocks of an irregular list into private memory, one behind the other.
  void place_packed();

  bool copies_ = false;
  bool has_own_memory_;
  Scratch* scratch_ = nullptr;
  std::optional<Loan<Scratch>> loan_;
  std::unique_ptr<Scratch> own_;
  std::size_t count_;
  MPI_Comm communicator_;
  const std::vector<int>* neighbors_ = nullptr;
  std::size_t left_out_ = SIZE_MAX;
  const std::byte* user_ = nullptr;  ///< of regular blocks
  MPI_Datatype type_{};              ///< of regular blocks
  std::size_t elements_ = 0;         ///< of each regular block
  Blocks blocks_;
};

}  // namespace tutti::mpi
