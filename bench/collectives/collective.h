// A collective as the benchmark sees it: which buffers it needs, how it is called on either side, what must come out. Messages
// between two ranks are measured as if they were one.
//
// To add one: a class in a file beside this one and its row in table.cpp.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "../buffers.h"
#include "../sides.h"

namespace tutti::bench {

/// Where a collective is called, and with what. A block is the message of collectives that have no blocks.
struct Place {
  MPI_Comm communicator = MPI_COMM_WORLD;
  int rank = 0;
  int ranks = 1;
  Shape block;
  bool in_place = false;
};

/// One call on this rank.
struct Call {
  std::byte* send = nullptr;
  std::byte* receive = nullptr;
  int root = 0;
  std::uint64_t salt = 0;
};

class Collective {
 public:
  explicit Collective(const Place& place) : place_(place) {}
  virtual ~Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  /// Elements of this rank's buffers. root: of some call; false only if it never is.
  virtual std::size_t send_count(bool root) const = 0;
  virtual std::size_t receive_count(bool root) const = 0;
  /// Elements that this rank cannot get without copying them from other ranks' memory: the floor of the time.
  virtual std::size_t incoming_count() const = 0;
  /// Writes what this rank sends.
  virtual void fill(const Call&) const = 0;
  virtual void perform(const Functions&, const Call&) const = 0;
  /// True if this rank has got what it should.
  virtual bool right(const Call&) const = 0;
  /// The call overwrites what this rank sends.
  virtual bool overwrites([[maybe_unused]] int root) const { return place_.in_place; }
  /// Messages, one after the other or in one direction, that a call consists of: times are those of one.
  virtual int messages() const { return 1; }

  MPI_Comm communicator() const { return place_.communicator; }
  std::size_t bytes_of(std::size_t elements) const { return elements * size_of(type()); }

 protected:
  int rank() const { return place_.rank; }
  int ranks() const { return place_.ranks; }
  ElementType type() const { return place_.block.type(); }
  MPI_Datatype datatype() const { return type() == ElementType::kDouble ? MPI_DOUBLE : MPI_FLOAT; }
  /// Elements of a block.
  std::size_t block() const { return place_.block.count(); }
  int count() const { return static_cast<int>(block()); }
  std::byte* at(std::byte* buffer, std::size_t element) const { return buffer + bytes_of(element); }
  Stretch stretch(std::size_t first, std::size_t elements) const { return {type(), first, elements}; }
  const void* send_argument(const Call& call) const { return overwrites(call.root) ? MPI_IN_PLACE : call.send; }

  const Place place_;
};

/// What the table says of a collective.
struct CollectiveEntry {
  const char* name;  ///< as in MPI, in lower case
  const char*
      chosen_as;    ///< its name in TUTTI_ALGORITHM; null: messages between two ranks, for which nothing is chosen
  bool has_sizes;   ///< false: it moves no data
  bool has_blocks;  ///< sizes are those of a block, of which some rank has one for each other
  bool neighbors;   ///< on the periodic ring of the ranks, not on MPI_COMM_WORLD
  std::unique_ptr<Collective> (*make)(const Place&);

  /// What the library chooses by where a block, or the message, has `bytes`.
  std::size_t chosen_by(std::size_t bytes, int ranks) const;
  bool is_of_messages() const { return chosen_as == nullptr; }
  /// The largest size that is measured unless told otherwise.
  std::size_t maximum_bytes() const { return std::size_t{has_blocks || is_of_messages() ? 4u : 16u} << 20; }
};

std::span<const CollectiveEntry> collective_table();
/// Null if there is no such collective.
const CollectiveEntry* find_collective(std::string_view name);

}  // namespace tutti::bench
