// pack() and unpack() (mpi/arguments/datatypes.h).

#include <algorithm>
#include <atomic>
#include <limits>

#include "mpi/arguments/datatypes.h"
#include "mpi/arguments/device_elements.h"
#include "mpi/arguments/device_memory.h"
#include "mpi/host.h"

namespace tutti::mpi {

namespace {

enum class Direction { pack, unpack };

/// Elements to be packed or unpacked. MPICH 4.0 takes a null address for a mistake there, also of elements that lie at
/// absolute addresses (MPI_BOTTOM). These are then described as seen from another address.
class Elements {
 public:
  Elements(const void* buffer, std::size_t at, MPI_Aint extent, std::size_t count, MPI_Datatype datatype)
      : begin_(static_cast<char*>(const_cast<void*>(buffer)) + static_cast<MPI_Aint>(at) * extent),
        count_(static_cast<int>(count)),
        datatype_(datatype) {
    if (begin_) return;
    begin_ = reinterpret_cast<char*>(&seen_from_);
    const MPI_Aint back = -reinterpret_cast<MPI_Aint>(begin_);
    host.Type_create_struct(1, &count_, &back, &datatype, &seen_from_);
    host.Type_commit(&seen_from_);
    datatype_ = seen_from_;
    count_ = 1;
  }
  ~Elements() {
    if (seen_from_ != MPI_DATATYPE_NULL) host.Type_free(&seen_from_);
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  char* begin() const { return begin_; }
  int count() const { return count_; }
  MPI_Datatype datatype() const { return datatype_; }

 private:
  char* begin_;
  int count_;
  MPI_Datatype datatype_;
  MPI_Datatype seen_from_ = MPI_DATATYPE_NULL;
};

/// Pieces small enough for the int arguments of MPI_Pack.
constexpr std::size_t piece_bytes = std::size_t{1} << 29;

/// Bytes one behind the other, more of them than an int counts.
class ManyBytes {
 public:
  explicit ManyBytes(std::size_t bytes) {
    constexpr std::size_t mebibyte = std::size_t{1} << 20;
    const int counts[2] = {static_cast<int>(bytes / mebibyte), static_cast<int>(bytes % mebibyte)};
    const MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes / mebibyte * mebibyte)};
    MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
    code_ = host.Type_contiguous(mebibyte, MPI_BYTE, &types[0]);
    if (code_ != MPI_SUCCESS) return;
    code_ = host.Type_create_struct(2, counts, places, types, &type_);
    host.Type_free(&types[0]);
    if (code_ == MPI_SUCCESS) code_ = host.Type_commit(&type_);
  }
  ManyBytes(const ManyBytes&) = delete;
  ManyBytes& operator=(const ManyBytes&) = delete;
  ~ManyBytes() {
    if (type_ != MPI_DATATYPE_NULL) host.Type_free(&type_);
  }

  int code() const { return code_; }
  MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  int code_ = MPI_SUCCESS;
};

/// A communicator of this rank alone, in which nobody receives the program's own messages to itself. No duplicate, for
/// which the host would run the program's functions that copy attributes.
MPI_Comm alone() {
  static const MPI_Comm communicator = [] {
    MPI_Comm made = MPI_COMM_NULL;
    host.Comm_split(MPI_COMM_SELF, 0, 0, &made);
    return made;
  }();
  return communicator;
}

/// The host moves a message of one element in pieces of its own, whatever its size.
int send_to_self(const void* from, MPI_Datatype from_type, void* to, MPI_Datatype to_type) {
  // Threads that do so at the same time must not receive each other's.
  static std::atomic<unsigned> calls{0};
  const int tag = static_cast<int>(calls.fetch_add(1, std::memory_order_relaxed) % 32768);
  return host.Sendrecv(from, 1, from_type, 0, tag, to, 1, to_type, 0, tag, alone(), MPI_STATUS_IGNORE);
}

/// One element, of more bytes than an int counts: MPI_Pack cannot tell how far it has come in it.
int move_large(Direction direction, const Elements& element, std::byte* packed, std::size_t bytes,
               MPI_Comm communicator) {
  const bool packs = direction == Direction::pack;
  if (packs ? host.Pack_c != nullptr : host.Unpack_c != nullptr) {
    const auto room = static_cast<MPI_Count>(bytes);
    MPI_Count position = 0;
    return packs ? host.Pack_c(element.begin(), 1, element.datatype(), packed, room, &position, communicator)
                 : host.Unpack_c(packed, room, &position, element.begin(), 1, element.datatype(), communicator);
  }
  const ManyBytes many(bytes);
  if (many.code() != MPI_SUCCESS) return many.code();
  return packs ? send_to_self(element.begin(), element.datatype(), packed, many.type())
               : send_to_self(packed, many.type(), element.begin(), element.datatype());
}

/// Elements of memory of the host, with gaps.
int move_elements(Direction direction, const void* buffer, std::size_t count, MPI_Datatype datatype,
                  const TypeInfo& info, std::byte* bytes, MPI_Comm communicator) {
  MPI_Aint lower = 0, extent = 0;
  host.Type_get_extent(datatype, &lower, &extent);
  const std::size_t piece = info.bytes >= piece_bytes ? 1 : piece_bytes / info.bytes;
  for (std::size_t at = 0; at < count; at += piece) {
    const std::size_t elements = std::min(count - at, piece);
    const Elements part(buffer, at, extent, elements, datatype);
    std::byte* const packed = bytes + at * info.bytes;
    const std::size_t packed_bytes = elements * info.bytes;
    int code = MPI_SUCCESS, position = 0;
    if (info.bytes > std::numeric_limits<int>::max())
      code = move_large(direction, part, packed, packed_bytes, communicator);
    else if (direction == Direction::pack)
      code = host.Pack(part.begin(), part.count(), part.datatype(), packed, static_cast<int>(packed_bytes), &position,
                       communicator);
    else
      code = host.Unpack(packed, static_cast<int>(packed_bytes), &position, part.begin(), part.count(), part.datatype(),
                         communicator);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

}  // namespace

int pack(const void* buffer, std::size_t count, MPI_Datatype datatype, const TypeInfo& info, std::byte* bytes,
         MPI_Comm communicator) {
  if (info.contiguous) return raised_if_failed(copy_from_program(bytes, buffer, count * info.bytes), communicator);
  if (const auto code = pack_from_device(buffer, count, datatype, info, bytes, communicator)) [[unlikely]]
    return *code;
  return move_elements(Direction::pack, buffer, count, datatype, info, bytes, communicator);
}

int unpack(const std::byte* bytes, void* buffer, std::size_t count, MPI_Datatype datatype, const TypeInfo& info,
           MPI_Comm communicator) {
  if (info.contiguous) return raised_if_failed(copy_to_program(buffer, bytes, count * info.bytes), communicator);
  if (const auto code = unpack_to_device(bytes, buffer, count, datatype, info, communicator)) [[unlikely]]
    return *code;
  return move_elements(Direction::unpack, buffer, count, datatype, info, const_cast<std::byte*>(bytes), communicator);
}

}  // namespace tutti::mpi
