#include "mpi/arguments/large_elements.h"

#include <atomic>

#include "mpi/host.h"

namespace tutti::mpi {

namespace {

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

}  // namespace

int pack_large(const void* from, MPI_Datatype datatype, std::byte* to, std::size_t bytes, MPI_Comm communicator) {
  MPI_Count position = 0;
  if (host.Pack_c) return host.Pack_c(from, 1, datatype, to, static_cast<MPI_Count>(bytes), &position, communicator);
  const ManyBytes packed(bytes);
  return packed.code() != MPI_SUCCESS ? packed.code() : send_to_self(from, datatype, to, packed.type());
}

int unpack_large(const std::byte* from, std::size_t bytes, void* to, MPI_Datatype datatype, MPI_Comm communicator) {
  MPI_Count position = 0;
  if (host.Unpack_c)
    return host.Unpack_c(from, static_cast<MPI_Count>(bytes), &position, to, 1, datatype, communicator);
  const ManyBytes packed(bytes);
  return packed.code() != MPI_SUCCESS ? packed.code() : send_to_self(from, packed.type(), to, datatype);
}

}  // namespace tutti::mpi
